"""Thirty texts that attack a page which shows them, and a run that is full of them."""

from pathlib import Path

from toolspeak import Agent, Limits
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import calls, says

from .recorded import write_facts

HOSTILE = [
    "<script>window.pwned = 1</script>",
    '<img src=x onerror="window.pwned = 1">',
    '<svg onload="window.pwned = 1"></svg>',
    "<style>body { display: none }</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    '<iframe src="javascript:parent.pwned = 1"></iframe>',
    '<a href="javascript:window.pwned = 1">click</a>',
    '<base href="//evil.example/">',
    '<meta http-equiv=refresh content="0; url=//evil.example">',
    "<form action=//evil.example><input name=key></form>",
    "</pre></div></body><script>window.pwned = 1</script>",
    "<object data=//evil.example/x.swf></object>",
    "<template shadowrootmode=open><script>window.pwned = 1</script></template>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=window.pwned=1>",
    "&lt;script&gt;window.pwned = 1&lt;/script&gt;",
    '"><script>window.pwned = 1</script>',
    "'; window.pwned = 1; //",
    "${window.pwned = 1}",
    "{{constructor.constructor('window.pwned = 1')()}}",
    "@import url(//evil.example/x.css);",
    "](javascript:window.pwned=1) ![x](//evil.example/x.png)",
    "\u202etxt.exe\u202c and \u2066hidden\u2069",
    "zero\u200bwidth\u2060and\ufeffmore",
    "\x1b[2J\x1b[31mred\x07\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "null\x00byte and \x7f delete",
    "half a pair: \ud800 and \udfff",
    "line\u2028separator\u2029paragraph",
    "Z\u0351\u0342" + "\u0334" * 400 + "algo",
    "__proto__ constructor toString hasOwnProperty",
    "A" * 1_000_000,
]


def repeat(text: str) -> str:
    """Return the text."""
    return text


def record_hostile_run(path: Path) -> Path:
    """Write a run in which the prompt, arguments, results and answers are hostile."""
    script = [calls(("repeat", {"text": text}), text=text[:2000]) for text in HOSTILE]
    model = ScriptedModel([*script, says(HOSTILE[0])], name=HOSTILE[1], dialect="native")
    agent = Agent(model, tools=[repeat], system=HOSTILE[3])
    return write_facts(path, agent.run(HOSTILE[0] + HOSTILE[21], limits=Limits(turns=100, repeats=None)).facts)
