"""Worlds: small programs with a state, in which conversations are composed whose results are computed.

`engine.py` has what all worlds share, and how a conversation is composed: a world is a class whose public methods are
its tools, and a *step* is a function that asks for something in the user's words, makes the right calls on the world,
and says what they returned. A conversation is a few steps one after the other on one or two worlds. The other files
have two worlds each, followed by their steps, with the sentences in the TOML file of the same name; nothing is trained
on those of `kept.py`. `words.toml` has sentences that fit everywhere. `groups.py` turns conversations into what is
trained on.
"""
