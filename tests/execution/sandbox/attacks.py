"""Runs attacks and reports which succeeded. As a program it runs them as the user who started it, and prints JSON.

python -m tests.execution.sandbox.attacks MODE ID… ── {"ID": null, "ID": "what the attack achieved", …}
"""

import json
import os
import shutil
import socket
import sys
import tempfile
import time
import tomllib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolspeak.execution.sandbox import CodeResult, SandboxLimits, run_full, run_monty
from toolspeak.execution.sandbox.full import Confinement

ATTACKS: dict[str, dict[str, Any]] = {
    attack["id"]: attack for attack in tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())["attack"]
}
FAMILIES = sorted({name.partition("/")[0] for name in ATTACKS})

QUICK = SandboxLimits(seconds=0.25, memory=128 * 2**20, output=5000, disk=8 * 2**20)
PATIENT = SandboxLimits(seconds=4.0, memory=128 * 2**20, output=5000, disk=8 * 2**20)

GRACE_SECONDS = 15
"""What starting, stopping and cleaning up may take on a busy machine."""

SECRET = "TOOLSPEAK_SECRET"
IN_FILE, IN_ENVIRONMENT = "stolen-from-the-file", "stolen-from-the-environment"


@dataclass
class Scene:
    """What an attack could read or change."""

    folder: Path
    port: int

    def code(self, attack: dict[str, Any]) -> str:
        words = {
            "@CANARY@": self.folder / "canary.txt",
            "@FOLDER@": self.folder,
            "@PARENT@": os.getpid(),
            "@PORT@": self.port,
        }
        code = attack["code"]
        for word, meaning in words.items():
            code = code.replace(word, str(meaning))
        return code

    def find_harm(self) -> str | None:
        if [path.name for path in self.folder.iterdir()] != ["canary.txt"]:
            return f"the folder has changed: {list(self.folder.iterdir())}"
        canary = self.folder / "canary.txt"
        if canary.read_text() != IN_FILE or canary.stat().st_mode & 0o777 != 0o666:
            return "the file has changed"
        return None


@contextmanager
def make_scene() -> Generator[Scene]:
    """Make a folder and a file that anybody may change, a secret in the environment, and a port that listens."""
    folder = Path(tempfile.mkdtemp(prefix="scene-", dir="/tmp"))
    before = os.environ.get(SECRET)
    os.environ[SECRET] = IN_ENVIRONMENT
    try:
        (folder / "canary.txt").write_text(IN_FILE)
        folder.chmod(0o777)
        (folder / "canary.txt").chmod(0o666)
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield Scene(folder=folder, port=server.getsockname()[1])
    finally:
        if before is None:
            del os.environ[SECRET]
        shutil.rmtree(folder)


def run_code(mode: str, code: str, limits: SandboxLimits, confinement: Confinement | None = None) -> CodeResult:
    if mode == "monty":
        return run_monty(code, limits)
    if mode == "bare":
        return run_full(code, limits, unsafe_local=True, confinement=Confinement())
    return run_full(code, limits, confinement=confinement)


def run_attack(name: str, mode: str, confinement: Confinement | None = None) -> str | None:
    """Run an attack; return what it achieved, `None` if it was stopped."""
    attack = ATTACKS[name]
    endless = attack.get("endless", False)
    limits = QUICK if endless or attack.get("quick") else PATIENT
    before = _find_children()
    with make_scene() as scene:
        start = time.monotonic()
        result = run_code(mode, scene.code(attack), limits, confinement)
        took = time.monotonic() - start
        return (
            scene.find_harm()
            or _find_leak(result)
            or _find_excess(result, limits)
            or ("nothing stopped it" if endless and not result.stopped else None)
            or (f"it took {took:.1f} seconds" if took > limits.seconds + GRACE_SECONDS else None)
            or ("a process was left behind" if _find_children() - before else None)
        )


def _find_leak(result: CodeResult) -> str | None:
    shown = f"{result.stdout}\n{result.value}"
    if "ESCAPED" in shown:
        return f"it got out: {shown[:200]}"
    everything = f"{shown}\n{result.error}"
    return next((f"{secret}" for secret in (IN_FILE, IN_ENVIRONMENT) if secret in everything), None)


def _find_excess(result: CodeResult, limits: SandboxLimits) -> str | None:
    sizes = [len(result.stdout), len(result.value or ""), len(result.error or "")]
    return f"it told too much: {sizes}" if max(sizes) > limits.output + 100 else None


def _find_children() -> set[str]:
    """Return the children of this process, ended ones too. Other tests may have left some that serve them all."""
    children: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has ended meanwhile, and its children are those of another one
            children.update((task / "children").read_text().split())
    return children


def main() -> None:
    mode, *names = sys.argv[1:]
    sys.stdout.write(json.dumps({name: run_attack(name, mode) for name in names}))


if __name__ == "__main__":
    main()
