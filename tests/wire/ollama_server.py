"""The server side of Ollama's API, as its documentation describes it. Only tests have one."""

import base64
import json
from collections.abc import Iterable
from typing import Any

from toolspeak.values.events import FinishReason, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Part, Result, Text, Thinking, ToolCall


def read_messages(body: dict[str, Any]) -> list[Message]:
    """The conversation of a request. Results follow their calls, each with the name of its tool."""
    read: list[Message] = []
    for message in body["messages"]:
        match message["role"]:
            case "tool":
                made = {call.id: call.name for each in read for call in each.calls}
                assert made[message["tool_call_id"]] == message["tool_name"]
                result = Result(call_id=message["tool_call_id"], content=(Text(text=message["content"]),))
                if read[-1].role == "tool":
                    read[-1] = Message(role="tool", parts=(*read[-1].parts, result))
                else:
                    read.append(Message(role="tool", parts=(result,)))
            case "assistant":
                read.append(Message(role="assistant", parts=tuple(_assistant_parts(message))))
            case role:
                texts = [Text(text=message["content"])] if message["content"] else []
                images = [Media(mime="image/png", data=base64.b64decode(each)) for each in message.get("images", ())]
                read.append(Message(role=role, parts=(*texts, *images)))
    return read


def _assistant_parts(message: dict[str, Any]) -> Iterable[Part]:
    if thinking := message.get("thinking"):
        yield Thinking(text=thinking, extra=Extra(vendor="ollama", data={"field": "thinking"}))
    if message["content"]:
        yield Text(text=message["content"])
    for call in message.get("tool_calls", ()):
        function = call["function"]
        assert isinstance(function["arguments"], dict)
        yield Call(call=ToolCall(id=call["id"], name=function["name"], arguments=function["arguments"]))


def write_answer(message: Message, finish: FinishReason, usage: Usage) -> dict[str, Any]:
    """A whole answer."""
    fields: dict[str, Any] = {"role": "assistant", "content": message.text}
    for part in message.parts:
        if isinstance(part, Thinking):
            fields["thinking"] = part.text
        elif isinstance(part, Call):
            function = {"name": part.call.name, "arguments": part.call.arguments}
            fields.setdefault("tool_calls", []).append({"id": part.call.id, "function": function})
    return {"model": "m", "message": fields, **_end(finish, usage)}


def write_stream(message: Message, finish: FinishReason, usage: Usage, size: int) -> bytes:
    """A streamed answer: texts in pieces of `size` characters, calls whole."""
    lines: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text | Thinking):
            field = "content" if isinstance(part, Text) else "thinking"
            cuts = range(0, len(part.text), size)
            lines += [{"message": {"role": "assistant", field: part.text[at : at + size]}} for at in cuts]
        elif isinstance(part, Call):
            function = {"name": part.call.name, "arguments": part.call.arguments}
            lines.append({"message": {"content": "", "tool_calls": [{"id": part.call.id, "function": function}]}})
    lines = [{"model": "m", **line, "done": False} for line in lines]
    lines.append({"model": "m", "message": {"role": "assistant", "content": ""}, **_end(finish, usage)})
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def _end(finish: FinishReason, usage: Usage) -> dict[str, Any]:
    reason = "length" if finish == "length" else "stop"
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {"done": True, "done_reason": reason, **counts}
