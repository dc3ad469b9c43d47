"""For your own tests: models that answer by a script or a recording, a clock that need not be waited for, suites.

>>> from toolspeak.testing import ScriptedModel, calls, says
>>> model = ScriptedModel([calls(("get_weather", {"city": "Oslo"})), says("It is cold in Oslo.")])

`scripted.py` is the model, `clock.py` the clock. `cassettes.py` replays what an endpoint answered, `recorded_run.py`
what a run was: its model, its tools, or both. `contracts.py` has suites that test models, dialects and stores of your
own. None of it needs pytest. It may import every room but the command line and the servers.

To add a rule that a model, a dialect or a store must keep: a test in its suite in `contracts.py`.
"""

from toolspeak.testing.cassettes import CassetteMode, cassette
from toolspeak.testing.clock import FakeClock
from toolspeak.testing.contracts import DialectContract, FactStore, ModelContract, StoreContract
from toolspeak.testing.recorded_run import Replay, ReplayedModel, replay
from toolspeak.testing.scripted import ScriptedModel, ScriptedReply, breaks, calls, gives, says

__all__ = [
    "CassetteMode",
    "DialectContract",
    "FactStore",
    "FakeClock",
    "ModelContract",
    "Replay",
    "ReplayedModel",
    "ScriptedModel",
    "ScriptedReply",
    "StoreContract",
    "breaks",
    "calls",
    "cassette",
    "gives",
    "replay",
    "says",
]
