"""The settings, and the files that the commands exchange: compressed, a row of JSON a line."""

import gzip
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).with_name("settings.toml")


def read_settings() -> dict[str, Any]:
    """Return the settings; those of each run with the defaults for what it does not say."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    settings["runs"] = {name: settings["defaults"] | run for name, run in settings["runs"].items()}
    return settings


def list_epochs(pairs: Mapping[str, Any]) -> Iterable[int]:
    """Return the epochs that pairs are written for: all, unless some are asked for."""
    return pairs.get("epochs") or range(pairs["plain_epochs"] + pairs["varied_epochs"])


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_rows(path: Path, rows: Iterable[dict[str, Any]], mode: str = "wt") -> int:
    """Write rows, or append them with the mode `at`; return how many there were."""
    with gzip.open(path, mode, encoding="utf-8") as file:
        return sum(file.write(json.dumps(row, ensure_ascii=False) + "\n") > 0 for row in rows)


def rank(text: str) -> float:
    """Return a number between 0 and 1 that depends on a text alone, to choose a share of the data."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def find_adapters(folder: Path, name: str, chosen: Mapping[str, Any]) -> list[Path]:
    """Return the files of the adapters that a run uses; of two, the second is for what follows results."""
    names = filter(None, (chosen["adapter"] or name, chosen["after_results"]))
    return [folder / f"{each}.gguf" for each in names] if chosen["rank"] else []


def find_answered(path: Path) -> set[str]:
    """Return the ids of what is answered in a file already, which need not be there."""
    return {row["id"] for row in read_rows(path)} if path.exists() else set()
