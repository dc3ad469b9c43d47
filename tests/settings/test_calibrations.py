"""What was learned of a model is kept for the next program."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolspeak.errors import UsageError
from toolspeak.settings import remember_dialect, remembered_dialect

HERE = "http://127.0.0.1:8000/v1"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "config")}


def test_what_is_remembered_is_known_again(environ: dict[str, str]):
    assert remembered_dialect(HERE, "m", environ=environ) is None
    remember_dialect(HERE, "m", "json", environ=environ)
    remember_dialect(HERE, "n", "python", environ=environ)
    remember_dialect(f"{HERE}/", "m", "typescript", environ=environ)
    assert remembered_dialect(HERE, "m", environ=environ) == "typescript"
    assert remembered_dialect(HERE, "n", environ=environ) == "python"
    assert remembered_dialect("http://other/v1", "m", environ=environ) is None


def test_many_at_once_lose_nothing(environ: dict[str, str]):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: remember_dialect(HERE, f"m{n % 16}", f"d{n % 16}", environ=environ), range(128)))
    assert [remembered_dialect(HERE, f"m{n}", environ=environ) for n in range(16)] == [f"d{n}" for n in range(16)]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"dialect": 3}', '{"dialect": ""}', "[" * 100_000])
def test_a_file_that_was_spoilt_says_nothing(environ: dict[str, str], text: str):
    path = remember_dialect(HERE, "m", "json", environ=environ)
    path.write_text(text)
    assert remembered_dialect(HERE, "m", environ=environ) is None


def test_nothing_is_left_beside_the_file(environ: dict[str, str]):
    path = remember_dialect(HERE, "m", "json", environ=environ)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*: Not a directory"):
        remember_dialect(HERE, "m", "json", environ={"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "file")})
    assert remembered_dialect(HERE, "m", environ={"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "file")}) is None
