"""What a real program serves while it is crawled, the truth about it, and the parts that start such programs.

A program's module in `programs/` has `NAME` and `serve(folder)`, a context manager that makes some content in a folder,
serves it on loopback and gives a `Site`. The truth is made from the content, never from a crawl. Where the program is
not installed, `serve` raises `Absent`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

_open = build_opener(ProxyHandler({})).open  # never through a proxy: all of this is on loopback
_START_S = 60


class Absent(Exception):
    """The program is not installed, and cannot be; the text says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What there is: addresses of pages, and services by type and endpoint."""

    pages: frozenset[str] = frozenset()
    services: frozenset[tuple[str, str]] = frozenset()
    #: Further spellings of endpoints: who lists one of them has found the service that it stands for.
    aliases: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A program that is being served: where a crawl begins, what there is, and which options the crawl needs."""

    url: str
    truth: Truth
    options: tuple[str, ...] = ()


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_program(*names: str, package: str) -> str:
    """The path of an installed program, by name or by path."""
    for name in names:
        if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/lib/cgi-bin"):
            return found
    raise Absent(f"no {names[0]} (Debian package {package})")


@contextmanager
def running(
    command: Sequence[str | Path], *, url: str, folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends; it is ready when it answers at `url`, whatever it answers."""
    with open(folder / "server.log", "ab") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that its children end with it
        )
        try:
            _await(url, server, folder / "server.log")
            yield
        finally:
            _end(server)


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server and what it started, some of which would outlive it."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _await(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    patience = time.monotonic() + _START_S
    while server.poll() is None and time.monotonic() < patience:
        try:
            _open(url, timeout=_START_S).close()
            return
        except HTTPError as answer:
            answer.close()
            return
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"{url} does not answer: {log.read_text(errors='replace')[-2000:]}")


def fetch(url: str) -> bytes:
    """What a server answers."""
    with _open(url, timeout=_START_S) as answer:
        return bytes(answer.read())


def environment_of(name: str, *packages: str) -> Path:
    """The folder with the programs of PyPI packages, in a virtual environment of their own that outlives the run.

    It lies in the folder that REAL_PROGRAMS names, by default in the user's cache.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lycosa" / "programs"
    folder = Path(os.environ.get("REAL_PROGRAMS") or cache) / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    stamp, wanted = folder / "installed", "\n".join(packages)
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
        for command in ([sys.executable, "-m", "venv", folder], [*pip, *packages]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise Absent(f"{' '.join(packages)} cannot be installed: {done.stderr.strip()[-300:]}")
        stamp.write_text(wanted)
    return folder / "bin"
