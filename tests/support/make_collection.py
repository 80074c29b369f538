"""A collection made without a crawl: addresses, types and bodies go in, a folder as a crawl leaves it comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from lycosa.archive.writer import ArchiveWriter
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Batch, Discovery, Outcome, PageRow, State, Target
from lycosa.urls import host_of, url_id

AT = 1_000_000_000.0
Pages = Iterable[tuple[str, str, bytes]]


def make_collection(folder: Path, pages: Pages, *, mission: str = "", redirects: dict[str, str] | None = None) -> Path:
    """Make a collection of these pages, in their order; `redirects` lead from one address to another."""
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml=mission, now=AT)
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.leases.acquire("test:0", want=PARTITIONS, now=0.0, ttl_s=1e9)
    source, n = iter(pages), 0
    with ArchiveWriter(folder / "archive", prefix="test-00", max_bytes=0, software="test", info={}) as archive:
        while batch := list(islice(source, 200)):
            n = _commit(frontier, archive, batch, n)
        for address, target in (redirects or {}).items():
            n += 1
            host = host_of(address)
            frontier.commit(Batch([Discovery(url_id(address), address, host)], [], [], [], {}), owner="test:0", now=0.0)
            moved = Outcome(n, host, int(State.MOVED_FOR_GOOD), http=301, redirect=target, at=AT)
            frontier.commit(Batch([], [moved], [], [], {}), owner="test:0", now=0.0)
    frontier.close()
    return folder


def add(folder: Path, pages: Pages) -> None:
    """Put more pages into a collection."""
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.leases.acquire("test:0", want=PARTITIONS, now=0.0, ttl_s=1e9)
    have = sum(1 for _ in _numbers(folder))
    with ArchiveWriter(folder / "archive", prefix=f"test-{have:02}", max_bytes=0, software="test", info={}) as archive:
        _commit(frontier, archive, list(pages), have)
    frontier.close()


def _numbers(folder: Path) -> Iterator[int]:
    from lycosa import Collection

    with Collection(folder) as collection:
        yield from (row[0] for row in collection.query("SELECT n FROM url"))


def _commit(frontier: SqliteFrontier, archive: ArchiveWriter, batch: list[tuple[str, str, bytes]], n: int) -> int:
    founds, dones = [], []
    for url, mime, body in batch:
        n += 1
        host, digest = host_of(url), hashlib.sha1(body).digest()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n".encode()
        answer = Answer(
            Target(n, url_id(url), url, host), 200, head=head, headers={"content-type": mime}, body=body,
            size=len(body), began=AT,
        )  # fmt: skip
        warc, offset, length = archive.add(answer, digest=digest, mime=mime)
        row = PageRow(AT, 200, mime.partition(";")[0], size=len(body), digest=digest, warc=warc, offset=offset)
        row.length = length
        founds.append(Discovery(url_id(url), url, host))
        dones.append(Outcome(n, host, int(State.FETCHED), http=200, page=row, at=AT))
    name, size = archive.flush()
    frontier.commit(Batch(founds, [], [], [], {}, warc=name, warc_size=size), owner="test:0", now=0.0)
    frontier.commit(Batch([], dones, [], [], {}, warc=name, warc_size=size), owner="test:0", now=0.0)
    return n
