"""The section on speed of `docs/benchmarks.md`, between two marks; the rest of the page is left alone.

What a script has measured stands between two marks of its own, the first of which says when: so that, when it fails the
next time, its rows can stay.
"""

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from textwrap import fill

from environments import ROOT
from figures import Figure, table

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
BLANK = f"# Benchmarks\n\n{BEGIN}\n{END}\n"

RULES = """\
Figures are CPU time, unless it says otherwise. A ratio is our figure by the other's: below 1 we take less. A bar is the
highest that a row may come to, and `times` is how often it was measured. [bench/README.md](../bench/README.md) says
what each row is, and how it is measured."""


@dataclass(frozen=True)
class Bench:
    """A script, and what the page says of it."""

    name: str
    title: str
    about: str

    @property
    def picture(self) -> Path:
        return PAGE.with_name(f"speed-{self.name.replace('_', '-')}.svg")


@dataclass(frozen=True)
class Taken:
    """What a script has measured."""

    figures: list[Figure]
    versions: Mapping[str, str]
    picture: str | None


@dataclass(frozen=True)
class Occasion:
    """The run: its form, when, for how long, and the load of the machine before and after."""

    form: str
    command: str
    day: date
    minutes: float
    before: str
    after: str


def read() -> str:
    """The page as it is; raises SystemExit if it has no clear place for the section."""
    text = PAGE.read_text("utf-8") if PAGE.is_file() else BLANK
    if BEGIN not in text and END not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{PAGE.name} must have {BEGIN} and, below it, {END}, each once; mend it or remove both")
    return text


def written(text: str, benches: Mapping[Bench, Taken | None], occasion: Occasion) -> str:
    """The page with a new section. A bench without figures has failed, and keeps the rows that it has."""
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    sections = [_head(benches, occasion)]
    for bench, taken in benches.items():
        sections.append(f"### {bench.title}\n\n{fill(bench.about, 120, break_on_hyphens=False)}")
        sections += [_block(bench, taken, occasion)] if taken else _kept(bench, text[start:stop])
    return text[:start] + "\n" + "\n\n".join(sections) + "\n" + text[stop:]


def _head(benches: Mapping[Bench, Taken | None], occasion: Occasion) -> str:
    facts = {
        "made by": f"`{occasion.command}`, the {occasion.form} form, in {occasion.minutes:.0f} minutes",
        "on": str(occasion.day),
        "machine": machine(),
        "system": f"{platform.system()} {_digits(platform.release())}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "toolspeak": version("toolspeak"),
        "load before": occasion.before,
        "load after": occasion.after,
    }
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())]
    return "\n\n".join(("## Speed", "\n".join(lines), _verdict(benches), RULES))


def _verdict(benches: Mapping[Bench, Taken | None]) -> str:
    barred = [
        (bench, figure)
        for bench, taken in benches.items()
        if taken
        for figure in taken.figures
        if figure.bar is not None
    ]
    missed = [(bench, figure) for bench, figure in barred if not figure.held]
    said = [f"**{len(missed)} of {len(barred)} bars were missed:**" if missed else f"All {len(barred)} bars were held."]
    if missed:
        said.append("\n".join(f"- {bench.title}: {_plainly(figure)}" for bench, figure in missed))
    if failed := [f"`{bench.name}.py`" for bench, taken in benches.items() if not taken]:
        said.append(f"**Failed, and not measured in this run: {', '.join(failed)}.**")
    return "\n\n".join(said)


def _plainly(figure: Figure) -> str:
    title, ours, _, ratio, bar, _ = figure.cells()
    return f"{title}: {f'{ratio} of {figure.beside}' if ratio else ours}, bar {bar}"


def _block(bench: Bench, taken: Taken, occasion: Occasion) -> str:
    beside = ", ".join(f"{name} {number}" for name, number in taken.versions.items() if name != "toolspeak")
    parts = [
        f"<!-- {bench.name}: {occasion.day}, {occasion.form} -->",
        f"![{bench.title}: ratios and bars]({bench.picture.name})" if taken.picture else "",
        _markdown(taken.figures),
        fill(f"Versions: {beside}.", 120, break_on_hyphens=False) if beside else "",
        _end(bench),
    ]
    return "\n\n".join(part for part in parts if part)


def _markdown(figures: list[Figure]) -> str:
    head, *lines = table(figures, times=True)
    rule = ["---", *(["---:"] * (len(head) - 1))]
    rule[2] = rule[5] = "---"
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _kept(bench: Bench, section: str) -> list[str]:
    found = re.search(rf"<!-- {bench.name}: (\S+), (\w+) -->.*?{re.escape(_end(bench))}", section, re.DOTALL)
    if not found:
        return [f"*`{bench.name}.py` failed in this run, and there are no earlier rows.*"]
    return [f"*`{bench.name}.py` failed in this run. These rows are those of {found[1]}, {found[2]} form.*", found[0]]


def _end(bench: Bench) -> str:
    return f"<!-- {bench.name}: end -->"


# The machine, in words. Nothing in them says whose it is.


def machine() -> str:
    cores = os.cpu_count() or 1
    words = [processor(), f"{cores} cores" if cores > 1 else "1 core"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        words.append(f"{memory:.0f} GiB of memory")
    return ", ".join(words)


def processor() -> str:
    known = Path("/proc/cpuinfo")
    if known.is_file() and (found := re.search(r"^model name\s*: (.+)$", known.read_text(), re.MULTILINE)):
        return re.sub(r"\((?:R|TM)\)", "", found[1]).strip()
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return platform.processor() or platform.machine()


def load() -> str:
    """The load average over one, five and fifteen minutes."""
    return ", ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def _digits(release: str) -> str:
    """A release without what its builder has put behind the numbers."""
    found = re.match(r"[\d.]*\d", release)
    return found[0] if found else release
