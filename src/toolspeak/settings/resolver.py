"""What targets run, and where they send: the files, commands, environment variables and addresses, in one list.

The question whether to trust a project, its fingerprint, the tools that a conversation remembers, and the loader all
use this list, and nothing else answers that question. The loader (`tools/discovery.py`) loads no file that is not
listed, so what is missing here is refused; it does not run unseen.

- **Python tools** run in this process. Listed are their files, the packages around them, and what these import from the
  same folders: by import statements, and by texts that name a module or a folder. A file that imports by computed names
  (`import_module(name)`) may import anything, so all importable files of its folder are listed.
- **Servers** are programs, and no loader can hold them. Listed are all files that their words and variables name, and
  the files of the project among which the program chooses: for a script of Python or Node, files of code; for a shell
  or an unknown program, every file. A program such as `npx` runs a package that is not the project's, and chooses among
  none, unless its words name code.

Nothing is run or imported to make the list, and variables are read for the names of files only: neither the list nor
a fingerprint tells the value of one.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from toolspeak.settings.files import Environ, exists, is_file, is_folder
from toolspeak.settings.server_targets import (
    CODE_SUFFIXES,
    FRAGMENT,
    IMPORTABLE_SUFFIXES,
    MAX_PATH_CHARS,
    PREFIX,
    ServerEntry,
    expand_variables,
    find_folder,
    find_paths,
    find_servers_file,
    is_address,
    is_code,
    read_entries,
    resolve_command,
    split_command,
    split_words,
)
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

MAX_TOOL_FILES, MAX_NAMED_FILES = 2000, 20_000
"""How many Python files the targets of a project, and those that the user named, may have. The first is also of how
many files of a project the content is read."""

MAX_SEEN_FILES = 50_000
"""Of how many files of a project, beyond those that are read, it is noticed that they were replaced or written to."""

MAX_FILE_BYTES = 16_000_000
MAX_READ_BYTES = 64_000_000
"""How much of one file, and of all files, is read. Of a larger file it is noticed that it was written to."""

MAX_SEARCHED_BYTES, MAX_NAMES, MAX_SEARCH_FOLDERS = 4_000_000, 20_000, 50
"""How much Python source is searched for imports, for how many names, and in how many folders these are looked up. A
file beyond that counts as importing anything in its folder."""

MAX_FRAGMENTS = 5_000
"""How many parts of the words of servers may be names of files."""

MAX_COMPUTED_FILES = 1000
"""How many files are listed for one that imports by computed names. What it imports beyond them is refused."""

MISSING, UNREAD = "missing", "unread"

_LEFT_OUT = frozenset({".git", ".hg", ".svn"})

_COMPUTED_IMPORT = re.compile(
    r"\b(?:(?:import_module|__import__)\b(?!\(\s*+['\"][\w.]*+['\"]\s*+[,)])|iter_modules|walk_packages|spec_from_file_location|run_path"
    r"|run_module|SourceFileLoader)|(?<![\w.])(?:exec|eval|compile)\("
)
"""What loads code. With a constant text, the first two import that module and nothing else."""

_PROGRAM_START = re.compile(r"\b(?:subprocess|Popen|system|popen|create_subprocess_exec|CDLL|LoadLibrary|exec|eval)\b")
"""What may start programs, or run texts. Then every file that one of the file's texts names counts."""

_NAME = r"\w.\x80-\U0010ffff"  # \w has not all that Python takes for a letter
_FROM_IMPORT = re.compile(
    rf"(?<![{_NAME}])from(?:[ \t]++|(?=\.))(\.++(?=import\b)|[{_NAME}]++)[ \t]*+(?<!\w)import\b[ \t]*+([{_NAME}, \t]*+)"
)
_NAME_LIST = re.compile(r"\((?:[^()#]++|#[^\n]*+)*+")
_IMPORT = re.compile(rf"(?<![\w.])import[ \t]++([{_NAME}, \t]*+)")
_DOTTED = re.compile(rf"[{_NAME}]+")
_SPACED_DOTS = re.compile(r"(?<![ \t])[ \t]*+\.[. \t]*+")
_TEXT = re.compile(r"['\"]([^\n'\"\\]{1,255}+)(?=['\"])")
_NO_VARIABLES: Environ = {}


@frozen
class Listing:
    """What targets run, and where they send.

    Attributes:
        files: The files that run or decide what runs, by their full paths, each with the hash of its content or
            `missing`.
        named: Those of them that a target, an import or the words of a command name.
        folders: The folders of the tools. Of the files below them, the loader loads those that are listed.
        servers: The MCP servers.
        modules: The targets that are names of installed modules and plugins.
        notes: What cannot be said by names of files, in words.
        seen: A hash of when weights and the files beyond `MAX_TOOL_FILES` were last written; empty if there are none.
        is_complete: Whether all files are in the list. If not, a decision about them cannot be kept.
    """

    files: Mapping[Path, str] = field(default_factory=dict[Path, str])
    named: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    servers: tuple[ServerEntry, ...] = ()
    modules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: str = ""
    is_complete: bool = True

    def fingerprint(self, settings: bytes = b"") -> str:
        """Return a hash of some settings and of all that is listed for them."""
        files = [[str(path), os.path.realpath(path), digest] for path, digest in sorted(self.files.items())]
        parts = ["settings", hashlib.sha256(settings).hexdigest(), files, self.seen]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def check_unchanged(self) -> None:
        """Check that the named files are what they were when they were listed.

        Raises `UsageError` if one is not: what would run is not what was decided on.
        """
        for path in self.named:
            if self.files[path] != UNREAD and _hash_content(_read(path, MAX_FILE_BYTES)) != self.files[path]:
                raise UsageError(f"{path} has changed since this command began; run it again")


def list_code(
    targets: Sequence[str],
    where: str,
    *,
    project: Path | None = None,
    weights: Iterable[Path] = (),
    environ: Environ | None = None,
) -> Listing:
    """List what targets run and where they send. Paths in them are absolute.

    Args:
        targets: The targets, such as those of the setting `tools`.
        where: The place of the targets, for errors.
        weights: Files of weights, which are too large to be read.
        project: The folder of the project whose settings name them; None if the user named them.
        environ: The environment variables; by default those of this process.

    Raises:
        UsageError: The targets have more than `MAX_TOOL_FILES` Python files.
    """
    lister = _Lister(where, project, os.environ if environ is None else environ)
    for target in targets:
        lister.add_target(target)
    for file in weights:
        lister.add_weights(file)
    return lister.finish()


def find_import_root(folder: Path) -> Path:
    """Return the folder that holds the outermost package to which `folder` belongs."""
    folder = folder.resolve()
    while is_file(folder / "__init__.py"):
        folder = folder.parent
    return folder


def split_function(target: str) -> tuple[str, str] | None:
    r"""Split `module:function` in two; a drive letter (`C:\tools.py`) is not a module."""
    before, colon, after = target.rpartition(":")
    return (before, after) if colon and after.isidentifier() and len(before) > 1 else None


class _Lister:
    """Collects what targets run."""

    def __init__(self, where: str, project: Path | None, environ: Environ) -> None:
        self._where = where
        self._project = None if project is None else project.resolve()
        self._environ = environ
        self._files: dict[Path, str] = {}
        self._named: dict[Path, None] = {}
        self._folders: dict[Path, None] = {}
        self._servers: list[ServerEntry] = []
        self._modules: list[str] = []
        self._notes: dict[str, None] = {}
        self._walked: set[tuple[Path, bool]] = set()
        self._seen: dict[str, list[int]] = {}
        self._is_complete = True
        self._bytes_to_read = MAX_READ_BYTES
        self._bytes_to_search = MAX_SEARCHED_BYTES
        self._fragments_left = MAX_FRAGMENTS
        self._traced: set[Path] = set()
        self._search_folders: dict[Path, None] = {}
        self._imported_names: dict[str, None] = {}
        self._entries: dict[Path, frozenset[str]] = {}

    def finish(self) -> Listing:
        seen = hashlib.sha256(json.dumps(sorted(self._seen.items())).encode()).hexdigest() if self._seen else ""
        return Listing(
            files=self._files,
            named=tuple(self._named),
            folders=tuple(self._folders),
            servers=tuple(self._servers),
            modules=tuple(self._modules),
            notes=tuple(self._notes),
            seen=seen,
            is_complete=self._is_complete,
        )

    def add_target(self, target: str) -> None:
        if target.startswith(PREFIX) or target.endswith(".json"):
            self._add_servers(target)
            return
        path = Path(target)
        split = split_function(target)
        if split is not None and not exists(path):
            path = Path(split[0])
        if path.is_absolute():
            self._add_tools(path)
        else:
            self._modules.append(target)
            self._add_module(str(path).partition(".")[0])

    def add_weights(self, file: Path) -> None:
        self._seen[str(file)] = _describe_state(Path(os.path.realpath(file)))

    # Python tools

    def _add_tools(self, path: Path) -> None:
        if self._project is not None:
            self._folders |= {self._project: None, find_import_root(find_folder(path.resolve())): None}
        self._trace(_list_tools(path) if is_folder(path) else [path])

    def _add_module(self, name: str) -> None:
        """List an installed package that lies in the project, as one that is installed for editing does."""
        if self._project is None or not name.isidentifier():
            return
        from importlib.util import find_spec  # of a name without dots, it imports nothing

        try:
            spec = find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return
        places = [] if spec is None else [*(spec.submodule_search_locations or [spec.origin or ""])]
        for place in map(Path, places):
            if place.is_absolute() and self._is_own(place) and "site-packages" not in place.parts:
                self._trace(_list_importable(place) if is_folder(place) else [place])

    def _trace(self, files: Iterable[Path]) -> None:
        """List Python files, the packages around them, and what they import from their folders."""
        waiting = [*files]
        while waiting:
            file = waiting.pop()
            if file in self._traced:
                continue
            self._traced.add(file)
            limit = MAX_NAMED_FILES if self._project is None else MAX_TOOL_FILES
            if len(self._traced) > limit:
                raise UsageError(f"{self._where}: tools name more than {limit} files; name single files instead")
            content = self._add_file(file)
            folder = file.resolve().parent  # relative imports and packages are those of the file that a link means
            while is_file(folder / "__init__.py"):
                waiting.append(folder / "__init__.py")
                folder = folder.parent
            if content is not None and file.suffix == ".py":
                waiting += self._find_imports(file.resolve(), content)

    def _find_imports(self, file: Path, content: bytes) -> Iterator[Path]:
        self._bytes_to_search -= len(content)
        is_searched = self._project is None or self._bytes_to_search >= 0
        imports = _ImportReader(content) if is_searched else _ImportReader(b"import_module(name)")
        folders = self._find_search_folders(file)
        for folder in folders:
            yield from self._add_search_folder(folder)
        suffixes = ("",) if imports.is_computed or imports.starts_programs else CODE_SUFFIXES
        for text in imports.texts:
            yield from self._add_text(text, folders, suffixes)
        new_names = [name for name in imports.names if name not in self._imported_names]
        self._imported_names |= dict.fromkeys(new_names[: MAX_NAMES - len(self._imported_names)])
        for folder in [*self._search_folders]:
            yield from self._locate_all(new_names, folder)
        for level, name in imports.relative_names:
            yield from self._locate(name.split("."), file.parents[min(level, len(file.parents)) - 1])
        if imports.is_computed or len(self._imported_names) >= MAX_NAMES:
            yield from islice(_list_importable(file.parent), MAX_COMPUTED_FILES)

    def _find_search_folders(self, file: Path) -> list[Path]:
        """Return the folders in which a file may search modules: its own and those above, up to its root."""
        root = self._project if self._is_own(file) and self._project is not None else find_import_root(file.parent)
        return [folder for folder in file.parents if folder.is_relative_to(root)]

    def _add_search_folder(self, folder: Path) -> Iterator[Path]:
        if folder not in self._search_folders and len(self._search_folders) < MAX_SEARCH_FOLDERS:
            self._search_folders[folder] = None
            yield from self._locate_all(self._imported_names, folder)

    def _add_text(self, text: str, folders: Sequence[Path], suffixes: tuple[str, ...]) -> Iterator[Path]:
        """Yield the files that a text in a Python file names; a folder that it names may be one of Python's path.

        What stands before a placeholder, such as `{here}` in `{here}/tool.sh`, may be any folder.
        """
        parts = [part for part in re.split(r"[/\\]", text.rpartition("}")[2]) if part not in ("", ".", "..")]
        for folder in folders if parts else ():
            if parts[0] not in self._list_names(folder):
                continue
            path = folder.joinpath(*parts)
            if is_folder(path):
                yield from self._add_search_folder(path)
            elif path.name.endswith(suffixes) and is_file(path):
                yield path

    def _locate_all(self, names: Iterable[str], folder: Path) -> Iterator[Path]:
        known = {name.partition(".")[0] for name in self._list_names(folder)}
        for name in names:
            if name.partition(".")[0] in known:
                yield from self._locate(name.split("."), folder)

    def _locate(self, name: Sequence[str], folder: Path) -> Iterator[Path]:
        """Yield the files that are run when a module of that name is imported from a folder."""
        for part in name:
            known = self._list_names(folder)
            yield from (folder / f"{part}{suffix}" for suffix in IMPORTABLE_SUFFIXES if f"{part}{suffix}" in known)
            if part not in known or not is_folder(folder / part):
                return
            folder /= part
            inside = self._list_names(folder)
            names = (f"__init__{suffix}" for suffix in IMPORTABLE_SUFFIXES)
            yield from (folder / each for each in names if each in inside)

    def _list_names(self, folder: Path) -> frozenset[str]:
        if folder not in self._entries:
            try:
                self._entries[folder] = frozenset(each.name for each in folder.iterdir())
            except OSError:
                self._entries[folder] = frozenset()
        return self._entries[folder]

    # Servers

    def _add_servers(self, target: str) -> None:
        file = find_servers_file(target, Path.cwd())
        if file is not None:
            content = self._add_file(file)
            try:
                entries = [] if content is None else read_entries(file, content)
            except UsageError as error:
                self._notes[f"{file} is not understood: {error}"] = None
                return
            if content is None:
                self._notes[f"{file} cannot be read now"] = None
        elif is_address(text := target.removeprefix(PREFIX).strip()):
            entries = [ServerEntry(name=target, transport="http", url=text)]
        else:
            entries = [ServerEntry(name=target, command=split_command(target))]
        for entry in entries:
            self._servers.append(entry)
            if entry.command:
                for environ in (self._environ, _NO_VARIABLES):  # what runs now, and what runs without the variables
                    self._add_command(entry, environ)

    def _add_command(self, entry: ServerEntry, environ: Environ) -> None:
        words = [expand_variables(word, environ) for word in entry.command]
        # Without a file that names it, a server starts where the user stands: anywhere in the project.
        folder = entry.find_start_folder(environ) or self._project or Path.cwd()
        values = {name: expand_variables(value, environ) for name, value in entry.env.items()}
        self._fragments_left -= sum(1 for word in (*words, *values.values()) for _ in FRAGMENT.finditer(word))
        if self._fragments_left < 0:
            self._give_up(f"the servers have more than {MAX_FRAGMENTS} words")
            return
        use = resolve_command(words, folder, self._project)
        named = [*use.files, *(path for value in values.values() for path in find_paths(split_words(value), folder))]
        if any(name.upper() == "PATH" and self._may_find_own(value) for name, value in values.items()):
            use = replace(use, kind="anything")  # the program itself may be one of the project
        for path in named:
            if is_file(path):
                self._add_file(path)
        scripts = (path / "__main__.py" if is_folder(path) else path for path in use.files)
        outside = [path for path in scripts if self._project is None or not self._is_own(path.resolve())]
        if use.kind == "code":
            self._trace(path for path in outside if path.suffix == ".py" and is_file(path))
        if self._project is None:
            return
        for path in named:
            if is_folder(path) and self._is_own(path):
                # A folder after the name of a package is an argument, and perhaps full of data.
                is_argument = use.kind == "package" and path in use.files and path not in use.code
                self._add_folder(path, everything=not is_argument and use.kind != "code")
        if use.kind == "anything" and (self._is_own(use.folder) or any(map(self._is_own, named))):
            self._notes[
                f"{entry.program} may run any file in {self._project}, so all of them count: after a change of any you "
                "are asked again"
            ] = None
            self._add_folder(self._project, everything=True)
        elif use.kind == "code" and (self._is_own(use.folder) or any(map(self._is_own, named))):
            self._add_folder(self._project)

    def _may_find_own(self, path: str) -> bool:
        return any(not Path(each).is_absolute() or self._is_own(Path(each)) for each in path.split(os.pathsep))

    def _is_own(self, path: Path) -> bool:
        """Whether a path is in the project, or is a link to something that is."""
        if self._project is None:
            return False
        return path.is_relative_to(self._project) or Path(os.path.realpath(path)).is_relative_to(self._project)

    # Files

    def _add_folder(self, folder: Path, *, everything: bool = False) -> None:
        """List the files in a folder and below: all of them, or those of code."""
        if (folder, everything) in self._walked:
            return
        self._walked.add((folder, everything))
        count = 0
        for path, is_installed in walk(folder):
            count += 1
            if path is None:
                continue
            if count > 2 * MAX_SEEN_FILES or len(self._seen) > MAX_SEEN_FILES:
                self._give_up(f"{folder} has too many files to notice every change of one")
                return
            if path in self._files or not (everything or is_code(path)):
                continue
            if is_installed or len(self._files) >= MAX_TOOL_FILES:
                self._seen[str(path)] = _describe_state(path)
            else:
                self._hash(path)

    def _give_up(self, reason: str) -> None:
        self._is_complete = False
        self._notes[
            f'{reason}, so you are asked each time; give servers a "cwd" outside of the project, or fewer words'
        ] = None

    def _add_file(self, path: Path) -> bytes | None:
        self._named[path] = None
        return self._hash(path)

    def _hash(self, path: Path) -> bytes | None:
        """List a file, and return its content, if it can be read and is not too large."""
        content = _read(path, min(MAX_FILE_BYTES, self._bytes_to_read))
        self._bytes_to_read -= len(content or b"")
        self._files[path] = _hash_content(content)
        if content is None and is_file(path):
            self._files[path], self._seen[str(path)] = UNREAD, _describe_state(Path(os.path.realpath(path)))
        return content


# Files


def list_modules(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the Python files of a folder that is no package, and its packages: what a target of that folder means."""
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    inits = folder.glob("*/__init__.py")
    return files, sorted(path.parent for path in inits if not path.parent.name.startswith(("_", ".")))


def _list_tools(folder: Path) -> Iterator[Path]:
    if is_file(folder / "__init__.py"):
        yield from _list_importable(folder)
        return
    files, packages = list_modules(folder)
    yield from files
    for package in packages:
        yield from _list_importable(package)


def _list_importable(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below that Python can import, without installed packages, in their order."""
    for path, is_installed in islice(walk(folder), MAX_SEEN_FILES):
        if path is not None and not is_installed and path.name.endswith(IMPORTABLE_SUFFIXES):
            yield path


def walk(folder: Path) -> Iterator[tuple[Path | None, bool]]:
    """Yield the files in a folder and below, each with whether it looks installed: those come last.

    For each folder it yields None, so that whoever counts can stop in a tree of empty folders.

    Links to folders are followed once. What cannot be read is left out, since it cannot be run either. Compiled files
    that Python keeps beside their source are left out, since they are not believed.
    """
    installed: list[str] = []
    yield from ((path, False) for path in _walk(str(folder), set(), installed))
    seen = set[str]()
    for each in installed:
        yield from ((path, True) for path in _walk(each, seen, None))


def _walk(folder: str, seen: set[str], installed: list[str] | None) -> Iterator[Path | None]:
    for parent, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(parent)) in seen:
            folders.clear()
            continue
        seen.add(real)
        if installed is not None:
            for name in [each for each in folders if _looks_installed(parent, each)]:
                folders.remove(name)
                if name not in _LEFT_OUT:
                    installed.append(f"{parent}{os.sep}{name}")
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        if Path(parent).name == "__pycache__":
            names = [each for each in names if not _is_kept_by_python(parent, each)]
        yield None
        yield from (Path(parent, name) for name in sorted(names))


def _looks_installed(parent: str, name: str) -> bool:
    return name.startswith(".") or name == "node_modules" or is_file(Path(parent, name, "pyvenv.cfg"))


def _is_kept_by_python(parent: str, name: str) -> bool:
    """Whether a file in a `__pycache__` is the compiled form of a source beside that folder."""
    module, _, rest = name.partition(".")
    return rest.count(".") >= 1 and rest.endswith(".pyc") and is_file(Path(parent).with_name(f"{module}.py"))


def _read(path: Path, limit: int) -> bytes | None:
    """Return the content of a regular file; None if it cannot be read, is larger than the limit, or no file."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # no pipe is waited for
        with os.fdopen(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            # No more than its size: files of the system may have no end.
            return file.read(state.st_size) if stat.S_ISREG(state.st_mode) and state.st_size <= limit else None
    except (OSError, ValueError):
        return None


def _hash_content(content: bytes | None) -> str:
    return MISSING if content is None else hashlib.sha256(content).hexdigest()


def _describe_state(path: Path) -> list[int]:
    """Return numbers that change whenever a file is written to or replaced; its owner cannot set the last one."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return []
    return [state.st_ino, state.st_size, state.st_ctime_ns]


class _ImportReader:
    """Reads what a Python file may import, from its text: quickly, and rather too much than too little.

    Attributes:
        names: The modules that import statements name, with dots; of `from a import b` both `a` and `a.b`.
        relative_names: Those of relative imports, each with the number of its dots.
        texts: Texts that may name a module, a folder or a file.
        is_computed: Whether the file loads code by names that are computed.
        starts_programs: Whether it may start programs.
    """

    def __init__(self, content: bytes) -> None:
        self.names: dict[str, None] = {}
        self.relative_names: dict[tuple[int, str], None] = {}
        source = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
        code = source.replace("\f", " ").replace("\\\n", " ")
        code = _SPACED_DOTS.sub(lambda found: "." * found[0].count("."), code)
        self._chars_to_read = len(code)
        rest = _FROM_IMPORT.sub(self._add_import, code)
        for found in _IMPORT.findall(rest):
            self.names |= dict.fromkeys(_read_names(found))
        self.texts = dict.fromkeys(_TEXT.findall(source))
        self.names |= dict.fromkeys(name for text in self.texts if _is_module_name(name := text.strip(".")))
        is_read = self._chars_to_read >= 0
        self.is_computed = not is_read or _COMPUTED_IMPORT.search(rest) is not None
        self.starts_programs = not is_read or _PROGRAM_START.search(source) is not None

    def _add_import(self, found: "re.Match[str]") -> str:
        if len(found[1]) > MAX_PATH_CHARS:  # no file has such a name
            return " "
        module = normalize("NFKC", found[1].lstrip("."))
        level = len(found[1]) - len(found[1].lstrip("."))
        words = _read_names(found[2] or self._read_list(found.string, found.end()))
        for word in ("", *words):
            name = f"{module}.{word}" if module and word else module or word
            if len(self.names) + len(self.relative_names) >= MAX_NAMES:
                self._chars_to_read = -1
                break
            if level:
                self.relative_names[level, name] = None
            elif name:
                self.names[name] = None
        return " "

    def _read_list(self, code: str, start: int) -> str:
        """Return a list of names in brackets. It stays in the code: the import before it may be part of a text only.

        Lists of real code have no place in common, so that all of them are shorter than the code. Where they are not,
        the rest is not read, and the file counts as importing anything.
        """
        found = _NAME_LIST.match(code, start, start + max(self._chars_to_read, 0) + 1)
        if found is None:
            return ""
        self._chars_to_read -= len(found[0])
        return found[0]


def _read_names(text: str) -> list[str]:
    """Return the names in an import statement, as Python normalises them."""
    return [word for word in _DOTTED.findall(normalize("NFKC", text)) if word != "as"]


def _is_module_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
