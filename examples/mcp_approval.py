"""Tools of an MCP server: those that only read run at once, and somebody is asked before the others.

The server is this file, served by toolspeak over standard input and output. Another one is named by its command line in
the same way, such as "npx some-server". It needs the extra toolspeak[mcp].

$ python examples/mcp_approval.py
The model wants delete_note({'name': 'wages'}).
Allow it? [y/N] n
list_notes({}) → {'result': ['shopping', 'wages']}
delete_note({'name': 'wages'}) → not run: the user did not allow it: the user said no
There are two notes, and both are still there.
"""

import sys

from toolspeak import Agent, Model, ToolCall, mcp, tool

NOTES = {"shopping": "bread, salt", "wages": "due on Friday"}


@tool(effect="read")
def list_notes() -> list[str]:
    """List the names of all notes."""
    return list(NOTES)


def delete_note(name: str) -> str:
    """Delete a note.

    Args:
        name: The name of the note.
    """
    del NOTES[name]
    return f"{name} is deleted"


def ask(call: ToolCall) -> bool | str:
    print(f"The model wants {call.name}({call.arguments}).")
    return input("Allow it? [y/N] ").strip().lower() == "y" or "the user said no"


def main(model: str | Model | None = None) -> None:
    command = [sys.executable, "-m", "toolspeak.cli", "mcp", "serve", __file__]
    # The server is our own, so it is believed when it says which tools only read, and its tools may change.
    with mcp.tools(command, approve="writes", trust_hints=True, pinned=False) as notes:
        outcome = Agent(model, [notes], approve=ask).run(
            "List my notes, then delete the one about wages."
        )
    for call in outcome.calls:
        print(f"{call.name}({call.arguments}) → {call.error or call.output}")
    print(outcome.text)


if __name__ == "__main__":
    main()
