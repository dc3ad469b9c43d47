"""Code as models write calls in it: one grammar for Python and TypeScript, since models mix them.

`plain_calls.py` reads the most frequent calls in one step. All else becomes a tree (`syntax.py`), which `statements.py`
builds with `expressions.py` and `layout.py` (lines, space, bodies). `interpreter.py` follows the tree and emits calls,
with the values, names and built-in functions of `constants.py`. Readers are composed: each holds the same `Cursor`.

To read another form of code: a node in `syntax.py`; the type checker then names every place that must handle it.
To compute more: `constants.py`. To read another form of call in one step: `plain_calls.py`, with its parts in
`tests/reading/test_plain_calls.py`, which compares it with the tree.
"""
