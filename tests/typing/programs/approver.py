"""An approver is a function, sync or async, that returns True, False or a reason."""

from toolspeak import Agent, ToolCall, tool
from toolspeak.run import Approver
from toolspeak.testing import ScriptedModel, calls, says


@tool(approve=True)
def pay(who: str) -> str:
    """Pay somebody."""
    return f"paid {who}"


def allow_ann(call: ToolCall) -> bool | str:
    return call.arguments["who"] == "Ann" or "only Ann is paid"


async def allow_nobody(call: ToolCall) -> bool:
    return False


approver: Approver = allow_nobody
model = ScriptedModel([calls(("pay", {"who": "Ann"}), ("pay", {"who": "Bob"})), says("Done.")])
outcome = Agent(model, tools=[pay], approve=allow_ann).run("Pay.")
assert [call.error for call in outcome.calls] == [None, "not run: the user did not allow it: only Ann is paid"]
assert Agent(model, tools=[pay], approve=approver).run("Pay.").calls[0].output is None
assert Agent(model, tools=[pay], approve=lambda call: call.name == "pay").run("Pay.").calls[1].output == "paid Bob"
