"""The best dialect of a model is saved for later programs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolspeak.settings import load_calibrated_dialect, save_calibrated_dialect
from toolspeak.values.errors import UsageError

HERE = "http://127.0.0.1:8000/v1"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "config")}


def test_a_saved_dialect_is_loaded_by_endpoint_and_model(environ: dict[str, str]):
    assert load_calibrated_dialect(HERE, "m", environ=environ) is None
    save_calibrated_dialect(HERE, "m", "json", environ=environ)
    save_calibrated_dialect(HERE, "n", "python", environ=environ)
    save_calibrated_dialect(f"{HERE}/", "m", "typescript", environ=environ)
    assert load_calibrated_dialect(HERE, "m", environ=environ) == "typescript"
    assert load_calibrated_dialect(HERE, "n", environ=environ) == "python"
    assert load_calibrated_dialect("http://other/v1", "m", environ=environ) is None


def test_concurrent_saves_lose_nothing(environ: dict[str, str]):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: save_calibrated_dialect(HERE, f"m{n % 16}", f"d{n % 16}", environ=environ), range(128)))
    assert [load_calibrated_dialect(HERE, f"m{n}", environ=environ) for n in range(16)] == [f"d{n}" for n in range(16)]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"dialect": 3}', '{"dialect": ""}', "[" * 100_000])
def test_a_damaged_file_counts_as_missing(environ: dict[str, str], text: str):
    path = save_calibrated_dialect(HERE, "m", "json", environ=environ)
    path.write_text(text)
    assert load_calibrated_dialect(HERE, "m", environ=environ) is None


def test_no_temporary_file_is_left(environ: dict[str, str]):
    path = save_calibrated_dialect(HERE, "m", "json", environ=environ)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*: Not a directory"):
        save_calibrated_dialect(HERE, "m", "json", environ={"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "file")})
    assert load_calibrated_dialect(HERE, "m", environ={"TOOLSPEAK_CONFIG_FOLDER": str(tmp_path / "file")}) is None
