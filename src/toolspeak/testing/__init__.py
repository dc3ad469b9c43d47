"""For your own tests: a model that plays a script.

>>> from toolspeak.testing import ScriptedModel, calls, says
>>> model = ScriptedModel([calls(("get_weather", {"city": "Oslo"})), says("It is cold in Oslo.")])
"""

from toolspeak.testing.scripted import Said, ScriptedModel, breaks, calls, says

__all__ = ["Said", "ScriptedModel", "breaks", "calls", "says"]
