"""Records the cassette of the testing guide, after the form of a request has changed.

    $ python scripts/record_guide.py

The answers are not those of a real model: they come from a script, through the gateway.
"""

import threading
import time
from pathlib import Path

from toolspeak import Agent
from toolspeak.dialects import NATIVE
from toolspeak.gateway import ServedModel, app
from toolspeak.gateway.server import build_server
from toolspeak.models import HttpModel, resolve_model
from toolspeak.testing import ScriptedModel, calls, cassette, says

MODEL = "gpt-5-mini"
CASSETTE = Path(__file__).parent.parent / "docs" / "guides" / "recordings" / "weather.jsonl"


def get_weather(city: str) -> dict[str, object]:
    """Get the current weather in a city."""
    return {"city": city, "celsius": 18}


def main() -> None:
    """Serve the script, ask the question of the guide, and record both answers."""
    script = ScriptedModel([calls(("get_weather", {"city": "Paris"})), says("It is 18 °C in Paris.")], chunk=8)
    server = build_server(app([ServedModel(name=MODEL, model=script, dialect=NATIVE)]), host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    # The request must be the one that OpenAI would get: its profile decides about some fields.
    profile = resolve_model(f"openai:{MODEL}", environ={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"})
    model = HttpModel(profile.endpoint, MODEL, "native")
    print(Agent(cassette(model, CASSETTE, mode="record"), tools=[get_weather]).run("How warm is it in Paris?").text)
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
