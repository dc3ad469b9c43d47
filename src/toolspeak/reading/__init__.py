"""Reading: the text of a message becomes events, in whatever form its calls are written.

`reader.py` has the one class for callers, `Reader`. Each module knows only those below it:

    reader.py                         a message: finds where a call may begin, and emits the rest as prose
    token_reader.py                   what a token of a model family opens: calls, reasoning, a made-up result
    bare_calls.py, fenced_calls.py    calls that no token announces, and calls in fenced blocks
    protocols.py                      parts with headers: ReAct, harmony, reasoning
    calls.py, tags.py, code_calls.py  a call itself: objects, lists, tags, a name with arguments, code
    code/                             the grammar of code, and what its statements call
    values.py, strings.py             values: JSON, and text that is nearly JSON
    shapes.py, names.py               which keys make an object a call, and which tool a name stands for
    forms.py, tokens.py               the tokens of model families, as data, and finding one in a text
    fences.py                         fenced blocks: where one opens and where it ends
    prose.py, emitter.py              what was found, emitted as events
    source.py                         text that is still arriving, and a place in it

`content.py` folds events into the content of a message (`MessageContent`), and writes that as JSON.

Readers are generators that `yield` when they need text which has not arrived. So each is written as if the whole text
were there, and the chunks in which a text arrives make no difference. The return value of a reader of calls is the
number of calls that it has emitted, malformed ones included.
"""
