"""The playground: runs that are started from the page, and go on from any point of another run."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from toolspeak import Context, codec, tool
from toolspeak.lab.suites import read_suite
from toolspeak.models import Model, Request
from toolspeak.page.access import PageAccess
from toolspeak.page.playground import Playground
from toolspeak.page.record_files import RecordFiles, RecordReader
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.testing.scripted import Line
from toolspeak.tools import Toolbox
from toolspeak.values.events import (
    Fact,
    RunEnded,
    RunResumed,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, Piece

from .conftest import BrowserTab
from .hosting import HostedPage, hosted_page
from .recorded import convert, get_weather, record_run
from .test_viewer import AXE

WAIT_SECONDS = 60.0


@tool(approve=True)
def launch(rocket: str) -> str:
    """Launch a rocket."""
    return f"{rocket} is flying"


def report(request: Request) -> ScriptedReply:
    """Answer with the words of the last message that the model was shown."""
    words = re.findall(r"[A-Za-z]{3,}", codec.dump_messages(request.shown.messages[-1:]))
    return says(f"I saw {' '.join(words)}.")


SCRIPTS: dict[str, Sequence[Line]] = {
    "caller": [calls(("get_weather", {"city": "Paris"})), report, report],
    "talker": [says("The sky is blue, and so is the sea, as far as I can see it from here.")],
    "pilot": [calls(("launch", {"rocket": "Ariane"})), report],
}


class Lab:
    """A page with a playground, and what its browser would ask."""

    def __init__(self, folder: Path, page: HostedPage, playground: Playground) -> None:
        self.folder = folder
        self.page = page
        self.playground = playground

    def get(self, path: str) -> Any:
        answer = self.page.ask(path)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def post(self, path: str, body: Any, status: int = 201) -> Any:
        headers = {**self.page.own_headers, "content-type": "application/json"}
        answer = self.page.ask(path, method="POST", headers=headers, body=json.dumps(body).encode())
        assert answer.status == status, answer.body
        return json.loads(answer.body)

    def start(self, model: str, prompt: str = "Go.", **setup: Any) -> str:
        return self.post("/api/playground/runs", {"prompt": prompt, "setup": {"model": model, **setup}})["id"]

    def wait(self, run_id: str, status: str = "done") -> dict[str, Any]:
        end = time.monotonic() + WAIT_SECONDS
        while True:
            outline = self.get(f"/api/runs/playground/{run_id}")
            if outline["summary"]["status"] == status or outline["failure"]:
                return outline
            assert time.monotonic() < end, f"the run is not {status}: {outline}"
            time.sleep(0.02)

    def facts(self, run_id: str) -> list[Fact]:
        self.wait(run_id)
        entry = next(each for each in self.get("/api/runs")["sources"][-1]["runs"] if each["id"] == run_id)
        return [timed.fact for timed in RecordReader(self.folder / entry["where"]).read()]

    def find_row(self, run_id: str, kind: str, source: str = "playground", **fields: Any) -> dict[str, Any]:
        rows = self.get(f"/api/runs/{source}/{run_id}")["rows"]
        return next(row for row in rows if row["kind"] == kind and fields.items() <= row.items())


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    def find_model(name: str) -> Model:
        return ScriptedModel(SCRIPTS[name], name=name, chunk=5, dialect="native")

    playground = Playground(
        tmp_path / "kept", [*SCRIPTS], find_model, Toolbox([get_weather, convert, launch]), ["tests/page/recorded.py"]
    )
    record_run(tmp_path / "weather.jsonl")
    with hosted_page(RecordFiles(tmp_path / "weather.jsonl"), playground) as page:
        yield Lab(tmp_path / "kept", page, playground)


def test_the_page_is_told_what_it_can_choose_from(lab: Lab) -> None:
    choice = lab.get("/api/playground")
    assert choice["models"] == [*SCRIPTS]
    assert choice["dialects"] == ["auto", "native", "json", "typescript", "python"]
    assert [(tool["name"], tool["approve"]) for tool in choice["tools"]] == [
        ("get_weather", False),
        ("convert", False),
        ("launch", True),
    ]


def test_a_run_is_kept_as_a_file_of_facts_and_listed(lab: Lab) -> None:
    run = lab.start("caller", "How is Paris?", system="Be brief.", dialect="json", tools=["get_weather"])
    outline = lab.wait(run)
    assert (outline["summary"]["reason"], outline["summary"]["dialect"]) == ("answered", "json")
    assert outline["summary"]["tools"] == ["get_weather"]
    started, *_, ended = lab.facts(run)
    assert isinstance(started, RunStarted)
    assert [message.text for message in started.messages] == ["Be brief.", "How is Paris?"]
    assert ended == RunEnded(reason="answered")
    source = lab.get("/api/runs")["sources"][-1]
    assert (source["name"], source["runs"][0]["title"]) == ("playground", "How is Paris?")
    [file] = lab.folder.iterdir()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "Go.", "setup": {"model": "http://127.0.0.1:9/v1#x"}},
        {"prompt": "Go.", "setup": {"model": "caller", "tools": ["open_door"]}},
        {"prompt": "Go.", "setup": {"model": "caller", "tools": "app.py"}},
        {"prompt": "Go.", "setup": {"model": "caller", "target": "app.py"}},
        {"prompt": "Go.", "setup": {"model": "caller", "dialect": "latin"}},
        {"prompt": "Go.", "setup": {"model": "caller", "limits": {"turns": 0}}},
        {"prompt": "Go.", "setup": {"model": "caller", "limits": {"cost": 1.0}}},
        {"prompt": "Go.", "setup": {"model": "caller", "limits": {"turns": float("inf")}}},
        {"prompt": "Go.", "setup": {"model": "caller", "limits": {"seconds": float("inf")}}},
        {"prompt": " ", "setup": {"model": "caller"}},
        {"prompt": 1, "setup": {"model": "caller"}},
        {"prompt": "Go."},
    ],
)
def test_what_is_not_offered_cannot_be_chosen(lab: Lab, body: Any) -> None:
    assert lab.post("/api/playground/runs", body, 422)["error"]
    assert list(lab.folder.iterdir()) == []


def test_a_run_is_started_by_the_page_alone(lab: Lab) -> None:
    body = json.dumps({"prompt": "Go.", "setup": {"model": "talker"}}).encode()
    own = {**lab.page.own_headers, "content-type": "application/json"}
    for change in ({"cookie": "x=y"}, {"origin": "http://evil.example"}, {"origin": None}, {"host": "evil.example"}):
        headers = {key: value for key, value in (own | change).items() if value is not None}
        assert lab.page.ask("/api/playground/runs", method="POST", headers=headers, body=body).status in (400, 403)
    plain = {**own, "content-type": "text/plain"}
    assert lab.page.ask("/api/playground/runs", method="POST", headers=plain, body=body).status == 422
    assert list(lab.folder.iterdir()) == []


def test_a_call_that_needs_approval_asks_in_the_page(lab: Lab) -> None:
    for answer, expected in ((True, "Ariane flying"), ("too windy", "too windy")):
        run = lab.start("pilot")
        lab.wait(run, "paused")
        call = lab.find_row(run, "call")
        path = f"/api/runs/playground/{run}/approve"
        assert lab.post(path, {"call_id": "nothing", "approved": True}, 200) == {"counts": False}
        assert lab.post(path, {"call_id": call["id"], "approved": answer}, 200) == {"counts": True}
        lab.wait(run)
        assert expected in lab.find_row(run, "turn", turn=2)["text"]


def test_a_run_can_be_ended(lab: Lab) -> None:
    run = lab.start("pilot")
    lab.wait(run, "paused")
    assert lab.post(f"/api/runs/playground/{run}/cancel", {}, 200) == {"counts": True}
    assert lab.wait(run)["summary"]["reason"] == "cancelled"
    assert lab.post(f"/api/runs/playground/{run}/cancel", {}, 200) == {"counts": False}


def test_a_run_goes_on_from_an_edited_result(lab: Lab) -> None:
    first = lab.start("caller", "How is Paris?")
    facts = lab.facts(first)
    row = lab.find_row(first, "call")
    edit = lab.get(f"/api/runs/playground/{first}/rows/{row['i']}/edit")
    assert (edit["what"], json.loads(edit["text"])["city"]) == ("result", "Paris")
    path = f"/api/runs/playground/{first}/go-on"
    setup = {"model": "caller"}
    refused = lab.post(path, {"row": row["i"], "text": "{snow", "setup": setup}, 422)
    assert "JSON" in refused["error"]
    second = lab.post(path, {"row": row["i"], "text": '{"sky": "snow"}', "setup": setup})["id"]
    lab.wait(second)
    assert "snow" in lab.find_row(second, "turn", turn=2)["text"]
    new = lab.facts(second)
    resumed = next(number for number, fact in enumerate(new) if isinstance(fact, RunResumed))
    assert [fact.kind for fact in new[:resumed]] == [fact.kind for fact in facts[:resumed]]
    assert lab.facts(first) == facts


def test_calls_that_refer_to_an_edited_result_run_again(lab: Lab) -> None:
    weather = lab.get("/api/runs")["sources"][0]["runs"][0]["id"]
    row = lab.find_row(weather, "call", source="files", name="get_weather")
    text = json.dumps({"city": "Paris", "days": [{"high": 0, "sky": "snow"}]})
    body = {"row": row["i"], "text": text, "setup": {"model": "caller", "dialect": "python"}}
    run = lab.post(f"/api/runs/files/{weather}/go-on", body)["id"]
    lab.wait(run)
    outputs = [fact.result.output for fact in lab.facts(run) if isinstance(fact, ToolFinished)]
    assert outputs[-1] == 32.0
    assert lab.find_row(run, "call", name="convert")["stage"] == "done"


def test_a_run_goes_on_from_every_fact(lab: Lab) -> None:
    first = lab.start("caller", "How is Paris?")
    facts = lab.facts(first)
    for number in range(len(facts) - 1):
        body = {"fact": number, "setup": {"model": "caller"}}
        run = lab.post(f"/api/runs/playground/{first}/go-on", body)["id"]
        assert lab.wait(run)["summary"]["reason"] == "answered", number
        made = lab.facts(run)
        assert sum(isinstance(fact, ToolStarted) for fact in made) == 1, number
        assert sum(isinstance(fact, TurnStarted) for fact in made) == 2, number
    ended = lab.post(f"/api/runs/playground/{first}/go-on", {"fact": len(facts) - 1, "setup": {"model": "caller"}}, 422)
    assert "answered" in ended["error"]


def test_messages_and_answers_can_be_edited_and_talked_on(lab: Lab) -> None:
    first = lab.start("caller", "How is Paris?")
    lab.wait(first)
    path = f"/api/runs/playground/{first}/go-on"
    prompt = lab.find_row(first, "message", role="user")
    asked = lab.post(path, {"row": prompt["i"], "text": "How is Oslo?", "setup": {"model": "talker"}})["id"]
    started = lab.facts(asked)[0]
    assert isinstance(started, RunStarted)
    assert (started.messages[-1].text, started.model) == ("How is Oslo?", "talker")

    turn = lab.find_row(first, "turn", turn=1)
    text = "```python\nget_weather(city='Oslo')\n```"
    setup = {"model": "caller", "dialect": "python"}
    answered = lab.post(path, {"row": turn["i"], "text": text, "setup": setup})["id"]
    lab.wait(answered)
    assert "Oslo" in lab.find_row(answered, "call")["arguments"]
    assert "Oslo" in lab.find_row(answered, "turn", turn=2)["text"]

    further = lab.post(path, {"prompt": "And tomorrow?", "setup": {"model": "caller"}})["id"]
    assert lab.wait(further)["summary"]["title"] == "And tomorrow?"
    assert [row["role"] for row in lab.wait(further)["rows"] if row["kind"] == "message"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    busy = lab.post(path, {"prompt": "Wait!", "fact": 2, "setup": {"model": "caller"}}, 422)
    assert "middle of a turn" in busy["error"]


def test_calls_of_an_answer_are_edited_added_and_removed(lab: Lab) -> None:
    first = lab.start("caller", "How is Paris?")
    lab.wait(first)
    turn = lab.find_row(first, "turn", turn=1)
    edit = lab.get(f"/api/runs/playground/{first}/rows/{turn['i']}/edit")
    [call] = edit["calls"]
    assert (edit["what"], call["name"], json.loads(call["arguments"])) == ("answer", "get_weather", {"city": "Paris"})
    assert [words for _, words in edit["points"]] == ["the request to the model", "the model's answer"]
    path = f"/api/runs/playground/{first}/go-on"
    edited = [
        {"name": "get_weather", "arguments": '{"city": "Oslo", "days": 2}'},
        {"name": "convert", "arguments": '{"celsius": 100}'},
    ]
    for dialect in ("native", "json", "python"):
        setup = {"model": "caller", "dialect": dialect}
        run = lab.post(path, {"row": turn["i"], "text": "Both.", "calls": edited, "setup": setup})["id"]
        lab.wait(run)
        rows = [row for row in lab.wait(run)["rows"] if row["kind"] == "call"]
        assert [row["name"] for row in rows] == ["get_weather", "convert"], dialect
        assert rows[1]["result"] == "212.0", dialect
    none = lab.post(path, {"row": turn["i"], "text": "I know it.", "calls": [], "setup": {"model": "caller"}})["id"]
    assert [row["kind"] for row in lab.wait(none)["rows"]] == ["message", "note", "turn", "end"]
    for arguments, words in (("{", "are not JSON"), ("[1]", "not a JSON object")):
        body = {"row": turn["i"], "text": "", "calls": [{"name": "convert", "arguments": arguments}]}
        refused = lab.post(path, {**body, "setup": {"model": "caller"}}, 422)
        assert words in refused["error"]


def test_a_run_knows_the_run_that_it_goes_on_from_when_it_is_read_again(lab: Lab, tmp_path: Path) -> None:
    first = lab.start("caller", "How is Paris?")
    lab.wait(first)
    path = f"/api/runs/playground/{first}/go-on"
    fork = lab.post(path, {"fact": 2, "setup": {"model": "caller"}})["id"]
    origin = {"source": "playground", "id": first, "title": "How is Paris?", "is_fork": True}
    assert lab.wait(fork)["origin"] == origin
    note = lab.find_row(fork, "note")
    assert note["text"] == "Forked here; everything above comes from the original run"
    further = lab.post(path, {"prompt": "And now?", "setup": {"model": "caller"}})["id"]
    assert lab.wait(further)["origin"] == {**origin, "is_fork": False}
    assert lab.wait(first)["origin"] is None
    with hosted_page(Playground(lab.folder, ["caller"], lambda _: ScriptedModel([]), Toolbox([]))) as page:
        assert json.loads(page.ask(f"/api/runs/playground/{fork}").body)["origin"] == origin


def test_a_saved_test_passes_and_notices_a_change(lab: Lab, tmp_path: Path) -> None:
    for model, dialect in (("caller", "native"), ("caller", "python"), ("talker", "json")):
        run = lab.start(model, 'Say "hi" to Paris\n', dialect=dialect, system="Be brief.", tools=["get_weather"])
        lab.wait(run)
        saved = lab.page.ask(f"/api/runs/playground/{run}/export?as=test")
        assert saved.headers["content-disposition"] == 'attachment; filename="test_say_hi_to_paris.py"'
        code = saved.body.decode()
        namespace: dict[str, Any] = {}
        exec(compile(code, "saved", "exec"), namespace)
        namespace["test_say_hi_to_paris"]()
        namespace["TOOLS"] = []
        if model == "caller":
            with pytest.raises(AssertionError):
                namespace["test_say_hi_to_paris"]()


def test_a_saved_question_can_be_asked_by_a_suite(lab: Lab, tmp_path: Path) -> None:
    lines: list[str] = []
    for model in ("caller", "talker"):
        run = lab.start(model, f"{model}: how is Paris?")
        lab.wait(run)
        lines.append(lab.page.ask(f"/api/runs/playground/{run}/export?as=question").body.decode())
    (tmp_path / "suite.jsonl").write_text("".join(lines))
    called, talked = read_suite(tmp_path / "suite.jsonl").questions
    assert (called.id, called.expected[0].name) == ("caller-how-is-paris", "get_weather")
    assert called.expected[0].arguments == {"city": ["Paris"]}
    assert talked.expected == ()
    assert talked.reply.startswith("The sky is blue")


def test_runs_end_with_the_page(tmp_path: Path) -> None:
    model = ScriptedModel([calls(("launch", {"rocket": "Ariane"}))], name="pilot")
    playground = Playground(tmp_path, ["pilot"], lambda _: model, Toolbox([launch]))
    with hosted_page(playground) as page:
        lab = Lab(tmp_path, page, playground)
        lab.wait(lab.start("pilot"), "paused")
    [file] = tmp_path.iterdir()
    kinds = [timed.fact.kind for timed in RecordReader(file).read()]
    assert kinds[-2:] == ["interrupted", "run_ended"]
    with hosted_page(Playground(tmp_path, ["pilot"], lambda _: model, Toolbox([launch]))) as page:
        [entry] = json.loads(page.ask("/api/runs").body)["sources"][0]["runs"]
        outline = json.loads(page.ask(f"/api/runs/playground/{entry['id']}").body)
        assert outline["live"] is False


@pytest.mark.slow
def test_the_command_line_names_the_models_and_tools(tmp_path: Path) -> None:
    (tmp_path / "sky.py").write_text('def look(place: str) -> str:\n    "Look at the sky."\n    return place\n')
    model = "http://user:hunter22@127.0.0.1:9/v1#small"
    options = ["--chat", "--tools", "sky.py", "--model", model, "--keep", "kept", "--no-open"]
    environ = {**os.environ, "TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "config")}
    command = [sys.executable, "-m", "toolspeak.cli", "page", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=environ, text=True) as process:
        assert process.stdout is not None
        line: str = process.stdout.readline()
        address = urlsplit(line.strip())
        port = address.port or 0
        page = HostedPage(port, PageAccess(port), [])
        host = {"host": f"127.0.0.1:{port}"}
        opened = page.ask(f"{address.path}?{address.query}", headers=host)
        answer = page.ask("/api/playground", headers={**host, "cookie": opened.headers["set-cookie"].partition(";")[0]})
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)
    assert b"url=/#chat" in opened.body
    choice = json.loads(answer.body)
    assert choice["models"] == ["http://…@127.0.0.1:9/v1#small", "local"]
    assert [tool["name"] for tool in choice["tools"]] == ["look"]
    assert b"hunter22" not in answer.body


# In a browser


class StoryModel:
    """A model that stops in the middle of its answer until the test lets it go on."""

    name = "teller"
    dialect = "native"

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        yield [TextDelta(text="Once upon a time")]
        await asyncio.to_thread(self.gate.wait, WAIT_SECONDS)
        text = "Once upon a time there was a tool."
        yield [TextDelta(text=text[16:])]
        yield [Answer(parts=(Text(text=text),), finish="stop", usage=None)]


def open_page(tab: BrowserTab, hosted: HostedPage, place: str) -> Page:
    hosted.give_cookie(tab.page.context)
    tab.page.goto(f"{hosted.url}/#{place}")
    return tab.page


@pytest.mark.browser
def test_the_end_of_a_run_stays_in_sight_while_it_goes_on(tab: BrowserTab, lab: Lab) -> None:
    tab.page.set_viewport_size({"width": 1000, "height": 720})
    page = open_page(tab, lab.page, "play")
    page.get_by_label("Prompt", exact=True).fill("Launch it.")
    page.get_by_label("caller", exact=True).uncheck()
    page.get_by_label("pilot", exact=True).check()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".approval")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Allow").click()
    expect(page.locator(".row-end")).to_be_in_viewport(ratio=1)
    page.keyboard.press("g")
    expect(page.locator(".row-message")).to_be_in_viewport(ratio=1)


@pytest.mark.browser
def test_a_prompt_is_asked_and_its_answer_is_seen_as_it_streams(tab: BrowserTab, tmp_path: Path) -> None:
    model = StoryModel()
    with hosted_page(Playground(tmp_path, ["teller"], lambda _: model, Toolbox([]))) as hosted:
        page = open_page(tab, hosted, "")
        page.get_by_label("Prompt", exact=True).fill("Tell me a story.")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator(".draft")).to_have_text("Once upon a time")
        expect(page.locator(".state")).to_have_text("Running")
        model.gate.set()
        expect(page.locator(".state")).to_have_text("Answered")
        expect(page.locator(".answer .markdown")).to_have_text("Once upon a time there was a tool.")
        page.get_by_role("button", name="Reply…").click()
        page.get_by_label("Your reply").fill("Another one.")
        page.keyboard.press("Enter")
        expect(page.locator(".chat-message.chat-user").last).to_have_text("Another one.")
        expect(page.locator("article.chat-message")).to_have_count(4)
        assert all(url.startswith(hosted.url) for url in tab.requests)
        assert hosted.policy_reports == []


@pytest.mark.browser
def test_how_far_a_call_is_is_seen_while_it_runs(tab: BrowserTab, tmp_path: Path) -> None:
    gate = threading.Event()

    def copy_pages(context: Context[None]) -> str:
        """Copy the pages."""
        context.report_progress(3, 10, "page 3")
        gate.wait(WAIT_SECONDS)
        return "copied"

    model = ScriptedModel([calls(("copy_pages", {})), says("All pages are copied.")], name="copier")
    with hosted_page(Playground(tmp_path, ["copier"], lambda _: model, Toolbox([copy_pages]))) as hosted:
        page = open_page(tab, hosted, "")
        page.get_by_label("Prompt", exact=True).fill("Copy them.")
        page.get_by_role("button", name="Ask").click()
        call = page.locator(".row-call .row-text")
        expect(call).to_have_text("()  …  3 of 10, page 3")
        gate.set()
        expect(call).to_have_text("()  →  copied")


@pytest.mark.browser
def test_a_run_goes_on_in_the_page_from_its_third_fact_and_from_an_edited_result(lab: Lab, tab: BrowserTab) -> None:
    weather = lab.get("/api/runs")["sources"][0]["runs"][0]["id"]
    page = open_page(tab, lab.page, f"run=files/{weather}&fact=2")
    page.locator(".pane").get_by_role("button", name="Continue from here…").click()
    page.get_by_label("Continue after").select_option("the start of the call")
    page.get_by_label("Model", exact=True).select_option("talker")
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator(".row-end")).to_contain_text("Answered")
    expect(page.locator(".row-turn")).to_have_count(1)
    expect(page.locator(".run-facts")).to_contain_text("talker")

    page.goto(f"{lab.page.url}/#run=files/{weather}&fact=2")
    page.locator(".pane").get_by_role("button", name="Edit and continue…").click()
    text = page.get_by_role("dialog").get_by_role("textbox")
    text.fill("{")
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("The result is JSON, and this is not")
    text.fill('{"city": "Paris", "days": [{"high": 100, "sky": "snow"}]}')
    page.get_by_label("Model", exact=True).select_option("caller")
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator(".row-end")).to_contain_text("Answered")
    expect(page.locator(".row-call", has_text="convert")).to_contain_text("212")
    expect(page.locator(".row-turn").last).to_contain_text("snow")
    [refused] = tab.complaints  # the browser logs every status like this
    assert "422" in refused
    tab.complaints.clear()


@pytest.mark.browser
def test_calls_are_edited_in_the_page_and_the_new_run_leads_back(lab: Lab, tab: BrowserTab) -> None:
    first = lab.start("caller", "How is Paris?")
    lab.wait(first)
    turn = lab.find_row(first, "turn", turn=1)
    page = open_page(tab, lab.page, f"run=playground/{first}&fact={turn['facts'][0]}")
    page.locator(".pane").get_by_role("button", name="Edit and continue…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Arguments, as JSON").fill('{"city": "Oslo"}')
    dialog.get_by_role("button", name="Add a call").click()
    dialog.get_by_label("Tool", exact=True).nth(1).select_option("convert")
    dialog.get_by_label("Arguments, as JSON").nth(1).fill('{"celsius": 100}')
    dialog.get_by_role("button", name="Add a call").click()
    dialog.get_by_role("button", name="Remove").nth(2).click()
    dialog.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator(".row-end")).to_contain_text("Answered")
    expect(page.locator(".row-call .row-label")).to_have_text(["get_weather", "convert"])
    expect(page.locator(".row-call").first).to_contain_text("Oslo")
    page.locator(".origin").get_by_role("link", name="How is Paris?").click()
    expect(page.locator(".origin")).to_have_count(0)
    expect(page.locator(".row-call")).to_have_count(1)


@pytest.mark.browser
def test_while_the_model_works_the_page_says_so_and_its_clock_goes(tab: BrowserTab, tmp_path: Path) -> None:
    gate = threading.Event()

    class SilentModel(StoryModel):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            await asyncio.to_thread(gate.wait, WAIT_SECONDS)
            yield [Answer(parts=(Text(text="Done."),), finish="stop", usage=None)]

    with hosted_page(Playground(tmp_path, ["teller"], lambda _: SilentModel(), Toolbox([]))) as hosted:
        page = open_page(tab, hosted, "play")
        page.get_by_label("Prompt", exact=True).fill("Think.")
        page.get_by_role("button", name="Ask").click()
        row = page.locator(".row-turn")
        expect(row.locator(".row-text")).to_have_text("The model is working…")
        row.click()
        expect(page.locator(".pane")).to_contain_text("The model is working. Nothing has arrived yet.")
        clock = page.locator(".run-clock")
        earlier = clock.inner_text()
        expect(clock).not_to_have_text(earlier)
        expect(row.locator(".row-meta")).to_contain_text("s")
        gate.set()
        expect(page.locator(".state")).to_have_text("Answered")
        expect(page.locator(".answer .markdown")).to_have_text("Done.")


@pytest.mark.browser
def test_one_prompt_is_answered_in_two_dialects_side_by_side(lab: Lab, tab: BrowserTab) -> None:
    tab.page.set_viewport_size({"width": 1280, "height": 2000})  # all rows are in sight, and so in the document
    page = open_page(tab, lab.page, "play")
    page.get_by_label("Prompt", exact=True).fill("How is Paris?")
    for name, is_chosen in (("auto", False), ("json", True), ("python", True)):
        page.get_by_label(name, exact=True).set_checked(is_chosen)
    expect(page.get_by_text("2 runs, side by side")).to_be_visible()
    page.get_by_role("button", name="Ask").click()
    columns = page.locator(".compare-column")
    for place, dialect, words in ((0, "json", '"name"'), (1, "python", "get_weather(city=")):
        column = columns.nth(place)
        expect(column.locator(".row-end")).to_contain_text("Answered")
        expect(column.locator(".run-facts")).to_contain_text(dialect)
        column.locator(".row-turn").first.click()
        expect(column.locator(".marked").first).to_contain_text(words)
        column.get_by_role("button", name="Close details").click()
    columns.nth(1).get_by_role("link", name="Open this run").click()
    expect(page.locator(".compare-column")).to_have_count(0)
    expect(page.locator(".run-facts")).to_contain_text("python")


@pytest.mark.browser
def test_a_call_is_allowed_and_the_run_saved_with_clicks(lab: Lab, tab: BrowserTab) -> None:
    page = open_page(tab, lab.page, f"run=playground/{lab.start('pilot')}")
    page.get_by_role("button", name="Allow").click()
    expect(page.locator(".state")).to_have_text("Answered")
    page.get_by_role("button", name="Save…").click()
    page.get_by_label("Fields to remove").fill("rocket")
    for title, name in (("HTML file", "go.html"), ("Test", "test_go.py"), ("Eval case", "go.jsonl")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save: {title}").click()
        assert download.value.suggested_filename == name
        content = download.value.path().read_text()
        assert "launch" in content
        if name == "go.html":
            assert "Ariane" not in content


@pytest.mark.browser
def test_the_playground_has_no_serious_fault_of_accessibility(lab: Lab, tab: BrowserTab) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm install --prefix tests/page --no-package-lock")
    page = open_page(tab, lab.page, "play")
    page.get_by_label("talker", exact=True).check()
    page.get_by_text("System prompt and limits").click()
    check_accessibility(page)
    tab.page.emulate_media(color_scheme="dark")
    page.get_by_label("Prompt", exact=True).fill("How is Paris?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".compare .state-good")).to_have_count(2)
    page.locator(".compare .row-turn").first.click()
    expect(page.locator(".compare .go-on").first).to_be_visible()
    page.get_by_role("button", name="Edit and continue…").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check_accessibility(page)


def check_accessibility(page: Page) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
