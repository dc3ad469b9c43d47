"""A durable run that is watched while it goes on."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from toolspeak.durable import Runs
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore
from toolspeak.values.events import ApprovalGiven

from .conftest import WAIT_MILLISECONDS, BrowserTab
from .hosting import HostedPage, hosted_page
from .recorded import record_run

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


@contextmanager
def worker(store: str, pace: float) -> Generator[subprocess.Popen[str]]:
    """A process that waits for a line before it drives runs."""
    command = [sys.executable, "-m", "tests.page.worker_program", store, str(pace)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/runs.db"


def open_tab(hosted: HostedPage, chromium: Browser, path: str) -> Page:
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(WAIT_MILLISECONDS)
    hosted.give_cookie(context)
    page = context.new_page()
    page.goto(f"{hosted.url}/{path}")
    return page


def test_a_run_is_watched_in_two_tabs_while_its_worker_is_killed_and_approved_with_a_click(
    store: str, chromium: Browser
) -> None:
    with (
        Runs(store) as runs,
        worker(store, 2.0) as first,  # it is killed long before its story ends
        worker(store, 0.0) as second,
        hosted_page(DurableStore(store)) as hosted,
    ):
        run = runs.start_sync("writer", "Write to Ada.")
        begin(first)
        tabs = [open_tab(hosted, chromium, f"#run=store/{run.id}") for _ in range(2)]
        for page in tabs:
            expect(page.locator(".row-turn .row-text")).to_contain_text("Once upon")
        first.kill()
        begin(second)
        for page in tabs:
            expect(page.locator(".row-note")).to_contain_text("Resumed")
            expect(page.locator(".row-turn.is-void")).to_have_count(1)
            expect(page.locator(".approval")).to_be_visible()
            expect(page.locator(".state")).to_have_text("Waiting for approval")
        tabs[0].get_by_role("button", name="Allow").click()
        for page in tabs:
            expect(page.locator(".row-end")).to_contain_text("Answered")
            expect(page.locator(".row-call")).to_contain_text("sent to Ada")
            expect(page.locator(".approval")).to_have_count(0)
            page.context.close()
        assert hosted.policy_reports == []
        given = [fact for fact in run.facts_sync() if isinstance(fact, ApprovalGiven)]
        assert [fact.approved for fact in given] == [True]
        assert given[0].by != ""


def test_a_refusal_is_clicked_with_its_reason(store: str, tab: BrowserTab) -> None:
    with Runs(store) as runs, worker(store, 0.0) as process, hosted_page(DurableStore(store)) as hosted:
        run = runs.start_sync("writer", "Write to Ada.")
        begin(process)
        page = tab.page
        hosted.give_cookie(page.context)
        page.goto(f"{hosted.url}/#run=store/{run.id}")
        page.get_by_label("Reason for refusing").fill("not today")
        page.get_by_role("button", name="Refuse").click()
        expect(page.locator(".row-end")).to_be_visible()
        expect(page.locator(".row-call")).to_contain_text("not today")


def test_a_reason_that_is_being_written_is_kept_when_the_row_is_drawn_again(store: str, tab: BrowserTab) -> None:
    with Runs(store) as runs, worker(store, 0.0) as process, hosted_page(DurableStore(store)) as hosted:
        run = runs.start_sync("writer", "Write to Ada.")
        page = tab.page
        held: list[Route] = []
        page.route("**/rows/*", lambda route: held.append(route))
        begin(process)
        hosted.give_cookie(page.context)
        with page.expect_request("**/rows/*"):
            page.goto(f"{hosted.url}/#run=store/{run.id}")
        reason = page.get_by_label("Reason for refusing")
        reason.fill("not today")
        expect(page.locator(".approval .details")).to_contain_text("Loading…")
        for route in held:
            route.continue_()
        page.unroute("**/rows/*")
        expect(page.locator(".approval .part-json")).to_contain_text("Ada")  # so it was drawn again
        expect(reason).to_have_value("not today")
        expect(reason).to_be_focused()
        page.get_by_role("button", name="Refuse").click()
        expect(page.locator(".row-end")).to_be_visible()
        given = [fact for fact in run.facts_sync() if isinstance(fact, ApprovalGiven)]
        assert [(fact.approved, fact.reason) for fact in given] == [(False, "not today")]


def test_a_record_that_grows_is_followed(tmp_path: Path, tab: BrowserTab) -> None:
    whole = record_run(tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    growing = folder / "growing.jsonl"
    growing.write_text("".join(whole[:3]) + whole[3][:20])
    with hosted_page(RecordFiles(folder)) as hosted:
        page = tab.page
        page.goto(hosted.opening_url)
        expect(page.locator(".row-call")).to_have_count(1)
        expect(page.locator(".row-end")).to_have_count(0)
        with growing.open("a") as file:
            file.write(whole[3][20:] + "".join(whole[4:]))
        expect(page.locator(".row-end")).to_be_visible()
        expect(page.locator(".row-call")).to_have_count(3)
