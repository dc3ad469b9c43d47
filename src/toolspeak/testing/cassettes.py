"""`cassette`: a model whose exchanges with its endpoint are recorded once, and replayed from then on."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args, overload

from toolspeak.models import Model
from toolspeak.models.cassettes import TapePlayer, TapeWriter, load_tape, record_model, replay_model, replay_named_model
from toolspeak.run.model_lookup import find_model
from toolspeak.values.errors import UsageError

CassetteMode: TypeAlias = Literal["once", "replay", "record"]
"""When a cassette records: `"once"` if there is no file yet, `"replay"` never, `"record"` always, in a new file."""

MODE_VARIABLE = "TOOLSPEAK_CASSETTES"
"""The environment variable with the mode of all cassettes that are given none."""


@overload
def cassette(
    model: str | Model, path: str | os.PathLike[str], *, mode: CassetteMode | None = None, realtime: bool = False
) -> Model: ...
@overload
def cassette(
    model: Sequence[str | Model],
    path: str | os.PathLike[str],
    *,
    mode: CassetteMode | None = None,
    realtime: bool = False,
) -> tuple[Model, ...]: ...
def cassette(
    model: str | Model | Sequence[str | Model],
    path: str | os.PathLike[str],
    *,
    mode: CassetteMode | None = None,
    realtime: bool = False,
) -> Model | tuple[Model, ...]:
    """Return a model that records its exchanges in a file, or replays them from it.

    A replayed model needs no server and no key, and does not wait. Each recorded answer is used once. A request is
    answered if its path and body equal those of a recorded one; ids, today's date and fields about caches are not
    compared. Keys are never written.

    Args:
        model: The model, by its name or as an object; several of them share one file.
        path: The file. Missing folders are created.
        mode: `"once"` records if there is no file yet, and replays otherwise; `"replay"` never records; `"record"`
            always records, in a new file. By default the environment variable `TOOLSPEAK_CASSETTES` decides, or else
            it is `"once"`. A recording with only failures is kept only with `"record"`.
        realtime: Whether answers arrive at their recorded speed, by the clock of the event loop.

    Raises:
        UsageError: The file is missing or cannot be read, or the model sends no requests over HTTP.
        ReplayMiss: During a replay: a request was not recorded. The error shows the difference to the nearest one.
    """
    file = Path(path)
    models = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    if _must_record(file, _choose_mode(mode), is_given=mode is not None):
        writer = TapeWriter(file, keeps_failures=_choose_mode(mode) == "record")
        made = [record_model(find_model(each) if isinstance(each, str) else each, writer) for each in models]
    else:
        cure = "record it anew with mode='record', or delete the file"
        player = TapePlayer(load_tape(file), str(file), cure=cure)
        made = [
            replay_named_model(each, find_model, player, realtime=realtime)
            if isinstance(each, str)
            else replay_model(each, player, realtime=realtime)
            for each in models
        ]
    return made[0] if isinstance(model, str) or not isinstance(model, Sequence) else tuple(made)


def _choose_mode(mode: str | None) -> str:
    chosen = mode or os.environ.get(MODE_VARIABLE, "").strip() or "once"
    if chosen not in get_args(CassetteMode):
        where = "mode" if mode else MODE_VARIABLE
        raise UsageError(f"{where} is {', '.join(get_args(CassetteMode))}, not {chosen!r}")
    return chosen


def _must_record(file: Path, mode: str, *, is_given: bool) -> bool:
    is_there = file.exists()
    if mode == "replay" and not is_there:
        origin = "" if is_given else f" ({MODE_VARIABLE}=replay)"
        raise UsageError(f"there is no cassette {file}, and nothing may be recorded{origin}; record it: mode='once'")
    return mode == "record" or not is_there
