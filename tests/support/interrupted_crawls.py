"""Crawls that are hurt and run again: what the site holds is known, what the collection holds afterwards is compared.

`Range` is a part of the synthetic web that one crawl goes through in a few seconds, always with the same result;
`Holding` is what a collection says of itself; `find_damage` looks at the files with other people's tools.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from support.power_loss import Disk, record
from support.synthetic_web import SyntheticWeb
from warcio.archiveiterator import ArchiveIterator

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 trips over its own on import
    import fastwarc

WORKERS = 2
#: What a worker may hold that is not acknowledged: a batch (crawl.worker.BATCH_PAGES) and its requests under way.
IN_HAND = 200 + 64
#: The crawl's bounds, kept apart from its seeds: one request after the other, but quickly.
QUICK = (
    "--scope", "free", "--workers", str(WORKERS), "--delay", "0.01", "--contact", "mailto:test@lycosa.test",
    "--set", "fetch.retry_delay_s=0.1", "--set", "fetch.crawl_delay_max_s=0.05",
)  # fmt: skip


@dataclass
class Holding:
    """What a collection holds, without what may differ between two crawls of the same site."""

    digests: dict[str, str] = field(default_factory=dict)  # of every stored page
    links: dict[str, bytes] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)  # of every URL; "kept" for a page or the duplicate of one
    originals: Counter[str] = field(default_factory=Counter)  # pages of each digest that are no duplicates

    @classmethod
    def read(cls, folder: Path) -> Holding:
        holding = cls()
        with closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
            for url, state, reason in database.execute("SELECT url, state, reason FROM urls"):
                kept = state in ("fetched", "duplicate")
                holding.states[url] = "kept" if kept else f"{state} {reason or ''}".strip()
            for url, digest, state in database.execute(
                "SELECT url.url, hex(page.digest), url.state FROM page JOIN url USING (n)"
            ):
                holding.digests[url] = digest
                holding.originals[digest] += state == 1
            holding.links = dict(database.execute("SELECT url.url, link.links FROM link JOIN url USING (n)"))
        return holding

    def differences(self, other: Holding) -> list[str]:
        """How another crawl of the same site ended differently; nothing when it did not."""
        found = []
        for name in ("digests", "links", "states"):
            mine, theirs = getattr(self, name), getattr(other, name)
            for url in sorted(mine.keys() | theirs.keys()):
                if mine.get(url) != theirs.get(url):
                    found.append(f"{name} of {url}: {mine.get(url)!r:.80} became {theirs.get(url)!r:.80}")
        wrong = {digest: count for digest, count in other.originals.items() if count != 1}
        if wrong:
            found.append(f"{len(wrong)} contents are stored not exactly once: {list(wrong.items())[:3]}")
        return found


class Range:
    """The part of the world that is shot at."""

    def __init__(self, world: Path, *, hosts: int = 40, pages: int = 1000) -> None:
        self.synthetic_web = SyntheticWeb(world, hosts=hosts, pages=pages)
        truth = self.synthetic_web.truth
        traps = {trap.get("host") or urlsplit(trap["prefix"]).hostname for trap in truth["crawler"]["traps"]}
        hard = traps | {name for name, host in self.synthetic_web.hosts.items() if host["behaviour"] != "plain"}
        missions = ("crawler", "geo", "xml", "documents", "articles")
        seeds = {seed for mission in missions for seed in truth[mission]["seeds"]}
        self._seeds = sorted(seed for seed in seeds if urlsplit(seed).hostname not in hard)
        self._reject = "^http://(" + "|".join(map(re.escape, sorted(hard))) + ")/"

    def close(self) -> None:
        self.synthetic_web.close()

    def command(self, folder: Path, *arguments: str) -> list[str]:
        return [
            sys.executable, "-m", "lycosa", "crawl", "--collection", str(folder), "--exclude", self._reject,
            "--connect-to", self.synthetic_web.connect_to, *QUICK, *arguments, *self._seeds,
        ]  # fmt: skip

    def finish(self, folder: Path, *arguments: str, timeout_s: float = 120) -> tuple[int, str]:
        """Run the command to its end; returns its exit code and all that it said."""
        done = subprocess.run(self.command(folder, *arguments), capture_output=True, text=True, timeout=timeout_s)
        return done.returncode, done.stdout + done.stderr

    def undisturbed(self, folder: Path) -> Reference:
        """What a crawl ends with when nobody disturbs it."""
        self.synthetic_web.reset()
        began = time.monotonic()
        code, said = self.finish(folder)
        assert code == 0, said
        seconds = time.monotonic() - began
        stats = self.synthetic_web.stats()
        problems = find_damage(folder)
        assert problems == [], problems[:5]
        return Reference(Holding.read(folder), stats["total"], stats["repeats"], seconds)

    @contextmanager
    def running(self, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The command as a process group of its own; nothing of it is left afterwards."""
        quiet = subprocess.DEVNULL
        command = self.command(folder, *arguments)
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            yield process
        finally:
            kill_group(process)


@dataclass
class Reference:
    """An undisturbed crawl."""

    holding: Holding
    requests: int
    repeats: int  # answers that asked to be tried again
    seconds: float


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole group, and wait until its first process is gone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(20)


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def find_damage(folder: Path) -> list[str]:
    """What is wrong with the files of a collection: the database's own check, every record in warcio and fastwarc,
    and for every page the record that its row names."""
    problems: list[str] = []
    with closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
        checked = database.execute("PRAGMA integrity_check").fetchall()
        if checked != [("ok",)]:
            problems.append(f"crawl.db: {checked[:3]}")
        pages = database.execute(
            "SELECT url.url, page.warc, page.offset, hex(page.digest) FROM page JOIN url USING (n)"
        ).fetchall()
    places: dict[tuple[str, int], tuple[str, str]] = {}
    for path in sorted((folder / "archive").iterdir()):
        problems += _read_with_warcio(path, places)
        problems += _read_with_fastwarc(path)
    for url, warc, offset, digest in pages:
        if places.get((warc, offset)) != (url, digest):
            problems.append(f"{url}: {warc} at {offset} holds {places.get((warc, offset))}")
    leftovers = {path.name for path in folder.iterdir()} & {"lycosa.tmp", "crawl.db.new"}
    if leftovers:
        problems.append(f"left behind: {sorted(leftovers)}")
    return problems


def _read_with_warcio(path: Path, places: dict[tuple[str, int], tuple[str, str]]) -> list[str]:
    """Read a file whole; `places` gets the URL and the payload's digest, as hexadecimal digits, of every record."""
    problems = []
    try:
        with open(path, "rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            for record in records:
                body = record.raw_stream.read()
                offset = records.get_record_offset()  # passes the rest of the record
                stated = record.rec_headers.get_header("WARC-Payload-Digest", "")
                digest = base64.b32decode(stated.rpartition(":")[2]).hex().upper()
                if record.rec_type == "response" and hashlib.sha1(body).hexdigest().upper() != digest:
                    problems.append(f"{path.name} at {offset}: the body has another digest")
                places[path.name, offset] = (record.rec_headers.get_header("WARC-Target-URI", ""), digest)
    except Exception as problem:  # whatever a reader may say of a broken file
        problems.append(f"{path.name} in warcio: {problem!r}")
    return problems


def _read_with_fastwarc(path: Path) -> list[str]:
    try:
        with open(path, "rb") as file:
            for record in fastwarc.ArchiveIterator(file, parse_http=True):
                digested = record.headers["WARC-Type"] == "response" and "WARC-Payload-Digest" in record.headers
                if digested and not record.verify_payload_digest():
                    return [f"{path.name} in fastwarc: a payload has another digest"]
    except Exception as problem:  # whatever a reader may say of a broken file
        return [f"{path.name} in fastwarc: {problem!r}"]
    return []


# Kills


@dataclass
class Kill:
    """One crawl that was killed and run again."""

    kind: str
    moment_s: float
    unacknowledged: int  # requests that the server had seen and the collection did not know; -1: not to be told
    repeated: int  # addresses asked for once more than in an undisturbed crawl
    notes: list[str]  # what the next run said it repaired
    problems: list[str]

    def __str__(self) -> str:
        asked = f"{self.unacknowledged:4d}" if self.unacknowledged >= 0 else "   ?"
        said = f"{self.kind:8} at {self.moment_s:5.2f} s: {asked} unacknowledged, {self.repeated:4d} repeated"
        return "\n    ".join([said, *self.problems])


KINDS = ("group", "worker", "start", "end")


def kill_once(site: Range, reference: Reference, folder: Path, *, kind: str, dice: random.Random) -> Kill:
    """Kill a crawl at a random moment, run the command again to its end, and compare.

    group: all of its processes; worker: one of them; start: all, and all of the next run while it begins; end: all,
    when everything has been fetched.
    """
    shutil.rmtree(folder, ignore_errors=True)
    site.synthetic_web.reset()
    moment_s = dice.uniform(0.1, reference.seconds)
    unacknowledged = -1
    with site.running(folder) as process:
        if kind == "end":
            moment_s = _wait_for_end(site, reference, process) + dice.uniform(0, 0.4)
        else:
            _wait(process, moment_s)
        if kind == "worker":
            for child in children_of(process.pid)[:1]:
                os.kill(child, signal.SIGKILL)
            process.wait(120)
    if kind == "start":
        with site.running(folder) as process:
            _wait(process, dice.uniform(0.1, 0.8))
    if kind != "worker":
        unacknowledged = site.synthetic_web.stats()["total"] - acknowledged(folder)
    code, said = site.finish(folder)
    repeated = site.synthetic_web.stats()["repeats"] - reference.repeats
    problems = check(reference, folder, code=code, said=said)
    most = unacknowledged if unacknowledged >= 0 else IN_HAND
    if repeated > most:
        problems.append(f"{repeated} requests were repeated, and only {most} could have been under way")
    return Kill(kind, moment_s, unacknowledged, repeated, told(said), problems)


def acknowledged(folder: Path) -> int:
    """The answers that the database of a killed crawl knows of, robots.txt included; a copy of it is asked."""
    copy = folder.with_name(folder.name + ".copy")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    try:
        for path in folder.glob("crawl.db*"):
            shutil.copy(path, copy)
        with closing(sqlite3.connect(copy / "crawl.db")) as database:
            answers = database.execute("SELECT total(count) FROM figure WHERE name = 'status'").fetchone()[0]
            return int(answers) + int(database.execute("SELECT count(*) FROM robots").fetchone()[0])
    except sqlite3.Error:
        return 0  # killed before the tables were made
    finally:
        shutil.rmtree(copy)


# Losses of power

#: Checkpoints of the database come every few seconds of a long crawl; here they must come within a short one.
OFTEN = (
    "from lycosa.frontier.sqlite import schema; schema.CHECKPOINT_PAGES = 300; from lycosa.cli.main import run; run()"
)
SYNCED = ("--set", "keep.sync_s=0.5")
HOWS = ("none", "some", "early")


@dataclass
class Blackout:
    """One crawl that lost its power and was run again."""

    how: str
    moment_s: float
    repeated: int  # requests of the next run for what the first one had committed
    notes: list[str]
    problems: list[str]

    def __str__(self) -> str:
        said = f"{self.how:6} of it left at {self.moment_s:5.2f} s: {self.repeated:4d} asked for again"
        return "\n    ".join([said, *self.notes, *self.problems])


def black_out(
    site: Range, reference: Reference, base: Path, *, count: int, dice: random.Random, hows: Sequence[str] = HOWS
) -> Iterator[Blackout]:
    """Record one crawl, and run it on from so many of the disks that it could have left."""
    recorded, image = base / "recorded", base / "image"
    recorded.mkdir()
    command = site.command(recorded / "c", *SYNCED)
    command[1:3] = ["-c", OFTEN]
    operations, code, said = record(command, recorded, base / "calls")
    assert code == 0, said
    for number in range(count):
        upto = dice.randrange(len(operations))
        disk = Disk(recorded)
        disk.follow(operations[:upto])
        how = hows[number % len(hows)]
        disk.lose_power(image, how="all", dice=dice)
        known = acknowledged(image / "c")
        disk.lose_power(image, how=how, dice=dice)
        site.synthetic_web.reset()
        code, said = site.finish(image / "c", *SYNCED)
        repeated = site.synthetic_web.stats()["total"] - (reference.requests - known)
        problems = check(reference, image / "c", code=code, said=said)
        yield Blackout(how, operations[upto].at - operations[0].at, repeated, told(said), problems)


def check(reference: Reference, folder: Path, *, code: int, said: str) -> list[str]:
    """What is wrong with a collection after the command was run to its end."""
    problems = [] if code == 0 and "Traceback" not in said else [f"exit code {code}: {said[-500:]}"]
    if not (folder / "crawl.db").exists():
        return [*problems, "there is no database"]
    problems += reference.holding.differences(Holding.read(folder))[:5]
    problems += find_damage(folder)[:5]
    errors = folder / "logs/errors.log"
    if errors.exists():
        problems.append(errors.read_text()[-500:])
    return problems


def told(said: str) -> list[str]:
    """What a run told of repairs."""
    return [line.removeprefix("lycosa: ") for line in said.splitlines() if line.startswith("lycosa: ")]


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def _wait_for_end(site: Range, reference: Reference, process: subprocess.Popen[bytes]) -> float:
    """Wait until everything has been asked for; returns how long that took."""
    began = time.monotonic()
    while process.poll() is None and site.synthetic_web.stats()["total"] < reference.requests:
        time.sleep(0.02)
    return time.monotonic() - began
