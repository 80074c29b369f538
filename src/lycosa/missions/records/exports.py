"""Exports of the records mission as XML: the download cache, and the records database.

The download cache tells of every address that was asked for where its copy lies and what its server said of it.

    <page url="https://news.example/1" state="fetched" processed="yes">
      <file name="archive/lycosa-00-….warc.gz" offset="1234" length="5678" sha1="…" type="text/html" size="…"/>
      <server status="200" date="…" last-modified="…" etag="…"/>
      <fetched at="2026-11-18T01:45:30Z" round="2" changed="2026-11-17T…Z"/>
      <processed at="…" by="records" version="…" outcome="done" records="1"/>
    </page>

Pages stand in the order in which they were found, so that the file of an unchanged collection is always the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.export.definition import Host, Kind, Written, export_kind
from lycosa.model import STATE_NAMES, State
from lycosa.output.destination import write_parts
from lycosa.output.plain import counted
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from lycosa.missions.records.database.model import StoredRecord


#: What XML 1.0 cannot hold.
_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_VISITED = """
    SELECT url.n, url.url, url.state, coalesce(url.reason, ''), url.http, coalesce(url.fetched_at, 0), url.round,
           url.redirect, page.warc, page.offset, page.length, lower(hex(page.digest)), page.mime, page.size,
           page.status, page.server_date, page.last_modified, page.etag, page.fetched_at, page.round
    FROM url LEFT JOIN page ON page.n = url.n
        AND page.round = (SELECT max(round) FROM page AS later WHERE later.n = url.n)
    WHERE coalesce(url.fetched_at, 0) > 0
    ORDER BY url.n"""
_PROCESSED = """
    SELECT quarry, version, outcome, records, at FROM extracted WHERE n = ? AND round = ? ORDER BY quarry"""


class CacheOptions(Struct, frozen=True):
    """Which pages are taken."""

    host: Host = ""


@export_kind(
    "cache",
    "the download cache as XML: URL, place in the archive, dates and state from the server, processed or not",
    options=CacheOptions,
    endings=("xml",),
)
def write_cache(collection: Collection, target: str, options: CacheOptions) -> Written:
    """Write the cache to a file or the pipe, page by page."""
    with collection.snapshot():
        count = write_parts(target, _parts(collection, urls.host_pattern(options.host)))
    return Written(counted(count - 2, "page"))


def _parts(collection: Collection, host: str) -> Iterator[bytes]:
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<cache>\n'
    for row in collection.rows(_VISITED):
        if not host or fnmatchcase(urls.host_of(row[1]), host):
            yield _page(collection, row).encode()
    yield b"</cache>\n"


def _page(collection: Collection, row: tuple[object, ...]) -> str:
    n, url, state, reason, http, visited_at, visited_in, redirect, *copy = row
    warc, offset, length, sha1, mime, size, status, date, modified, etag, fetched_at, number = copy
    processed = list(collection.rows(_PROCESSED, [n, number])) if warc is not None else []  # type: ignore[list-item]
    done = "yes" if any(outcome == "done" for _, _, outcome, _, _ in processed) else "no"
    name = STATE_NAMES[State(int(str(state)))]
    lines = [f" <page{_attributes(url=url, state=name, reason=reason, redirect=redirect, processed=done)}>"]
    if warc is not None:
        place = _attributes(name=f"archive/{warc}", offset=offset, length=length, sha1=sha1, type=mime, size=size)
        lines.append(f"  <file{place}/>")
    server = {"status": http or status, "date": date, "last-modified": modified, "etag": etag}
    lines.append(f"  <server{_attributes(**server)}/>")
    lines.append(f"  <fetched{_attributes(at=_time(visited_at), round=visited_in, changed=_time(fetched_at))}/>")
    for quarry, version, outcome, records, at in processed:
        told = _attributes(at=_time(at), by=quarry, version=version, outcome=outcome, records=records)
        lines.append(f"  <processed{told}/>")
    return "\n".join([*lines, " </page>\n"])


def _attributes(**values: object) -> str:
    """Attributes as XML writes them; what is empty is left out."""
    given = ((name, value) for name, value in values.items() if value is not None and value != "")
    return "".join(f" {name}={quoteattr(_UNFIT.sub('', str(value)))}" for name, value in given)


def _time(at: object) -> str:
    """A time as ISO 8601, in UTC; empty where there is none."""
    if not isinstance(at, int | float) or at <= 0:
        return ""
    return iso_time(at)


class RecordXmlOptions(Struct, frozen=True):
    """Which records are written."""

    kind: Kind = ""
    host: Host = ""


@export_kind(
    "records-xml",
    "the records as XML, which `lycosa import-records` reads without loss",
    options=RecordXmlOptions,
    endings=("xml",),
)
def write_xml(collection: Collection, output: str, options: RecordXmlOptions) -> Written:
    """Write the records of now as XML."""
    from lycosa.missions.records.database.record_xml import xml_parts
    from lycosa.missions.records.database.store import open_store

    conditions = [("kind GLOB ?", options.kind), ("host GLOB ?", host_pattern(options.host))]
    given = [(condition, value) for condition, value in conditions if value]

    def records() -> Iterator[StoredRecord]:
        yield from store.records(
            where=" AND ".join(condition for condition, _ in given), values=[value for _, value in given]
        )

    with open_store(collection) as store:
        count = write_parts(output, xml_parts(records())) - 2
    return Written(counted(count, "record"))


class StructuredOptions(Struct, frozen=True):
    """Which things of pages are written."""

    host: Host = ""
    kind: Kind = ""


@export_kind(
    "structured",
    "what pages say of themselves, a line a thing: products, events, recipes, jobs, reviews, persons, places…",
    options=StructuredOptions,
    endings=("jsonl",),
)
def write_structured(collection: Collection, target: str, options: StructuredOptions) -> Written:
    """Write the things of all pages to a file or the pipe."""
    return Written(counted(write_parts(target, _things(collection, options)), "thing"))


def _things(collection: Collection, options: StructuredOptions) -> Iterator[bytes]:
    from lycosa.content.things import read_things

    for page in collection.pages(host=options.host):
        if not 200 <= page.status < 300 or not page.mime.endswith("html") and "xhtml" not in page.mime:
            continue
        tree = page.doc.tree
        for record in read_things(tree, base=page.doc.base) if tree is not None else ():
            if not options.kind or fnmatchcase(record["kind"], options.kind):
                yield msgspec.json.encode({"url": page.url, **record}) + b"\n"
