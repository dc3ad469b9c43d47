"""Takes the screenshots of the page in `docs/images`: its states, light and dark, narrow and wide.

    python scripts/page_screenshots.py

The runs are made by scripted models, so the pictures are the same each time but for the clock. Needs Chromium
(`apt install chromium-headless-shell`).
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from toolspeak import Agent, codec, tool
from toolspeak.cli.http_server import listen
from toolspeak.durable import Runs, Worker
from toolspeak.page.access import PageAccess
from toolspeak.page.app import build_page_server, page_app, serve_page
from toolspeak.page.library import RunLibrary
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import Line, calls, says
from toolspeak.values.events import Fact, Usage

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
CHROMIUM = os.environ.get("TOOLSPEAK_CHROMIUM") or shutil.which("chromium-headless-shell")

expect.set_options(timeout=30_000)  # for a busy machine

WIDE = (1120, 720)
TALL = (1120, 900)
NARROW = (380, 740)


def search_trips(origin: str, destination: str, seats: int = 1) -> list[dict[str, object]]:
    """Search trains between two cities.

    Args:
        origin: Where the trip begins.
        destination: Where it ends.
        seats: How many seats are needed.
    """
    trips = [("08:04", 142, 61.0), ("10:31", 128, 74.5), ("14:12", 155, 48.0)]
    return [{"leaves": leaves, "minutes": minutes, "price": price * seats} for leaves, minutes, price in trips]


def get_weather(city: str) -> dict[str, object]:
    """Get the weather of a city."""
    if city == "Atlantis":
        raise LookupError("there is no station in Atlantis")
    return {"city": city, "sky": "clear", "celsius": 21}


def remember(note: str) -> str:
    """Keep a note for later."""
    return "kept"


@tool(approve=True)
def book(leaves: str, seats: int) -> str:
    """Book a train."""
    return f"booked {seats} seats at {leaves}"


TRIP: tuple[Line, ...] = (
    says(
        "I will compare the trains, and see whether you need an umbrella.\n```python\n"
        "trips = search_trips(origin='Lyon', destination='Paris', seats='2')\n"
        "sky = get_weather(city='Paris')\nget_weather(city='Atlantis')\n```",
        usage=Usage(input_tokens=1204, output_tokens=86),
    ),
    says(
        "Let me write that down.\n<tool_call>\n"
        '{\'name\': "remember", "arguments": {"note": "14:12 is the cheapest: 96 euros for two",}}\n</tool_call>',
        usage=Usage(input_tokens=1530, output_tokens=41),
    ),
    says("```python\nremember(note=prices.cheapest())\n```", usage=Usage(input_tokens=1611, output_tokens=18)),
    says(
        "Take the train at 14:12: two seats for 96 euros, two and a half hours. Paris is clear, 21 °C. "
        "Atlantis has no station.",
        usage=Usage(input_tokens=1702, output_tokens=44),
    ),
)

TIMES = [0, 0.05, 0.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.75, 1.8, 1.9, 2.4, 3.1, 3.2, 4.1, 4.2, 4.3, 4.4, 4.8, 4.9]


def record(path: Path, script: Sequence[Line], prompt: str, name: str = "qwen-coder-1.5b") -> None:
    """Write a run as `toolspeak run --record` does, with times that look like those of a small model."""
    model = ScriptedModel(script, dialect="python", name=name, price=2e-7, on_tool_error="tell")
    facts: Sequence[Fact] = Agent(model, tools=[search_trips, get_weather, remember]).run(prompt).facts
    with path.open("w") as file:
        for number, fact in enumerate(facts):
            at = TIMES[number] if number < len(TIMES) else TIMES[-1] + (number - len(TIMES) + 1) * 0.35
            file.write(json.dumps({"t": at, "fact": codec.encode(fact)}) + "\n")


def write_runs(folder: Path) -> None:
    """Write the runs that the pictures show."""
    record(folder / "trip.jsonl", TRIP, "Which train from Lyon to Paris for two of us, and do we need an umbrella?")
    record(folder / "weather.jsonl", [says("It is clear in Oslo.")], "How is the weather in Oslo?")
    record(folder / "failed.jsonl", [says("", finish="refused")], "Write down my password.")
    pages = [calls(("remember", {"note": f"page {number}"})) for number in range(8)]
    record(folder / "long.jsonl", [*pages, says("All pages are read.")], "Read all pages of the report.")


@contextmanager
def served(*sources: RecordFiles | DurableStore) -> Generator[tuple[str, PageAccess]]:
    """Serve the page, and give its address."""
    with listen("127.0.0.1", 0) as listener:
        port: int = listener.getsockname()[1]
        access, library = PageAccess(port), RunLibrary(sources)
        server = build_page_server(page_app(library, access))
        thread = threading.Thread(target=lambda: asyncio.run(serve_page(server, library, listener)))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}", access
        finally:
            server.should_exit = True
            thread.join()


class Camera:
    """Opens tabs and takes pictures of them."""

    def __init__(self, browser: Browser, url: str, access: PageAccess) -> None:
        self._browser = browser
        self._url = url
        self._access = access

    def open(self, place: str = "", size: tuple[int, int] = WIDE, *, dark: bool = False, scale: float = 1) -> Page:
        """Open a tab at a place of the page."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            device_scale_factor=scale,
        )
        name, _, value = self._access.cookie.partition(";")[0].partition("=")
        context.add_cookies([{"name": name, "value": value, "url": self._url}])
        page = context.new_page()
        page.goto(f"{self._url}/{place}")
        return page

    def open_home(self, size: tuple[int, int] = WIDE, *, dark: bool = False) -> Page:
        """Open the table of all runs, when all of them were read."""
        page = self.open(size=size, dark=dark)
        expect(page.locator(".run-open").first).to_be_visible()
        expect(page.locator(".sums")).not_to_contain_text("still loading")
        return page

    def open_run(self, title: str, size: tuple[int, int] = WIDE, *, dark: bool = False, scale: float = 1) -> Page:
        """Open a run by the beginning of its title."""
        page = self.open(size=size, dark=dark, scale=scale)
        page.get_by_role("button", name=title).click()
        expect(page.locator(".row").first).to_be_visible()
        return page

    def take(self, page: Page, name: str) -> None:
        """Take a picture, and close the tab."""
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        path = IMAGES / f"page-{name}.png"
        page.screenshot(path=path)
        sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB\n")
        page.context.close()


def take_pictures_of_records(camera: Camera) -> None:
    """Take the pictures of recorded runs."""
    page = camera.open_run("Which train")
    camera.take(page, "run")

    page = camera.open_run("Which train", size=TALL, dark=True)
    page.locator(".row-turn").first.click()
    expect(page.locator(".note").first).to_be_visible()
    camera.take(page, "why-dark")

    page = camera.open_run("Which train", size=TALL)
    page.locator(".row-turn").nth(1).click()
    expect(page.locator(".note").first).to_be_visible()
    camera.take(page, "repaired")

    page = camera.open_run("Which train", size=TALL)
    page.locator(".row-call").first.click()
    expect(page.locator(".changes")).to_be_visible()
    camera.take(page, "call")

    page = camera.open_run("Which train", size=(1440, 800))
    page.locator(".row-turn").first.click()
    page.keyboard.press("s")
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator(".column").nth(1).locator(".shown-system")).to_be_visible()
    camera.take(page, "shown")

    page = camera.open_run("Which train", dark=True)
    page.keyboard.press("/")
    page.keyboard.type("paris")
    page.keyboard.press("Enter")
    expect(page.locator(".find-count")).to_contain_text("of")
    camera.take(page, "find-dark")

    page = camera.open_home(size=NARROW)
    camera.take(page, "list-narrow")

    page = camera.open_run("Which train", size=NARROW, dark=True)
    camera.take(page, "run-narrow-dark")

    page = camera.open_run("Read all pages", dark=True)
    page.keyboard.press("?")
    camera.take(page, "keys-dark")


def write_many(folder: Path) -> None:
    """Write the runs of a table: days of work, in which one booking was made twice."""
    names = ("qwen-coder-1.5b", "gpt-5-mini")
    for number in range(24):
        city = ("Oslo", "Paris", "Atlantis", "Rome")[number % 4]
        look = calls(("get_weather", {"city": city}), text="I look it up.")
        answer = "There is no station in Atlantis." if city == "Atlantis" else f"It is clear in {city}, 21 °C."
        tokens = Usage(input_tokens=700 + 37 * number, output_tokens=20 + number)
        record(folder / f"{number}.jsonl", [look, says(answer, usage=tokens)], f"How is {city}?", names[number % 2])
    note = calls(("remember", {"note": "seat 42 at 14:12"}), text="I write it down.")
    record(folder / "twice.jsonl", [note, note, says("Your seat is 42.")], "Keep seat 42 for me, please.")
    record(folder / "once.jsonl", [note, says("Seat 42 is yours.")], "Note that seat 42 is mine.", "gpt-5-mini")


def take_pictures_of_many_runs(camera: Camera) -> None:
    """Take the pictures of the table of runs, its search, notes and differences."""
    camera.take(camera.open_home(size=(1440, 900)), "home")

    page = camera.open_home(size=(1440, 560))
    page.get_by_label("Search all runs").fill("station")
    expect(page.locator("mark").first).to_be_visible()
    camera.take(page, "search")

    page = camera.open_run("Keep seat 42", size=(1440, 700))
    page.get_by_role("button", name="Score, note, tags…").click()
    page.get_by_label("1 bad").check()
    page.get_by_label("Note").fill("It wrote the same note twice.")
    page.get_by_label("Tags, separated by commas").fill("look again")
    camera.take(page, "notes")

    page = camera.open_home(size=(1440, 900))
    page.get_by_label("Search all runs").fill("seat 42")
    expect(page.locator("mark").first).to_be_visible()
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".step-changed").first).to_be_visible()
    camera.take(page, "differences")


def take_picture_of_approval(browser: Browser, folder: Path) -> None:
    """Take the picture of a durable run that waits for an approval."""
    script = [calls(("book", {"leaves": "14:12", "seats": 2}), text="I will book the train at 14:12."), says("Booked.")]
    agent = Agent(ScriptedModel(script, dialect="python", name="qwen-coder-1.5b"), tools=[book])
    store = f"sqlite:///{folder}/runs.db"
    with Runs(store) as runs, Worker(runs, {"travel": agent}), served(DurableStore(store)) as (url, access):
        run = runs.start_sync("travel", "Book the cheapest train to Paris for two.")
        page = Camera(browser, url, access).open(f"#run=store/{run.id}")
        expect(page.locator(".approval")).to_be_visible(timeout=20_000)
        Camera(browser, url, access).take(page, "approval")


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        os.environ["TOOLSPEAK_CACHE_FOLDER"] = f"{name}/cache"
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        folder = Path(name) / "runs"
        folder.mkdir()
        write_runs(folder)
        with served(RecordFiles(folder)) as (url, access):
            take_pictures_of_records(Camera(browser, url, access))
        write_many(folder)
        with served(RecordFiles(folder)) as (url, access):
            take_pictures_of_many_runs(Camera(browser, url, access))
        take_picture_of_approval(browser, Path(name))
        browser.close()


if __name__ == "__main__":
    main()
