"""Ready-made tools: `python` (sandboxed), `files` (confined to a folder) and `shell` (asks for approval).

Each module has its tools as attributes, so that `discover("toolspeak.builtin.files")` finds them, and a class that
makes them with other settings. It is a class and not a function, because discovery takes a documented function for a
tool. `_root_folder.py` keeps `files` inside its folder; `_keeper.py` ends all processes of a command of `shell`.

This room imports `tools`, `values` and `execution.sandbox`. To add a built-in tool: make a module like `shell.py`, with
a guide in `docs/guides/sandbox.md` and its class in `docs/reference/builtin.md`.
"""
