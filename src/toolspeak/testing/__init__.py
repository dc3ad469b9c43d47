"""For your own tests: a model that answers by a script, a clock that need not be waited for, and contract suites.

>>> from toolspeak.testing import ScriptedModel, calls, says
>>> model = ScriptedModel([calls(("get_weather", {"city": "Oslo"})), says("It is cold in Oslo.")])

`scripted.py` is the model, `clock.py` the clock. The suites (`contract.py` and its neighbours) test models, dialects
and stores of your own. None of it needs pytest.
"""

from toolspeak.testing.cassettes import CassetteMode, cassette
from toolspeak.testing.clock import FakeClock
from toolspeak.testing.dialect_contract import DialectContract
from toolspeak.testing.model_contract import ModelContract
from toolspeak.testing.scripted import ScriptedModel, ScriptedReply, breaks, calls, gives, says
from toolspeak.testing.store_contract import FactStore, StoreContract

__all__ = [
    "CassetteMode",
    "DialectContract",
    "FactStore",
    "FakeClock",
    "ModelContract",
    "ScriptedModel",
    "ScriptedReply",
    "StoreContract",
    "breaks",
    "calls",
    "cassette",
    "gives",
    "says",
]
