"""Programs, commands and settings shown in Markdown pages, and the values that the pages show for them.

The rules for pages, which CONTRIBUTING.md explains to authors:

- A ```python block is part of a program. The blocks under one `##` heading are one program; it begins with the blocks
  that stand before the first `##` heading of the page.
- `# -> TEXT`, behind a statement or on the lines below it, shows what an interactive Python session would display:
  what the statement prints, the `repr` of its value, or the last lines of the traceback. All other comments are prose.
- A ```text block directly below a ```python block shows the rest of what that block prints.
- A ```console block holds commands, each after `$ `, and their output.
- A ```toml block is a `toolspeak.toml`.
- `…` in shown text stands for any text.
"""

import ast
import contextlib
import io
import re
import sys
import tokenize
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

MARK = "# ->"


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page.

    Attributes:
        language: The first word behind the opening fence.
        line: The number of the block's first line in the page, from 1.
        text: The lines between the fences.
        section: The `##` heading above the block; empty before the first one.
        adjoins: Whether only blank lines lie between this block and the one before.
    """

    language: str
    line: int
    text: str
    section: str
    adjoins: bool


@dataclass(frozen=True, kw_only=True)
class Program:
    """The Python blocks of one section, with those at the beginning of the page before them."""

    page: Path
    section: str
    blocks: tuple[Block, ...]
    outputs: tuple[str | None, ...]

    @property
    def name(self) -> str:
        page = self.page.relative_to(ROOT)
        return f"{page} {self.section}".rstrip()

    @property
    def source(self) -> str:
        """The program as one module, in which each line has the number that it has in the page."""
        lines: list[str] = []
        for block in self.blocks:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.splitlines()
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line of a ```console block, with the output shown below it."""

    page: Path
    line: int
    text: str
    output: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)} {self.text.splitlines()[0][:60]}"


class WrongPage(AssertionError):
    """A page shows something that is not so, or breaks the rules for pages."""


def read_blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    blocks: list[Block] = []
    section, fence, adjoins = "", "", False
    first, language = 0, ""
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if fence:
            if line.rstrip() == fence:
                text = "\n".join(lines)
                blocks.append(Block(language=language, line=first, text=text, section=section, adjoins=adjoins))
                fence, adjoins = "", True
            else:
                lines.append(line)
        elif opening := re.match(r"(`{3,})\s*(\w*)", line):
            fence, language, first, lines = opening[1], opening[2], number + 1, []
        elif line.startswith("## "):
            section, adjoins = line.removeprefix("## ").strip(), False
        elif line.strip():
            adjoins = False
    if fence:
        raise WrongPage(f"{page}: the block at line {first} has no closing fence")
    return blocks


def read_programs(page: Path) -> list[Program]:
    """Return the programs of a page."""
    blocks = read_blocks(page)
    for before, block in zip([None, *blocks], blocks, strict=False):
        if block.language == "text" and not (before and before.language == "python" and block.adjoins):
            raise WrongPage(f"{page}:{block.line}: a ```text block is the output of a ```python block right above it")
    shown = [
        (block, after.text if after and after.language == "text" and after.adjoins else None)
        for block, after in zip(blocks, [*blocks[1:], None], strict=False)
        if block.language == "python"
    ]
    programs: list[Program] = []
    for section in dict.fromkeys(block.section for block, _ in shown):
        members = [(block, text) for block, text in shown if block.section in ("", section)]
        programs.append(
            Program(
                page=page,
                section=section,
                blocks=tuple(block for block, _ in members),
                outputs=tuple(text for _, text in members),
            )
        )
    return programs


def read_commands(page: Path) -> list[Command]:
    """Return the commands in the ```console blocks of a page."""
    commands: list[Command] = []
    for block in read_blocks(page):
        if block.language != "console":
            continue
        parts = re.split(r"^\$ ", block.text, flags=re.M)
        if parts[0].strip():
            raise WrongPage(f"{page}:{block.line}: a ```console block begins with a command, after `$ `")
        line = block.line
        for part in parts[1:]:
            command, output = re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part).groups()
            commands.append(Command(page=page, line=line, text=command, output=output.strip("\n")))
            line += part.count("\n")
    return commands


def is_like(shown: str, actual: str) -> bool:
    """Whether a text is the one shown, where `…` stands for any text."""
    if shown == actual:
        return True
    return "…" in shown and re.fullmatch(".*".join(map(re.escape, shown.split("…"))), actual, re.S) is not None


def run_program(program: Program) -> None:
    """Run a program and compare everything that its page shows for it.

    Raises:
        WrongPage: A shown value is wrong, or a value is not shown in the way that the rules for pages ask for.
    """
    module = ModuleType("page")
    sys.modules[module.__name__] = module  # pydantic and dataclasses look a class's module up here
    try:
        for block, output in zip(program.blocks, program.outputs, strict=True):
            printed = _run_block(program, block, module)
            if printed.rstrip("\n") != "" and output is None:
                raise WrongPage(f"{program.page}:{block.line}: this output is not shown:\n{printed}")
            if output is not None and not is_like(output.rstrip("\n"), printed.rstrip("\n")):
                raise WrongPage(f"{program.page}:{block.line}: the output is\n{printed}\nand not\n{output}")
    finally:
        del sys.modules[module.__name__]


def _run_block(program: Program, block: Block, module: ModuleType) -> str:
    """Run one block; return what it printed beside the output that its comments show."""
    source = "\n" * (block.line - 1) + block.text + "\n"
    comments = _comments(source)
    printed: list[str] = []
    for node in ast.parse(source, filename=str(program.page)).body:
        shown = _take_shown(node, comments)
        effect = _run_statement(node, module, str(program.page))
        where = f"{program.page}:{node.lineno}: `{ast.unparse(node)}`"
        if shown is not None:
            if not is_like(shown, effect.display):
                raise WrongPage(f"{where} displays\n{effect.display}\nand not\n{shown}") from effect.error
        elif effect.error is not None:
            raise effect.error
        elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Constant):
            raise WrongPage(f"{where} is written for its value; show it: {MARK} {effect.display}")
        else:
            printed.append(effect.printed)
    for (line, _), comment in comments.items():
        _check_prose(f"{program.page}:{line}: `{comment}`", comment)
    return "".join(printed)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a statement did: its output, the repr of its value, its exception."""

    printed: str = ""
    value: str = ""
    error: Exception | None = None

    @property
    def display(self) -> str:
        """What a Python session displays. The value of a call that prints is left out: such a call is for printing."""
        error = "".join(traceback.format_exception_only(self.error)) if self.error else ""
        return ((self.printed or self.value) + error).rstrip("\n")


def _run_statement(node: ast.stmt, module: ModuleType, filename: str) -> Effect:
    output = io.StringIO()
    value = ""
    try:
        with contextlib.redirect_stdout(output):
            if isinstance(node, ast.Expr):
                value = repr(eval(compile(ast.Expression(node.value), filename, "eval"), vars(module)))
            else:
                exec(compile(ast.Module([node], []), filename, "exec"), vars(module))
    except Exception as error:
        return Effect(printed=output.getvalue(), error=error)
    return Effect(printed=output.getvalue(), value=value)


Comments: TypeAlias = dict[tuple[int, bool], str]
"""Comments by their lines, and whether a comment has a line of its own at the margin."""


def _comments(source: str) -> Comments:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {(token.start[0], token.start[1] == 0): token.string for token in tokens if token.type == tokenize.COMMENT}


def _take_shown(node: ast.stmt, comments: Comments) -> str | None:
    """Take from the comments those that show what a statement displays; None if there are none."""
    line = node.end_lineno or node.lineno
    shown: list[str] = []
    if comments.get((line, False), "").startswith(MARK):
        shown.append(comments.pop((line, False)))
    while comments.get((line + 1, True), "").startswith(MARK):
        line += 1
        shown.append(comments.pop((line, True)))
    return "\n".join(text.removeprefix(MARK).removeprefix(" ") for text in shown) if shown else None


def _check_prose(where: str, comment: str) -> None:
    """Refuse a comment that shows a value without the mark, or where no value can be compared."""
    if comment.startswith(MARK):
        raise WrongPage(f"{where}: no statement of the program itself ends above this value")
    text = comment.removeprefix("#").strip()
    with contextlib.suppress(ValueError, SyntaxError):
        ast.literal_eval(text)
        raise WrongPage(f"{where}: a value is shown with {MARK}")
    if re.match(r"[\w.]*(Error|Exception)\b|[\w.]+\(.*\)$|[\[{(<].*[\]})>]$", text):
        raise WrongPage(f"{where}: a value is shown with {MARK}")
