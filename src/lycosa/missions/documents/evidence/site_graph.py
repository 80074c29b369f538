"""The site graph around documents: which pages lead to a document, over how many links, and with which words.

Pages that nearly every page links to (menus) say nothing of a single document: the walk does not go on above them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator

import apsw
import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.graph import list_inlinks
from lycosa.missions.documents.evidence.landing_page import reconcile
from lycosa.missions.documents.model import (
    DocumentFacts,
    DocumentLink,
    HarvestedWork,
    PageFacts,
    PresentedWork,
    text_of,
)

#: Pages above a page of which the walk goes on; more of them are a menu.
MAX_PARENTS = 40
#: Pages that are looked at for one document.
MAX_NEIGHBOURS = 300
#: Names of works that repositories sent.
MAX_HARVESTED = 2_000_000

_decode_page = msgspec.json.Decoder(PageFacts).decode
_encode = msgspec.json.Encoder().encode


class SiteDocument(Struct, frozen=True):
    """A document of the site, at all the addresses that bring it."""

    url: str
    facts: DocumentFacts
    addresses: tuple[str, ...]
    fetched: str
    digest: str


class Neighbour(Struct, frozen=True):
    """A page above a document."""

    url: str
    distance: int  # links between it and the document: 1 links to it itself
    facts: PageFacts


class SiteGraph:
    """Pages and documents of a collection with the links between them, in a temporary file where they are many."""

    def __init__(self, store: apsw.Connection) -> None:
        self._store = store
        self._parents: dict[str, tuple[str, ...]] = {}
        self._words: dict[str, list[tuple[str, DocumentLink]]] = {}
        self._cache: dict[str, PageFacts | None] = {}
        self._works: dict[str, tuple[str, PresentedWork]] = {}  # by the address of a file: the page and what it says
        #: The same of files that pages only link to; None: those of several works do, as to a form.
        self._linked: dict[str, tuple[str, PresentedWork] | None] = {}
        self._harvested: dict[str, PresentedWork] = {}  # by addresses and DOIs

    def page(self, url: str) -> PageFacts | None:
        """What a page says; None where it says nothing."""
        if url not in self._cache:
            if len(self._cache) > 5_000:
                self._cache.clear()
            row = self._store.execute("SELECT data FROM page WHERE url = ?", (url,)).get
            self._cache[url] = None if row is None else _decode_page(row)
        return self._cache[url]

    def pages(self) -> Iterator[tuple[str, PageFacts]]:
        """Every page that says something."""
        for url, data in self._store.execute("SELECT url, data FROM page ORDER BY rowid"):
            yield url, _decode_page(data)

    def links_to(self, document: SiteDocument) -> list[tuple[str, DocumentLink]]:
        """The links to a document with the words around them, and the pages that they stand on."""
        return [item for address in document.addresses for item in self._words.get(address, ())]

    def work_of(self, document: SiteDocument) -> PresentedWork | None:
        """What the landing page of a document says of the work."""
        found = (places.get(address) for places in (self._works, self._linked) for address in document.addresses)
        url, work = next(filter(None, found), ("", None))
        names = [url, *document.addresses, work.doi if work is not None else "", document.facts.doi.lower()]
        harvested = next((self._harvested[name] for name in names if name in self._harvested), None)
        return reconcile(work, harvested) if work is not None and harvested is not None else work or harvested

    def add_harvested(self, harvested: HarvestedWork) -> None:
        """Take a record that a repository sent by OAI-PMH."""
        if len(self._harvested) < MAX_HARVESTED:
            names = {urls.normalise(name) or "" for name in harvested.identifiers} | {harvested.work.doi}
            self._harvested |= dict.fromkeys(names - {""}, harvested.work)

    def add_work(self, url: str, facts: PageFacts, addresses: Container[str]) -> None:
        """Take what a landing page says for its files: those that it names, or else the one document it links to."""
        work = facts.work
        if work is None:
            return
        files = [address for address in work.files if address in addresses]
        for address in files:
            known = self._works.get(address)
            if known is None or _fullness(work) > _fullness(known[1]):
                self._works[address] = url, work
        linked = {link.url for link in facts.documents if link.url in addresses}
        if not files and work.is_told and work.title is not None and len(linked) == 1:
            other = self._linked.setdefault(address := linked.pop(), (url, work))
            if other is not None and text_of(other[1].title) != text_of(work.title):
                self._linked[address] = None

    def parents(self, url: str) -> tuple[str, ...]:
        """The pages that link to this address."""
        return self._parents.get(url, ())

    def above(self, document: SiteDocument, depth: int) -> list[Neighbour]:
        """The pages above a document, the nearest first."""
        seen: dict[str, int] = {}
        level = [*document.addresses]
        for distance in range(1, depth + 1):
            following: list[str] = []
            for url in level:
                parents = self._parents.get(url, ())
                if distance > 1 and len(parents) > MAX_PARENTS:
                    continue
                for parent in parents:
                    if parent not in seen and len(seen) < MAX_NEIGHBOURS:
                        seen[parent] = distance
                        following.append(parent)
            level = following
        found = ((url, distance, self.page(url)) for url, distance in seen.items())
        return [Neighbour(url, distance, facts) for url, distance, facts in found if facts is not None]


def _fullness(work: PresentedWork) -> int:
    """Of two pages about one work the fuller one counts: a link set has no title."""
    return sum(map(bool, (work.title, work.authors, work.authors, work.abstract, work.institutions, work.doi)))


def build_graph(collection: Collection, addresses: set[str], store: apsw.Connection) -> SiteGraph:
    """The graph of a collection around the documents at these addresses."""
    graph = SiteGraph(store)
    store.execute("CREATE TABLE page (url TEXT PRIMARY KEY, data BLOB)")
    known: set[str] = set()
    words: dict[str, list[tuple[str, DocumentLink]]] = defaultdict(list)
    with store:
        for record in collection.records(kind="page", quarry="documents"):
            facts = msgspec.convert(record.data, PageFacts)
            for url in record.pages:
                known.add(url)
                graph.add_work(url, facts, addresses)
                for link in facts.documents:
                    if link.url in addresses and len(words[link.url]) < 50:
                        words[link.url].append((url, link))
            kept = msgspec.structs.replace(facts, documents=())
            store.execute("INSERT OR IGNORE INTO page VALUES (?, ?)", (record.url, _encode(kept)))
            for url in record.pages[1:]:
                store.execute("INSERT OR IGNORE INTO page VALUES (?, ?)", (url, _encode(kept)))
    for record in collection.records(kind="harvested", quarry="documents"):
        graph.add_harvested(msgspec.convert(record.data, HarvestedWork))
    parents: dict[str, dict[str, None]] = defaultdict(dict)
    for target, source, text, _, _ in list_inlinks(collection.database):
        if (target in addresses or target in known) and source != target and source in known:
            if len(parents[target]) <= 4 * MAX_PARENTS:
                parents[target][source] = None
            if target in addresses and text and not words.get(target):
                words[target].append((source, DocumentLink(url=target, anchor=text)))
    graph._parents = {url: tuple(found) for url, found in parents.items()}
    graph._words = dict(words)
    return graph
