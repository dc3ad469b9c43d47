"""The official SDK of Gemini's API, unmodified, on a model that knows no tools."""

from typing import Any

import pytest

from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import AccessRules
from toolspeak.testing import ScriptedModel, says

from .conversing import ANSWER, BEFORE, MADE, QUESTION, Tools, scripted
from .hosting import gateway, serve_model

genai: Any = pytest.importorskip("google.genai", reason="google-genai is not installed: pip install google-genai")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def connect_client(url: str, key: str = "none") -> Any:
    return genai.Client(api_key=key, http_options={"base_url": url})


@both
def test_the_conversation(streamed: bool):
    tools = Tools()
    with gateway(serve_model(scripted(), TYPESCRIPT)) as url, connect_client(url) as client:
        off = genai.types.AutomaticFunctionCallingConfig(disable=True)
        config = genai.types.GenerateContentConfig(
            system_instruction="Be brief.", tools=[tools.get_weather, tools.calculator], automatic_function_calling=off
        )

        def said(contents: list[Any]) -> Any:
            asks: dict[str, Any] = {"model": "scripted", "contents": contents, "config": config}
            if not streamed:
                return client.models.generate_content(**asks).candidates[0].content
            chunks = list(client.models.generate_content_stream(**asks))
            assert chunks[-1].usage_metadata.total_token_count > 0
            assert chunks[-1].candidates[0].finish_reason == "STOP"
            parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
            return genai.types.Content(role="model", parts=parts)

        first = said([QUESTION])
        calls = [part.function_call for part in first.parts if part.function_call]
        assert "".join(part.text or "" for part in first.parts) == BEFORE
        results = [
            genai.types.Part(
                function_response=genai.types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": tools.run(call.name, call.args)}
                )
            )
            for call in calls
        ]
        question = genai.types.Content(role="user", parts=[genai.types.Part(text=QUESTION)])
        last = said([question, first, genai.types.Content(role="user", parts=results)])
        assert "".join(part.text for part in last.parts) == ANSWER
    assert tools.ran == MADE


def test_functions_that_the_sdk_runs_itself():
    tools = Tools()
    with gateway(serve_model(scripted(), TYPESCRIPT)) as url, connect_client(url) as client:
        chat = client.chats.create(model="scripted", config={"tools": [tools.get_weather, tools.calculator]})
        assert chat.send_message(QUESTION).text == ANSWER
    assert tools.ran == MADE


def test_models_tokens_formats_and_errors():
    model = ScriptedModel([says("It is Cologne."), says('{"town": "Cologne"}')])
    rules = AccessRules(key="sesame")
    with gateway(serve_model(model, TYPESCRIPT), rules=rules) as url, connect_client(url, "sesame") as client:
        assert [each.name for each in client.models.list()] == ["models/scripted"]
        assert client.models.get(model="scripted").display_name == "scripted"
        assert client.models.count_tokens(model="scripted", contents="Hi").total_tokens > 0
        schema = {"type": "OBJECT", "properties": {"town": {"type": "STRING"}}, "required": ["town"]}
        config = {"response_mime_type": "application/json", "response_schema": schema}
        answer = client.models.generate_content(model="scripted", contents="Where?", config=config)
        assert answer.parsed == {"town": "Cologne"}
        with connect_client(url, "wrong") as other, pytest.raises(genai.errors.ClientError) as raised:
            other.models.generate_content(model="scripted", contents="Hi")
        assert (raised.value.code, raised.value.status) == (401, "UNAUTHENTICATED")
