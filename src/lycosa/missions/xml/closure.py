"""Closures: everything that a document needs, directly or through others; complete when all of it was collected.

Typed links between collected documents flow in, closures flow out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple
from xml.parsers import expat

from lycosa import urls
from lycosa.analysis.analyzer import AnalysisStore
from lycosa.collection.collection import Collection
from lycosa.missions.xml.archives import unpack
from lycosa.missions.xml.links import OF_MEDIA
from lycosa.missions.xml.links import PARTS as PART_KINDS
from lycosa.missions.xml.quarry import guess
from lycosa.parse import xml

NAMESPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
NAME, PUBLIC, START, END = "name", "public", "start", "end"
#: By the name of an element: what it is about, and the attributes that hold the name and the address.
_ENTRIES = {
    "system": (NAME, "systemId", "uri"),
    "uri": (NAME, "name", "uri"),
    "public": (PUBLIC, "publicId", "uri"),
    "rewriteSystem": (START, "systemIdStartString", "rewritePrefix"),
    "rewriteURI": (START, "uriStartString", "rewritePrefix"),
    "systemSuffix": (END, "systemIdSuffix", "uri"),
    "uriSuffix": (END, "uriSuffix", "uri"),
}
_BASE = "http://www.w3.org/XML/1998/namespace base"
_MAX_ENTRIES = 50_000
#: Beginnings and ends, each of which is tried on every address that is looked for.
_MAX_PATTERNS = 500


class CatalogEntry(NamedTuple):
    """An entry of a catalog: a name, and the address that it stands for."""

    kind: str  # NAME, PUBLIC, START or END
    name: str
    address: str


class _Full(Exception):
    """There are more entries than any honest catalog has."""


def read_catalog(body: bytes, url: str) -> list[CatalogEntry]:
    """The entries of a catalog up to the first error."""
    found: list[CatalogEntry] = []
    bases = [url]

    def start(name: str, attributes: dict[str, str]) -> None:
        base = attributes.get(_BASE)
        bases.append((urls.normalise(base, bases[-1]) if base else None) or bases[-1])
        space, _, local = name.rpartition(" ")
        if space == NAMESPACE and local in _ENTRIES:
            kind, named, where = _ENTRIES[local]
            alias, target = attributes.get(named), urls.normalise(attributes.get(where, ""), bases[-1])
            if alias and target:
                found.append(CatalogEntry(kind, fold_public(alias) if kind == PUBLIC else alias, target))
                if len(found) >= _MAX_ENTRIES:
                    raise _Full

    parser = xml.open_parser(namespaces=True)
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: bases.pop()
    try:
        parser.Parse(xml.transcode(body, xml.find_charset(body, "")), True)
    except (expat.ExpatError, ValueError, _Full):
        pass
    return found


def fold_public(name: str) -> str:
    """A public identifier as it is compared: blanks make no difference."""
    return " ".join(name.split())


def resolve(entries: Iterable[CatalogEntry], wanted: set[str]) -> Iterator[tuple[str, str]]:
    """For the addresses that are looked for: where else each may be, exact entries first, then the longest."""
    patterns: list[CatalogEntry] = []
    for entry in entries:
        if entry.kind == NAME:
            name = urls.normalise(entry.name) or entry.name
            if name in wanted:
                yield name, entry.address
        elif entry.kind in (START, END) and len(patterns) < _MAX_PATTERNS:
            patterns.append(entry)
    patterns.sort(key=lambda entry: -len(entry.name))
    for address in wanted if patterns else ():
        for kind, name, target in patterns:
            if kind == END and address.endswith(name):
                yield address, target
            elif kind == START and address.startswith(name):
                moved = urls.normalise(target + address[len(name) :])
                if moved:
                    yield address, moved


#: Kinds that others are written in, or checked against.
SCHEMAS = ("xsd", "dtd", "rng", "rnc", "schematron", "nvdl")
GRAMMARS = (*SCHEMAS, "xslt", "xquery", "wsdl", "owl")
#: Kinds that nothing is checked against here, or that are only checked as the whole that they are part of.
UNCHECKED = (*GRAMMARS, "entity", "text", "part")
#: Strong links that a document can be used without: pictures and the like.
SPARE = ("ndata-entity",)
#: What schemas and stylesheets say of themselves as documents, and no processor of them follows.
_OF_INSTANCES = ("xsi:schemaLocation", "xsi:noNamespaceSchemaLocation", "pi:xml-model")
#: Links that make the target a part of the source, not a neighbour of it.
PARTS = ("xsd:include", "xsd:redefine", "xsd:override", "rng:include", "rng:externalRef", "parameter-entity")
#: `how` of a link to what the mission refuses to collect.
REFUSED = "refused"
#: A closure is followed so far; larger ones are cut, and counted as incomplete.
MAX_CLOSURE = 20_000
_MAX_REDIRECTS = 10
_MAX_CATALOGS = 1000


def quote(names: Iterable[str]) -> str:
    """Names of ours as SQL has them in a list."""
    return ", ".join(f"'{name}'" for name in names)


_NEEDED = f"""
link.strong AND link.how <> '{REFUSED}' AND link.kind NOT IN ({quote(SPARE)}) AND link.kind NOT LIKE 'catalog:%'
AND NOT (document.kind IN ({quote(GRAMMARS)}) AND link.kind IN ({quote(_OF_INSTANCES)}))
AND NOT (document.kind = 'xsd' AND link.kind = 'doctype-system')"""

#: The links that documents need.
NEEDS = f"""
SELECT document.id, link.found, link.target, link.href, link.how FROM link JOIN document ON document.id = link.document
WHERE {_NEEDED}"""


_LEAD = """
UPDATE link SET found = (
    SELECT min(id) FROM document WHERE document.url = link.target AND document.kind NOT IN ('', 'html'))
WHERE found IS NULL AND target <> ''"""


def resolve_links(store: AnalysisStore, collection: Collection) -> None:
    """Find the collected document that each link leads to, also through redirects, catalogs and guesses."""
    with store.transaction():
        # What was found in another way is looked for anew: it may stand at its address by now.
        store.db.execute("UPDATE link SET found = NULL, how = '' WHERE how <> ''")
        store.db.execute(_LEAD)
    _move_out(store)
    _keep(store, "redirect", _follow_redirects(store, collection))
    _keep(store, "catalog", _ask_catalogs(store, collection))
    _keep(store, "guess", _take_guesses(store, collection))
    _mark_refused(store, collection)


def _mark_refused(store: AnalysisStore, collection: Collection) -> None:
    """Note links to pictures and the like that the mission does not collect: nothing is wrong with their documents."""
    sql = f"SELECT DISTINCT target FROM link WHERE strong AND found IS NULL AND kind IN ({quote(OF_MEDIA)})"
    wanted = {target for (target,) in store.rows(sql)}
    if wanted:
        refused = collection.rows("SELECT url FROM url WHERE state = 8 AND reason = 'reject-list'")
        rows = [(REFUSED, url) for (url,) in refused if url in wanted]
        sql = f"UPDATE link SET how = ? WHERE target = ? AND strong AND found IS NULL AND kind IN ({quote(OF_MEDIA)})"
        with store.transaction():
            store.db.executemany(sql, rows)


#: Documents whose content says nothing; those that others only link to are named by their links.
_UNNAMED = "coalesce(root, '') = '' AND kind NOT IN ('', 'html', 'archive', 'dtd', 'rnc', 'xquery')"


#: Entities with several elements: what would be a fault of a document is none of theirs (XML 1.0, 4.3.2).
_FRAGMENTS = """
kind = 'xml' AND fault = 'junk after document element'
AND id IN (SELECT found FROM link WHERE strong AND kind = 'external-entity' AND found IS NOT NULL)"""


def name_parts(store: AnalysisStore) -> None:
    """Name documents whose content says nothing by the strong links that lead to them."""
    with store.transaction():
        store.db.execute(f"DELETE FROM change WHERE document IN (SELECT id FROM document WHERE {_FRAGMENTS})")
        store.db.execute(
            f"""UPDATE document SET kind = 'entity', well_formed = NULL, fault = '', fault_line = 0, changes = 0
                WHERE {_FRAGMENTS}"""
        )
        for relation, kind in reversed(PART_KINDS.items()):
            sql = f"""UPDATE document SET kind = ? WHERE {_UNNAMED}
                      AND id IN (SELECT found FROM link WHERE strong AND kind = ? AND found IS NOT NULL)"""
            store.db.execute(sql, (kind, relation))


def _keep(store: AnalysisStore, how: str, found: Iterable[tuple[int, str]]) -> None:
    """Lead the links to these targets to these documents; the first of several counts."""
    rows = [(document, how, target, how, document) for document, target in found]
    if rows:
        with store.transaction():
            store.db.executemany(_FIND, rows)


#: Another part of an XML Schema must be for the same namespace, or for none: of a guess that is asked.
_FIND = """
UPDATE link SET found = ?, how = ? WHERE strong AND target = ? AND found IS NULL AND (
    ? <> 'guess' OR link.kind NOT IN ('xsd:include', 'xsd:redefine', 'xsd:override')
    OR (SELECT target_namespace FROM document WHERE id = ?)
       IN ('', (SELECT target_namespace FROM document WHERE id = link.document)))"""


def _follow_redirects(store: AnalysisStore, collection: Collection) -> Iterator[tuple[int, str]]:
    sql = "SELECT DISTINCT target FROM link WHERE strong AND found IS NULL AND target <> ''"
    ends = {target: target for (target,) in store.rows(sql)}  # where each leads, as far as is known
    for _ in range(_MAX_REDIRECTS if ends else 0):
        ways = dict(_find_redirects(collection, set(ends.values())))
        ends = {target: ways[end] for target, end in ends.items() if end in ways}
        if not ends:
            break
        for target, end in ends.items():
            if (document := _find_at(store, end)) is not None:
                yield document, target


def _take_guesses(store: AnalysisStore, collection: Collection) -> Iterator[tuple[int, str]]:
    """The documents that the crawl guessed right, with the addresses at which they were missing.

    What stands where it would have guessed counts as well if a page led there: then no guess was needed.
    """
    sql = """SELECT url.url, missing.url FROM url JOIN url AS missing ON missing.n = url.parent
             WHERE url.via = 'guess' AND url.digest <> x'' ORDER BY url.n"""
    wanted = {target for (target,) in store.rows("SELECT DISTINCT target FROM link WHERE strong AND found IS NULL")}
    gone = [url for (url,) in collection.rows("SELECT url FROM url WHERE http IN (404, 410)") if url in wanted]
    tried = ((address, missing) for missing in gone for address in guess(missing, ()))
    for address, missing in (*list(collection.rows(sql)), *tried):
        if (document := _find_at(store, address)) is not None:
            yield document, missing


def _find_at(store: AnalysisStore, address: str) -> int | None:
    sql = "SELECT min(id) FROM document WHERE url = ? AND kind NOT IN ('', 'html')"
    number: int | None = store.value(sql, (address,))
    return number


def _move_out(store: AnalysisStore) -> None:
    """Lead links of members that lead out of their archive to where they lead once the archive is unpacked."""
    sql = """SELECT link.document, link.nth, link.href, link.target, document.url
             FROM link JOIN document ON document.id = link.document
             WHERE link.strong AND link.found IS NULL AND document.member <> ''"""
    moved = []
    for document, nth, href, target, url in store.rows(sql):
        archive, inner = url.partition("!/")[0], url.rpartition("!/")[2]
        outside = urls.normalise(href, archive[: archive.rfind("/") + 1] + inner)
        if outside and outside != target and urls.normalise(href, url) == target:
            moved.append((outside, document, nth))
    if moved:
        with store.transaction():
            store.db.executemany("UPDATE link SET target = ? WHERE document = ? AND nth = ?", moved)
            store.db.execute(_LEAD)


def _ask_catalogs(store: AnalysisStore, collection: Collection) -> Iterator[tuple[int, str]]:
    """What collected catalogs know of addresses and names that were not collected themselves."""
    entries = list(_read_catalogs(store, collection))
    if not entries:
        return
    sql = "SELECT DISTINCT target FROM link WHERE strong AND found IS NULL AND target <> ''"
    wanted = {target for (target,) in store.rows(sql)}
    found = [*resolve(entries, wanted), *_ask_public(store, entries)]
    for target, address in found:
        if (document := _find_at(store, address)) is not None:
            yield document, target


def _ask_public(store: AnalysisStore, entries: list[CatalogEntry]) -> Iterator[tuple[str, str]]:
    """Document types whose public identifier a catalog knows."""
    known = {entry.name: entry.address for entry in reversed(entries) if entry.kind == PUBLIC}
    sql = """SELECT DISTINCT document.dtd, link.target FROM link JOIN document ON document.id = link.document
             WHERE link.kind = 'doctype-system' AND link.found IS NULL AND link.target <> ''"""
    for public, target in store.rows(sql) if known else ():
        if (address := known.get(fold_public(public or ""))) is not None:
            yield target, address


def _read_catalogs(store: AnalysisStore, collection: Collection) -> Iterator[CatalogEntry]:
    """The entries of all catalogs, also of those in archives, each of which is opened once."""
    sql = "SELECT n, member, url FROM document WHERE namespace = ? ORDER BY n, id LIMIT ?"
    for n, rows in groupby(list(store.rows(sql, (NAMESPACE, _MAX_CATALOGS))), key=lambda row: row[0]):
        page = collection.page_at(n)
        if page is None:
            continue
        archive = unpack(page.body, page.url)
        bodies = {each.address: each.body for each in archive.members} if archive is not None else {}
        for _, member, url in rows:
            yield from read_catalog(bodies.get(url, b"") if member else page.body, url)


def _find_redirects(collection: Collection, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """Those of the addresses that were found to lead to another one; in one pass over all that is known."""
    sql = "SELECT url, redirect FROM url WHERE state IN (4, 5) AND redirect <> ''"
    return ((url, redirect) for url, redirect in collection.rows(sql) if url in wanted)


class Closures:
    """The graph of what needs what, in memory: two numbers per link."""

    def __init__(self, rows: Iterable[tuple[int, int | None, str, str, str]]) -> None:
        """From the rows of NEEDS."""
        self.needs: dict[int, list[int]] = {}
        self.lacks: dict[int, list[str]] = {}
        self.guessing: set[int] = set()  # those that need what was found elsewhere than at its address
        for document, found, target, href, how in rows:
            if how == "guess":
                self.guessing.add(document)
            if found is not None:
                self.needs.setdefault(document, []).append(found)
            else:
                self.needs.setdefault(document, [])
                self.lacks.setdefault(document, []).append(target or href)

    def of(self, *roots: int) -> set[int]:
        """The documents in the closure, the roots included."""
        seen = set(roots)
        queue = list(roots)
        while queue and len(seen) < MAX_CLOSURE:
            for needed in self.needs.get(queue.pop(), ()):
                if needed not in seen:
                    seen.add(needed)
                    queue.append(needed)
        return seen

    def missing(self, documents: Iterable[int]) -> set[str]:
        """The addresses that these documents need and that were not collected."""
        return {address for document in documents for address in self.lacks.get(document, ())}


def find_closures(store: AnalysisStore) -> Closures:
    """Write down the size of the closure, and what it lacks, of each schema and each document that needs others."""
    closures = Closures(store.rows(NEEDS))
    alone = (row[0] for row in store.rows(f"SELECT id FROM document WHERE kind IN ({quote(GRAMMARS)})"))
    rows = []
    for document in sorted(closures.needs.keys() | set(alone)):
        closure = closures.of(document)
        lacking = len(closures.missing(closure)) + (len(closure) >= MAX_CLOSURE)
        whole = "complete" if closures.guessing.isdisjoint(closure) else "guessed"
        rows.append(("incomplete" if lacking else whole, len(closure), lacking, document))
    with store.transaction():
        store.db.execute("UPDATE document SET closure = '', closure_size = 0, missing = 0 WHERE closure <> ''")
        sql = "UPDATE document SET closure = ?, closure_size = ?, missing = ? WHERE id = ?"
        store.db.executemany(sql, rows)
    return closures
