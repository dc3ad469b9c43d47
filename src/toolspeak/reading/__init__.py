"""Reading: the text of a message becomes events, in whatever form its calls are written.

`Reader` (`reader.py`) is the one class for callers: start there. This room imports `values/` only, and each module only
those below it:

    explanation.py, trace.py             a whole message, with the rule that read each part of it
    reader.py                            a message: where a call may begin; its tokens, its first word, its prose
    bare_calls.py, fences.py             calls that no token announces, and calls in fenced blocks
    protocols.py                         parts with headers: ReAct, harmony, reasoning, answers
    calls.py, tags.py, raw_calls.py      one call: objects, lists, names with arguments; tags; a block with a raw text
    code_calls.py, code/                 calls in code, and the grammar of code
    shapes.py, doubt.py                  which keys make an object a call; strings whose quotes can be read in two ways
    values.py, strings.py                JSON and nearly JSON, with its brackets and space; where a string ends
    prose.py, emitter.py, names.py       prose and calls emitted as events, and folded; which tool a name stands for
    forms.py, control_tokens.py          the tokens of model families, as data; how foreign text is kept free of them
    cursor.py, source.py                 the state that the readers of a message share; text that is still arriving
    strict_json.py                       JSON that arrives in chunks, strictly, for readers that hand values on early

Readers are generators that `yield` when they need text which has not arrived. So each is written as if the whole text
were there, and chunks make no difference. Where a reader must look ahead, the distance is bounded and measured from a
place in the text. A reader of calls returns the number of calls that it has emitted, malformed ones included.

Rules that keep reading safe:

1. Nothing that was emitted is taken back: a reader may return to a mark only while it has emitted nothing.
2. Nothing is completed that could change a value. At the end of a text an open string, number, name or tag is
   truncated. Missing closers are supplied only if the message ended by itself and no required argument is missing; any
   other missing part only where one reading exists, and an empty list never.
3. A value that only running the code would give is `Unknown`, and a call that needs it is refused.
4. A quote is never judged by itself, but by the whole block (`doubt.py`). If two readings are possible, the call is
   refused.
5. Only what is addressed to a tool is a call, where a form has addresses. Reasoning that is never closed holds no
   calls: the text cannot tell a plan from a call.
6. A key with two values is refused, in objects and in tags: nobody knows which was meant.
7. Reading is linear in the message, whatever is nested in it. One `Budget` (`source.py`), which every reader reaches
   through its source, bounds what is read again and what is computed; no reader makes one of its own. A reader that
   reads text a second time takes it from `Source.open_inner`, or asks `Source.may_rewind` before it goes back. No
   regular expression backtracks over one text in many ways (`scripts/regexes.py`). `tests/reading/test_bounds.py`
   asserts it.

To add:

- the tokens of a model family: first a record in `tests/reading/spoken/own.jsonl`, then a few lines in `FAMILIES` of
  `forms.py`, by the rules at its top, and `scripts/pack_records.py`; `control_tokens.py` follows by itself;
- a key for names or arguments: `shapes.py`; a slip in JSON: `values.py`, in a string: `strings.py`; code: `code/`;
- a rule by which a call is found: its reader, with `emitter.enter(rule)`, its name in `ReadingRule` (`trace.py`), its
  words in `dialects/explanation_notes.py`;
- a call that is read wrongly: first a record in `tests/reading/spoken/own.jsonl`, then `scripts/pack_records.py`.
"""
