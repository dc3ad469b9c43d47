"""Where toolspeak keeps files, how small ones are written and read, and whether somebody else could have written one.

The cache folder holds what can be downloaded again, the config folder what the user wrote or decided, and the data
folder what toolspeak wrote down for the user: the log of conversations. `TOOLSPEAK_CACHE_FOLDER`,
`TOOLSPEAK_CONFIG_FOLDER` and `TOOLSPEAK_DATA_FOLDER` override the platform's places, for homes on small disks. No
folder is created before the first file is written to it. `find_trained_file` finds what was trained for toolspeak.
"""

import errno
import json
import os
import stat
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from toolspeak.values.errors import UsageError

Environ: TypeAlias = Mapping[str, str]

MAX_LINKS = 40
"""How many symbolic links one path may lead through, as on Linux."""

FOLDER_VARIABLES = ("TOOLSPEAK_CACHE_FOLDER", "TOOLSPEAK_CONFIG_FOLDER", "TOOLSPEAK_DATA_FOLDER")

_PLATFORM_PLACES = {  # the variable that names the folder above, where that is without it, and the folder
    ("cache", "win32"): ("LOCALAPPDATA", "AppData/Local", "toolspeak/cache"),
    ("cache", "darwin"): ("", "Library/Caches", "toolspeak"),
    ("cache", ""): ("XDG_CACHE_HOME", ".cache", "toolspeak"),
    ("config", "win32"): ("APPDATA", "AppData/Roaming", "toolspeak"),
    ("config", "darwin"): ("", "Library/Application Support", "toolspeak"),
    ("config", ""): ("XDG_CONFIG_HOME", ".config", "toolspeak"),
    ("data", "win32"): ("LOCALAPPDATA", "AppData/Local", "toolspeak/data"),
    ("data", "darwin"): ("", "Library/Application Support", "toolspeak/data"),
    ("data", ""): ("XDG_DATA_HOME", ".local/share", "toolspeak"),
}


def cache_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for files that can be downloaded or made again, such as weights."""
    return _find_folder("cache", environ, platform)


def config_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for the user's settings and calibrations."""
    return _find_folder("config", environ, platform)


def data_folder(environ: Environ | None = None, *, platform: str = sys.platform) -> Path:
    """Return the folder for the log of conversations."""
    return _find_folder("data", environ, platform)


def _find_folder(kind: str, environ: Environ | None, platform: str) -> Path:
    variables = os.environ if environ is None else environ
    if override := variables.get(f"TOOLSPEAK_{kind.upper()}_FOLDER"):
        return expand_home(override, environ).absolute()
    variable, below_home, own = _PLATFORM_PLACES[kind, platform if platform in ("win32", "darwin") else ""]
    named = Path(variables.get(variable, ""))
    # The XDG rule: a relative path is ignored, as it would be another folder in every working directory.
    return (named if named.is_absolute() else _home_folder(environ) / below_home) / own


def expand_home(path: str, environ: Environ | None) -> Path:
    """Return a path with a leading `~` replaced by the home folder."""
    start, _, rest = path.replace("\\", "/").partition("/")
    return _home_folder(environ) / rest if start == "~" else Path(path)


def _home_folder(environ: Environ | None) -> Path:
    for variable in ("HOME", "USERPROFILE"):
        if home := (os.environ if environ is None else environ).get(variable):
            return Path(home)
    if environ is None:  # the account's database may know it; an environment that a caller passes is complete
        try:
            return Path.home()
        except RuntimeError:
            pass
    raise UsageError(
        "cannot find your home folder: set HOME, or TOOLSPEAK_CACHE_FOLDER, TOOLSPEAK_CONFIG_FOLDER and "
        "TOOLSPEAK_DATA_FOLDER"
    )


def find_trained_file(name: str) -> Path:
    """Return the path of a file of the distribution `toolspeak-trained`, which exists if that is installed."""
    package = find_spec("toolspeak_trained")  # which imports nothing
    folders = (package and package.submodule_search_locations) or ["toolspeak_trained"]
    return Path(folders[0]) / name


def create_folder(path: Path, mode: int = 0o755) -> None:
    """Create a folder, and those above it, if there are none. Nobody else may write to them, whatever the umask is."""
    for each in reversed([each for each in path.parents if not each.exists()]):
        each.mkdir(mode=0o755, exist_ok=True)
    path.mkdir(mode=mode, exist_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader finds the old text or the new one, never half of either.

    Raises `UsageError` if the file cannot be written.
    """
    try:
        create_folder(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def open_regular_file(path: Path) -> BinaryIO:
    """Open a file of a folder that somebody else may have filled; raise `OSError` if it is no regular file.

    Opening a pipe waits until somebody writes to it, and a device may have no end.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_own_file(path: Path) -> bytes | None:
    """Return the content of a file of the user, or None if there is no such file.

    Raises `OSError`, and `UsageError` if another user may have written the file: a folder may be shared.
    """
    try:
        file = open_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with file:
        reason = find_foreign_hand(os.fstat(file.fileno()))
        if reason is not None and find_foreign_way(path) is not None:
            raise UsageError(
                f"{path} is ignored, because another user may have written it: {reason}. Write it again, or choose "
                f"other folders with {' and '.join(FOLDER_VARIABLES[1:])}"
            )
        return file.read()


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file of the user; None if there is none, or another user may have written it."""
    try:
        saved = json.loads(read_own_file(path) or b"")
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    return cast("dict[str, Any]", saved) if isinstance(saved, dict) else None


def write_object(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object as `write_atomically` does, indented for a person to read."""
    write_atomically(path, json.dumps(data, indent=2) + "\n")


def is_file(path: Path) -> bool:
    """Whether there is such a file; of one that may not be looked at, False."""
    return os.path.isfile(path)  # noqa: PTH113 (the method raises errors of many kinds)


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; of one that may not be looked at, False."""
    return os.path.isdir(path)  # noqa: PTH112 (see above)


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; of one that may not be looked at, False."""
    return os.path.exists(path)  # noqa: PTH110 (see above)


def find_other_writer(path: Path) -> str | None:
    """Return why a user other than the present one and root could have written a file; None if nobody could.

    A group with the name of the file's owner and no other members is private, and may write. Windows has no such
    owners and modes; there the answer is None.
    """
    if not hasattr(os, "geteuid"):
        return None
    target = path.resolve()
    for name, status in (("it", path.lstat()), ("it", target.stat()), ("its folder", target.parent.stat())):
        if status.st_uid not in (0, os.geteuid()):
            return f"{name} belongs to {_user_name(status.st_uid)}"
    file, folder = target.stat(), target.parent.stat()
    if file.st_mode & stat.S_IWOTH:
        return "every user may write to it"
    if file.st_mode & stat.S_IWGRP and not _is_private_group(file.st_gid, file.st_uid):
        return "its group may write to it"
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:  # with that bit, only owners replace files
        return "every user may write to its folder"
    return None


def find_foreign_hand(status: os.stat_result) -> str | None:
    """Return why a user other than the present one and root may have written an open file, as `os.fstat` describes it.

    None if nobody may have. A descriptor is asked, and not a name, which may mean another file a moment later.
    """
    if not hasattr(os, "geteuid"):
        return None
    if not is_own(status):
        return f"it belongs to {_user_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return "every user may write to it"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, status.st_uid):
        return "its group may write to it"
    return None


def find_foreign_way(path: Path) -> str | None:
    """Return why a user other than the present one and root could change what a path leads to; None if nobody could.

    Every folder and link on the way counts: whoever may write to a folder could put something else in the place of what
    is there, unless it is a folder such as `/tmp`, in which only owners may. What is below a folder that only its owner
    may enter is out of reach. Raises `OSError` if there is no such file.
    """
    if not hasattr(os, "geteuid"):
        return None
    absolute = path.absolute()
    place, words, links, is_out_of_reach = Path(absolute.anchor), deque(absolute.parts[1:]), 0, False
    while True:
        status = place.lstat()
        only_owners_rename = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        is_safe = is_out_of_reach or (only_owners_rename and is_own(status))
        if not is_safe and (reason := find_foreign_hand(status)) is not None:
            return f"{place}: {reason}"
        if stat.S_ISDIR(status.st_mode) and not status.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
            is_out_of_reach = True
        if not words:
            return None
        word = words.popleft()
        place = place.parent if word == ".." else place / word
        if place.is_symlink():
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if not is_out_of_reach and not is_own(place.lstat()):
                return f"{place}: it belongs to {_user_name(place.lstat().st_uid)}"
            target = place.readlink()
            words.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
            place = Path(target.anchor) if target.is_absolute() else place.parent
        is_out_of_reach = is_out_of_reach and word != ".." and place != Path(place.anchor)


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the present user, to root, or to who became root with `sudo`.

    In a container root may have another number, that of the owner of `/`.
    """
    person = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return status.st_uid in (0, os.geteuid(), Path(os.sep).stat().st_uid) or str(status.st_uid) == person


def _user_name(number: int) -> str:
    import pwd  # Windows does not have it

    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user with the number {number}"


def _is_private_group(group_number: int, user_number: int) -> bool:
    import grp  # Windows does not have them
    import pwd

    try:
        user, group = pwd.getpwuid(user_number), grp.getgrgid(group_number)
    except KeyError:  # in a container, users often have numbers and no names
        return group_number == user_number
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


# Files that users name, and the log


def log_path() -> Path:
    """Return the path of the log, which need not exist."""
    return data_folder() / "log.sqlite"


def find_log() -> Path:
    """Return the path of the log. Raises `UsageError` if there is none."""
    path = log_path()
    if not path.exists():
        raise UsageError(f"there is no log yet; toolspeak run and chat write it to {path}, unless log = false")
    return path


def templates_folder() -> Path:
    """Return the folder of the templates, which need not exist."""
    return config_folder() / "templates"


def list_templates() -> list[str]:
    """Return the names of the templates."""
    return sorted(file.stem for file in templates_folder().glob("*.toml"))


def read_text(path: Path | str) -> str:
    """Return the text of a file. Raises `UsageError` if it cannot be read, or is not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole. Its folder must exist: a name that is spelled wrong must not become a folder."""
    require_folder(path)
    write_atomically(path, text)


def require_folder(path: Path) -> None:
    """Raise `UsageError` if the folder of a file that is to be written does not exist."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
