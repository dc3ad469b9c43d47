"""The responses API through the gateway: the official client, on models that know nothing of its tools."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import Response
from pydantic import BaseModel

from toolspeak.dialects import NATIVE, dialect
from toolspeak.models import Request, connect
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.wire import openai_responses

from .conversing import ANSWER, BEFORE, MADE, OPENAI_TOOLS, QUESTION, Tools
from .hosting import gateway, serve_model
from .playing import Piecewise

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
dialects = pytest.mark.parametrize("name", ["typescript", "python", "json"])

TOOLS: list[Any] = [{"type": "function", "strict": False, **tool["function"]} for tool in OPENAI_TOOLS]
PATCH_TOOL: Any = {"type": "custom", "name": "apply_patch", "description": "Changes files by a patch."}
PATCH = "\n".join(
    ["*** Begin Patch", "*** Update File: a.py", *(f'+    print("{n}\\t{{n}}") # – ünd 🙂' for n in range(300)), "*** End Patch"]
)  # fmt: skip
"""A patch of more than 300 lines, with all that JSON would escape."""


def gave_results(request: Request) -> ScriptedReply:
    told = "\n".join(message.text for message in request.shown.messages)
    whole = all(result in told for result in ("sunny, 21 °C", "rain, 15 °C", "68.0"))
    return says(ANSWER if whole else f"This is what came: {told!r}")


def weather(name: str) -> ScriptedModel:
    asked = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "London"})]
    first = calls(*asked, ("calculator", {"expression": "20 * 9 / 5 + 32"}), text=BEFORE)
    return ScriptedModel([first, gave_results], dialect=name, chunk=5)


class Asking:
    """The client. Each body and each event that it gets is checked strictly."""

    def __init__(self, client: openai.OpenAI, streamed: bool) -> None:
        self.client = client
        self.kinds: list[str] = []
        self._streamed = streamed

    def ask(self, items: Any, **options: Any) -> Response:
        asks: dict[str, Any] = {"model": "scripted", "input": items, "store": False, **options}
        if not self._streamed:
            response = self.client.responses.create(**asks)
        else:
            done: dict[int, Any] = {}
            with self.client.responses.create(**asks, stream=True) as stream:
                for event in stream:
                    type(event).model_validate(event.to_dict(), strict=True)
                    self.kinds.append(event.type)
                    if event.type == "response.output_item.done":
                        done[event.output_index] = event.item
                    last = event
            assert last.type in ("response.completed", "response.incomplete")
            response = last.response
            assert [item for _, item in sorted(done.items())] == response.output
        Response.model_validate(response.to_dict(), strict=True)
        return response


@pytest.fixture
def asking(url: str, streamed: bool) -> Iterator[Asking]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield Asking(client, streamed)


@pytest.fixture(params=["in the process", "openai-responses"])
def url(request: pytest.FixtureRequest, name: str) -> Iterator[str]:
    """The gateway before a model that writes calls in a dialect: in the process, or behind the same API without tools."""
    model: Any = request.getfixturevalue("model")
    if request.param == "in the process":
        with gateway(serve_model(model, dialect(name))) as address:
            yield address
        return
    with gateway(serve_model(model, dialect(name))) as upstream:
        there = connect("scripted", at=f"{upstream}/v1", api="openai-responses", key="none")
        with gateway(serve_model(there, dialect(name))) as address:
            yield address


class TestFunctions:
    @pytest.fixture
    def model(self, name: str) -> ScriptedModel:
        return weather(name)

    @both
    @dialects
    def test_a_conversation(self, asking: Asking):
        tools = Tools()
        history: list[Any] = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        include: list[Any] = ["reasoning.encrypted_content"]
        first = asking.ask(history, tools=TOOLS, instructions="You know the weather.", include=include)
        said, *made = first.output
        assert (first.status, first.output_text, said.type) == ("completed", BEFORE, "message")
        history += [item.to_dict() for item in first.output]
        for call in made:
            assert call.type == "function_call"
            output = tools.run(call.name, json.loads(call.arguments))
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
        last = asking.ask(history, tools=TOOLS, instructions="You know the weather.")
        assert (last.output_text, len(last.output)) == (ANSWER, 1)
        assert tools.ran == MADE
        assert len({item.id for item in first.output}) == 4


class TestCustomTools:
    @pytest.fixture
    def model(self, name: str) -> ScriptedModel:
        def then(request: Request) -> ScriptedReply:
            told = "\n".join(message.text for message in request.shown.messages)
            return says("Done." if PATCH in told and "Success." in told else f"This is what came: {told!r}")

        return ScriptedModel([says(f"Look:\n\n```apply_patch\n{PATCH}\n```"), then], dialect=name, chunk=7)

    @both
    @dialects
    def test_a_patch_is_the_same_byte_for_byte(self, asking: Asking, streamed: bool):
        history: list[Any] = [{"role": "user", "content": "Change it."}]
        first = asking.ask(history, tools=[PATCH_TOOL, *TOOLS])
        said, call = first.output
        assert (said.type, call.type) == ("message", "custom_tool_call")
        assert (call.name, call.input) == ("apply_patch", PATCH)
        assert not streamed or asking.kinds.count("response.custom_tool_call_input.delta") > 1
        assert not any("function_call" in kind for kind in asking.kinds)
        history += [item.to_dict() for item in first.output]
        history.append({"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Success."})
        assert asking.ask(history, tools=[PATCH_TOOL, *TOOLS]).output_text == "Done."


@pytest.fixture
def name() -> str:
    return "typescript"


class TestNative:
    """A model behind the gateway that makes calls of its API itself: of the chat API, or of this one."""

    @both
    @pytest.mark.parametrize("api", ["openai", "openai-responses"])
    def test_calls_of_the_api(self, api: Any, streamed: bool):
        script = [
            calls(("get_weather", {"city": "Paris"}), ("apply_patch", {"input": PATCH}), text=BEFORE),
            says("Done."),
        ]
        with gateway(serve_model(ScriptedModel(script, chunk=9), NATIVE)) as upstream:
            there = connect("scripted", at=f"{upstream}/v1", api=api, key="none")
            with (
                gateway(serve_model(there, NATIVE)) as url,
                openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
            ):
                asking = Asking(client, streamed)
                history: list[Any] = [{"role": "user", "content": QUESTION}]
                first = asking.ask(history, tools=[*TOOLS, PATCH_TOOL])
                said, call, patch = first.output
                assert (said.type, call.type, patch.type) == ("message", "function_call", "custom_tool_call")
                assert (patch.name, patch.input) == ("apply_patch", PATCH)
                history += [item.to_dict() for item in first.output]
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": "sunny"})
                history.append({"type": "custom_tool_call_output", "call_id": patch.call_id, "output": "Success."})
                assert asking.ask(history, tools=[*TOOLS, PATCH_TOOL]).output_text == "Done."


class TestOptions:
    @pytest.fixture
    def model(self, name: str) -> ScriptedModel:
        return ScriptedModel([calls(("mail__send", {"to": "Ann"}))] * 9, dialect=name, chunk=4)

    @both
    def test_tools_of_a_namespace(self, asking: Asking):
        send = {"type": "function", "name": "send", "description": "Sends.", "strict": False}
        send["parameters"] = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
        mail: Any = {"type": "namespace", "name": "mail", "description": "Mail.", "tools": [send]}
        response = asking.ask("Write to Ann.", tools=[mail, *TOOLS], metadata={"a": "b"})
        (call,) = response.output
        assert call.type == "function_call"
        assert (call.namespace, call.name, json.loads(call.arguments)) == ("mail", "send", {"to": "Ann"})
        assert response.metadata == {"a": "b"}


class Town(BaseModel):
    name: str
    people: int


class TestRest:
    @pytest.fixture
    def model(self, name: str) -> ScriptedModel:
        return ScriptedModel([says('{"name": "Ulm", "people": 5}')] * 9, dialect=name, chunk=4)

    @pytest.fixture
    def client(self, url: str) -> Iterator[openai.OpenAI]:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            yield client

    def test_parse_and_stream(self, client: openai.OpenAI):
        with client.responses.stream(model="scripted", input="A town.") as stream:
            assert "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            assert stream.get_final_response().output_text == '{"name": "Ulm", "people": 5}'
        parsed = client.responses.parse(model="scripted", input="A town.", text_format=Town)
        assert parsed.output_parsed == Town(name="Ulm", people=5)

    def test_hosted_tools_are_left_out_with_a_notice(self, client: openai.OpenAI):
        search: Any = {"type": "web_search"}
        raw = client.responses.with_raw_response.create(model="scripted", input="Hi", tools=[search, *TOOLS])
        assert raw.headers["x-toolspeak-notice"] == "hosted tools left out: web_search"
        assert raw.parse().output_text

    @both
    def test_fields_without_effect_need_no_notice(self, client: openai.OpenAI, streamed: bool):
        raw = client.responses.with_raw_response.create(
            model="scripted", input="Hi", reasoning={"effort": "none"}, text={"verbosity": "low"}, truncation="auto",
            prompt_cache_key="k", service_tier="auto", stream=streamed,
        )  # fmt: skip
        assert "x-toolspeak-notice" not in raw.headers

    def test_what_is_refused_in_words(self, client: openai.OpenAI):
        with pytest.raises(openai.BadRequestError, match="there is no response 'resp_1': it was never kept") as refused:
            client.responses.create(model="scripted", input="Hi", previous_response_id="resp_1")
        assert (refused.value.param, refused.value.type) == ("previous_response_id", "invalid_request_error")
        with pytest.raises(openai.BadRequestError, match="background"):
            client.responses.create(model="scripted", input="Hi", background=True)
        with pytest.raises(openai.NotFoundError, match="there is no response 'resp_1': it was never kept"):
            client.responses.retrieve("resp_1")
        with pytest.raises(openai.NotFoundError, match="it was never kept"):
            client.responses.delete("resp_1")
        with pytest.raises(openai.NotFoundError, match="nothing is compacted"):
            client.responses.compact(model="scripted", input="Hi")


@both
def test_a_custom_call_that_was_cut_does_not_reach_a_client_as_complete(streamed: bool):
    answer: Any = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "apply_patch", "input": "*** Beg"}
    decoder = openai_responses.Decoder()
    pieces = decoder.feed(
        json.dumps(
            {
                "type": "response.incomplete",
                "response": {
                    "status": "incomplete",
                    "incomplete_details": {"reason": "max_output_tokens"},
                    "output": [{**answer, "status": "incomplete"}],
                },
            }
        )
    )
    with (
        gateway(serve_model(Piecewise([[*pieces, decoder.close()]]), NATIVE)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        response = Asking(client, streamed).ask("Change it.", tools=[PATCH_TOOL])
    assert response.status == "incomplete"
    assert [item.to_dict()["status"] for item in response.output] == ["incomplete"] * streamed
