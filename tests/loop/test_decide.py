"""What the loop wants after given facts: a table, as an agent is described."""

from typing import Any

from tests.cases import each_case
from toolspeak.loop import decide
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallStarted,
    Interrupted,
    RunEnded,
    RunResumed,
    SaidInThought,
    ToolChoice,
    ToolSuspended,
    TurnRestarted,
    TurnStarted,
    Usage,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Ref

from .folding import after, call, ended, ready, result, run, started, turn, wanted

GO = started()
ASKED = [ApprovalNeeded(call=call("pay p"))]
NAMED = ToolChoice(mode="named", names=("send", "put"))
MALFORMED = CallMalformed(call_id="m", name="nothing", raw="?", reason="no such tool")
CANCELLED = Interrupted(cause="cancelled")
PAY_WAITS = ToolSuspended(call_id="p", number=1, signal="paid")
SEND_WAITS = ToolSuspended(call_id="a", number=1, seconds=60)
SENT_LATER = WaitOver(call_id="a", number=1)

TABLE: dict[str, tuple[list[Any], list[str]]] = {
    # The beginning
    "nothing has happened": ([], []),
    "a run begins": ([GO], ["ask 1"]),
    "with a choice": ([started(choice=NAMED)], ["ask 1 named send put"]),
    "with an empty choice": ([started(choice=ToolChoice(mode="named"))], ["ask 1"]),
    "with no turns": ([started(limits=Limits(turns=0))], ["finish limit"]),
    # While the model speaks
    "the model speaks": ([GO, TurnStarted(turn=1)], []),
    "the name of a call changes nothing": ([GO, TurnStarted(turn=1), CallStarted(call_id="a", name="read")], []),
    "a read may start": ([GO, TurnStarted(turn=1), ready("read a")], ["run a"]),
    "it has started": ([GO, TurnStarted(turn=1), ready("read a"), *run("a")], []),
    "it has ended": ([GO, TurnStarted(turn=1), ready("read a"), *run("a"), result("a")], []),
    "others wait": ([GO, TurnStarted(turn=1), ready("send a"), ready("put b"), ready("alone c"), ready("peek d")], []),
    "a read behind a sequential call waits": ([GO, TurnStarted(turn=1), ready("alone a"), ready("read b")], []),
    "a read that needs a result waits": (
        [GO, TurnStarted(turn=1), ready("send a"), ready("read b", Ref(call="a"))],
        [],
    ),
    "an unknown tool waits": ([GO, TurnStarted(turn=1), ready("strange a")], []),
    "nothing starts where nothing may be called": (
        [started(choice=ToolChoice(mode="none")), TurnStarted(turn=1), ready("read a")],
        [],
    ),
    "one call is enough": (
        [started(parallel=False, dialect="json", in_text=True), TurnStarted(turn=1), ready("send a")],
        ["stop_stream"],
    ),
    "one call is enough, even if it is none": (
        [started(parallel=False, dialect="json", in_text=True), TurnStarted(turn=1), MALFORMED],
        ["stop_stream"],
    ),
    "one read is enough": (
        [started(parallel=False), TurnStarted(turn=1), ready("read a"), *run("a"), ready("read b")],
        [],
    ),
    "it was all reasoning": ([GO, TurnStarted(turn=1), ready("read a"), *run("a"), SaidInThought()], ["cancel a"]),
    "reasoning, and then a call": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), SaidInThought(), ready("read b")],
        ["cancel a", "run b"],
    ),
    "reasoning that has been cancelled": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), SaidInThought(), result("a"), ended(text="Hi.")],
        ["finish answered"],
    ),
    # When it has spoken
    "an answer": ([GO, *turn(text="Hello.")], ["finish answered"]),
    "an empty answer": ([GO, *turn()], ["ask 2"]),
    "an empty answer again": ([GO, *turn(), *turn(number=2)], ["finish empty"]),
    "an empty answer, then calls, then another": (
        [GO, *turn(), *turn("read a", number=2), *run("a"), result("a"), *turn(number=3)],
        ["ask 4"],
    ),
    "a broken answer": (
        [
            GO,
            TurnStarted(turn=1),
            ready("read a"),
            *run("a"),
            TurnRestarted(turn=1, failed="m", reason="gone", model="n"),
        ],
        ["cancel a", "ask 1"],
    ),
    "calls run together": ([GO, *turn("send a", "put b", "read c")], ["run a b c"]),
    "as many as may": ([started(limits=Limits(concurrent=2)), *turn("send a", "put b", "read c")], ["run a b"]),
    "and then the next": (
        [started(limits=Limits(concurrent=2)), *turn("send a", "put b", "read c"), *run("a", "b"), result("b")],
        ["run c"],
    ),
    "one at a time, if it must be": ([started(limits=Limits(concurrent=0)), *turn("send a", "put b")], ["run a"]),
    "alone": ([GO, *turn("alone a", "send b")], ["run a"]),
    "up to the one that is alone": ([GO, *turn("send a", "alone b", "send c")], ["run a"]),
    "alone, after the others": ([GO, *turn("send a", "alone b", "send c"), *run("a"), result("a")], ["run b"]),
    "nothing beside it": ([GO, *turn("send a", "alone b", "send c"), *run("a"), result("a"), *run("b")], []),
    "after what it needs": ([GO, *turn("send a", "put b", x=None), *run("a", "b"), result("a")], []),
    "a call that needs another": (
        [GO, TurnStarted(turn=1), ready("send a"), ready("put b", Ref(call="a")), ended(call("send a"), call("put b"))],
        ["run a"],
    ),
    "a call that has what it needs": (
        [
            GO,
            TurnStarted(turn=1),
            ready("send a"),
            ready("put b", Ref(call="a")),
            ended(call("send a"), call("put b")),
            *run("a"),
            result("a"),
        ],
        ["run b"],
    ),
    "an unknown tool is run, to be told": ([GO, *turn("strange a")], ["run a"]),
    "only one of several": ([started(parallel=False), *turn("send a", "send b")], ["run a"]),
    "when all have ended, the model is next": ([GO, *turn("send a"), *run("a"), result("a")], ["ask 2"]),
    "nothing could be run": ([GO, TurnStarted(turn=1), MALFORMED, ended(call("nothing m"))], ["ask 2"]),
    "no calls are allowed": ([started(choice=ToolChoice(mode="none")), *turn("send a")], ["ask 2 none"]),
    # Approval
    "somebody must agree": ([GO, *turn("pay p")], ["approve p"]),
    "somebody has been asked": ([GO, *turn("pay p"), *ASKED], []),
    "after the others": ([GO, *turn("send a", "pay p")], ["run a"]),
    "when the others have ended": ([GO, *turn("send a", "pay p"), *run("a"), result("a")], ["approve p"]),
    "only about the call that needs it": ([GO, *turn("guarded g", "read a")], ["approve g"]),
    "about all at once": ([GO, *turn("pay p", "peek q")], ["approve p q"]),
    "yes": ([GO, *turn("pay p"), *ASKED, ApprovalGiven(call_id="p", approved=True)], ["run p"]),
    "no": ([GO, *turn("pay p"), *ASKED, ApprovalGiven(call_id="p", approved=False)], ["ask 2"]),
    "an answer to a question of long ago": (
        [GO, *turn("pay p"), ApprovalGiven(call_id="x", approved=False), ApprovalGiven(call_id="y", approved=True)],
        ["approve p"],
    ),
    "a second answer": (
        [
            GO,
            *turn("pay p", "pay q"),
            ApprovalGiven(call_id="p", approved=False),
            ApprovalGiven(call_id="p", approved=True),
        ],
        ["approve q"],
    ),
    # What is demanded
    "a demand that is not met": ([started(choice=NAMED), *turn(text="No.")], ["ask 2 named send put"]),
    "half of it": ([started(choice=NAMED), *turn("send a"), *run("a"), result("a")], ["ask 2 named put"]),
    "all of it": (
        [started(choice=NAMED), *turn("send a", "put b"), *run("a", "b"), result("b"), result("a")],
        ["ask 2"],
    ),
    "an error is a result": (
        [started(choice=ToolChoice(mode="required")), *turn("send a"), *run("a"), result("a", None, error="oh")],
        ["ask 2"],
    ),
    "bad arguments are none": (
        [
            started(choice=ToolChoice(mode="required")),
            *turn("send a"),
            *run("a"),
            result("a", None, error="?", ran=False),
        ],
        ["ask 2 required"],
    ),
    "asked three times in vain": (
        [started(choice=NAMED), *turn(text="No."), *turn(text="No.", number=2), *turn(text="No.", number=3)],
        ["finish limit"],
    ),
    # A typed answer
    "a plain answer where a typed one is wanted": (
        [started(output="answer"), *turn(text="42")],
        ["ask 2 named answer"],
    ),
    "a typed answer": ([started(output="answer"), *turn("answer a"), *run("a"), result("a")], ["finish answered"]),
    "a typed answer waits for the other calls": ([started(output="answer"), *turn("answer a", "send b")], ["run b"]),
    "it is given when they are done": (
        [started(output="answer"), *turn("answer a", "send b"), *run("b"), result("b")],
        ["run a"],
    ),
    "it is refused if one of them failed": (
        [started(output="answer"), *turn("answer a", "send b"), *run("b"), result("b", None, error="?")],
        ["ask 2"],
    ),
    "one that does not fit": (
        [started(output="answer"), *turn("answer a"), *run("a"), result("a", None, error="?", ran=False)],
        ["ask 2"],
    ),
    "one that comes before what was demanded": (
        [started(output="answer", choice=NAMED), *turn("answer a"), *run("a"), result("a")],
        ["ask 2 named send put"],
    ),
    "one where no calls are allowed": (
        [started(output="answer", choice=ToolChoice(mode="none")), *turn(text="42")],
        ["ask 2 named answer"],
    ),
    # Limits
    "no more turns": ([started(limits=Limits(turns=1)), *turn("send a"), *run("a"), result("a")], ["finish limit"]),
    "the last turn may answer": ([started(limits=Limits(turns=1)), *turn(text="Hi.")], ["finish answered"]),
    "no more calls": ([started(limits=Limits(calls=1)), *turn("send a", "send b")], ["run a"]),
    "no more calls, and the model wanted more": (
        [started(limits=Limits(calls=1)), *turn("send a", "send b"), *run("a"), result("a")],
        ["finish limit"],
    ),
    "not one call": ([started(limits=Limits(calls=0)), *turn("send a")], ["finish limit"]),
    "no more tokens": (
        [
            started(limits=Limits(tokens=10)),
            TurnStarted(turn=1),
            ready("send a"),
            ended(call("send a"), usage=Usage(input_tokens=6, output_tokens=4)),
            *run("a"),
            result("a"),
        ],
        ["finish limit"],
    ),
    # What comes between
    "cut off": ([GO, *turn("send a", finish="length")], ["finish length"]),
    "cut off while something runs": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), ended(call("read a"), finish="length")],
        ["cancel a"],
    ),
    "refused": ([GO, *turn(text="I", finish="refused")], ["finish refused"]),
    "broken": ([GO, *turn(text="I", finish="error")], ["finish error"]),
    "cancelled while the model speaks": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), CANCELLED],
        ["stop_stream", "cancel a"],
    ),
    "cancelled while a tool runs": ([GO, *turn("send a", "send b"), *run("a"), CANCELLED], ["cancel a"]),
    "cancelled, and all have ended": ([GO, *turn("send a"), *run("a"), CANCELLED, result("a")], ["finish cancelled"]),
    "cancelled while somebody is asked": ([GO, *turn("pay p"), *ASKED, CANCELLED], ["finish cancelled"]),
    "cancelled before the first turn": ([GO, CANCELLED], ["finish cancelled"]),
    "time is up": ([GO, *turn("pay p"), *ASKED, Interrupted(cause="deadline")], ["finish limit"]),
    "the endpoint is dead": ([GO, TurnStarted(turn=1), Interrupted(cause="endpoint")], ["stop_stream"]),
    "it is over": ([GO, *turn(text="Hi."), RunEnded(reason="answered")], []),
    # Waiting
    "a call waits": ([GO, *turn("send a"), *run("a"), SEND_WAITS], ["suspend"]),
    "others go on": ([GO, *turn("send a", "put b", "put c"), *run("a", "b"), SEND_WAITS], ["run c"]),
    "and are waited for": ([GO, *turn("send a", "put b"), *run("a", "b"), SEND_WAITS], []),
    "until all wait": ([GO, *turn("send a", "put b"), *run("a", "b"), SEND_WAITS, result("b")], ["suspend"]),
    "what must be alone waits behind it": ([GO, *turn("send a", "alone b"), *run("a"), SEND_WAITS], ["suspend"]),
    "and what needs its result": ([GO, *turn("send a", "put b", x=Ref(call="a")), *run("a"), SEND_WAITS], ["suspend"]),
    "somebody is asked meanwhile": ([GO, *turn("send a", "pay p"), *run("a"), SEND_WAITS], ["approve p"]),
    "and is waited for": ([GO, *turn("send a", "pay p"), *run("a"), SEND_WAITS, *ASKED], []),
    "a read waits while the model speaks": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), SEND_WAITS, ready("read b")],
        ["run b"],
    ),
    "it waits in another process": ([GO, *turn("send a"), *run("a"), SEND_WAITS, RunResumed()], ["suspend"]),
    "the wait is over": ([GO, *turn("send a"), *run("a"), SEND_WAITS, RunResumed(), SENT_LATER], ["run a"]),
    "the wait of another call is over": (
        [GO, *turn("send a"), *run("a"), SEND_WAITS, RunResumed(), WaitOver(call_id="b", number=1)],
        ["suspend"],
    ),
    "an earlier wait is over once more": (
        [
            GO,
            *turn("send a"),
            *run("a"),
            SEND_WAITS,
            SENT_LATER,
            *run("a"),
            ToolSuspended(call_id="a", number=2),
            RunResumed(),
            SENT_LATER,
        ],
        ["suspend"],
    ),
    "the call counts once": (
        [started(limits=Limits(calls=1)), *turn("send a"), *run("a"), SEND_WAITS, RunResumed(), SENT_LATER],
        ["run a"],
    ),
    "and counts": (
        [
            started(limits=Limits(calls=1)),
            *turn("send a"),
            *run("a"),
            SEND_WAITS,
            SENT_LATER,
            *run("a"),
            result("a"),
            *turn("send b", number=2),
        ],
        ["finish limit"],
    ),
    "its approval still counts": (
        [
            GO,
            *turn("pay p"),
            *ASKED,
            ApprovalGiven(call_id="p", approved=True),
            *run("p"),
            PAY_WAITS,
            RunResumed(),
            WaitOver(call_id="p", number=1, signal="paid", came=True),
        ],
        ["run p"],
    ),
    "it is cut off after the wait": (
        [GO, *turn("send a"), *run("a"), SEND_WAITS, RunResumed(), SENT_LATER, *run("a"), RunResumed()],
        ["ask 2"],
    ),
    "cancelled while a call waits": ([GO, *turn("send a"), *run("a"), SEND_WAITS, CANCELLED], ["finish cancelled"]),
    "cancelled, and a call waits then": (
        [GO, *turn("send a"), *run("a"), CANCELLED, SEND_WAITS],
        ["finish cancelled"],
    ),
    "cut off while a call waits": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), SEND_WAITS, ended(call("read a"), finish="length")],
        ["finish length"],
    ),
    # Going on
    "resumed before the first turn": ([GO, RunResumed()], ["ask 1"]),
    "resumed while the model spoke": ([GO, TurnStarted(turn=1), ready("read a"), *run("a"), RunResumed()], ["ask 1"]),
    "a result that is known already": (
        [
            GO,
            TurnStarted(turn=1),
            ready("read a"),
            *run("a"),
            result("a"),
            RunResumed(),
            TurnStarted(turn=1),
            ready("read a"),
        ],
        [],
    ),
    "a read runs again": ([GO, *turn("read a"), *run("a"), RunResumed()], ["run a"]),
    "a read runs again, though no more calls may be made": (
        [started(limits=Limits(calls=1)), *turn("read a"), *run("a"), RunResumed()],
        ["run a"],
    ),
    "what may not be repeated is not": ([GO, *turn("send a", "put b"), *run("a", "b"), RunResumed()], ["run b"]),
    "a tool that is no more is not repeated": ([GO, *turn("strange a"), *run("a"), RunResumed()], ["ask 2"]),
    "what was allowed stays allowed": (
        [GO, *turn("peek p"), *ASKED, ApprovalGiven(call_id="p", approved=True), *run("p"), RunResumed()],
        ["run p"],
    ),
    "whoever was asked is asked again": ([GO, *turn("pay p"), *ASKED, RunResumed()], ["approve p"]),
    "resumed when it was cut off": (
        [GO, TurnStarted(turn=1), ready("read a"), *run("a"), ended(call("read a"), finish="length"), RunResumed()],
        ["finish length"],
    ),
    "resumed after an answer": ([GO, *turn(text="Hi."), RunResumed()], ["finish answered"]),
    "resumed after the end": ([GO, *turn(text="Hi."), RunEnded(reason="answered"), RunResumed()], []),
    "resumed after a cancellation": (
        [GO, *turn("send a"), *run("a"), CANCELLED, result("a"), RunEnded(reason="cancelled"), RunResumed()],
        ["ask 2"],
    ),
    "resumed after time was up": (
        [GO, *turn("pay p"), Interrupted(cause="deadline"), RunEnded(reason="limit"), RunResumed()],
        ["ask 2"],
    ),
    "resumed after the endpoint was dead": (
        [
            GO,
            TurnStarted(turn=1),
            Interrupted(cause="endpoint"),
            ended(text="I", finish="error"),
            RunEnded(reason="error"),
            RunResumed(),
        ],
        ["ask 1"],
    ),
}


@each_case("case", TABLE.keys())
def test_what_the_loop_wants(case: str):
    facts, expected = TABLE[case]
    assert wanted(after(facts)) == expected


def test_the_same_call_with_the_same_result_is_told_then_ends():
    facts: list[Any] = [GO]
    for number in range(1, 5):
        assert wanted(after(facts)) == [f"ask {number}"]
        facts += [*turn(f"send c{number}", number=number), *run(f"c{number}"), result(f"c{number}")]
        state = after(facts)
        told = [part.text for part in state.history[-1].parts if part.kind == "text"]
        assert bool(told) == (number >= 3)
        assert "result" in "".join(told) or number < 3
    assert wanted(after(facts)) == ["finish loop"]


def test_a_guided_model_is_told_then_kept_from_its_tool_then_asked_for_an_answer():
    facts: list[Any] = [started(guided=True)]
    for number, step in enumerate(["", "told send", "withheld send", "words send"], 1):
        assert wanted(after(facts)) == [f"ask {number}"]
        made = turn(f"send c{number}", number=number)
        facts += made if number == 4 else [*made, *run(f"c{number}"), result(f"c{number}")]
        if step:
            assert wanted(after(facts)) == [step]
            facts.append(decide(after(facts))[0].fact)
    assert wanted(after(facts)) == ["ask 5 none"]
    assert wanted(after(facts, turn(number=5, text="Done."))) == ["finish answered"]
    assert wanted(after(facts, turn("send c5", number=5))) == ["finish loop"]
    assert after(facts, turn("read c5", number=5)).turn.calls["c5"].result.ran is False


def test_another_result_or_another_argument_is_not_the_same():
    facts: list[Any] = [started(limits=Limits(turns=None), guided=True)]
    for number in range(1, 8):
        facts += [*turn(f"send c{number}", number=number), *run(f"c{number}"), result(f"c{number}", number)]
        facts += [*turn(f"send d{number}", number=100 + number, x=number), *run(f"d{number}"), result(f"d{number}")]
    assert wanted(after(facts)) == ["ask 108"]


def test_turns_without_anything_to_run_end():
    facts: list[Any] = [GO]
    for number in range(1, 5):
        bad = CallMalformed(call_id=f"m{number}", name="nothing", raw=str(number), reason="no such tool")
        facts += [TurnStarted(turn=number), bad, ended(call(f"nothing m{number}"))]
        assert wanted(after(facts)) == ([f"ask {number + 1}"] if number < 4 else ["finish loop"])
