"""`discover`: the tools of a module, a package, a file, a folder or an entry-point group.

No decorator is needed: every public function defined there that has type hints and a docstring is a tool. Functions
that were left out are listed with the reason in `Toolbox.skipped`.

Installed modules are imported as Python imports them. Files and folders that are named by a path are not put on
Python's path, where every library that tries an optional module (`import h2`) would find them: a finder of our own
(`_ListedImports`) serves exactly the files that `settings/resolver.py` lists for the target. It compiles their source,
and believes no compiled file beside it.
"""

import hashlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal, TypeGuard, cast

from toolspeak.settings.plugins import Plugin, find_plugin, list_plugin_names
from toolspeak.settings.resolver import Listing, find_import_root, list_code, list_modules, split_function
from toolspeak.tools.function_tool import Tool
from toolspeak.tools.toolbox import Skipped, Toolbox
from toolspeak.values.errors import UsageError


def discover(target: ModuleType | Path | str) -> Toolbox:
    """Find the tools in `target`.

    Args:
        target: A module, or a text or path that names one: `"package.module"`, `"package"` (with all its modules),
            `"file.py"`, `"folder/"`, `"package.module:function"`, the name of an entry-point group, or of a toolbox
            that an installed package offers (`settings/plugins.py`).

    Returns:
        The tools, in the order of the source; `.skipped` lists the functions that are not tools, and why.

    Raises:
        UsageError: Nothing has that name, a file fails to import, or two tools have the same name.
    """
    return discover_listed(target, None)


def discover_listed(target: ModuleType | Path | str, listing: Listing | None) -> Toolbox:
    """Find the tools in `target`, as `discover` does, and load of a project's folder only the files of a listing.

    Without a listing, one is made for the target.
    """
    if isinstance(target, ModuleType):
        return _collect_tools(_import_submodules(target))
    if not isinstance(cast("Any", target), str | Path):
        raise UsageError(f"discover takes a module, a name or a path, not {type(target).__name__}; see Toolbox([…])")
    text = str(target)
    if not text.strip():
        raise UsageError("an empty name finds nothing; give a module, a file or a folder")
    if isinstance(target, str) and (split := split_function(text)):
        return _select_function(discover_listed(split[0], listing), *split)
    path = Path(text)
    kind = _classify_path(path)
    if kind == "folder" and (isinstance(target, Path) or "/" in text or not is_importable(text)):
        _imports.add(listing or list_code([str(path.absolute())], text))
        return _collect_tools(_import_folder(path))
    if path.suffix == ".py" or kind == "file":
        return _collect_tools([import_file(path, listing=listing)])
    if isinstance(target, Path):
        raise UsageError(f"{target} is neither a Python file nor a folder")
    if is_importable(text):
        return _collect_tools(_import_submodules(_import(text)))
    from importlib.metadata import entry_points  # imported with the first target that is no module

    if points := entry_points(group=text):
        return _load_entry_points([(point.name, point.load) for point in points])
    if plugin := find_plugin("toolspeak.toolboxes", text):
        return _load_plugin(plugin)
    offered = list_plugin_names("toolspeak.toolboxes")
    others = f"; installed packages offer: {', '.join(offered)}" if offered else ""
    raise UsageError(
        f"{text!r} is no module, Python file, folder or entry-point group that can be found from here{others}"
    )


def _classify_path(path: Path) -> Literal["folder", "file", "nothing"]:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else "nothing"
    except OSError:  # a name that no file can have, a folder that may not be read
        return "nothing"


def _select_function(found: Toolbox, target: str, name: str) -> Toolbox:
    if name in found:
        return Toolbox([found[name]])
    for skipped in found.skipped:
        if skipped.name.rpartition(".")[2] == name:
            raise UsageError(f"{target}:{name} cannot be a tool: {skipped.reason}")
    raise UsageError(f"{target} has no function {name!r}; its tools are: {', '.join(found.names) or 'none'}")


def is_importable(name: str) -> bool:
    """Whether a name is that of a module that can be imported, or of one that fails when it is imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        # `a.b` where there is no `a` is not found; an import inside `a` that fails is an error to report.
        return not (name == error.name or name.startswith(f"{error.name}."))
    except (ImportError, ValueError, AttributeError):
        return True
    except Exception:  # a parent package that raises when imported: importing it for real names the file
        return True


def is_installed(package: str) -> bool:
    """Whether a package or module without a parent is found elsewhere than in the working directory.

    One that was imported from there, or from the folder of a tool, is not installed. Nothing is imported.
    """
    if not package.isidentifier():
        return False
    folders = [folder for folder in sys.path if folder and Path(folder).absolute() != Path.cwd()]
    return any(
        finder.find_spec(package, folders if finder is PathFinder else None) is not None
        for finder in sys.meta_path
        if finder is not _imports
    )


def _import(name: str) -> ModuleType:
    with _name_import_errors(name):
        return importlib.import_module(name)


def _import_submodules(module: ModuleType) -> list[ModuleType]:
    modules = [module]
    if hasattr(module, "__path__"):
        for info in sorted(pkgutil.iter_modules(module.__path__), key=lambda info: info.name):
            if not info.name.startswith("_"):
                modules += _import_submodules(_import(f"{module.__name__}.{info.name}"))
    return modules


def _import_folder(folder: Path) -> list[ModuleType]:
    if (folder / "__init__.py").is_file():
        with _imports.search(find_import_root(folder)):
            return _import_submodules(_import_listed(folder / "__init__.py"))
    files, packages = list_modules(folder)
    if not files and not packages:
        raise UsageError(f"there is no Python file in the folder {folder}")
    modules = [_import_listed(path) for path in files]
    return modules + [module for package in packages for module in _import_folder(package)]


def import_file(path: Path, *, name: str | None = None, listing: Listing | None = None) -> ModuleType:
    """Import a Python file, and what it imports from its folders as far as that is listed.

    Args:
        path: The file.
        name: The name under which the file is run once more; by default that in its package, or one that no other
            module has, and a file that was imported before is not run again.
        listing: What may be loaded; by default what is listed for the file.

    Raises:
        UsageError: There is no such file, or it fails to import.
    """
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    _imports.add(listing or list_code([str(path.absolute())], str(path)))
    return _import_listed(path, name)


def _import_listed(path: Path, name: str | None = None) -> ModuleType:
    path = path.resolve()
    # A file of a package is imported as a part of it, so that its relative imports work.
    root = find_import_root(path.parent)
    package = path.parent.relative_to(root).parts
    with _imports.search(root), _name_import_errors(str(path)):
        if not package or name is not None:
            return _import_alone(path, name)
        module = importlib.import_module(".".join(package if path.stem == "__init__" else (*package, path.stem)))
        if module.__file__ is None or Path(module.__file__).resolve() != path:
            raise UsageError(f"cannot import {path}: another module of that name is in use, {module.__file__}")
        return module


def _import_alone(path: Path, given_name: str | None) -> ModuleType:
    """Import a file that is in no package, under a name that no other module has, or under the given one."""
    name = given_name or f"{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules and given_name is None:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(_imports.take(spec))
    sys.modules[name] = module  # before it runs: pydantic and dataclasses look their module up here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _ListedLoader(SourceFileLoader):
    """Runs a source file whose hash is known. Compiled files are neither read nor written."""

    def __init__(self, name: str, path: str, digest: str) -> None:
        super().__init__(name, path)
        self._digest = digest

    def get_code(self, fullname: str) -> CodeType:
        content = self.get_data(self.path)
        _check_digest(self.path, content, self._digest)
        return self.source_to_code(content, self.path)


def _check_digest(path: str, content: bytes, digest: str) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        raise ImportError(f"{path} has changed since it was listed; run the command again", path=path)


class _ListedImports:
    """Finds the listed files in the folders of tools, for `import`. It is the first finder once tools were loaded.

    What is installed comes first: a file in a folder of tools takes no other module's place. A file there that is not
    listed is not found. In the folder of a project it is refused even if the tools put the folder on Python's path
    themselves, since nobody was asked about that file.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._guarded: dict[str, None] = {}
        self._roots: list[str] = []
        self._own_path: tuple[str, ...] = ()
        self._refused: dict[str, str] = {}

    def add(self, listing: Listing) -> None:
        """Let the files of a listing be imported."""
        if self not in sys.meta_path:
            self._own_path = tuple(f"{os.path.realpath(each)}{os.sep}" for each in sys.path)
            sys.meta_path.insert(0, self)
        self._digests |= {os.path.realpath(path): digest for path, digest in listing.files.items()}
        self._guarded |= {f"{folder}{os.sep}": None for folder in listing.folders}

    @contextmanager
    def search(self, root: Path) -> Generator[None]:
        """Search modules in a folder, before all others of tools while this lasts, and after them later."""
        self._roots.insert(0, str(root))
        try:
            yield
        finally:
            self._roots.remove(str(root))
            if str(root) not in self._roots:
                self._roots.append(str(root))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as the other finders do, or else among the listed files."""
        for finder in [*sys.meta_path]:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else cast("ModuleSpec | None", find(fullname, path, target))
            if spec is not None:
                return self._guard(spec) if finder is PathFinder else spec
        for root in [] if path is not None else self._roots:
            spec = PathFinder.find_spec(fullname, [root])
            if spec is None:
                continue
            if self._is_listed(spec):
                return self.take(spec)
            self._refused[fullname] = spec.origin or fullname
        return None

    def take(self, spec: ModuleSpec) -> ModuleSpec:
        """Return the spec of a listed file with a loader that runs what was listed and nothing else."""
        if spec.origin is None or spec.loader is None:  # a folder that is no package: its files are asked for later
            return spec
        digest = self._digests.get(os.path.realpath(spec.origin), "")
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader, spec.cached = _ListedLoader(spec.name, spec.origin, digest), None
        else:
            _check_digest(spec.origin, Path(spec.origin).read_bytes(), digest)
        return spec

    def explain(self, error: ModuleNotFoundError) -> str:
        """Return why a module was not found though there is such a file, as the end of a sentence."""
        file = self._refused.get(error.name or "")
        return f" ({file} is not loaded: no import statement of the tools names it, so write one)" if file else ""

    def _guard(self, spec: ModuleSpec) -> ModuleSpec:
        """Return a spec that Python found on its path, unless the file is one of a project and is not listed."""
        if spec.origin is None or spec.loader is None:
            return spec
        file = os.path.realpath(spec.origin)
        if file.startswith(self._own_path):
            return spec
        if file in self._digests:
            return self.take(spec)
        if not file.startswith(tuple(self._guarded)):
            return spec
        self._refused[spec.name] = file
        raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)

    def _is_listed(self, spec: ModuleSpec) -> bool:
        if spec.origin is not None and spec.loader is not None:
            return os.path.realpath(spec.origin) in self._digests
        folders = tuple(f"{os.path.realpath(each)}{os.sep}" for each in spec.submodule_search_locations or ())
        return any(file.startswith(folders) for file in self._digests)


_imports = _ListedImports()


@contextmanager
def _name_import_errors(what: str) -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise
    except UsageError as error:  # raised by toolspeak when the user's module called it
        raise UsageError(f"cannot import {what}: {error}") from error
    except SyntaxError as error:
        raise UsageError(f"cannot import {what}: {error.filename}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [each for each in frames if "importlib" not in each.filename and each.filename != __file__]
        place = f"{places[-1].filename}, line {places[-1].lineno}: " if places else ""
        reason = _imports.explain(error) if isinstance(error, ModuleNotFoundError) else ""
        raise UsageError(f"cannot import {what}: {place}{type(error).__name__}: {error}{reason}") from error


def _collect_tools(modules: list[ModuleType]) -> Toolbox:
    homes = {module.__name__ for module in modules}
    tools: dict[int, Tool[..., Any]] = {}
    skipped: list[Skipped] = []
    for module in modules:
        for name, item in list(vars(module).items()):
            if id(item) in tools or not (_is_tool(item) or inspect.isfunction(item)):
                continue
            # A function of toolspeak, such as `tool`, in a module that uses it: nobody misses that.
            if inspect.isfunction(item) and item.__module__ not in homes and item.__module__.startswith("toolspeak."):
                continue
            made = _make_tool(name, item, homes, module.__name__)
            if isinstance(made, Skipped):
                skipped.append(made)
            else:
                tools[id(item)] = made
    return Toolbox(tools.values(), skipped=skipped)


def _is_tool(item: Any) -> TypeGuard[Tool[..., Any]]:
    return isinstance(item, Tool)


def _make_tool(name: str, item: Any, homes: set[str], module: str) -> Tool[..., Any] | Skipped:
    function = item.function if _is_tool(item) else item
    home = getattr(function, "__module__", module)
    if _is_tool(item):
        return item if home in homes else Skipped(name=name, reason=f"imported from {home}")
    if home not in homes:
        return Skipped(name=name, reason=f"imported from {home}")
    if name.startswith("_"):
        return Skipped(name=name, reason="private: its name begins with an underscore")
    if not inspect.getdoc(item):
        return Skipped(name=name, reason="it has no docstring to tell a model what it does")
    try:
        return Tool(item)
    except UsageError as error:
        return Skipped(name=name, reason=str(error).removeprefix(f"{name}: "))


def _load_plugin(plugin: Plugin) -> Toolbox:
    """Load the tools that a package offers: a toolbox, a module of tools, a function or a list of them."""
    loaded = plugin.load()
    try:
        if isinstance(loaded, Toolbox):
            return loaded
        if isinstance(loaded, ModuleType):
            return discover(loaded)
        return Toolbox(cast("list[Any]", loaded) if isinstance(loaded, list | tuple) else [loaded])
    except UsageError as error:
        raise plugin.refuse(str(error)) from error


def _load_entry_points(points: list[tuple[str, Any]]) -> Toolbox:
    """Load tools from entry points; each names a function, a tool or a module of them."""
    tools: list[Tool[..., Any]] = []
    skipped: list[Skipped] = []
    for name, load in sorted(points, key=lambda point: point[0]):
        with _name_import_errors(f"the entry point {name!r}"):
            loaded = load()
        found = discover(loaded) if isinstance(loaded, ModuleType) else Toolbox([loaded])
        tools += found
        skipped += found.skipped
    return Toolbox(tools, skipped=skipped)
