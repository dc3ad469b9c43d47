r"""Finds regular expressions of the package that may backtrack over one text in many ways, and fails if there are any.

    python scripts/regexes.py

A text of a stranger must not choose how long an expression works. `\s*=\s*\s*` takes a time that grows with the square
of the blanks that no sign follows, and `(?:\w+\s?)*$` one that doubles with each letter. Each expression is parsed with
Python's own parser and made an automaton of the characters that it reads (Glushkov's construction). Two rules find
what grows:

1. **Two ways round.** One text leads from a place in the expression back to that place in two ways: exponential.
2. **A way on.** One text leads from a place back to it, from there to a second place, and from the second place back to
   it: the two can share a run of that text in as many ways as it is long. An expression that is searched for has such
   a place before its beginning, since a search begins anew at each character: `<[^>]*>` is quadratic in `<<<<<`.

Neither counts if the expression has matched at the second place whatever follows: nothing is tried again then. What
possessive quantifiers and atomic groups match is not tried again either, so they mend most findings: `\s*+=`. So does
a lookbehind that lets a search begin only where a run begins: `(?<!\w)\w++:`.

A repeat with a bound of at most `MAX_BOUND` is no run that a text can lengthen. What an assertion looks at is checked
as an expression of its own. Names in an expression are taken from its module, which is imported; what only a call would
tell stands for a rare character.
"""

import ast
import importlib
import re
import re._constants as sre
import re._parser as sre_parser
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "toolspeak"

ALLOWED = {
    "dialects/tool_index.py:_WORD": "what its first form leaves, its third takes: a run of capitals is read once",
    "dialects/word_vectors.py:_WORD": "what its first form leaves, its third takes: a run of capitals is read once",
    "gateway/errors.py:_QUOTED_VALUE": "a value always matches: it ends at a quote or at the end of the message",
    "gateway/guard.py:_JSON_MARK": "a string always matches: it ends at a quote or at the end of the text",
    "gateway/passthrough.py:_CHANGING_VALUE": "searched in lines of at most MAX_VOLATILE_CHARS",
    "lab/claims.py:_BEFORE_NAME": "an answer has at most MAX_ANSWER_CHARS",
    "lab/claims.py:_DATE_OR_NUMBER": "an answer has at most MAX_ANSWER_CHARS",
    "page/key_forms.py:ADDRESS": "a user and a password have at most 256 characters each",
    "settings/server_targets.py:VARIABLE": "a default has at most 1,000 characters",
    "wire/errors.py:_HTML_MARKUP": "a tag is looked for up to the next of its kind",
}
"""Expressions that may stay, by `file:expression`, each with the bound that makes it harmless."""

MAX_BOUND = 100
"""The bound of a repeat up to which it is no run that a text can lengthen."""

UNROLLED = 2
"""Copies of what a bounded repeat repeats: two ways to split a text show in as many."""

MAX_STATES = 300_000
"""States that are visited for one expression; an expression that needs more is reported."""

UNKNOWN = "\ue000"
"""What stands for a part of an expression that only a call would tell."""

USUAL_CHARS = "aZq5_ \t\n\r\u200bé☃-.,:;=<>\"'`(){}[]/\\|*#"
MATCHING, WHOLE = frozenset({"match"}), frozenset({"fullmatch"})
SEARCHING = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
METHODS = MATCHING | WHOLE | SEARCHING

SEARCH_IS_SLOW = "grows with the square, as a search begins anew at each place"


@dataclass(frozen=True)
class Finding:
    """Why an expression may take long.

    Attributes:
        kind: How the time grows.
        pump: A text whose repetition shows it.
    """

    kind: str
    pump: str


# An expression as an automaton


@dataclass
class Fragment:
    """A part of an expression. Characters are indexes into the alphabet of the expression.

    Attributes:
        is_nullable: Whether the part can match no text at all.
        first: The places at which it can begin, with the characters that they may begin with and those that may stand
            before them (None: any).
        last: The places at which it can end, with the characters that may not follow, and whether more is asked.
        skipped: The characters that may not follow where the part matches no text.
        before: The characters that may stand before the part, if it is an assertion that says so.
        is_boundary: Whether it is the boundary of a word.
        asks: Whether an assertion at its end may fail.
    """

    is_nullable: bool = True
    first: dict[int, tuple[frozenset[int], frozenset[int] | None]] = field(default_factory=dict)
    last: dict[int, tuple[frozenset[int], bool]] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()
    before: frozenset[int] | None = None
    is_boundary: bool = False
    asks: bool = False


class Automaton:
    """The automaton of one expression, with the findings in the expressions inside its assertions."""

    def __init__(self, parsed: Any, flags: int, uses: frozenset[str], before: frozenset[str] | None = None) -> None:
        self.flags = flags
        self.uses = uses
        self.chars = sorted({*USUAL_CHARS, UNKNOWN, *self._list_chars(parsed), *(before or ())})
        self.reads: list[frozenset[int]] = []
        self.edges: Counter[tuple[int, int]] = Counter()
        self.allowed: dict[tuple[int, int], frozenset[int]] = {}
        self.looping: set[int] = set()
        self.inner: list[Finding] = []
        self._groups: dict[int, frozenset[int]] = {}
        told = None if before is None else frozenset(place for place, char in enumerate(self.chars) if char in before)
        self.whole = self._build(parsed, Fragment(before=told))

    def _list_chars(self, parsed: Iterable[Any]) -> Iterator[str]:
        """Yield the characters that an expression tells apart."""
        for operator, argument in parsed:
            if operator in (sre.LITERAL, sre.NOT_LITERAL):
                yield from {chr(argument), chr(argument).swapcase()[:1]}
            elif operator is sre.RANGE:
                yield from {chr(code) for code in (argument[0], argument[1], (argument[0] + argument[1]) // 2)}
            elif operator is sre.IN:
                yield from self._list_chars(argument)
            else:
                for inner in _inner_patterns(operator, argument):
                    yield from self._list_chars(inner)

    def _set_of(self, operator: Any, argument: Any) -> frozenset[int]:
        """Return the characters that one node reads."""
        return frozenset(index for index, char in enumerate(self.chars) if self._reads_char(operator, argument, char))

    def _reads_char(self, operator: Any, argument: Any, char: str) -> bool:
        if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.RANGE) and self.flags & re.IGNORECASE:
            variants = {char, char.lower()[:1], char.upper()[:1]}
        else:
            variants = {char}
        match operator:
            case sre.LITERAL:
                return chr(argument) in variants
            case sre.NOT_LITERAL:
                return chr(argument) not in variants
            case sre.RANGE:
                return any(argument[0] <= ord(each) <= argument[1] for each in variants)
            case sre.ANY:
                return char != "\n" or bool(self.flags & re.DOTALL)
            case sre.CATEGORY:
                return _is_in_category(argument, char, self.flags)
            case _:
                is_negated = argument[0][0] is sre.NEGATE
                items = argument[1:] if is_negated else argument
                return is_negated != any(self._reads_char(each, inner, char) for each, inner in items)

    def _place(self, reads: frozenset[int]) -> Fragment:
        place = len(self.reads)
        self.reads.append(reads)
        return Fragment(is_nullable=False, first={place: (reads, None)}, last={place: (frozenset(), False)})

    def _build(self, parsed: Iterable[Any], before: Fragment | None = None) -> Fragment:
        whole = before or Fragment()
        for operator, argument in parsed:
            if operator in (sre.ASSERT, sre.ASSERT_NOT):
                self._check_assertion(whole, argument[1])
            whole = self._join(whole, self._build_node(operator, argument))
        return whole

    def _check_assertion(self, before: Fragment, inner: Any) -> None:
        """Check the expression in an assertion. A search looks at it at each place where the assertion may stand."""
        told = before.before if before.is_nullable else frozenset()
        for place in before.last:
            told = None if told is None else told | self.reads[place]
        chars = None if told is None else frozenset(self.chars[index] for index in told)
        uses = self.uses & SEARCHING or frozenset({"match"})
        self.inner += Analysis(Automaton(inner, self.flags, uses, chars), uses).find()

    def _build_node(self, operator: Any, argument: Any) -> Fragment:
        match operator:
            case sre.BRANCH:
                return self._choose([self._build(each) for each in argument[1]])
            case sre.SUBPATTERN:
                start = len(self.reads)
                fragment = self._build(argument[3])
                self._groups[argument[0]] = frozenset().union(*self.reads[start:])
                return fragment
            case sre.ATOMIC_GROUP:
                return self._build(argument)
            case sre.MAX_REPEAT | sre.MIN_REPEAT:
                return self._repeat(*argument)
            case sre.POSSESSIVE_REPEAT:
                return self._repeat(*argument, is_possessive=True)
            case sre.ASSERT | sre.ASSERT_NOT:
                return self._assert(argument[0], argument[1], is_negated=operator is sre.ASSERT_NOT)
            case sre.AT:
                return self._anchor(argument)
            case sre.GROUPREF:
                return self._place(self._groups.get(argument, frozenset(range(len(self.chars)))))
            case sre.GROUPREF_EXISTS:
                return self._choose([self._build(each or []) for each in argument[1:]])
            case _:
                return self._place(self._set_of(operator, argument))

    def _assert(self, direction: int, inner: Any, *, is_negated: bool) -> Fragment:
        is_told = direction < 0 and inner and inner[-1][0] in (sre.IN, sre.LITERAL, sre.NOT_LITERAL, sre.ANY)
        if is_told and (len(inner) == 1 or not is_negated):
            reads = self._set_of(*inner[-1])
            return Fragment(before=frozenset(range(len(self.chars))) - reads if is_negated else reads, asks=True)
        return Fragment(asks=True)

    def _anchor(self, kind: Any) -> Fragment:
        newline = frozenset({self.chars.index("\n")})
        if kind is sre.AT_BEGINNING and self.flags & re.MULTILINE:
            return Fragment(before=newline, asks=True)
        if kind in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return Fragment(before=frozenset(), asks=True)
        return Fragment(is_boundary=kind is sre.AT_BOUNDARY, asks=True)

    def _find_before(self, left: Fragment, place: int) -> frozenset[int] | None:
        """Return what may stand before a place that follows an assertion."""
        if not left.is_boundary:
            return left.before
        others = frozenset(index for index, char in enumerate(self.chars) if not re.match(r"\w", char))
        words = frozenset(range(len(self.chars))) - others
        return others if self.reads[place] <= words else words if self.reads[place] <= others else None

    def _choose(self, fragments: list[Fragment]) -> Fragment:
        whole = Fragment(is_nullable=False)
        for each in fragments:
            whole.is_nullable = whole.is_nullable or each.is_nullable
            whole.first |= each.first
            whole.last |= each.last
            whole.asks = whole.asks or (each.is_nullable and each.asks)
        return whole

    def _join(self, left: Fragment, right: Fragment) -> Fragment:
        for end, (forbidden, _) in left.last.items():
            for start, (allowed, _) in right.first.items():
                self._connect(end, start, allowed - forbidden)
        first = dict(left.first)
        if left.is_nullable:
            for place, (allowed, before) in right.first.items():
                told = self._find_before(left, place)
                merged = told if before is None else before if told is None else before & told
                first[place] = (allowed - left.skipped, merged)
        last = dict(right.last)
        if right.is_nullable:
            last |= {
                place: (forbidden | right.skipped, asks or right.asks) for place, (forbidden, asks) in left.last.items()
            }
        is_nullable = left.is_nullable and right.is_nullable
        before = left.before if right.before is None else right.before
        asks = right.asks or (right.is_nullable and left.asks)
        return Fragment(
            is_nullable,
            first,
            last,
            left.skipped | right.skipped,
            before if is_nullable else None,
            is_nullable and (left.is_boundary or right.is_boundary),
            asks,
        )

    def _connect(self, end: int, start: int, allowed: frozenset[int]) -> None:
        if allowed:
            self.edges[end, start] += 1
            self.allowed[end, start] = self.allowed.get((end, start), frozenset()) | allowed

    def _repeat(self, least: int, most: Any, inner: Any, *, is_possessive: bool = False) -> Fragment:
        is_endless = most is sre.MAXREPEAT or most > MAX_BOUND
        if most == 0:
            return Fragment()
        if is_endless:
            begin = len(self.reads)
            whole = self._build(inner)
            self.looping |= set(range(begin, len(self.reads)))
            for end, (forbidden, _) in whole.last.items():
                for start, (allowed, _) in whole.first.items():
                    self._connect(end, start, allowed - forbidden)
            whole.is_nullable = whole.is_nullable or least == 0
        else:
            whole = self._unroll(least, min(most, UNROLLED), inner)
        if is_possessive:
            starts = frozenset().union(*(allowed for allowed, _ in whole.first.values()))
            if is_endless:
                whole.last = {place: (forbidden | starts, asks) for place, (forbidden, asks) in whole.last.items()}
            whole.skipped |= starts
        return whole

    def _unroll(self, least: int, most: int, inner: Any) -> Fragment:
        """Return copies that follow each other: each can only be reached through the one before it."""
        whole = self._build(inner)
        if most > 1:
            whole = self._join(whole, self._unroll(least - 1, most - 1, inner))
        whole.is_nullable = whole.is_nullable or least <= 0
        return whole


def _is_in_category(category: Any, char: str, flags: int) -> bool:
    letter = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(category).rpartition("_")[2]]
    is_in = re.match(letter, char, re.ASCII if flags & re.ASCII else 0) is not None
    return is_in != ("NOT" in str(category))


def _inner_patterns(operator: Any, argument: Any) -> list[Any]:
    """Return the expressions inside a node."""
    match operator:
        case sre.BRANCH:
            return list(argument[1])
        case sre.SUBPATTERN:
            return [argument[3]]
        case sre.ATOMIC_GROUP:
            return [argument]
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            return [argument[2]]
        case sre.ASSERT | sre.ASSERT_NOT:
            return [argument[1]]
        case sre.GROUPREF_EXISTS:
            return [each for each in argument[1:] if each]
        case _:
            return []


# What takes long


class Analysis:
    """The ways through an automaton, for texts of the characters that it tells apart."""

    def __init__(self, automaton: Automaton, uses: frozenset[str]) -> None:
        self._automaton = automaton
        self._is_whole = bool(uses & WHOLE)
        self._letters = self._group_chars()
        self._next: dict[int, dict[int, list[int]]] = {}
        self._visited = 0
        for (end, start), allowed in automaton.allowed.items():
            for letter, char in enumerate(self._letters):
                if char in allowed:
                    self._next.setdefault(end, {}).setdefault(letter, []).append(start)
        self._starts = self._add_starts() if uses & SEARCHING else []
        looping = [*self._starts, *sorted(automaton.looping)]
        self._reached = {state: self._find_reached(state) for state in self._next} if automaton.looping else {}
        self._cyclic = [state for state in looping if state in self._reached.get(state, ())]

    def _find_reached(self, state: int) -> frozenset[int]:
        """Return the states that some text leads to."""
        reached: set[int] = set()
        waiting = [state]
        while waiting:
            new = {each for follows in self._next.get(waiting.pop(), {}).values() for each in follows} - reached
            reached |= new
            waiting += new
        return frozenset(reached)

    def _can_lead(self, states: tuple[int, ...], end: tuple[int, ...]) -> bool:
        return all(last in self._reached.get(state, ()) for state, last in zip(states, end, strict=True))

    def _group_chars(self) -> list[int]:
        """Return one character for each group of those that no place of the expression tells apart."""
        sets = [*self._automaton.reads, *self._automaton.allowed.values()]
        for allowed, before in self._automaton.whole.first.values():
            sets += [allowed] if before is None else [allowed, before]
        groups = {tuple(index in each for each in sets): index for index in reversed(range(len(self._automaton.chars)))}
        return sorted(groups.values())

    def _add_starts(self) -> list[int]:
        """Add the states before the beginning: a search is there after any text. They tell what stands just before."""
        first = self._automaton.whole.first
        guards = list({before for _, before in first.values() if before is not None})
        state_of = {char: tuple(char in guard for guard in guards) for char in self._letters}
        numbers = {
            key: len(self._automaton.reads) + number for number, key in enumerate(dict.fromkeys(state_of.values()))
        }
        for key, state in numbers.items():
            follows = self._next.setdefault(state, {})
            for letter, char in enumerate(self._letters):
                follows.setdefault(letter, []).append(numbers[state_of[char]])
                for place, (allowed, before) in first.items():
                    if char in allowed and (before is None or key[guards.index(before)]):
                        follows[letter].append(place)
        return list(numbers.values())

    def _find_text(self, begin: tuple[int, ...], end: tuple[int, ...], *, parts: bool = False) -> str | None:
        """Return a text that leads from some states to others, all at the same time; None if there is none.

        Args:
            begin: The states before the text.
            end: The states after it.
            parts: Whether the ways must part in between.
        """
        seen = {(begin, False)}
        waiting = deque([(begin, False, "")])
        while waiting:
            states, parted, text = waiting.popleft()
            for letter, char in enumerate(self._letters):
                options = [self._next.get(state, {}).get(letter, []) for state in states]
                for following in _combine(options):
                    apart = parted or len(set(following)) > 1
                    found = text + self._automaton.chars[char]
                    if following == end and (apart or not parts):
                        return found
                    if (following, apart and parts) not in seen and self._can_lead(following, end):
                        seen.add((following, apart and parts))
                        waiting.append((following, apart and parts, found))
                        self._visited += 1
                        if self._visited > MAX_STATES:
                            return found
        return None

    def _can_fail_in(self, loop: frozenset[int]) -> bool:
        """Whether the expression may still fail in a loop: it has matched at no place of the loop, or more is asked."""
        last = self._automaton.whole.last
        return self._is_whole or all(last[state][1] for state in loop if state in last)

    def _loop_of(self, state: int) -> frozenset[int]:
        return frozenset(each for each in self._reached[state] if state in self._reached.get(each, ()))

    def find(self) -> Iterator[Finding]:
        """Yield what takes long, the worst first."""
        yield from self._automaton.inner
        loops = {self._loop_of(state): state for state in self._cyclic}
        for loop, state in loops.items():
            if state in self._starts or not self._can_fail_in(loop):
                continue
            for (end, start), count in self._automaton.edges.items():
                if count > 1 and end in loop and start in loop:
                    text = self._find_text((start,), (end,)) or ""
                    yield Finding(
                        "doubles with each repetition",
                        text + self._automaton.chars[min(self._automaton.allowed[end, start])],
                    )
            if (text := self._find_text((state, state), (state, state), parts=True)) is not None:
                yield Finding("doubles with each repetition", text)
        for one in self._cyclic:
            for two in self._cyclic:
                is_way_on = two in self._reached[one] and one not in self._reached[two]
                if is_way_on and self._can_fail_in(self._loop_of(two)):
                    text = self._find_text((one, one, two), (one, two, two))
                    if text is not None:
                        yield Finding(SEARCH_IS_SLOW if one in self._starts else "grows with the square", text)


def _combine(options: list[list[int]]) -> Iterator[tuple[int, ...]]:
    if not options:
        yield ()
        return
    for first in options[0]:
        yield from ((first, *rest) for rest in _combine(options[1:]))


def analyse(parsed: Any, flags: int, uses: frozenset[str]) -> list[Finding]:
    """Return why a parsed expression may take long, the first reason of each kind."""
    found: dict[str, Finding] = {}
    for finding in Analysis(Automaton(parsed, flags, uses), uses).find():
        found.setdefault(finding.kind, finding)
    return list(found.values())


def check(pattern: str, flags: int = 0, uses: Iterable[str] = ("match",)) -> list[Finding]:
    """Return why an expression may take long.

    Args:
        pattern: The expression.
        flags: Its flags.
        uses: The methods by which it is used: `match`, `fullmatch`, `search` and so on.
    """
    parsed = sre_parser.parse(pattern, flags)
    return analyse(parsed, parsed.state.flags, frozenset(uses))


# The expressions of the package


@dataclass(frozen=True)
class Expression:
    """An expression of the package.

    Attributes:
        path: Its file, from the root of the repository.
        line: Its line.
        name: The name that it is given; "" without one.
        pattern: The expression.
        flags: Its flags.
        method: The function of `re` that takes it.
    """

    path: str
    line: int
    name: str
    pattern: str
    flags: int
    method: str


FLAGS_PLACE = {
    "compile": 1,
    "match": 2,
    "fullmatch": 2,
    "search": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
    "subn": 4,
}


def _name_of(node: ast.expr | None) -> str:
    """Return the name under which a pattern is kept, without what is looked up in it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def find_uses(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """Return the methods by which names are used as patterns, also where another name stands for them."""
    uses: dict[str, set[str]] = {}
    aliases: list[tuple[str, str]] = []
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:  # called, or given to `map` and its like
                values = node.value
                options = [values.body, values.orelse] if isinstance(values, ast.IfExp) else [values]
                for each in options:
                    uses.setdefault(_name_of(each), set()).add(node.attr)
            elif isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                parts = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                aliases += [
                    (_name_of(target), _name_of(part)) for target in targets for part in parts if _name_of(part)
                ]
    for alias, name in aliases:
        if alias in uses:
            uses.setdefault(name, set()).update(uses[alias])
    return uses


class _UnknownParts(ast.NodeTransformer):
    """Puts a rare character for each part of a text that only a call would tell."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = evaluate(node.value, self._names)
        return ast.copy_location(ast.Constant(value if isinstance(value, str) else UNKNOWN), node)


def evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression of the code; None if only a call would tell."""
    try:
        return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), dict(names))  # noqa: S307 (a constant expression of the project itself)
    except Exception:
        if not isinstance(node, ast.JoinedStr):
            return None
    changed = ast.JoinedStr([_UnknownParts(names).visit(each) for each in node.values])
    return "".join(str(part.value) for part in changed.values if isinstance(part, ast.Constant))


def find_expressions(path: Path, tree: ast.Module, root: Path = ROOT) -> Iterator[Expression]:
    """Yield the expressions of a file in `src` of a repository."""
    module = ".".join(path.relative_to(root / "src").with_suffix("").parts).removesuffix(".__init__")
    names = vars(importlib.import_module(module))
    holders = {
        id(inner): _name_of(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for inner in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        is_call = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _name_of(node.func.value) == "re"
        )
        if not is_call or node.func.attr not in FLAGS_PLACE:
            continue
        given = [each.value for each in node.keywords if each.arg == "flags"] or node.args[
            FLAGS_PLACE[node.func.attr] :
        ][:1]
        options = [node.args[0].body, node.args[0].orelse] if isinstance(node.args[0], ast.IfExp) else [node.args[0]]
        for option in options:
            pattern = evaluate(option, names)
            if isinstance(pattern, str):
                flags = int(evaluate(given[0], names) or 0) if given else 0
                path_here = str(path.relative_to(root))
                yield Expression(path_here, node.lineno, holders.get(id(node), ""), pattern, flags, node.func.attr)


def main() -> int:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    uses = find_uses(trees.values())
    allowed = dict(ALLOWED)
    count, bad = 0, 0
    for path, tree in trees.items():
        for each in find_expressions(path, tree):
            count += 1
            methods = {each.method} if each.method != "compile" else uses.get(each.name) or SEARCHING
            findings = check(each.pattern, each.flags, methods)
            if not findings or allowed.pop(
                f"{each.path}:{each.name or each.pattern}".removeprefix("src/toolspeak/"), None
            ):
                continue
            bad += 1
            print(f"{each.path}:{each.line}: {each.name} {each.pattern[:120]!r}")
            for finding in findings:
                print(f"    {finding.kind}: {finding.pump!r}")
    for name in allowed:
        print(f"scripts/regexes.py allows {name}, which is not found any more: remove it from ALLOWED")
    print(f"{count} regular expressions, {bad} of them may take long")
    return 1 if bad or allowed else 0


if __name__ == "__main__":
    sys.exit(main())
