"""A folder that was filled with ill will is removed all the same."""

import os
from pathlib import Path

import pytest

from toolspeak.execution.sandbox.full import remove_folder


def test_files_folders_and_links_are_removed_but_not_what_links_lead_to(tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "file").touch()
    (folder / "a" / "link").symlink_to(kept)
    os.mkfifo(folder / "pipe")
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0)
    remove_folder(folder)
    assert not folder.exists()
    assert (kept / "file").exists()


@pytest.mark.parametrize(("name", "depth"), [("x" * 200, 30), pytest.param("x", 1100, marks=pytest.mark.slow)])
def test_folders_deeper_than_any_path_are_removed(tmp_path: Path, name: str, depth: int):
    folder = tmp_path / "folder"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    remove_folder(folder)
    assert not folder.exists()


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path):
    remove_folder(tmp_path / "gone")
