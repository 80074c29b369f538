"""Reader of SKOS thesauri: RDF/XML, Turtle, N-Triples, N-Quads, TriG or JSON-LD, as published by anyone.

Several files may belong together: one with the structure, one for each language. Files are not trusted: one that is
too large, or blows up when it is read, is refused with the file, the line and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from lycosa.errors import UsageError
from lycosa.extras import need
from lycosa.text.terms import primary
from lycosa.text.thesaurus import Concept, Group, Vocabulary

if TYPE_CHECKING:
    from pyoxigraph import Quad, Store

SKOS = "http://www.w3.org/2004/02/skos/core#"
XL = "http://www.w3.org/2008/05/skos-xl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
DCT = "http://purl.org/dc/terms/"
DC = "http://purl.org/dc/elements/1.1/"
GEMET = "http://www.eionet.europa.eu/gemet/2004/06/gemet-schema.rdf#"


def install() -> None:
    """See that the store of statements is here, before a process of its own has its limits."""
    need("pyoxigraph", extra="rdf", what="A thesaurus")


#: Bytes of a file and statements of all: AGROVOC, the largest thesaurus in common use, has 10 million.
MAX_BYTES = 2 << 30
MAX_STATEMENTS = 20_000_000
MAX_LABEL = 500
MAX_DEFINITION = 5_000
#: Concepts of all groups together: in a file made for it, thousands of groups could hold each other.
MAX_MEMBERS = 2_000_000
#: Characters of an XML entity: they abbreviate namespaces; what is longer, or holds another one, is a bomb.
_MAX_ENTITY = 1_000
_MAX_DEPTH = 500
_ENTITY = re.compile(rb"""<!ENTITY\s+(%?\s*[^\s"']+)\s+(?:"([^"]*)"|'([^']*)'|(SYSTEM|PUBLIC))""")

_DECLARED = re.compile(rb"""<\?xml[^>]{0,100}?\sencoding\s*=\s*(["'])([A-Za-z0-9._-]{1,40})\1""")
_ENCODING = re.compile(r"^<\?xml[^>]*\?>")

_FORMATS = {
    ".rdf": "RDF_XML", ".xml": "RDF_XML", ".owl": "RDF_XML", ".skos": "RDF_XML", ".ttl": "TURTLE", ".turtle": "TURTLE",
    ".nt": "N_TRIPLES", ".nq": "N_QUADS", ".trig": "TRIG", ".n3": "N3", ".jsonld": "JSON_LD", ".json": "JSON_LD",
}  # fmt: skip

#: Files in a folder that are taken for SKOS; a manifest in JSON is none.
SUFFIXES = tuple(suffix for suffix in _FORMATS if suffix != ".json")

_LABELS = {f"{SKOS}prefLabel": 0, f"{SKOS}altLabel": 1, f"{SKOS}hiddenLabel": 2, f"{RDFS}label": 3}
_XL_LABELS = {f"{XL}prefLabel": 0, f"{XL}altLabel": 1, f"{XL}hiddenLabel": 2}
_UP = {f"{SKOS}broader", f"{SKOS}broaderGeneric", f"{SKOS}broaderPartitive", f"{SKOS}broaderTransitive"}
_DOWN = {f"{SKOS}narrower", f"{SKOS}narrowerTransitive"}
#: The group is the object, or (skos:member) the subject.
_IN_GROUP = {f"{GEMET}theme": "theme", f"{GEMET}group": "group"}
_KINDS = {
    f"{GEMET}Theme": "theme", f"{GEMET}Group": "group", f"{GEMET}SuperGroup": "supergroup",
    f"{SKOS}Collection": "collection", f"{SKOS}OrderedCollection": "collection",
    "http://purl.org/iso25964/skos-thes#ConceptGroup": "group",
    "http://purl.org/iso25964/skos-thes#ThesaurusArray": "collection",
}  # fmt: skip
_RANK = {"theme": 0, "group": 1, "supergroup": 2, "collection": 3}


class _Graph:
    """What the statements say, by URI."""

    def __init__(self, languages: Iterable[str]) -> None:
        self.languages = frozenset(languages)
        self.concepts: set[str] = set()
        self.schemes: set[str] = set()
        self.labels: dict[str, list[tuple[int, str, str]]] = {}
        self.xl: dict[str, list[tuple[int, str]]] = {}
        self.forms: dict[str, list[tuple[str, str]]] = {}
        self.definitions: dict[str, dict[str, str]] = {}
        self.broader: dict[str, dict[str, None]] = {}
        self.related: dict[str, dict[str, None]] = {}
        self.members: dict[str, dict[str, None]] = {}
        self.kinds: dict[str, str] = {}
        self.tops: dict[str, None] = {}
        self.titles: dict[str, str] = {}
        self.licences: list[str] = []


def load(
    files: Sequence[Path], store: Store, *, name: str, languages: Sequence[str] = (), tell: Callable[[str], None]
) -> Vocabulary:
    """Read files that belong together; their statements go into `store`, without labels in unwanted languages.

    `tell` is called with a sentence for each file.
    """
    graph = _Graph(languages)
    count = 0
    for file in files:
        before = count
        quads: list[Quad] = []
        for quad in _parse(file, name):
            count += 1
            if count > MAX_STATEMENTS:
                raise UsageError(f"{file}: more than {MAX_STATEMENTS:,} statements; allowed: fewer, or --languages")
            if _add(graph, quad):
                quads.append(quad)
        store.bulk_extend(quads)
        tell(f"{file}: {count - before:,} statements")
    found = _build(graph, name)
    if not any(concept.labels for concept in found.concepts):
        where = ", ".join(str(file) for file in files[:3]) + (", …" if len(files) > 3 else "")
        raise UsageError(f"{where}: no skos:Concept with a label in {count:,} statements; allowed: a SKOS thesaurus")
    return found


def _parse(file: Path, name: str) -> Iterator[Quad]:
    """The statements of one file, into the default graph."""
    import pyoxigraph as ox

    data = _load(file)
    form = _format_of(file, data)
    if form == "RDF_XML":
        data = _transcode(file, data)
        _check_entities(file, data)
        _check_depth(file, data)
    base = f"http://thesaurus.invalid/{name}/"
    count = 0
    default = ox.DefaultGraph()
    try:
        for quad in ox.parse(data, format=getattr(ox.RdfFormat, form), base_iri=base):
            count += 1
            yield quad if quad.graph_name == default else ox.Quad(*quad.triple)
    except SyntaxError as error:
        line = error.lineno or (_find_xml_line(data) if form == "RDF_XML" else 0)
        place = f"{file}:{line}" if line else f"{file}: after {count:,} statements"
        hint = "; a context that must be fetched is not: put it into the file" if "LoadDocument" in str(error) else ""
        raise UsageError(f"{place}: this is no {form.replace('_', '/', 1)}: {error.msg or error}{hint}") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"{file}: after {count:,} statements: {error}") from None


def _load(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: the file cannot be read ({error.strerror})") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file}: larger than {MAX_BYTES >> 30} GiB")
    if not data.strip():
        raise UsageError(f"{file}: the file is empty; allowed: SKOS as RDF/XML, Turtle, N-Triples, JSON-LD")
    return data


def _format_of(file: Path, data: bytes) -> str:
    """The RDF format, by the content where that is clear, else by the suffix: Turtle and N-Triples begin alike."""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        return "JSON_LD" if start[:1] == b"{" or file.suffix.lower() in (".json", ".jsonld") else "TURTLE"
    if start.startswith((b"<?xml", b"<rdf:", b"<!DOCTYPE", b"<!--")) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "RDF_XML"
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        raise UsageError(f"{file}: this is an archive; unpack it first")
    form = _FORMATS.get(file.suffix.lower(), "")
    return form if form and form not in ("RDF_XML", "JSON_LD") else "TURTLE"


def _transcode(file: Path, data: bytes) -> bytes:
    """XML in UTF-8, which is all that the reader knows."""
    encoding = "utf-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif declared := _DECLARED.match(data):
        encoding = declared[2].decode("ascii")
    if encoding.lower() in ("utf-8", "utf8", "us-ascii"):
        return data
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise UsageError(f"{file}:1: the encoding {encoding} cannot be read ({error})") from None
    return _ENCODING.sub('<?xml version="1.0"?>', text.lstrip("\ufeff"), count=1).encode("utf-8", "replace")


def _check_entities(file: Path, data: bytes) -> None:
    for found in _ENTITY.finditer(data):
        value = found[2] or found[3] or b""
        if found[4] or found[1].startswith(b"%") or len(value) > _MAX_ENTITY or re.search(rb"&(?!#)", value):
            line = data.count(b"\n", 0, found.start()) + 1
            raise UsageError(
                f"{file}:{line}: an XML entity that is long, external or nested; allowed: short plain ones"
            )


def _check_depth(file: Path, data: bytes) -> None:
    """Refuse elements that are nested too deeply: the time of the reader grows with the square of their number."""
    parser = expat.ParserCreate()
    depth = 0

    def enter(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise UsageError(f"{file}:{parser.CurrentLineNumber}: more than {_MAX_DEPTH} elements within each other")

    def leave(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    with suppress(expat.ExpatError):  # the RDF reader names what is wrong
        parser.Parse(data, True)


def _find_xml_line(data: bytes) -> int:
    """The line of the first error that an XML parser finds; 0 when it finds none."""
    parser = expat.ParserCreate(namespace_separator=" ")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        return error.lineno
    return 0


def _add(graph: _Graph, quad: Quad) -> bool:
    """Add what matters of a statement; False if it is in a language that is not wanted."""
    predicate, thing = quad.predicate.value, quad.object
    subject: str = getattr(quad.subject, "value", "")
    value: str = getattr(thing, "value", "")
    language: str | None = getattr(thing, "language", None)
    if language is not None and graph.languages and primary(language) not in graph.languages:
        return False
    if predicate in _LABELS:
        if value and len(value) <= MAX_LABEL:
            graph.labels.setdefault(subject, []).append((_LABELS[predicate], primary(language or ""), value))
    elif predicate == f"{RDF}type":
        if value == f"{SKOS}Concept":
            graph.concepts.add(subject)
        elif value == f"{SKOS}ConceptScheme":
            graph.schemes.add(subject)
        elif value in _KINDS:
            _set_kind(graph, subject, _KINDS[value])
    else:
        _add_relation(graph, subject, predicate=predicate, value=value, language=language)
    return True


def _add_relation(graph: _Graph, subject: str, *, predicate: str, value: str, language: str | None) -> None:
    if predicate in _UP:
        graph.broader.setdefault(subject, {})[value] = None
    elif predicate in _DOWN:
        graph.broader.setdefault(value, {})[subject] = None
    elif predicate == f"{SKOS}related":
        graph.related.setdefault(subject, {})[value] = None
    elif predicate == f"{SKOS}member":
        graph.members.setdefault(subject, {})[value] = None
    elif predicate in _IN_GROUP:
        graph.members.setdefault(value, {})[subject] = None
        _set_kind(graph, value, _IN_GROUP[predicate])
    elif predicate == f"{GEMET}subGroupOf":
        graph.members.setdefault(value, {})[subject] = None
    elif predicate == f"{SKOS}hasTopConcept":
        graph.tops[value] = None
    elif predicate == f"{SKOS}topConceptOf":
        graph.tops[subject] = None
    elif predicate == f"{SKOS}definition" or predicate == f"{SKOS}scopeNote":
        graph.definitions.setdefault(subject, {}).setdefault(primary(language or ""), value[:MAX_DEFINITION])
    elif predicate in _XL_LABELS:
        graph.xl.setdefault(subject, []).append((_XL_LABELS[predicate], value))
    elif predicate == f"{XL}literalForm" and len(value) <= MAX_LABEL:
        graph.forms.setdefault(subject, []).append((primary(language or ""), value))
    elif predicate in (f"{DCT}title", f"{DC}title"):
        graph.titles.setdefault(subject, value[:MAX_LABEL])
    elif predicate == f"{DCT}license":
        graph.licences.append(value[:MAX_LABEL])


def _set_kind(graph: _Graph, uri: str, kind: str) -> None:
    """Record the kind of a group; a GEMET theme is a SKOS collection as well, and the more special word counts."""
    if _RANK[kind] <= _RANK.get(graph.kinds.get(uri, ""), 9):
        graph.kinds[uri] = kind


def _build(graph: _Graph, name: str) -> Vocabulary:
    """Number the concepts and link them to each other and to their groups."""
    for subject, references in graph.xl.items():
        for rank, reference in references:
            graph.labels.setdefault(subject, []).extend((rank, *form) for form in graph.forms.get(reference, ()))
    for uri in graph.members:
        graph.kinds.setdefault(uri, "collection")
    labelled = graph.labels.keys() - graph.kinds.keys() - graph.schemes - graph.forms.keys()
    named = {uri for uri in labelled if any(rank < 3 for rank, _, _ in graph.labels[uri])}
    uris = sorted(graph.concepts | named)
    places = {uri: place for place, uri in enumerate(uris)}
    concepts = [
        Concept(uri, labels=_order_labels(graph.labels.get(uri, [])), definition=graph.definitions.get(uri, {}))
        for uri in uris
    ]
    for uri, place in places.items():
        concepts[place].broader = sorted(places[other] for other in graph.broader.get(uri, ()) if other in places)
        for other in concepts[place].broader:
            concepts[other].narrower.append(place)
        concepts[place].related = sorted(places[other] for other in graph.related.get(uri, ()) if other in places)
    groups = list(_bound(chain(_read_groups(graph, places), _read_tops(graph, concepts, places))))
    for number, group in enumerate(groups):
        for place in group.members:
            concepts[place].groups.append(number)
    return Vocabulary(name, _find_title(graph, name), concepts, groups, next(iter(graph.licences), ""))


def _order_labels(found: list[tuple[int, str, str]]) -> dict[str, list[str]]:
    """Labels by language, the preferred one first, none twice."""
    labels: dict[str, dict[str, None]] = {}
    for _, language, text in sorted(found, key=lambda item: (item[1], item[0])):
        labels.setdefault(language, {})[" ".join(text.split())] = None
    return {language: [text for text in names if text] for language, names in labels.items()}


def _read_groups(graph: _Graph, places: dict[str, int]) -> Iterator[Group]:
    for uri in sorted(graph.kinds, key=lambda uri: (_RANK[graph.kinds[uri]], uri)):
        members = sorted(places[member] for member in _reach([uri], graph.members) if member in places)
        if members:
            yield Group(uri, graph.kinds[uri], labels=_order_labels(graph.labels.get(uri, [])), members=members)


def _read_tops(graph: _Graph, concepts: list[Concept], places: dict[str, int]) -> Iterator[Group]:
    """What is below each top concept; where the file names none, concepts without a broader one are the tops."""
    tops = [uri for uri in graph.tops if uri in places]
    if not tops:
        tops = [concept.uri for concept in concepts if concept.narrower and not concept.broader]
    below: dict[str, dict[str, None]] = {}
    for concept in concepts:
        below[concept.uri] = {concepts[place].uri: None for place in concept.narrower}
    for uri in sorted(tops):
        members = sorted(places[member] for member in _reach([uri], below))
        yield Group(uri, "top concept", labels=concepts[places[uri]].labels, members=members)


def _bound(groups: Iterable[Group]) -> Iterator[Group]:
    """The first groups, as long as they have no more than `MAX_MEMBERS` concepts in all."""
    total = 0
    for group in groups:
        total += len(group.members)
        if total > MAX_MEMBERS:
            return
        yield group


def _reach(start: list[str], edges: dict[str, Any]) -> set[str]:
    """All that is reached from the start along the edges, itself included; circles do no harm."""
    seen = set(start)
    stack = list(start)
    while stack:
        for other in edges.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def _find_title(graph: _Graph, name: str) -> str:
    for uri in sorted(graph.schemes):
        for _, _, text in sorted(graph.labels.get(uri, ())):
            return " ".join(text.split())
        if uri in graph.titles:
            return " ".join(graph.titles[uri].split())
    return name
