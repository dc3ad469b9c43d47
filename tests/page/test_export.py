"""A run as one file: what stands in it, what does not, and how a browser without a network draws it."""

import base64
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.cli.commands import run_command
from toolspeak import Agent
from toolspeak.cli.page import write_export
from toolspeak.page.document import RunDocument
from toolspeak.page.export import export_run
from toolspeak.page.record_files import RecordReader
from toolspeak.page.redaction import HIDDEN, FactRedactor
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.codec import dump_facts
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact, RunEnded, RunStarted, ToolFinished, ToolStarted, TurnEnded, TurnStarted, Usage
from toolspeak.values.messages import Call, Media, Message, Raw, Text, ToolCall, ToolResult, user

from .hosting import HostedPage
from .recorded import convert, make_document, record_run, write_facts, write_long_run

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "<svg onload=\"document.title='taken'\">",
    "</pre></details></main><h1>taken</h1>",
    "<style>body{display:none}</style>",
    '" onmouseover="document.title=\'taken\'" x="',
    "<iframe src='http://127.0.0.1:9/'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<base href=http://127.0.0.1:9/>",
    "<!--", "]]>", "&lt;script&gt;", "javascript:document.title='taken'",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "left \u202eright\u202c \u2066isolated\u2069 \u200f",
    "\x1b[2J\x1b[31mred\x1b[0m\x07",
    "\x00nul\x08\x7f\x9b31m",
    "zero\u200bwidth\ufeff\u2060",
    "line\u2028separator\u2029",
    "half \ud83d pair",
    "carriage\rreturn",
]  # fmt: skip

LONG_LINE = "1234567890" * 100_000


class TextReader(HTMLParser):
    """Collects the text of a file, and its elements, as a parser of HTML sees them."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(content)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    @property
    def text(self) -> str:
        return "".join(self.texts)


def read_document(path: Path) -> RunDocument:
    return make_document([timed.fact for timed in RecordReader(path).read()])


def make_hostile_run() -> list[Fact]:
    """Return a run in which every text that a model or a tool can write is hostile."""
    facts: list[Fact] = [RunStarted(run_id="r", model=HOSTILE[0], dialect="json", messages=(user(HOSTILE[1]),))]
    for turn, text in enumerate([*HOSTILE, LONG_LINE], 1):
        call = ToolCall(id=f"call_{turn}", name=text[:100], arguments={text[:100]: text})
        message = Message(
            role="assistant", parts=(Text(text=text), Call(call=call)), raw=Raw(dialect="json", text=text)
        )
        picture = Media(mime="image/png", data=PIXEL, name=text[:100])
        facts += [
            TurnStarted(turn=turn),
            TurnEnded(message=message, finish="stop", usage=Usage(input_tokens=1)),
            ToolStarted(call_id=call.id),
            ToolFinished(result=ToolResult(call_id=call.id, output={"text": text}, media=(picture,))),
            ToolFinished(result=ToolResult(call_id=f"lost_{turn}", error=text)),
        ]
    return [*facts, RunEnded(reason="error", detail=HOSTILE[2])]


def log_in(user: str, password: str, pin: int) -> dict[str, object]:
    """Log in."""
    return {"pin": pin, "greeting": f"hello {user}", "token": {"access_token": "abcd-efgh-1234"}}


def test_a_file_holds_the_whole_run_as_text(tmp_path: Path) -> None:
    content = export_run(read_document(record_run(tmp_path / "run.jsonl")))
    text = TextReader(content).text
    for words in (
        "How is the weather in Paris?",
        "paris = get_weather(city='Paris', days='2')",
        "there is no station in Atlantis",
        "How arguments were coerced",
        "def get_weather(*, city: str, days: int = 1):",
        "Answered",
    ):
        assert words in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", content)


def test_the_answer_and_the_lanes_stand_first(tmp_path: Path) -> None:
    document = RunDocument()
    for timed in RecordReader(record_run(tmp_path / "run.jsonl")).read():
        document.add(timed.fact, timed.at)
    read = TextReader(export_run(document))
    assert read.text.index("There is no station in Atlantis.") < read.text.index("Turn 1")
    kinds = [attributes.get("class") for tag, attributes in read.tags if tag == "path"]
    assert kinds == ["lane lane-model", "lane lane-tool", "lane-fault", "lane lane-tool"]
    assert "1 error" in read.text
    assert "412 in / 61 out tokens" in read.text


def test_a_repaired_call_is_marked_where_it_was_repaired() -> None:
    broken = '<tool_call>\n{\'name\': "convert", "arguments": {"celsius": 21,}}\n</tool_call>'
    run = Agent(ScriptedModel([says(broken), says("69.8 °F.")], dialect="json"), tools=[convert]).run("21 °C in °F?")
    content = export_run(make_document(run.facts))
    assert '<span class="tag tag-repaired">repaired</span>' in content
    assert '<span class="repair">}</span>}<sup' in content


def test_thousands_of_hidden_values_are_replaced_where_they_stand_alone() -> None:
    redactor = FactRedactor([], ["code"])
    codes = [f"A.{number}" for number in range(1000, 4000)]
    [fact] = redactor.redact([ToolFinished(result=ToolResult(call_id="call_1", output={"code": codes}))])
    assert isinstance(fact, ToolFinished)
    assert fact.result.output == {"code": HIDDEN}
    text = "A.1000, (A.3999) XA.1000 A.10001 1000 A.999 A.1500.\nA.2000"
    hidden = f"{HIDDEN}, ({HIDDEN}) XA.1000 A.10001 1000 A.999 {HIDDEN}.\n{HIDDEN}"
    assert redactor.redact_text(text) == hidden


def test_hostile_texts_are_texts() -> None:
    content = export_run(make_document(make_hostile_run()))
    read = TextReader(content)
    for text in (*HOSTILE[:16], LONG_LINE):
        assert text in read.text, text
    tags = {tag for tag, _ in read.tags}
    assert {"iframe", "link", "base"}.isdisjoint(tags)
    assert sum(tag == "script" for tag, _ in read.tags) == 1
    assert sum(tag == "style" for tag, _ in read.tags) == 1
    assert not any(name.startswith("on") or name == "style" for _, names in read.tags for name in names)
    for control in "\u202e\u2066\u200f\x1b\x00\u200b\u2028\ufeff":
        assert control not in content
    assert r"\u202e" in content
    assert r"\x1b" in content
    content.encode()  # halves of characters became escapes


def test_keys_and_chosen_fields_are_nowhere_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    model = ScriptedModel(
        [
            says("```python\nlog_in(user='ann', password='hunter22', pin=12345)\n```"),
            says("Logged in with hunter22 and 12345, key sk-abcdefghijklmnop1234, not 912345."),
        ],
        dialect="python",
    )
    facts = Agent(model, tools=[log_in]).run("I am ann, hunter22; correct-horse-battery").facts
    content = export_run(make_document(facts), hidden=["PIN"])
    for secret in ("hunter22", "correct-horse-battery", "sk-abcdefghijklmnop1234", "abcd-efgh-1234"):
        assert secret not in content
    assert not re.search(r"\b12345\b", content)
    text = TextReader(content).text
    assert "912345" in text
    assert "hello ann" in text
    assert "Does not fit" not in text
    assert "12345" in export_run(make_document(facts))


def test_a_field_in_a_call_that_cannot_be_read_is_hidden_too() -> None:
    model = ScriptedModel(
        [says('```python\nlog_in(user="ann", pin=[98765'), says("No.")], dialect="python"
    )  # fmt: skip
    facts = Agent(model, tools=[log_in]).run("Log in.").facts
    assert "98765" in export_run(make_document(facts))
    assert "98765" not in export_run(make_document(facts), hidden=["pin"])


def test_what_is_repeated_to_a_model_that_is_lost_hides_the_fields_too() -> None:
    def read_account() -> dict[str, object]:
        "Read the account."
        return {"pin": "7q3", "text": "long " * 100}

    script = [*[calls(("read_account", {}))] * 2, says("Done.")]
    facts = Agent(ScriptedModel(script), tools=[read_account]).run("Go.").facts
    assert dump_facts(facts).count("7q3") == 3  # two results, and what the model is told
    assert "7q3" not in dump_facts(FactRedactor([], ["pin"]).redact(facts))


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    facts = Agent(ScriptedModel([calls(("log_in", {"user": "ann", "password": "p", "pin": 77777})), says("Done.")]),
                  tools=[log_in]).run("Log in.").facts  # fmt: skip
    write_facts(tmp_path / "run.jsonl", facts)
    done = run_command("page", "run.jsonl", "--export", "run.html", "--redact", "pin", cwd=tmp_path, env=os.environ)
    assert (done.returncode, done.stdout) == (0, "run.html\n")
    content = (tmp_path / "run.html").read_text()
    assert "log_in" in content
    assert "77777" not in content
    for target in (tmp_path, tmp_path / "missing.jsonl", tmp_path / "run.html", None):
        with ThreadPoolExecutor(1) as thread, pytest.raises(UsageError):  # a browser may have a loop in this thread
            thread.submit(write_export, target, tmp_path / "x.html", ()).result()
    assert not (tmp_path / "x.html").exists()


def test_the_page_gives_the_file_to_itself_alone(weather_page: HostedPage) -> None:
    run = json.loads(weather_page.ask("/api/runs").body)["sources"][0]["runs"][0]["id"]
    path = f"/api/runs/files/{run}/export?hide=city"
    answer = weather_page.ask(path)
    assert answer.status == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="how-is-the-weather-in-paris.html"'
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert b"Atlantis" not in answer.body
    assert weather_page.ask(path, headers={"host": f"127.0.0.1:{weather_page.port}"}).status == 403


@pytest.mark.browser
def test_a_browser_opens_the_file_without_a_network(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(export_run(make_document(make_hostile_run())))
    for has_scripts in (True, False):
        context = chromium.new_context(offline=True, java_script_enabled=has_scripts)
        page = context.new_page()
        complaints: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message, complaints=complaints: complaints.append(message.text))
        page.on("pageerror", lambda error, complaints=complaints: complaints.append(str(error)))
        page.on("request", lambda request, requests=requests: requests.append(request.url))
        page.goto(file.as_uri())
        assert complaints == []
        assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
        assert "taken" not in page.title().replace("document.title='taken'", "")
        assert page.locator(".node-turn").count() == len(HOSTILE) + 1
        assert page.locator("h1").count() == 1
        first = page.locator(".node-turn").first
        block = first.locator(".block").first
        assert not block.is_visible()
        first.locator("summary").first.click()
        assert block.is_visible()
        assert HOSTILE[0] in block.inner_text()
        assert page.locator(".comforts").count() == (1 if has_scripts else 0)
        context.close()


@pytest.mark.browser
def test_scripts_add_a_filter_and_links_to_facts(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(export_run(read_document(record_run(tmp_path / "run.jsonl"))))
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(f"{file.as_uri()}#fact-2")
    assert page.locator("#fact-2 .details").first.is_visible()
    page.get_by_role("button", name="Expand all").click()
    assert page.locator("#rows details:not([open])").count() == 0
    page.get_by_role("searchbox").fill("atlantis")
    assert page.locator(".node-turn:visible").count() == 2
    page.get_by_role("searchbox").fill("no such words")
    assert page.locator(".node:visible").count() == 0
    context.close()


@pytest.mark.browser
def test_rows_of_a_long_file_are_laid_out_when_they_come_into_sight(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(export_run(read_document(write_long_run(tmp_path / "run.jsonl", turns=400, size=400_000))))
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    is_laid_out = "row => row.checkVisibility({ contentVisibilityAuto: true })"
    rows = page.locator(".row-turn")
    assert rows.count() == 400
    assert rows.first.evaluate(is_laid_out)
    assert not rows.last.evaluate(is_laid_out)
    last = page.locator(".node-turn").last.get_attribute("id")
    page.goto(f"{file.as_uri()}#{last}")
    expect(page.locator(f"#{last} .row").first).to_be_in_viewport()
    expect(page.locator(f"#{last} .details").first).to_be_visible()
    page.get_by_role("searchbox").fill("page 400:")
    expect(page.locator(".node-turn:visible")).to_have_count(1)
    expect(page.locator(".node-call:visible")).to_contain_text("page 400:")
    lanes = page.locator(".lanes path")
    assert [lane.get_attribute("class") for lane in lanes.all()] == ["lane lane-model", "lane lane-tool"]
    assert (lanes.first.bounding_box() or {})["width"] > 100
    context.close()
