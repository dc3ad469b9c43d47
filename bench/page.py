"""How long people wait for the page: `python bench/page.py [--reps N]`.

Opens a record of 50 MB and 2,000 turns in a real browser and scrolls through it, exports it and opens the file; opens
the list of a log with 10,000 runs and searches it. Prints the median and the worst of some repetitions, and ends with
exit code 1 if a median misses its bar. All are wall-clock times as people see them, from the click or the last key to
what is drawn. The browser notes them by itself: its driver looks only now and then, and would see what is drawn up to
half a second late. It needs `chromium-headless-shell`, and a machine that does nothing else.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the helpers of the tests

from log import write_conversations
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.page.conftest import CHROMIUM
from tests.page.hosting import hosted_page
from tests.page.recorded import write_long_run

from toolspeak.durable.log import ConversationStore
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import LoggedRuns

WAIT_MILLISECONDS = 120_000
NOTE_WHEN_SEEN = """(() => {
  globalThis.whenSeen = (selector) =>
    new Promise((done) => {
      const look = () => {
        if (document.querySelector(selector) === null) requestAnimationFrame(look);
        else setTimeout(() => done(Date.now())); // when this frame was drawn
      };
      requestAnimationFrame(look);
    });
})()"""
SCROLL = """async () => {
  const timeline = document.querySelector(".timeline");
  const times = [];
  let last = performance.now();
  for (let step = 0; step < 240; step += 1) {
    timeline.scrollTop += 400;
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return { times, from: timeline.scrollTop };
}"""


class Figures:
    """Measurements by what was measured, and the bar for each in seconds."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[float | None, list[float]]] = {}

    def add(self, name: str, bar: float | None, seconds: float) -> None:
        self._rows.setdefault(name, (bar, []))[1].append(seconds)
        print(f"{name}: {seconds * 1000:,.0f} ms", file=sys.stderr, flush=True)

    def print(self) -> bool:
        """Print a line for each row, and return whether a bar was missed."""
        missed = False
        for name, (bar, seconds) in self._rows.items():
            median = statistics.median(seconds)
            is_missed = bar is not None and median > bar
            missed |= is_missed
            words = "" if bar is None else f", bar {bar * 1000:,.0f} ms{': MISSED' if is_missed else ''}"
            print(f"  {name:<44} {median * 1000:7,.0f} ms, worst {max(seconds) * 1000:7,.0f} ms{words}")
        return missed


def take_time(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def new_page(browser: Browser, selector: str = "") -> Page:
    """Open a tab of a fresh profile, which notes when something is first seen in a page that it opens."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(WAIT_MILLISECONDS)
    page.add_init_script(NOTE_WHEN_SEEN)
    if selector:
        page.add_init_script(f"globalThis.firstSeen = whenSeen({selector!r})")
    return page


def time_opening(page: Page, url: str, selector: str) -> float:
    """Open an address, and return the seconds until what the tab looks for is drawn."""
    began = time.time()
    page.goto(url)
    page.locator(selector).first.wait_for()  # the address may lead to another
    return page.evaluate("firstSeen") / 1000 - began


def time_search(page: Page, words: str) -> float:
    """Search all runs, and return the seconds until a word is marked in one of them."""
    began = time.time()
    page.get_by_label("Search all runs").fill(words)
    return page.evaluate("whenSeen('mark')") / 1000 - began


def open_long_run(browser: Browser, path: Path, figures: Figures) -> None:
    """Open a long run, and scroll through it as soon as all of it was read."""

    with hosted_page(RecordFiles(path)) as hosted:
        page = new_page(browser, ".row-turn")
        figures.add("50 MB: open, until rows are seen", 1.0, time_opening(page, hosted.opening_url, ".row-turn"))
        figures.add(
            "50 MB: read to its end",
            None,
            take_time(lambda: expect(page.locator(".state")).to_have_text("Limit reached")),
        )
        page.wait_for_timeout(500)
        scrolled = page.evaluate(SCROLL)
        assert scrolled["from"] > 50_000, "the rows were not scrolled"
        times = sorted(scrolled["times"])
        figures.add("50 MB: a frame while scrolling, p95", 0.033, times[int(0.95 * len(times))] / 1000)
        page.context.close()


def open_export(browser: Browser, path: Path, figures: Figures) -> None:
    """Export a long run, and open the file."""
    exported = path.with_suffix(".html")
    command = [sys.executable, "-m", "toolspeak.cli", "page", str(path), "--export", str(exported)]
    figures.add("50 MB: export", None, take_time(lambda: subprocess.run(command, check=True, capture_output=True)))

    size = f"{exported.stat().st_size / 1e6:.0f} MB"
    for _ in range(3):
        page = new_page(browser, ".row-turn")
        figures.add(f"its export of {size}: first rows", None, time_opening(page, exported.as_uri(), ".row-turn"))
        page.context.close()
        page = new_page(browser, ".comforts")  # which a script adds when all of it was read
        figures.add(f"its export of {size}: open", 5.0, time_opening(page, exported.as_uri(), ".comforts"))
        assert page.locator("main .node-turn").count() == 2000
        expect(page.locator(".run-facts")).to_contain_text("2000 turns")
        page.context.close()


def open_list(browser: Browser, path: Path, figures: Figures, state: str) -> None:
    """Open the list of a log, and search it when all runs are in the index."""

    with hosted_page(LoggedRuns(path)) as hosted:
        page = new_page(browser, ".run-open")
        figures.add(f"10,000 runs: list, {state}", 1.0, time_opening(page, hosted.opening_url, ".run-open"))
        sums = page.locator(".sums")
        expect(sums).to_contain_text("10,000 runs")
        figures.add(
            f"10,000 runs: all indexed, {state}",
            None,
            take_time(lambda: expect(sums).not_to_contain_text("still loading")),
        )
        figures.add("10,000 runs: search a rare word", 0.3, time_search(page, "needle"))
        expect(sums).to_contain_text("2 runs")
        page.get_by_label("Search all runs").fill("")
        expect(sums).to_contain_text("10,000 runs")
        figures.add("10,000 runs: search a word of every run", 0.3, time_search(page, "window river"))
        page.context.close()


def main() -> int:
    """Measure, print, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description="Measure how long people wait for the page.")
    parser.add_argument("--reps", type=int, default=3, metavar="N")
    repetitions: int = parser.parse_args().reps
    expect.set_options(timeout=WAIT_MILLISECONDS)
    figures = Figures()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        os.environ["TOOLSPEAK_CACHE_FOLDER"] = f"{name}/cache"  # where the page keeps its indexes
        record = write_long_run(Path(name) / "long.jsonl")
        with ConversationStore(Path(name) / "log.sqlite") as store:
            write_conversations(store, 5_000)  # of two runs each
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for number in range(repetitions):
            open_long_run(browser, record, figures)
            state = "without an index" if number == 0 else "with an index"
            open_list(browser, Path(name) / "log.sqlite", figures, state)
        open_export(browser, record, figures)
        browser.close()
    return int(figures.print())


if __name__ == "__main__":
    sys.exit(main())
