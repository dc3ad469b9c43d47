"""The items of an answer, as a server writes them."""

from collections.abc import Mapping
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.messages import Call, Extra, Message, Opaque, Part, Text, Thinking, ToolCall
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import as_list, as_object, as_text, encode_arguments
from toolspeak.wire.openai_responses.names import CUSTOM_CALL, FUNCTION_CALL, VENDOR, is_custom, split_namespace

ID_PREFIXES = {"message": "msg", "reasoning": "rs", FUNCTION_CALL: "fc", CUSTOM_CALL: "ctc"}
"""The beginning of the ids of items, by their types."""


@frozen
class CallForm:
    """How a client has offered a tool, and so how a call of that tool is written.

    Attributes:
        name: The name of the tool within its namespace.
        namespace: The namespace; empty if there is none.
        is_custom: Whether the tool takes one raw text instead of JSON.
    """

    name: str
    namespace: str = ""
    is_custom: bool = False

    @property
    def kind(self) -> str:
        """The type of the item of a call."""
        return CUSTOM_CALL if self.is_custom else FUNCTION_CALL

    @property
    def text_field(self) -> str:
        """The field of the item with the raw text or the JSON of the arguments."""
        return "input" if self.is_custom else "arguments"

    def encode_arguments(self, call: ToolCall) -> str:
        """Return the arguments of a call as the text that the client expects."""
        return as_text(call.arguments.get(CUSTOM_PARAMETER)) if self.is_custom else encode_arguments(call.arguments)

    def build_item(self, item_id: str, call_id: str, text: str, status: str) -> dict[str, Any]:
        """Return the item of a call."""
        item: dict[str, Any] = {"type": self.kind, "id": item_id, "call_id": call_id, "name": self.name}
        item |= {"namespace": self.namespace} if self.namespace else {}
        return {**item, self.text_field: text, "status": status}


def find_call_forms(request: ChatRequest | None) -> dict[str, CallForm]:
    """Return how each tool of a request was offered, by the name that models are shown."""
    if request is None:
        return {}
    namespaces = {name: each.name for each in request.namespaces for name in each.tools}
    forms: dict[str, CallForm] = {}
    for spec in request.tools:
        namespace = namespaces.get(spec.name, "")
        name = split_namespace(namespace, spec.name)
        forms[spec.name] = CallForm(name=name, namespace=namespace, is_custom=is_custom(spec))
    return forms


def text_content(text: str) -> dict[str, Any]:
    """Return the content of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def message_item(item_id: str, content: list[dict[str, Any]], status: str) -> dict[str, Any]:
    """Return the item of a message."""
    return {"type": "message", "id": item_id, "role": "assistant", "status": status, "content": content}


def reasoning_item(item_id: str, texts: list[str], *, summarizes: bool) -> dict[str, Any]:
    """Return the item of reasoning, as a summary if the client has asked for one."""
    parts = [{"type": "summary_text" if summarizes else "reasoning_text", "text": text} for text in texts]
    item: dict[str, Any] = {"type": "reasoning", "id": item_id}
    return {**item, "summary": parts} if summarizes else {**item, "summary": [], "content": parts}


class ItemBuilder:
    """Builds the items of a whole answer out of its message.

    Args:
        answer_id: What the ids of items have in common.
        forms: How the tools were offered.
        summarizes: Whether reasoning is written as a summary.
    """

    def __init__(self, answer_id: str, forms: Mapping[str, CallForm], *, summarizes: bool) -> None:
        self._answer_id = answer_id
        self._forms = forms
        self._summarizes = summarizes

    def build(self, message: Message, status: str) -> list[dict[str, Any]]:
        """Return the items of a message. `status` is that of its last item."""
        items: list[dict[str, Any]] = []
        for part in message.parts:
            self._add(items, part)
        if items and "status" in items[-1]:
            items[-1]["status"] = status
        return items

    def build_id(self, kind: str, index: int) -> str:
        """Return the id of an item."""
        return f"{ID_PREFIXES[kind]}_{self._answer_id}_{index}"

    def find_form(self, name: str) -> CallForm:
        """Return how a tool was offered."""
        return self._forms.get(name) or CallForm(name=name)

    def _add(self, items: list[dict[str, Any]], part: Part) -> None:
        index = len(items)
        match part:
            case Text(text=text) if text:
                self._add_text(items, part)
            case Thinking(text=text, extra=extra):
                item = reasoning_item(
                    self.build_id("reasoning", index), [text] if text else [], summarizes=self._summarizes
                )
                items.append(item | vendor_data(extra))
            case Call(call=call, extra=extra):
                form = self.find_form(call.name)
                item_id = as_text(vendor_data(extra).get("id")) or self.build_id(form.kind, index)
                items.append(form.build_item(item_id, call.id, form.encode_arguments(call), "completed"))
            case Opaque(data=data) if part.vendor == VENDOR:
                items.append(as_object(data))
            case _:
                pass

    def _add_text(self, items: list[dict[str, Any]], part: Text) -> None:
        data = vendor_data(part.extra)
        if data.get("refusal") is True:
            content: dict[str, Any] = {"type": "refusal", "refusal": part.text}
        else:
            content = {**text_content(part.text), "annotations": as_list(data.get("annotations"))}
        item_id = as_text(data.get("id"))
        if items and item_id and items[-1].get("id") == item_id:
            items[-1]["content"].append(content)
            return
        own = {key: value for key, value in data.items() if key not in ("refusal", "annotations")}
        items.append(message_item(self.build_id("message", len(items)), [content], "completed") | own)


def vendor_data(extra: Extra | None) -> dict[str, Any]:
    """Return the data of this API on a part."""
    return as_object(extra.data) if extra is not None and extra.vendor == VENDOR else {}
