"""A real browser for the tests that are marked `browser`: Debian's headless Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from toolspeak.page.record_files import RecordFiles

from .hosting import HostedPage, hosted_page, open_contexts
from .recorded import record_run

WAIT_MILLISECONDS = 60_000  # for a busy machine

expect.set_options(timeout=WAIT_MILLISECONDS)

CHROMIUM = os.environ.get("TOOLSPEAK_CHROMIUM") or shutil.which("chromium-headless-shell") or ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need a browser where there is none."""
    if not CHROMIUM:
        missing = pytest.mark.skip(reason="there is no browser: apt install chromium-headless-shell")
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(missing)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser, started once. Its driver has an event loop in this thread, so it ends before other tests begin."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the tests, in which the page keeps its indexes of runs."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TOOLSPEAK_CACHE_FOLDER", str(folder))
        yield folder


class BrowserTab:
    """A tab, and all that it asked for and complained of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)


@pytest.fixture
def tab(chromium: Browser) -> Iterator[BrowserTab]:
    """A tab of a fresh browser profile; it fails the test if a script failed or a policy was violated."""
    # Without animations: what is looked at for its contrast must not be half transparent at that moment.
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MILLISECONDS)
    open_contexts.add(context)
    opened = BrowserTab(context.new_page())
    yield opened
    if context in open_contexts:
        open_contexts.remove(context)
        context.close()
    assert opened.complaints == []


@pytest.fixture
def weather_page(tmp_path: Path) -> Iterator[HostedPage]:
    """The page with one recorded run."""
    record_run(tmp_path / "weather.jsonl")
    with hosted_page(RecordFiles(tmp_path)) as page:
        yield page
