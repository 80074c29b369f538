"""A PgBouncer of the tests' own before a server of theirs: a session of the server is lent for one transaction."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from support.postgres_server import PostgresServer, as_user

PORT = 6432  # names the socket
_SETTINGS = """
[databases]
* = host={folder} port=5432 user=postgres
[pgbouncer]
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 200
logfile = {folder}/pooler.log
"""


def find_pooler() -> str | None:
    """The program, which Debian has where only root looks."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def running_pooler(server: PostgresServer, *, sessions: int = 6) -> Iterator[str]:
    """The address of a pooler for the length of the block."""
    program = find_pooler()
    assert program is not None
    settings = server.folder / "pooler.ini"
    settings.write_text(_SETTINGS.format(folder=server.folder, port=PORT, sessions=sessions))
    settings.chmod(0o644)
    command = as_user(program, "-q", str(settings), death="TERM")
    process = subprocess.Popen(command, cwd=server.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await_socket(process, f"{server.folder}/.s.PGSQL.{PORT}")
        yield f"postgresql://postgres@/postgres?host={server.folder}&port={PORT}"
    finally:
        process.kill()
        process.wait()


def _await_socket(process: subprocess.Popen[bytes], path: str) -> None:
    until = time.monotonic() + 60
    while True:
        with socket.socket(socket.AF_UNIX) as one:
            if one.connect_ex(path) == 0:
                return
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"pgbouncer does not listen at {path}")
        time.sleep(0.02)
