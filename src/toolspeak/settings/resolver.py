"""What targets run, and where they send: the files, commands, environment variables and addresses, in one list.

The question whether to trust a project, its fingerprint, the tools that a conversation remembers, and the loader all
use this list, and nothing else answers that question. The loader (`tools/discovery.py`) loads no file that is not
listed, so what is missing here is refused; it does not run unseen.

- **Python tools** run in this process. Listed are their files, the packages around them, and what these import from the
  same folders: by import statements, and by texts that name a module or a folder. A file that imports by computed names
  (`import_module(name)`) may import anything, so all importable files of its folder are listed.
- **Servers** are programs, and no loader can hold them. Listed are all files that their words and variables name, and
  the files among which the program chooses: for Python the importable files of the folder that it searches first, for a
  shell or an unknown program every file of the project. A program such as `npx`, which runs an installed package, does
  not choose among the files of the folder.

Nothing is run or imported to make the list, and variables are read for the names of files only: neither the list nor
a fingerprint tells the value of one.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from importlib.machinery import all_suffixes
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from toolspeak.settings.files import Environ
from toolspeak.settings.server_targets import (
    PREFIX,
    ServerEntry,
    expand_variables,
    find_servers_file,
    is_address,
    read_entries,
    split_command,
)
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

if TYPE_CHECKING:
    import ast

MAX_TOOL_FILES = 2000
"""How many Python files the targets may have; and of how many files of a project the content is read."""

MAX_SEEN_FILES = 50_000
"""Of how many files of a project, beyond those that are read, it is noticed that they were replaced or written to."""

MAX_COMPUTED_FILES = 1000
"""How many files are listed for one that imports by computed names. What it imports beyond them is refused."""

MISSING = "missing"

_SUFFIXES = tuple(all_suffixes())
_NODE_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".json", ".node", ".wasm")
_SCRIPT_SUFFIXES = (*_SUFFIXES, *_NODE_SUFFIXES, ".sh", ".bash", ".rb", ".pl", ".lua", ".bat", ".cmd", ".ps1")

_LEFT_OUT = frozenset({"__pycache__", ".git", ".hg", ".svn", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""Folders whose files nobody runs. `__pycache__` is one of them since nothing here believes compiled files in it."""

_PACKAGE_RUNNERS = frozenset("npx bunx pnpx uvx pipx".split())
_CONTAINER_RUNNERS = frozenset({"docker", "podman"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")

_COMPUTED_IMPORTS = frozenset(
    "import_module __import__ iter_modules walk_packages spec_from_file_location run_path run_module SourceFileLoader "
    "exec eval compile".split()
)
"""Functions that load code. With a constant text, the first two import that module and nothing else."""

_MODULE_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_FRAGMENT = re.compile(r"[^\s'\"`;|&<>(){}\[\],=]+")
MAX_NAME_CHARS = 255
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
            if _hash_content(_read(path)) != self.files[path]:
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
    while (folder / "__init__.py").is_file():
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
        self._traced: set[Path] = set()
        self._search_folders: dict[Path, None] = {}
        self._imported_names: dict[tuple[str, ...], None] = {}
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
        if split is not None and not _exists(path):
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
        folder = path if path.is_dir() else path.parent
        self._folders[find_import_root(folder)] = None
        if self._project is not None and folder.resolve().is_relative_to(self._project):
            self._folders[self._project] = None
        self._trace(_list_tools(path) if path.is_dir() else [path])

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
                self._trace(_list_importable(place) if place.is_dir() else [place])

    def _trace(self, files: Iterable[Path]) -> None:
        """List Python files, the packages around them, and what they import from their folders."""
        waiting = [*files]
        while waiting:
            file = waiting.pop()
            if file in self._traced:
                continue
            self._traced.add(file)
            if len(self._traced) > MAX_TOOL_FILES:
                raise UsageError(
                    f"{self._where}: tools name more than {MAX_TOOL_FILES} files; name the files that are meant"
                )
            content = self._add_file(file)
            folder = file.resolve().parent  # relative imports and packages are those of the file that a link means
            while (folder / "__init__.py").is_file():
                waiting.append(folder / "__init__.py")
                folder = folder.parent
            if content is not None and file.suffix == ".py":
                waiting += self._find_imports(file.resolve(), content)

    def _find_imports(self, file: Path, content: bytes) -> Iterator[Path]:
        import ast  # imported with the first Python file

        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # it cannot run
            return
        folders = self._find_search_folders(file)
        imports = _ImportReader(tree)
        for text in imports.texts:
            yield from self._add_text(text, folders)
        for folder in folders:
            yield from self._add_search_folder(folder)
        for name in (
            *imports.names,
            *(tuple(text.split(".")) for text in imports.texts if _MODULE_NAME.fullmatch(text)),
        ):
            if name not in self._imported_names:
                self._imported_names[name] = None
                yield from self._locate(name, self._search_folders)
            yield from self._locate(name, [file.parent])
        for level, name in imports.relative_names:
            base = file.parents[min(level, len(file.parents)) - 1]
            yield from self._locate(name, [base])
        if imports.is_computed:
            yield from islice(_list_importable(file.parent), MAX_COMPUTED_FILES)

    def _find_search_folders(self, file: Path) -> list[Path]:
        """Return the folders in which a file may search modules: its own and those above, up to its root."""
        root = self._project if self._is_own(file) and self._project is not None else find_import_root(file.parent)
        return [folder for folder in file.parents if folder.is_relative_to(root)]

    def _add_search_folder(self, folder: Path) -> Iterator[Path]:
        if folder not in self._search_folders:
            self._search_folders[folder] = None
            for name in self._imported_names:
                yield from self._locate(name, [folder])

    def _add_text(self, text: str, folders: Sequence[Path]) -> Iterator[Path]:
        """Yield the scripts that a text in a Python file names; a folder that it names may be one of Python's path."""
        parts = [part for part in re.split(r"[/\\]", text) if part not in ("", ".", "..")]
        if not parts or len(text) > MAX_NAME_CHARS or "\0" in text:
            return
        for folder in folders:
            if parts[0] not in self._list_names(folder):
                continue
            path = folder.joinpath(*parts)
            if path.is_dir():
                yield from self._add_search_folder(path)
            elif path.suffix in _SCRIPT_SUFFIXES and path.is_file():
                yield path

    def _locate(self, name: Sequence[str], folders: Iterable[Path]) -> Iterator[Path]:
        """Yield the files that are run when a module of that name is imported from one of the folders."""
        for start in [*folders]:
            folder = start
            for part in name:
                known = self._list_names(folder)
                yield from (folder / f"{part}{suffix}" for suffix in _SUFFIXES if f"{part}{suffix}" in known)
                if part not in known or not (folder / part).is_dir():
                    break
                folder /= part
                inside = self._list_names(folder)
                yield from (folder / f"__init__{suffix}" for suffix in _SUFFIXES if f"__init__{suffix}" in inside)

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
            self._add_file(file)
            try:
                entries = read_entries(file)
            except UsageError as error:
                self._notes[f"{file} is not understood: {error}"] = None
                return
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
        use = resolve_command(words, folder, self._project)
        for path in use.files:
            self._add_named(path, follow=use.kind != "package")
        for name, text in entry.env.items():
            value = expand_variables(text, environ)
            for path in _find_paths(_split(value), folder):
                self._add_named(path, follow=True)
            if name.upper() == "PATH" and any(
                not Path(each).is_absolute() or self._is_own(Path(each)) for each in value.split(os.pathsep)
            ):  # the program itself may be one of the project
                use = replace(use, kind="anything")
        if self._project is not None:
            self._add_choices(entry, use)
        else:
            scripts = (path / "__main__.py" if path.is_dir() else path for path in use.files)
            self._trace(path for path in scripts if path.suffix == ".py" and path.is_file())

    def _add_named(self, path: Path, *, follow: bool) -> None:
        if path.is_file():
            self._add_file(path)
        elif follow and self._is_own(path):
            self._add_folder(path, everything=True)

    def _add_choices(self, entry: ServerEntry, use: "CommandUse") -> None:
        """List the files of the project among which the program of a server chooses."""
        is_inside = self._is_own(use.folder) or any(map(self._is_own, use.files))
        if use.kind == "package":
            for path in _find_installed(use.words, use.folder):
                self._add_named(path, follow=True)
        elif not is_inside or self._project is None:
            return
        elif use.kind == "anything":
            self._notes[
                f"{entry.program} may run any file in {self._project}, so all of them count: after a change of any you "
                "are asked again"
            ] = None
            self._add_folder(self._project, everything=True)
        elif self._is_own(use.folder):
            self._add_folder(use.folder, suffixes=_SUFFIXES if use.kind == "python" else _NODE_SUFFIXES)

    def _is_own(self, path: Path) -> bool:
        return self._project is not None and Path(os.path.realpath(path)).is_relative_to(self._project)

    # Files

    def _add_folder(self, folder: Path, *, everything: bool = False, suffixes: tuple[str, ...] = ("",)) -> None:
        if (folder, everything) in self._walked:
            return
        self._walked.add((folder, everything))
        for path in walk(folder, skip_installed=not everything):
            if not path.name.endswith(suffixes) or path in self._files:
                continue
            if len(self._files) < MAX_TOOL_FILES:
                self._files[path] = _hash_content(_read(path))
            elif len(self._seen) < MAX_SEEN_FILES:
                self._seen[str(path)] = _describe_state(path)
            else:
                self._is_complete = False
                self._notes[
                    f"{folder} has more than {MAX_SEEN_FILES} files, too many to notice every change, so you are asked "
                    'each time; give the server a "cwd" outside of the project, or name its files elsewhere'
                ] = None
                return

    def _add_file(self, path: Path) -> bytes | None:
        content = _read(path)
        self._files[path] = _hash_content(content)
        self._named[path] = None
        return content


# Commands


@frozen
class CommandUse:
    """What the command line of a server runs.

    Attributes:
        files: The files and folders that its words name.
        folder: The folder that decides what runs: where it starts, or where its script is.
        kind: Among which files the program chooses: importable files of `folder`, those of Node, those of a package
            that is installed, or anything.
        words: The words.
        is_tied_to_folder: Whether the folder in which the program starts decides what runs, beyond files that the words
            name.
    """

    files: tuple[Path, ...]
    folder: Path
    kind: Literal["python", "node", "package", "anything"]
    words: Sequence[str]
    is_tied_to_folder: bool


def resolve_command(words: Sequence[str], folder: Path, project: Path | None = None) -> CommandUse:
    """Return what a command line that starts in a folder runs. Words that no rule understands may run anything."""
    files = tuple(_find_paths((fragment for word in words for fragment in _split(word)), folder))
    program = Path(words[0]).name.removesuffix(".exe").removesuffix(".cmd") if words else ""
    own_program = (folder / words[0]).absolute() if words and Path(words[0]).name != words[0] else None
    is_foreign = own_program is None or project is None or not own_program.is_relative_to(project)
    if not is_foreign and own_program is not None and (venv := own_program.parent.parent / "pyvenv.cfg").is_file():
        files, is_foreign = (*files, venv.parent), True
    kind: Literal["python", "node", "package", "anything"] = "anything"
    place, is_tied = folder, True
    if (is_foreign and program in _PACKAGE_RUNNERS) or (program in _CONTAINER_RUNNERS and "run" in words[1:2]):
        kind, is_tied = "package", False
    elif is_foreign and _PYTHON.fullmatch(program):
        option, script = _read_python_words(words[1:])
        if option == "-m" and script:
            kind = "python"
            files = (*files, *_find_modules(script, folder))
        elif option is None and script:
            path = (folder / script).absolute()
            place = path if path.is_dir() else Path(os.path.realpath(path)).parent
            kind, is_tied = "python", False
    elif is_foreign and program == "node" and len(words) > 1 and not words[1].startswith("-"):
        kind, place, is_tied = "node", (folder / words[1]).absolute().parent, False
    return CommandUse(files=files, folder=place, kind=kind, words=words, is_tied_to_folder=is_tied)


def _read_python_words(words: Sequence[str]) -> tuple[str | None, str]:
    """Return the option that says what Python runs, `-m` or `-c`, or None for a script; and the module or script."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            return (None, word) if word != "-" else ("-", "")
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(rest, "")
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in "cm":
                return f"-{letter}", word[place:] or next(rest, "")
            if letter in "WX":
                if not word[place:]:
                    next(rest, "")
                break
    return "-", ""


def _find_modules(name: str, folder: Path) -> Iterator[Path]:
    place = folder.joinpath(*name.split("."))
    yield from (path for path in (place, place.with_name(f"{place.name}.py")) if _exists(path))


def _find_installed(words: Sequence[str], folder: Path) -> Iterator[Path]:
    """Yield what `npx` and its like take from a folder instead of the registry."""
    yield from (folder / name for name in (".npmrc", "bunfig.toml") if (folder / name).is_file())
    for word in words[1:]:
        name = re.sub(r"(?<=.)@[^/]*$", "", word)
        if not name.startswith("-") and re.fullmatch(r"[@\w./-]{1,214}", name) and ".." not in name:
            short = name.rpartition("/")[2]
            for path in (folder / "node_modules" / name, folder / "node_modules" / ".bin" / short):
                if short and _exists(path):
                    yield path


def _split(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be names: the word, its parts between separators, and words inside it."""
    yield word
    try:
        inside = shlex.split(word)
    except ValueError:
        inside = []
    for each in {*inside, *_FRAGMENT.findall(word)} - {word}:
        yield each
        yield from (part for part in re.split("[:=]", each) if part and part != each)
    option, sign, value = word.partition("=")
    if sign and option.startswith("-") and value:
        yield value
    yield from (part for part in re.split("[:=]", word) if part and part != word)


def _find_paths(names: Iterable[str], folder: Path) -> list[Path]:
    """Return the files and folders that names mean in a folder."""
    found: dict[Path, None] = {}
    for name in names:
        if name in (".", "./") or len(name) > 4096 or "\0" in name:
            continue
        path = Path(
            os.path.normpath((folder / Path(name).expanduser() if name.startswith("~") else folder / name).absolute())
        )
        if _exists(path):
            found[path] = None
    return list(found)


# Files


def list_modules(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the Python files of a folder that is no package, and its packages: what a target of that folder means."""
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    inits = folder.glob("*/__init__.py")
    return files, sorted(path.parent for path in inits if not path.parent.name.startswith(("_", ".")))


def _list_tools(folder: Path) -> Iterator[Path]:
    if (folder / "__init__.py").is_file():
        yield from _list_importable(folder)
        return
    files, packages = list_modules(folder)
    yield from files
    for package in packages:
        yield from _list_importable(package)


def _list_importable(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below that Python can import, in the order of their names."""
    return (path for path in islice(walk(folder), MAX_SEEN_FILES) if path.name.endswith(_SUFFIXES))


def walk(folder: Path, *, skip_installed: bool = True) -> Iterator[Path]:
    """Yield the files in a folder and in those below it. Links to folders are followed once. What cannot be read is
    left out, since it cannot be run either.

    `skip_installed` leaves out environments with installed packages, and hidden folders.
    """
    seen = set[str]()
    for parent, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(parent)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not _is_left_out(parent, name, skip_installed=skip_installed))
        yield from (Path(parent, name) for name in sorted(names))


def _is_left_out(parent: str, name: str, *, skip_installed: bool) -> bool:
    if name in _LEFT_OUT:
        return True
    return skip_installed and (
        name.startswith(".") or name == "node_modules" or Path(parent, name, "pyvenv.cfg").is_file()
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that no file can have as its name
        return False


def _read(path: Path) -> bytes | None:
    """Return the content of a regular file; None if it cannot be read, or is a pipe, which could be waited for."""
    try:
        return path.read_bytes() if path.is_file() else None
    except (OSError, ValueError):
        return None


def _hash_content(content: bytes | None) -> str:
    return MISSING if content is None else hashlib.sha256(content).hexdigest()


def _describe_state(path: Path) -> list[int]:
    """Return numbers that change whenever a file is written to or replaced; its owner cannot set the last one."""
    try:
        state = path.lstat()
    except OSError:
        return []
    return [state.st_ino, state.st_size, state.st_ctime_ns]


class _ImportReader:
    """Reads what a Python file may import.

    Attributes:
        names: The modules that import statements name; of `from a import b` both `a` and `a.b`.
        relative_names: Those of relative imports, each with the number of its dots.
        texts: Texts that may name a module, a folder or a script.
        is_computed: Whether the file loads code by names that are computed.
    """

    def __init__(self, tree: "ast.Module") -> None:
        import ast  # see `_find_imports`

        self.names: dict[tuple[str, ...], None] = {}
        self.relative_names: list[tuple[int, tuple[str, ...]]] = []
        self.texts: dict[str, None] = {}
        self.is_computed = False
        constant_imports: set[int] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    self.names |= {tuple(alias.name.split(".")): None for alias in node.names}
                case ast.ImportFrom():
                    module = tuple((node.module or "").split(".")) if node.module else ()
                    for name in (module, *((*module, alias.name) for alias in node.names)):
                        if node.level:
                            self.relative_names.append((node.level, name))
                        elif name:
                            self.names[name] = None
                    self.is_computed |= any(alias.name in _COMPUTED_IMPORTS and alias.asname for alias in node.names)
                case ast.Constant(value=str() as text) if text and len(text) <= MAX_NAME_CHARS and "\n" not in text:
                    self.texts[text.lstrip(".") if _MODULE_NAME.fullmatch(text.lstrip(".")) else text] = None
                case ast.Call(args=[ast.Constant(value=str()), *_], func=function) if _is_import(function):
                    constant_imports.add(id(function))
                case ast.Name(id=name) if name in _COMPUTED_IMPORTS and id(node) not in constant_imports:
                    self.is_computed = True
                case ast.Attribute(attr=name) if name in _COMPUTED_IMPORTS and id(node) not in constant_imports:
                    self.is_computed |= name not in ("compile", "eval", "exec")  # re.compile, model.eval
                case _:
                    pass


def _is_import(function: "ast.expr") -> bool:
    return getattr(function, "id", getattr(function, "attr", "")) in ("import_module", "__import__")
