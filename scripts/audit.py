"""Known advisories for the pinned dependencies: `python scripts/audit.py PYTHON`, PYTHON having pip-audit installed.

pip-audit skips a package that its advisory service does not know, or could not be asked about, and still ends with
success: without a network it reports no known vulnerabilities for packages that it never looked up. So its report is
compared with the pins, and this script fails unless every pin was looked up, in its version, and has no advisory.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PINS = Path(__file__).resolve().parents[1] / "constraints.txt"

TIMEOUT_SECONDS = 900


def read_pins(text: str) -> dict[str, str]:
    """Read the version of each package, by its normalised name."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    pairs = [line.split("==") for line in lines if line]
    return {normalize(name): version.strip() for name, version in pairs}


def normalize(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def find_faults(pins: Mapping[str, str], report: Any) -> list[str]:
    """Return a line for each pin with an advisory, and for each pin that was not looked up."""
    entries = {normalize(entry["name"]): entry for entry in report["dependencies"]}
    faults: list[str] = []
    for name, version in pins.items():
        entry = entries.get(name, {})
        if "skip_reason" in entry:
            faults.append(f"{name} {version}: not audited: {entry['skip_reason']}")
        elif entry.get("version") != version or "vulns" not in entry:
            faults.append(f"{name} {version}: not audited: it is not in the report")
        for advisory in entry.get("vulns", ()):
            fixed = ", ".join(advisory.get("fix_versions", ())) or "no version"
            faults.append(f"{name} {version}: {advisory['id']}, fixed in {fixed}")
    return faults


def main(python: str) -> int:
    """Run pip-audit and print what it found; return the exit status."""
    pins = read_pins(PINS.read_text(encoding="utf-8"))
    command = [python, "-m", "pip_audit", "--requirement", str(PINS), "--no-deps", "--disable-pip", "--format", "json"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        report = json.loads(ended.stdout)
        faults = find_faults(pins, report)
    except subprocess.TimeoutExpired:
        print(f"pip-audit did not end within {TIMEOUT_SECONDS} seconds: nothing was audited")
        return 1
    except (ValueError, KeyError, TypeError, AttributeError):
        print(f"pip-audit gave no report (exit status {ended.returncode}): nothing was audited\n{ended.stderr[-2000:]}")
        return 1
    print("\n".join(faults))
    skipped = sum(": not audited: " in fault for fault in faults)
    if skipped:
        print(f"{skipped} of {len(pins)} pins were not audited: this says nothing about them. Is there a network?")
    if faults or ended.returncode != 0:
        return 1
    print(f"{len(pins)} pins audited, no known advisories")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else sys.executable))
