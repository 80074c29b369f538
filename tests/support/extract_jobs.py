"""Jobs for the pool of extract workers: an archive of small documents, and what became of each of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from lycosa.archive.writer import ArchiveWriter
from lycosa.extract.executor import Executor
from lycosa.extract.messages import ExtractJob, ExtractResult
from lycosa.model import Answer, Target

#: A quarry that does to its worker what the document says.
WILD = """
import ctypes, os, re, sys, time
from lycosa.model import Record
from lycosa.quarry import Quarry

print("a line that must not get between the records")

class Wild(Quarry):
    version = "7"

    def extract(self, doc):
        deed = doc.text.split()[0]
        getattr(self, deed, lambda: None)()
        yield Record("deed", {"deed": deed, "pid": os.getpid()})
        if deed == "late":
            raise ValueError("after a record")
        if deed == "broken":
            yield {"no": "record"}

    def spin(self): re.match(r"(a+)+$", "a" * 60 + "b")       # in native code, without end
    def wait(self): ctypes.CDLL(None).sleep(100)
    def nap(self): time.sleep(0.3)
    def abort(self): os.abort()
    def fault(self): ctypes.string_at(0)
    def leave(self): os._exit(3)
    def quit(self): sys.exit("no")
    def fill(self): bytearray(1 << 40)
    def grow(self):
        held = []
        while True:
            held.append(bytes(1 << 24))
    def mask(self):                                           # as a library might: no timer reaches it
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
        while True: pass
    def leak(self): self.__class__.held = bytearray(b"x") * (200 << 20)
    def fail(self): raise KeyError("the reason")
    def half(self): self.text = "\\ud800"
"""


def write_archive(folder: Path, bodies: Iterable[bytes], *, mime: str = "text/plain") -> list[ExtractJob]:
    """An archive of small documents, as jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    with ArchiveWriter(folder, prefix="test-00", max_bytes=0, software="test", info={}) as archive:
        for key, body in enumerate(bodies, 1):
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            answer = Answer(
                Target(key, key, f"http://a.test/{key}", "a.test"), 200, head=head, headers={"content-type": mime},
                body=body, size=len(body), began=1e9,
            )  # fmt: skip
            name, offset, length = archive.add(answer, digest=hashlib.sha1(body).digest(), mime=mime)
            jobs.append(ExtractJob(key, str(folder / name), offset, length))
    return jobs


def run(pool: Executor, jobs: list[ExtractJob], *, limit_s: float = 60) -> dict[int, ExtractResult]:
    """What became of each job; strikes are not an end."""
    pool.submit(jobs)
    found: dict[int, ExtractResult] = {}
    limit = time.monotonic() + limit_s
    while not pool.idle:
        found |= {result.key: result for result in pool.wait(0.5) if result.outcome != "strike"}
        assert time.monotonic() < limit
    return found
