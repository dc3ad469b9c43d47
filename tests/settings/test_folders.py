"""The cache, config and data folders on each platform."""

from pathlib import Path, PurePosixPath

import pytest

from toolspeak.settings import cache_folder, config_folder, data_folder
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
