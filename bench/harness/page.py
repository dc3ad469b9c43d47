"""The figures in `bench/speed.md`, between two marks; the rest of the page is left alone.

The rows of each script stand between two marks of their own, and the first mark says when they were measured: a script
that fails the next time keeps its rows.
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

from harness.environments import ROOT
from harness.figures import Figure, build_table

PAGE = ROOT / "bench" / "speed.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
BLANK = f"# Speed: every figure\n\n{BEGIN}\n{END}\n"

RULES = """\
Figures are CPU time, unless it says otherwise. A ratio is our figure by the other's: below 1 we take less. A bar is the
highest that a row may come to, and `times` is how often it was measured. `README.md` says
what each row is, and how it is measured."""


@dataclass(frozen=True)
class Bench:
    """A benchmark script, and what the page says about it."""

    name: str
    title: str
    about: str

    @property
    def picture(self) -> Path:
        return PAGE.with_name(f"speed-{self.name.replace('_', '-')}.svg")


@dataclass(frozen=True)
class Measurements:
    """The rows that a script has measured, the versions of what it measured, and the picture of the rows."""

    figures: list[Figure]
    versions: Mapping[str, str]
    picture: str | None


@dataclass(frozen=True)
class BenchRun:
    """One run of all scripts: its form, its command, its day, its length, and the machine's load before and after."""

    form: str
    command: str
    day: date
    minutes: float
    load_before: str
    load_after: str


def read_page() -> str:
    """Return the page as it is; raises SystemExit if the marks of the section are not in order."""
    text = PAGE.read_text("utf-8") if PAGE.is_file() else BLANK
    if BEGIN not in text and END not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{PAGE.name} must have {BEGIN} and, below it, {END}, each once; mend it or remove both")
    return text


def replace_section(text: str, benches: Mapping[Bench, Measurements | None], run: BenchRun) -> str:
    """Return the page with a new section. A script without measurements has failed and keeps its earlier rows."""
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    sections = [_head(benches, run)]
    for bench, found in benches.items():
        sections.append(f"### {bench.title}\n\n{fill(bench.about, 120, break_on_hyphens=False)}")
        sections += [_block(bench, found, run)] if found else _keep_rows(bench, text[start:stop])
    return text[:start] + "\n" + "\n\n".join(sections) + "\n" + text[stop:]


def _head(benches: Mapping[Bench, Measurements | None], run: BenchRun) -> str:
    facts = {
        "made by": f"`{run.command}`, the {run.form} form, in {run.minutes:.0f} minutes",
        "on": str(run.day),
        "machine": describe_machine(),
        "system": f"{platform.system()} {_version_number(platform.release())}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "toolspeak": version("toolspeak"),
        "load before": run.load_before,
        "load after": run.load_after,
    }
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())]
    return "\n\n".join(("## Speed", "\n".join(lines), _verdict(benches), RULES))


def _verdict(benches: Mapping[Bench, Measurements | None]) -> str:
    barred = [
        (bench, figure)
        for bench, found in benches.items()
        if found
        for figure in found.figures
        if figure.bar is not None
    ]
    missed = [(bench, figure) for bench, figure in barred if not figure.held]
    lines = [
        f"**{len(missed)} of {len(barred)} bars were missed, twice in a row:**"
        if missed
        else f"All {len(barred)} bars were held."
    ]
    if missed:
        lines.append("\n".join(f"- {bench.title}: {_describe(figure)}" for bench, figure in missed))
    if once := [(bench, figure) for bench, figure in barred if figure.held and figure.missed_at is not None]:
        told = [f"- {bench.title}: {_describe(figure)} (first {figure.format_missed()})" for bench, figure in once]
        lines.append("Missed when first measured, and held when measured again:\n\n" + "\n".join(told))
    if failed := [f"`{bench.name}.py`" for bench, found in benches.items() if not found]:
        lines.append(f"**Failed, and not measured in this run: {', '.join(failed)}.**")
    return "\n\n".join(lines)


def _describe(figure: Figure) -> str:
    title, ours, _, ratio, bar, _ = figure.cells()
    return f"{title}: {f'{ratio} of {figure.beside}' if ratio else ours}, bar {bar}"


def _block(bench: Bench, found: Measurements, run: BenchRun) -> str:
    beside = ", ".join(f"{name} {number}" for name, number in found.versions.items() if name != "toolspeak")
    parts = [
        f"<!-- {bench.name}: {run.day}, {run.form} -->",
        f"![{bench.title}: ratios and bars]({bench.picture.name})" if found.picture else "",
        _markdown(found.figures),
        fill(f"Versions: {beside}.", 120, break_on_hyphens=False) if beside else "",
        _end(bench),
    ]
    return "\n\n".join(part for part in parts if part)


def _markdown(figures: list[Figure]) -> str:
    head, *lines = build_table(figures, times=True)
    rule = ["---", *(["---:"] * (len(head) - 1))]
    rule[2] = rule[5] = "---"
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _keep_rows(bench: Bench, section: str) -> list[str]:
    kept = re.search(rf"<!-- {bench.name}: (\S+), (\w+) -->.*?{re.escape(_end(bench))}", section, re.DOTALL)
    if not kept:
        return [f"*`{bench.name}.py` failed in this run, and there are no earlier rows.*"]
    return [f"*`{bench.name}.py` failed in this run. These rows are those of {kept[1]}, {kept[2]} form.*", kept[0]]


def _end(bench: Bench) -> str:
    return f"<!-- {bench.name}: end -->"


# The machine in words that do not identify it.


def describe_machine() -> str:
    cores = os.cpu_count() or 1
    words = [processor_name(), f"{cores} cores" if cores > 1 else "1 core"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        words.append(f"{memory:.0f} GiB of memory")
    return ", ".join(words)


def processor_name() -> str:
    known = Path("/proc/cpuinfo")
    if known.is_file() and (found := re.search(r"^model name\s*: (.+)$", known.read_text(), re.MULTILINE)):
        return re.sub(r"\((?:R|TM)\)", "", found[1]).strip()
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return platform.processor() or platform.machine()


def load_average() -> str:
    """Return the load average over one, five and fifteen minutes."""
    return ", ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def _version_number(release: str) -> str:
    """Return the number of a kernel release, without the builder's suffix."""
    found = re.match(r"[\d.]*\d", release)
    return found[0] if found else release
