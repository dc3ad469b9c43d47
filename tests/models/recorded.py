"""Streams as servers send them, and what each of their beginnings tells: the yardstick for every cut."""

import json
from typing import Any

from toolspeak.values.frozen import frozen

from .server import Api


def events(*data: dict[str, Any] | str) -> bytes:
    """As most servers write: UTF-8 that is not escaped, the name of the event where it has one."""
    return "".join(
        (f"event: {each['type']}\n" if isinstance(each, dict) and "type" in each else "")
        + f"data: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, separators=(',', ':'))}\n\n"
        for each in data
    ).encode()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    called = {"index": index, **({"id": f"c{index}"} if more else {}), "function": {**more, "arguments": arguments}}
    return delta(tool_calls=[called])


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def more(index: int, sort: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": sort, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str) -> tuple[dict[str, Any], ...]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}, {
        "type": "message_stop"
    }


def item(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}


def grows(index: int, sort: str, text: str) -> dict[str, Any]:
    return {"type": f"response.{sort}.delta", "output_index": index, "delta": text}


def candidate(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}]}


STOPPED = candidate(finishReason="STOP") | {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7}}
CALLS_NOTE = {"functionCall": {"id": "c0", "name": "note", "args": {"text": "Köln"}}}
CALLS_LOOK = {"functionCall": {"id": "c1", "name": "look", "args": {"city": "Wien"}}}


COMPLETED = {
    "type": "response.completed",
    "response": {"status": "completed", "output": [], "usage": {"input_tokens": 5, "output_tokens": 7}},
}
NOTE = {"type": "function_call", "call_id": "c0", "name": "note"}
LOOK = {"type": "function_call", "call_id": "c1", "name": "look"}
BEGINS = {"type": "message_start", "message": {"usage": {"input_tokens": 5}}}
TOOK = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}

RECORDED: dict[Api, dict[str, bytes]] = {
    "openai": {
        "text": events(
            delta(role="assistant", content=""),
            delta(content="Grüße aus "),
            delta(content="Köln 👋🏽 – "),
            delta(content="日本語."),
            delta("stop"),
            TOOK,
            "[DONE]",
        ),
        "calls": events(
            delta(role="assistant", content="Ich sehe "),
            delta(content="nach."),
            piece(0, "", name="note"),
            piece(0, '{"text":"Kö'),
            piece(1, "", name="look"),
            piece(1, '{"city":'),
            piece(0, 'ln"}'),
            piece(1, '"Wien"}'),
            delta("tool_calls"),
            "[DONE]",
        ),
        "thinking": events(
            delta(reasoning_content="Mal "),
            delta(reasoning_content="sehen …"),
            delta(content="Gut."),
            piece(0, '{"text":"x"}', name="note"),
            delta("tool_calls"),
            "[DONE]",
        ),
    },
    "anthropic": {
        "text": events(
            BEGINS,
            block(0, type="text", text=""),
            more(0, "text_delta", text="Grüße aus "),
            more(0, "text_delta", text="Köln 👋🏽"),
            stop(0),
            *ends("end_turn"),
        ),
        "calls": events(
            BEGINS,
            block(0, type="text", text=""),
            more(0, "text_delta", text="Ich sehe nach."),
            stop(0),
            block(1, type="tool_use", id="c0", name="note", input={}),
            more(1, "input_json_delta", partial_json='{"text":"Kö'),
            block(2, type="tool_use", id="c1", name="look", input={}),
            more(2, "input_json_delta", partial_json='{"city":"Wien"}'),
            more(1, "input_json_delta", partial_json='ln"}'),
            stop(1),
            stop(2),
            *ends("tool_use"),
        ),
        "thinking": events(
            BEGINS,
            block(0, type="thinking", thinking=""),
            more(0, "thinking_delta", thinking="Mal sehen …"),
            more(0, "signature_delta", signature="c2ln"),
            stop(0),
            block(1, type="tool_use", id="c0", name="note", input={}),
            more(1, "input_json_delta", partial_json='{"text":"x"}'),
            stop(1),
            *ends("tool_use"),
        ),
    },
    "openai-responses": {
        "text": events(
            {"type": "response.created", "response": {"status": "in_progress"}},
            item("added", 0, type="message", id="m", content=[]),
            grows(0, "output_text", "Grüße aus "),
            grows(0, "output_text", "Köln 👋🏽"),
            COMPLETED,
        ),
        "calls": events(
            item("added", 0, type="message", id="m", content=[]),
            grows(0, "output_text", "Ich sehe nach."),
            item("added", 1, **NOTE, arguments=""),
            grows(1, "function_call_arguments", '{"text":"Kö'),
            item("added", 2, **LOOK, arguments=""),
            grows(2, "function_call_arguments", '{"city":"Wien"}'),
            grows(1, "function_call_arguments", 'ln"}'),
            item("done", 2, **LOOK, arguments='{"city":"Wien"}'),
            item("done", 1, **NOTE, arguments='{"text":"Köln"}'),
            COMPLETED,
        ),
        "thinking": events(
            item("added", 0, type="reasoning", id="r", summary=[]),
            grows(0, "reasoning_summary_text", "Mal "),
            grows(0, "reasoning_summary_text", "sehen …"),
            item("done", 0, type="reasoning", id="r", summary=[], encrypted_content="c2ln"),
            item("added", 1, **NOTE, arguments=""),
            grows(1, "function_call_arguments", '{"text":"x"}'),
            COMPLETED,
        ),
    },
    "gemini": {
        "text": events(candidate(), candidate({"text": "Grüße aus "}), candidate({"text": "Köln 👋🏽"}), STOPPED),
        "calls": events(candidate({"text": "Ich sehe nach."}), candidate(CALLS_NOTE), candidate(CALLS_LOOK), STOPPED),
        "thinking": events(
            candidate({"text": "Mal sehen …", "thought": True}),
            candidate(
                {"functionCall": {"id": "c0", "name": "note", "args": {"text": "x"}}, "thoughtSignature": "c2ln"}
            ),
            STOPPED,
        ),
    },
}

STREAMS = [(api, name) for api, by_name in RECORDED.items() for name in by_name]


@frozen
class Told:
    """What a beginning of a stream tells."""

    text: str
    thinking: str
    arguments: dict[int, str]
    ended: bool

    @property
    def begun(self) -> bool:
        return bool(self.text or self.thinking or self.arguments)


def read_simply(api: Api, data: bytes) -> Told:
    """Read as simply as can be: a line that is whole JSON counts, any other does not."""
    text = thinking = ""
    arguments: dict[int, str] = {}
    ended = False
    for line in data.decode("utf-8", "replace").split("\n"):
        said = line.removeprefix("data: ")
        if said == "[DONE]":
            ended = True
        try:
            event = json.loads(said)
        except ValueError:
            continue
        if api == "gemini":
            (said_now,) = event["candidates"]
            for part in said_now["content"]["parts"]:
                if "functionCall" in part:
                    written = json.dumps(part["functionCall"]["args"], ensure_ascii=False, separators=(",", ":"))
                    arguments[len(arguments)] = written
                elif "thought" in part:
                    thinking += part["text"]
                else:
                    text += part["text"]
            ended = ended or "finishReason" in said_now
            continue
        fields = (event.get("choices") or [{}])[0] if api == "openai" else event
        change = fields.get("delta", {})
        if api == "openai-responses":
            ended = ended or event["type"] == COMPLETED["type"]
            if event.get("item", {}).get("type") == "function_call":
                arguments.setdefault(event["output_index"], "")
            if "arguments" in event["type"]:
                arguments[event["output_index"]] += change
                continue
            change = {"thinking" if "reasoning" in event["type"] else "text": change} if change else {}
        text += change.get("content") or change.get("text") or ""
        thinking += change.get("reasoning_content") or change.get("thinking") or ""
        for call in change.get("tool_calls", ()):
            arguments[call["index"]] = arguments.get(call["index"], "") + call["function"]["arguments"]
        if fields.get("content_block", {}).get("type") == "tool_use":
            arguments[fields["index"]] = ""
        if "partial_json" in change:
            arguments[fields["index"]] += change["partial_json"]
        ended = ended or bool(fields.get("finish_reason") or change.get("stop_reason"))
    return Told(text=text, thinking=thinking, arguments=arguments, ended=ended)


DONE = {
    "openai": events(delta(content="Fertig."), delta("stop"), "[DONE]"),
    "anthropic": events(BEGINS, block(0, type="text", text="Fertig."), stop(0), *ends("end_turn")),
    "openai-responses": events(
        item("done", 0, type="message", content=[{"type": "output_text", "text": "Fertig."}]), COMPLETED
    ),
    "gemini": events(candidate({"text": "Fertig."}), STOPPED),
}
"""The answer after the calls."""
