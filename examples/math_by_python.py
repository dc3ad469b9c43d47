"""The model writes Python, and it runs where it can do no harm.

$ python examples/math_by_python.py
You: Can you please calculate the area of a circle …
import math
print(math.pi * 7.5**2)
a, b = 0, 1
for _ in range(20):
    a, b = b, a + b
print(a)
→ 176.71458676442586
6765
Assistant: The area is 176.71458676442586, and the 20th Fibonacci number is 6765.
"""

from toolspeak import Agent, Model
from toolspeak.builtin.python import run_python

QUESTION = (
    "Can you please calculate the area of a circle with a radius of 7.5 and also find the 20th number in the Fibonacci "
    "sequence? Please provide the Python code to do this, where the first two numbers of the sequence are 1. "
    "Do not round."
)


def main(model: str | Model = "local") -> None:
    agent = Agent(model, tools=[run_python])
    outcome = agent.run(QUESTION)
    print(f"You: {QUESTION}")
    for call in outcome.calls:
        print(call.arguments["code"])
        print(f"→ {call.error or call.output}")
    print(f"Assistant: {outcome.text}")


if __name__ == "__main__":
    main()
