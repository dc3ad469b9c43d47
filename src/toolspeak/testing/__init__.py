"""For your own tests: a model that answers by a script.

>>> from toolspeak.testing import ScriptedModel, calls, says
>>> model = ScriptedModel([calls(("get_weather", {"city": "Oslo"})), says("It is cold in Oslo.")])
"""

from toolspeak.testing.scripted import ScriptedModel, ScriptedReply, breaks, calls, says

__all__ = ["ScriptedModel", "ScriptedReply", "breaks", "calls", "says"]
