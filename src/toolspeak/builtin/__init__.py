"""Ready-made tools: `python` (sandboxed), `files` (confined to a folder) and `shell` (asks first).

Each module holds its tools under their names, so that `discover("toolspeak.builtin.files")` finds them, and a class
that makes them anew with other settings. Classes, not functions: discovery takes a documented function for a tool.
"""
