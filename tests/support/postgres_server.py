"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket there, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


class PostgresServer:
    """A server that can be stopped as by a loss of power, and started again."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"

    @property
    def address(self) -> str:
        return f"postgresql://{_USER}@/postgres?host={self.folder}"

    @property
    def pid(self) -> int:
        """The process that all others of the server descend from."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def prepare(self, settings: str = "") -> None:
        self._run("initdb", "-D", str(self._data), "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{_SETTINGS}{settings}\nunix_socket_directories = '{self.folder}'\n")

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop; `immediate` is as if it had been killed."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), *words]
        if os.geteuid() == 0:  # a server refuses to run as root
            command = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", *command]
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder)}
        finished = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment)
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
