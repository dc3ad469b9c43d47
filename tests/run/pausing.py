"""A run that pauses, and what goes on with it in another process: `python -m tests.run.pausing FOLDER ANSWERS`."""

import json
import sys
from pathlib import Path

from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, says
from toolspeak.tools import tool
from toolspeak.values.codec import load_facts

SCRIPT = [
    says('```python\nn = count()\npay("Ann")\npay("Bob")\npay(f"{n} people")\n```'),
    says("Ann is paid."),
]


def agent(log: Path) -> Agent:
    def noted(what: str) -> None:
        with log.open("a") as file:
            file.write(f"{what}\n")

    def count() -> int:
        "How many people there are."
        noted("count")
        return 3

    @tool(approve=True)
    def pay(who: str) -> str:
        "Pay somebody."
        noted(who)
        return f"paid {who}"

    return Agent(ScriptedModel(SCRIPT), [count, pay], dialect="python")


def main(folder: Path, answers: dict[str, bool | str]) -> None:
    facts = load_facts((folder / "run.jsonl").read_text())
    outcome = agent(folder / "made.txt").resume(facts, approvals=answers)
    calls = [[each.name, each.output, each.error] for each in outcome.calls]
    print(json.dumps({"text": outcome.text, "calls": calls}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
