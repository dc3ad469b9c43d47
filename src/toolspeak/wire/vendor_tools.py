"""Tools that a vendor defines by a type alone. Those that the client runs are offered to any model by their schema.

Anthropic's API has both sorts. The client runs `bash_*`, `text_editor_*`, `memory_*` and `computer_*`: the request
names only the type, since models of the vendor know the schema. The servers of the vendor run all others
(`web_search_*`, `code_execution_*`, …): no other model can have those.

In OpenAI's responses API the client runs `local_shell`, `apply_patch`, and `shell` unless that is in a container of the
vendor. Each is offered as a tool that takes one raw text (`RAW_TOOLS`). The tools for commands are not called `shell`:
a block with that label in an answer is an example for the user more often than a call.
"""

import re
from collections.abc import Mapping
from typing import Any

from toolspeak.values.frozen import frozen
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.json_data import as_list, as_object, as_text

SHELL, LOCAL_SHELL, APPLY_PATCH = "shell", "local_shell", "apply_patch"
"""The types of the tools of OpenAI's responses API that the client runs."""

MEDIA_TYPE = "contentMediaType"
"""The keyword of a schema with the sort of a raw text. Custom tools of clients do not have it."""


@frozen
class RawTool:
    """A tool that takes one raw text: its name, what it does, the parameter with the text, and the sort of the text."""

    name: str
    description: str
    parameter: str = "command"
    media_type: str = "text/x-shellscript"


_RUN = "Run a command in a shell on the computer of the user. The result is what it prints"

RAW_TOOLS: Mapping[str, RawTool] = {
    SHELL: RawTool(name="run_shell", description=f"{_RUN}."),
    LOCAL_SHELL: RawTool(name="run_local_shell", description=f"{_RUN}. Each command runs in a new shell."),
    APPLY_PATCH: RawTool(
        name="apply_patch",
        description="""Create, change and delete files by a patch of this form:

*** Begin Patch
*** Add File: notes/new.txt
+the first line of a new file
*** Update File: src/old.py
@@ def greet():
 a line that stays, for context
-a line to remove
+a line to put in its place
*** Delete File: old.txt
*** End Patch

Paths are relative. In a new file every line begins with +. In a change, show three lines around what changes.""",
        parameter="patch",
        media_type="text/x-patch",
    ),
}
"""The tools of OpenAI's responses API that the client runs, by their types."""


# Patches: a part for each file, which begins with a line that says what is done with which file.

_BEGIN_PATCH, _END_PATCH = "*** Begin Patch", "*** End Patch"
_PATCH_HEADS: Mapping[str, str] = {
    "create_file": "*** Add File: ",
    "update_file": "*** Update File: ",
    "delete_file": "*** Delete File: ",
}
_PATCH_HEAD = re.compile(r"^\*\*\* (Add|Update|Delete) File: ?([^\n]*)\n?", re.MULTILINE)
_OPERATIONS: Mapping[str, str] = {"Add": "create_file", "Update": "update_file", "Delete": "delete_file"}


def split_patch(text: str) -> list[dict[str, Any]]:
    """Return the operations of a patch, one for each file."""
    text = text.strip("\n").removeprefix(_BEGIN_PATCH).removesuffix(_END_PATCH)
    heads = list(_PATCH_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    operations: list[dict[str, Any]] = []
    for head, end in zip(heads, ends, strict=False):
        operation = {"type": _OPERATIONS[head[1]], "path": head[2].strip()}
        is_deleted = operation["type"] == "delete_file"
        operations.append(operation if is_deleted else {**operation, "diff": text[head.end() : end].rstrip("\n")})
    return operations


def join_patch(kind: str, path: str, diff: str) -> str | None:
    """Return the patch of one operation; None if there is no such operation."""
    if kind not in _PATCH_HEADS:
        return None
    return "\n".join(filter(None, (_BEGIN_PATCH, f"{_PATCH_HEADS[kind]}{path}", diff.rstrip("\n"), _END_PATCH)))


def _find_patch_fault(text: str) -> str:
    operations = split_patch(text)
    if not operations:
        return f"a patch needs a line such as {_PATCH_HEADS['update_file']}PATH for each file, and has none"
    for operation in operations:
        path, diff = operation["path"], operation.get("diff", "")
        if not path:
            return "a line that names a file has no path"
        if operation["type"] == "create_file" and any(not line.startswith("+") for line in diff.split("\n") if diff):
            return f"in {path}, which is new, every line must begin with +"
        if diff.startswith("*** Move to:"):
            return f"{path} cannot be moved; delete it and add another file"
    return ""


def find_text_fault(tool: ToolSpec, text: str) -> str:
    """Return what is wrong with the raw text of a call for the client, in words for the model; empty if nothing is."""
    return _find_patch_fault(text) if get_text_form(tool) == APPLY_PATCH else ""


def get_text_form(tool: ToolSpec) -> str:
    """Return the type of `RAW_TOOLS` that a tool stands for; empty for all other tools."""
    if not tool.raw or MEDIA_TYPE not in tool.parameters["properties"][tool.raw]:
        return ""
    return next((kind for kind, known in RAW_TOOLS.items() if known.name == tool.name), "")


_PATH = {"type": "string", "description": "The absolute path of the file or folder."}
_EDITS: dict[str, Any] = {
    "path": _PATH,
    "file_text": {"type": "string", "description": "For create: the content of the file."},
    "old_str": {"type": "string", "description": "For str_replace: the text to replace, which must occur once."},
    "new_str": {"type": "string", "description": "For str_replace: the new text."},
    "insert_line": {"type": "integer", "description": "For insert: the line after which to insert; 0 for the top."},
    "insert_text": {"type": "string", "description": "For insert: the text to insert."},
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "description": "For view: the first and the last line to show, from 1; -1 for the end of the file.",
    },
}

_POINT = {"type": "array", "items": {"type": "integer"}, "description": "x and y in pixels from the top left."}
_ACTIONS = (
    "screenshot left_click right_click middle_click double_click triple_click left_click_drag mouse_move type key "
    "hold_key scroll wait cursor_position left_mouse_down left_mouse_up zoom"
).split()


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _command(*commands: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(commands), "description": "What to do."}


_CLIENT_TOOLS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "bash_": (
        "bash",
        "Run a command in a bash session that stays open between calls.",
        _schema(
            {
                "command": {"type": "string", "description": "The command to run."},
                "restart": {"type": "boolean", "description": "Whether to restart the session instead."},
            }
        ),
    ),
    "text_editor_": (
        "str_replace_based_edit_tool",
        "View, create and edit text files.",
        _schema({"command": _command("view", "create", "str_replace", "insert"), **_EDITS}, "command", "path"),
    ),
    "memory_": (
        "memory",
        "View, create, edit, rename and delete files in the folder /memories, which stays between conversations.",
        _schema(
            {
                "command": _command("view", "create", "str_replace", "insert", "delete", "rename"),
                **_EDITS,
                "old_path": {"type": "string", "description": "For rename: the path now."},
                "new_path": {"type": "string", "description": "For rename: the path afterwards."},
            },
            "command",
        ),
    ),
    "computer_2": (  # `computer_toolset_*` is another tool
        "computer",
        "Use the mouse, the keyboard and the screen of a computer. The result of a screenshot is an image.",
        _schema(
            {
                "action": {"type": "string", "enum": _ACTIONS, "description": "What to do."},
                "coordinate": _POINT,
                "start_coordinate": {**_POINT, "description": "For left_click_drag: where to begin."},
                "text": {"type": "string", "description": "The text to type, or the keys to press."},
                "duration": {"type": "number", "description": "For wait and hold_key: seconds."},
                "scroll_direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
                "scroll_amount": {"type": "integer"},
                "region": {**_POINT, "description": "For zoom: x and y of two corners."},
            },
            "action",
        ),
    ),
}
"""The tools that the client runs, by the beginning of their type: their usual name, description and schema."""


def read_client_tool(definition: Mapping[str, Any]) -> ToolSpec | None:
    """Return the tool that a vendor's definition stands for, if the client runs it; None for a tool of its servers."""
    kind = as_text(definition.get("type"))
    if kind in RAW_TOOLS:
        return _read_raw_tool(kind, as_object(definition.get("environment")))
    for start, (name, description, schema) in _CLIENT_TOOLS.items():
        if kind.startswith(start):
            return ToolSpec(
                name=as_text(definition.get("name")) or name,
                description=f"{description}{_describe_screen(definition)}",
                parameters=schema,
            )
    return None


def _read_raw_tool(kind: str, environment: Mapping[str, Any]) -> ToolSpec | None:
    if environment.get("type", "local") != "local":
        return None  # a container of the vendor
    tool = RAW_TOOLS[kind]
    skills = [as_object(skill) for skill in as_list(environment.get("skills"))]
    lines = [
        f"- {as_text(skill.get('name'))} ({as_text(skill.get('path'))}): {as_text(skill.get('description'))}"
        for skill in skills
    ]
    shown = "\n".join(("\n\nFolders with instructions and programs for some tasks:", *lines)) if lines else ""
    schema = {"type": "string", MEDIA_TYPE: tool.media_type}
    return ToolSpec(
        name=tool.name,
        description=f"{tool.description}{shown}",
        parameters=_schema({tool.parameter: schema}, tool.parameter),
        raw=tool.parameter,
        origin=Origin.FOREIGN_DESCRIPTION if skills else Origin.PROGRAM,
    )


def name_vendor_tool(definition: Mapping[str, Any]) -> str:
    """Return the name of a vendor's tool, or its type if it has none. In Gemini's API its only field is its name."""
    return as_text(definition.get("name")) or as_text(definition.get("type")) or next(iter(definition), "")


def _describe_screen(definition: Mapping[str, Any]) -> str:
    width, height = definition.get("display_width_px"), definition.get("display_height_px")
    return f" The screen has {width} x {height} pixels." if isinstance(width, int) and isinstance(height, int) else ""
