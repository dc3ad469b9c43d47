"""Finds out whether somebody else could have written a file."""

import os
import stat
from pathlib import Path


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
