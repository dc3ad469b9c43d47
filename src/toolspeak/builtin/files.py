"""Tools to read, list, search, write and edit files, all inside one folder.

The tools of this module work in the working folder of the program; `FileTools(root)` makes the same tools for another
folder. Writing needs approval, and its result shows what changed.

The diff has a bound of its own, though `difflib` makes diffs: it compares each line of a text with all equal lines of
the other one, and again for each part that differs, which takes a time quadratic in the lines or worse on hostile
texts. Here each comparison is counted before it is made. A diff within `MAX_STEPS` is the one that `difflib` makes.
Beyond, the equal lines at the beginning and at the end are left out of the comparison; if the rest still needs too many
steps, the diff says how many lines were replaced.
"""

from collections.abc import Callable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from fnmatch import fnmatch
from io import StringIO
from itertools import accumulate
from os.path import commonprefix
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeAlias, cast

from toolspeak.builtin._root_folder import FileContent, FolderEntry, RootFolder
from toolspeak.tools import Free, Tool, Toolbox
from toolspeak.values.errors import ToolError

MAX_STEPS = 2_000_000
"""How many comparisons of lines one attempt at a diff makes."""
CONTEXT_LINES = 3
"""How many equal lines are shown before and after a change."""
MAX_SHOWN_CHARS = 40_000
"""How much of a file or of a change one result shows."""
MAX_ENTRIES = 1000
"""How many files and folders one listing shows."""
MAX_MATCHES = 200
"""How many lines one search shows."""
MAX_LINE_CHARS = 300
"""How much of a line a search shows."""
MAX_VISITED = 20_000
"""How many files and folders one listing or search visits."""

_Group: TypeAlias = "list[tuple[str, int, int, int, int]]"
"""Operations as `difflib` returns them: the kind, then the start and the end in the old lines and in the new ones."""

_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"})


class Files:
    """The functions of the tools, for one folder."""

    def __init__(self, root: str | Path = ".") -> None:
        self._files = RootFolder(root)

    def read_file(self, path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file, or some of its lines.

        Args:
            path: The file, such as src/app.py.
            first_line: The first line to read; lines are counted from 1.
            last_line: The last line to read; left out, the end of the file.
        """
        lines = _split_lines(self._files.read(path).text)
        first = max(1, first_line)
        last = len(lines) if last_line is None else min(last_line, len(lines))
        if lines and first > len(lines):
            raise ToolError(f"{path} has {len(lines)} line{'s' * (len(lines) != 1)}; there is no line {first}")
        return _truncate(lines[first - 1 : last], first, len(lines))

    def list_files(self, folder: str = ".", recursive: bool = False, pattern: str = "*") -> str:
        """List the files and folders in a folder, one a line; folders end with a slash.

        Args:
            folder: The folder; left out, the whole project.
            recursive: Whether to list what is in its folders too.
            pattern: Only files with names like this, such as *.py.
        """
        listed: list[str] = []
        for entry in self._walk(folder, recursive=recursive):
            if entry.kind == "folder" and (pattern == "*" or not recursive):
                listed.append(f"{entry.path}/")
            elif entry.kind == "file" and fnmatch(PurePosixPath(entry.path).name, pattern):
                listed.append(entry.path)
            if len(listed) > MAX_ENTRIES:
                return "\n".join([*listed[:MAX_ENTRIES], f"… (more than {MAX_ENTRIES}; list one of the folders)"])
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
        for entry in self._walk(folder, recursive=True):
            if entry.kind == "file" and fnmatch(PurePosixPath(entry.path).name, pattern):
                found += self._find_lines(wanted, entry.path, ignore_case, MAX_MATCHES + 1 - len(found))
            if len(found) > MAX_MATCHES:
                return "\n".join([*found[:MAX_MATCHES], f"… (more than {MAX_MATCHES}; search for something rarer)"])
        return "\n".join(found) or "(not found)"

    def write_file(self, path: str, content: Annotated[str, Free]) -> str:
        """Write a whole file: a new one, or in place of the old one. To change a part, use edit_file.

        Args:
            path: The file; folders on the way are made.
            content: All that the file shall hold.
        """
        before = self._files.read_if_exists(path)
        self._files.write(path, content, before)
        count = len(_split_lines(content))
        written = f"wrote {path}: {count} line{'s' * (count != 1)}"
        return _describe_change(path, before, content) if before else written

    def edit_file(self, path: str, old: Annotated[str, Free], new: Annotated[str, Free], every: bool = False) -> str:
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
        # The new text may be many times the old one, so its size is checked before it is built.
        self._files.check_size(path, len(before.text) + count * (len(new) - len(old)))
        after = before.text.replace(old, new)
        self._files.write(path, after, before)
        return _describe_change(path, before, after)

    def _walk(self, folder: str, *, recursive: bool) -> Iterator[FolderEntry]:
        waiting = [folder]
        visited = 0
        while waiting:
            place = waiting.pop(0)
            try:
                entries = list(self._files.entries(place))
            except ToolError:
                if place == folder:
                    raise
                continue  # it is gone, or may not be read
            for entry in entries:
                visited += 1
                if visited > MAX_VISITED:
                    raise ToolError(f"there are more than {MAX_VISITED} files in {folder}; choose a folder in it")
                yield entry
                if recursive and entry.kind == "folder" and PurePosixPath(entry.path).name not in _SKIPPED_FOLDERS:
                    waiting.append(entry.path)

    def _find_lines(self, wanted: str, path: str, ignore_case: bool, max_matches: int) -> list[str]:
        try:
            text = self._files.read(path).text
        except ToolError:  # binary, too large, gone
            return []
        found: list[str] = []
        for number, line in enumerate(_split_lines(text), 1):
            line = line.rstrip("\r\n")
            if wanted in (line.casefold() if ignore_case else line):
                found.append(
                    f"{path}:{number}: {line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + '…'}"
                )
                if len(found) == max_matches:
                    break
        return found


def _split_lines(text: str) -> list[str]:
    """Split a text into lines as editors count them: `splitlines` would also split at a form feed."""
    return list(StringIO(text, newline="\n"))


def _truncate(lines: list[str], first: int, total: int) -> str:
    size = 0
    for count, line in enumerate(lines):
        size += len(line)
        if size > MAX_SHOWN_CHARS:
            shown = "".join(lines[:count]) or line[:MAX_SHOWN_CHARS]
            return f"{shown}\n… (cut; lines in the file: {total}; go on with first_line={first + max(1, count)})"
    return "".join(lines) or "(empty)"


def _describe_change(path: str, before: FileContent, after: str) -> str:
    old, new = ([line.rstrip("\r\n") for line in _split_lines(text)] for text in (before.text, after))
    lines: list[str] = []
    size = 0
    for line in _diff_lines(old, new, f"a/{path}", f"b/{path}"):
        lines.append(line)
        size += len(line) + 1
        if size > MAX_SHOWN_CHARS + 1:
            return "\n".join(lines)[:MAX_SHOWN_CHARS] + "\n… (cut)"
    return "\n".join(lines) or f"{path} is as it was, but for the ends of its lines"


class _TooManyStepsError(Exception):
    """The comparison would take more than `MAX_STEPS`."""


class BoundedMatcher(SequenceMatcher[str]):
    """A matcher of lines that counts its steps, and raises an error before it takes too many.

    Attributes:
        steps: An upper bound of the steps that were taken.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        places = cast("dict[str, list[int]]", vars(self)["b2j"])  # documented, but unknown to the types of difflib
        # For the lines before each place of the old text: how many equal lines of the new text they are compared with.
        self._pairs = list(accumulate((len(places.get(line, ())) for line in old), initial=0))
        self._lengths = len(old), len(new)
        self.steps = 0

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        ahi = self._lengths[0] if ahi is None else ahi
        bhi = self._lengths[1] if bhi is None else bhi
        steps = self._pairs[ahi] - self._pairs[alo] + (ahi - alo) + (bhi - blo)
        if self.steps + steps > MAX_STEPS:
            raise _TooManyStepsError
        self.steps += steps
        return super().find_longest_match(alo, ahi, blo, bhi)


def _diff_lines(old: list[str], new: list[str], old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff; none if the lines are equal."""
    head, tail = 0, 0
    groups = _compare(old, new)
    if groups is None:
        start = len(commonprefix((old, new)))  # noqa: RUF071 (of lines)
        end = len(commonprefix((old[start:][::-1], new[start:][::-1])))  # noqa: RUF071 (of lines)
        head, tail = max(0, start - CONTEXT_LINES), max(0, end - CONTEXT_LINES)
        old, new = old[head : len(old) - tail], new[head : len(new) - tail]
        groups = _compare(old, new) if head or tail else None
    if groups != []:
        yield from (f"--- {old_name}", f"+++ {new_name}")
    if groups is None:
        yield f"@@ -{_format_range(head, head + len(old))} +{_format_range(head, head + len(new))} @@"
        yield f"… ({len(old)} lines replaced by {len(new)} lines; too many to compare)"
    for group in groups or ():
        yield from _format_hunk(group, old, new, head)


def _compare(old: Sequence[str], new: Sequence[str]) -> list[_Group] | None:
    """Return the groups of operations that turn the old lines into the new ones; None if that takes too many steps."""
    try:
        return list(BoundedMatcher(old, new).get_grouped_opcodes(CONTEXT_LINES))
    except _TooManyStepsError:
        return None


def _format_hunk(group: _Group, old: Sequence[str], new: Sequence[str], offset: int) -> Iterator[str]:
    """Format a group of operations; `offset` is the number of lines before the first of `old` and `new`."""
    (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
    old_range = _format_range(offset + old_start, offset + old_end)
    yield f"@@ -{old_range} +{_format_range(offset + new_start, offset + new_end)} @@"
    for operation, old_first, old_last, new_first, new_last in group:
        if operation == "equal":
            yield from (f" {line}" for line in old[old_first:old_last])
        else:
            yield from (f"-{line}" for line in old[old_first:old_last])
            yield from (f"+{line}" for line in new[new_first:new_last])


def _format_range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


class FileTools(Toolbox):
    """The tools for the files of one folder.

    Examples:
        >>> FileTools("docs").names
        ('read_file', 'list_files', 'search_files', 'write_file', 'edit_file')
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        approve: bool = True,
        read_only: bool = False,
        result: Literal["own", "foreign"] | None = None,
    ) -> None:
        """Make the tools.

        Args:
            root: The folder. No file outside of it is read or written, and no link is followed.
            approve: Whether writing a file needs approval. If not, nobody is asked about either because of where the
                path comes from.
            read_only: Leave out the tools that write.
            result: Whose words the files hold: `"own"` if only you write them, `"foreign"` if anybody may have. If
                nothing is said, they are no reason to ask where values come from, and explain none.
        """
        files = Files(root)
        reading: list[Callable[..., str]] = [files.read_file, files.list_files, files.search_files]
        writing: list[Callable[..., str]] = [] if read_only else [files.write_file, files.edit_file]
        decisive = None if approve else False
        super().__init__(
            [
                *(Tool(each, effect="read", result=result) for each in reading),
                *(Tool(each, effect="once", approve=approve, sequential=True, decisive=decisive) for each in writing),
            ]
        )


_HERE = FileTools()

read_file = _HERE["read_file"]
list_files = _HERE["list_files"]
search_files = _HERE["search_files"]
write_file = _HERE["write_file"]
edit_file = _HERE["edit_file"]
