"""A set of chosen runs, saved for later: as a suite of questions, or as a test that plays them again.

The suite asks any model again for the first message of each run, and expects the calls that were made then; see
`toolspeak eval`. The test has the facts of each run beside it: they play the model and the tools (`replay`), so it
needs no network and no key, and tells when the loop or the reading has changed. With your own functions in `TOOLS` it
tells when those have. Keys are removed from both.
"""

import io
import json
import pprint
import zipfile
from collections import Counter
from collections.abc import Sequence
from functools import reduce as fold
from typing import Any, Literal

from toolspeak.loop import initial_state, reduce
from toolspeak.models.cassettes.redaction import collect_environment_secrets
from toolspeak.page.document import RunDocument
from toolspeak.page.redaction import redact_document
from toolspeak.page.saved_run import find_start, name_saved, write_question
from toolspeak.run.run import build_outcome
from toolspeak.values import codec
from toolspeak.values.errors import UsageError

FOLDER = "saved_runs"

TEST = '''"""Runs that were saved from the page of toolspeak: played again, they must end as they did."""

from pathlib import Path
from typing import Any

import pytest

from toolspeak.run import Agent
from toolspeak.testing import replay

FOLDER = Path(__file__).with_name({folder!r})

TOOLS: list[Any] = {tools}

EXPECTED: dict[str, dict[str, Any]] = {expected}


@pytest.mark.parametrize("name", EXPECTED)
def test_saved_run(name: str) -> None:
    recorded, expected = replay(FOLDER / f"{{name}}.jsonl"), EXPECTED[name]
    agent = Agent(recorded.model, tools=TOOLS or recorded.tools, system=expected["system"])
    outcome = agent.run(recorded.prompt, messages=recorded.messages)
    assert [call.name for call in outcome.calls] == expected["calls"]
    assert outcome.stop_reason == expected["stop_reason"]
    assert outcome.text == expected["text"]
'''


class SavedSet:
    """Chosen runs on their way into one file.

    Attributes:
        left_out: The runs that could not be part of it: their titles, and why.
    """

    def __init__(self, form: Literal["suite", "test"], targets: Sequence[str] = ()) -> None:
        """Begin a set. `targets` say where the tools of a test come from, as the command line named it."""
        self.left_out: list[tuple[str, str]] = []
        self._form = form
        self._targets = targets
        self._names: Counter[str] = Counter()
        self._questions: list[dict[str, Any]] = []
        self._recordings: dict[str, str] = {}
        self._expected: dict[str, dict[str, Any]] = {}

    @property
    def count(self) -> int:
        """How many runs are part of it."""
        return len(self._questions) + len(self._recordings)

    def leave_out(self, title: str, why: str) -> None:
        """Note that a run is not part of the set."""
        self.left_out.append((title, why))

    def add(self, document: RunDocument) -> None:
        """Add a run; raise `UsageError` if it cannot be saved in this form."""
        document = redact_document(document, collect_environment_secrets(), ())
        if self._form == "suite":
            question: dict[str, Any] = json.loads(write_question(document))
            self._questions.append(question | {"id": self._make_name(document, "-"), "category": "saved"})
        else:
            self._add_recording(document)

    def _add_recording(self, document: RunDocument) -> None:
        started = find_start(document)
        talk = [message for message in started.messages if message.role != "system"]
        if not talk or talk[-1].role != "user":
            raise UsageError("the run begins with something else than a prompt")
        facts = [timed.fact for timed in document.facts]
        state = fold(reduce, facts, initial_state(started.tools))
        if state.ended is None:
            raise UsageError("the run has not ended; a test needs its end")
        outcome = build_outcome(state, ())
        name = self._make_name(document, "_")
        self._recordings[name] = codec.dump_facts(facts)
        self._expected[name] = {
            "system": "\n\n".join(message.text for message in started.messages if message.role == "system"),
            "calls": [call.name for call in outcome.calls],
            "stop_reason": outcome.stop_reason,
            "text": outcome.text,
        }

    def _make_name(self, document: RunDocument, joint: str) -> str:
        name = name_saved(document)
        self._names[name] += 1
        number = self._names[name]
        return f"{name}_{number}".replace("_", joint) if number > 1 else name.replace("_", joint)

    def write(self) -> tuple[str, bytes]:
        """Return the name and the content of the file; raise `UsageError` if no run is part of it."""
        if not self.count:
            whys = "; ".join(dict.fromkeys(why for _, why in self.left_out))
            raise UsageError(f"none of these runs can be saved in this form: {whys}")
        if self._form == "suite":
            return "suite.jsonl", "".join(json.dumps(each) + "\n" for each in self._questions).encode()
        tools = (
            repr(list(self._targets)) if self._targets else "[]  # your functions, in the place of the recorded results"
        )
        expected = pprint.pformat(self._expected, width=100, sort_dicts=False)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("test_saved_runs.py", TEST.format(folder=FOLDER, tools=tools, expected=expected))
            for name, facts in self._recordings.items():
                archive.writestr(f"{FOLDER}/{name}.jsonl", facts)
        return "saved_runs.zip", buffer.getvalue()
