"""Tools that a vendor defines by a type alone. Those that the client runs are offered to any model by their schema.

Anthropic's API has both sorts. The client runs `bash_*`, `text_editor_*`, `memory_*` and `computer_*`: the request
names only the type, since models of the vendor know the schema. The servers of the vendor run all others
(`web_search_*`, `code_execution_*`, …): no other model can have those.
"""

from collections.abc import Mapping
from typing import Any

from toolspeak.values.spec import ToolSpec
from toolspeak.wire.json_data import as_text

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
    for start, (name, description, schema) in _CLIENT_TOOLS.items():
        if kind.startswith(start):
            return ToolSpec(
                name=as_text(definition.get("name")) or name,
                description=f"{description}{_describe_screen(definition)}",
                parameters=schema,
            )
    return None


def name_vendor_tool(definition: Mapping[str, Any]) -> str:
    """Return the name of a vendor's tool, or its type if it has none. In Gemini's API its only field is its name."""
    return as_text(definition.get("name")) or as_text(definition.get("type")) or next(iter(definition), "")


def _describe_screen(definition: Mapping[str, Any]) -> str:
    width, height = definition.get("display_width_px"), definition.get("display_height_px")
    return f" The screen has {width} x {height} pixels." if isinstance(width, int) and isinstance(height, int) else ""
