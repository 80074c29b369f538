"""The shared hostile web as tests use it: served by a child process, crawled as a user would, and judged.

`Hostile` is the server, `assault` a crawl over it with its memory watched, `Verdict` what lycosa's own records
(database, pages, archive, log, mirror) and the server's counters say of each entry of the catalogue. What an entry
demands comes from the catalogue, never from the crawler.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection, urls
from lycosa.archive.reader import StoredAnswer
from lycosa.export.files import export_mirror
from lycosa.export.mirror import MANIFEST

ALLOWED = ("127.0.0.1", "127.0.1.0/24", "127.0.2.0/24")
SECRET = "hunter2-hunter2"
_STORED = {"fetched", "duplicate"}
_CUT = {"too-large", "cut-short", "timeout", "truncated", "partial"}
_MOVED = {"redirected for now", "redirected for good"}
_WORDS = {"not modified": "unchanged", "gone": "failed", "failed": "failed", "rejected": "skipped"}
#: Files that the catalogue's names would make if they could lead out of the mirror.
_OUTSIDE = tuple(Path("/tmp") / name for name in ("owned.html", "lycosa-owned.xml", "lycosa-owned2.xml", "x"))
_ANSWERED = re.compile(r"\S+ debug answer (\S+) peer \S+, ([0-9.]+) s,")

#: Where what the catalogue expects is not what we want: the check, and why.
EXCEPTIONS = {
    "redir-hugeloc": {
        "outcome": "the Location of 60 kB is recorded and not followed: it is longer than traps.url_length, which holds"
        " for every address wherever it was found"
    },
    "cookie-ctrl": {
        "outcome": "a NUL in a field of the head has the answer refused, as RFC 9110, 5.5 lets a client do; of"
        " header-nul the catalogue itself accepts that"
    },
}

_MISSION = """
seeds = ["{base}"]
scope = "free"
workers = 2
[agent]
contact = "mailto:test@lycosa.test"
[limits]
body_bytes = "{body_mib} MiB"
[fetch]
delay_s = 0.05
per_host = 3
connect_timeout_s = {patience_s}
idle_timeout_s = {patience_s}
total_timeout_s = 100
retries = 2
retry_delay_s = 0.5
retry_after_max_s = 4
crawl_delay_max_s = 2
cookies = true
allow_private = {allowed}
ca = "{ca}"
[traps]
links_per_page = 100000
names_per_folder = {names}
queries_per_path = {names}
[log]
level = 2
[keep]
collection = "{collection}"
[hosts."127.0.0.1"]
user = "ann"
password = "{secret}"
headers = {{ X-Api-Key = "{secret}" }}
cookies = {{ key = "{secret}" }}
"""

#: What a crawl of each size is told: its bounds are those of the catalogue's traps, or a share of them.
_SIZES: dict[str, dict[str, Any]] = {
    "small": {"names": 100, "body_mib": 32, "patience_s": 6},
    "full": {"names": 1900, "body_mib": 100, "patience_s": 25},
}


class Hostile:
    """The server; `close` ends it."""

    def __init__(self, source: Path, *, scale: str) -> None:
        self.source = source
        self.scale = scale
        self.port, self.tls_port = _free_ports()
        options = [f"--port={self.port}", f"--tls-port={self.tls_port}", f"--scale={scale}"]
        command = [sys.executable, "-B", str(source / "hostile_server.py"), *options]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout
        assert "catalogue entries" in self._server.stdout.readline()
        self.catalogue: list[dict[str, Any]] = self._get("catalogue.json")["endpoints"]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def hits(self) -> dict[str, Any]:
        """What the server saw."""
        return self._get("_hits.json")  # type: ignore[no-any-return]

    def write_mission(self, folder: Path) -> Path:
        """A mission over everything here, in a folder that gets the collection too."""
        (folder / "ca.pem").write_text(json.loads((self.source / "hostile_data.json").read_text())["ca"])
        text = _MISSION.format(
            base=self.base, allowed=json.dumps(ALLOWED), ca=folder / "ca.pem", collection=folder / "collection",
            secret=SECRET, **_SIZES[self.scale],
        )  # fmt: skip
        path = folder / "mission.toml"
        path.write_text(text)
        return path

    def close(self) -> None:
        self._server.terminate()
        self._server.communicate(timeout=20)

    def _get(self, path: str) -> Any:
        with urlopen(self.base + path, timeout=60) as answer:
            return json.loads(answer.read())


def _free_ports() -> tuple[int, int]:
    """Ports that are free on every address of the loopback network."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("", 0))
        other.bind(("", 0))
        return one.getsockname()[1], other.getsockname()[1]


@dataclass
class Assault:
    """A crawl that ended."""

    code: int
    said: str
    seconds: float
    peak_bytes: int  # memory of all its processes together


def assault(mission: Path, *arguments: str, timeout_s: float) -> Assault:
    """Crawl, watching the memory; a crawl that hangs is killed, and fails the test."""
    command = [sys.executable, "-m", "lycosa", "crawl", str(mission), *arguments]
    began, peak = time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _memory_bytes(process.pid))
            if time.monotonic() - began > timeout_s:
                process.terminate()
                raise AssertionError(f"the crawl did not end within {timeout_s} s")
            time.sleep(0.05)
        assert process.stdout
        return Assault(process.returncode, process.stdout.read(), time.monotonic() - began, peak)


def _memory_bytes(pid: int) -> int:
    """The memory of a process and its children, what they share counted once."""
    try:
        share = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    return (int(share[1]) << 10 if share else 0) + sum(_memory_bytes(int(child)) for child in children)


@dataclass
class Record:
    """What lycosa's database says of one URL."""

    url: str
    state: str
    reason: str
    http: int
    retries: int
    redirect: str


@dataclass
class Verdict:
    """One crawl against the catalogue."""

    folder: Path
    catalogue: list[dict[str, Any]]
    hits: dict[str, Any]
    clock: bool = False  # whether the catalogue's seconds count: not where others use the machine
    deviations: dict[str, list[str]] = field(default_factory=dict)
    excused: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.collection = Collection(self.folder)
        rows = self.collection.query("SELECT url, state, reason, http, retries, redirect FROM urls")
        found = (Record(*(value if value is not None else "" for value in row)) for row in rows)  # type: ignore[arg-type]
        self.records = {record.url: record for record in found}
        self.log = (self.folder / "logs/crawl.log").read_text()
        self.took_s, self.asked_at = self._read_log()
        for entry in self.catalogue:
            for problem in self._judge(entry):
                excuses = EXCEPTIONS.get(entry["id"], {})
                rows_of = self.excused if problem.partition(":")[0] in excuses else self.deviations
                rows_of.setdefault(entry["id"], []).append(problem)

    @property
    def passed(self) -> int:
        return len(self.catalogue) - len(self.deviations)

    @property
    def good(self) -> tuple[int, int]:
        """How many of the ordinary pages were kept, and how many there are."""
        pages = [entry for entry in self.catalogue if entry["category"] == "good"]
        return sum(self.records[entry["url"]].state in _STORED for entry in pages), len(pages)

    def _judge(self, entry: dict[str, Any]) -> Iterator[str]:
        record = self.records.get(urls.normalise(entry["url"]) or "")
        checks = entry["checks"]
        if record is not None:
            chain = self._follow(record)
            found = self._outcomes(chain)
            if not found:
                yield f"terminal: {record.state}"
            elif not found & {*entry["outcome"]} and "any" not in entry["outcome"]:
                yield f"outcome: {sorted(found)} ({record.reason}), expected {entry['outcome']}"
            if "status" in checks and record.http != checks["status"]:
                yield f"status: {record.http}, expected {checks['status']}"
            if "final" in checks and not chain[-1].url.endswith(checks["final"]):
                yield f"final: {chain[-1].url}"
            yield from self._check_page(checks, record)
            yield from self._check_times(entry, record)
        elif entry["link"]:
            yield "record: none"
        yield from self._check_hits(entry)

    def _follow(self, record: Record) -> list[Record]:
        """The record and those that its redirects lead to; ends at a loop."""
        chain = [record]
        while chain[-1].state in _MOVED and (onward := self.records.get(chain[-1].redirect)):
            if onward in chain:
                break
            chain.append(onward)
        return chain

    def _outcomes(self, chain: list[Record]) -> set[str]:
        """The words of the catalogue's vocabulary that fit."""
        last = chain[-1]
        found = set()
        if last.state in _STORED:
            found.add("redirected" if len(chain) > 1 else "stored_truncated" if last.reason in _CUT else "stored")
        elif last.state in _MOVED:  # more hops than are followed
            found.add("failed")
        elif last.state in _WORDS:
            found.add(_WORDS[last.state])
            if last.reason.startswith("robots-"):  # never requested, by policy: its robots.txt could not be had
                found.add("skipped")
        if found and last.retries:
            found.add("retried")
        return found

    def _check_page(self, checks: dict[str, Any], record: Record) -> Iterator[str]:
        page = self.collection.page(record.url)
        if page is None:
            if record.state in _STORED:
                yield "page: none"
            return
        if "max_store_mb" in checks and page.place[2] > checks["max_store_mb"] << 20:
            yield f"max_store_mb: {page.place[2]} bytes in the archive"
        for name, value in (("title", page.title), ("type", page.mime), ("encoding", page.charset)):
            if name in checks and value.lower() != checks[name].lower():  # names of encodings have no case
                yield f"{name}: {value!r}, expected {checks[name]!r}"
        if "links" in checks and (count := len({link.url for link in page.links})) != checks["links"]:
            yield f"links: {count}, expected {checks['links']}"
        if "text" in checks and checks["text"] not in page.text:
            yield f"text: {page.text[:60]!r}, expected {checks['text']!r}"
        if "not_text" in checks and checks["not_text"] in page.text:
            yield f"not_text: {checks['not_text']!r} is there"

    def _check_times(self, entry: dict[str, Any], record: Record) -> Iterator[str]:
        checks = entry["checks"]
        if self.clock and self.took_s.get(record.url, 0.0) > checks.get("max_s", 1e9):
            yield f"max_s: {self.took_s[record.url]} s, allowed {checks['max_s']}"
        if "min_gap_s" in checks:
            times = self.asked_at[record.url]
            gaps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
            if "host" in entry:
                gaps.append(self.hits["hosts"][entry["host"]]["min_gap_s"] + 0.1)
            if min(gaps) < checks["min_gap_s"]:
                yield f"min_gap_s: {min(gaps)}, expected {checks['min_gap_s']}"

    def _check_hits(self, entry: dict[str, Any]) -> Iterator[str]:
        checks, count = entry["checks"], self.hits["hits"].get(entry["id"], 0)
        if count > checks.get("max_hits", count):
            yield f"max_hits: {count} requests, allowed {checks['max_hits']}"
        if count < checks.get("min_hits", count):
            yield f"min_hits: {count} requests, expected {checks['min_hits']}"
        for name in checks.get("no_canary", ()):
            if self.hits["internal"] if name == "internal" else self.hits["canary"].get(name):
                yield f"no_canary: {name} was asked for"

    def _read_log(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """The longest time that each URL took, and when it was asked for, as the log tells."""
        took: dict[str, float] = {}
        asked: dict[str, list[float]] = {}
        for line in self.log.splitlines():
            words = line.split(" ")
            if words[1] != "debug":
                asked.setdefault(words[3], []).append(datetime.fromisoformat(words[0]).timestamp())
            elif found := _ANSWERED.match(line):
                took[found[1]] = max(took.get(found[1], 0.0), float(found[2]))
        return took, asked

    # What holds for the collection as a whole

    def faults(self, folder: Path) -> Iterator[str]:
        """What is wrong with the log, the archive, or the mirror, which is written into `folder`."""
        if (self.folder / "logs/errors.log").exists():
            yield (self.folder / "logs/errors.log").read_text()
        if odd := re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", self.log):
            yield f"the log holds control characters: {self.log[odd.start() - 80 : odd.end()]!r}"
        kept = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        if SECRET.encode() in kept:
            yield "a secret was written into the collection"
        yield from self._archive_faults()
        yield from self._mirror_faults(folder)

    def _archive_faults(self) -> Iterator[str]:
        for path in sorted(self.collection.archive.iterdir()):
            with path.open("rb") as file:
                for record in ArchiveIterator(file, check_digests=True):
                    record.raw_stream.read()
                    if record.digest_checker.passed is False:
                        yield f"{path.name}: {record.digest_checker.problems}"
        for page in self.collection:
            stored: StoredAnswer = page._record
            if stored.kind == "response" and hashlib.sha1(stored.body_raw).digest() != page._digest:
                yield f"{page.url} does not read back as it was stored"

    def _mirror_faults(self, folder: Path) -> Iterator[str]:
        before = {path for path in _OUTSIDE if path.exists()}
        count = export_mirror(self.collection, folder / "mirror")
        files = [path for path in (folder / "mirror").rglob("*") if not path.is_dir() and path.name != MANIFEST]
        pages = len(self.collection)
        if count.files != pages or len(files) != pages or any(path.is_symlink() for path in files):
            yield f"the mirror has {len(files)} files for {pages} pages"
        if outside := {path for path in _OUTSIDE if path.exists()} - before:
            yield f"the mirror wrote {outside}"
