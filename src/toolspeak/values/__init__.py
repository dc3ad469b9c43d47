"""Values: what flows through the package, and what can be said about it without running anything.

This is the lowest room: it imports nothing of toolspeak, and outside of it only the standard library. All classes are
frozen, slotted, keyword-only dataclasses, made by one decorator (`frozen.py`). Begin with `messages.py`, `events.py`
and `spec.py`: nearly everything else in the package is about these three.

    messages.py      messages and their parts, calls and their results
    origin.py        where a text came from
    mentions.py      whether a value stands in a text, compared as people mean it
    pieces.py        what an endpoint sent, before it is read
    events.py        what the pieces mean: deltas, which are only shown, and facts, of which a run is the fold
    spec.py          a tool without its function; tool definitions read from JSON
    limits.py        what a run may use, and what it has used
    outcome.py       the result of a run
    errors.py        everything that toolspeak raises, as a tree
    codec.py         messages and facts as JSON, and back
    validation.py    what does not fit a schema, in words for a model
    coercion.py      arguments brought into the form of their schema
    work_budget.py   how much work may be done with a schema or a value
    recent.py        what was made lately and may be used again, bounded in size and time
    attachments.py   images and files for messages of the user
    escaping.py      escapes for characters that are obeyed or hidden instead of shown
    address.py       addresses as they may be shown, without passwords and keys
    log.py           the log: `logging.getLogger("toolspeak")`
    package.py       the version, and names that are imported at their first use

A new event or part goes into `events.py` or `messages.py` and into its union; a new field has a default, since files
that were saved without it must still load. A new error goes into `errors.py` and into the tree in its docstring. A form
in which models send arguments goes into `coercion.py`, by the schema. A keyword of schemas goes into `validation.py` if
it decides the meaning of a call, into `gateway/answer_schema.py` in any case; one that holds schemas also into the sets
in `spec.py`.
"""
