"""The places in which the page finds runs."""

import json
import os
import socket
from contextlib import chdir
from pathlib import Path

import pytest

from tests.gateway.conversing import OPENAI_TOOLS, QUESTION, scripted
from tests.gateway.hosting import host_app, serve_model
from toolspeak import Agent, codec
from toolspeak.dialects import TYPESCRIPT
from toolspeak.durable import Runs
from toolspeak.durable.log import ConversationStore, StoredFact
from toolspeak.gateway import AccessRules, app
from toolspeak.page.details import render_turn
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunMissing
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore, GatewayExchanges, LoggedRuns
from toolspeak.testing import ScriptedModel
from toolspeak.values.errors import UsageError
from toolspeak.values.events import RunStarted

from .hosting import hosted_page
from .loops import run_in_loop
from .recorded import TWO_CITIES, convert, get_weather, record_run, write_long_run

KEY = "a-long-secret-of-the-gateway"


def test_a_folder_lists_its_records_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    record_run(tmp_path / "deep" / "weather.jsonl")
    (tmp_path / "other.jsonl").write_text('{"question": "not a run"}\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "notes.txt").write_text("nothing")
    source = RecordFiles(tmp_path)
    [entry] = run_in_loop(source.list_runs())
    assert entry.title == "How is the weather in Paris?"
    assert entry.where == "deep/weather.jsonl"
    assert (entry.status, entry.reason, entry.model) == ("done", "answered", "small-model")
    document = run_in_loop(source.open(entry.id))
    assert not document.is_live
    with pytest.raises(RunMissing):
        run_in_loop(source.open("other.jsonl"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_folder_with_pipes_devices_and_deep_folders_is_listed(tmp_path: Path) -> None:
    record_run(tmp_path / "weather.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "round.jsonl").symlink_to(tmp_path / "round.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as bound, chdir(tmp_path):
        bound.bind("socket.jsonl")
    deep = tmp_path / "folder.jsonl"
    for _ in range(300):
        deep /= "deep.jsonl"
    deep.mkdir(parents=True)
    record_run(deep / "paris.jsonl")

    source = RecordFiles(tmp_path)
    entries = run_in_loop(source.list_runs())

    assert sorted(Path(entry.where).name for entry in entries) == ["paris.jsonl", "weather.jsonl"]
    for name in ("pipe.jsonl", "zero.jsonl"):
        with pytest.raises(UsageError, match="is neither a file nor a folder"):
            RecordFiles(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_record_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = record_run(tmp_path / "weather.jsonl")
    source = RecordFiles(tmp_path)
    [entry] = run_in_loop(source.list_runs())
    path.unlink()
    os.mkfifo(path)
    assert run_in_loop(source.open(entry.id)).failure == "the file cannot be read: it is not a regular file"


def test_plain_facts_without_times_are_read_too(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(TWO_CITIES, dialect="python", on_tool_error="tell"), tools=[get_weather, convert])
    path = tmp_path / "plain.jsonl"
    path.write_text(codec.dump_facts(agent.run("How is the weather in Paris?").facts))
    source = RecordFiles(path)
    [entry] = run_in_loop(source.list_runs())
    document = run_in_loop(source.open(entry.id))
    assert len(document.fold.rows) == 7
    assert document.fold.rows[1].fields["start"] is None


def test_a_line_that_cannot_be_read_is_named_and_what_stands_before_it_is_shown(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:4], "{broken}\n", *lines[5:]]))
    source = RecordFiles(path)
    document = run_in_loop(source.open(source.only_id))
    assert len(document.facts) == 4
    assert document.failure.startswith("line 5: not JSON")


def test_a_long_run_is_there_with_its_beginning_while_the_rest_is_read(tmp_path: Path) -> None:
    source = RecordFiles(write_long_run(tmp_path / "long.jsonl", turns=200, size=5_000_000))

    async def read() -> None:
        document = await source.open(source.only_id)
        beginning = document.encode_outline()
        assert beginning["reading"] is True
        assert 200 < beginning["facts"] < 300
        await document.wait_until_read()
        whole = document.encode_outline()
        assert (whole["reading"], whole["live"], whole["facts"]) == (False, False, 1202)
        assert whole["summary"]["reason"] == "limit"
        rest = document.encode_outline(beginning["facts"])["rows"]
        merged = {row["i"]: row for row in (*beginning["rows"], *rest)}
        assert [merged[number] for number in sorted(merged)] == whole["rows"]

    run_in_loop(read())


def test_a_line_far_behind_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = write_long_run(tmp_path / "long.jsonl", turns=200, size=5_000_000)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:900], '{"v": 1}\n', *lines[900:]]))
    source = RecordFiles(path)

    async def read() -> RunDocument:
        document = await source.open(source.only_id)
        await document.wait_until_read()
        return document

    document = run_in_loop(read())
    assert len(document.facts) == 900
    assert document.failure.startswith("line 901: ")
    assert not document.is_live


def test_a_missing_file_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file or folder"):
        RecordFiles(tmp_path / "nowhere.jsonl")


def test_a_file_that_is_no_record_is_an_error_at_once_and_one_that_is_being_begun_is_not(tmp_path: Path) -> None:
    path = tmp_path / "trains.py"
    path.write_text("def search_trips() -> None:\n    pass\n")
    with pytest.raises(
        UsageError, match=r"trains\.py is not a record of a run, as toolspeak run --record writes it: not JSON"
    ):
        RecordFiles(path)
    path.write_text('{"t": 0.0, "fact": {"v"')
    assert RecordFiles(path).only_id
    path.write_text("")
    assert RecordFiles(path).only_id


def test_the_log_lists_the_runs_of_all_conversations(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(TWO_CITIES, dialect="python", on_tool_error="tell"), tools=[get_weather, convert])
    facts = agent.run("How is the weather in Paris?").facts
    path = tmp_path / "log.sqlite"
    with ConversationStore(path) as store:
        started = facts[0]
        assert isinstance(started, RunStarted)
        store.start(started, 1000.0)
        store.append(started.run_id, [StoredFact(fact, 1000.5 + number) for number, fact in enumerate(facts[1:])])

    async def look() -> None:
        source = LoggedRuns(path)
        [entry] = await source.list_runs()
        assert (entry.title, entry.status, entry.reason) == ("How is the weather in Paris?", "done", "answered")
        document = await source.open(entry.id)
        assert [each.fact for each in document.facts] == list(facts)
        assert document.facts[1].at == 0.5
        with pytest.raises(RunMissing):
            await source.open("no such run")
        await source.close()

    run_in_loop(look())


def test_a_store_lists_its_runs_and_hides_the_password_of_its_address(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/runs.db"
    with Runs(store) as runs:
        started = runs.start_sync("writer", "Write to Ada.")

    async def look() -> None:
        source = DurableStore(store)
        [entry] = await source.list_runs()
        assert (entry.id, entry.title, entry.status, entry.where) == (started.id, "Write to Ada.", "queued", "writer")
        document = await source.open(entry.id)
        assert document.is_live
        assert document.fold.summary["status"] == "queued"
        with pytest.raises(RunMissing):
            await source.open("0" * 24)
        assert await source.cancel(entry.id)
        await source.close()
        assert source.label == "runs.db"

    run_in_loop(look())
    assert DurableStore("postgresql://ada:se#c?ret@db.example/runs?sslpassword=secret").label == "db.example/runs"


@pytest.mark.parametrize("user", ["ada:S3CRET", "S3CRET", "ada:S3CRET#x", "ada:S3CRET/x", "ada:S3CRET?x"])
def test_a_gateway_is_named_without_a_password(user: str):
    with pytest.raises(UsageError, match="write the address of a gateway") as raised:
        GatewayExchanges(f"http://{user}@127.0.0.1:9/v1", KEY)
    assert "S3CRET" not in str(raised.value)


def test_the_exchanges_of_a_gateway_are_runs_and_its_key_stays_in_the_server() -> None:
    application = app([serve_model(scripted(), TYPESCRIPT)], AccessRules(key=KEY), watch=True)
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "tools": OPENAI_TOOLS}
    with host_app(application) as url:
        import httpx

        answer = httpx.post(
            f"{url}/v1/chat/completions", json=body, headers={"authorization": f"Bearer {KEY}"}, timeout=60
        )
        assert answer.status_code == 200

        async def look() -> str:
            source = GatewayExchanges(f"{url}/v1", KEY)
            [entry] = await source.list_runs()
            document = await source.open(entry.id)
            kinds = [row.kind for row in document.fold.rows]
            assert kinds == ["message", "turn", "call", "call", "call", "end"]
            shown = render_turn(document, 1)
            assert shown["dialect"] == "typescript"
            assert "get_weather({" in shown["messages"][0]["text"]
            assert shown["messages"][-1]["text"] == QUESTION
            assert render_turn(document, 1, "native")["tool_count"] == 2
            with pytest.raises(RunMissing):
                await source.open("req_none")
            with pytest.raises(UsageError, match="rejected the key"):
                await GatewayExchanges(url, "wrong").list_runs()
            return entry.id

        run_id = run_in_loop(look())
        with hosted_page(GatewayExchanges(url, KEY)) as page:
            for path in ("/", "/api/runs", f"/api/runs/gateway/{run_id}", f"/api/runs/gateway/{run_id}/rows/1"):
                answer = page.ask(path)
                assert answer.status == 200
                assert KEY.encode() not in answer.body


def test_a_source_that_fails_says_so_and_does_not_hide_the_others(tmp_path: Path) -> None:
    record_run(tmp_path / "run.jsonl")
    with hosted_page(RecordFiles(tmp_path), GatewayExchanges("http://127.0.0.1:9", KEY)) as page:
        files, gateway = json.loads(page.ask("/api/runs").body)["sources"]
    assert len(files["runs"]) == 1
    assert "does not answer" in gateway["failure"]
