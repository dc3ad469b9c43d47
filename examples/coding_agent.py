"""A small coding agent: it reads and edits files in one folder, and asks before it changes a file.

The embedded model is too small for this: it answers without a look at the files. Name a larger one.

$ python examples/coding_agent.py FOLDER "Let the function in hello.py return hello." ollama:qwen3-coder
The model wants edit_file({'path': 'hello.py', 'old': "'hi'", 'new': "'hello'"}).
Allow it? [y/N] y
read_file({'path': 'hello.py'}) → def hello():
    return 'hi'

edit_file({'path': 'hello.py', 'old': "'hi'", 'new': "'hello'"}) → --- a/hello.py
+++ b/hello.py
@@ -1,2 +1,2 @@
 def hello():
-    return 'hi'
+    return 'hello'
The function returns 'hello' now.
"""

import sys
from pathlib import Path

from toolspeak import Agent, Limits, Model, ToolCall
from toolspeak.builtin.files import FileTools
from toolspeak.run import Approver

SYSTEM = "You work on the files of one folder. Read a file before you edit it."


def ask(call: ToolCall) -> bool | str:
    print(f"The model wants {call.name}({call.arguments}).")
    return input("Allow it? [y/N] ").strip().lower() == "y" or "the user said no"


def main(folder: str, task: str, model: str | Model, approve: Approver = ask) -> None:
    agent = Agent(
        model,
        tools=FileTools(Path(folder)),
        system=SYSTEM,
        approve=approve,
        limits=Limits(turns=15),
    )
    outcome = agent.run(task)
    for call in outcome.calls:
        print(f"{call.name}({call.arguments}) → {call.error or call.output}")
    print(outcome.text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
