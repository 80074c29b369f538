"""RDFa 1.1 in HTML: the triples that a page states (RDFa Core 1.1, section 7.5, with the rules of HTML+RDFa 1.1)."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urljoin

from msgspec import Struct
from turbohtml import Document, Element, Node

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE = f"{RDF}type"
_XHV = "http://www.w3.org/1999/xhtml/vocab#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_MAX_DEPTH = 250
_MAX_TRIPLES = 50_000
#: The initial context (https://www.w3.org/2011/rdfa-context/rdfa-1.1).
_CONTEXT = """
as https://www.w3.org/ns/activitystreams#  cat http://www.w3.org/ns/dcat#  cc http://creativecommons.org/ns#
csvw http://www.w3.org/ns/csvw#  ctag http://commontag.org/ns#  dc http://purl.org/dc/terms/
dc11 http://purl.org/dc/elements/1.1/  dcat http://www.w3.org/ns/dcat#  dcterms http://purl.org/dc/terms/
dqv http://www.w3.org/ns/dqv#  duv https://www.w3.org/ns/duv#  foaf http://xmlns.com/foaf/0.1/
gr http://purl.org/goodrelations/v1#  grddl http://www.w3.org/2003/g/data-view#
ical http://www.w3.org/2002/12/cal/icaltzd#  ma http://www.w3.org/ns/ma-ont#  oa http://www.w3.org/ns/oa#
og http://ogp.me/ns#  org http://www.w3.org/ns/org#  owl http://www.w3.org/2002/07/owl#
prov http://www.w3.org/ns/prov#  qb http://purl.org/linked-data/cube#
rdf http://www.w3.org/1999/02/22-rdf-syntax-ns#  rdfa http://www.w3.org/ns/rdfa#
rdfs http://www.w3.org/2000/01/rdf-schema#  rev http://purl.org/stuff/rev#  rif http://www.w3.org/2007/rif#
rr http://www.w3.org/ns/r2rml#  schema http://schema.org/  sd http://www.w3.org/ns/sparql-service-description#
sioc http://rdfs.org/sioc/ns#  skos http://www.w3.org/2004/02/skos/core#
skosxl http://www.w3.org/2008/05/skos-xl#  v http://rdf.data-vocabulary.org/#
vcard http://www.w3.org/2006/vcard/ns#  void http://rdfs.org/ns/void#  wdr http://www.w3.org/2007/05/powder#
wdrs http://www.w3.org/2007/05/powder-s#  xhv http://www.w3.org/1999/xhtml/vocab#
xml http://www.w3.org/XML/1998/namespace  xsd http://www.w3.org/2001/XMLSchema#
"""
_PREFIXES = dict(zip(_CONTEXT.split()[::2], _CONTEXT.split()[1::2], strict=True))
_TERMS = {
    "describedby": "http://www.w3.org/2007/05/powder-s#describedby",
    "license": _XHV + "license",
    "role": _XHV + "role",
}
_COPY, _PATTERN = "http://www.w3.org/ns/rdfa#copy", "http://www.w3.org/ns/rdfa#Pattern"
_MAX_COPIES = 10_000
_PREFIX = re.compile(r"([^\s:]*):\s+(\S+)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: What the value of <time> is (HTML+RDFa 1.1, 3.1, rule 10).
_TIMES = (
    (re.compile(r"-?P(?=.)(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"), "duration"),
    (re.compile(r"\d{4,}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "dateTime"),
    (re.compile(r"\d{4,}-\d\d-\d\d(Z|[+-]\d\d:\d\d)?"), "date"),
    (re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "time"),
    (re.compile(r"\d{4,}-\d\d"), "gYearMonth"),
    (re.compile(r"\d{4,}"), "gYear"),
)


#: Attributes that state something; words in @rel do so only with a vocabulary, but for three.
_STATING = """[property], [typeof], [about], [resource], [inlist], [rev], [rel*=":"],
    [rel~="license" i], [rel~="describedby" i], [rel~="role" i]"""


class Triple(NamedTuple):
    """A statement; an object that is no resource has a datatype or a language, or neither."""

    subject: str
    predicate: str
    object: str
    is_resource: bool
    datatype: str = ""
    language: str = ""


class _Object(NamedTuple):
    """The object of a statement that is still to be made."""

    value: str
    is_resource: bool
    datatype: str = ""
    language: str = ""


class _Resources(NamedTuple):
    """What an element speaks of: the subject of its statements, the object of its relations, and what has its types."""

    subject: str
    current: str
    typed: str
    target: str  # what @resource, @href or @src names
    skip: bool = False  # it only passes on what is around it


class _Context(Struct):
    """What an element passes on to its children (RDFa Core, 7.2)."""

    subject: str
    object: str
    prefixes: dict[str, str]
    lists: dict[str, list[_Object]]
    incomplete: list[tuple[str, str]]  # predicate and direction: forward, reverse, list
    language: str = ""
    vocabulary: str = ""


def read_triples(tree: Document, *, base: str = "") -> list[Triple]:
    """The triples of a page in its order; blank nodes begin with `_:`."""
    stating = tree.select(_STATING if tree.select_one("[vocab]") is None else f"{_STATING}, [rel]")
    if tree.root is None or not stating:
        return []
    element = tree.select_one("base[href]")
    if element is not None:
        base = _join(base, element.attr("href") or "")
    reader = _Reader(base.partition("#")[0], stating)
    start = _Context(subject=reader.base, object=reader.base, prefixes=dict(_PREFIXES), lists={}, incomplete=[])
    reader.read(tree.root, start, 0)
    return _copy_patterns(reader.triples)


def _copy_patterns(triples: list[Triple]) -> list[Triple]:
    """State what a pattern states of all that copy it (HTML+RDFa 1.1, 3.5), and forget the pattern."""
    patterns = {t.subject for t in triples if t.predicate == TYPE and t.object == _PATTERN}
    todo = [t for t in triples if t.predicate == _COPY and t.object in patterns]
    if not todo:
        return triples
    stated: dict[str, list[Triple]] = {}
    for t in triples:
        if t.subject in patterns and t.object != _PATTERN:
            stated.setdefault(t.subject, []).append(t)
    known = set(triples)
    copied: set[Triple] = set()
    made: list[Triple] = []
    while todo and len(known) < len(triples) + _MAX_COPIES:
        copy = todo.pop()
        copied.add(copy)
        for t in stated.get(copy.object, ()):
            new = t._replace(subject=copy.subject)
            if new not in known:
                known.add(new)
                (todo if new.predicate == _COPY else made).append(new)
    used = {t.object for t in copied}
    return [t for t in triples + made if t.subject not in used and t not in copied]


def _join(base: str, address: str) -> str:
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return address


def _open_context(attrs: dict[str, str], around: _Context) -> _Context:
    """The context that an element begins with: that around it, with its own prefixes, language and vocabulary."""
    return _Context(
        subject=around.subject, object=around.object, prefixes=_read_prefixes(attrs, around.prefixes),
        lists=around.lists, incomplete=[], language=attrs.get("xml:lang", attrs.get("lang", around.language)),
        vocabulary=attrs["vocab"].strip() if "vocab" in attrs else around.vocabulary,
    )  # fmt: skip


class _Reader:
    """Reads elements one after another into triples."""

    def __init__(self, base: str, stating: list[Element]) -> None:
        self.base = base
        #: The elements that state something, and those around them; others are of interest only to a hanging @rel.
        self._way: set[Element] = set()
        for e in stating:
            at: Node | None = e
            while isinstance(at, Element) and at not in self._way:
                self._way.add(at)
                at = at.parent
        self.triples: list[Triple] = []
        self._blanks = 0
        self._named: dict[str, str] = {}

    def read(self, e: Element, around: _Context, depth: int) -> None:
        """Read an element and what is in it."""
        attrs = {name.lower(): " ".join(v) if isinstance(v, list) else v or "" for name, v in e.attrs.items()}
        here = _open_context(attrs, around)
        relations = self._read_relations(attrs, here)
        said = self._find_resources(e, attrs, around, here, related=relations is not None, is_root=not depth)
        if said.typed:
            for iri in self._terms(attrs, "typeof", here):
                self._add(said.typed, TYPE, _Object(iri, True))
        if said.subject != around.object:
            here.lists = {}
        lists = here.lists if "inlist" in attrs else None
        current = said.current if relations is None else self._relate(said, relations, here, lists=lists)
        if "property" in attrs:
            value = self._value(e, attrs, here, said=said, related=relations is not None)
            self._state(said.subject, self._terms(attrs, "property", here), value, lists=lists)
        if said.skip:
            here.incomplete = around.incomplete
        else:
            self._complete(around, said.subject)
            here.subject, here.object = said.subject, current or said.subject
        self._read_children(e, here, depth)
        if here.lists is not around.lists or depth == 0:
            for iri, members in here.lists.items():
                self._add_list(said.subject, iri, members)

    def _read_children(self, e: Element, here: _Context, depth: int) -> None:
        if depth < _MAX_DEPTH and len(self.triples) < _MAX_TRIPLES:
            for child in e.children:
                if isinstance(child, Element) and (here.incomplete or child in self._way):
                    self.read(child, here, depth + 1)

    def _read_relations(self, attrs: dict[str, str], here: _Context) -> tuple[list[str], list[str]] | None:
        """The relations of @rel and @rev; None where an element has none."""
        if "rel" not in attrs and "rev" not in attrs:
            return None
        rels, revs = self._terms(attrs, "rel", here), self._terms(attrs, "rev", here)
        if "property" not in attrs:
            return rels, revs
        # Words that HTML knows do not make a relation beside @property.
        rels = [iri for word, iri in zip(attrs.get("rel", "").split(), rels, strict=False) if ":" in word]
        revs = [iri for word, iri in zip(attrs.get("rev", "").split(), revs, strict=False) if ":" in word]
        return (rels, revs) if rels or revs else None

    def _find_resources(
        self, e: Element, attrs: dict[str, str], around: _Context, here: _Context, *, related: bool, is_root: bool
    ) -> _Resources:
        """What an element speaks of (7.5, steps 5 and 6)."""
        about = self._resource(attrs.get("about"), here)
        target = self._target(attrs, here)
        origin = self._find_origin(e, about, target, around, is_root=is_root)
        types = "typeof" in attrs
        if related:
            current = target or (self._blank() if types and not about else "")
            return _Resources(origin or around.object, current, about or current if types else "", target)
        if "property" in attrs and attrs.keys().isdisjoint(("content", "datatype")):
            typed = origin or target or self._blank() if types else ""
            return _Resources(origin or around.object, typed, typed, target)
        subject = about or target or origin
        if types:
            subject = subject or self._blank()
            return _Resources(subject, "", subject, target)
        return _Resources(subject or around.object, "", "", target, not subject and "property" not in attrs)

    def _find_origin(self, e: Element, about: str, target: str, around: _Context, *, is_root: bool) -> str:
        """The resource that @about names, or that an element speaks of where nothing is named (HTML+RDFa 1.1, 3.1)."""
        if about or is_root:
            return about or self.base
        return around.object if e.tag in ("head", "body") and not target else ""

    def _relate(
        self,
        said: _Resources,
        relations: tuple[list[str], list[str]],
        here: _Context,
        *,
        lists: dict[str, list[_Object]] | None,
    ) -> str:
        """State the relations of an element (7.5, steps 9 and 10); gives their object."""
        rels, revs = relations
        if not said.current:
            return self._leave_incomplete(here, rels, revs, listed=lists is not None)
        self._state(said.subject, rels, _Object(said.current, True), lists=lists)
        self._state(said.current, revs, _Object(said.subject, True))
        return said.current

    def _state(
        self, subject: str, terms: list[str], value: _Object, *, lists: dict[str, list[_Object]] | None = None
    ) -> None:
        """State a value of a subject by each of the terms, or add it to their lists."""
        for iri in terms:
            if lists is not None:
                lists.setdefault(iri, []).append(value)
            else:
                self._add(subject, iri, value)

    def _leave_incomplete(self, here: _Context, rels: list[str], revs: list[str], *, listed: bool) -> str:
        """Keep relations for the elements within, and give the object that these share (7.5, step 10)."""
        for iri in rels if listed else ():
            here.lists.setdefault(iri, [])
        here.incomplete = [(iri, "list" if listed else "forward") for iri in rels] + [(iri, "reverse") for iri in revs]
        return self._blank() if here.incomplete else ""

    def _complete(self, around: _Context, subject: str) -> None:
        """State the relations that the elements around left incomplete (7.5, step 12)."""
        for iri, direction in around.incomplete:
            if direction == "list":
                around.lists.setdefault(iri, []).append(_Object(subject, True))
            elif direction == "forward":
                self._add(around.subject, iri, _Object(subject, True))
            else:
                self._add(subject, iri, _Object(around.subject, True))

    def _add(self, subject: str, predicate: str, value: _Object) -> None:
        if not predicate.startswith("_:") and len(self.triples) < _MAX_TRIPLES:
            self.triples.append(Triple(subject, predicate, *value))

    def _add_list(self, subject: str, predicate: str, members: list[_Object]) -> None:
        rest = f"{RDF}nil"
        for member in reversed(members):
            cell = self._blank()
            self._add(cell, f"{RDF}first", member)
            self._add(cell, f"{RDF}rest", _Object(rest, True))
            rest = cell
        self._add(subject, predicate, _Object(rest, True))

    def _value(self, e: Element, attrs: dict[str, str], here: _Context, *, said: _Resources, related: bool) -> _Object:
        """The value of @property (7.5, step 11)."""
        content = attrs.get("content", attrs.get("datetime"))
        datatype = self._term(attrs["datatype"].strip(), here) if attrs.get("datatype", "").strip() else ""
        if datatype in (f"{RDF}XMLLiteral", f"{RDF}HTML") and content is None:
            return _Object(e.inner_html, False, datatype)
        plain = content is None and "datatype" not in attrs and e.tag != "time"
        named = ("" if related else said.target) or ("" if "about" in attrs else said.typed)
        if plain and named:
            return _Object(named, True)
        text = e.text if content is None else content
        if not datatype and "datatype" not in attrs and "content" not in attrs and not plain:
            datatype = next((_XSD + name for pattern, name in _TIMES if pattern.fullmatch(text)), "")
        return _Object(text, False, datatype, "" if datatype else here.language)

    def _target(self, attrs: dict[str, str], here: _Context) -> str:
        """The resource that @resource, @href or @src names."""
        if "resource" in attrs and (resource := self._resource(attrs["resource"], here)):
            return resource
        for name in ("href", "src"):
            if name in attrs:
                return _join(self.base, attrs[name])
        return ""

    def _resource(self, text: str | None, here: _Context) -> str:
        """A compact or whole address of @about and @resource; empty where it names nothing."""
        if text is None:
            return ""
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return self._compact(text[1:-1], here)
        return self._compact(text, here) or _join(self.base, text)

    def _terms(self, attrs: dict[str, str], name: str, here: _Context) -> list[str]:
        found = [self._term(word, here) for word in attrs.get(name, "").split()]
        return found if name in ("rel", "rev") and "property" in attrs else [iri for iri in found if iri]

    def _term(self, word: str, here: _Context) -> str:
        """A word of @property, @typeof, @rel, @rev or @datatype as an address; empty where it means nothing."""
        if ":" in word:
            return self._compact(word, here) or (word if _ABSOLUTE.match(word) else "")
        if here.vocabulary:
            return here.vocabulary + word
        return _TERMS.get(word) or _TERMS.get(word.lower(), "")

    def _compact(self, text: str, here: _Context) -> str:
        prefix, colon, rest = text.partition(":")
        if not colon or rest.startswith("//"):
            return ""
        if prefix == "_":
            return self._named.setdefault(rest, "") or self._name_blank(rest)
        if not prefix:
            return _XHV + rest
        start = here.prefixes.get(prefix.lower())
        return "" if start is None else start + rest

    def _name_blank(self, name: str) -> str:
        self._named[name] = self._blank()
        return self._named[name]

    def _blank(self) -> str:
        self._blanks += 1
        return f"_:b{self._blanks}"


def _read_prefixes(attrs: dict[str, str], known: dict[str, str]) -> dict[str, str]:
    own = {name[6:]: value for name, value in attrs.items() if name.startswith("xmlns:") and value}
    own |= {name.lower(): iri for name, iri in _PREFIX.findall(attrs.get("prefix", "")) if name not in ("", "_")}
    return known | own if own else known
