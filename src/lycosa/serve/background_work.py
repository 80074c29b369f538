"""Background work: a verb of lycosa that works on a collection beside the server, with what it said and how it ended.

    work = start_work(folder, ["export", "dspace", "--output=…"], label="DSpace package", product="exports/dspace")

Work outlives the server, as a crawl does. Each has a number, and three files in `work` of its collection: `N.json`
says what it is, `N.log` what it told people, and `N.lock` is held as long as its process lives: whoever cannot take it
knows that the work goes on, also a server that was started later.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from io import BufferedWriter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lycosa.config.loading import load
from lycosa.config.mission_files import find_own
from lycosa.errors import CollectionError, UsageError
from lycosa.missions.web import NotFound, Work
from lycosa.output.atomic_file import whole_file

PLACE = "work"
PRODUCTS = "exports"  # where what is made lies until its work is deleted
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")
MOST_KEPT = 200  # of one collection, after which the oldest are forgotten with what they made
MOST_AT_ONCE = 3  # of one collection
_SHOWN_BYTES = 4_000
_MOST_BYTES = 1 << 20  # of the file of a work, which may be a stranger's
_numbering = threading.Lock()
Started = subprocess.Popen[bytes]


def launch(
    words: Sequence[str], *, output: BufferedWriter, given: Iterable[str] = (), held: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start lycosa with these words, to outlive the server; it reads what is `given`, and keeps the files `held` open.

    What it reads stands in no list of processes: an address may hold a token.
    """
    with tempfile.TemporaryFile() as file:
        file.writelines(f"{line}\n".encode() for line in given)
        file.seek(0)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "lycosa", *words],
            stdin=file,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=held,
        )


def start_work(
    folder: Path,
    words: Sequence[str],
    *,
    label: str,
    product: str = "",
    by: str = "",
    given: Iterable[str] = (),
    when_ended: Callable[[Work], None] | None = None,
) -> Work:
    """Start a verb with its words, which name the collection themselves; `when_ended` is told where the server lives.

    `product` is the file or the folder below the collection that it makes: it is deleted together with the work.
    """
    _refuse_own_code(folder)
    if sum(work.is_running for work in list_work(folder)) >= MOST_AT_ONCE:
        raise CollectionError(
            f"There is work under way already ({MOST_AT_ONCE} at once are allowed): wait, or stop it."
        )
    place = folder / PLACE
    try:
        with _numbering:
            place.mkdir(parents=True, exist_ok=True)
            number = max((int(path.stem) for path in place.glob("*.lock") if path.stem.isdecimal()), default=0) + 1
            handle = os.open(place / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with open(place / f"{number}.log", "xb") as log:
                started = launch(words, output=log, given=given, held=[handle])
        finally:
            os.close(handle)
        began = Work(
            number=number,
            label=label,
            words=list(words[:1]),
            began=time.time(),
            process=started.pid,
            product=product,
            by=by,
        )
        _write(place, began)
    except OSError as problem:
        raise CollectionError(f"No work can be started in {folder}: {problem.strerror or problem}.") from None
    threading.Thread(target=_await_end, args=(started, folder, began, when_ended), daemon=True).start()
    for old in list_work(folder)[MOST_KEPT:]:
        forget_work(folder, old.number)
    return replace(began, is_running=True)


def new_product(folder: Path, name: str, ending: str = "") -> str:
    """A file or folder that work may make, below the collection; the folder for all such is made."""
    place = folder / PRODUCTS
    if place.is_symlink():
        raise CollectionError(f"{place} is a link: exports are written into a folder of the collection alone.")
    try:
        place.mkdir(exist_ok=True)
    except OSError as problem:
        raise CollectionError(f"{place} cannot be made: {problem.strerror or problem}.") from None
    base = _STRANGE.sub("-", f"{folder.name}-{name}")[:80].lstrip(".-")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{base}-{stamp}{more}{f'.{ending}' if ending else ''}" for more in ("", *(f"-{n}" for n in range(2, 99))))
    return str(Path(PRODUCTS) / next(each for each in names if not (place / each).exists()))


def _refuse_own_code(folder: Path) -> None:
    """Refuse a collection whose mission names code: it may be a stranger's, and verbs would run it."""
    file = find_own(folder)
    if file is not None and load(file, check_own=False).mission.quarry:
        raise UsageError(
            "The mission of this collection runs code of its own, which the page does not start: use the command line."
        )


def _await_end(
    started: subprocess.Popen[bytes], folder: Path, work: Work, when_ended: Callable[[Work], None] | None
) -> None:
    ended = replace(work, ended=0.0, code=started.wait())
    ended = replace(ended, ended=time.time(), said=read_end(folder / PLACE / f"{work.number}.log"))
    with contextlib.suppress(OSError, LookupError):  # it was forgotten, or its collection deleted
        if (folder / PLACE / f"{work.number}.json").exists():
            _write(folder / PLACE, ended)
    if when_ended is not None:
        when_ended(ended)


def list_work(folder: Path) -> list[Work]:
    """All work on a collection, the newest first."""
    numbers = sorted(
        (int(path.stem) for path in (folder / PLACE).glob("*.json") if path.stem.isdecimal()), reverse=True
    )
    found = (_read(folder / PLACE, number) for number in numbers[: 2 * MOST_KEPT])
    return [work for work in found if work is not None]


def find_work(folder: Path, number: int) -> Work:
    """One work; NotFound where there is none of this number."""
    found = _read(folder / PLACE, number)
    if found is None:
        raise NotFound(f"There is no work {number} in this collection: it may have been deleted.")
    return found


def stop_work(folder: Path, number: int) -> None:
    """Ask a work to end, as Ctrl-C does."""
    work = find_work(folder, number)
    if work.is_running:
        interrupt(work.process, is_still=lambda: find_work(folder, number).is_running)


def forget_work(folder: Path, number: int) -> None:
    """Delete an ended work with its log and what it made."""
    work = find_work(folder, number)
    if work.is_running:
        raise CollectionError("This work is under way: stop it first.")
    product = find_product(folder, work)
    if product is not None:
        shutil.rmtree(product) if product.is_dir() else product.unlink(missing_ok=True)
    for ending in ("json", "log", "lock"):
        (folder / PLACE / f"{number}.{ending}").unlink(missing_ok=True)


def find_product(folder: Path, work: Work) -> Path | None:
    """What a work made; None where it is not there, or stands elsewhere than what `new_product` names.

    The collection may be a stranger's, and the file of its work may name anything.
    """
    parts = Path(work.product).parts
    if len(parts) != 2 or parts[0] != PRODUCTS or ".." in parts or "\0" in work.product:
        return None
    product = folder / PRODUCTS / parts[1]
    is_linked = product.is_symlink() or product.parent.is_symlink()
    return product if not is_linked and (product.is_file() or product.is_dir()) else None


def read_end(file: Path, *, since: int = 0) -> str:
    """The end of what was written to a file for people."""
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        opened.seek(max(since, size - _SHOWN_BYTES))
        return opened.read(_SHOWN_BYTES).decode("utf-8", "replace").strip()
    return ""


def interrupt(process: int, *, is_still: Callable[[], bool]) -> None:
    """Send SIGINT to a lycosa of ours, and to no other process that may have got its number since."""
    if not is_ours(process):
        raise CollectionError(
            f"Process {process} holds the collection, and it is no lycosa of yours: it has to be stopped where it runs."
        )
    try:
        if not hasattr(signal, "pidfd_send_signal"):
            os.kill(process, signal.SIGINT)
            return
        handle = os.pidfd_open(process)
        try:
            if is_still():  # now that the handle cannot mean another one
                signal.pidfd_send_signal(handle, signal.SIGINT)
        finally:
            os.close(handle)
    except PermissionError:
        raise CollectionError(f"You may not stop process {process}: it belongs to another user.") from None


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


def _write(place: Path, work: Work) -> None:
    with whole_file(place / f"{work.number}.json") as path:
        Path(path).write_bytes(msgspec.json.encode(work))


def _read(place: Path, number: int) -> Work | None:
    """A work as it stands; None where its file is not there, or no work of ours."""
    try:
        with open(place / f"{number}.json", "rb") as file:
            work = msgspec.json.decode(file.read(_MOST_BYTES), type=Work)
    except (OSError, msgspec.MsgspecError):
        return None
    if work.number != number:
        return None
    log = place / f"{number}.log"
    if work.ended:
        return work
    if is_held(place / f"{number}.lock"):
        return replace(work, is_running=True, said=read_end(log))
    ended = log.stat().st_mtime if log.exists() else work.began  # while no server watched: how, nobody saw
    return replace(work, ended=ended, said=read_end(log))


def is_held(lock: Path) -> bool:
    """Whether a process that lives has taken a lock."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
