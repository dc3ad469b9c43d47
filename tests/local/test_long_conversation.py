"""A conversation with the embedded model that is longer than its context."""

from toolspeak import Agent, Limits

CONTEXT = 2048

CODES = {
    "red": "R-4711", "blue": "B-1203", "green": "G-8890", "black": "K-3355", "white": "W-6021", "brown": "N-7714",
    "grey": "Y-2468", "pink": "P-9137", "gold": "O-5502", "teal": "T-6649", "plum": "L-3081", "lime": "M-1975",
}  # fmt: skip


def look_up_box(colour: str) -> str:
    "Look up the code of the box of a colour."
    code = CODES.get(colour.strip().lower(), "unknown")
    return f"The code of the {colour} box is {code}. " + "It stands on a shelf in the cellar, beside others. " * 12


def test_twelve_turns_in_a_small_context():
    chat = Agent("local", tools=[look_up_box], limits=Limits(context=CONTEXT)).chat()
    inputs: list[int] = []
    for colour, code in CODES.items():
        outcome = chat.run(f"Look up the code of the {colour} box and tell me only the code.")
        inputs += [fact.usage.input_tokens for fact in outcome.facts if fact.kind == "turn_ended"]
        assert outcome.stop_reason == "answered"
        assert code in outcome.text
    assert chat.compacted is not None
    assert chat.compacted.dropped > 0
    assert max(inputs) <= CONTEXT
    assert len(chat.messages) >= 4 * len(CODES)
