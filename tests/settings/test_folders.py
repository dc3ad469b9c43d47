"""The cache, config and data folders on each platform, and which files in them count if they are shared."""

import errno
import os
import stat
from pathlib import Path, PurePosixPath

import pytest

from tests.cases import each_case
from toolspeak.settings import (
    cache_folder,
    config_folder,
    data_folder,
    load,
    load_calibrated_dialect,
    save_calibrated_dialect,
)
from toolspeak.settings.files import find_foreign_way, read_own_file, write_object
from toolspeak.values.errors import UsageError


@pytest.mark.parametrize(
    ("platform", "environ", "config", "cache"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/toolspeak", "/h/.cache/toolspeak"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k"}, "/c/toolspeak", "/k/toolspeak"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_CACHE_HOME": ""}, "/h/.config/toolspeak", "/h/.cache/toolspeak"),
        ("freebsd14", {"HOME": "/h"}, "/h/.config/toolspeak", "/h/.cache/toolspeak"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/toolspeak", "/h/Library/Caches/toolspeak"),
        ("win32", {"APPDATA": "/r", "LOCALAPPDATA": "/l"}, "/r/toolspeak", "/l/toolspeak/cache"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Roaming/toolspeak", "/u/AppData/Local/toolspeak/cache"),
        ("linux", {"TOOLSPEAK_CONFIG_FOLDER": "/a", "TOOLSPEAK_CACHE_FOLDER": "/b"}, "/a", "/b"),
        ("linux", {"HOME": "/h", "TOOLSPEAK_CONFIG_FOLDER": "~/a", "TOOLSPEAK_CACHE_FOLDER": "~"}, "/h/a", "/h"),
    ],
)  # fmt: skip
def test_each_platform_has_its_folders(platform: str, environ: dict[str, str], config: str, cache: str):
    assert PurePosixPath(config_folder(environ, platform=platform)) == PurePosixPath(config)
    assert PurePosixPath(cache_folder(environ, platform=platform)) == PurePosixPath(cache)


@pytest.mark.parametrize(
    ("platform", "environ", "data"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/share/toolspeak"),
        ("linux", {"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/toolspeak"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/toolspeak/data"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/toolspeak/data"),
        ("linux", {"HOME": "/h", "TOOLSPEAK_DATA_FOLDER": "~/a"}, "/h/a"),
    ],
)
def test_each_platform_has_a_folder_for_data(platform: str, environ: dict[str, str], data: str):
    assert PurePosixPath(data_folder(environ, platform=platform)) == PurePosixPath(data)


def test_without_a_home_the_error_names_the_variables_to_set():
    for folder in (cache_folder, config_folder, data_folder):
        with pytest.raises(UsageError, match=r"set HOME, or TOOLSPEAK_CACHE_FOLDER, .* and TOOLSPEAK_DATA_FOLDER"):
            folder({}, platform="linux")


def test_no_folder_is_created(tmp_path: Path):
    environ = {"HOME": str(tmp_path)}
    cache_folder(environ)
    config_folder(environ)
    data_folder(environ)
    assert list(tmp_path.iterdir()) == []


# Files in a folder that several users share

STRANGER = 41002

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away: run the tests as root"
)


@pytest.fixture
def shared(reachable: Path) -> Path:
    """A folder like `/tmp`, which everybody can reach."""
    folder = reachable / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def plant(path: Path, text: str, *, owner: int = STRANGER, mode: int = 0o644) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, owner, owner)
    return path


@needs_root
def test_settings_that_another_user_wrote_are_refused(shared: Path):
    environ = {"TOOLSPEAK_CONFIG_FOLDER": str(shared)}
    plant(shared / "config.toml", '[endpoints.openai]\nbase_url = "http://127.0.0.1:9/v1"')
    with pytest.raises(
        UsageError, match=r"config\.toml is ignored, because another user may have written it: it belongs"
    ):
        load(environ=environ)
    plant(shared / "config.toml", 'model = "local"', owner=0, mode=0o666)
    with pytest.raises(UsageError, match="every user may write to it"):
        load(environ=environ)
    plant(shared / "config.toml", 'model = "local"', owner=0)
    assert load(environ=environ).model == "local"


@needs_root
def test_what_is_kept_for_the_user_counts_only_if_nobody_else_wrote_it(shared: Path):
    environ = {"TOOLSPEAK_CONFIG_FOLDER": str(shared)}
    path = save_calibrated_dialect("http://127.0.0.1:9/v1", "m", "json", environ=environ)
    assert load_calibrated_dialect("http://127.0.0.1:9/v1", "m", environ=environ) == "json"
    os.chown(path, STRANGER, STRANGER)
    assert load_calibrated_dialect("http://127.0.0.1:9/v1", "m", environ=environ) is None


@needs_root
@each_case("mode, owner, above, is_read", {
    "own": (0o644, 0, 0o755, True),
    "somebody else's": (0o644, STRANGER, 0o755, False),
    "everybody may write it": (0o666, 0, 0o755, False),
    "nobody else can get there": (0o666, STRANGER, 0o700, True),  # as files of another machine, seen in a container
})  # fmt: skip
def test_a_file_of_the_user_is_read(shared: Path, mode: int, owner: int, above: int, is_read: bool):
    path = plant(shared / "own" / "file", "text", owner=owner, mode=mode)
    path.parent.chmod(above)
    if is_read:
        assert read_own_file(path) == b"text"
    else:
        with pytest.raises(UsageError, match="another user may have written it"):
            read_own_file(path)


def test_a_file_that_is_not_there_and_one_that_is_no_file(tmp_path: Path):
    assert read_own_file(tmp_path / "none" / "file") is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"):
            read_own_file(tmp_path / "pipe")


@pytest.mark.skipif(os.name != "posix", reason="links are a matter of POSIX")
def test_links_that_lead_round_are_not_followed_for_ever(tmp_path: Path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        find_foreign_way(tmp_path / "one" / "file")
    (tmp_path / "up").symlink_to("./../" + tmp_path.name)
    assert find_foreign_way(tmp_path / "up" / "up") is None


@pytest.mark.skipif(os.name != "posix", reason="modes of files are a matter of POSIX")
def test_nobody_else_may_write_to_folders_that_are_created_whatever_the_umask(tmp_path: Path):
    before = os.umask(0)
    try:
        write_object(tmp_path / "one" / "two" / "file.json", {})
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / each).stat().st_mode) for each in ("one", "one/two")} == {0o755}
    assert stat.S_IMODE((tmp_path / "one/two/file.json").stat().st_mode) == 0o600
