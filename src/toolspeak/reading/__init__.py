"""Reading: the text of a message becomes events, in whatever form its calls are written.

`reader.py` has the one class for callers, `Reader`. Each module knows only those below it:

    plain_prose.py                    a message that is recognised as prose before a reader is built
    reader.py                         a message: finds where a call may begin, and emits the rest as prose
    first_word.py                     the first word of a message, shown before it is certain that no call begins there
    token_reader.py                   what a token of a model family opens: calls, reasoning, a made-up result
    bare_calls.py, fenced_calls.py    calls that no token announces, and calls in fenced blocks
    protocols.py                      parts with headers: ReAct, harmony, reasoning
    calls.py, tags.py, code_calls.py  a call itself: objects, lists, tags, a name with arguments, code
    shapes.py                         which keys make an object a call
    code/                             the grammar of code, and what its statements call
    values.py                         values: JSON, and text that is nearly JSON
    brackets.py, space.py             what stands around values: brackets, commas, blanks, comments
    strings.py, rules.py              where a string ends, and where data and code differ in that
    prose.py, emitter.py, names.py    prose and calls, emitted as events; which tool a name stands for
    fences.py, tokens.py, forms.py    finding a fenced block and a token; the tokens of model families, as data
    cursor.py                         the state that the readers of one message share
    source.py                         text that is still arriving, and a place in it

`content.py` folds events into the content of a message (`MessageContent`), and writes that as JSON.

Readers are generators that `yield` when they need text which has not arrived. So each is written as if the whole text
were there, and the chunks in which a text arrives make no difference. The return value of a reader of calls is the
number of calls that it has emitted, malformed ones included.
"""
