"""Many runs over HTTP: the list with its figures, the search, what people say of runs, and sets of them."""

import base64
import io
import json
import runpy
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.cases import each_case
from toolspeak import Agent, Limits, codec, tool
from toolspeak.durable import Runs, Worker
from toolspeak.durable.log import ConversationStore, RunLink, StoredFact
from toolspeak.durable.run_index import find_index
from toolspeak.lab.suites import load_suite
from toolspeak.page.annotations import Annotation, load_annotation, name_notes_file, parse_annotation
from toolspeak.page.differences import compare_runs, compare_texts
from toolspeak.page.figures import measure_run
from toolspeak.page.library import RunSource
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore, LoggedRuns
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import Line, calls, says
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact, RunStarted, Usage
from toolspeak.values.messages import ToolCall

from .hosting import Answer, HostedPage, hosted_page
from .recorded import get_weather, make_document, record_run, write_facts


def pay(invoice: str) -> str:
    """Pay an invoice."""
    return f"paid {invoice}"


@tool(approve=True)
def refund(invoice: str) -> str:
    """Refund an invoice."""
    return f"refunded {invoice}"


ONCE = [calls(("pay", {"invoice": "INV-1"}), text="I pay it."), says("Invoice INV-1 was paid.")]
TWICE = [
    calls(("pay", {"invoice": "INV-7"})),
    calls(("pay", {"invoice": "INV-7"})),
    says("Paid.", usage=Usage(input_tokens=100, output_tokens=20)),
]
FAILED = [calls(("get_weather", {"city": "Atlantis"})), calls(("get_weather", {"city": "Atlantis"})), says("Unknown.")]


def make_facts(script: Sequence[Line], prompt: str, **options: Any) -> tuple[Fact, ...]:
    model = ScriptedModel(script, name="small-model", dialect="native", price=1e-6, on_tool_error="tell")
    return Agent(model, tools=[pay, get_weather, refund], **options).run(prompt).facts


def write_runs(folder: Path) -> None:
    """Write three runs: one pays once, one twice, one fails twice at the weather."""
    write_facts(folder / "once.jsonl", make_facts(ONCE, "Pay the invoice of Acme."))
    write_facts(folder / "twice.jsonl", make_facts(TWICE, "Pay the invoice of Globex."))
    write_facts(folder / "failed.jsonl", make_facts(FAILED, "How is the weather in Atlantis?"))


def fetch(page: HostedPage, path: str) -> Any:
    answer = page.ask(path)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def post(page: HostedPage, path: str, body: Any) -> Answer:
    headers = {**page.own_headers, "content-type": "application/json"}
    return page.ask(path, method="POST", headers=headers, body=json.dumps(body).encode())


def list_measured(page: HostedPage) -> dict[str, dict[str, Any]]:
    """Return the runs by the names of their files, or else their ids, when all of them were read."""
    while True:
        sources = fetch(page, "/api/runs")["sources"]
        if not any(source["unread"] for source in sources):
            return {run["where"] or run["id"]: run for source in sources for run in source["runs"]}


def test_the_list_has_the_figures_of_each_run(tmp_path: Path) -> None:
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        runs = list_measured(page)
    once, twice, failed = (runs[f"{name}.jsonl"] for name in ("once", "twice", "failed"))
    assert (once["turns"], once["calls"], once["tools"], "repeats" in once) == (2, 1, [["pay", 1]], False)
    assert (twice["turns"], twice["calls"], twice["repeats"]) == (3, 2, 1)
    assert (twice["input_tokens"], twice["output_tokens"], twice["answer"]) == (
        100,
        30,
        "Paid.",
    )  # five for each of the calls
    assert twice["cost"] == pytest.approx(130e-6)
    assert (failed["errors"], "repeats" in failed) == (2, False)  # a call that failed has not taken effect twice
    assert {run["dialect"] for run in runs.values()} == {"native"}
    assert once["seconds"] == pytest.approx((len(make_facts(ONCE, "Pay."))) / 10 - 0.1)


def test_calls_that_took_effect_twice_are_named(tmp_path: Path) -> None:
    """Calls of a tool that only reads may be repeated, and so may those with other arguments."""

    @tool(effect="read")
    def look_up(invoice: str) -> str:
        """Look up an invoice."""
        return "open"

    look, first, second = (
        calls(("look_up", {"invoice": "INV-7"})),
        calls(("pay", {"invoice": "INV-7"})),
        calls(("pay", {"invoice": f"INV-7{'0' * 300}"})),
    )
    model = ScriptedModel([look, first, look, second, first, first, says("Paid.")], dialect="native")
    agent = Agent(model, tools=[pay, look_up])
    write_facts(tmp_path / "run.jsonl", agent.run("Pay.", limits=Limits(repeats=None)).facts)
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        run = list_measured(page)["run.jsonl"]
        outline = fetch(page, f"/api/runs/files/{run['id']}")
        again = [row for row in outline["rows"] if "repeat_of" in row]
        details = fetch(page, f"/api/runs/files/{run['id']}/rows/{again[0]['i']}")
    assert (run["repeats"], run["repeated"]) == (2, [["pay", 'invoice="INV-7"', 3]])
    assert outline["summary"]["repeats"] == 2
    assert [row["faults"] for row in again] == [["repeat"], ["repeat"]]
    remarks = [section["text"] for section in details["sections"] if section["type"] == "remark"]
    assert remarks[-1:] == ["Repeated: the same call with the same arguments already took effect in turn 2."]


def test_only_what_has_changed_is_sent_again(tmp_path: Path) -> None:
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        list_measured(page)
        revision = fetch(page, "/api/runs")["revision"]
        [source] = fetch(page, f"/api/runs?since={revision}")["sources"]
        assert (source["runs"], source["count"], "gone" in source) == ([], 3, False)
        (tmp_path / "once.jsonl").unlink()
        write_facts(tmp_path / "new.jsonl", make_facts(ONCE, "Pay again."))
        while True:
            [source] = fetch(page, f"/api/runs?since={revision}")["sources"]
            if source.get("gone"):
                break
        assert [run["where"] for run in source["runs"]] == ["new.jsonl"]
        assert len(source["gone"]) == 1


def test_figures_are_kept_for_the_next_server_and_measured_again_when_a_run_has_changed(tmp_path: Path) -> None:
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        list_measured(page)
    assert find_index(str(tmp_path.resolve())).exists()
    path = tmp_path / "once.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with hosted_page(RecordFiles(tmp_path)) as page:
        [source] = fetch(page, "/api/runs")["sources"]
        first = {run["where"]: run for run in source["runs"]}
        assert first["twice.jsonl"]["turns"] == 3  # at once, from the index
        assert list_measured(page)["once.jsonl"]["status"] == "unknown"


def test_a_file_that_cannot_be_read_to_its_end_says_so(tmp_path: Path) -> None:
    write_runs(tmp_path)
    path = tmp_path / "once.jsonl"
    path.write_text(path.read_text().replace('"turn_ended"', '"something_new"'))
    with hosted_page(RecordFiles(tmp_path)) as page:
        runs = list_measured(page)
        assert "line" in runs["once.jsonl"]["unreadable"]
        assert "unreadable" not in runs["twice.jsonl"]


def test_a_run_that_waits_is_seen_in_the_list(tmp_path: Path) -> None:
    write_runs(tmp_path)
    script = [calls(("refund", {"invoice": "INV-1"})), says("Done.")]

    def allow(call: ToolCall) -> bool:
        return call.name == "refund"

    facts = make_facts(script, "Refund it.", approve=allow)
    asked = next(number for number, fact in enumerate(facts) if fact.kind == "approval_needed")
    write_facts(tmp_path / "waits.jsonl", facts[: asked + 1])
    with hosted_page(RecordFiles(tmp_path)) as page:
        assert list_measured(page)["waits.jsonl"]["status"] == "paused"


SEARCHES = {
    "invoice of globex": ["twice.jsonl"],
    "INV-7": ["twice.jsonl"],
    "get_weather": ["failed.jsonl"],
    "there is no station": ["failed.jsonl"],
    "pay": ["once.jsonl", "twice.jsonl"],
    "nothing has this": [],
    "": [],
}


def test_words_are_found_in_prompts_answers_calls_and_results(tmp_path: Path) -> None:
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        names = {run["id"]: name for name, run in list_measured(page).items()}
        for words, expected in SEARCHES.items():
            found = fetch(page, f"/api/search?words={quote(words)}")["found"]
            assert sorted(names[each["id"]] for each in found) == expected, words
        [one] = fetch(page, "/api/search?words=globex")["found"]
        assert "\x02Globex\x03" in one["excerpt"]


def test_a_run_of_a_conversation_is_found_by_its_own_words_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with ConversationStore(path) as store:
        first = make_facts(ONCE, "Pay the invoice of Acme.")
        started = first[0]
        assert isinstance(started, RunStarted)
        store.start(started, 1.0)
        store.append(started.run_id, [StoredFact(fact, 2.0) for fact in first[1:]])
        messages = store.load_messages(started.run_id)
        model = ScriptedModel(["You're welcome."] * 9, dialect="native")
        second = Agent(model).run("Thanks for that.", messages=messages).facts
        assert isinstance(second[0], RunStarted)
        store.start(second[0], 3.0, RunLink(conversation=started.run_id, parent=started.run_id, messages=messages))
        store.append(second[0].run_id, [StoredFact(fact, 4.0) for fact in second[1:]])
    with hosted_page(LoggedRuns(path)) as page:
        runs = list_measured(page)
        assert {run["conversation"] for run in fetch(page, "/api/runs")["sources"][0]["runs"]} == {started.run_id}
        assert runs
        assert [each["id"] for each in fetch(page, "/api/search?words=acme")["found"]] == [started.run_id]
        assert [each["id"] for each in fetch(page, "/api/search?words=thanks")["found"]] == [second[0].run_id]


# What people say of runs


def make_files(tmp_path: Path) -> tuple[Callable[[], RunSource], list[str]]:
    write_runs(tmp_path)
    source = RecordFiles(tmp_path)
    return lambda: RecordFiles(tmp_path), [source.add(tmp_path.resolve() / "twice.jsonl")]


def make_log(tmp_path: Path) -> tuple[Callable[[], RunSource], list[str]]:
    path = tmp_path / "log.sqlite"
    ids: list[str] = []
    with ConversationStore(path) as store:
        for script in (TWICE, ONCE):
            facts = make_facts(script, "Pay.")
            assert isinstance(facts[0], RunStarted)
            store.start(facts[0], 1.0)
            store.append(facts[0].run_id, [StoredFact(fact, 2.0) for fact in facts[1:]])
            ids.append(facts[0].run_id)
    return lambda: LoggedRuns(path), ids


def make_store(tmp_path: Path) -> tuple[Callable[[], RunSource], list[str]]:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    agent = Agent(ScriptedModel([says("Hello.")]))
    with Runs(url) as runs, Worker(runs, {"echo": agent}):
        handles = [runs.start_sync("echo", "Hi.", data={"tenant": "acme"}) for _ in range(2)]
        for handle in handles:
            handle.outcome_sync(timeout=60)
    return lambda: DurableStore(url), [handle.id for handle in handles]


@pytest.mark.parametrize("make", [make_files, make_log, make_store])
def test_a_score_a_note_and_tags_are_kept_beside_the_run(
    tmp_path: Path, make: Callable[[Path], tuple[Callable[[], RunSource], list[str]]]
) -> None:
    build, [run_id, *_] = make(tmp_path)
    said = {"score": 2, "note": "It paid twice.\n<b>Why?</b>", "tags": ["billing", "look again"]}
    source = build()
    name = source.name
    with hosted_page(source) as page:
        path = f"/api/runs/{name}/{run_id}"
        facts = fetch(page, path)["facts"]
        assert fetch(page, f"{path}/annotation") == {"score": None, "note": "", "tags": [], "can_annotate": True}
        assert post(page, f"{path}/annotation", said).status == 200
        assert fetch(page, path)["facts"] == facts
        assert post(page, f"/api/runs/{name}/unknown/annotation", said).status == 404
    with hosted_page(build()) as page:
        assert fetch(page, f"{path}/annotation") == {**said, "can_annotate": True}
        [entry] = [run for run in fetch(page, "/api/runs")["sources"][0]["runs"] if run["id"] == run_id]
        assert {key: entry[key] for key in said} == said
        assert post(page, f"{path}/annotation", {}).status == 200
        assert fetch(page, f"{path}/annotation")["note"] == ""


def test_notes_stand_in_a_file_beside_the_record_which_stays_as_it_was(tmp_path: Path) -> None:
    build, [run_id] = make_files(tmp_path)
    record = tmp_path / "twice.jsonl"
    before = record.read_bytes(), record.stat().st_mtime_ns
    with hosted_page(build()) as page:
        post(page, f"/api/runs/files/{run_id}/annotation", {"note": "odd"})
        assert (record.read_bytes(), record.stat().st_mtime_ns) == before
        assert json.loads((tmp_path / "twice.notes.json").read_text()) == {"score": None, "note": "odd", "tags": []}
        post(page, f"/api/runs/files/{run_id}/annotation", {})
        assert not name_notes_file(record).exists()


@each_case(
    "data, words",
    [
        ({"score": 0}, "from 1 to 5"),
        ({"score": 6}, "from 1 to 5"),
        ({"score": True}, "from 1 to 5"),
        ({"score": 2.5}, "from 1 to 5"),
        ({"note": 3}, "a note is a text"),
        ({"note": "x" * 10_001}, "a note is a text"),
        ({"tags": "billing"}, "a list of words"),
        ({"tags": [1]}, "a list of words"),
        ({"tags": [str(number) for number in range(21)]}, "at most 20 tags"),
        ({"tags": ["x" * 61]}, "at most 20 tags"),
    ],
)
def test_an_annotation_that_is_none_is_refused(data: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_annotation(data)


@each_case("text", ["", "nonsense", "[1]", '{"score": "high", "note": [], "tags": {}}', '{"score": 9}', "[" * 100_000])
def test_a_stored_annotation_that_cannot_be_read_counts_as_empty(text: str) -> None:
    assert load_annotation(text) == Annotation()


# Differences


def test_the_differences_of_two_runs_are_marked() -> None:
    documents = [make_document(make_facts(script, "Pay the invoice.")) for script in (ONCE, TWICE)]
    found = compare_runs(*documents)
    steps = [(step["label"], step["state"]) for step in found["steps"]]
    assert steps == [
        ("Prompt", "same"),
        ("turn", "changed"),
        ("pay", "changed"),
        ("turn", "second"),
        ("pay", "second"),
        ("answer", "changed"),
        ("end", "same"),
    ]
    arguments = found["steps"][2]["parts"][0]
    assert arguments["label"] == "arguments"
    assert ["-", "1"] in [[mark, text.strip('"\n ')] for mark, text in arguments["texts"][0] if mark]
    figures = {figure["name"]: figure["values"] for figure in found["figures"]}
    assert (figures["turns"], figures["calls"], figures["repeats"]) == ([2, 3], [1, 2], [None, 1])


def test_a_run_does_not_differ_from_itself() -> None:
    document = make_document(make_facts(FAILED, "How is the weather?"))
    assert {step["state"] for step in compare_runs(document, document)["steps"]} == {"same"}


@each_case(
    "first, second",
    [
        ("", "x"),
        ("a b c", "a x c"),
        ("one\ntwo\n", "two\nthree"),
        ("word " * 5000, "word " * 4000 + "other"),
        ("x" * 100_000, "y"),
        ("line\n" * 5000, "line\n" * 4999),
        ("half \ud800", "half \udfff \x00"),
    ],
)
def test_the_segments_of_both_texts_are_the_texts(first: str, second: str) -> None:
    left, right = compare_texts(first, second)
    assert "".join(text for _, text in left) == first
    assert "".join(text for _, text in right) == second
    same = ["".join(text for mark, text in side if mark == "") for side in (left, right)]
    assert same[0] == same[1]


def test_two_runs_of_a_thousand_turns_are_compared_in_part(tmp_path: Path) -> None:
    script = [*(calls(("pay", {"invoice": str(number)})) for number in range(600)), says("Done.")]
    facts = make_facts(script, "Pay all.", limits=Limits(turns=None, calls=None))
    found = compare_runs(make_document(facts), make_document(facts[: len(facts) // 3]))
    assert found["left_out"] > 0
    assert len(found["steps"]) <= 2000


def test_differences_of_a_run_that_is_not_there_are_refused_in_words(tmp_path: Path) -> None:
    write_runs(tmp_path)
    with hosted_page(RecordFiles(tmp_path)) as page:
        answer = page.ask("/api/differences?first=files/none&second=files/none")
        assert (answer.status, json.loads(answer.body)) == (404, {"error": "there is no such file in the folder"})


# Sets of runs


def save_set(page: HostedPage, form: str, names: list[str]) -> dict[str, Any]:
    runs = list_measured(page)
    answer = post(page, "/api/sets", {"as": form, "runs": [f"files/{runs[name]['id']}" for name in names]})
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def test_chosen_runs_become_a_suite(tmp_path: Path) -> None:
    write_runs(tmp_path)
    write_facts(tmp_path / "again.jsonl", make_facts(ONCE, "Pay the invoice of Acme."))
    with hosted_page(RecordFiles(tmp_path)) as page:
        twice = list_measured(page)["twice.jsonl"]["id"]
        post(page, f"/api/runs/files/{twice}/annotation", {"score": 1})
        saved = save_set(page, "suite", ["once.jsonl", "again.jsonl", "twice.jsonl", "failed.jsonl"])
    assert (saved["name"], saved["count"]) == ("suite.jsonl", 3)
    [left_out] = saved["left_out"]
    assert left_out["title"] == "Pay the invoice of Globex."
    assert "its score is 1" in left_out["why"]
    path = tmp_path / "suite.txt"
    path.write_bytes(base64.b64decode(saved["content"]))
    questions = load_suite(str(path)).questions
    assert [question.id for question in questions] == [
        "pay-the-invoice-of-acme",
        "pay-the-invoice-of-acme-2",
        "how-is-the-weather-in-atlantis",
    ]
    assert [[call.name for call in question.expected] for question in questions] == [["pay"], ["pay"], ["get_weather"]]


def test_chosen_runs_become_a_test_that_plays_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", "a-very-secret-key-of-the-bank")
    runs, tests = tmp_path / "runs", tmp_path / "tests"
    runs.mkdir()
    write_runs(runs)
    secret = [says("The key is a-very-secret-key-of-the-bank.")]
    write_facts(runs / "secret.jsonl", make_facts(secret, "Which key?", system="Be short."))
    record_run(runs / "python.jsonl")
    names = ["once.jsonl", "twice.jsonl", "failed.jsonl", "secret.jsonl", "python.jsonl"]
    with hosted_page(RecordFiles(runs)) as page:
        saved = save_set(page, "test", names)
    assert (saved["name"], saved["count"], saved["left_out"]) == ("saved_runs.zip", 5, [])
    content = base64.b64decode(saved["content"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tests)
    texts = [path.read_text() for path in tests.rglob("*") if path.is_file()]
    assert len(texts) == 6
    assert not any("secret-key" in text for text in texts)
    saved_test = runpy.run_path(str(tests / "test_saved_runs.py"))
    for name in saved_test["EXPECTED"]:
        saved_test["test_saved_run"](name)
    recording = tests / "saved_runs" / "pay_the_invoice_of_globex.jsonl"
    recording.write_text(recording.read_text().replace("Paid.", "Not paid."))
    with pytest.raises(AssertionError):
        saved_test["test_saved_run"](recording.stem)


def test_a_set_that_cannot_be_saved_says_why(tmp_path: Path) -> None:
    write_runs(tmp_path)
    path = tmp_path / "once.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    with hosted_page(RecordFiles(tmp_path)) as page:
        once = f"files/{list_measured(page)['once.jsonl']['id']}"
        refused: list[tuple[dict[str, Any], str]] = [
            ({"as": "suite", "runs": [once]}, "the model has not answered yet"),
            ({"as": "test", "runs": [once]}, "the run has not ended"),
            ({"as": "test", "runs": ["files/unknown"]}, "no such file"),
            ({"as": "poem", "runs": [once]}, "as suite or as test"),
            ({"as": "test", "runs": []}, "from one to"),
            ({"as": "test", "runs": [3]}, "a list of names"),
        ]
        for body, words in refused:
            answer = post(page, "/api/sets", body)
            assert answer.status == 422, body
            assert words in json.loads(answer.body)["error"]


def test_what_is_measured_survives_the_codec() -> None:
    facts = make_facts(TWICE, "Pay.")
    loaded = codec.load_facts(codec.dump_facts(facts))
    assert measure_run(make_document(loaded)) == measure_run(make_document(facts))
