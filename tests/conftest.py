"""What holds for all tests: Hypothesis profiles, signals and the embedded model.

`make test` draws the same examples every time, so that a change cannot fail for an example that it did not touch;
`make test-all` draws more of them. `make fuzz` draws at random, and as many examples as FUZZ_EXAMPLES says.

`make test` leaves out tests that are marked `slow`: those that take seconds even on a quiet machine, because they start
many processes, drive a browser or a terminal, or wait for real limits.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.cases import RUNS_ALL

# No test leaves the embedded model loaded, except those of warm servers, which end theirs.
os.environ["TOOLSPEAK_LOCAL_KEEP_MINUTES"] = "none"

# A shell starts what it runs in the background with Ctrl-C ignored, and programs that tests start would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for one example: each test has a time limit of its own, and a busy machine is not a bug.
settings.register_profile(
    "toolspeak",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=150 if RUNS_ALL else 25,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "fuzz",
    settings.get_profile("toolspeak"),
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "40000")),
    derandomize=False,
)
settings.load_profile("toolspeak")

# Hypothesis also draws the constants of all modules that were imported so far. Examples would differ with the order of
# the tests, and with every number that is written somewhere in the library. Only `make fuzz` draws them.
_find_constants = providers._get_local_constants
providers._get_local_constants = lambda: (
    providers._local_constants if settings.default.derandomize else _find_constants()
)


SAMPLING_ROOMS = ("reading", "training")
"""Folders whose tests take more cases in `make test-all`, most of them from modules of their own."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In `make test-rest`, leave out the tests that `make test` runs in the same way."""
    if os.environ.get("TOOLSPEAK_TESTS") == "rest":
        config.hook.pytest_deselected(items=[each for each in items if not _is_left(each)])
        items[:] = filter(_is_left, items)


def _is_left(item: pytest.Item) -> bool:
    """Whether `make test` does not run a test, or runs it with fewer cases or examples."""
    if item.get_closest_marker("slow") or item.get_closest_marker("browser"):
        return True
    module = vars(getattr(item, "module", None) or object)
    takes_more = "RUNS_ALL" in module or "sample" in module or item.path.parent.name in SAMPLING_ROOMS
    return takes_more or bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


@pytest.fixture(autouse=True)
def _servers_forgotten() -> None:
    """Forget what servers of earlier tests said about their models: one of this test may get the port of one of them."""
    if abilities := sys.modules.get("toolspeak.models.abilities"):
        abilities._known.clear()


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user can enter. That of `tmp_path` is below one that only its owner may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()
