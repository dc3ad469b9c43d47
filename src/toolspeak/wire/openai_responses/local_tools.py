"""Tools that the vendor defines and the client runs: `shell`, `local_shell` and `apply_patch`.

A request names only their types. Other models are offered each as a tool that takes one raw text (`vendor_tools.py`): a
command, or a patch. The client expects items of their own for the calls, and sends such items back with the results:

    shell_call         commands                   shell_call_output         what each command printed, and how it ended
    local_shell_call   one command as its words   local_shell_call_output   a text
    apply_patch_call   one operation on a file    apply_patch_call_output   a text, and whether it worked

An item of a patch changes one file. A patch of a model may change several, and becomes as many items.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from toolspeak.values.messages import Call, Result, Text, ToolCall
from toolspeak.wire.fields import FieldError, Fields
from toolspeak.wire.json_data import as_list, as_object, as_text, build_extra
from toolspeak.wire.openai_responses.names import VENDOR
from toolspeak.wire.vendor_tools import APPLY_PATCH, LOCAL_SHELL, RAW_TOOLS, SHELL, join_patch, split_patch

CALL_ITEMS: Mapping[str, str] = {"shell_call": SHELL, "local_shell_call": LOCAL_SHELL, "apply_patch_call": APPLY_PATCH}
"""The types of the items of calls, and those of the tools."""

OUTPUT_ITEMS: frozenset[str] = frozenset(f"{item}_output" for item in CALL_ITEMS)
"""The types of the items of results."""

ITEM_TYPES: Mapping[str, str] = {tool: item for item, tool in CALL_ITEMS.items()}

ID_PREFIXES: Mapping[str, str] = {"shell_call": "sh", "local_shell_call": "lsh", "apply_patch_call": "apc"}
"""The beginning of the ids of items, by their types."""

_SHELLS = re.compile(r"(?:.*/)?(?:ba|z|da|)sh")
_SHELL_OPTIONS = ("-c", "-lc", "-cl")


def build_actions(tool: str, call: ToolCall) -> list[dict[str, Any]]:
    """Return what the items of a call hold besides type, ids and status; more than one for a patch of several files."""
    text = as_text(call.arguments.get(RAW_TOOLS[tool].parameter))
    match tool:
        case "shell":
            action = {"commands": [text], "timeout_ms": None, "max_output_length": None}
            return [{"action": action, "environment": {"type": "local"}}]
        case "local_shell":
            return [{"action": {"type": "exec", "command": ["bash", "-lc", text], "env": {}}}]
        case _:
            return [{"operation": operation} for operation in split_patch(text)]


def read_call(item: Fields) -> Call:
    """Read the item of a call. It is kept whole, for servers of the vendor."""
    kind = item.text("type")
    tool = RAW_TOOLS[CALL_ITEMS[kind]]
    match kind:
        case "shell_call":
            text = "\n".join(item.object("action").texts("commands", maximum=1_000))
        case "local_shell_call":
            text = _join_words(item.object("action").texts("command", maximum=10_000))
        case _:
            operation = item.object("operation")
            text = join_patch(operation.text("type"), operation.text("path"), operation.optional_text("diff"))
            if text is None:
                raise operation.error("type", "is none of create_file, update_file, delete_file")
    call = ToolCall(id=item.text("call_id"), name=tool.name, arguments={tool.parameter: text})
    return Call(call=call, extra=build_extra(VENDOR, item.data))


def _join_words(words: tuple[str, ...]) -> str:
    """Return the words of a command as a text for a shell. A text that a shell is given stays as it is."""
    if len(words) == 3 and _SHELLS.fullmatch(words[0]) and words[1] in _SHELL_OPTIONS:
        return words[2]
    return shlex.join(words)


def read_result(item: Fields) -> Result:
    """Read the item of a result. It is kept whole, for servers of the vendor."""
    # A client of `local_shell` writes the id of the call under either name.
    call_id = item.optional_text("call_id") or item.optional_text("id")
    if not call_id:
        raise FieldError(item.path_of("call_id"), "is missing", "missing_required_parameter")
    if item.text("type") == "shell_call_output":
        outputs = [as_object(each) for each in as_list(item.value("output"))]
        text = "\n".join(map(_describe_output, outputs))
    else:
        text = item.optional_text("output") or item.optional_text("status") or "done"
    failed = item.value("status") == "failed"
    return Result(call_id=call_id, content=(Text(text=text),), is_error=failed, extra=build_extra(VENDOR, item.data))


def _describe_output(output: Mapping[str, Any]) -> str:
    """Return what one command printed, and how it ended unless it ended well."""
    outcome = as_object(output.get("outcome"))
    ending = ""
    if outcome.get("type") == "timeout":
        ending = "(it took too long and was ended)"
    elif outcome.get("exit_code") not in (None, 0):
        ending = f"(exit code {outcome['exit_code']})"
    texts = (as_text(output.get("stdout")), as_text(output.get("stderr")), ending)
    return "\n".join(text.rstrip("\n") for text in texts if text) or "(it printed nothing)"
