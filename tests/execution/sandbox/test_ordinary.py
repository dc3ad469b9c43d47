"""Code that models write for maths, dates, text and JSON runs, and shows what a Python shell shows."""

import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case, sample
from tests.execution.sandbox.processes import has_ended
from toolspeak.execution.sandbox import (
    CodeResult,
    Confinement,
    SandboxLimits,
    detect_confinement,
    has_monty,
    run_code,
    run_full,
)
from toolspeak.execution.sandbox.full import CHILD_PACKAGE, bubblewrap_command
from toolspeak.execution.sandbox.monty import VALUE_BYTES, Packed, measure_value
from toolspeak.values.errors import UsageError

SNIPPETS: dict[str, dict[str, Any]] = {
    snippet["id"]: snippet
    for snippet in tomllib.loads(Path(__file__).with_name("ordinary.toml").read_text(encoding="utf-8"))["snippet"]
}

needs_monty = pytest.mark.skipif(not has_monty(), reason="pydantic-monty is not installed")
needs_confinement = pytest.mark.skipif(
    not detect_confinement().is_sufficient, reason="this machine cannot confine a process"
)
needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs processes as Unix has them")

BOTH = [pytest.param("monty", marks=needs_monty), pytest.param("full", marks=needs_confinement)]


def test_there_are_at_least_fifty():
    assert len(SNIPPETS) >= 50


@needs_confinement
@pytest.mark.parametrize("mode", ["auto", "full"])
@each_case("name", sample(SNIPPETS, 16), ids=str)
def test_it_works(name: str, mode: Any):
    snippet = SNIPPETS[name]
    done = run_code(snippet["code"], mode=mode, limits=SandboxLimits(seconds=10))
    assert done.error is None
    assert lines(done.stdout + (done.value or "")) == lines(snippet["shows"])


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1 + 1", CodeResult(mode="full", value="2")),
        ("x = 1", CodeResult(mode="full")),
        ("None", CodeResult(mode="full")),
        ("", CodeResult(mode="full")),
        ("'a'", CodeResult(mode="full", value="'a'")),
        ("print('a')\n[1, (2,), {'b': {3}}, set()]", CodeResult(mode="full", value="[1, (2,), {'b': {3}}, set()]", stdout="a\n")),
        ("print('ä€😀', end='')", CodeResult(mode="full", stdout="ä€😀")),
        ("b'x', 1.5, True, frozenset({1})", CodeResult(mode="full", value="(b'x', 1.5, True, frozenset({1}))")),
    ],
)  # fmt: skip
def test_both_modes_show_the_same(mode: Any, code: str, expected: CodeResult):
    done = run_code(code, mode=mode)
    assert (done.value, done.stdout, done.error) == (expected.value, expected.stdout, expected.error)
    assert done.mode == mode


@pytest.mark.parametrize("mode", BOTH)
def test_an_error_is_reported_with_its_place_and_what_was_printed_before(mode: Any):
    done = run_code("print('before')\nx = 1\nx / 0", mode=mode)
    assert done.stdout == "before\n"
    assert done.error is not None
    assert "line 3" in done.error
    assert done.error.endswith("ZeroDivisionError: division by zero")
    assert "toolspeak" not in done.error
    assert "launch" not in done.error


@pytest.mark.parametrize("mode", BOTH)
def test_a_syntax_error_is_reported(mode: Any):
    done = run_code("x = (", mode=mode)
    assert done.error is not None
    assert "SyntaxError" in done.error
    assert not done.stopped


@pytest.mark.parametrize("mode", BOTH)
def test_a_limit_is_reported_in_words(mode: Any):
    done = run_code("print('before')\nwhile True: pass", mode=mode, limits=SandboxLimits(seconds=0.3))
    assert done.stopped
    assert done.error is not None
    assert "0.3" in done.error or "300" in done.error
    done = run_code("print('x' * 2000)", mode=mode, limits=SandboxLimits(output=1000))
    assert done.error == "stopped: it printed more than 1000 characters"
    assert done.stdout == "x" * 1000


@pytest.mark.parametrize("mode", BOTH)
def test_a_long_value_is_cut(mode: Any):
    done = run_code("'x' * 2000", mode=mode, limits=SandboxLimits(output=1000))
    assert done.error is None
    assert 1000 <= len(done.value or "") <= 1001


@pytest.mark.parametrize("mode", BOTH)
def test_nothing_is_kept_between_two_runs(mode: Any):
    run_code("kept = 1", mode=mode)
    assert "NameError" in (run_code("kept", mode=mode).error or "")


@needs_monty
@needs_confinement
def test_auto_goes_on_where_monty_falls_short_but_not_past_a_limit():
    assert run_code("1 + 1").mode == "monty"
    assert run_code("import statistics\nstatistics.mean([1, 2])") == CodeResult(mode="full", value="1.5")
    done = run_code("while True: pass", limits=SandboxLimits(seconds=0.2))
    assert (done.mode, done.stopped) == ("monty", True)


@needs_confinement
def test_to_leave_is_no_error():
    assert run_code("import sys\nprint(1)\nsys.exit()", mode="full").error is None
    assert run_code("import sys\nsys.exit('no')", mode="full").error == "SystemExit: no"


@needs_confinement
def test_what_reads_input_finds_its_end():
    assert (run_code("input()", mode="full").error or "").endswith("EOFError: EOF when reading a line")


@needs_posix
def test_what_cannot_be_confined_is_refused_unless_that_is_wanted():
    with pytest.raises(UsageError, match=r"cannot be confined on this machine.*unsafe_local=True"):
        run_full("1", SandboxLimits(), confinement=Confinement())
    with pytest.raises(UsageError, match="cannot be confined"):
        run_full("1", SandboxLimits(), confinement=Confinement(landlock=True))
    assert run_full("1", SandboxLimits(), confinement=Confinement(), unsafe_local=True) == CodeResult(
        mode="full", value="1"
    )


@needs_posix
def test_a_wall_that_cannot_be_put_up_lets_nothing_run():
    with pytest.raises(UsageError, match=r"could not be confined, and was not run: .*sparc"):
        run_full(
            "1",
            SandboxLimits(),
            confinement=Confinement(landlock=detect_confinement().landlock, seccomp="sparc"),
            unsafe_local=True,
        )
    with pytest.raises(UsageError, match="could not be confined, and was not run"):
        run_full("1", SandboxLimits(), confinement=Confinement(bubblewrap="/bin/false"))


@needs_posix
def test_a_missing_program_is_reported_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match=r"not run: /no/bwrap cannot be started: No such file.*install bubblewrap"):
        run_full("1", SandboxLimits(), confinement=Confinement(bubblewrap="/no/bwrap"))
    with pytest.raises(UsageError, match=r"cannot be started: Permission denied; install bubblewrap"):
        run_full(
            "1", SandboxLimits(), confinement=Confinement(bubblewrap=str(Path(__file__).with_name("attacks.toml")))
        )
    monkeypatch.setattr(sys, "_base_executable", "/no/python")
    with pytest.raises(UsageError, match=r"not run: /no/python cannot be started.*repair this installation of Python"):
        run_full("1", SandboxLimits(), confinement=Confinement(), unsafe_local=True)


@pytest.mark.slow
@needs_posix
def test_even_unconfined_it_is_ended_with_its_processes_and_its_folder_is_removed():
    code = "import os, time\nprint(os.getcwd())\nchild = os.fork()\nif child: print(child)\nwhile True: time.sleep(1)"
    done = run_full(code, SandboxLimits(seconds=5), confinement=Confinement(), unsafe_local=True)
    assert done.error == "stopped: it took longer than 5 s"
    folder, child = done.stdout.split()
    assert not Path(folder).exists()
    assert has_ended(int(child))


@needs_confinement
def test_many_runs_at_a_time_do_not_mix():
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda n: run_code(f"print({n})\n{n} + 1", mode="full").value, range(12)))
    assert done == [str(n + 1) for n in range(12)]


@needs_confinement
def test_no_file_and_no_folder_is_left_behind(tmp_path: Path):
    code = (
        "from toolspeak.execution.sandbox import SandboxLimits, run_code\n"
        "run_code(\"open('a', 'w').write('x')\", mode='full')\n"
        "run_code(\"open('a', 'w').write('x')\\nwhile True: pass\", mode='full', limits=SandboxLimits(seconds=0.2))\n"
        "run_code('print(1)\\nwhile True: pass', mode='auto', limits=SandboxLimits(seconds=0.2))"
    )
    tmp_path.chmod(0o711)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=80, check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_mode_or_too_much_code_is_refused():
    mode: Any = "quick"
    with pytest.raises(UsageError, match="mode is 'monty', 'full' or 'auto', not 'quick'"):
        run_code("1", mode=mode)
    with pytest.raises(UsageError, match="300000 characters; at most 200000"):
        run_code("x" * 300_000)


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("code", ["\ud800", "'\ud800'", "x = '\0'", "\0", "\x0c1", "1\r\n", "﻿1"])
def test_strange_code_is_an_answer(mode: Any, code: str):
    assert isinstance(run_code(code, mode=mode), CodeResult)


def test_without_monty_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['pydantic_monty'] = None\n"
        "from toolspeak.execution.sandbox import SandboxLimits, run_monty\n"
        "try: run_monty('1', SandboxLimits())\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=80, check=True)
    assert done.stdout == "UsageError running Python in monty needs pydantic-monty: pip install toolspeak[sandbox]\n"


def test_monty_is_imported_when_it_is_used():
    code = "import toolspeak.builtin.python, sys; print('pydantic_monty' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=80, check=True)
    assert done.stdout == "False\n"


LAUGHS = "x = [0] * 1000\nfor _ in range(9): x = [x] * 1000\n"
TUPLES = "x = ('ha',)\nfor _ in range(4): x = (x,) * 100\n"


@needs_monty
@each_case(
    "code, start",
    {
        "lists": (f"{LAUGHS}x", "[" * 10 + "0, " * 13 + "0…"),
        "deep": ("x = []\nfor _ in range(10_000): x = [x]\nx", "[" * 40),
        "around": ("x = []\nx += [x, x]\nx", "[" * 40),
        "text": ("'x' * 100_000", f"'{'x' * 49}…"),
        "a long key": ("{'x' * 100_000: 1}", f"{{'{'x' * 48}…"),
        "a key": (f"{TUPLES}{{x: 1}}", "{" + "(" * 5 + "'ha',), ("),
        "a set": (f"{TUPLES}{{x}}", "{" + "(" * 5 + "'ha',), ("),
        "a frozenset": (f"{TUPLES}frozenset([x])", "frozenset({((((("),
        "keys with one hash": ("{n * (2**61 - 1): 0 for n in range(100_000)}", "{0: 0, 2305843009213693951: 0, "),
        "a result": (f"{TUPLES}async def f(): return {{x}}\nawait f()", "{((((("),
        "evaluated": (f"{TUPLES}eval('{{x}}')", "{((((("),
        "an integer": ("[1 << 10_000_000]", "[(an integer with too many digits"),
    },
)
def test_a_value_is_shown_with_no_more_work_than_it_is_worth(code: str, start: str):
    done = run_code(code, mode="monty", limits=SandboxLimits(output=50, seconds=60))

    assert done.error is None
    assert str(done.value).startswith(start)
    assert len(str(done.value)) <= 51


@needs_monty
@each_case(
    "code, shown",
    {
        "a comment after it": ("1 + 1  # two\n# end\n", "2"),
        "several lines": ("x = 3\n(x\n + 1)\n", "4"),
        "after a semicolon": ("x = 3; x", "3"),
        "before a semicolon": ("3;", "3"),
        "after a text": ('x = """\n1\n"""\nx', "'\\n1\\n'"),
        "in a text": ('x = """\n1\n"""', None),
        "a continued line": ("x = \\\n3", None),
        "in an if": ("if True: 3; 4", None),
        "in a block": ("for n in range(2):\n    n\n", None),
        "quotes": ("x = {'a': 1}\nf\"{x['a']} # {'(' * 2}\"", "'1 # (('"),
        "a tuple": ("1, 'a#', [2]", "(1, 'a#', [2])"),
        "a lambda": ("(lambda x: x)(3)", "3"),
        "its own repr": (
            "class A:\n    def __repr__(self): return 'me'\n[A(), ValueError('a')]",
            "[me, ValueError('a')]",
        ),
        "a named tuple": ("from collections import namedtuple\nnamedtuple('N', 'a b')(1, 'x')", "N(a=1, b='x')"),
    },
)
def test_the_last_expression_is_the_value(code: str, shown: str | None):
    done = run_code(code, mode="monty")

    assert (done.value, done.error) == (shown, None)


@needs_monty
def test_code_that_evaluates_bad_syntax_runs_once():
    done = run_code("print(1)\neval('(')", mode="monty")

    assert done.stdout == "1\n"
    assert "SyntaxError" in str(done.error)


@needs_monty
def test_a_traceback_shows_the_code_as_it_was_written():
    done = run_code("x = 0\n1 / x + 2", mode="monty")

    assert done.error is not None
    assert done.error.splitlines()[1:] == [
        '  File "<python-input-0>", line 2, in <module>',
        "    1 / x + 2",
        "    ~~~~~",
        "ZeroDivisionError: division by zero",
    ]


def test_a_value_is_measured_with_no_more_work_than_the_limit():
    laughs: Any = [0] * 1000
    for _ in range(9):
        laughs = [laughs] * 1000
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    for each in (laughs, {"a": laughs}, Packed(kind="tuple", items=(laughs,)), round_and_round):
        assert 10_000 < measure_value(each, 10_000) < 11_000  # and no more, since that is where it ends
    assert measure_value(deep, 10**9) == VALUE_BYTES * 100_001
    assert measure_value({"a": ["é", 2**30, b"xy", None]}, 10**6) == 7 * VALUE_BYTES + 1 + 4 + 10 + 2
    while deep:  # or Python would go down with it when it forgets it
        deep = deep[0]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize(
    "name", ["temporary files", "a database in a file", "an archive", "a callback from C, and threads"]
)
def test_files_work_in_bubblewrap(name: str):
    confinement = Confinement(seccomp=detect_confinement().seccomp, bubblewrap=shutil.which("bwrap"))
    code = f"import os\nopen(os.devnull, 'w').write('x')\nopen('/dev/urandom', 'rb').read(4)\n{SNIPPETS[name]['code']}"
    done = run_full(code, SandboxLimits(seconds=10), confinement=confinement)
    assert done.error is None
    assert lines(done.stdout + (done.value or "")) == lines(SNIPPETS[name]["shows"])


def test_bubblewrap_shows_python_and_nothing_else():
    command = bubblewrap_command("bwrap", ["python"], [CHILD_PACKAGE], disk=1000, root=False)
    assert command[0] == "bwrap"
    assert command[-2:] == ["--", "python"]
    assert {"--unshare-net", "--unshare-pid", "--unshare-user", "--die-with-parent", "--clearenv"} <= set(command)
    shown_paths = {command[place + 1] for place, word in enumerate(command) if word == "--ro-bind"}
    assert str(CHILD_PACKAGE) in shown_paths
    assert not shown_paths & {"/", "/etc", "/home", "/root", "/proc", "/usr"}
    assert command[command.index("--remount-ro") :].count("/") == 1
    assert "--dev" not in command
