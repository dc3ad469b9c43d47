"""Checks that no public name breaks without a word: `python scripts/api.py check`, or `save` for a release.

Public is what `docs/reference/` and `toolspeak.__all__` name. `save` writes these names, with members of classes and
the parameters of functions, as Python stubs into `scripts/api-surface.pyi`; `scripts/release.py cut` does it. `check`
describes the package of today in the same way, and lets griffe compare both (`griffe.find_breaking_changes`): names and
members that are gone, parameters that are gone, renamed, moved or newly required, defaults and bases that changed.

It is compared with the file of the last tag, or with the file in the tree where git has no tag: in an sdist, in a
shallow clone, and before the first release. A file is kept, and not the source at the tag loaded, because it works in
all three, takes a second instead of ten, and shows in a review what users will see.

A break that is meant has a line in `scripts/api-breaks.txt`: the path of what breaks, a colon, and why. What was marked
`typing_extensions.deprecated` in the last release may go without one (docs/stability.md).
"""

import difflib
import enum
import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Unpack, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
SURFACE = ROOT / "scripts" / "api-surface.pyi"
ALLOWED = ROOT / "scripts" / "api-breaks.txt"
MODULE_MARK = "# module "


# Describing


@cache
def find_public_names() -> dict[str, list[str]]:
    """Return the public names by the modules from which users import them."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/reference").glob("*.md")))
    toolspeak = importlib.import_module("toolspeak")
    paths = {f"toolspeak.{name}" for name in toolspeak.__all__ if name != "__version__"}
    for path in re.findall(r"^::: (\S+)", pages, re.M):
        module_name, _, name = path.rpartition(".")
        found = getattr(importlib.import_module(module_name), name)
        paths |= {f"{path}.{each}" for each in _list_members(found)} if isinstance(found, ModuleType) else {path}
    names: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        module_name, _, name = path.rpartition(".")
        names[module_name].append(name)
    return dict(sorted(names.items()))


def _list_members(module: ModuleType) -> list[str]:
    """Return the names that the reference shows of a module: those of `__all__`, or its own that have a docstring."""
    if declared := getattr(module, "__all__", None):
        return list(declared)
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    return [name for name, value in own.items() if not name.startswith("_") and getattr(value, "__doc__", None)]


def describe() -> str:
    """Return the public names as stubs, module by module."""
    lines = [
        "# Written by scripts/api.py: the public names of the last release, which the next ones are compared with."
    ]
    for module_name, names in find_public_names().items():
        module = importlib.import_module(module_name)
        lines += ["", f"{MODULE_MARK}{module_name}"]
        for name in names:
            lines += describe_value(name, getattr(module, name))
    return "\n".join(lines) + "\n"


def describe_value(name: str, value: Any) -> list[str]:
    """Return the lines for a class, a function or another value."""
    if isinstance(value, type) and getattr(value, "__origin__", None) is None:
        return describe_class(name, value)
    if inspect.isroutine(value):
        return describe_function(name, value)
    return [f"{name}: object"]


def describe_class(name: str, value: type) -> list[str]:
    """Return the lines for a class: its public bases, how it is made, and its public members, inherited ones too."""
    public = {each for names in find_public_names().values() for each in names}
    plain = {Exception, *Exception.__subclasses__()}  # of Python: users catch errors by them, too
    bases = [base.__name__ for base in value.__mro__[1:] if base.__name__ in public or base in plain]
    lines = [*_mark(value), f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"]
    body: list[str] = []
    if issubclass(value, enum.Enum):
        return [*lines, *(f"    {member.name} = {member.value!r}" for member in value)]
    makes_itself = is_dataclass(value) or any("__init__" in vars(each) for each in _own_classes(value))
    if makes_itself and not getattr(value, "_is_protocol", False):
        body += [f"def __init__({_format_parameters(value, is_method=True)}): ..."]
    members: dict[str, Any] = {}
    for each in reversed(_own_classes(value)):
        members |= dict.fromkeys(inspect.get_annotations(each))
        members |= vars(each)
    for member, found in sorted(members.items()):
        if not member.startswith("_"):
            body += _describe_member(member, found)
    return [*lines, *(f"    {line}" for line in body or ["..."])]


def _own_classes(value: type) -> list[type]:
    return [each for each in value.__mro__ if each.__module__.startswith("toolspeak")]


def _describe_member(name: str, found: Any) -> list[str]:
    if isinstance(found, staticmethod | classmethod):
        kind = "staticmethod" if isinstance(found, staticmethod) else "classmethod"
        return [f"@{kind}", *describe_function(name, found.__func__)]
    if inspect.isfunction(found):
        return describe_function(name, found)
    if isinstance(found, type):
        return describe_class(name, found)
    return [*_mark(getattr(found, "fget", None)), f"{name}: object"]


def describe_function(name: str, function: Any) -> list[str]:
    """Return the lines for a function."""
    kind = "async def" if inspect.iscoroutinefunction(function) else "def"
    return [*_mark(function), f"{kind} {name}({_format_parameters(function)}): ..."]


def _mark(value: Any) -> list[str]:
    return ["@deprecated"] if getattr(value, "__deprecated__", None) else []


def _format_parameters(function: Any, *, is_method: bool = False) -> str:
    """Return the parameters without their types: types are checked by the tests of typing."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a class that C wrote makes itself in its own way
        return "*args, **kwargs"
    if is_method and (not given or given[0].name != "self"):
        given = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *given]
    given = [each for one in given for each in _expand_options(one)]
    plain = [each.replace(annotation=inspect.Parameter.empty, default=_simplify(each.default)) for each in given]
    return str(inspect.Signature(plain))[1:-1]


def _expand_options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the options that `**options: Unpack[Options]` stands for, and other parameters as they are."""
    if parameter.kind is inspect.Parameter.VAR_KEYWORD and get_origin(parameter.annotation) is Unpack:
        [options] = get_args(parameter.annotation)
        names = getattr(get_origin(options) or options, "__annotations__", {})
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...) for name in names]
    return [parameter]


class _Expression(str):
    """A default that is written as it stands."""

    __slots__ = ()
    __repr__ = str.__str__


def _simplify(default: Any) -> Any:
    """Return a default whose text is the same in every process: plain values as they are, others as `...`."""
    if default is inspect.Parameter.empty or default is None or type(default) in (bool, int, float, str):
        return default
    return () if default == () else _Expression("...")


# Comparing


def split_modules(text: str) -> dict[str, str]:
    """Return the stubs of each module of a description."""
    parts = re.split(rf"^{MODULE_MARK}(\S+)\n", text, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def find_breaks(old: str, new: str) -> dict[str, str]:
    """Return what of the old description breaks in the new one: the path, and what happened."""
    import griffe

    before, after = split_modules(old), split_modules(new)
    breaks = dict.fromkeys(before.keys() - after.keys(), "the module has no public names any more")
    for name in sorted(before.keys() & after.keys()):
        path = Path(f"{name.replace('.', '/')}.py")
        old_module = griffe.visit(name, path, before[name])
        new_module = griffe.visit(name, path, after[name])
        deprecated = {each.path for each in _list_objects(old_module) if "deprecated" in _list_decorators(each)}
        for breakage in griffe.find_breaking_changes(old_module, new_module):
            path_of = breakage.obj.path
            if path_of not in deprecated:
                words = breakage.explain(griffe.ExplanationStyle.ONE_LINE)
                breaks[path_of] = re.sub(r"\x1b\[[0-9;]*m", "", words).partition(": ")[2] or words
        breaks |= _find_lost_bases(old_module, new_module)
    return breaks


def _find_lost_bases(old_module: Any, new_module: Any) -> dict[str, str]:
    """Return the classes that are no longer what they were: griffe counts bases and does not compare them."""
    now = {each.path: set(map(str, each.bases)) for each in _list_objects(new_module) if each.is_class}
    lost = {
        each.path: set(map(str, each.bases)) - now[each.path]
        for each in _list_objects(old_module)
        if each.is_class and each.path in now
    }
    return {path: f"it is no {' and no '.join(sorted(bases))} any more" for path, bases in lost.items() if bases}


def _list_objects(parent: Any) -> Iterator[Any]:
    for each in parent.members.values():
        yield each
        yield from _list_objects(each)


def _list_decorators(found: Any) -> set[str]:
    return {str(each.value) for each in getattr(found, "decorators", ())}


def read_allowed(text: str) -> dict[str, str]:
    """Return the breaks that are meant, with their reasons. Raises `ValueError` for a line without a reason."""
    allowed: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        path, _, reason = line.partition(":")
        if not reason.strip():
            raise ValueError(f"{ALLOWED.name}: {line!r} has no reason; write the path, a colon, and why it breaks")
        allowed[path.strip()] = reason.strip()
    return allowed


def load_released() -> tuple[str, str]:
    """Return the description of the last release, and where it is from."""
    if (ROOT / ".git").exists():
        tag = _git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
        if tag and (text := _git("show", f"{tag}:{SURFACE.relative_to(ROOT).as_posix()}")):
            return f"{text}\n", f"the tag {tag}"
    return SURFACE.read_text(encoding="utf-8"), f"{SURFACE.relative_to(ROOT)}, since git knows no tag of a release"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607 (git of the developer)
    return done.stdout.strip() if done.returncode == 0 else ""


def report(breaks: dict[str, str], allowed: dict[str, str]) -> Iterator[str]:
    """Yield a line for each break that is not meant, and for each line of the list that names none."""
    for path, words in breaks.items():
        if path not in allowed:
            yield f"{path}: {words}"
    for path in allowed.keys() - breaks.keys():
        near = difflib.get_close_matches(path, breaks, 1)
        yield f"{ALLOWED.name} allows {path}, which does not break" + (f"; did you mean {near[0]}?" if near else "")


def check() -> int:
    """Compare the package with the last release; return the exit status."""
    released, origin = load_released()
    breaks = find_breaks(released, describe())
    faults = sorted(report(breaks, read_allowed(ALLOWED.read_text(encoding="utf-8"))))
    print("\n".join(faults))
    if faults:
        print(
            f"compared with {origin}. Keep the old name for one minor release (docs/stability.md), or, if the break is "
            f"meant, write a line into {ALLOWED.relative_to(ROOT)}"
        )
        return 1
    print(f"public names: compared with {origin}; {len(breaks)} breaks, all of them meant")
    return 0


def save(allowed_header: Iterable[str] = ()) -> int:
    """Write what the next releases are compared with, and empty the list of breaks that are meant."""
    SURFACE.write_text(describe(), encoding="utf-8")
    header = [line for line in ALLOWED.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    ALLOWED.write_text("\n".join([*header, *allowed_header]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["check"], ["save"]):
        sys.exit(f"usage: python {sys.argv[0]} check|save")
    sys.exit(check() if sys.argv[1] == "check" else save())
