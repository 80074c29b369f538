"""Crawl processes: crawls that the page started, which outlive it and the server, and are stopped by a signal.

Nothing here remembers a crawl: the lock of its collection says whether one runs, and which process it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from lycosa.collection.status import running_crawl
from lycosa.errors import CollectionError, DiskFull, UsageError

CONSOLE = "logs/console.log"  # what a crawl says to people, in its collection
_CONSOLE_BYTES = 1 << 20
START_S = 10.0  # that a crawl gets to take its collection, or to say why it cannot
_LOOK_S = 0.05
_SHOWN_BYTES = 4_000


def start_crawl(
    folder: Path, arguments: Sequence[str], *, options: Sequence[str] = (), seeds: Sequence[str] = ()
) -> int:
    """Start `lycosa crawl` for a collection, and return its process; an error with its words where it makes nothing.

    `options` stand before the arguments. `--seeds=-` among these reads the `seeds`, which the list of processes does
    not show: an address may hold a token.
    """
    _refuse_second(folder)
    is_new = not folder.exists()
    console = folder / CONSOLE
    try:
        console.parent.mkdir(parents=True, exist_ok=True)
        before = console.stat().st_size if console.exists() else 0
        if before > _CONSOLE_BYTES:
            console.unlink()
            before = 0
        with open(console, "ab") as output, tempfile.TemporaryFile() as given:
            given.writelines(f"{seed}\n".encode() for seed in seeds)
            given.seek(0)
            started = subprocess.Popen(
                [sys.executable, "-P", "-m", "lycosa", "crawl", *options, *arguments],
                stdin=given,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except OSError as problem:
        raise CollectionError(f"A crawl cannot be started in {folder}: {problem.strerror or problem}.") from None
    threading.Thread(target=started.wait, daemon=True).start()  # or it stays in the table of processes
    _await_start(started, folder, before=before, is_new=is_new)
    return started.pid


def _refuse_second(folder: Path) -> None:
    if process := running_crawl(folder):
        raise CollectionError(f"A crawl already runs there (process {process}): stop it, or wait for it to end.")


def _await_start(started: subprocess.Popen[bytes], folder: Path, *, before: int, is_new: bool) -> None:
    """Wait until a crawl holds its collection, or has ended."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        code = started.poll()
        if code is not None:
            said = read_console(folder, since=before)
            is_made = (folder / "crawl.db").exists()
            if is_new and not is_made:
                shutil.rmtree(folder, ignore_errors=True)
            if code == DiskFull.exit_code and not is_made:
                raise DiskFull(said or "There is no room left on the disk: make room, then start the crawl again.")
            if code == UsageError.exit_code or not is_made:  # a setting, a folder: nothing was done
                _refuse_second(folder)  # somebody else pressed the button in the same moment
                raise UsageError(said or "The crawl ended at once, and said nothing.")
            return
        if running_crawl(folder) == started.pid and (folder / "crawl.db").exists():
            return
        time.sleep(_LOOK_S)


def stop_crawl(folder: Path) -> int:
    """Ask the crawl of a collection to end, as Ctrl-C does, and return its process; 0 if none runs."""
    process = running_crawl(folder)
    if not process:
        return 0
    if not is_ours(process):
        raise CollectionError(
            f"Process {process} holds the collection, and it is no lycosa of yours: it has to be stopped where it runs."
        )
    try:
        _interrupt(process, folder)
    except ProcessLookupError:
        return 0
    except PermissionError:
        raise CollectionError(f"You may not stop process {process}: it belongs to another user.") from None
    return process


def _interrupt(process: int, folder: Path) -> None:
    """Send SIGINT to the process that holds the collection, and to no other that may have got its number since."""
    if not hasattr(signal, "pidfd_send_signal"):
        os.kill(process, signal.SIGINT)
        return
    handle = os.pidfd_open(process)
    try:
        if running_crawl(folder) == process:  # still, now that the handle cannot mean another one
            signal.pidfd_send_signal(handle, signal.SIGINT)
    finally:
        os.close(handle)


def is_ours(process: int) -> bool:
    """Whether a process is a lycosa of this user; where the system does not tell, the lock is believed."""
    place = Path("/proc") / str(process)
    if not Path("/proc/self").exists():
        return True
    with contextlib.suppress(OSError):
        words = (place / "cmdline").read_bytes().split(b"\0")
        named = any(os.path.basename(word).startswith(b"lycosa") for word in words)
        return named and place.stat().st_uid == os.getuid()
    return False


def read_console(folder: Path, *, since: int = 0) -> str:
    """The end of what crawls said to people."""
    with contextlib.suppress(OSError), open(folder / CONSOLE, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(since, size - _SHOWN_BYTES))
        return file.read(_SHOWN_BYTES).decode("utf-8", "replace").strip()
    return ""
