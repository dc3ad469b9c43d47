"""One run in a real browser: the answer first, details beside the rows, what went wrong, and what happens now."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from toolspeak import Agent, Limits
from toolspeak.page.record_files import RecordFiles
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.testing.scripted import Line
from toolspeak.values.events import Fact, RunEnded, RunStarted, TurnStarted
from toolspeak.values.messages import Media, user

from .conftest import BrowserTab
from .hostile import HOSTILE
from .hosting import HostedPage, hosted_page
from .recorded import get_weather, write_facts
from .test_playground import check_accessibility
from .test_rows import PROGRAM
from .test_viewer import AXE

pytestmark = pytest.mark.browser

MARKDOWN = """## The plan

Take the **14:12** train, *two seats*, with `book()`.

1. Buy
2. Pack
   - a [map](https://maps.example/paris)

| leaves | price |
|---|---|
| 14:12 | 48 |

```python
book("14:12")
```

> quoted

<script>window.pwned = 1</script> [click](javascript:window.pwned=1) ![x](https://evil.example/x.png)
"""


def read_log(lines: int) -> str:
    """Read a log."""
    return "\n".join(f"line {number}: all is well" for number in range(lines)) + "\nthe needle is here"


def get_tree() -> dict[str, object]:
    """Get a tree."""
    branches = {f"branch_{number}": {"leaves": list(range(20))} for number in range(30)}
    return {"big": 12345678901234567890, **branches, "last": {"deep": {"hidden": "the acorn"}}}


def draw_chart() -> Media:
    """Draw a chart."""
    pixel = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f00038601805a347d6b0000000049454e44ae426082"
    return Media(mime="image/png", data=bytes.fromhex(pixel), name="chart.png")


def record(path: Path, script: Sequence[Line], prompt: str = "Go.", *, code: bool = False) -> Path:
    """Write a run that an agent has made with all of the tools of this file."""
    model = ScriptedModel(script, name="native-model", on_tool_error="tell")
    agent = Agent(model, tools=[get_weather, read_log, get_tree, draw_chart], code=code)
    return write_facts(path, agent.run(prompt, limits=Limits(turns=100, repeats=None)).facts)


def open_run(tab: BrowserTab, hosted: HostedPage, place: str = "") -> Page:
    hosted.give_cookie(tab.page.context)
    tab.page.goto(f"{hosted.url}/{place}")
    expect(tab.page.locator(".row").first).to_be_visible()
    return tab.page


@pytest.fixture
def many(tmp_path: Path) -> Iterator[HostedPage]:
    """The page with a run that has every sort of detail."""
    script = [
        calls(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Atlantis"})),
        calls(("read_log", {"lines": 2000})),
        calls(("get_tree", {})),
        calls(("draw_chart", {})),
        calls(("get_weather", {"city": "Atlantis"})),
        says(MARKDOWN),
    ]
    with hosted_page(RecordFiles(record(tmp_path / "many.jsonl", script, "How do I get there?"))) as page:
        yield page


def test_the_answer_stands_first_as_markdown_that_can_do_nothing(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    answer = page.locator(".answer .markdown")
    expect(answer.locator("strong")).to_have_text("14:12")
    expect(answer.locator("em")).to_have_text("two seats")
    expect(answer.locator(".md-heading")).to_have_text("The plan")
    expect(answer.locator("ol > li")).to_have_count(2)
    expect(answer.locator("li li")).to_have_text("a map (maps.example)")
    expect(answer.locator("tbody td")).to_have_text(["14:12", "48"])
    expect(answer.locator("pre")).to_have_text('book("14:12")')
    expect(answer.locator("blockquote")).to_have_text("quoted")
    expect(answer.locator("a")).to_have_attribute("href", "https://maps.example/paris")
    expect(answer).to_contain_text("<script>window.pwned = 1</script> [click](javascript:window.pwned=1)")
    expect(answer).to_contain_text("[image: x, https://evil.example/x.png]")
    assert answer.locator("script, img").count() == 0
    assert page.evaluate("window.pwned") is None
    top = page.locator(".answer").evaluate("element => element.getBoundingClientRect().top")
    assert top < page.locator(".row").first.evaluate("element => element.getBoundingClientRect().top")
    assert all(url.startswith(many.url) for url in tab.requests)
    assert many.policy_reports == []


def test_hostile_answers_are_drawn_as_text(tmp_path: Path, tab: BrowserTab) -> None:
    text = "\n\n".join(
        (
            *HOSTILE[:-1],
            *(f"- {each}\n> {each}\n| {each} | b |\n|---|---|\n| `{each}` | **{each}** |" for each in HOSTILE[:-1]),
        )
    )
    script = [calls(("read_log", {"lines": 1})), says(text)]
    with hosted_page(RecordFiles(record(tmp_path / "run.jsonl", script, f"{HOSTILE[0]}\n{HOSTILE[6]}"))) as hosted:
        page = open_run(tab, hosted)
        expect(page.locator(".answer .markdown")).to_contain_text("<script>window.pwned = 1</script>")
        expect(page.locator(".answer-asked")).to_contain_text('<a href="javascript:window.pwned = 1">click</a>')
        expect(page.locator(".answer .markdown")).to_contain_text("\\u202etxt.exe")
        assert page.evaluate("window.pwned") is None
        assert (
            page.locator(".answer").locator("script, style, iframe, base, form, object, img, svg, math, link").count()
            == 0
        )
        links = page.locator(".answer a").evaluate_all("links => links.map((link) => link.protocol)")
        assert set(links) <= {"http:", "https:"}
        assert all(url.startswith(hosted.url) for url in tab.requests)
        assert hosted.policy_reports == []


def test_details_are_beside_the_rows_and_follow_the_keyboard(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    count = page.locator(".timeline .item").count()
    page.locator(".row-call").first.click()
    pane = page.get_by_role("complementary", name="Details")
    expect(pane.locator(".part-json").first).to_contain_text('"city": "Paris"')
    rows, beside = (page.locator(each).bounding_box() for each in (".run-rows", ".pane"))
    assert rows is not None
    assert beside is not None
    assert beside["x"] >= rows["x"] + rows["width"] - 1
    assert abs(page.locator(".timeline .item").count() - count) < count
    page.keyboard.press("j")
    expect(pane.locator(".part-error")).to_contain_text("there is no station in Atlantis")
    page.locator(".row-call").first.click()  # another row: its details take the place of those that are open
    expect(pane.locator(".part-json").first).to_contain_text('"city": "Paris"')
    page.locator(".row-call").first.click()  # the same row once more
    expect(pane).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(pane).to_have_count(0)
    expect(page.locator(".is-active .row")).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 800})
    page.keyboard.press("Enter")
    box = pane.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    page.get_by_role("button", name="Close details").click()
    expect(pane).to_have_count(0)


def test_json_is_folded_and_exact_and_copied_whole(many: HostedPage, tab: BrowserTab) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_run(tab, many)
    page.get_by_label("Find in this run").fill("acorn")
    page.keyboard.press("Enter")
    tree = page.locator(".pane .json").last
    expect(tree).to_contain_text("12345678901234567890")
    expect(tree.locator(".json-text", has_text="the acorn")).to_be_in_viewport()
    branch = tree.locator("summary", has_text="branch_29")
    expect(branch).to_contain_text("1 field")
    assert tree.locator(".json-number").count() < 100
    branch.click()
    expect(branch.locator("xpath=..").locator(".json-inner").first).to_contain_text("leaves")
    page.get_by_role("button", name="Copy Result").click()
    expect(page.get_by_role("button", name="Copy Result")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert json.loads(copied)["last"] == {"deep": {"hidden": "the acorn"}}
    assert "12345678901234567890" in copied


def test_find_opens_the_hit_and_shows_it_in_a_long_text(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    page.get_by_label("Find in this run").fill("the needle")
    page.keyboard.press("Enter")
    expect(page.locator(".is-active .row-label")).to_have_text("read_log")
    block = page.locator(".pane .part-log .block")
    expect(block).to_contain_text("the needle is here")
    assert "mono" in block.evaluate("element => getComputedStyle(element).fontFamily").lower()
    page.wait_for_function(
        "() => { const block = document.querySelector('.pane .part-log .block');"
        " return block.scrollTop > 100 && block.scrollHeight - block.scrollTop - block.clientHeight < 400 }"
    )
    page.get_by_label("Find in this run").fill("nobody wrote this")
    expect(page.locator(".find-count")).to_have_text("Nothing found")


def test_what_went_wrong_is_counted_red_filtered_and_a_key_away(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    expect(page.locator(".state-warn")).to_have_text("Answered")
    expect(page.locator(".fault-count")).to_have_text("2 errors")
    expect(page.locator(".lane-fault")).to_have_count(1)
    page.keyboard.press("e")
    expect(page.locator(".is-active .row")).to_contain_text("Atlantis")
    expect(page.locator(".pane .part-error")).to_be_visible()
    expect(page).to_have_url(re.compile(r"fact=\d"))
    first = page.url
    page.keyboard.press("e")
    expect(page).not_to_have_url(first)
    expect(page.locator(".is-active .row")).to_contain_text("Atlantis")
    page.keyboard.press("E")
    page.wait_for_url(first)
    page.keyboard.press("x")
    page.get_by_role("button", name="Errors only").click()
    expect(page.locator(".row")).to_have_count(4)
    expect(page.locator(".row-call.tone-bad")).to_have_count(2)
    page.get_by_role("button", name="Errors only").click()
    expect(page.locator(".row").nth(6)).to_be_visible()


def test_a_program_is_shown_as_code_with_its_calls_beneath(tmp_path: Path, tab: BrowserTab) -> None:
    script = [calls(("run_program", {"code": PROGRAM})), says("Done.")]
    with hosted_page(RecordFiles(record(tmp_path / "run.jsonl", script, "Compare.", code=True))) as hosted:
        page = open_run(tab, hosted)
        expect(page.locator(".run-facts")).to_contain_text("2 turns")
        expect(page.locator(".row-message")).to_have_count(1)
        expect(page.locator(".row-turn")).to_have_count(2)
        expect(page.locator(".row-call")).to_have_count(4)
        page.locator(".row-call").first.click()
        code = page.locator(".pane .part-code .block")
        assert code.evaluate("element => element.textContent") == PROGRAM
        expect(code.locator(".code-word").first).to_have_text("for")
        page.keyboard.press("k")
        expect(page.locator(".pane .part-code .block")).to_contain_text("for city in cities:")


def test_an_agent_that_is_a_tool_gets_a_task_and_has_its_own_clock(tmp_path: Path, tab: BrowserTab) -> None:
    helper = Agent(ScriptedModel([says("Blue.")], name="helper"))
    model = ScriptedModel([calls(("ask", {"prompt": "What colour?"})), says("It is blue.")])
    facts = Agent(model, tools=[helper.as_tool("ask", "Ask somebody.")]).run("Go.").facts
    with hosted_page(RecordFiles(write_facts(tmp_path / "run.jsonl", facts))) as hosted:
        page = open_run(tab, hosted)
        expect(page.locator(".row-message .row-label")).to_have_text(["You", "Task"])
        expect(page.locator(".row-end .row-meta")).to_have_text(["0.3 s", "1.3 s"])
        expect(page.locator(".lane-labels")).to_contain_text("sub-agents")


def test_labels_are_plain_words(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    expect(page.locator(".run-facts")).to_contain_text(re.compile(r"\d+ out tokens"))
    page.locator(".row-turn").first.click()
    page.get_by_role("button", name="What the model saw").click()
    expect(page.locator(".pane")).to_contain_text("Tools parameter (4)")
    expect(page.locator(".pane")).not_to_contain_text("Facts")
    page.get_by_role("button", name="Save…").click()
    for name in ("HTML file", "Test", "Eval case"):
        expect(page.get_by_role("dialog").get_by_text(name, exact=True)).to_be_visible()


def test_an_image_is_named_and_drawn(many: HostedPage, tab: BrowserTab) -> None:
    page = open_run(tab, many)
    page.set_viewport_size({"width": 1280, "height": 1400})
    row = page.locator(".row-call", has_text="draw_chart")
    expect(row).to_contain_text("→  chart.png")
    row.click()
    expect(page.locator(".pane img")).to_have_js_property("naturalWidth", 1)


def test_why_a_run_failed_is_said_at_the_top_and_whole(tmp_path: Path, tab: BrowserTab) -> None:
    reason = "401 Unauthorized: <b>the key</b> is wrong; " + "look at the settings; " * 20 + "the end"
    facts: list[Fact] = [
        RunStarted(run_id="a", model="m", dialect="native", messages=(user("Go."),)),
        TurnStarted(turn=1),
        RunEnded(reason="error", detail=reason),
    ]
    with hosted_page(RecordFiles(write_facts(tmp_path / "run.jsonl", facts))) as hosted:
        page = open_run(tab, hosted)
        expect(page.locator(".failure")).to_have_text(f"Failed: {reason}")
        expect(page.locator(".failure")).to_be_in_viewport(ratio=1)


def test_a_run_that_is_not_there_has_no_buttons(many: HostedPage, tab: BrowserTab) -> None:
    many.give_cookie(tab.page.context)
    tab.page.goto(f"{many.url}/#run=files/nothing")
    expect(tab.page.locator("h1")).to_have_text("This run can't be shown")
    expect(tab.page.locator(".remark-bad")).to_contain_text("no such file")
    expect(tab.page.get_by_role("main").get_by_role("button")).to_have_count(0)
    tab.page.get_by_role("main").get_by_role("link", name="All runs").last.click()
    tab.complaints.clear()  # the browser logs every status like this


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "dark"), (1440, "light")])
def test_the_run_with_its_details_is_accessible_and_fits(
    many: HostedPage, tab: BrowserTab, width: int, scheme: str
) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm install --prefix tests/page --no-package-lock")
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = open_run(tab, many)
    expect(page.locator(".answer .markdown")).to_be_visible()
    check_accessibility(page)
    page.keyboard.press("e")
    expect(page.locator(".pane .part-error")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_accessibility(page)
