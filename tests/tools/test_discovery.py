"""`discover`: tools from a module, package, file, folder or entry-point group, and reasons for what was left out."""

import importlib
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.cases import each_case

from toolspeak import Toolbox, UsageError, discover
from toolspeak.settings.resolver import list_code
from toolspeak.tools.discovery import discover_listed

PLAIN = '''
"""Some tools."""
import json
from os.path import join
from dataclasses import dataclass

@dataclass
class Box:
    size: int

class NotAFunction:
    """A class."""

def second(x: int) -> int:
    """Come first in the file."""
    return x

def first(box: Box, y: str = "a") -> str:
    """Come second in the file."""
    return y

async def third() -> None:
    """Wait."""

def _private(x: int) -> int:
    """Hidden."""
    return x

def silent(x: int) -> int:
    return x

def unhinted(x):
    """Take anything."""
    return x

def spread(*words: str) -> str:
    """Take many."""
    return " ".join(words)

alias = second
'''


@pytest.fixture(autouse=True)
def _modules_forgotten() -> Iterator[None]:
    """What a test imports is forgotten after it."""
    modules, path = dict(sys.modules), list(sys.path)
    importlib.invalidate_caches()
    yield
    for name in sys.modules.keys() - modules.keys():
        if not name.startswith(("pydantic", "griffe", "toolspeak")):
            del sys.modules[name]
    sys.path[:] = path


def written(folder: Path, **files: str) -> Path:
    """Files written to a folder; `a__b` is `a/b.py`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/', 1) if not name.startswith('__') else name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def one(name: str, body: str = "return x") -> str:
    return f'def {name}(x: int) -> int:\n    """Do {name}."""\n    {body}\n'


def reasons(box: Toolbox) -> dict[str, str]:
    return {skipped.name: skipped.reason for skipped in box.skipped}


# Targets


def test_a_file_gives_its_tools_in_the_order_they_are_written(tmp_path: Path):
    box = discover(written(tmp_path, plain=PLAIN) / "plain.py")
    assert box.names == ("second", "first", "third")
    assert box["first"].bind({"box": {"size": "3"}}).kwargs["box"].size == 3


def test_what_was_skipped_is_listed_with_its_reason(tmp_path: Path):
    found = reasons(discover(written(tmp_path, plain=PLAIN) / "plain.py"))
    assert found == {
        "join": "imported from posixpath",
        "dataclass": "imported from dataclasses",
        "_private": "private: its name begins with an underscore",
        "silent": "it has no docstring to tell a model what it does",
        "unhinted": "the parameter 'x' has no type hint; write x: str, for example",
        "spread": "*words has no schema; take one list instead, such as words: list[str]",
    }


def test_the_decorator_of_a_file_is_not_among_what_was_skipped(tmp_path: Path):
    text = "from toolspeak import tool\nfrom toolspeak.testing import says\n\n@tool(effect='read')\n" + one("go")
    box = discover(written(tmp_path, plain=text) / "plain.py")
    assert (box.names, box.skipped) == (("go",), ())


@pytest.mark.parametrize("form", [str, Path])
def test_a_path_may_be_text_or_a_path(tmp_path: Path, form: type):
    written(tmp_path, plain=one("go"))
    assert discover(form(tmp_path / "plain.py")).names == ("go",)
    assert discover(form(tmp_path)).names == ("go",)


def test_a_relative_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path, plain=one("go"))
    monkeypatch.chdir(tmp_path)
    assert discover("plain.py").names == ("go",)
    assert discover("./plain.py").names == ("go",)


def test_neighbours_of_a_file_do_not_shadow_installed_modules(tmp_path: Path):
    shadow = 'raise RuntimeError("this is not the module that was meant")'
    text = "import colorsys, beside\n" + one("go", "return beside.VALUE + int(bool(colorsys.rgb_to_hsv))")
    written(tmp_path, plain=text, colorsys=shadow, beside="VALUE = 1")
    sys.modules.pop("colorsys", None)
    path = list(sys.path)
    assert discover(tmp_path / "plain.py")["go"].function(0) == 2
    assert sys.path == path


def test_a_module_object():
    module = ModuleType("made_by_hand")
    exec(one("go"), module.__dict__)
    assert discover(module).names == ("go",)


def test_a_dotted_name(tmp_path: Path):
    written(tmp_path, pkg____init__="", pkg__tools=one("go"))
    (tmp_path / "pkg" / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    assert discover("pkg.tools").names == ("go",)


def package(folder: Path, name: str) -> Path:
    home = folder / name
    (home / "deep").mkdir(parents=True)
    (home / "__init__.py").write_text(one("at_the_top") + "\nfrom .alpha import in_alpha\n")
    (home / "alpha.py").write_text("from .beta import in_beta\n" + one("in_alpha"))
    (home / "beta.py").write_text("from . import _hidden\n" + one("in_beta"))
    (home / "_hidden.py").write_text(one("in_hidden"))
    (home / "deep" / "__init__.py").write_text("")
    (home / "deep" / "gamma.py").write_text("from ..beta import in_beta as borrowed\n" + one("in_gamma"))
    return home


ALL = {"at_the_top", "in_alpha", "in_beta", "in_gamma"}


def test_a_package_is_read_with_its_submodules(tmp_path: Path):
    package(tmp_path, "by_name")
    sys.path.insert(0, str(tmp_path))
    assert set(discover("by_name").names) == ALL
    assert set(discover(importlib.import_module("by_name")).names) == ALL


def test_a_folder_that_is_a_package_is_read_with_its_submodules(tmp_path: Path):
    assert set(discover(package(tmp_path, "by_folder")).names) == ALL


def test_a_folder_is_read_with_its_files_and_packages(tmp_path: Path):
    package(tmp_path, "inside")
    written(tmp_path, loose=one("in_loose"), _hidden=one("not_me"))
    (tmp_path / "notes.txt").write_text("def no(x: int): ...")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "__init__.py").write_text(one("nor_me"))
    box = discover(f"{tmp_path}/")
    assert box.names[0] == "in_loose"
    assert set(box.names) == {"in_loose", *ALL}


def test_a_file_of_a_package_may_import_relatively(tmp_path: Path):
    home = package(tmp_path, "relative")
    assert discover(home / "deep" / "gamma.py").names == ("in_gamma",)
    assert reasons(discover(home / "alpha.py")) == {"in_beta": "imported from relative.beta"}


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path):
    written(tmp_path, helper_beside="FACTOR = 3\n", main=f"from helper_beside import FACTOR\n{one('go')}")
    before = list(sys.path)
    assert discover(tmp_path / "main.py").names == ("go",)
    assert sys.path == before


def test_a_package_may_import_what_lies_beside_it(tmp_path: Path):
    written(tmp_path, beside_the_package="FACTOR = 3\n")
    home = tmp_path / "pkg_beside"
    home.mkdir()
    (home / "__init__.py").touch()
    (home / "inner.py").write_text(f"from beside_the_package import FACTOR\n{one('go')}")
    assert discover(home).names == ("go",)


def test_a_file_that_tidies_the_path_away_is_no_problem(tmp_path: Path):
    written(tmp_path, tidy="import sys\nsys.path.pop(0)\n" + one("go"))
    assert discover(tmp_path / "tidy.py").names == ("go",)


def test_files_of_one_name_in_two_folders_stay_apart(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, same=one(f"in_{name}"))
    assert discover(tmp_path / "a" / "same.py").names == ("in_a",)
    assert discover(tmp_path / "b" / "same.py").names == ("in_b",)


def test_packages_of_one_name_in_two_folders_are_not_mixed_up(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name / "twin").mkdir(parents=True)
        (tmp_path / name / "twin" / "__init__.py").write_text(one(f"in_{name}"))
    assert discover(tmp_path / "a" / "twin").names == ("in_a",)
    with pytest.raises(UsageError, match=r"cannot import .*twin.*another module of that name") as caught:
        discover(tmp_path / "b" / "twin")
    assert str(tmp_path / "a" / "twin" / "__init__.py") in str(caught.value)


def test_a_package_with_the_name_of_a_standard_module_is_not_mistaken_for_it(tmp_path: Path):
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text(one("go"))
    with pytest.raises(UsageError, match="another module of that name"):
        discover(tmp_path / "json")


def test_module_and_function(tmp_path: Path):
    written(tmp_path, plain=PLAIN)
    assert discover(f"{tmp_path}/plain.py:first").names == ("first",)
    sys.path.insert(0, str(tmp_path))
    assert discover("plain:second").names == ("second",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("unhinted", "plain.py:unhinted cannot be a tool: the parameter 'x' has no type hint; write x: str"),
        ("silent", "cannot be a tool: it has no docstring"),
        ("nobody", "has no function 'nobody'; its tools are: second, first, third"),
    ],
)
def test_a_function_that_is_no_tool_is_an_error_with_the_reason(tmp_path: Path, name: str, reason: str):
    written(tmp_path, plain=PLAIN)
    with pytest.raises(UsageError) as caught:
        discover(f"{tmp_path}/plain.py:{name}")
    assert reason in str(caught.value)


def test_a_decorated_function_needs_no_docstring_and_keeps_its_name(tmp_path: Path):
    written(
        tmp_path,
        decorated="from toolspeak import tool\n\n"
        "@tool(name='renamed', effect='read')\ndef go(x: int) -> int:\n    return x\n\n"
        "@tool\ndef _private(x: int) -> int:\n    return x\n",
    )
    box = discover(tmp_path / "decorated.py")
    assert box.names == ("renamed", "_private")
    assert box["renamed"].spec.effect == "read"


def test_what_a_module_imports_is_not_taken(tmp_path: Path):
    written(
        tmp_path,
        lender="from toolspeak import tool\n" + one("lent") + f"@tool\n{one('lent_tool')}",
        borrower="from lender import lent, lent_tool\n" + one("own"),
    )
    box = discover(tmp_path / "borrower.py")
    assert box.names == ("own",)
    assert reasons(box) == {"lent": "imported from lender", "lent_tool": "imported from lender"}


def test_two_tools_of_one_name_in_two_files_are_an_error_that_names_both(tmp_path: Path):
    written(tmp_path, one_file=one("go"), other_file=one("go"))
    with pytest.raises(UsageError) as caught:
        discover(tmp_path)
    assert "two tools are called 'go'" in str(caught.value)
    assert "one_file" in str(caught.value)
    assert "other_file" in str(caught.value)


def test_a_file_is_run_once(tmp_path: Path):
    log = tmp_path / "log"
    written(tmp_path, counting=f"with open({str(log)!r}, 'a') as log:\n    log.write('run ')\n{one('go')}")
    assert discover(tmp_path / "counting.py").names == discover(tmp_path / "counting.py").names == ("go",)
    assert log.read_text() == "run "


# Which files are loaded


def test_a_library_does_not_find_optional_modules_beside_a_file(tmp_path: Path):
    library = tmp_path / "library"
    written(
        library, tries_optional="try:\n    import optional_beside as found\nexcept ImportError:\n    found = None\n"
    )
    sys.path.insert(0, str(library))
    home = written(
        tmp_path / "home",
        optional_beside="raise SystemExit('it ran')",
        plain="import tries_optional\n" + one("go", "return tries_optional.found is None"),
    )
    assert discover(home / "plain.py")["go"].function(0) is True


@each_case("invalidation", [py_compile.PycInvalidationMode.TIMESTAMP, py_compile.PycInvalidationMode.UNCHECKED_HASH])
def test_a_compiled_file_is_not_believed(tmp_path: Path, invalidation: py_compile.PycInvalidationMode):
    evil, folder = tmp_path / "evil.py", tmp_path / invalidation.name
    evil.write_text("raise SystemExit('it ran')")
    for name in ("plain", "helper_compiled"):
        written(folder, **{name: "import helper_compiled\n" + one("go") if name == "plain" else "VALUE = 1"})
        source = folder / f"{name}.py"
        cached = Path(importlib.util.cache_from_source(str(source)))
        py_compile.compile(str(evil), cfile=str(cached), invalidation_mode=invalidation)
        if (
            invalidation is py_compile.PycInvalidationMode.TIMESTAMP
        ):  # the header has the time and the size of the source
            data, status = bytearray(cached.read_bytes()), source.stat()
            data[8:16] = int(status.st_mtime).to_bytes(4, "little") + status.st_size.to_bytes(4, "little")
            cached.write_bytes(bytes(data))
    sys.modules.pop("helper_compiled", None)
    assert discover(folder / "plain.py").names == ("go",)


@each_case(
    "text, helper",
    {
        "import statement": ("import listed_helper\n", "listed_helper.py"),
        "in a function, later": ("", "listed_later.py"),
        "submodule": ("import listed_pkg.sub\n", "listed_pkg/sub.py"),
        "from a folder that is no package": ("from listed_space.sub import VALUE\n", "listed_space/sub.py"),
        "constant name": ("import importlib\nimportlib.import_module('listed_text')\n", "listed_text.py"),
        "computed name": ("import importlib\nimportlib.import_module('listed_' + 'sum')\n", "listed_sum.py"),
        "computed name in a folder": (
            "import importlib\nfor x in ['a']:\n    importlib.import_module(f'listed_parts.{x}')\n", "listed_parts/a.py",
        ),
        "a folder on the path": (
            "import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'listed_lib'))\nimport listed_in\n",
            "listed_lib/listed_in.py",
        ),
    },
)  # fmt: skip
def test_what_a_file_imports_from_its_folder_is_listed_and_loaded(tmp_path: Path, text: str, helper: str):
    folder = tmp_path / helper.replace("/", "-")
    (folder / helper).parent.mkdir(parents=True)
    (folder / helper).write_text("VALUE = 1\n")
    if helper == "listed_pkg/sub.py":
        (folder / "listed_pkg" / "__init__.py").touch()
    body = "import listed_later\n    return listed_later.VALUE" if helper == "listed_later.py" else "return x"
    written(folder, plain=text + one("go", body))
    assert folder / helper in list_code([str(folder / "plain.py")], "here").files
    assert discover(folder / "plain.py")["go"].function(1) == 1


def test_of_a_project_only_listed_files_are_loaded(tmp_path: Path):
    """The tools put their folder on the path, and import what appeared after the question."""
    text = "import sys, os\nsys.path.insert(0, os.path.dirname(__file__))\ntry:\n    import new_beside\nexcept ImportError:\n    raise\n"
    written(tmp_path, plain=text + one("go"))
    listing = list_code([str(tmp_path / "plain.py")], "here", project=tmp_path)
    written(tmp_path, new_beside="raise SystemExit('it ran')")
    with pytest.raises(UsageError, match=r"new_beside.*is not loaded: no import statement of the tools names it"):
        discover_listed(str(tmp_path / "plain.py"), listing)
    (tmp_path / "plain.py").write_text(one("other"))
    with pytest.raises(UsageError, match="has changed since it was listed"):
        discover_listed(str(tmp_path / "plain.py"), listing)


# Entry points


def entry_points(folder: Path, lines: str) -> None:
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[my.tools]\n{lines}")
    sys.path.insert(0, str(folder))


def test_an_entry_point_group_may_name_modules_functions_and_tools(tmp_path: Path):
    written(
        tmp_path,
        plugin_module=one("from_module") + "def silent(x: int): ...\n",
        plugin_function=one("from_function"),
        plugin_tool="from toolspeak import tool\n" + f"made = tool(name='from_tool')(lambda: 1)\n{one('go')}",
    )
    entry_points(tmp_path, "c = plugin_tool:made\na = plugin_module\nb = plugin_function:from_function\n")
    box = discover("my.tools")
    assert box.names == ("from_module", "from_function", "from_tool")
    assert reasons(box) == {"silent": "it has no docstring to tell a model what it does"}


def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path: Path):
    entry_points(tmp_path, "gone = no_such_module_at_all:x\n")
    with pytest.raises(UsageError, match=r"cannot import the entry point 'gone': .*no_such_module_at_all"):
        discover("my.tools")


# Failures


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\ndef broken(:\n", "line 2"),
        (
            "x = 1\nimport no_such_module_at_all\n",
            "line 2: ModuleNotFoundError: No module named 'no_such_module_at_all'",
        ),
        ("from os import no_such_name\n", "ImportError: cannot import name 'no_such_name'"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye"),
        ("raise SystemExit\n", "SystemExit"),
        ("def f():\n    f()\nf()\n", "RecursionError"),
        ("x = '\x00'\n", "null bytes"),
        ("assert False\n", "AssertionError"),
    ],
)
def test_a_file_that_fails_to_import_is_an_error_that_names_it_and_the_line(tmp_path: Path, text: str, told: str):
    written(tmp_path, broken=text)
    for target in (tmp_path / "broken.py", str(tmp_path), f"{tmp_path}/broken.py:go"):
        with pytest.raises(UsageError) as caught:
            discover(target)
        assert f"cannot import {tmp_path}/broken.py" in str(caught.value)
        assert told in str(caught.value)


def test_a_file_that_is_no_text_is_an_error_that_names_it(tmp_path: Path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError, match=r"cannot import .*binary\.py"):
        discover(tmp_path / "binary.py")


def test_a_failure_in_a_module_that_a_file_imports_names_both(tmp_path: Path):
    written(tmp_path, outer="import inner_broken\n", inner_broken="\n1 / 0\n")
    with pytest.raises(UsageError) as caught:
        discover(tmp_path / "outer.py")
    assert f"cannot import {tmp_path}/outer.py: {tmp_path}/inner_broken.py, line 2: ZeroDivisionError" in str(
        caught.value
    )


def test_a_broken_submodule_of_a_package_is_named(tmp_path: Path):
    home = tmp_path / "cracked"
    home.mkdir()
    (home / "__init__.py").touch()
    (home / "fine.py").write_text(one("go"))
    (home / "rotten.py").write_text("def broken(:\n")
    with pytest.raises(UsageError, match=r"rotten\.py, line 1"):
        discover(home)


def test_a_failed_file_leaves_nothing_behind(tmp_path: Path):
    modules, path = set(sys.modules), list(sys.path)
    with pytest.raises(UsageError):
        discover(written(tmp_path, broken="1 / 0") / "broken.py")
    assert set(sys.modules) == modules
    assert sys.path == path


@pytest.mark.parametrize("target", ["no_such_module", "no.such.module", "os.no_such", "two words", "x" * 5000, "\x00"])
def test_a_target_that_is_nothing_is_an_error_that_names_it(target: str):
    with pytest.raises(UsageError, match="is no module, Python file, folder or entry-point group"):
        discover(target)


def test_paths_that_are_nothing_are_errors_that_name_them(tmp_path: Path):
    with pytest.raises(UsageError, match=r"there is no file .*gone\.py"):
        discover(tmp_path / "gone.py")
    with pytest.raises(UsageError, match="neither a Python file nor a folder"):
        discover(tmp_path / "gone")
    with pytest.raises(UsageError, match="there is no Python file in the folder"):
        discover(tmp_path)


def test_a_module_without_tools_is_an_empty_toolbox(tmp_path: Path):
    box = discover(written(tmp_path, empty="x = 1\n") / "empty.py")
    assert len(box) == 0
    assert box.skipped == ()
