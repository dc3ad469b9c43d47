"""`discover`: the tools of a module, a package, a file, a folder or an entry-point group.

No decorator is needed: every public function defined there that has type hints and a docstring is a tool. Functions
that were left out are listed with the reason in `Toolbox.skipped`. Code is imported as Python imports it.
"""

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeGuard, cast

from toolspeak.settings.plugins import Plugin, find_plugin, list_plugin_names
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
        The tools, in the order in which they are written; `.skipped` lists the functions that were left out, and why.

    Raises:
        UsageError: Nothing has that name, a file fails to import, or two tools have the same name.
    """
    if isinstance(target, ModuleType):
        return _collect_tools(_import_submodules(target))
    if not isinstance(cast("Any", target), str | Path):
        raise UsageError(f"discover takes a module, a name or a path, not {type(target).__name__}; see Toolbox([…])")
    text = str(target)
    if not text.strip():
        raise UsageError("an empty name finds nothing; give a module, a file or a folder")
    if isinstance(target, str) and (split := _split_function(text)):
        return _select_function(discover(split[0]), *split)
    path = Path(text)
    kind = _classify_path(path)
    if kind == "folder" and (isinstance(target, Path) or "/" in text or not is_importable(text)):
        return _collect_tools(_import_folder(path))
    if path.suffix == ".py" or kind == "file":
        return _collect_tools([_import_file(path)])
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


def _split_function(text: str) -> tuple[str, str] | None:
    r"""Split `module:function` in two; a drive letter (`C:\tools.py`) is not a module."""
    before, colon, after = text.rpartition(":")
    return (before, after) if colon and after.isidentifier() and len(before) > 1 else None


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
        with _extend_path(_find_import_root(folder)):
            return _import_submodules(_import_file(folder / "__init__.py"))
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    packages = sorted(
        path.parent for path in folder.glob("*/__init__.py") if not path.parent.name.startswith(("_", "."))
    )
    if not files and not packages:
        raise UsageError(f"there is no Python file in the folder {folder}")
    modules = [_import_file(path) for path in files]
    return modules + [module for package in packages for module in _import_folder(package)]


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    path = path.resolve()
    # A file of a package is imported as a part of it, so that its relative imports work.
    root = _find_import_root(path.parent)
    package = path.parent.relative_to(root).parts
    with _extend_path(root), _name_import_errors(str(path)):
        if not package:
            return _import_alone(path)
        module = importlib.import_module(".".join(package if path.stem == "__init__" else (*package, path.stem)))
        if module.__file__ is None or Path(module.__file__).resolve() != path:
            raise UsageError(f"cannot import {path}: another module of that name is in use, {module.__file__}")
        return module


def _find_import_root(folder: Path) -> Path:
    """Return the folder that holds the outermost package to which `folder` belongs."""
    folder = folder.resolve()
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _import_alone(path: Path) -> ModuleType:
    """Import a file that is in no package, under a name that no other module has."""
    name = f"{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: pydantic and dataclasses look their module up here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _extend_path(folder: Path) -> Generator[None]:
    """Let modules beside the file be imported while it loads, unless installed ones have the same names.

    A module that a function of the file imports later, when it is called, must be installed.
    """
    sys.path.append(str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file may have removed it itself
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(str(folder))]  # an earlier one is not ours


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
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
        place = f"{places[-1].filename}, line {places[-1].lineno}: " if len(places) > 1 else ""
        raise UsageError(f"cannot import {what}: {place}{type(error).__name__}: {error}") from error


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
