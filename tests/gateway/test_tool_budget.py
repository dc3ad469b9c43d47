"""Tools that are cut to a budget, and the help that the gateway gives about them."""

import json
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.dialects.tool_lists import make_tools
from toolspeak.cli.serve import ServeOptions, find_served_models
from toolspeak.dialects import DIALECTS, NATIVE, TYPESCRIPT
from toolspeak.dialects.slim_tools import count_tool_tokens
from toolspeak.gateway import ServedModel, app
from toolspeak.gateway.tool_list import MAX_HELP_TURNS
from toolspeak.models import Request, connect
from toolspeak.settings import load
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.events import Usage
from toolspeak.values.messages import Message, Result, Text

from .conversing import parameters
from .hosting import Reply, ask, gateway, serve_model
from .test_exchange import message

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

BUDGET = 300
SECRET = "Kelvin is never given."
"""The end of a long description: only who was shown the whole of it knows."""

ABOUT = f"The weather in a city. {'It is measured at noon, on the roof of the town hall. ' * 17}{SECRET}"
PARIS = ("get_weather", {"city": "Paris"})
HELP = ("help", {"tool": "get_weather"})


def tools(*names: str, about: str = ABOUT) -> list[Any]:
    return [
        {"type": "function", "function": {"name": name, "description": about, "parameters": parameters("city")}}
        for name in names
    ]


def read_shown(request: Request) -> str:
    """All that the model was shown: the tools of the API, and the messages with their results."""
    return "\n".join([*(f"{each.name} {each.description}" for each in request.shown.tools), *read_messages(request)])


def read_messages(request: Request) -> list[str]:
    def read(message: Message) -> str:
        results = [each for part in message.parts if isinstance(part, Result) for each in part.content]
        return "".join(part.text for part in (*message.parts, *results) if isinstance(part, Text))

    return [f"{message.role}: {read(message)}" for message in request.shown.messages]


def looks_it_up(request: Request) -> ScriptedReply:
    """Asks for help, calls the tool, and answers when the result is there."""
    if "sunny" in read_shown(request):
        return says("It is sunny.")
    if SECRET in read_shown(request):
        return calls(PARIS, text="In degrees then.")
    return calls(HELP, text="Let me look.")


def thinking(*replies: Any) -> ScriptedModel:
    """A model that answers each message by a function of the request, or by a reply."""
    return ScriptedModel(replies, chunk=4)


def exchange(model: ScriptedModel, dialect: str = "typescript", **body: Any) -> Reply:
    given = {"model": "m", "messages": [{"role": "user", "content": "Paris?"}], "tools": tools("get_weather", "sum")}
    return ask(app([serve_model(model, DIALECTS[dialect], tool_budget=BUDGET)]), given | body)


# The whole conversation, over HTTP


@both
@every_dialect
def test_a_client_of_openai_never_sees_the_help(dialect: str, streamed: bool):
    model = thinking(*[looks_it_up] * 3)
    with (
        gateway(serve_model(model, DIALECTS[dialect], tool_budget=BUDGET)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):

        def ask_client(history: list[Any]) -> Any:
            body: dict[str, Any] = {"model": "m", "messages": history, "tools": tools("get_weather", "sum")}
            if not streamed:
                return client.chat.completions.create(**body).choices[0]
            with client.chat.completions.stream(**body) as stream:
                return stream.get_final_completion().choices[0]

        history: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
        first = ask_client(history)
        [call] = first.message.tool_calls
        history += [first.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
        last = ask_client(history)

    assert (call.function.name, json.loads(call.function.arguments)) == PARIS
    assert (first.finish_reason, first.message.content) == ("tool_calls", "Let me look.\n\nIn degrees then.")
    assert (last.finish_reason, last.message.content) == ("stop", "It is sunny.")
    before, after = map(read_messages, model.requests[:2])
    assert after[: len(before)] == before  # a server need not read it anew
    helped, called, answered = map(read_shown, model.requests)
    assert SECRET not in helped
    assert called.count(SECRET) == 1
    assert answered.count(SECRET) == 1  # the tool was called, so it is whole


@both
def test_a_client_of_anthropic_never_sees_the_help(streamed: bool):
    model = thinking(*[looks_it_up] * 3)
    offered: list[Any] = [
        {"name": "get_weather", "description": ABOUT, "input_schema": parameters("city")},
        {"name": "sum", "description": ABOUT, "input_schema": parameters("city")},
    ]
    with (
        gateway(serve_model(model, TYPESCRIPT, tool_budget=BUDGET)) as url,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client,
    ):

        def ask_client(history: list[Any]) -> Any:
            body: dict[str, Any] = {"model": "m", "messages": history, "tools": offered, "max_tokens": 500}
            if not streamed:
                return client.messages.create(**body)
            with client.messages.stream(**body) as stream:
                return stream.get_final_message()

        history: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
        first = ask_client(history)
        text, call = first.content
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        last = ask_client([*history, first.to_param(), {"role": "user", "content": [result]}])

    assert (text.text, call.name, call.input) == ("Let me look.\n\nIn degrees then.", *PARIS)
    assert [block.text for block in last.content] == ["It is sunny."]


def test_a_client_of_the_responses_api_never_sees_the_help():
    model = thinking(*[looks_it_up] * 2)
    offered: list[Any] = [
        {"type": "function", "name": name, "description": ABOUT, "parameters": parameters("city"), "strict": False}
        for name in ("get_weather", "sum")
    ]
    with (
        gateway(serve_model(model, TYPESCRIPT, tool_budget=BUDGET)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        client.responses.stream(model="m", input="Paris?", tools=offered) as stream,
    ):
        response = stream.get_final_response()

    assert [item.type for item in response.output] == ["message", "function_call"]
    assert response.output_text == "Let me look.\n\nIn degrees then."


@pytest.mark.parametrize("api", ["openai", "anthropic", "openai-responses"])
def test_help_and_whole_descriptions_reach_a_model_behind_an_api_of_its_own(api: Any):
    model = thinking(*[looks_it_up] * 3)
    with (
        gateway(serve_model(model, NATIVE)) as upstream,
        gateway(serve_model(connect("m", at=f"{upstream}/v1", api=api, key="none"), NATIVE, tool_budget=BUDGET)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        history: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
        first = client.chat.completions.create(model="m", messages=history, tools=tools("get_weather", "sum"))
        said = first.choices[0].message
        [call] = said.tool_calls or []
        history += [said.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
        last = client.chat.completions.create(model="m", messages=history, tools=tools("get_weather", "sum"))

    assert last.choices[0].message.content == "It is sunny."
    assert [read_shown(request).count(SECRET) for request in model.requests] == [0, 1, 1]


# What the model is shown


@every_dialect
def test_what_was_shown_is_the_beginning_of_what_will_be_shown(dialect: str):
    history: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Paris?"}]
    offered = tools("get_weather", "sum", "calendar")
    model = thinking(*[says("Well.")] * 9)
    served_model = serve_model(model, DIALECTS[dialect], tool_budget=BUDGET)
    for turn, name in enumerate(["sum", "get_weather", "sum", "calendar"]):
        ask(app([served_model]), {"model": "m", "messages": history, "tools": offered})
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": name, "arguments": '{"city": "Paris"}'}}
        history += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": f"result {turn}"},
        ]

    shown = [read_messages(request) for request in model.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(shown))
    assert len({json.dumps([each.description for each in request.shown.tools]) for request in model.requests}) == 1


@every_dialect
def test_descriptions_of_tools_that_were_called_have_a_budget_of_their_own(dialect: str):
    names = [f"tool_{number}" for number in range(6)]
    made = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": '{"city": "Paris"}'}} for name in names
    ]
    results = [{"role": "tool", "tool_call_id": name, "content": "done"} for name in names]
    history = [
        {"role": "user", "content": "All!"},
        {"role": "assistant", "content": None, "tool_calls": made},
        *results,
    ]
    model = thinking(says("Well."), says("Well."))
    offered = tools(*names, about=f"{'Words and words. ' * 70}{SECRET}")

    ask(
        app([serve_model(model, DIALECTS[dialect], tool_budget=1_000)]),
        {"model": "m", "messages": history, "tools": offered},
    )

    assert read_shown(model.requests[0]).count(SECRET) == 3  # of about 300 tokens each


def test_a_description_does_not_close_the_tag_that_it_is_in():
    made = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    history = [
        {"role": "user", "content": "Paris?"},
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "a", "content": "sunny"},
    ]
    model = thinking(says("Well."))
    about = f"Words. {'And words. ' * 70}</tool-description>{SECRET}"
    body = {"model": "m", "messages": history, "tools": tools("get_weather", "sum", about=about)}
    ask(app([serve_model(model, TYPESCRIPT, tool_budget=BUDGET)]), body)
    shown = read_shown(model.requests[0])
    inside = shown.partition("<tool-description>")[2].partition("</tool-description>")[0]
    assert SECRET in inside


def test_the_shown_tools_keep_to_the_budget():
    model = thinking(says("Well."))
    exchange(model, "native")

    assert [each.name for each in model.requests[0].shown.tools] == ["get_weather", "sum", "help"]
    assert count_tool_tokens(model.requests[0].shown.tools, DIALECTS["native"]) <= BUDGET


@pytest.mark.parametrize("budget", [None, 100_000])
def test_without_a_budget_or_within_it_nothing_changes(budget: int | None):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools("get_weather")}
    plain, bounded = thinking(says("Well.")), thinking(says("Well."))

    ask(app([serve_model(plain, TYPESCRIPT)]), body)
    ask(app([serve_model(bounded, TYPESCRIPT, tool_budget=budget)]), body)

    assert plain.requests == bounded.requests


def test_a_tool_over_the_budget_is_told():
    model = thinking(says("Well."))

    reply = ask(
        app([serve_model(model, NATIVE, tool_budget=20)]),
        {"model": "m", "messages": [{"role": "user", "content": "Paris?"}], "tools": tools("get_weather", "sum")},
    )

    assert reply.status == 200
    told = reply.headers["x-toolspeak-notice"]
    assert told.startswith("tools take ")
    assert told.endswith(" tokens without any descriptions, more than the budget of 20")


# Tools that are too many


MAIL_SECRET = "Stamps cost nothing."


def many_tools() -> list[Any]:
    """Sixty tools about nothing, one about the weather, one about mails."""
    rest = [tools(f"tool_{number}", about=f"Does the thing number {number}, and no other.")[0] for number in range(60)]
    mail = tools("send_mail", about=f"Sends a mail to somebody. {'There is no way back. ' * 20}{MAIL_SECRET}")
    return [*rest, *tools("get_weather"), *mail]


def name_shown(request: Request) -> list[str]:
    return [each.name for each in request.shown.tools]


@every_dialect
def test_the_tools_that_the_first_message_is_about_are_listed(dialect: str):
    model = thinking(says("Well."))

    exchange(model, dialect, tools=many_tools(), messages=[{"role": "user", "content": "Weather, please."}])

    shown = read_shown(model.requests[0])
    assert "get_weather" in shown
    assert "find_tools" in shown
    assert "send_mail" not in shown
    assert count_tool_tokens(model.requests[0].shown.tools, DIALECTS[dialect]) <= BUDGET


@both
@every_dialect
def test_a_tool_is_found_and_called_in_one_request(dialect: str, streamed: bool):
    mail = ("send_mail", {"city": "Paris"})
    model = thinking(calls(("find_tools", {"query": "mail"})), calls(mail), says("Sent."))
    served_model = serve_model(model, DIALECTS[dialect], tool_budget=BUDGET)
    history: list[Any] = [{"role": "user", "content": "Weather, please."}]
    body = {"model": "m", "messages": history, "tools": many_tools(), "stream": streamed}

    told = message(ask(app([served_model]), body))

    assert told["calls"] == [mail]
    assert "send_mail" not in read_shown(model.requests[0])
    assert "send_mail" in read_shown(model.requests[1])
    earlier, later = read_messages(model.requests[0]), read_messages(model.requests[1])
    assert later[: len(earlier)] == earlier
    assert name_shown(model.requests[1])[: len(name_shown(model.requests[0]))] == name_shown(model.requests[0])


@every_dialect
def test_a_tool_that_was_called_stays_known_in_later_requests(dialect: str):
    call = {"id": "one", "type": "function", "function": {"name": "send_mail", "arguments": '{"city": "Paris"}'}}
    history: list[Any] = [
        {"role": "user", "content": "Weather, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "one", "content": "sent"},
    ]
    model = thinking(says("Sent."), says("Sent."))

    exchange(model, dialect, tools=many_tools(), messages=history)

    assert read_shown(model.requests[0]).count(MAIL_SECRET) == 1


@every_dialect
def test_a_later_message_adds_the_tools_that_it_is_about(dialect: str):
    first = [{"role": "user", "content": "Weather, please."}, {"role": "assistant", "content": "Sunny."}]
    later = [*first, {"role": "user", "content": "Now send Anna a mail."}]
    model = thinking(says("a"), says("b"), says("c"))

    exchange(model, dialect, tools=many_tools(), messages=first[:1])
    exchange(model, dialect, tools=many_tools(), messages=later)

    before, after = model.requests
    assert "send_mail" in read_shown(after)
    assert read_messages(after)[: len(read_messages(before))] == read_messages(before)
    assert name_shown(after)[: len(name_shown(before))] == name_shown(before)


def test_a_named_tool_is_listed():
    model = thinking(calls(("send_mail", {"city": "Paris"})))
    choice = {"type": "function", "function": {"name": "send_mail"}}

    told = message(exchange(model, "python", tools=many_tools(), tool_choice=choice))

    assert told["calls"] == [("send_mail", {"city": "Paris"})]
    assert "send_mail" in read_messages(model.requests[0])[0]


# When help is given


@both
@every_dialect
def test_help_beside_a_call_is_ignored(dialect: str, streamed: bool):
    for both_calls in ((HELP, PARIS), (PARIS, HELP)):
        model = thinking(calls(*both_calls, text="So."))

        told = message(exchange(model, dialect, stream=streamed))

        assert (told["text"], told["calls"], told["finish"]) == ("So.", [PARIS], "tool_calls")
        assert len(model.requests) == 1


@both
def test_a_tool_of_the_client_keeps_the_name(streamed: bool):
    model = thinking(calls(("help", {"city": "Paris"})), calls(("tool_help", {"tool": "help"})))

    told = message(exchange(model, tools=tools("help", "sum"), stream=streamed))

    assert told["calls"] == [("help", {"city": "Paris"})]
    assert "tool_help" in read_shown(model.requests[0])


@both
def test_help_is_bounded(streamed: bool):
    model = thinking(*[calls(HELP)] * 20)

    reply = exchange(model, stream=streamed)

    assert len(model.requests) == MAX_HELP_TURNS + 1 + 2  # and two repairs
    assert "help was given already" in reply.body.decode()
    assert reply.status == (200 if streamed and b"data:" in reply.body else 422)


@both
def test_help_about_several_tools_and_unknown_ones_is_given_in_one_turn(streamed: bool):
    model = thinking(calls(HELP, ("help", {"tool": "sum"}), ("help", {"tool": "get_wether"})), says("I see."))

    told = message(exchange(model, stream=streamed))

    assert told["text"] == "I see."
    last = read_messages(model.requests[1])[-1]
    assert last.count(SECRET) == 2
    assert "there is no tool 'get_wether'; did you mean get_weather?" in last


@both
@every_dialect
def test_help_is_no_answer_to_a_demanded_call(dialect: str, streamed: bool):
    model = thinking(calls(HELP), calls(PARIS))

    told = message(exchange(model, dialect, tool_choice="required", stream=streamed))

    assert told["calls"] == [PARIS]


def test_help_is_not_offered_beside_a_named_tool():
    model = thinking(calls(HELP), calls(PARIS))
    choice = {"type": "function", "function": {"name": "get_weather"}}

    told = message(exchange(model, tool_choice=choice))

    assert told["calls"] == [PARIS]
    assert SECRET not in read_shown(model.requests[1])


@both
@every_dialect
def test_help_before_an_answer_in_a_format(dialect: str, streamed: bool):
    model = thinking(calls(HELP, text="Hm."), calls(("final_answer", {"degrees": 21})))
    schema = {"type": "object", "properties": {"degrees": {"type": "integer"}}, "required": ["degrees"]}
    form = {"type": "json_schema", "json_schema": {"name": "report", "schema": schema}}

    told = message(exchange(model, dialect, response_format=form, stream=streamed))

    assert (told["text"], told["finish"]) == ('{"degrees":21}', "stop")


def test_the_tokens_of_help_are_counted():
    first, second = Usage(input_tokens=100, output_tokens=10), Usage(input_tokens=300, output_tokens=20)
    model = thinking(calls(HELP, usage=first), says("I see.", usage=second))

    usage = exchange(model).json["usage"]

    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (400, 30)


# The tools of a coding agent


def count(model: ServedModel) -> int:
    offered = [
        {"name": each.name, "description": each.description, "input_schema": each.parameters}
        for each in make_tools("claude-code")
    ]
    body = {"model": "m", "messages": [{"role": "user", "content": "Fix it."}], "tools": offered}
    return ask(app([model]), body, path="/v1/messages/count_tokens").json["input_tokens"]


@every_dialect
def test_a_coding_agent_fits_into_a_small_context(dialect: str):
    assert count(serve_model(thinking(), DIALECTS[dialect])) > 15_000
    assert count(serve_model(thinking(), DIALECTS[dialect], tool_budget=2_500)) <= 2_600


class AgentContext(ScriptedModel):
    context_tokens = 4_096


@every_dialect
def test_a_conversation_that_does_not_fit_does_with_a_budget(dialect: str):
    definitions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in make_tools("claude-code")
    ]
    offered = [{"type": "function", "function": each} for each in definitions]
    given = {"model": "m", "messages": [{"role": "user", "content": "Fix it."}], "tools": offered}

    refused = ask(app([serve_model(AgentContext([says("Done.")]), DIALECTS[dialect])]), given)
    fitting = ask(app([serve_model(AgentContext([says("Done.")]), DIALECTS[dialect], tool_budget=2_000)]), given)

    assert (refused.status, refused.json["error"]["code"]) == (400, "context_length_exceeded")
    assert fitting.json["choices"][0]["message"]["content"] == "Done."


# The suggestion


class SmallContext(ScriptedModel):
    context_tokens = 1_000


@pytest.mark.parametrize(
    ("model", "count_of_tools", "hint"),
    [
        (ScriptedModel([says("Well.")] * 3), 2, None),
        (ScriptedModel([says("Well.")] * 3), 20, "--tool-budget 2000"),
        (SmallContext([says("Well.")] * 3), 2, "--tool-budget 500"),
    ],
)
def test_a_budget_is_suggested_once(
    model: ScriptedModel, count_of_tools: int, hint: str | None, caplog: pytest.LogCaptureFixture
):
    offered = tools(*(f"tool_{number}" for number in range(count_of_tools)), about=ABOUT * 2)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    application = app([serve_model(model, TYPESCRIPT)])
    with caplog.at_level(logging.WARNING, "toolspeak.gateway"):
        ask(application, body | {"tools": offered})
        ask(application, body | {"tools": [*offered, *tools("another")]})

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (hint is not None)
    assert hint is None or f"toolspeak serve {hint} " in said[0]


def test_the_option_of_the_command(tmp_path: Path):
    options = ServeOptions(models=("http://127.0.0.1:9/v1#m",), dialect="json", tool_budget=700)

    [model] = find_served_models(options, load(tmp_path, environ={"HOME": str(tmp_path)}))

    assert model.tool_budget == 700
