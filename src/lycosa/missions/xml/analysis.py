"""The XML analyzer: the four phases of each document, then closures and validity of the whole collection.

`lycosa analyse xml` names it; worker processes load it by its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from lycosa.analysis.analyzer import (
    AnalysisStore,
    Analyzer,
    Case,
    Corrected,
    DocumentSource,
    Facet,
    Fact,
    Task,
    TypedLink,
)
from lycosa.collection.collection import Collection
from lycosa.missions.xml import closure
from lycosa.missions.xml.archives import unpack
from lycosa.missions.xml.kinds import Kind, is_page, recognise, recognise_doc
from lycosa.missions.xml.links import Reference, trace
from lycosa.missions.xml.repair import Text, find_fault, read_plain, read_text, repair_text
from lycosa.missions.xml.structure import Structure, measure, measure_dtd
from lycosa.missions.xml.validation import Grammar, Unusable, Validator, time_check
from lycosa.parse import Doc, read

_TABLES = """
CREATE INDEX document_in ON document (namespace);
-- What documents are checked against: `roots` are numbers of documents, as JSON.
CREATE TABLE grammar (
    id INTEGER PRIMARY KEY, kind TEXT, roots TEXT, mark TEXT, state TEXT DEFAULT '', error TEXT DEFAULT '',
    seconds REAL DEFAULT 0, UNIQUE (kind, roots)
);
"""
#: Which link of a document names its schema, the most specific first, with the kinds that it may lead to.
_SCHEMA_LINKS = {
    "xsi:schemaLocation": "xsd",
    "xsi:noNamespaceSchemaLocation": "xsd",
    "pi:xml-model": "rng xsd dtd",
    "doctype-system": "dtd",
}


#: Fields of a `Structure` that are columns as they are.
_COUNTS = (
    "elements", "attributes", "depth", "fanout", "recursion", "mixed", "comments", "instructions", "names",
    "attribute_names",
)  # fmt: skip


class XmlAnalyzer(Analyzer):
    """The analyzer of the XML mission."""

    name = "xml"
    version = "6"
    columns = {
        "root": "TEXT", "namespace": "TEXT", "encoding": "TEXT", "well_formed": "BOOLEAN", "fault": "TEXT",
        "fault_line": "INTEGER", "elements": "INTEGER", "attributes": "INTEGER", "depth": "INTEGER",
        "fanout": "INTEGER", "mean_fanout": "REAL", "recursion": "INTEGER", "mixed": "INTEGER", "text_share": "REAL",
        "comments": "INTEGER", "instructions": "INTEGER", "names": "INTEGER", "attribute_names": "INTEGER",
        "namespaces": "INTEGER", "dtd": "TEXT", "internal_subset": "INTEGER", "schema_use": "TEXT",
        "target_namespace": "TEXT", "schema": "TEXT", "validity": "TEXT", "validity_error": "TEXT", "checked": "TEXT",
        "closure": "TEXT", "closure_size": "INTEGER",
    }  # fmt: skip
    facets = ("uses",)
    spare = closure.SPARE
    tables = _TABLES
    clusters = {"kind": "kind", "validity": "validity", "closure": "closure", "namespace": "namespace", "host": "host"}

    def __init__(self) -> None:
        self._validator: Validator | None = None

    # One document

    def members(self, doc: Doc) -> Iterable[Case]:
        """The documents of the family in an archive, by the address URL!/path."""
        if doc.kind != "archive" and not (doc.kind == "sitemap" and doc.body[:2] == b"\x1f\x8b"):
            return
        archive = unpack(doc.body, doc.url)
        for member in archive.members if archive is not None else ():
            kind = recognise(member.body, url=member.address)
            if kind is not None:
                # Without an announced type, <a xmlns="…"> would be taken for HTML.
                headers = {"content-type": "application/xml"} if kind.root is not None else {}
                inner = read(member.address, headers, member.body)
                yield Case(inner, member=member.address.removeprefix(f"{doc.url}!/"))

    def detect(self, case: Case) -> str | None:
        """The kind, from the content."""
        kind = recognise_doc(case.doc)
        if kind is None:
            return None if case.doc.kind != "html" or is_page(case.doc) else "text"
        case.scratch["kind"] = kind
        return kind.name

    def correct(self, case: Case) -> Corrected | None:
        """The corrections that make a document well-formed."""
        kind: Kind | None = case.scratch.get("kind")
        if kind is None or kind.root is None:
            return None
        case.scratch["text"] = text = read_text(case.body, case.doc.charset)
        fault, line = find_fault(text.data)
        repaired = repair_text(case.body, text, (fault, line))
        if repaired is not None and not fault:  # a parser of bytes would have found it
            fault, line = next(((change.detail, change.line) for change in repaired.changes), ("", 0))
        case.scratch["fault"] = (fault, line)
        return repaired

    def to_utf8(self, case: Case) -> bytes | None:
        """A document with tags in UTF-8, with what stands behind an error; None for any other."""
        repaired = self.correct(case)
        text: Text | None = case.scratch.get("text")
        if repaired is not None:
            return repaired.data
        return text.data if text is not None else None

    def trace(self, case: Case) -> Iterable[TypedLink]:
        """The strong links, typed."""
        kind: Kind | None = case.scratch.get("kind")
        if kind is None:
            return ()
        found = trace(case.body, case.url, kind=kind, mime=case.doc.mime, charset=case.doc.charset)
        return [TypedLink(link.relation, link.href, not _is_css(link), link.url or "") for link in found.strong]

    def analyse(self, case: Case) -> Mapping[str, Fact] | None:
        """The structure of a document, its namespaces, and what it says of schemas."""
        kind: Kind | None = case.scratch.get("kind")
        if kind is None:
            return None
        found = self._measure(case, kind)
        fault, line = case.scratch.get("fault") or (found.fault, found.line)
        case.facets += [Facet("uses", namespace, count) for namespace, count in found.namespaces.items() if namespace]
        used = [lead.kind for lead in case.links if lead.kind in _SCHEMA_LINKS]
        if not used and found.internal_subset and not found.system_id and b"<!ELEMENT" in case.data:
            used = ["internal"]
        facts: dict[str, Fact] = {
            "root": kind.root.name if kind.root else "",
            "namespace": kind.root.namespace if kind.root else "",
            "encoding": kind.encoding,
            "well_formed": None if kind.root is None else int(not fault),
            "fault": fault,
            "fault_line": line,
            "mean_fanout": round(found.mean_fanout, 3),
            "text_share": round(min(1.0, found.text_chars / max(1, found.chars)), 4),
            "namespaces": sum(1 for namespace in found.namespaces if namespace),
            "dtd": found.public_id or found.system_id or found.doctype,
            "internal_subset": int(found.internal_subset),
            "schema_use": " ".join(dict.fromkeys(used)),
            "target_namespace": _find_target(kind),
        }
        return facts | {name: getattr(found, name) for name in _COUNTS}

    def _measure(self, case: Case, kind: Kind) -> Structure:
        if kind.name == "dtd":
            return measure_dtd(read_plain(case.body, case.doc.charset)[0])
        if kind.root is None:
            return Structure()
        if case.data is not case.body:
            return measure(case.data)
        text = case.scratch.get("text") or read_text(case.body, case.doc.charset)
        return measure(text.data)

    # All documents

    def relate(self, store: AnalysisStore, collection: Collection) -> Iterable[Task]:
        """Lead links to their documents, find closures, and say what is to be checked against which schema."""
        closure.resolve_links(store, collection)
        closure.name_parts(store)
        closures = closure.find_closures(store)
        with store.transaction():
            _list_grammars(store, closures)
        # Those that take long go first, so that nobody waits for them at the end.
        sql = """SELECT id FROM grammar WHERE state = '' ORDER BY (
                     SELECT total(closure_size) FROM json_each(roots) JOIN document ON document.id = value) DESC, id"""
        yield from (Task(f"grammar {number}", 0, 1) for (number,) in list(store.rows(sql)))
        sql = """SELECT document.id, grammar.id FROM document JOIN grammar ON document.schema = grammar.id
                 WHERE document.checked IS NOT grammar.mark AND document.well_formed ORDER BY grammar.id, document.id"""
        yield from (Task(f"check {grammar}", document, 2) for document, grammar in list(store.rows(sql)))

    def perform(self, task: Task, documents: DocumentSource) -> Mapping[str, Fact]:
        """Compile a schema, or check a document."""
        if self._validator is None:
            self._validator = Validator(documents)
        what, _, number = task.subject.partition(" ")
        row = next(documents.rows("SELECT kind, roots, state, error, mark FROM grammar WHERE id = ?", (int(number),)))
        kind, roots, state, error, mark = (str(value) for value in row)
        grammar = Grammar(kind, msgspec.json.decode(roots, type=tuple[int, ...]))
        validator = self._validator

        def compile_it() -> dict[str, Any]:
            try:
                validator.prepare(grammar)
            except Unusable as problem:
                return {"state": "unusable", "error": str(problem)}
            return {"state": "usable", "error": ""}

        def check_it() -> dict[str, Any]:
            if state != "usable":
                return {"validity": "unknown", "validity_error": f"its schema cannot be used: {error}", "checked": mark}
            try:
                validity, wrong = validator.check(grammar, task.document)
            except Unusable as problem:
                validity, wrong = "unknown", str(problem)
            return {"validity": validity, "validity_error": wrong, "checked": mark}

        return time_check(compile_it if what == "grammar" else check_it)

    def record_answer(self, store: AnalysisStore, task: Task, facts: Mapping[str, Fact]) -> None:
        """Keep what came of a schema or a document."""
        what, _, number = task.subject.partition(" ")
        if what == "grammar":
            state = facts.get("state") or facts.get("outcome")
            sql = "UPDATE grammar SET state = ?, error = ? WHERE id = ?"
            store.db.execute(sql, (state, facts.get("error", ""), int(number)))
            return
        if "validity" not in facts:
            mark = store.value("SELECT mark FROM grammar WHERE id = ?", (int(number),))
            facts = {"validity": "unknown", "validity_error": f"{facts['outcome']}: {facts['error']}", "checked": mark}
        store.learn(task.document, facts)

    def describe_task(self, store: AnalysisStore, task: Task) -> str:
        """The schema that is compiled, or the document that is checked."""
        what, _, number = task.subject.partition(" ")
        document = task.document
        if what == "grammar":
            roots = store.value("SELECT roots FROM grammar WHERE id = ?", (int(number),))
            document = next(iter(msgspec.json.decode(roots or "[]", type=list[int])), 0)
        url = store.value("SELECT url FROM document WHERE id = ?", (document,)) or task.subject
        return f"the schema {url}" if what == "grammar" else f"the check of {url}"

    def forget(self, store: AnalysisStore) -> None:
        """Let schemas and documents be tried again that took too much time or memory."""
        with store.transaction():
            store.db.execute("UPDATE grammar SET state = '' WHERE state NOT IN ('usable', 'unusable')")
            store.db.execute("UPDATE document SET checked = NULL WHERE validity = 'unknown'")

    def finish(self, store: AnalysisStore) -> None:
        """Write down the validity of schemas: usable by themselves, if they could be compiled."""
        with store.transaction():
            store.db.execute(_JUDGE_SCHEMAS)


def _is_css(link: Reference) -> bool:
    """Whether a link only says how a document looks: it can be used without, as with pictures."""
    return link.relation == "pi:xml-stylesheet" and link.href.partition("?")[0].lower().endswith(".css")


#: What is known of the schemas that were compiled for themselves.
_JUDGE_SCHEMAS = """
UPDATE document SET (validity, validity_error) = (
    SELECT iif(grammar.state = 'usable', 'usable', 'unusable'), grammar.error
    FROM grammar WHERE grammar.kind = document.kind AND grammar.roots = '[' || document.id || ']')
WHERE kind IN ('xsd', 'rng', 'dtd')
"""


def _find_target(kind: Kind) -> str:
    """The namespace that a schema is for."""
    if kind.name == "xsd" or kind.name == "wsdl":
        return kind.attributes.get("targetNamespace", "")
    return kind.attributes.get("ns", "") if kind.name == "rng" else ""


def _list_grammars(store: AnalysisStore, closures: closure.Closures) -> None:
    """Say for each document what it is checked against; schemas that nothing is a part of are compiled as well."""
    store.db.execute("UPDATE document SET schema = NULL WHERE schema IS NOT NULL")
    wanted: dict[Grammar, list[int]] = {}
    for document, grammar in _find_schemas(store):
        wanted.setdefault(grammar, []).append(document)
    entries = list(_find_entries(store, closures))
    for document, kind in entries:
        wanted.setdefault(Grammar(kind, (document,)), [])
    for document, grammar in _guess_schemas(store, entries):
        wanted[grammar].append(document)
    if own := [document for (document,) in store.rows(_OWN)]:
        wanted[Grammar("own", ())] = own
    numbers = []
    faulty = {number for (number,) in store.rows("SELECT id FROM document WHERE well_formed = 0")}
    for grammar, documents in wanted.items():
        closure_of = closures.of(*grammar.roots)
        number = _keep_grammar(store, grammar, _mark(store, closure_of))
        if not faulty.isdisjoint(closure_of):
            sql = "UPDATE grammar SET state = 'unusable', error = ? WHERE id = ?"
            store.db.execute(sql, (_describe_fault(store, faulty & closure_of), number))
        numbers.append(number)
        store.db.executemany("UPDATE document SET schema = ? WHERE id = ?", ((number, each) for each in documents))
    kept = set(numbers)
    gone = [(number,) for (number,) in list(store.rows("SELECT id FROM grammar")) if number not in kept]
    store.db.executemany("DELETE FROM grammar WHERE id = ?", gone)
    store.db.execute(
        "UPDATE document SET validity = NULL, validity_error = NULL, checked = NULL WHERE schema IS NULL"
        " AND validity IS NOT NULL"
    )
    store.db.execute(
        "UPDATE document SET validity = 'invalid', validity_error = 'line ' || fault_line || ': ' || fault"
        " WHERE schema IS NOT NULL AND well_formed = 0"
    )


def _describe_fault(store: AnalysisStore, faulty: set[int]) -> str:
    """Why a schema is none by which others are judged: what it says was only read after a correction of ours."""
    sql = "SELECT url || ' is not well-formed: line ' || fault_line || ': ' || fault FROM document WHERE id = ?"
    return str(store.value(sql, (min(faulty),)))


#: The version of these checks: a change of it has every document checked again.
_JUDGE = b"4"


def _mark(store: AnalysisStore, closure: set[int]) -> str:
    """Changes when one of these documents does."""
    ids = msgspec.json.encode(sorted(closure)).decode()
    rows = store.rows(
        "SELECT digest FROM document WHERE id IN (SELECT value FROM json_each(?)) ORDER BY digest", (ids,)
    )
    return hashlib.sha1(_JUDGE + b"".join(digest or b"" for (digest,) in rows)).hexdigest()


def _keep_grammar(store: AnalysisStore, grammar: Grammar, mark: str) -> int:
    """The number of a grammar; it is to be compiled again when anything that it needs has changed."""
    roots = msgspec.json.encode(grammar.roots).decode()
    had = next(store.rows("SELECT id, mark FROM grammar WHERE kind = ? AND roots = ?", (grammar.kind, roots)), None)
    if had is None:
        sql = "INSERT INTO grammar (kind, roots, mark) VALUES (?, ?, ?)"
        store.db.execute(sql, (grammar.kind, roots, mark))
        return int(store.db.last_insert_rowid())
    if had[1] != mark:
        store.db.execute("UPDATE grammar SET mark = ?, state = '', error = '' WHERE id = ?", (mark, had[0]))
    return int(had[0])


#: Schemas, those first that are part of no other.
_ENTRIES = f"""
SELECT id, kind, EXISTS (
    SELECT 1 FROM link WHERE link.found = document.id AND link.document <> document.id
    AND link.kind IN ({closure.quote(closure.PARTS)})) AS part
FROM document WHERE kind IN ('xsd', 'rng', 'dtd') ORDER BY part, id"""
_UNNAMED = f"""
SELECT id FROM document
WHERE namespace = ? AND schema_use = '' AND kind NOT IN ('', 'html', {closure.quote(closure.GRAMMARS)})"""
#: Documents that declare their elements themselves.
_OWN = f"SELECT id FROM document WHERE schema_use = 'internal' AND kind NOT IN ({closure.quote(closure.GRAMMARS)})"
_LOCATED = f"""
SELECT link.document, link.kind, link.found, target.kind FROM link JOIN document AS target ON target.id = link.found
JOIN document AS source ON source.id = link.document
WHERE link.strong AND link.kind IN ({closure.quote(_SCHEMA_LINKS)})
      AND source.kind NOT IN ({closure.quote(closure.GRAMMARS)})
ORDER BY link.document, link.nth"""


def _find_entries(store: AnalysisStore, closures: closure.Closures) -> Iterator[tuple[int, str]]:
    """Schemas that are part of no other; of those that are all parts of each other, the first."""
    covered: set[int] = set()
    for document, kind, part in list(store.rows(_ENTRIES)):
        if not part or document not in covered:
            covered |= closures.of(document)
            yield document, kind


def _find_schemas(store: AnalysisStore) -> Iterator[tuple[int, Grammar]]:
    """Each document that names a schema which was collected, with that schema."""
    here = 0
    named: dict[str, list[tuple[str, int]]] = {}
    for document, link, found, kind in store.rows(_LOCATED):
        if document != here:
            yield from _choose_schema(here, named)
            here, named = document, {}
        if kind in _SCHEMA_LINKS[link].split():
            named.setdefault(link, []).append((kind, found))
    yield from _choose_schema(here, named)


def _guess_schemas(store: AnalysisStore, entries: list[tuple[int, str]]) -> Iterator[tuple[int, Grammar]]:
    """Each document that names no schema, with the one XML Schema that was collected for its namespace."""
    store.db.execute("UPDATE document SET schema_use = '' WHERE schema_use = 'namespace'")
    spaces: dict[str, list[int]] = {}
    for document, kind in entries:
        if kind == "xsd":
            target = store.value("SELECT target_namespace FROM document WHERE id = ?", (document,))
            spaces.setdefault(target or "", []).append(document)
    for space, schemas in spaces.items():
        if space and len(schemas) == 1:  # of several nobody knows which is the right one
            for (document,) in list(store.rows(_UNNAMED, (space,))):
                store.db.execute("UPDATE document SET schema_use = 'namespace' WHERE id = ?", (document,))
                yield document, Grammar("xsd", (schemas[0],))


def _choose_schema(document: int, named: dict[str, list[tuple[str, int]]]) -> Iterator[tuple[int, Grammar]]:
    located = [
        found for link in ("xsi:schemaLocation", "xsi:noNamespaceSchemaLocation") for found in named.get(link, ())
    ]
    if located:
        yield document, Grammar("xsd", tuple(dict.fromkeys(found for _, found in located)))
    elif "pi:xml-model" in named:
        kind, found = named["pi:xml-model"][0]
        yield document, Grammar(kind, (found,))
    elif "doctype-system" in named:
        yield document, Grammar("dtd", (named["doctype-system"][0][1],))
