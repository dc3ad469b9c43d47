"""Calls of public servers through toolspeak give what the client of the official SDK gets.

`make test-mcp` installs and runs the servers. Each list of calls is made twice, in the same folder as it was before.
"""

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess

import pytest

from mcp import Client, StdioServerParameters
from tests.mcp_servers.conftest import find_server
from toolspeak import ToolError
from toolspeak.values.messages import Media

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") * 8
TREE = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes programs"]}]}
THOUGHT = {"thought": "First.", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}

CALLS = {
    "mcp-hello-world": ([], [("echo", {"message": "hello"}), ("debug", {}), ("add", {"a": 2, "b": 3})]),
    "mcp-server-everything": (
        ["stdio"],
        [
            ("echo", {"message": "ä\u2028\U0001f600"}),
            ("get-sum", {"a": 2, "b": 0.5}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-annotated-message", {"messageType": "error"}),
            ("get-annotated-message", {"messageType": "success", "includeImage": True}),
            ("get-tiny-image", {}),
            ("get-resource-links", {"count": 2}),
            ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
            ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
            ("get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
            ("trigger-long-running-operation", {"duration": 0.1, "steps": 2}),
        ],
    ),
    "mcp-server-filesystem": (
        ["{folder}"],
        [
            ("list_allowed_directories", {}),
            ("list_directory", {"path": "{folder}"}),
            ("list_directory_with_sizes", {"path": "{folder}", "sortBy": "size"}),
            ("directory_tree", {"path": "{folder}", "excludePatterns": [".git"]}),
            ("read_text_file", {"path": "{folder}/note.txt"}),
            ("read_text_file", {"path": "{folder}/note.txt", "head": 1}),
            ("read_text_file", {"path": "{folder}/note.txt", "tail": 1}),
            ("read_text_file", {"path": "/etc/hostname"}),
            ("read_file", {"path": "{folder}/note.txt"}),
            ("read_text_file", {"path": "{folder}/missing.txt"}),
            ("read_media_file", {"path": "{folder}/pixel.png"}),
            ("read_multiple_files", {"paths": ["{folder}/note.txt", "{folder}/missing.txt"]}),
            ("write_file", {"path": "{folder}/new.txt", "content": "ä\n" * 1000}),
            ("edit_file", {"path": "{folder}/note.txt", "edits": [{"oldText": "milk", "newText": "tea"}]}),
            ("create_directory", {"path": "{folder}/more"}),
            ("move_file", {"source": "{folder}/new.txt", "destination": "{folder}/more/old.txt"}),
            ("search_files", {"path": "{folder}", "pattern": "**/*.txt"}),
        ],
    ),
    "mcp-server-memory": (
        [],
        [
            ("read_graph", {}),
            ("create_entities", TREE),
            ("create_relations", {"relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}]}),
            ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["sings"]}]}),
            ("add_observations", {"observations": [{"entityName": "Bob", "contents": ["sings"]}]}),
            ("search_nodes", {"query": "sing"}),
            ("open_nodes", {"names": ["Ada", "Bob"]}),
            ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["sings"]}]}),
            ("delete_entities", {"entityNames": ["Ada"]}),
            ("read_graph", {}),
        ],
    ),
    "mcp-server-sequential-thinking": (
        [],
        [("sequentialthinking", THOUGHT), ("sequentialthinking", {**THOUGHT, "thoughtNumber": 2, "branchId": "b"})],
    ),
    "mcp-server-sqlite-npx": (
        ["{folder}/data.db"],
        [
            ("create_table", {"query": "CREATE TABLE t (a INTEGER, b TEXT)"}),
            ("write_query", {"query": "INSERT INTO t VALUES (1, 'x'), (2, NULL)"}),
            ("read_query", {"query": "SELECT * FROM t"}),
            ("read_query", {"query": "SELECT * FROM missing"}),
            ("list_tables", {}),
            ("describe_table", {"table_name": "t"}),
        ],
    ),
    "mcp-server-git": (
        ["--repository", "{folder}"],
        [
            ("git_status", {"repo_path": "{folder}"}),
            ("git_log", {"repo_path": "{folder}"}),
            ("git_show", {"repo_path": "{folder}", "revision": "HEAD"}),
            ("git_diff_unstaged", {"repo_path": "{folder}"}),
            ("git_add", {"repo_path": "{folder}", "files": ["pixel.png"]}),
            ("git_diff_staged", {"repo_path": "{folder}"}),
            ("git_reset", {"repo_path": "{folder}"}),
            ("git_create_branch", {"repo_path": "{folder}", "branch_name": "side"}),
            ("git_checkout", {"repo_path": "{folder}", "branch_name": "side"}),
            ("git_checkout", {"repo_path": "{folder}", "branch_name": "nowhere"}),
            ("git_branch", {"repo_path": "{folder}", "branch_type": "local"}),
            ("git_status", {"repo_path": "/nonexistent"}),
        ],
    ),
    "mcp-server-time": (
        ["--local-timezone", "UTC"],
        [
            ("convert_time", {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"source_timezone": "UTC", "time": "99:99", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Nowhere/Atlantis"}),
        ],
    ),
    "mcp-server-fetch": (
        ["--ignore-robots-txt"],
        [("fetch", {"url": "http://127.0.0.1:9/"}), ("fetch", {"url": "ftp://127.0.0.1/x", "raw": True})],
    ),
}


@pytest.fixture
def place(tmp_path):
    """Return a function that makes the same folder anew: a repository of git with one commit and two changed files."""
    folder = tmp_path / "data"
    when = "2026-01-01T00:00:00+0000"
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}

    def make():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "note.txt").write_text("remember the milk\nand the eggs\n")
        who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
            subprocess.run(["git", "-C", str(folder), *words], check=True, env={**os.environ, **dates})
        (folder / "note.txt").write_text("remember the milk\nand the bread\n")
        (folder / "pixel.png").write_bytes(PIXEL)
        return folder

    return make


def mask(text):
    """Return a text without times of day, which two calls do not share."""
    return re.sub(r"\d+:\d\d:\d\d [AP]M", "noon", text)


def fill(value, folder):
    return json.loads(json.dumps(value).replace("{folder}", str(folder)))


async def call_with_sdk(command, env, made):
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with Client(parameters) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        return [(tools[name], await client.call_tool(name, arguments)) for name, arguments in made]


async def call_with_toolspeak(connect, command, env, made):
    async with connect(command, env=env, pinned=False) as tools:
        box = await tools.aload()
        answers = []
        for name, arguments in made:
            try:
                answers.append(await box[name](**arguments))
            except ToolError as error:
                answers.append(error)
        return answers


def expect(tool, result):
    """Return the error, the data and the media that a result of the SDK stands for."""
    texts, media = [], []
    for block in result.content:
        resource = getattr(block, "resource", None)
        encoded = getattr(block, "data", None) or getattr(resource, "blob", None)
        if encoded is not None:
            media.append(encoded)
        elif resource is not None:
            texts.append(f"{resource.uri}:\n{resource.text}")
        elif block.type == "resource_link":
            texts.append(f"[{block.name}]({block.uri})" + (f": {block.description}" if block.description else ""))
        else:
            texts.append(block.text)
    text = "\n".join(texts)
    if result.is_error:
        return text, None, []
    has_data = result.structured_content is not None and (tool.output_schema is not None or not texts)
    data = json.dumps(result.structured_content) if has_data else json.dumps(text if texts else None)
    for encoded in media:  # a picture is not sent as text, too
        data = data.replace(encoded, "…")
    return None, mask(data), [mask(base64.b64decode(each).decode("latin-1")) for each in media]


def observe(answer):
    if isinstance(answer, ToolError):
        return str(answer), None, []
    parts = answer if isinstance(answer, list) and any(isinstance(each, Media) for each in answer) else [answer]
    media = [each for each in parts if isinstance(each, Media)]
    [data] = [each for each in parts if not isinstance(each, Media)] or [None]
    text = json.dumps(data)
    for each in media:
        text = text.replace(f"(attached: {each.mime})", "…")
    return None, mask(text), [mask(each.data.decode("latin-1")) for each in media]


@pytest.mark.parametrize("server", CALLS)
def test_calls_give_what_the_sdk_gets(connect, place, tmp_path, server, record_property):
    arguments, made = CALLS[server]
    command = [find_server(server), *fill(arguments, tmp_path / "data")]
    made = fill(made, tmp_path / "data")
    env = {"MEMORY_FILE_PATH": str(tmp_path / "data" / "memory.json"), "DISABLE_THOUGHT_LOGGING": "true"}
    place()
    expected = asyncio.run(call_with_sdk(command, env, made))
    place()
    got = asyncio.run(call_with_toolspeak(connect, command, env, made))
    for (name, _), (tool, result), answer in zip(made, expected, got, strict=True):
        assert observe(answer) == expect(tool, result), name
    record_property("calls", len(made))
