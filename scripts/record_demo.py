"""Records the moving picture of the README: one question, put twice to the same weights.

    $ python scripts/record_demo.py           # asks the embedded model: a minute on two quiet cores
    $ python scripts/record_demo.py --draw    # draws the picture again from the last recording

First the `openai` client asks the server of the weights (llama.cpp) with the tools in the request, as its API wants
them. Then an agent of toolspeak asks the same server. Both have the same question, the same tools, temperature 0 and no
adapter. What the model wrote is kept in `docs/images/demo.json` as it came; the picture, `docs/images/demo.svg`, shows
it with the waiting left out, and says so.
"""

import json
import os
import sys
import textwrap
import time
from datetime import date
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "docs/images/demo.json"
PICTURE = ROOT / "docs/images/demo.svg"

QUESTION = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."

WIDTH, LEFT, LINE = 640, 18, 21
COLUMNS = 66
SECONDS = 10.0
"""How long the picture runs before it begins again."""

INK, DIM, RED, GREEN, BLUE, GROUND, BAR = "#e6edf3", "#8b98a5", "#ff7b72", "#56d364", "#79c0ff", "#0d1117", "#161b22"
EDGE = "#3d444d"
"""A frame, so that the picture has an end on a dark page."""


def record() -> dict[str, Any]:
    """Ask the weights twice, and return what came back."""
    import openai

    sys.path.insert(0, str(ROOT / "examples"))
    from weather_calculator import calculator, get_weather

    from toolspeak import Agent, Tool
    from toolspeak.models import EmbeddedModel
    from toolspeak.models.weights import QWEN_CODER
    from toolspeak.models.weights_download import find_weights
    from toolspeak.settings import cache_folder

    weights = find_weights(QWEN_CODER, cache_folder() / "models")
    if weights is None:
        raise SystemExit("the weights are not here: toolspeak pull")
    model = EmbeddedModel(
        weights, name="local", context=4096, threads=int(os.environ.get("TOOLSPEAK_LOCAL_THREADS", "0")) or None
    )
    server = model.load()
    try:
        tools: Any = [
            {
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": dict(spec.parameters),
                },
            }
            for spec in (Tool(get_weather).spec, Tool(calculator).spec)
        ]
        began = time.monotonic()
        with openai.OpenAI(base_url=server.base_url, api_key=server.key, max_retries=0, timeout=900) as client:
            message = (
                client.chat.completions.create(
                    model="local",
                    messages=[{"role": "user", "content": QUESTION}],
                    tools=tools,
                    temperature=0,
                    max_tokens=300,
                )
                .choices[0]
                .message
            )
        bare = {
            "seconds": round(time.monotonic() - began, 1),
            "tool_calls": [call.to_dict() for call in message.tool_calls or ()],
            "content": message.content,
        }
        began = time.monotonic()
        outcome = Agent(model, tools=[get_weather, calculator], dialect="python").run(QUESTION)
        ours = {
            "seconds": round(time.monotonic() - began, 1),
            "calls": [{"name": c.name, "arguments": dict(c.arguments), "output": c.output} for c in outcome.calls],
            "text": outcome.text,
        }
    finally:
        server.stop()
    return {
        "day": str(date.today()),
        "weights": weights.name,
        "server": f"llama.cpp in xllamacpp {version('xllamacpp')}",
        "cores": os.cpu_count(),
        "question": QUESTION,
        "server_alone": bare,
        "toolspeak": ours,
    }


def wrap(text: str, indent: str = "") -> list[str]:
    """Return a text in lines that fit, with its own line breaks kept."""
    return [
        piece
        for line in text.strip().splitlines()
        for piece in textwrap.wrap(line, COLUMNS, subsequent_indent=indent + "  ") or [""]
    ]


def build_script(recording: dict[str, Any]) -> list[tuple[float, str, str]]:
    """Return the lines of the picture: when each appears, its colour, and its text."""
    bare, ours = recording["server_alone"], recording["toolspeak"]
    lines: list[tuple[float, str, str]] = []
    now = 0.3

    def add(pause: float, color: str, *texts: str) -> None:
        nonlocal now
        now += pause
        lines.extend((now, color, text) for text in texts)

    add(0, INK, *wrap(f"“{recording['question']}”"))
    add(0.6, INK, "")
    add(0, DIM, "# Qwen2.5-Coder-1.5B, with the tool support of llama.cpp")
    add(0.2, INK, "$ client.chat.completions.create(tools=[get_weather, calculator]…")
    add(1.4, RED, f"tool_calls: {bare['tool_calls'] or None}")
    for line in wrap("content: " + " ".join(bare["content"].split()), ""):
        add(0.2, DIM, line)
    add(0.4, RED, "✗ No function ran. The call is text for you to parse.")
    add(0.6, INK, "")
    add(0, DIM, "# The same model and the same question, with toolspeak")
    add(0.2, INK, "$ Agent(model, tools=[get_weather, calculator]).run(question)")
    pause = 1.2
    for call in ours["calls"]:
        arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in call["arguments"].items())
        add(pause, BLUE, f"  {call['name']}({arguments}) → {json.dumps(call['output'])}")
        pause = 0.5
    for number, line in enumerate(wrap("✓ " + " ".join(ours["text"].split()))):
        add(0 if number else 0.9, GREEN, line)
    return lines


def draw(recording: dict[str, Any]) -> str:
    """Draw the recording as a moving SVG. Without motion, all lines are there at once."""
    script = build_script(recording)
    height = 44 + LINE * len(script) + 40
    styles: list[str] = []
    rows: list[str] = []
    for number, (at, color, text) in enumerate(script):
        share = 100 * at / SECONDS
        styles.append(
            f"@keyframes k{number}{{0%,{share:.2f}%{{opacity:0}}{share + 0.8:.2f}%,100%{{opacity:1}}}}"
            f".l{number}{{animation:k{number} {SECONDS:g}s infinite}}"
        )
        y = 62 + LINE * number
        rows.append(
            f'<text class="l{number}" x="{LEFT}" y="{y}" fill="{color}" xml:space="preserve">{escape(text)}</text>'
        )
    weights = recording["weights"].removesuffix(".gguf")
    note = f"{weights} · {recording['day']} · real output, waiting left out"
    title = "One question, put twice to the same model: through its server's tool support, and through toolspeak"
    dots = "".join(f'<circle cx="{20 + 16 * n}" cy="17" r="5" fill="{EDGE}"/>' for n in range(3))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="15" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>text{{white-space:pre}}{''.join(styles)}"
            "@media (prefers-reduced-motion: reduce){text{animation:none!important}}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{GROUND}"/>',
            f'<path d="M0 34V8a8 8 0 0 1 8-8h{WIDTH - 16}a8 8 0 0 1 8 8v26z" fill="{BAR}"/>',
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="7.5" fill="none" stroke="{EDGE}"/>',
            dots,
            *rows,
            f'<text x="{LEFT}" y="{height - 14}" fill="{DIM}" font-size="12">{escape(note)}</text>',
            "</svg>\n",
        )
    )


def main() -> None:
    """Record, unless only the picture is wanted; then draw."""
    if "--draw" not in sys.argv[1:]:
        RECORDING.write_text(json.dumps(record(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(draw(json.loads(RECORDING.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
