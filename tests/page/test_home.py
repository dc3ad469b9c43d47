"""The home of the page in a real browser: the table of runs, the search, notes, differences, sets of runs."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.durable.log import ConversationStore, RunLink, StoredFact
from toolspeak.lab.suites import load_suite
from toolspeak.page.catalogue import MAX_EXCERPTS
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore, LoggedRuns
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import calls, says
from toolspeak.values.events import CallReady, RunEnded, RunStarted
from toolspeak.values.messages import user

from .conftest import BrowserTab
from .hostile import HOSTILE
from .hosting import HostedPage, hosted_page
from .recorded import record_run, write_facts
from .test_catalogue import ONCE, TWICE, make_facts, refund, write_runs
from .test_viewer import AXE, COUNT_NODES

pytestmark = pytest.mark.browser


@pytest.fixture
def home(tab: BrowserTab, tmp_path: Path) -> Iterator[Page]:
    """The home of a page with three runs, all of which were read: paid once, paid twice, failed at the weather."""
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        open_home(tab.page, hosted)
        yield tab.page


def open_home(page: Page, hosted: HostedPage) -> None:
    hosted.give_cookie(page.context)
    page.goto(hosted.url)
    expect(page.locator(".run-open").first).to_be_visible()
    expect(page.locator(".sums")).not_to_contain_text("still loading")


def titles(page: Page) -> list[str]:
    """The titles of the runs that are shown, in their order."""
    return page.locator(".run-title").all_text_contents()


def line_of(page: Page, title: str) -> str:
    line = page.locator(".run-line", has=page.get_by_role("button", name=title))
    return " ".join(" ".join(line.locator(".cell").all_inner_texts()).split())


def test_home_is_a_table_of_runs_with_their_figures_and_sums(home: Page, tab: BrowserTab) -> None:
    expect(home.locator("h1")).to_have_text("Runs")
    expect(home.locator(".run-list")).not_to_be_visible()
    line = line_of(home, "Pay the invoice of Globex.")
    for words in ("Answered", "pay twice", "3", "100 / 30", "$0.00013", "small-model", "native"):
        assert words in line, words
    assert "2 errors" in line_of(home, "How is the weather in Atlantis?")
    expect(home.locator(".sums")).to_contain_text("3 runs  ·  8 turns")
    expect(home.locator(".sums")).to_contain_text("2 errors")
    home.get_by_role("button", name="Pay the invoice of Acme.").click()
    expect(home.locator(".row-end")).to_be_visible()
    expect(home.locator(".run-list .entry")).to_have_count(3)
    home.locator(".brand a").click()
    expect(home.locator(".run-open")).to_have_count(3)
    assert len([url for url in tab.requests if url.endswith("/api/runs")]) == 1  # the rest are changes


def test_runs_are_sorted_by_any_column(home: Page) -> None:
    home.get_by_role("columnheader", name="Calls").get_by_role("button").click()
    expect(home.locator('[aria-sort="descending"]')).to_have_text("Calls")
    expect(home.locator(".run-title").last).to_have_text("Pay the invoice of Acme.")
    home.get_by_role("columnheader", name="Calls").get_by_role("button").click()
    expect(home.locator('[aria-sort="ascending"]')).to_have_text("Calls")
    expect(home.locator(".run-title").first).to_have_text("Pay the invoice of Acme.")
    home.get_by_role("columnheader", name="Prompt").get_by_role("button").click()
    prompts = ["How is the weather in Atlantis?", "Pay the invoice of Acme.", "Pay the invoice of Globex."]
    expect(home.locator(".run-title")).to_have_text(prompts)


def test_filters_count_what_they_show_and_are_summed(home: Page) -> None:
    home.get_by_role("button", name="With errors 1").click()
    expect(home.locator(".run-title")).to_have_text(["How is the weather in Atlantis?"])
    expect(home.locator(".sums")).to_contain_text("1 run  ·  3 turns")
    home.get_by_role("button", name="With errors 1").click()
    home.get_by_label("Tool", exact=True).select_option("pay")
    expect(home.locator(".run-title")).to_have_count(2)
    home.get_by_role("button", name="Same call twice 1").click()
    expect(home.locator(".run-title")).to_have_text(["Pay the invoice of Globex."])


def test_a_call_that_took_effect_twice_is_named_found_and_marked(tab: BrowserTab, tmp_path: Path) -> None:
    """One of two runs paid twice; the other one only looked twice, with a tool that does not say that it only reads."""
    write_runs(tmp_path)
    look = calls(("get_weather", {"city": "Oslo"}))
    write_facts(tmp_path / "looked.jsonl", make_facts([look, look, ONCE[0], says("Paid.")], "Pay if it rains."))
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        page = tab.page
        open_home(page, hosted)
        page.get_by_role("button", name="Same call twice 2").click()
        expect(page.locator(".run-title")).to_have_count(2)
        assert sorted(page.locator(".repeated").all_text_contents()) == ["get_weather twice", "pay twice"]
        page.get_by_label("Tool", exact=True).select_option("pay")
        expect(page.locator(".run-title")).to_have_text(["Pay the invoice of Globex."])
        page.get_by_role("button", name="Pay the invoice of Globex.").click()
        expect(page.locator(".fault-count")).to_have_text("1 repeated call")
        expect(page.locator(".lane-fault")).to_have_count(0)  # it did not fail
        expect(page.locator(".row-end")).to_be_visible()
        page.get_by_role("button", name="Repeats only").click()
        expect(page.locator(".row-call")).to_have_count(1)
        page.keyboard.press("e")
        expect(page.locator(".pane")).to_contain_text("already took effect in turn 1")
        expect(page.locator(".row-call .badge")).to_have_text("same call again")
        page.get_by_role("link", name="All runs").locator("visible=true").click()
        expect(page.locator(".run-title")).to_have_text(["Pay the invoice of Globex."])  # the filter is still there


def test_a_filter_without_matches_says_so(home: Page) -> None:
    home.get_by_label("Search all runs").fill("nobody said this")
    expect(home.locator(".no-runs")).to_contain_text("No runs match “nobody said this”.")
    expect(home.locator(".sums")).to_have_text("0 runs")
    home.get_by_role("button", name="Show all runs").click()
    expect(home.locator(".run-open")).to_have_count(3)
    home.get_by_label("Tool", exact=True).select_option("pay")
    home.get_by_label("Search all runs").fill("atlantis")
    expect(home.locator(".no-runs")).to_contain_text("No runs match “atlantis” and these filters.")
    home.get_by_role("button", name="Show all runs").click()
    home.get_by_role("button", name="Pay the invoice of Acme.").click()
    home.get_by_label("Filter runs").fill("nobody")
    expect(home.locator(".side .none")).to_have_text("No runs match.")


def test_words_are_searched_in_all_that_was_said(home: Page) -> None:
    home.keyboard.press("/")
    home.keyboard.type("no station")
    expect(home.locator(".run-title")).to_have_text(["How is the weather in Atlantis?"])
    expect(home.locator("mark").first).to_have_text("no")
    home.get_by_label("Search all runs").fill("inv-7")
    expect(home.locator(".run-title")).to_have_text(["Pay the invoice of Globex."])


def test_the_run_that_paid_twice_is_found_among_two_hundred(tab: BrowserTab, tmp_path: Path) -> None:
    write_runs(tmp_path)
    facts = make_facts(ONCE, "Pay.")
    started = facts[0]
    assert isinstance(started, RunStarted)
    for number in range(197):
        first = replace(started, messages=(user(f"Pay the invoice of customer {number}."),))
        write_facts(tmp_path / f"{number}.jsonl", (first, *facts[1:]))
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        open_home(tab.page, hosted)
        expect(tab.page.locator(".sums")).to_contain_text("200 runs")
        assert tab.page.evaluate(COUNT_NODES) < 800  # only what is in sight is in the document
        tab.page.get_by_role("button", name="Same call twice 1").click()
        tab.page.locator(".run-open").click()
        expect(tab.page.locator(".row-call", has_text="INV-7")).to_have_count(2)


def test_a_word_of_more_runs_than_have_excerpts_is_found_in_all_of_them(tab: BrowserTab, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with ConversationStore(path) as store:
        for number in range(MAX_EXCERPTS + 5):
            started = RunStarted(
                run_id=f"{number}", model="m", dialect="native", messages=(user(f"Pay INV-{number}."),)
            )
            store.start(started, float(number))
            store.append(started.run_id, [StoredFact(RunEnded(reason="answered"), number + 0.5)])
    with hosted_page(LoggedRuns(path)) as hosted:
        open_home(tab.page, hosted)
        tab.page.get_by_label("Search all runs").fill("pay")
        expect(tab.page.locator("mark").first).to_have_text("Pay")
        expect(tab.page.locator(".sums")).to_contain_text(f"{MAX_EXCERPTS + 5} runs")
        tab.page.get_by_role("columnheader", name="Prompt").get_by_role("button").click()
        expect(tab.page.locator(".run-title").first).to_have_text("Pay INV-0.")  # the oldest, which has no excerpt
        tab.page.get_by_label("Search all runs").fill("pay inv-203")
        expect(tab.page.locator(".run-title")).to_have_text(["Pay INV-203."])


def test_runs_are_grouped_by_conversation(tab: BrowserTab, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with ConversationStore(path) as store:
        for number in range(2):
            first = make_facts(ONCE, f"Pay invoice {number}.")
            assert isinstance(first[0], RunStarted)
            conversation = first[0].run_id
            store.start(first[0], 10.0 * number)
            store.append(conversation, [StoredFact(fact, 10.0 * number + 1) for fact in first[1:]])
            if number == 0:
                messages = store.load_messages(conversation)
                second = Agent(ScriptedModel(["Gladly."] * 9)).run("Thanks.", messages=messages).facts
                assert isinstance(second[0], RunStarted)
                link = RunLink(conversation=conversation, parent=conversation, messages=messages)
                store.start(second[0], 5.0, link)
                store.append(second[0].run_id, [StoredFact(fact, 6.0) for fact in second[1:]])
    with hosted_page(LoggedRuns(path)) as hosted:
        open_home(tab.page, hosted)
        tab.page.get_by_role("button", name="Group by conversation").click()
        group = tab.page.locator(".group-line")
        expect(group).to_have_count(1)
        expect(group).to_contain_text("Pay invoice 0.")
        expect(group).to_contain_text("2 runs · 3 turns")
        expect(tab.page.locator(".in-group .run-title")).to_have_text(["Thanks.", "Pay invoice 0."])


def test_a_run_that_waits_is_seen_in_the_table_and_in_the_list(tab: BrowserTab, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    model = ScriptedModel([calls(("refund", {"invoice": "INV-1"})), says("Done.")])
    talker = Agent(ScriptedModel([says("Hello.")]))
    agents = {"clerk": Agent(model, tools=[refund]), "talker": talker}
    with Runs(url) as runs, Worker(runs, agents), hosted_page(DurableStore(url)) as hosted:
        runs.start_sync("talker", "Hi.", data={"tenant": "acme"}).outcome_sync(timeout=60)
        runs.start_sync("clerk", "Refund it.")
        tab.page.goto(hosted.opening_url)
        expect(tab.page.locator(".tone-paused .cell-state")).to_have_text("Waiting")
        tab.page.get_by_role("button", name="Waiting 1").click()
        expect(tab.page.locator(".run-title")).to_have_text(["Refund it."])
        tab.page.get_by_role("button", name="Waiting 1").click()
        expect(tab.page.locator(".tag")).to_have_text("tenant: acme")
        tab.page.get_by_role("button", name="Hi.").click()
        expect(tab.page.locator(".run-list .entry", has_text="Refund it.")).to_contain_text("waiting")


def test_a_score_a_note_and_tags_are_said_of_a_run_and_listed(home: Page, tab: BrowserTab) -> None:
    home.get_by_role("button", name="Pay the invoice of Globex.").click()
    home.get_by_role("button", name="Score, note, tags…").click()
    home.get_by_label("2 poor").check()
    home.get_by_label("Note").fill("It paid twice.")
    home.get_by_label("Tags, separated by commas").fill("billing, look again")
    home.get_by_role("button", name="Save", exact=True).click()
    expect(home.get_by_role("button", name="2 of 5 · billing · look again · note")).to_be_visible()
    home.locator(".brand a").click()
    home.get_by_role("button", name="With notes 1").click()
    expect(home.locator(".run-title")).to_have_text(["Pay the invoice of Globex."])
    expect(home.locator(".cell-tags .badge")).to_have_text(["2 of 5", "billing", "look again"])
    home.reload()
    expect(home.locator(".tag")).to_have_text(["billing", "look again"])
    home.get_by_role("button", name="Pay the invoice of Globex.").click()
    home.get_by_role("button", name="2 of 5").click()
    expect(home.get_by_label("Note")).to_have_value("It paid twice.")
    home.get_by_label("Tags, separated by commas").fill(", ".join(f"tag {number}" for number in range(30)))
    home.get_by_role("button", name="Save", exact=True).click()
    expect(home.locator("dialog [role=status]")).to_contain_text("at most 20 tags")
    assert all("422" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def test_two_runs_are_compared_with_the_keyboard_alone(home: Page) -> None:
    home.get_by_role("columnheader", name="Prompt").get_by_role("button").click()
    expect(home.locator(".run-title").first).to_have_text("How is the weather in Atlantis?")
    home.keyboard.press("j")  # from a heading to the first run
    for key in ("j", "x", "j", "x"):
        home.keyboard.press(key)
    expect(home.locator(".set-count")).to_have_text("2 runs selected")
    home.keyboard.press("d")
    expect(home.locator("h1")).to_have_text("Differences")
    expect(home.locator(".figures-table")).to_contain_text("Pay the invoice of Acme.")
    expect(home.locator(".is-different", has_text="Calls")).to_contain_text("12+1 (+100 %)")
    expect(home.locator(".step-message del")).to_have_text("Acme")
    expect(home.locator(".step-message ins")).to_have_text("Globex")
    expect(home.locator(".step-second", has_text="pay")).to_contain_text("only in B")
    expect(home.locator(".step-end")).not_to_be_visible()
    home.get_by_role("button", name="Show unchanged steps").click()
    expect(home.locator(".step-end")).to_be_visible()
    home.locator(".step-second.step-call").get_by_role("link", name="in B").click()
    expect(home.locator(".is-active .row")).to_contain_text("INV-7")


def test_chosen_runs_are_saved_as_a_suite_and_as_a_test(home: Page, tmp_path: Path) -> None:
    home.get_by_label("Select all shown").check()
    expect(home.get_by_role("button", name="Compare")).to_be_disabled()
    home.get_by_role("button", name="Save as suite…").click()
    with home.expect_download() as download:
        home.get_by_role("button", name="Save 3 runs").click()
    assert download.value.suggested_filename == "suite.jsonl"
    download.value.save_as(tmp_path / "saved" / "suite.jsonl")
    assert len(load_suite(str(tmp_path / "saved" / "suite.jsonl")).questions) == 3
    expect(home.locator(".set-state")).to_contain_text("Saved 3 runs as suite.jsonl")
    home.get_by_role("button", name="Close").click()
    home.get_by_role("button", name="Save as test…").click()
    with home.expect_download() as download:
        home.get_by_role("button", name="Save 3 runs").click()
    assert download.value.suggested_filename == "saved_runs.zip"
    home.get_by_role("button", name="Close").click()
    home.get_by_role("button", name="Clear selection").click()
    expect(home.locator(".set-actions")).not_to_be_visible()


def test_hostile_texts_in_every_field_of_the_list_are_drawn_as_text(tab: BrowserTab, tmp_path: Path) -> None:
    facts = make_facts(ONCE, "Pay.")
    started = facts[0]
    assert isinstance(started, RunStarted)
    texts = [text[:400].replace("\n", " ") for text in HOSTILE]
    for number, text in enumerate(texts):
        first = replace(started, messages=(user(text),), model=text, dialect=text)
        path = write_facts(tmp_path / f"{number}.jsonl", (first, *facts[1:]))
        path.write_text(path.read_text().replace("was paid", "was paid " + json.dumps(text)[1:-1]))
    page = tab.page
    page.set_viewport_size({"width": 1440, "height": 3000})
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        open_home(page, hosted)
        expect(page.locator(".run-open")).to_have_count(len(texts))
        page.locator(".run-open").first.click()
        page.get_by_role("button", name="Score, note, tags…").click()
        page.get_by_label("Note").fill(HOSTILE[1])
        page.get_by_label("Tags, separated by commas").fill(HOSTILE[0])
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("dialog")).to_have_count(0)
        page.locator(".brand a").click()
        expect(page.locator(".tag")).to_have_text(HOSTILE[0])
        shown = " ".join(titles(page))
        for text in (HOSTILE[0], HOSTILE[5], "\\u202etxt.exe", "\\x1b[2J"):
            assert text in shown
        page.get_by_label("Search all runs").fill("pwned")
        expect(page.locator("mark").first).to_be_visible()
        page.get_by_label("Select all shown").check()
        page.get_by_role("button", name="Clear selection").click()
        boxes = page.locator(".run-line:not(.table-head) input[type=checkbox]")
        boxes.nth(0).check()
        boxes.nth(1).check()
        page.get_by_role("button", name="Compare").click()
        expect(page.locator(".step-message del").first).to_be_visible()
        assert page.evaluate("window.pwned") is None
        assert page.locator("script, style, iframe, base, form, object, template, math, svg[onload]").count() <= 1
        assert all(url.startswith((hosted.url, "blob:")) for url in tab.requests)
        assert hosted.policy_reports == []


def test_hostile_texts_in_a_repeated_call_are_drawn_as_text(tab: BrowserTab, tmp_path: Path) -> None:
    write_runs(tmp_path)
    name, written = HOSTILE[0], f"\u202e{HOSTILE[5]}"
    facts = [
        replace(fact, call=replace(fact.call, name=name, arguments={"invoice": written}))
        if isinstance(fact, CallReady)
        else fact
        for fact in make_facts(TWICE, "Pay.")
    ]
    write_facts(tmp_path / "hostile.jsonl", facts)
    page = tab.page
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        open_home(page, hosted)
        badge = page.locator(".repeated", has_text="pwned")
        expect(badge).to_have_text(f"{name} twice")
        assert "\u202e" not in (badge.get_attribute("title") or "")
        page.get_by_role("button", name="Same call twice 2").click()
        page.get_by_label("Tool", exact=True).select_option(name)
        page.locator(".run-open").click()
        expect(page.locator(".row-end")).to_be_visible()
        page.keyboard.press("e")
        expect(page.locator(".pane")).to_contain_text("already took effect in turn 1")
        assert page.evaluate("window.pwned") is None
        assert page.locator("script, style, iframe, base, form, object, template, math, svg[onload]").count() <= 1
        assert all(url.startswith(hosted.url) for url in tab.requests)
        assert hosted.policy_reports == []


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(390, 844, "dark"), (1024, 768, "light"), (1440, 900, "light"), (1440, 900, "dark"), (3840, 2160, "light")],
)
def test_home_and_differences_are_accessible_and_fit(home: Page, width: int, height: int, scheme: str) -> None:
    home.set_viewport_size({"width": width, "height": height})
    home.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    boxes = home.locator(".run-line:not(.table-head) input[type=checkbox]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    check_accessible(home, width)
    home.get_by_role("button", name="Save as test…").click()
    check_accessible(home, width)
    home.get_by_role("button", name="Close").click()
    home.get_by_label("Search all runs").fill("pay")
    expect(home.locator("mark").first).to_be_visible()
    check_accessible(home, width)
    home.get_by_role("button", name="Compare").click()
    expect(home.locator(".step-changed").first).to_be_visible()
    check_accessible(home, width)


def check_accessible(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm install --prefix tests/page --no-package-lock")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_day_and_the_hour_of_an_old_run_are_not_cut(tab: BrowserTab, tmp_path: Path, width: int) -> None:
    write_runs(tmp_path)
    for path in tmp_path.glob("*.jsonl"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    tab.page.set_viewport_size({"width": width, "height": 800})
    with hosted_page(RecordFiles(tmp_path)) as hosted:
        open_home(tab.page, hosted)
        cells = tab.page.locator(".run-line:not(.table-head) .cell-when")
        expect(cells).to_have_count(3)
        assert cells.evaluate_all("cells => cells.every((cell) => cell.scrollWidth <= cell.clientWidth)")


def test_runs_are_cards_on_a_phone(home: Page) -> None:
    home.set_viewport_size({"width": 390, "height": 844})
    expect(home.locator(".table-heads")).not_to_be_visible()
    home.get_by_label("Sort by").select_option("faults")
    expect(home.locator(".run-title").first).to_have_text("How is the weather in Atlantis?")
    expect(home.locator(".run-line:not(.table-head)").first).to_contain_text("2 errors")
    home.locator(".run-open").first.click()
    expect(home.locator("h1")).to_have_text("How is the weather in Atlantis?")
    home.get_by_role("link", name="All runs").click()
    expect(home.locator(".run-open")).to_have_count(3)


def test_a_run_that_is_recorded_meanwhile_appears(home: Page, tmp_path: Path) -> None:
    record_run(tmp_path / "later.jsonl", prompt="And later?")
    expect(home.locator(".run-title").first).to_have_text("And later?")
    expect(home.locator(".sums")).to_contain_text(re.compile("4 runs .* 10 turns"))
