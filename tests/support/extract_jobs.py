"""Jobs for the pool of extract workers: an archive of small documents, and what became of each of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from lycosa.archive.writer import ArchiveWriter
from lycosa.extract.messages import ExtractJob, ExtractResult
from lycosa.extract.pool import Pool
from lycosa.model import Answer, Target


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


def run(pool: Pool, jobs: list[ExtractJob], *, limit_s: float = 60) -> dict[int, ExtractResult]:
    """What became of each job; strikes are not an end."""
    pool.submit(jobs)
    found: dict[int, ExtractResult] = {}
    limit = time.monotonic() + limit_s
    while not pool.idle:
        found |= {result.key: result for result in pool.wait(0.5) if result.outcome != "strike"}
        assert time.monotonic() < limit
    return found
