"""Ready-made tools: `python` (sandboxed), `files` (confined to a folder) and `shell` (asks for approval).

Each module has its tools as attributes, so that `discover("toolspeak.builtin.files")` finds them, and a class that
makes them with other settings. It is a class and not a function, because discovery takes a documented function for a
tool.
"""
