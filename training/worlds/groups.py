"""Turns conversations in worlds into what is trained on, and draws those that are measured with.

Each conversation is led by the same code that plays one with a model (`multi_turn.py`), which is given the right
messages: so prompts and results have the form that they have in a run. A conversation is one example, in which each
right message is a target: `rest` and `target` as always, and `following` with what comes next and the next target. A
message with a slip is not a target, but part of what comes before one.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from slips import vary_dialect, write_answer

from toolspeak.values.messages import Call, Message, ToolCall, user
from worlds import data, desk, house, kept, money, notes, people, shops, travel
from worlds.engine import LANGUAGES, Calls, Script, World, compose_script, draw_setting
from worlds.registers import REGISTERS

WORLDS: tuple[type[World], ...] = (
    desk.Drive, desk.HelpDesk, people.Calendar, people.Chat, notes.Notes, notes.Board, shops.Shop, shops.Tables,
    money.Bank, money.Depot, travel.Rail, travel.Boat, travel.Freight, house.Music, house.Home, data.Calculator,
    data.Database,
)  # fmt: skip
HELPERS = tuple(each for each in WORLDS if each.is_helper)
KEPT: tuple[type[World], ...] = (kept.Library, kept.Parcels)
DIALECTS = ("python", "python", "python", "json", "json", "typescript", "native")
FOREIGN_SHARE = 1 / 6
REGISTER_SHARE = 0.5  # how often the worlds are registers, perhaps with one that takes what they return
SYSTEM_END = "<|im_end|>\n"
END = "<|im_end|>"  # the token after a message, which is part of a target
GROUP_SIZE = 3  # conversations that share the description of their tools
KEPT_COUNT = 60  # conversations of each kept world
KEPT_SEED = 11


def draw_kept() -> list[Script]:
    """Compose the conversations that are measured with; they are always the same."""
    rng = random.Random(KEPT_SEED)
    drawn: list[Script] = []
    for world in KEPT:
        for number in range(KEPT_COUNT):
            setting = replace(draw_setting([world], rng, is_plain=True), is_reduced=False)
            drawn.append(compose_script(setting, f"{world.name}-{number}"))
    return drawn


def draw_scripts(count: int, seed: int) -> Iterator[list[Script]]:
    """Compose about so many conversations to train on, some at a time that share their tools."""
    for number in range(count // GROUP_SIZE):
        rng = random.Random(f"{seed}/{number}")
        lang = rng.choice(LANGUAGES) if rng.random() < FOREIGN_SHARE else "en"
        is_register = rng.random() < REGISTER_SHARE
        setting = draw_setting((*REGISTERS, *HELPERS) if is_register else WORLDS, rng)
        try:
            scripts = [compose_script(setting, f"{seed}-{number}-{place}", lang) for place in range(GROUP_SIZE)]
        except ValueError:  # no step of the world is said in this language
            scripts = [compose_script(setting, f"{seed}-{number}-{place}") for place in range(GROUP_SIZE)]
        needed = frozenset(name for script in scripts for name in script.used)
        yield [replace(script, needed=needed) for script in scripts]


def make_world_groups(settings: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the groups of the last two epochs, half of them in each."""
    last = settings["plain_epochs"] + settings["varied_epochs"] - 1
    for number, scripts in enumerate(draw_scripts(settings["worlds"], seed)):
        epoch = last - number % 2
        if epoch not in (settings.get("epochs") or (epoch,)):
            continue
        name = random.Random(f"{seed}/{number}/dialect").choice(DIALECTS)
        by_system: dict[str, list[dict[str, Any]]] = {}
        for script in scripts:
            for system, example in write_examples(script, name):
                by_system.setdefault(system, []).append(example)
        for system, examples in by_system.items():
            group = {"epoch": epoch, "source": "worlds", "toolset_rank": 0.0, "dialect": name}
            yield {**group, "system": system, "examples": examples}


def write_examples(script: Script, dialect_name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lead a conversation with the right messages; yield an example for each set of tools that it has."""
    from multi_turn import Conversation

    conversation = Conversation(script, dialect_name, vary_dialect(dialect_name, script.id))
    system, written, parts = "", "", list[dict[str, str]]()
    for turn in script.turns:
        has_slipped = any(isinstance(each, Calls) and each.is_slip for each in turn.messages)
        for message in turn.messages:
            prompt = conversation.prompt
            if prompt is None:
                raise ValueError(f"{script.id} ended early: {conversation.ends}")
            if not system or not prompt.startswith(system + written):
                if parts:
                    yield system, {"id": script.id, **parts[0], "following": parts[1:]}
                system, written, parts = prompt[: prompt.index(SYSTEM_END) + len(SYSTEM_END)], "", []
            text = message if isinstance(message, str) else write_calls(message, conversation.tools, dialect_name)
            if isinstance(message, str) or not message.is_slip:
                parts.append({"rest": prompt[len(system) + len(written) :], "target": text})
                written = f"{prompt[len(system) :]}{text}{END}"
            conversation.take(text)
            if isinstance(message, Calls) and not message.is_slip and not is_run(conversation, message, script):
                if not has_slipped:
                    raise ValueError(f"{script.id}: {message.calls} was not run")
                parts.pop()  # the tool was called in vain too often, and the loop does not run it in this message
                if parts:
                    yield system, {"id": script.id, **parts[0], "following": parts[1:]}
                return
    yield system, {"id": script.id, **parts[0], "following": parts[1:]}


def write_calls(message: Calls, tools: Any, dialect_name: str) -> str:
    calls = [
        ToolCall(id=f"call_{place}", name=name, arguments=dict(arguments))
        for place, (name, arguments) in enumerate(message.calls, 1)
    ]
    names = {call.name for call in calls}
    answer = Message(role="assistant", parts=tuple(Call(call=call) for call in calls))
    return write_answer([spec for spec in tools if spec.name in names], [user("")], answer, dialect_name)


def is_run(conversation: Any, message: Calls, script: Script) -> bool:
    """Whether the loop ran the calls that were meant; False if it ran none.

    Raises:
        ValueError: It ran others.
    """
    ran = conversation.steps[-1][-1] if conversation.steps[-1] else []
    if ran and len(ran) != len(message.calls):
        raise ValueError(f"{script.id}: {message.calls} became {ran}")
    return bool(ran)
