"""The file tools: what they do inside of their folder, and that there is no way out of it."""

import os
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from toolspeak.builtin import files as module
from toolspeak.builtin._root_folder import MAX_FILE_BYTES, RootFolder
from toolspeak.builtin.files import FileTools
from toolspeak.tools import Toolbox, discover
from toolspeak.values.errors import ToolError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs folders as Unix has them")

SECRET = "not for models"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project, and beside it what does not belong to it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.py").write_text("def main():\n    return 1\n\n\nmain()\n")
    (project / "README.md").write_text("# Project\n")
    return project


@pytest.fixture
def tools(root: Path) -> Toolbox:
    return FileTools(root)


def call(tools: Toolbox, name: str, **arguments: object) -> str:
    bound = tools[name].bind(arguments)
    return tools[name](*bound.args, **bound.kwargs)


def test_they_are_discovered_with_what_they_change():
    found = discover("toolspeak.builtin.files")
    assert found.names == ("read_file", "list_files", "search_files", "write_file", "edit_file")
    assert [tool.spec.effect for tool in found] == ["read", "read", "read", "once", "once"]
    assert [tool.spec.approve for tool in found] == [False, False, False, True, True]
    assert discover("toolspeak.builtin").names == (*found.names, "run_python", "run_shell")


def test_they_work_in_the_working_folder(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(root)
    assert module.read_file("README.md") == "# Project\n"


def test_some_can_be_left_out_and_nobody_asked(root: Path):
    assert FileTools(root, read_only=True).names == ("read_file", "list_files", "search_files")
    assert not any(tool.spec.approve for tool in FileTools(root, approve=False))


# ------------------------------------------------------------------------------------------------------------- reading


def test_reading_whole_and_by_lines(tools: Toolbox, root: Path):
    assert call(tools, "read_file", path="src/app.py") == "def main():\n    return 1\n\n\nmain()\n"
    assert call(tools, "read_file", path="src/app.py", first_line=2, last_line=2) == "    return 1\n"
    assert call(tools, "read_file", path="./src//app.py", first_line=5, last_line=99) == "main()\n"
    assert call(tools, "read_file", path=f"{root}/README.md") == "# Project\n"
    with pytest.raises(ToolError, match="has 5 lines; there is no line 6"):
        call(tools, "read_file", path="src/app.py", first_line=6)
    with pytest.raises(ToolError, match="has 1 line; there is no line 2"):
        call(tools, "read_file", path="README.md", first_line=2)


def test_an_empty_file_is_said_to_be_empty(tools: Toolbox, root: Path):
    (root / "empty").touch()
    assert call(tools, "read_file", path="empty") == "(empty)"


def test_a_long_file_is_cut_with_a_word_on_how_to_go_on(tools: Toolbox, root: Path):
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 10_001)))
    text = call(tools, "read_file", path="long.txt")
    assert len(text) < module.MAX_SHOWN_CHARS + 200
    following = int(text.rpartition("first_line=")[2].rstrip(")"))
    assert text.splitlines()[-3 if text.splitlines()[-2] == "" else -2] == f"line {following - 1}"
    assert call(tools, "read_file", path="long.txt", first_line=following).startswith(f"line {following}\n")
    (root / "wide.txt").write_text("x" * 100_000)
    assert len(call(tools, "read_file", path="wide.txt")) < module.MAX_SHOWN_CHARS + 200


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("picture.png", b"\x89PNG\0\0", "is a binary file"),
        ("latin.txt", b"caf\xe9", "is not a text file in UTF-8"),
        ("huge.txt", b"x" * (MAX_FILE_BYTES + 1), "is larger than"),
    ],
)
def test_what_is_no_text_is_refused(tools: Toolbox, root: Path, name: str, content: bytes, said: str):
    (root / name).write_bytes(content)
    with pytest.raises(ToolError, match=f"{name} {said}"):
        call(tools, "read_file", path=name)
    with pytest.raises(ToolError, match=f"{name} {said}"):
        call(tools, "write_file", path=name, content="new")
    assert (root / name).read_bytes() == content


def test_what_is_not_there_is_said(tools: Toolbox):
    with pytest.raises(ToolError, match=r"^no/such\.txt does not exist$"):
        call(tools, "read_file", path="no/such.txt")
    with pytest.raises(ToolError, match=r"^src is a folder; list_files shows what is in it$"):
        call(tools, "read_file", path="src")
    with pytest.raises(ToolError, match=r"README\.md leads through something that is not a folder"):
        call(tools, "list_files", folder="README.md")
    with pytest.raises(ToolError, match="the path of a file is missing"):
        call(tools, "read_file", path="")


def test_listing(tools: Toolbox, root: Path):
    (root / ".git").mkdir()
    (root / ".git" / "config").touch()
    assert call(tools, "list_files").splitlines() == [".git/", "README.md", "src/"]
    assert call(tools, "list_files", folder="src") == "src/app.py"
    assert call(tools, "list_files", recursive=True, pattern="*.py") == "src/app.py"
    assert ".git/config" not in call(tools, "list_files", recursive=True)
    assert call(tools, "list_files", folder="src", pattern="*.md") == "(nothing)"


def test_a_long_listing_is_cut(tools: Toolbox, root: Path):
    for number in range(module.MAX_ENTRIES + 10):
        (root / "src" / f"{number}.txt").touch()
    listed = call(tools, "list_files", folder="src").splitlines()
    assert len(listed) == module.MAX_ENTRIES + 1
    assert "more than 1000" in listed[-1]


def test_searching(tools: Toolbox, root: Path):
    (root / "binary").write_bytes(b"main\0")
    assert call(tools, "search_files", text="main()").splitlines() == [
        "src/app.py:1: def main():",
        "src/app.py:5: main()",
    ]
    assert call(tools, "search_files", text="PROJECT", ignore_case=True) == "README.md:1: # Project"
    assert call(tools, "search_files", text="PROJECT") == "(not found)"
    assert call(tools, "search_files", text="main", pattern="*.md") == "(not found)"
    assert call(tools, "search_files", text="(a+)+$") == "(not found)"
    with pytest.raises(ToolError, match="some characters of one line"):
        call(tools, "search_files", text="")


def test_a_search_that_finds_too_much_is_cut(tools: Toolbox, root: Path):
    (root / "many.txt").write_text("needle " + "x" * 1000 + "\n")
    (root / "more.txt").write_text("needle\n" * 1000)
    found = call(tools, "search_files", text="needle").splitlines()
    assert len(found) == module.MAX_MATCHES + 1
    assert max(map(len, found)) < module.MAX_LINE_CHARS + 50


# ------------------------------------------------------------------------------------------------------------- writing


def test_writing_a_new_file_and_over_an_old_one(tools: Toolbox, root: Path):
    assert call(tools, "write_file", path="new/deep/file.txt", content="a\nb\n") == "wrote new/deep/file.txt: 2 lines"
    assert call(tools, "write_file", path="one.txt", content="a\n") == "wrote one.txt: 1 line"
    assert (root / "new/deep/file.txt").read_text() == "a\nb\n"
    changed = call(tools, "write_file", path="new/deep/file.txt", content="a\nc\n")
    assert changed == "--- a/new/deep/file.txt\n+++ b/new/deep/file.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c"


def test_a_change_of_too_many_lines_is_written_and_summed_up(tools: Toolbox, root: Path):
    (root / "big").write_text("".join(f"{n % 300}\n" for n in range(20_000)))
    new = "".join(f"{n * 7 % 300}\n" for n in range(20_000))
    changed = call(tools, "write_file", path="big", content=new)
    assert changed == (
        "--- a/big\n+++ b/big\n@@ -1,20000 +1,20000 @@\n… (20000 lines replaced by 20000 lines; too many to compare)"
    )
    assert (root / "big").read_text() == new


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_long_change_is_cut_at_the_limit(tools: Toolbox, root: Path, extra: int):
    head = len("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+")
    line = "y" * (module.MAX_SHOWN_CHARS - head + extra)
    (root / "f").write_text("x\n")
    changed = call(tools, "write_file", path="f", content=f"{line}\n")
    assert changed.endswith("\n… (cut)") == (extra == 1)
    assert len(changed.removesuffix("\n… (cut)")) == module.MAX_SHOWN_CHARS + min(extra, 0)


def test_editing_shows_what_changed(tools: Toolbox, root: Path):
    (root / "src" / "app.py").chmod(0o750)
    changed = call(tools, "edit_file", path="src/app.py", old="return 1", new="return 2")
    assert "-    return 1\n+    return 2" in changed
    assert (root / "src" / "app.py").read_text() == "def main():\n    return 2\n\n\nmain()\n"
    assert (root / "src" / "app.py").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return 3", "x", "does not have this text"),
        ("main()", "x", "has this text 2 times"),
        ("", "x", "the text to replace is empty"),
        ("return 1", "return 1", "nothing would change"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing(tools: Toolbox, root: Path, old: str, new: str, said: str):
    before = (root / "src" / "app.py").read_bytes()
    with pytest.raises(ToolError, match=said):
        call(tools, "edit_file", path="src/app.py", old=old, new=new)
    assert (root / "src" / "app.py").read_bytes() == before


def test_a_text_that_would_be_too_large_is_not_built(tools: Toolbox, root: Path):
    (root / "a.txt").write_text("a" * 100_000)
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match=r"a.txt would have 20000000 bytes; at most 5000000 can be written"):
            call(tools, "edit_file", path="a.txt", old="a", new="b" * 200, every=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 2_000_000
    assert (root / "a.txt").read_text() == "a" * 100_000


def test_every_place_can_be_edited(tools: Toolbox, root: Path):
    call(tools, "edit_file", path="src/app.py", old="main()", new="run()", every=True)
    assert (root / "src" / "app.py").read_text().count("run()") == 2


def test_the_ends_of_lines_stay(tools: Toolbox, root: Path):
    (root / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    call(tools, "edit_file", path="dos.txt", old="a\nb", new="x\ny")
    assert (root / "dos.txt").read_bytes() == b"x\r\ny\r\nc\r\n"


def test_nothing_is_left_beside_a_file(tools: Toolbox, root: Path):
    call(tools, "write_file", path="src/app.py", content="new\n")
    assert [path.name for path in (root / "src").iterdir()] == ["app.py"]
    (root / "folder").mkdir()
    with pytest.raises(ToolError, match="is a folder"):
        call(tools, "write_file", path="folder", content="x")
    with pytest.raises(ToolError, match="at most"):
        call(tools, "write_file", path="src/app.py", content="x" * (MAX_FILE_BYTES + 1))
    assert (root / "src/app.py").read_text() == "new\n"


def test_readers_see_the_old_file_or_the_new_one(tools: Toolbox, root: Path):
    texts = {"a" * 200_000, "b" * 200_000}
    (root / "file").write_text("a" * 200_000)
    seen: set[str] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.add((root / "file").read_text())

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(40):
        call(tools, "write_file", path="file", content="ab"[number % 2] * 200_000)
    stop.set()
    reader.join()
    assert seen <= texts


def test_a_file_that_changed_in_the_meantime_is_not_overwritten(root: Path):
    files = RootFolder(root)
    before = files.read("README.md")
    (root / "README.md").write_text("somebody else was here")
    with pytest.raises(ToolError, match="has changed in the meantime; read it again"):
        files.write("README.md", "mine", before)
    with pytest.raises(ToolError, match="has changed in the meantime"):
        files.write("README.md", "mine", None)
    assert (root / "README.md").read_text() == "somebody else was here"


# ------------------------------------------------------------------------------------------------------------- no way out

OUT = {
    "dots": "../secret.txt",
    "dots inside": "src/../../secret.txt",
    "dots that come back": "../project/README.md",
    "many dots": "../" * 40 + "etc/passwd",
    "absolute": "/etc/passwd",
    "absolute beside": "@BESIDE@/secret.txt",
    "absolute with dots": "@ROOT@/../secret.txt",
    "a longer name": "@ROOT@-other/secret.txt",
    "link to a file": "link-to-file",
    "link to a folder": "link-to-folder/secret.txt",
    "link to a parent": "link-to-parent/secret.txt",
    "link to the root": "link-to-root/etc/passwd",
    "link inside a folder": "src/link/secret.txt",
    "link to a link": "link-to-link",
    "link that stays inside": "link-inside",
    "through proc": "link-to-proc/self/environ",
    "zero byte": "README.md\0.txt",
    "home": "~/../../etc/passwd",
}


@pytest.fixture
def trapped(root: Path) -> Path:
    outside = root.parent
    (outside / "project-other").mkdir()
    (outside / "project-other" / "secret.txt").write_text(SECRET)
    for name, target in {
        "link-to-file": outside / "secret.txt",
        "link-to-folder": outside / "outside",
        "link-to-parent": "..",
        "link-to-root": "/",
        "src/link": outside / "outside",
        "link-to-link": "link-to-file",
        "link-inside": "README.md",
        "link-to-proc": "/proc",
        "link-to-nothing": outside / "new.txt",
    }.items():
        (root / name).symlink_to(target)
    return root


def state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_files", "search_files"])
@each_case("way", OUT.keys(), ids=str)
def test_there_is_no_way_out(trapped: Path, way: str, name: str):
    path = OUT[way].replace("@BESIDE@", str(trapped.parent)).replace("@ROOT@", str(trapped))
    arguments = {
        "read_file": {"path": path},
        "write_file": {"path": path, "content": "mine"},
        "edit_file": {"path": path, "old": "not", "new": "mine"},
        "list_files": {"folder": path.rpartition("/")[0] if "/" in path else path},
        "search_files": {"text": "not for", "folder": path.rpartition("/")[0] if "/" in path else path},
    }[name]
    before = state(trapped.parent)
    with pytest.raises(ToolError):
        call(FileTools(trapped), name, **arguments)
    assert state(trapped.parent) == before


def test_links_are_neither_listed_nor_searched(trapped: Path):
    tools = FileTools(trapped)
    assert "link" not in call(tools, "list_files", recursive=True)
    assert call(tools, "search_files", text=SECRET) == "(not found)"


def test_a_link_to_nothing_is_not_written_through(trapped: Path):
    with pytest.raises(ToolError, match="is or leads through a link"):
        call(FileTools(trapped), "write_file", path="link-to-nothing", content="mine")
    assert not (trapped.parent / "new.txt").exists()


def test_the_root_itself_may_be_a_link(root: Path):
    (root.parent / "alias").symlink_to(root)
    assert call(FileTools(root.parent / "alias"), "read_file", path="README.md") == "# Project\n"


def test_a_pipe_does_not_hang(tools: Toolbox, root: Path):
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="neither a file nor a folder"):
        call(tools, "read_file", path="pipe")
    with pytest.raises(ToolError, match="neither a file nor a folder"):
        call(tools, "write_file", path="pipe", content="x")


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.git/config", ".GIT/config"])
def test_what_git_would_run_is_not_written(tools: Toolbox, root: Path, path: str):
    with pytest.raises(ToolError, match="is git's own"):
        call(tools, "write_file", path=path, content="#!/bin/sh\n")


def test_a_folder_that_becomes_a_link_while_it_is_used_leads_nowhere(root: Path, monkeypatch: pytest.MonkeyPatch):
    """The race that a check before the use loses: a folder is swapped for a link between two steps of a read."""
    (root / "swap").mkdir()
    (root / "swap" / "secret.txt").write_text("harmless")
    (root / "link").symlink_to(root.parent / "outside")
    tools = FileTools(root)
    steps = 0
    swap_before = 0
    open_path = os.open

    def swap_and_open(path: Any, *args: Any, **options: Any) -> int:
        nonlocal steps
        steps += 1
        if steps == swap_before:
            (root / "swap").rename(root / "folder")
            (root / "link").rename(root / "swap")
        return open_path(path, *args, **options)

    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, swap_and_open})
    monkeypatch.setattr(os, "open", swap_and_open)
    seen: list[str] = []
    while steps >= swap_before:  # the folder is swapped before each step in turn, and once not at all
        steps, swap_before = 0, swap_before + 1
        try:
            seen.append(call(tools, "read_file", path="swap/secret.txt"))
        except ToolError as error:
            seen.append(str(error))
        if (root / "folder").exists():
            (root / "swap").rename(root / "link")
            (root / "folder").rename(root / "swap")
    refused = "swap/secret.txt leads through something that is not a folder, or through a link, which is not followed"
    assert seen == [refused, refused, "harmless", "harmless"]  # the root, the folder and the file are opened
    assert SECRET not in seen
    assert (root.parent / "outside" / "secret.txt").read_text() == SECRET


def test_no_handle_is_left_open(trapped: Path):
    tools = FileTools(trapped)
    before = len(list(Path("/dev/fd").iterdir()))
    for path in [*OUT.values(), "README.md", "src/app.py", "nothing/at/all"]:
        for name in ("read_file", "list_files"):
            with suppress(ToolError):
                call(tools, name, **{"path" if name == "read_file" else "folder": path})
    assert len(list(Path("/dev/fd").iterdir())) == before
