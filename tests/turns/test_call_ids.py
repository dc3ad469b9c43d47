"""The ids of the calls of a conversation that grows, breaks off and is replaced."""

from toolspeak.turns.quotation import CallIds
from toolspeak.values.messages import Call, Message, ToolCall, user


def call(*ids):
    return Message(
        role="assistant", parts=tuple(Call(call=ToolCall(id=each, name="now", arguments={})) for each in ids)
    )


def test_messages_that_are_added_add_their_ids():
    ids = CallIds()
    history = (user("Go."), call("a", "b"))
    ids.follow(history)
    ids.follow((*history, call("c")))
    assert all(each in ids for each in "abc")
    assert "d" not in ids


def test_ids_of_messages_that_were_taken_back_are_free_again():
    ids = CallIds()
    ids.follow((user("Go."), call("a"), call("call_2_1")))
    ids.follow((user("Go."),))
    assert "a" not in ids
    assert ids.find_prefix(2) == "call_2"


def test_ids_of_a_conversation_that_was_replaced_are_those_of_the_new_one():
    ids = CallIds()
    ids.follow((user("Go."), call("a")))
    ids.follow((user("Go."), call("b"), call("c")))
    assert [each for each in "abc" if each in ids] == ["b", "c"]


def test_a_prefix_is_that_of_no_id_so_far():
    ids = CallIds()
    ids.follow((call("call_3_1", "call_04_1", "call_5"),))
    ids.add({"call_4_api_1"})
    assert [ids.find_prefix(turn) for turn in (2, 3, 5)] == ["call_2", "call_5", "call_5"]
