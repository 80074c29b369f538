"""Recording of a crawl: every answer of a collection as policies see it, again and again, without the network.

One pass over the archive reads each document once: what it is, how relevant, where it leads. Answers are then replayed
from a temporary file, so that more policies cost little and larger collections no memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.archive.reader import StoredAnswer, iter_records, read_record
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.fetch.decode import decode
from lycosa.fetch.robots import robots_from_answer
from lycosa.judge.admission.fetch_rules import NofollowRules
from lycosa.model import Link
from lycosa.parse import Doc, read
from lycosa.quarry import Quarry, overrides

#: Hosts that were tried and never answered; some may wait to be tried again.
_GONE = """SELECT name, host FROM host
WHERE errors > 0 AND NOT EXISTS (SELECT 1 FROM url WHERE url.host = host.host AND http > 0)"""
_FETCHED = "SELECT id, host, redirect, state FROM url WHERE state <> 8"
_KINDS = frozenset({"response", "conversion", "revisit"})
#: Error answers are read as far as this for the addresses that they lead to.
_REFUSAL_BYTES = 1 << 16


class RecordedLink(Struct, array_like=True, gc=False):
    """A link of a stored answer, resolved."""

    url: str
    url_hash: int
    host: str
    text: str
    kind: str
    rel: str
    trust: float
    context: str
    prior: float  # what the quarry's own score says


class RecordedAnswer(Struct, array_like=True, gc=False):
    """A stored answer, as a policy sees it."""

    url: str
    status: int
    doc_kind: str = ""
    quarry_kind: str = ""
    title: str = ""
    relevance: float = 0.0
    digest: str = ""
    redirect: str = ""
    links: list[RecordedLink] = []


class Recording:
    """The answers of a collection by the ids of their URLs; `close` forgets it."""

    def __init__(self, collection: Collection, quarry: Quarry | None, *, weigh: Callable[[Doc], float]) -> None:
        self._mission: Mission = collection.mission
        self._quarry = quarry
        self._scores = quarry is not None and overrides(quarry, "score")
        self.seeds = collection.seeds()
        self.sitemaps = {
            urls.host_of(origin + "/"): robots_from_answer(status, body or b"").sitemaps
            for origin, status, body in collection.rows("SELECT origin, status, body FROM robots")
        }
        self._weigh = weigh
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  closed by close
        self._places: dict[int, tuple[int, int]] = {}
        self._holders: dict[str, tuple[Path, int, int]] = {}  # records that hold a content, by its digest
        self._nofollow = NofollowRules(self._mission.fetch, None)
        self._known: dict[int, str] = {}
        gone = {key: name for name, key in collection.rows(_GONE)}
        self.gone = frozenset(gone.values())
        self.unfetched = 0  # addresses that nobody knows what they lead to
        for url_hash, host, redirect, state in collection.rows(_FETCHED):
            if state not in (0, 9) or host in gone:
                self._known[url_hash] = redirect
            else:
                self.unfetched += 1
        self._resolver = urls.Resolver(urls.Cleaner(self._mission.urls))
        self._encode, self._decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(RecordedAnswer).decode
        for (name,) in collection.rows("SELECT name FROM warc ORDER BY name"):
            self._read(Path(collection.path) / "archive" / name)
        self._file.flush()

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, url_hash: int) -> bool:
        return url_hash in self._known

    def close(self) -> None:
        self._file.close()

    def answer(self, url_hash: int, url: str) -> RecordedAnswer:
        """The answer of a URL; one that brought nothing for a URL that could not be fetched."""
        place = self._places.get(url_hash)
        if place is None:
            return RecordedAnswer(url, 0, redirect=self._known.get(url_hash, ""))
        self._file.seek(place[0])
        return self._decode(self._file.read(place[1]))

    def _read(self, path: Path) -> None:
        at = self._file.seek(0, 2)
        rendered = ""  # the answer that a page in a browser was made from follows it and is not the page
        for record in iter_records(path):
            if record.kind not in _KINDS or not (record.status or record.kind == "conversion"):
                continue
            url = urls.normalise(record.url)
            url_hash = urls.url_id(url) if url else 0
            if url is None or url_hash not in self._known or url == rendered:
                continue
            rendered = url if record.kind == "conversion" else ""
            holder = self._find_holder(record, path)
            if holder is None or (record.kind == "revisit" and url_hash in self._places):
                continue
            headers = holder.headers or {"content-type": holder.mime}
            body = decode(holder.body_raw, headers.get("content-encoding", ""), limit=self._mission.limits.body_bytes)
            answer = self._make(url, holder.status or 200, headers, body.body)
            answer.digest, answer.redirect = record.digest, self._known[url_hash]
            data = self._encode(answer)
            self._file.write(data)
            self._places[url_hash] = (at, len(data))
            at += len(data)

    def _find_holder(self, record: StoredAnswer, path: Path) -> StoredAnswer | None:
        """The record with the content of an answer: it, or for a revisit the one that another address brought first.

        What a content leads to depends on its address too: relative links, and what a quarry infers.
        """
        if record.kind != "revisit":
            self._holders.setdefault(record.digest, (path, record.offset, record.length))
            return record
        if record.digest not in self._holders:
            return None
        place, offset, length = self._holders[record.digest]
        holder = read_record(place, offset, length=length)
        return holder if holder.kind in _KINDS else None

    def _make(self, url: str, status: int, headers: dict[str, str], body: bytes) -> RecordedAnswer:
        answer = RecordedAnswer(url, status)
        if 300 <= status < 400:
            return answer
        if status >= 400:
            if self._quarry is not None:
                doc = read(url, headers, body[:_REFUSAL_BYTES])
                answer.links = list(self._resolve_links(doc, list(self._quarry.links_of_error(doc, status)), own=0))
            return answer
        doc = read(url, headers, body, links_per_page=self._mission.traps.links_per_page)
        answer.doc_kind, answer.title = doc.kind, doc.title[:200]
        links = doc.links
        own = len(links)
        if self._quarry is not None:
            answer.quarry_kind = self._quarry.recognise(doc) or ""
            links = [*links, *self._quarry.links(doc)]
        answer.relevance = self._weigh(doc)
        chosen = self._quarry.chosen_links(doc) if self._quarry is not None else None
        followed = None if chosen is None else {link.href for link in chosen}
        answer.links = list(self._resolve_links(doc, links, own=own, followed=followed))
        return answer

    def _resolve_links(
        self, doc: Doc, links: list[Link], *, own: int, followed: set[str] | None = None
    ) -> Iterator[RecordedLink]:
        """The links that are followed, and whose targets the collection knows; `followed` of None: all of them."""
        barred, link_rule = self._nofollow.of_page(doc)
        if barred is not None:
            return
        here, chars = urls.host_of(doc.url), self._mission.keep.context_chars
        for index, link in enumerate(links):
            if followed is not None and link.href not in followed:
                continue
            url = self._resolver.resolve(link.href, doc.base)
            url_hash = urls.url_id(url) if url is not None else 0
            if url is None or url_hash not in self._known:
                continue
            if link_rule is not None and link_rule(link, url, here) is not None:
                continue
            context = doc.context(index, chars) if index < own else ""
            prior = float(self._quarry.score(link, doc)) if self._scores and self._quarry is not None else 0.0
            yield RecordedLink(
                url=url,
                url_hash=url_hash,
                host=urls.host_of(url),
                text=link.text[:200],
                kind=link.kind,
                rel=link.rel,
                trust=link.trust,
                context=context,
                prior=prior,
            )
