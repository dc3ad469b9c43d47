"""The chat of the page: it is typed, streamed, approved, stopped, given files and another model, and kept in the log."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from toolspeak.durable.log import ConversationStore
from toolspeak.models import Model, Request
from toolspeak.page.playground import Playground, RunLog
from toolspeak.page.sources import LoggedRuns
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.testing.scripted import Line
from toolspeak.tools import Toolbox
from toolspeak.values.events import TextDelta
from toolspeak.values.messages import Media
from toolspeak.values.pieces import Answer, Piece

from .conftest import BrowserTab
from .hostile import HOSTILE
from .hosting import hosted_page
from .recorded import get_weather
from .test_playground import WAIT_SECONDS, Lab, check_accessibility, launch, open_page
from .test_viewer import AXE


class SlowModel:
    """A model that stops in the middle of its answer until the test lets it go on."""

    name = "slow"
    dialect = "native"

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        yield [TextDelta(text="Once upon")]
        await asyncio.to_thread(self.gate.wait, WAIT_SECONDS)
        yield [Answer(parts=(), finish="stop", usage=None)]


def count_files(request: Request) -> Any:
    """Answer with the names of the files that came with the last message."""
    last = request.shown.messages[-1]
    names = [part.name for part in last.parts if isinstance(part, Media)]
    return says(f"I have read {', '.join(map(str, names)) or 'nothing'}, after {len(request.shown.messages)} messages.")


SCRIPTS: dict[str, Sequence[Line]] = {
    "clerk": [calls(("get_weather", {"city": "Paris"})), says("It is **clear** in Paris."), count_files, count_files],
    "pilot": [calls(("launch", {"rocket": "Ariane"})), says("It flies."), says("It still flies.")],
    "hostile": [calls(("get_weather", {"city": HOSTILE[1]}), text=HOSTILE[0]), says("\n\n".join(HOSTILE[:-1]))],
}


class ChatLab(Lab):
    """A page with a chat that is logged."""

    slow: SlowModel
    log: Path

    def find_logged(self) -> dict[str, Any]:
        """Return the run of the log as the page lists it, once its end is written, which a thread does."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            with ConversationStore(self.log) as store:
                if [each for each in store.list_latest_runs(1) if store.has_ended(each.run_id)]:
                    [entry] = self.get("/api/runs")["sources"][0]["runs"]
                    return entry
            assert time.monotonic() < end, "the run is not in the log"
            time.sleep(0.02)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ChatLab]:
    slow = SlowModel()

    def find_model(name: str) -> Model:
        return slow if name == "slow" else ScriptedModel(SCRIPTS[name], name=name, chunk=5, on_tool_error="tell")

    log = tmp_path / "log.sqlite"
    ConversationStore(log).close()
    tools = Toolbox([get_weather, launch])
    playground = Playground(tmp_path / "kept", [*SCRIPTS, "slow"], find_model, tools, log=RunLog(log))
    with hosted_page(LoggedRuns(log), playground) as page:
        found = ChatLab(tmp_path / "kept", page, playground)
        found.slow, found.log = slow, log
        yield found
        slow.gate.set()


def say(page: Page, words: str) -> None:
    expect(page.get_by_role("button", name="Send")).to_be_enabled()  # the last answer is there
    page.get_by_label("Message", exact=True).fill(words)
    page.keyboard.press("Enter")


def list_logged(path: Path) -> list[tuple[str, str]]:
    """Return the conversations and models of the runs in the log, the oldest first."""
    with ConversationStore(path) as store:
        return [(each.conversation, each.model) for each in reversed(store.list_latest_runs(20))]


def test_what_is_asked_is_a_conversation_in_the_log(lab: ChatLab) -> None:
    first = lab.start("clerk", "How is Paris?")
    lab.wait(first)
    body = {"prompt": "And now?", "setup": {"model": "pilot", "tools": []}}
    second = lab.post(f"/api/runs/playground/{first}/go-on", body)["id"]
    lab.wait(second)
    other = lab.start("clerk", "Another thing.")
    lab.wait(other)
    lab.playground.log.close() if lab.playground.log else None
    (one, model), (same, pilot), (another, _) = list_logged(lab.log)
    assert (model, pilot) == ("clerk", "pilot")
    assert one == same != another
    with ConversationStore(lab.log) as store:
        run, messages = store.load_conversation(one)
        assert messages[0].text == "How is Paris?"
        assert [message.text for message in messages if message.role == "user"] == ["How is Paris?", "And now?"]
        assert store.has_ended(run)


def test_a_conversation_of_the_log_goes_on_in_the_same_conversation(lab: ChatLab) -> None:
    lab.wait(lab.start("clerk", "How is Paris?"))
    body = {"prompt": "And now?", "setup": {"model": "clerk"}}
    lab.wait(lab.post(f"/api/runs/log/{lab.find_logged()['id']}/go-on", body)["id"])
    lab.playground.log.close() if lab.playground.log else None
    logged = list_logged(lab.log)
    assert len(logged) == 2
    assert logged[0] == logged[1]


def test_attachments_come_with_the_message_and_bad_ones_are_refused(lab: ChatLab) -> None:
    file = {"name": "notes.txt", "mime": "text/plain", "data": "SGVsbG8="}
    first = lab.start("clerk", "How is Paris?")
    lab.wait(first)
    body = {"prompt": "Read this.", "attachments": [file], "setup": {"model": "clerk"}}
    run = lab.post(f"/api/runs/playground/{first}/go-on", body)["id"]
    lab.wait(run)
    messages = lab.get(f"/api/runs/playground/{run}/conversation")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "assistant", "user", "assistant"]
    assert messages[1]["calls"][0]["name"] == "get_weather"
    assert messages[3]["media"] == ["notes.txt"]
    assert "notes.txt" in messages[4]["text"]
    for wrong in ("file", {"name": "a", "mime": "text/plain", "data": "%"}, {"name": 1}):
        body = {"prompt": "Go.", "attachments": [wrong], "setup": {"model": "clerk"}}
        assert lab.post("/api/playground/runs", body, 422)["error"]


@pytest.mark.browser
def test_a_chat_is_typed_streamed_and_stopped(lab: ChatLab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, "chat")
    page.get_by_label("Model", exact=True).select_option("slow")
    say(page, "Tell me a story.")
    expect(page.locator(".chat-message.chat-user")).to_have_text("Tell me a story.")
    expect(page.locator(".chat .draft")).to_have_text("Once upon")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".chat-note")).to_contain_text("Cancelled")
    expect(page.get_by_role("button", name="Stop")).not_to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


@pytest.mark.browser
def test_a_chat_goes_on_with_another_model_other_tools_and_a_file(lab: ChatLab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, "chat")
    say(page, "How is Paris?")
    expect(page.locator(".chat .markdown strong")).to_have_text("clear")
    expect(page.locator(".chat-call")).to_contain_text('get_weather(city="Paris")')
    page.get_by_label("Files to attach").set_input_files(
        {"name": "<b>notes.txt", "mimeType": "text/plain", "buffer": b"Hello"}
    )
    expect(page.locator(".composer-file")).to_contain_text("<b>notes.txt")
    say(page, "Read this.")
    expect(page.locator(".chat-assistant .markdown").last).to_contain_text("<b>notes.txt, after 5 messages")
    page.get_by_label("Model", exact=True).select_option("pilot")
    page.get_by_label("Dialect", exact=True).select_option("json")
    page.locator(".composer-tools summary").click()
    page.get_by_label("launch").uncheck()
    expect(page.locator(".composer-tools summary")).to_have_text("Tools (1 of 2)")
    page.locator(".composer-tools summary").click()
    say(page, "Does it fly?")
    expect(page.locator("article.chat-user")).to_have_count(3)
    expect(page.locator(".run-facts")).to_contain_text("pilot")
    expect(page.locator(".run-facts")).to_contain_text("json")
    page.reload()
    expect(page.locator("article.chat-user")).to_have_count(3)
    page.get_by_role("link", name="Show the run").click()
    expect(page.locator(".origin")).to_contain_text("Continues Read this.")
    assert all(url.startswith(lab.page.url) for url in tab.requests)
    assert lab.page.policy_reports == []


@pytest.mark.browser
def test_a_chat_is_listed_once_though_the_log_and_the_playground_have_it(lab: ChatLab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, "chat")
    say(page, "How is Paris?")
    expect(page.locator(".chat .markdown strong")).to_have_text("clear")
    page.get_by_label("Model", exact=True).select_option("slow")
    say(page, "Tell me a story.")
    expect(page.locator(".chat .draft")).to_have_text("Once upon")
    page.get_by_role("link", name="All runs").locator("visible=true").click()
    expect(page.locator(".sums")).to_contain_text("2 runs")
    expect(page.locator(".run-title")).to_have_text(["Tell me a story.", "How is Paris?"])
    page.get_by_role("button", name="Tell me a story.").click()
    page.get_by_role("button", name="Cancel the run").click()  # only the playground can do it
    expect(page.locator(".state")).to_have_text("Cancelled")
    page.get_by_role("link", name="All runs").locator("visible=true").click()
    page.get_by_role("button", name="Group by conversation").click()
    expect(page.locator(".group-title")).to_have_text("How is Paris?")  # and only the log knows that
    expect(page.locator(".sums")).to_contain_text("2 runs")


@pytest.mark.browser
def test_a_call_is_approved_in_the_chat_and_leads_to_its_row(lab: ChatLab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, "chat")
    page.get_by_label("Model", exact=True).select_option("pilot")
    say(page, "Launch it.")
    expect(page.locator(".approval .part-json")).to_contain_text('"rocket": "Ariane"')
    page.get_by_role("button", name="Allow").click()
    expect(page.locator(".chat .markdown")).to_have_text("It flies.")
    expect(page.locator(".approval")).to_have_count(0)
    page.locator(".chat-call").click()
    expect(page.locator(".pane .pane-title")).to_contain_text("launch")
    expect(page.locator(".pane")).to_contain_text("Approved")


@pytest.mark.browser
def test_hostile_texts_in_a_chat_are_texts(lab: ChatLab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, "chat")
    page.get_by_label("Model", exact=True).select_option("hostile")
    say(page, HOSTILE[0] + HOSTILE[21])
    expect(page.locator(".chat-assistant .markdown").last).to_contain_text("<script>window.pwned = 1</script>")
    expect(page.locator(".chat-user")).to_contain_text("<script>window.pwned = 1</script>\\u202etxt.exe")
    expect(page.locator(".chat-call")).to_contain_text("<img src=x onerror=")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main").locator("script, style, iframe, base, form, object, img, svg, math").count() == 0
    assert all(url.startswith(lab.page.url) for url in tab.requests)
    assert lab.page.policy_reports == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1024, "light"), (1440, "dark")])
def test_the_chat_is_accessible_and_fits(lab: ChatLab, tab: BrowserTab, width: int, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm install --prefix tests/page --no-package-lock")
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = open_page(tab, lab.page, "chat")
    page.get_by_label("Model", exact=True).select_option("pilot")
    say(page, "Launch it.")
    expect(page.locator(".approval .part-json")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_accessibility(page)
