"""A real Postgres server for tests: on a unix socket in a folder of its own, stopped by its process id.

Postgres refuses to run as root, so root starts it as the user `postgres`, or as `nobody` where there is no such user.
The server is a child of the test process, without `pg_ctl` in between: `SIGINT` stops it, `SIGQUIT` is a crash.
"""

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

MISSING = (
    "There is no Postgres server on this machine: neither /usr/lib/postgresql/*/bin nor PATH has initdb. "
    "Install one, for example with `apt install postgresql`."
)
START_SECONDS = 60.0


def find_binaries() -> Path | None:
    """Return the folder with `initdb` and `postgres`: that of Debian's newest version, or one of PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = str(debian[-1]) if debian else shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


class PostgresServer:
    """A server with an empty data folder. As a context manager it is running within, and gone after it."""

    def __init__(self, *, durable: bool = False) -> None:
        """Find the programs; nothing is started.

        Args:
            durable: Whether commits reach the disk, for measurements. A crash of the server alone loses nothing
                without that.
        """
        binaries = find_binaries()
        if binaries is None:
            raise FileNotFoundError(MISSING)
        self._binaries = binaries
        self._durable = durable
        self.user = _choose_user()
        self.folder = Path(tempfile.mkdtemp(prefix="toolspeak-pg-", dir="/tmp"))  # a socket's path has 107 bytes
        self._process: subprocess.Popen[Any] | None = None
        self._databases = 0

    def __enter__(self) -> "PostgresServer":
        try:
            if os.getuid() == 0:
                shutil.chown(self.folder, self.user)
            self._run("initdb", "-D", "data", "-A", "trust", "-U", "toolspeak", "-E", "UTF8", "--no-locale", "-N")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()  # nobody needs the data any more
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int | None:
        """The id of the server's process."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=200"]
        settings += ["shared_buffers=32MB", "dynamic_shared_memory_type=mmap", "log_min_messages=fatal"]
        settings += [] if self._durable else ["fsync=off", "full_page_writes=off"]
        command = [str(self._binaries / "postgres"), "-D", "data", *(f"-c{setting}" for setting in settings)]
        with (self.folder / "log").open("ab") as log:
            process = self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._identity())
        ends = time.monotonic() + START_SECONDS
        while not self._takes_connections():
            log_text = (self.folder / "log").read_text()
            assert process.poll() is None, f"Postgres did not start: {log_text}"
            assert time.monotonic() < ends, f"Postgres takes no connections: {log_text}"
            time.sleep(0.02)

    def _takes_connections(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=20).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: `SIGINT` ends connections and shuts down, `SIGQUIT` stops it as a crash would."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def crash(self) -> None:
        """Stop the server without a shutdown. At its next start it recovers from its log."""
        self.stop(signal.SIGQUIT)

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://toolspeak@/{database}?host={self.folder}"

    def create_database(self) -> str:
        """Create an empty database, and return its address."""
        self._databases += 1
        name = f"test_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def create_schema(self) -> str:
        """Create an empty schema, which is faster than a database, and return its address."""
        self._databases += 1
        name = f"test_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url('postgres')}&options=-csearch_path%3D{name}"

    def shift_clock(self, url: str, seconds: int) -> None:
        """Let the clock of a database be so many seconds ahead, for connections that are opened from the first time on.

        They find a `clock_timestamp` in another schema before that of the server.
        """
        database = conninfo_to_dict(url)["dbname"]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA IF NOT EXISTS shifted")
            connection.execute("CREATE TABLE IF NOT EXISTS shifted.clock (seconds INTEGER PRIMARY KEY)")
            with connection.transaction():
                connection.execute("DELETE FROM shifted.clock")
                connection.execute("INSERT INTO shifted.clock VALUES (%s)", (seconds,))
            connection.execute(
                "CREATE OR REPLACE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
                " 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT seconds FROM shifted.clock))'"
            )
            connection.execute(f"ALTER DATABASE {database} SET search_path = public, shifted, pg_catalog".encode())

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._identity())
        assert done.returncode == 0, f"{program} failed: {done.stdout}{done.stderr}"

    def _identity(self) -> dict[str, Any]:
        """Return as whom, where and with which environment the programs of Postgres are run."""
        place: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}}
        if os.getuid() == 0:
            place |= {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        return place


@contextmanager
def temporary_database() -> Generator[str]:
    """Yield the address of an empty database in a server of its own; skip the test if there is no Postgres."""
    if find_binaries() is None:
        pytest.skip(MISSING)
    with PostgresServer() as server:
        yield server.create_database()


def _choose_user() -> str:
    if os.getuid() != 0:
        return getpass.getuser()
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"
