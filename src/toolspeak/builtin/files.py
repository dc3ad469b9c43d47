"""Files for a model: read, list, search, write and edit, all inside one folder.

The tools of this module work in the working folder of the program; `FileTools(root)` gives the same for another.
Reading is free; writing asks first, and shows what changed.
"""

from collections.abc import Callable, Iterator
from difflib import unified_diff
from fnmatch import fnmatch
from io import StringIO
from pathlib import Path, PurePosixPath

from toolspeak.builtin._rooted import Content, Entry, Rooted
from toolspeak.errors import ToolError
from toolspeak.tools import Tool, Toolbox

SHOWN = 40_000
"""Characters of a file or a listing that are shown at once."""
ENTRIES = 1000
MATCHES = 200
LINE = 300
"""Characters of a line that a search shows."""
LOOKED_AT = 20_000
"""Files and folders that one listing or search looks at."""

_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"})


class Files:
    """What the tools do, for the folder they are made for."""

    def __init__(self, root: str | Path = ".") -> None:
        self._files = Rooted(root)

    def read_file(self, path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file, or some of its lines.

        Args:
            path: The file, such as src/app.py.
            first_line: The first line to read; lines are counted from 1.
            last_line: The last line to read; left out, the end of the file.
        """
        lines = _lines(self._files.read(path).text)
        first = max(1, first_line)
        last = len(lines) if last_line is None else min(last_line, len(lines))
        if lines and first > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines; there is no line {first}")
        return _cut(lines[first - 1 : last], first, len(lines))

    def list_files(self, folder: str = ".", recursive: bool = False, pattern: str = "*") -> str:
        """List the files and folders in a folder, one a line; folders end with a slash.

        Args:
            folder: The folder; left out, the whole project.
            recursive: Whether to list what is in its folders too.
            pattern: Only files with names like this, such as *.py.
        """
        listed: list[str] = []
        for entry in self._walked(folder, recursive=recursive):
            if entry.kind == "folder" and (pattern == "*" or not recursive):
                listed.append(f"{entry.path}/")
            elif entry.kind == "file" and fnmatch(PurePosixPath(entry.path).name, pattern):
                listed.append(entry.path)
            if len(listed) > ENTRIES:
                return "\n".join([*listed[:ENTRIES], f"… (more than {ENTRIES}; list one of the folders)"])
        return "\n".join(listed) or "(nothing)"

    def search_files(self, text: str, folder: str = ".", pattern: str = "*", ignore_case: bool = False) -> str:
        """Search all text files of a folder, and of its folders, for a text; found lines as path:line: text.

        Args:
            text: What to look for, as it stands there (not a regular expression), within one line.
            folder: The folder to look in; left out, the whole project.
            pattern: Only files with names like this, such as *.py.
            ignore_case: Whether large and small letters are the same.
        """
        wanted = text.casefold() if ignore_case else text
        if not wanted.strip() or "\n" in wanted:
            raise ToolError("the text to search for is some characters of one line")
        found: list[str] = []
        for entry in self._walked(folder, recursive=True):
            if entry.kind == "file" and fnmatch(PurePosixPath(entry.path).name, pattern):
                found += self._lines_with(wanted, entry.path, ignore_case, MATCHES + 1 - len(found))
            if len(found) > MATCHES:
                return "\n".join([*found[:MATCHES], f"… (more than {MATCHES}; search for something rarer)"])
        return "\n".join(found) or "(not found)"

    def write_file(self, path: str, content: str) -> str:
        """Write a whole file: a new one, or in place of the old one. To change a part, use edit_file.

        Args:
            path: The file; folders on the way are made.
            content: All that the file shall hold.
        """
        before = self._files.find(path)
        self._files.write(path, content, before)
        return _change(path, before, content) if before else f"wrote {path}: {len(_lines(content))} lines"

    def edit_file(self, path: str, old: str, new: str, every: bool = False) -> str:
        """Replace a text in a file by another, and show what changed.

        Args:
            path: The file.
            old: The text to replace, exactly as it stands in the file, with enough lines around it to be the only one.
            new: The text to put there.
            every: Whether to replace it wherever it occurs.
        """
        before = self._files.read(path)
        if not old:
            raise ToolError("the text to replace is empty; write_file writes a whole file")
        if "\r\n" in before.text and "\r\n" not in old:  # a model does not see how the lines of a file end
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        count = before.text.count(old)
        if count == 0:
            raise ToolError(f"{path} does not have this text; read it again and copy the lines exactly")
        if count > 1 and not every:
            raise ToolError(f"{path} has this text {count} times; add lines around it, or say every=true")
        if old == new:
            raise ToolError("the new text is the old one; nothing would change")
        after = before.text.replace(old, new)
        self._files.write(path, after, before)
        return _change(path, before, after)

    def _walked(self, folder: str, *, recursive: bool) -> Iterator[Entry]:
        waiting = [folder]
        looked_at = 0
        while waiting:
            place = waiting.pop(0)
            try:
                entries = list(self._files.entries(place))
            except ToolError:
                if place == folder:
                    raise
                continue  # gone, or not ours to read
            for entry in entries:
                looked_at += 1
                if looked_at > LOOKED_AT:
                    raise ToolError(f"there are more than {LOOKED_AT} files in {folder}; choose a folder in it")
                yield entry
                if recursive and entry.kind == "folder" and PurePosixPath(entry.path).name not in _LEFT_OUT:
                    waiting.append(entry.path)

    def _lines_with(self, wanted: str, path: str, ignore_case: bool, most: int) -> list[str]:
        try:
            text = self._files.read(path).text
        except ToolError:  # binary, too large, gone
            return []
        found: list[str] = []
        for number, line in enumerate(_lines(text), 1):
            line = line.rstrip("\r\n")
            if wanted in (line.casefold() if ignore_case else line):
                found.append(f"{path}:{number}: {line if len(line) <= LINE else line[: LINE - 1] + '…'}")
                if len(found) == most:
                    break
        return found


def _lines(text: str) -> list[str]:
    """Lines as editors count them: `splitlines` would end one at a form feed too."""
    return list(StringIO(text, newline="\n"))


def _cut(lines: list[str], first: int, total: int) -> str:
    size = 0
    for count, line in enumerate(lines):
        size += len(line)
        if size > SHOWN:
            shown = "".join(lines[:count]) or line[:SHOWN]
            return f"{shown}\n… (cut; the file has {total} lines, go on with first_line={first + max(1, count)})"
    return "".join(lines) or "(empty)"


def _change(path: str, before: Content, after: str) -> str:
    old, new = ([line.rstrip("\r\n") for line in _lines(text)] for text in (before.text, after))
    lines = list(unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))
    text = "\n".join(lines) or f"{path} is as it was, but for the ends of its lines"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n… (cut)"


class FileTools(Toolbox):
    """The tools for the files of a folder.

    Example:
        >>> FileTools("docs").names
        ('read_file', 'list_files', 'search_files', 'write_file', 'edit_file')
    """

    def __init__(self, root: str | Path = ".", *, approve: bool = True, read_only: bool = False) -> None:
        """Make the tools.

        Args:
            root: The folder. Nothing outside of it is read or written, and no link is followed.
            approve: Whether somebody is asked before a file is written.
            read_only: Leave out the tools that write.
        """
        files = Files(root)
        reading: list[Callable[..., str]] = [files.read_file, files.list_files, files.search_files]
        writing: list[Callable[..., str]] = [] if read_only else [files.write_file, files.edit_file]
        super().__init__(
            [
                *(Tool(each, effect="read") for each in reading),
                *(Tool(each, effect="once", approve=approve, sequential=True) for each in writing),
            ]
        )


_HERE = FileTools()

read_file = _HERE["read_file"]
list_files = _HERE["list_files"]
search_files = _HERE["search_files"]
write_file = _HERE["write_file"]
edit_file = _HERE["edit_file"]
