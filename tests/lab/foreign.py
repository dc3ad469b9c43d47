"""Readers that misbehave, for the process that must survive them."""

import os
import sys
import time


def raises(text, tools):
    raise ValueError("cannot\nread this")


def hangs(text, tools):
    time.sleep(600)


def hangs_once(text, tools):
    if "hang" in text:
        time.sleep(600)
    return []


def leaves(text, tools):
    sys.exit(3)


def dies(text, tools):
    if "die" in text:
        os._exit(3)
    return []


def returns_nothing(text, tools):
    return None


def returns_words(text, tools):
    return ["get_weather"]


def returns_objects(text, tools):
    return [object()]


def returns_depth(text, tools):
    print("[" * 100_000)
    os.write(1, b"this is no answer\n")
    value = []
    # Deep enough that it can be sent, and not judged: since Python 3.12 a comprehension takes no frame of its own.
    for _ in range(2000 if sys.version_info >= (3, 12) else 700):
        value = [value]
    return [{"name": "get_weather", "arguments": {"city": value}}]


def prints(text, tools):
    print('{"calls": []}')
    os.write(1, b'{"calls": []}\n')
    return [{"name": tools[0]["name"], "arguments": {"city": text}}]
