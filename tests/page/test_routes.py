"""The routes of the viewer over HTTP, and the files of the page."""

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from toolspeak import Agent
from toolspeak.durable import Runs
from toolspeak.page.app import STATIC_FOLDER
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.sources import DurableStore
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import calls, says
from toolspeak.values.messages import Media

from .hosting import Answer, HostedPage, hosted_page
from .recorded import record_run, write_facts, write_long_run

MAX_WHEEL_BYTES = 300_000
"""What the page may add to the wheel, whose files are compressed."""


def post(page: HostedPage, path: str, body: Any, content_type: str = "application/json") -> Answer:
    headers = {**page.own_headers, "content-type": content_type}
    return page.ask(path, method="POST", headers=headers, body=json.dumps(body).encode())


def list_ids(page: HostedPage) -> list[str]:
    [source] = json.loads(page.ask("/api/runs").body)["sources"]
    return [entry["id"] for entry in source["runs"]]


def test_a_run_that_has_happened_cannot_be_answered(weather_page: HostedPage) -> None:
    [run_id] = list_ids(weather_page)
    for what in ("approve", "cancel"):
        answer = post(weather_page, f"/api/runs/files/{run_id}/{what}", {"call_id": "call_1", "approved": True})
        assert answer.status == 422
        assert b"you can't control them" in answer.body


def test_a_durable_run_is_cancelled_and_wrong_answers_are_refused_in_words(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/runs.db"
    with Runs(store) as runs, hosted_page(DurableStore(store)) as page:
        run = runs.start_sync("writer", "Write to Ada.")
        path = f"/api/runs/store/{run.id}"
        assert json.loads(page.ask(path).body)["answers"] is True
        for body in (
            {},
            {"call_id": "call_1"},
            {"call_id": "call_1", "approved": ""},
            {"call_id": 1, "approved": True},
        ):
            assert post(page, f"{path}/approve", body).status == 422
        unasked = post(page, f"{path}/approve", {"call_id": "call_1", "approved": True})
        assert unasked.status == 422
        assert b"waits for an approval" in unasked.body
        assert post(page, f"{path}/cancel", [1]).body == b'{"counts":true}'
        assert post(page, f"{path}/cancel", {}).body == b'{"counts":false}'
        assert post(page, f"{path}/approve", {"call_id": "call_1", "approved": True}, "text/plain").status == 422
        assert post(page, "/api/runs/store/none/cancel", {}).status == 422


@pytest.mark.parametrize(
    "path", ["rows/999", "rows/0/shown", "rows/0/sections/9", "rows/0/sections/0/media", "rows/-1"]
)
def test_what_is_not_there_is_refused(weather_page: HostedPage, path: str) -> None:
    [run_id] = list_ids(weather_page)
    assert weather_page.ask(f"/api/runs/files/{run_id}/{path}").status in (404, 422)


def test_an_unknown_dialect_is_refused_in_words(weather_page: HostedPage) -> None:
    [run_id] = list_ids(weather_page)
    answer = weather_page.ask(f"/api/runs/files/{run_id}/rows/1/shown?dialect=latin")
    assert answer.status == 422
    assert b"there is no dialect 'latin'" in answer.body


def draw(kind: str) -> Media:
    """Draw."""
    mime = {"image": "image/png", "page": "text/html", "drawing": "image/svg+xml"}[kind]
    return Media(mime=mime, data=b"<script>window.pwned = 1</script>", name=f"{kind}.html")


def test_attachments_are_looked_at_or_saved_and_never_run(tmp_path: Path) -> None:
    script = [calls(*(("draw", {"kind": kind}) for kind in ("image", "page", "drawing"))), says("Done.")]
    path = tmp_path / "run.jsonl"
    write_facts(path, Agent(ScriptedModel(script), tools=[draw]).run("Draw.").facts)
    with hosted_page(RecordFiles(path)) as page:
        [run_id] = list_ids(page)
        answers = [page.ask(f"/api/runs/files/{run_id}/rows/{row}/sections/1/media") for row in (2, 3, 4)]
    assert [each.status for each in answers] == [200, 200, 200]
    assert [each.headers["content-type"] for each in answers] == ["image/png", *["application/octet-stream"] * 2]
    assert ["content-disposition" in each.headers for each in answers] == [False, True, True]
    for each in answers:
        assert each.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert each.headers["x-content-type-options"] == "nosniff"


def test_a_run_is_read_once_and_dropped_when_others_are_looked_at(tmp_path: Path) -> None:
    for number in range(8):
        record_run(tmp_path / f"{number}.jsonl")
    with hosted_page(RecordFiles(tmp_path)) as page:
        ids = list_ids(page)
        assert all(page.ask(f"/api/runs/files/{run_id}").status == 200 for run_id in (*ids, *ids))


def test_the_files_of_the_page_are_small_and_hold_nothing_that_makes_markup_of_text() -> None:
    files = [path for path in STATIC_FOLDER.rglob("*") if path.is_file()]
    package = [path for path in STATIC_FOLDER.parent.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(len(zlib.compress(path.read_bytes())) for path in package) < MAX_WHEEL_BYTES
    for path in files:
        text = path.read_text()
        if path.suffix == ".js":
            assert text.startswith("// @ts-check\n"), path
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text
            ), path
        assert not re.search(r"""(?:src|href|from|url)\s*[=(]?\s*["']?(?:https?:)?//""", text), path
    index = (STATIC_FOLDER / "index.html").read_text()
    assert not re.search(r"<style|\son\w+=|style=", index)
    assert re.findall(r"<script[^>]*>([^<]*)</script>", index) == [""]


def test_the_page_names_all_the_modules_that_it_imports_and_no_others(weather_page: HostedPage) -> None:
    named = re.findall(r"</static/(\w+\.js)>; rel=modulepreload", weather_page.ask("/").headers["link"])
    imported: set[str] = set()
    waiting = ["app.js"]
    while waiting:
        text = (STATIC_FOLDER / waiting.pop()).read_text()
        found = set(re.findall(r'^import .* from "\./(\w+\.js)";$', text, re.MULTILINE)) - imported
        imported |= found
        waiting += found
    assert named == sorted(imported)


def test_words_are_looked_for_in_all_of_a_run_whose_beginning_is_shown(tmp_path: Path) -> None:
    with hosted_page(RecordFiles(write_long_run(tmp_path / "long.jsonl", turns=200, size=5_000_000))) as page:
        [run_id] = list_ids(page)
        path = f"/api/runs/files/{run_id}"
        beginning = json.loads(page.ask(path).body)
        assert beginning["reading"]
        assert json.loads(page.ask(f"{path}/find?words=page%20200:").body)["rows"] == [400]
        rest = json.loads(page.ask(f"{path}?after={beginning['facts']}").body)
        assert not rest["reading"]
        assert rest["rows"][-1]["kind"] == "end"
        assert len(rest["rows"]) < 402
