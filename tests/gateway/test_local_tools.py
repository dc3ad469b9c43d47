"""Tools that the client runs though its vendor defines them: shells, patches, and custom tools of the chat API."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.dialects import DIALECTS, PYTHON
from toolspeak.gateway import app
from toolspeak.models import Endpoint, HttpModel
from toolspeak.testing import ScriptedModel, says
from toolspeak.wire.vendor_tools import join_patch, split_patch

from .hosting import Reply, ask, gateway, serve_model

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
spoken = pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "native"])

PATCH = """*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: old.txt
@@
-before
+after
*** Delete File: gone.txt
*** End Patch"""
OPERATIONS = [
    {"type": "create_file", "path": "new.txt", "diff": "+one\n+two"},
    {"type": "update_file", "path": "old.txt", "diff": "@@\n-before\n+after"},
    {"type": "delete_file", "path": "gone.txt"},
]
CALLS = {
    "shell": ("```run_shell\nls -l | wc\n```", "shell_call"),
    "local_shell": ("```run_local_shell\nls -l | wc\n```", "local_shell_call"),
    "apply_patch": (f"```apply_patch\n{PATCH}\n```", "apply_patch_call"),
}


def send(model: ScriptedModel, dialect: str = "python", **more: Any) -> Reply:
    return ask(
        app([serve_model(model, DIALECTS[dialect])]), {"model": "m", "input": "Hi", **more}, path="/v1/responses"
    )


def read_answer(reply: Reply) -> dict[str, Any]:
    """The whole answer. In a stream, its items must be those that were sent one by one."""
    assert reply.status == 200, reply.body
    if b"response.completed" not in reply.body:
        return reply.json
    answer = reply.chunks[-1]["response"]
    done = [event["item"] for event in reply.chunks if event["type"] == "response.output_item.done"]
    added = [event["item"] for event in reply.chunks if event["type"] == "response.output_item.added"]
    assert done == answer["output"]
    assert [(item["id"], item["status"]) for item in added] == [(item["id"], "in_progress") for item in done]
    return answer


def check_items(answer: dict[str, Any]) -> None:
    """The official SDK must read an answer without a warning of any field."""
    from openai._models import construct_type
    from openai.types.responses import Response

    Response.model_validate(answer)
    construct_type(type_=Response, value=answer)


@spoken
@both
@pytest.mark.parametrize("kind", CALLS)
def test_a_tool_that_the_client_runs_is_called_in_its_own_form(dialect: str, streamed: bool, kind: str):
    said, item_type = CALLS[kind]
    reply = send(ScriptedModel([says(f"Well.\n\n{said}")], chunk=4), dialect, stream=streamed, tools=[{"type": kind}])
    assert "x-toolspeak-notice" not in reply.headers
    answer = read_answer(reply)
    check_items(answer)
    message, *items = answer["output"]
    assert message["content"][0]["text"].strip() == "Well."
    assert [item["type"] for item in items] == [item_type] * (3 if kind == "apply_patch" else 1)
    assert len({item["call_id"] for item in items}) == len({item["id"] for item in items}) == len(items)
    assert {item["status"] for item in items} == {"completed"}
    match kind:
        case "shell":
            assert items[0]["action"]["commands"] == ["ls -l | wc"]
        case "local_shell":
            assert items[0]["action"] == {"type": "exec", "command": ["bash", "-lc", "ls -l | wc"], "env": {}}
        case _:
            assert [item["operation"] for item in items] == OPERATIONS


@both
@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        ("+one", "a patch needs a line such as *** Update File: PATH for each file, and has none"),
        ("*** Add File: a.txt\none", "in a.txt, which is new, every line must begin with +"),
        ("*** Update File:\n+one", "a line that names a file has no path"),
        ("*** Update File: a\n*** Move to: b", "a cannot be moved; delete it and add another file"),
    ],
)
def test_a_patch_that_the_client_could_not_be_given_is_asked_for_again(streamed: bool, patch: str, fault: str):
    model = ScriptedModel([says(f"```apply_patch\n{patch}\n```"), says(CALLS["apply_patch"][0])], chunk=4)
    answer = read_answer(send(model, stream=streamed, tools=[{"type": "apply_patch"}]))
    assert [item["operation"] for item in answer["output"]] == OPERATIONS
    assert fault in model.requests[1].shown.messages[-1].text
    never = ScriptedModel([says(f"```apply_patch\n{patch}\n```")] * 3)
    assert b"tool_use_failed" in send(never, stream=streamed, tools=[{"type": "apply_patch"}]).body


def test_a_shell_in_a_container_of_the_vendor_is_left_out():
    tools = [{"type": "shell", "environment": {"type": "container_auto"}}]
    reply = send(ScriptedModel([says("Fine.")]), tools=tools)
    assert reply.headers["x-toolspeak-notice"] == "hosted tools left out: shell"
    demanded = send(ScriptedModel([says("Fine.")]), tools=tools, tool_choice={"type": "shell"})
    assert (demanded.status, demanded.json["error"]["param"]) == (400, "tool_choice.type")


def test_a_tool_with_the_name_of_another_is_left_out():
    own = {"type": "function", "name": "apply_patch", "parameters": {"type": "object", "properties": {}}}
    reply = send(ScriptedModel([says("Fine.")]), tools=[own, {"type": "apply_patch"}])
    assert reply.headers["x-toolspeak-notice"] == "hosted tools left out: apply_patch"


def test_the_model_is_shown_the_skills_of_a_shell():
    skill = {"name": "pdf", "description": "Reads PDF files.", "path": "/skills/pdf"}
    model = ScriptedModel([says("Fine.")])
    send(model, tools=[{"type": "shell", "environment": {"type": "local", "skills": [skill]}}])
    assert "- pdf (/skills/pdf): Reads PDF files." in model.requests[0].shown.messages[0].text


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "shell"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "shell"}]},
    ],
    ids=["required", "named", "allowed"],
)
def test_a_call_can_be_demanded(choice: Any):
    model = ScriptedModel([says("I had rather not."), says(CALLS["shell"][0])])
    answer = read_answer(send(model, tools=[{"type": "shell"}, {"type": "web_search"}], tool_choice=choice))
    assert [item["type"] for item in answer["output"]] == ["shell_call"]
    check_items(answer)
    if choice == {"type": "shell"}:
        assert answer["tool_choice"] == choice


def test_what_is_not_allowed_is_not_shown():
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "shell"}]}
    model = ScriptedModel([says("Fine.")])
    send(model, tools=[{"type": "shell"}, {"type": "apply_patch"}], tool_choice=allowed)
    shown = model.requests[0].shown.messages[0].text
    assert ("run_shell" in shown, "apply_patch" in shown) == (True, False)


HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"type": "shell_call", "call_id": "c1", "action": {"commands": ["echo one", "false"]}, "status": "completed"},
    {
        "type": "shell_call_output",
        "call_id": "c1",
        "output": [
            {"stdout": "one\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "bad", "outcome": {"type": "exit", "exit_code": 1}},
            {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
            {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        ],
    },
    {
        "type": "local_shell_call",
        "id": "l1",
        "call_id": "c2",
        "action": {"type": "exec", "command": ["/bin/bash", "-lc", "echo 'two'"], "env": {}},
        "status": "completed",
    },
    {
        "type": "local_shell_call",
        "id": "l2",
        "call_id": "c3",
        "action": {"type": "exec", "command": ["grep", "a b", "c"], "env": {}},
        "status": "completed",
    },
    {"type": "local_shell_call_output", "call_id": "c2", "output": "two"},
    {"type": "local_shell_call_output", "id": "c3", "output": "three"},
    {"type": "apply_patch_call", "call_id": "c4", "operation": OPERATIONS[1], "status": "completed"},
    {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "no such line"},
    {"type": "apply_patch_call", "call_id": "c5", "operation": OPERATIONS[2], "status": "completed"},
    {"type": "apply_patch_call_output", "call_id": "c5", "status": "completed"},
]


def test_the_model_sees_earlier_calls_and_their_results():
    model = ScriptedModel([says("Fine.")] * 5)
    reply = send(model, input=HISTORY, tools=[{"type": kind} for kind in CALLS])
    assert (reply.status, reply.headers.get("x-toolspeak-notice")) == (200, None)
    texts = [message.text for message in model.requests[0].shown.messages[2:]]
    assert "```run_shell\necho one\nfalse\n```" in texts[0]
    for line in ("one", "bad", "(exit code 1)", "(it took too long and was ended)", "(it printed nothing)"):
        assert line in texts[1]
    assert "```run_local_shell\necho 'two'\n```" in texts[2]
    assert "```run_local_shell\ngrep 'a b' c\n```" in texts[2]
    assert "two" in texts[3]
    assert "three" in texts[3]
    patch = "*** Begin Patch\n*** Update File: old.txt\n@@\n-before\n+after\n*** End Patch"
    assert f"```apply_patch\n{patch}\n```" in texts[4]
    assert "no such line" in texts[5]
    assert "*** Delete File: gone.txt" in texts[6]
    assert "completed" in texts[7]


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "shell_call", "call_id": "c"}, "input[0].action"),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": [1]}}, "input[0].action.commands[0]"),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "x", "path": ""}}, "input[0].operation.type"),
        ({"type": "local_shell_call_output", "output": ""}, "input[0].call_id"),
        ({"type": "shell_call_output", "call_id": "c", "output": []}, "input[0].call_id"),
    ],
)  # fmt: skip
def test_wrong_items_are_named(item: Any, param: str):
    reply = send(ScriptedModel([says("Fine.")]), input=[item])
    assert (reply.status, reply.json["error"]["param"]) == (400, param)


def test_servers_of_the_vendor_get_the_items_unchanged():
    from toolspeak.wire.openai_responses import read_request, request_body

    tools = [{"type": "shell"}, {"type": "apply_patch"}]
    sent = request_body(read_request({"model": "m", "input": HISTORY, "tools": tools}))
    assert sent["tools"] == tools
    expected = [item for item in HISTORY if "role" not in item]
    assert sorted(map(json.dumps, sent["input"][1:])) == sorted(map(json.dumps, expected))


def test_a_call_that_only_the_vendor_can_demand_is_refused_on_its_way_there():
    endpoint = Endpoint(name="there", base_url="http://127.0.0.1:9/v1", api="openai-responses")
    served = serve_model(HttpModel(endpoint, "m"), DIALECTS["native"])
    body = {"model": "m", "input": "Hi", "tools": [{"type": "shell"}], "tool_choice": {"type": "shell"}}
    reply = ask(app([served]), body, path="/v1/responses")
    assert (reply.status, reply.json["error"]["param"]) == (400, "tool_choice")


LINES = st.lists(st.sampled_from(["a", " b", "-c", "+d", "@@", ""]), max_size=4).map("\n".join)


@given(
    kind=st.sampled_from(["create_file", "update_file", "delete_file"]),
    path=st.sampled_from(["a", "b/c d.txt", "ü"]),
    diff=LINES,
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_patch_of_one_file_is_the_operation_it_was_made_of(kind: str, path: str, diff: str):
    text = join_patch(kind, path, diff)
    assert text is not None
    expected: dict[str, Any] = {"type": kind, "path": path}
    expected |= {} if kind == "delete_file" else {"diff": diff.rstrip("\n")}
    assert split_patch(text) == [expected]


# The SDK of OpenAI for agents


@both
@pytest.mark.parametrize("kind", CALLS)
def test_openai_agents_runs_them(tmp_path: Path, streamed: bool, kind: str):
    import agents
    from agents.editor import ApplyPatchOperation, ApplyPatchResult
    from openai import AsyncOpenAI

    done: list[str] = []

    class Editor:
        def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
            done.append(f"create {operation.path} {agents.apply_diff('', operation.diff or '', mode='create')!r}")
            return ApplyPatchResult(status="completed", output="created")

        def update_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
            done.append(f"update {operation.path} {agents.apply_diff('before', operation.diff or '')!r}")
            return ApplyPatchResult(status="completed", output="updated")

        def delete_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
            done.append(f"delete {operation.path}")
            return ApplyPatchResult(status="completed", output="deleted")

    def run_shell(request: agents.ShellCommandRequest) -> str:
        done.extend(request.data.action.commands)
        return "it printed this"

    def run_local_shell(request: agents.LocalShellCommandRequest) -> str:
        done.append(request.data.action.command[-1])
        return "it printed this"

    tools: dict[str, Any] = {
        "shell": lambda: agents.ShellTool(executor=run_shell),
        "local_shell": lambda: agents.LocalShellTool(executor=run_local_shell),
        "apply_patch": lambda: agents.ApplyPatchTool(editor=Editor()),
    }
    model = ScriptedModel([says(CALLS[kind][0]), says("Done.")], chunk=4)

    async def run(url: str) -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            agent = agents.Agent(name="a", model=agents.OpenAIResponsesModel("scripted", client), tools=[tools[kind]()])
            config = agents.RunConfig(tracing_disabled=True)
            if not streamed:
                return (await agents.Runner.run(agent, "Go.", run_config=config)).final_output
            result = agents.Runner.run_streamed(agent, "Go.", run_config=config)
            async for _ in result.stream_events():
                pass
            return result.final_output

    with gateway(serve_model(model, PYTHON)) as url:
        assert asyncio.run(run(url)) == "Done."
    if kind == "apply_patch":
        assert done == ["create new.txt 'one\\ntwo'", "update old.txt 'after'", "delete gone.txt"]
        assert all(word in model.requests[1].shown.messages[-1].text for word in ("created", "updated", "deleted"))
    else:
        assert done == ["ls -l | wc"]
        assert "it printed this" in model.requests[1].shown.messages[-1].text


# Custom tools of the chat API

CUSTOM = {"type": "custom", "custom": {"name": "write", "description": "Write a text."}}
RAW = '```write\n"a"\n\tb\\n ü 😀\n```'
TEXT = '"a"\n\tb\\n ü 😀'


def chat(model: ScriptedModel, dialect: str = "python", **more: Any) -> Reply:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [CUSTOM], **more}
    return ask(app([serve_model(model, DIALECTS[dialect])]), body)


@spoken
@both
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_a_custom_tool_of_chat_gets_its_raw_text(dialect: str, streamed: bool, chunk: int):
    reply = chat(ScriptedModel([says(RAW)], chunk=chunk), dialect, stream=streamed)
    assert reply.status == 200
    assert "x-toolspeak-notice" not in reply.headers
    if not streamed:
        (call,) = reply.json["choices"][0]["message"]["tool_calls"]
        assert (call["type"], call["custom"]) == ("custom", {"name": "write", "input": TEXT})
        return
    pieces = [call for each in reply.chunks for call in each["choices"][0]["delta"].get("tool_calls", ())]
    assert (pieces[0]["type"], pieces[0]["custom"]) == ("custom", {"name": "write", "input": ""})
    assert "".join(piece["custom"]["input"] for piece in pieces) == TEXT
    assert reply.chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    if chunk == 1:
        assert len(pieces) > 5  # it is sent as it is written


def test_a_grammar_and_earlier_calls_are_shown_to_the_model():
    grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}
    called = {"id": "c1", "type": "custom", "custom": {"name": "write", "input": "x\ny"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    model = ScriptedModel([says("Fine.")] * 2)
    chat(model, messages=messages, tools=[{"type": "custom", "custom": {"name": "write", "format": grammar}}])
    shown = model.requests[0].shown.messages
    assert "must match this regex grammar" in shown[0].text
    assert "[a-z]+" in shown[0].text
    assert "```write\nx\ny\n```" in shown[2].text


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "custom", "custom": {"name": "write"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "custom", "custom": {"name": "write"}}]},
        },
    ],
    ids=["named", "allowed"],
)
def test_a_call_of_a_custom_tool_can_be_demanded(choice: Any):
    model = ScriptedModel([says("No."), says(RAW)])
    reply = chat(model, tool_choice=choice)
    assert reply.json["choices"][0]["message"]["tool_calls"][0]["custom"]["input"] == TEXT


@both
def test_openai_reads_a_custom_call(streamed: bool):
    from openai import OpenAI

    tools: Any = [CUSTOM]
    with gateway(serve_model(ScriptedModel([says(RAW)], chunk=4), PYTHON)) as url:
        client = OpenAI(base_url=f"{url}/v1", api_key="none")
        messages: Any = [{"role": "user", "content": "Hi"}]
        if not streamed:
            made = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
            call: Any = (made.tool_calls or [])[0]
            assert (call.type, call.custom.name, call.custom.input) == ("custom", "write", TEXT)
            return
        text = ""
        for part in client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True):
            for piece in part.choices[0].delta.tool_calls or []:
                extra: Any = piece.model_extra
                text += extra["custom"]["input"]
        assert text == TEXT
