"""The agents of the deployments in this folder: `toolspeak worker app.py:agents`."""

from toolspeak import Agent, tool


@tool(effect="once", approve=True)
def refund(order: int) -> str:
    """Give a customer the money for an order back.

    Args:
        order: The number of the order.
    """
    return f"refunded order {order}"


agents = {"support": Agent("openai:gpt-5-mini", [refund])}
