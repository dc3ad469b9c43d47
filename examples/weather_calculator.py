"""Three calls in one message: the weather in two cities, and a conversion.

$ python examples/weather_calculator.py
You: What's the weather like in Paris and London? Also convert 20C to Fahrenheit.
  get_weather({'city': 'Paris'}) → {'city': 'Paris', 'celsius': 18}
  get_weather({'city': 'London'}) → {'city': 'London', 'celsius': 12}
  calculator({'expression': '20 * 9/5 + 32'}) → 68.0
Assistant: It is 18°C in Paris and 12°C in London. 20°C are 68°F.
"""

import ast
import operator
from collections.abc import Callable

from toolspeak import Agent, Model

TEMPERATURES = {"Paris": 18, "London": 12}
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
}


def get_weather(city: str) -> dict[str, object]:
    """Get the current weather for a given city.

    Args:
        city: The name of the city.
    """
    return {"city": city, "celsius": TEMPERATURES[city]}


def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression.

    Args:
        expression: Numbers and + - * / ( ), such as 20 * 9/5 + 32.
    """
    return evaluate(ast.parse(expression, mode="eval").body)


def evaluate(node: ast.AST) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](evaluate(left), evaluate(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand)
        case _:
            raise ValueError("only numbers and + - * / can be evaluated")


def main(model: str | Model = "local", dialect: str = "auto") -> None:
    agent = Agent(model, tools=[get_weather, calculator], dialect=dialect)
    question = (
        "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."
    )
    outcome = agent.run(question)
    print(f"You: {question}")
    for call in outcome.calls:
        print(f"  {call.name}({call.arguments}) → {call.error or call.output}")
    print(f"Assistant: {outcome.text}")


if __name__ == "__main__":
    main()
