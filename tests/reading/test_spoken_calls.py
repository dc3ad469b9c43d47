"""Every record of spoken calls has one right reading.

`spoken/given.jsonl` came first; `spoken/own.jsonl` grew here; `spoken/missed.jsonl` holds what is not read yet.
"""

from toolspeak.dialects import fold
from toolspeak.reading.emitter import encode_calls

from .corpus import RECORDS, for_each_record, read_events, records, tools_of

MISSED = records("missed.jsonl")


@for_each_record(RECORDS)
def test_a_spoken_call_is_read_as_it_was_meant(record):
    assert encode_calls(fold(read_events(tools_of(record), [record["text"]])))["calls"] == record["expected"]


@for_each_record(RECORDS)
def test_letter_by_letter_it_is_read_the_same(record):
    specs = tools_of(record)
    whole = fold(read_events(specs, [record["text"]]))
    assert fold(read_events(specs, list(record["text"]))) == whole


@for_each_record(MISSED)
def test_what_is_not_read_yet_is_at_least_not_read_as_something_else(record):
    calls = encode_calls(fold(read_events(tools_of(record), [record["text"]])))["calls"]
    assert calls != record["expected"], "it is read now: move the record to own.jsonl"
    assert calls == record["expected"][: len(calls)]
