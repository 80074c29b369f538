"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket there, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_USER = "postgres"
_SETTINGS = """
listen_addresses = ''
max_connections = 60
fsync = off
shared_buffers = 64MB
log_min_messages = fatal
"""


def find_programs() -> Path | None:
    """The folder of the server's programs, the newest version first; None where there is no server."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return folders[0].parent if folders else None


def as_user(program: str, *words: str, death: str = "clear") -> list[str]:
    """A command that ends by this signal when this process does: databases refuse to run as root."""
    command = ["setpriv", "--pdeathsig", death]
    if os.geteuid() == 0:
        command += ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
    return [*command, program, *words]


class PostgresServer:
    """A server that can be stopped as by a loss of power, and started again."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"postgresql://{_USER}@/postgres?host={self.folder}"

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    @property
    def pid(self) -> int:
        """The process that all others of the server descend from."""
        assert self._process is not None
        return self._process.pid

    def prepare(self, settings: str = "") -> None:
        self._run("initdb", "-D", str(self._data), "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{_SETTINGS}{settings}\nunix_socket_directories = '{self.folder}'\n")

    def start(self, *, is_awaited: bool = True) -> None:
        """Start as a child, which stops at once when this process ends, however it ends."""
        command = as_user(str(self._programs / "postgres"), "-D", str(self._data), death="QUIT")
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._place
            )
        until = time.monotonic() + 60
        while is_awaited and not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"postgres: {(self.folder / 'log').read_text()[-1000:]}")
            time.sleep(0.02)

    def stop(self, mode: str = "immediate") -> None:
        """Stop; `immediate` is as if it had been killed."""
        if self._process is not None:
            self._process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
            self._process.wait(60)

    def _is_ready(self) -> bool:
        """Whether the server that was started says so, as `pg_ctl` asks."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    @property
    def _place(self) -> dict[str, Any]:
        return {
            "cwd": self.folder,
            "env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder)},
        }

    def _run(self, program: str, *words: str) -> None:
        finished = subprocess.run(
            as_user(str(self._programs / program), *words), capture_output=True, text=True, **self._place
        )
        if finished.returncode:
            raise RuntimeError(f"{program}: {finished.stderr or finished.stdout}")


@contextmanager
def running_server(settings: str = "") -> Iterator[PostgresServer]:
    """A new server for the length of the block, with lines of its postgresql.conf."""
    programs = find_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="lycosa-pg-"))
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        server = PostgresServer(folder, programs)
        server.prepare(settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)
