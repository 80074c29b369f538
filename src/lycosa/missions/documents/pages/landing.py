"""Landing pages: what a page says of the one work that it presents, in the tags that repositories and journals send.

FAIR Signposting (in <link> and the HTTP header alike), Highwire (`citation_*`), EPrints, Dublin Core, PRISM and
JSON-LD are read. The names and the programs that use them stand in `landing.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from lycosa import urls
from lycosa.content.structured import StructuredItem, read_json_ld, walk_items
from lycosa.missions.documents.model import DocumentKind, Evidence, Finding, Person, PresentedWork
from lycosa.missions.documents.names import judge_name, same_person
from lycosa.missions.documents.reading.emails import is_address
from lycosa.model import Link
from lycosa.parse import Doc
from lycosa.parse.link_lists import LINKSETS

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FIELDS: dict[str, list[str]] = _TABLES["fields"]
_OF_AUTHOR = {name: field for field, names in _TABLES["author"].items() for name in names}
#: How sure each family of names is; Dublin Core is sent by many a page that presents no work.
_SURE = {"citation": 0.97, "bepress": 0.97, "eprints": 0.97, "dcterms": 0.93, "dc": 0.92, "prism": 0.93}
_LINKED, _LD = 0.95, 0.93
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_WORKS = {
    "ScholarlyArticle": "article", "Thesis": "thesis", "Dataset": "", "Report": "report", "Book": "", "Chapter": "",
    "PresentationDigitalDocument": "slides", "Poster": "poster", "SoftwareSourceCode": "",
}  # fmt: skip
_OAI = re.compile(r"\?(?:[^#]*&)?verb=(?:List|Get|Ident)")
_ADDED = re.compile(r"https?://\S+|\[[^\]]*\]|,?\s*\b1[89]\d\d-(?:\d{4})?")
_MOST, _LONG = 200, 20_000
_FILES = 50


class _Tags:
    """The named <meta> elements of a page, in their order."""

    def __init__(self, doc: Doc) -> None:
        self.url = doc.url
        self.rows: list[tuple[str, str]] = []
        for meta in doc.tree.select("meta[name][content], meta[property][content]")[:2_000] if doc.tree else ():
            name = (meta.attr("name") or meta.attr("property") or "").strip().lower().replace(":", ".")
            value = " ".join((meta.attr("content") or "")[:_LONG].split())
            if value and ("." in name or "_" in name):
                self.rows.append((name, value))
        self.names = {name for name, _ in self.rows}

    def find(self, field: str) -> tuple[str, list[str]]:
        """The first name of a field that the page has, and its values."""
        name = next((name for name in _FIELDS[field] if name in self.names), "")
        return name, list(dict.fromkeys(value for each, value in self.rows if each == name))[:_MOST]

    def findings(self, field: str) -> list[Finding]:
        name, values = self.find(field)
        return [finding(value, _sure(name), self.url, name) for value in values]


def _sure(name: str) -> float:
    return _SURE.get(re.split(r"[_.]", name)[0], 0.9)


def finding(value: str, sure: float, url: str, rule: str) -> Finding:
    """A value that a page of a site says."""
    return Finding(value, sure, (Evidence(source="page", rule=rule, url=url, quote=value[:200], distance=1),))


def read_landing(doc: Doc) -> PresentedWork | None:
    """What a page, or a link set, says of the one work that it presents; None: it presents none."""
    if doc.announced in LINKSETS:
        return _read_linkset(doc)
    tags = _Tags(doc)
    things = _find_things(doc)
    links = _signposts(doc.links)
    has_tags = any(name.startswith(("citation_title", "eprints.", "bepress_")) for name in tags.names)
    program = find_program(doc)
    has_record = program and tags.find("title")[1] and tags.find("author")[1]
    if not (has_tags or things or has_record or links.get("item") or links.get("cite-as")):
        return None
    thing = things[0] if things else None
    titles = tags.findings("title") or _of_thing(thing, doc.url, "name", "headline")
    authors = _read_authors(tags, thing)
    files = _files(doc, tags, things, links)
    if not (titles or authors or files):
        return None
    people = [_with_links(one, links.get("author", []), sole=len(authors) == 1) for one in authors]
    return PresentedWork(
        title=next(iter(titles), None),
        authors=tuple(people),
        institutions=tuple(tags.findings("institution") or _institutions(thing, doc.url)),
        doi=find_doi([*links.get("cite-as", []), *tags.find("doi")[1], *_texts(thing, "identifier", "@id", "sameAs")]),
        year=find_year([*tags.find("date")[1], *_texts(thing, "datePublished", "dateCreated")]),
        abstract=next(iter(tags.findings("abstract") or _of_thing(thing, doc.url, "description", "abstract")), None),
        keywords=tuple(split_keywords(tags.findings("keyword") or _of_thing(thing, doc.url, "keywords"))),
        rights=tuple(_rights(doc, tags, thing, links)),
        language=next(iter(tags.find("language")[1]), "")[:2].lower(),
        kind=_find_kind(tags, things),
        files=tuple(files),
        is_told=bool(has_tags or program or any(_WORKS.get(one) for thing in things for one in thing.types)),
        program=program,
    )


def _signposts(links: Iterable[Link]) -> dict[str, list[str]]:
    """The addresses of the relations that FAIR Signposting knows."""
    found: dict[str, list[str]] = {}
    for link in links:
        if link.kind in ("link", "canonical") and link.rel:
            for relation in link.rel.split():
                if relation in ("cite-as", "item", "author", "license", "describedby"):
                    found.setdefault(relation, []).append(link.href)
    return found


def _read_linkset(doc: Doc) -> PresentedWork | None:
    links = _signposts(doc.links)
    files = _resolve(doc, links.get("item", []))
    if not files:
        return None
    rights = [finding(address, _LINKED, doc.url, "rel=license") for address in links.get("license", [])[:5]]
    return PresentedWork(doi=find_doi(links.get("cite-as", [])), rights=tuple(rights), files=tuple(files))


def _resolve(doc: Doc, addresses: Iterable[str]) -> list[str]:
    found = (urls.normalise(address, doc.base) for address in addresses)
    return list(dict.fromkeys(address for address in found if address))[:_FILES]


def _files(doc: Doc, tags: _Tags, things: Sequence[StructuredItem], links: dict[str, list[str]]) -> list[str]:
    """The files that the page names as those of its work, the surest first."""
    named = [value for name in _FIELDS["file"] for each, value in tags.rows if each == name]
    named += links.get("item", [])
    for thing in things[:1]:
        for part in walk_items([thing]):
            named += part.texts("contentUrl")
    return _resolve(doc, named)


def links_to_files(doc: Doc) -> Iterator[Link]:
    """Links to the files of a work that stand in no <a>: a page of scripts names them in its head alone."""
    if doc.tree is None or doc.tree.select_one("meta[name*='_url' i], script[type*='ld+json' i]") is None:
        return
    tags = _Tags(doc)
    for address in _files(doc, tags, _find_things(doc), {}):
        yield Link(address, "", "a")


def _find_things(doc: Doc) -> list[StructuredItem]:
    """The works in JSON-LD that the page presents, not those that it cites."""
    if doc.tree is None:
        return []
    items = walk_items(read_json_ld(doc.tree), without=frozenset({"citation", "isPartOf", "hasPart", "isBasedOn"}))
    return [item for item in items if not _WORKS.keys().isdisjoint(item.types)]


def _texts(thing: StructuredItem | None, *names: str) -> list[str]:
    if thing is None:
        return []
    own = [thing.id] if "@id" in names and thing.id else []
    return own + [" ".join(text[:_LONG].split()) for text in thing.texts(*(name for name in names if name != "@id"))]


def _of_thing(thing: StructuredItem | None, url: str, *names: str) -> list[Finding]:
    return [finding(re.sub(r"<[^>]{1,200}>", "", text).strip(), _LD, url, "JSON-LD") for text in _texts(thing, *names)]


def _institutions(thing: StructuredItem | None, url: str) -> list[Finding]:
    return _of_thing(thing, url, "sourceOrganization", "producer")[:5]


def _read_authors(tags: _Tags, thing: StructuredItem | None) -> list[Person]:
    """The authors of the tags, each with what the tags behind say of it, and with what JSON-LD adds."""
    name, _ = tags.find("author")
    found: list[dict[str, Any]] = []
    for each, value in tags.rows:
        if each == name:
            found += [{"name": turned} for part in _split_names(value, name) if (turned := turn_name(part))]
        elif found and (field := _OF_AUTHOR.get(each)):
            found[-1].setdefault(field, []).append(value)
    people = [
        Person(
            name=one["name"],
            confidence=_sure(name),
            affiliations=tuple(dict.fromkeys(one.get("affiliation", ()))),
            emails=tuple(text.lower() for text in one.get("email", ()) if is_address(text)),
            orcid=_find_orcid(one.get("orcid", ())),
            evidence=(Evidence(source="page", rule=name, url=tags.url, quote=one["name"], distance=1),),
        )
        for one in found[:_MOST]
    ]
    described = list(_described_authors(thing, tags.url))
    if not people:
        return described
    return [_complete(person, described) for person in people]


def _described_authors(thing: StructuredItem | None, url: str) -> Iterator[Person]:
    """The authors that JSON-LD names."""
    values = [value for name in ("author", "creator") for value in thing.properties.get(name, ())] if thing else []
    seen: set[str] = set()
    for value in values[:_MOST]:
        item = value if isinstance(value, StructuredItem) else None
        text = value if isinstance(value, str) else item.text("name") if item is not None else ""
        if item is not None and not text:
            text = " ".join([*item.texts("givenName"), *item.texts("familyName")])
        name = turn_name(text)
        if name and name not in seen:
            seen.add(name)
            yield Person(
                name=name,
                confidence=_LD,
                affiliations=tuple(item.texts("affiliation"))[:5] if item is not None else (),
                orcid=_find_orcid([item.id, *item.texts("identifier", "sameAs", "url")]) if item is not None else "",
                evidence=(Evidence(source="page", rule="JSON-LD", url=url, quote=text[:200], distance=1),),
            )


def _complete(person: Person, described: list[Person]) -> Person:
    other = next((one for one in described if same_person(one.name, person.name) >= 0.8), None)
    if other is None:
        return person
    return Person(
        name=person.name,
        confidence=min(0.98, person.confidence + 0.01),
        affiliations=person.affiliations or other.affiliations,
        emails=person.emails,
        orcid=person.orcid or other.orcid,
        evidence=(*person.evidence, *other.evidence),
    )


def _with_links(person: Person, addresses: list[str], *, sole: bool) -> Person:
    """An author with the ORCID that rel=author gives, where there is but one of both."""
    found = {orcid for address in addresses if (orcid := _find_orcid([address]))}
    if person.orcid or not sole or len(found) != 1:
        return person
    return Person(person.name, person.confidence, affiliations=person.affiliations, emails=person.emails,
                  orcid=found.pop(), evidence=person.evidence)  # fmt: skip


def _split_names(value: str, name: str) -> list[str]:
    """Several authors in one tag stand between semicolons; citation_authors of old had them so."""
    return [part.strip() for part in value.split(";") if part.strip()] if ";" in value else [value]


def turn_name(text: str) -> str:
    """ "Casali, Ana" as people write it, without the years of life and the ORCID that catalogues add."""
    text = " ".join(_ORCID.sub("", _ADDED.sub(" ", text[:300])).split()).strip(" ,;")
    family, comma, given = (part.strip() for part in text.partition(","))
    if not comma or not given or "," in given and not re.fullmatch(r"[^,]+,\s*(?:Jr|Sr|II|III)\.?", given):
        return text
    turned = f"{given} {family}"
    return turned if len(given.split()) <= 5 and (judge_name(turned) > 0 or judge_name(text) == 0) else text


def _find_orcid(texts: Iterable[str]) -> str:
    return next((found[0] for text in texts if (found := _ORCID.search(text))), "")


def find_doi(texts: Iterable[str]) -> str:
    """The first DOI in some texts."""
    return next((found[0].rstrip(".,;)").lower() for text in texts if (found := _DOI.search(unquote(text)))), "")


def find_year(texts: Iterable[str]) -> str:
    """The first year in some texts."""
    return next((found[1] for text in texts if (found := _YEAR.search(text))), "")


def split_keywords(found: list[Finding]) -> Iterator[Finding]:
    """Each keyword by itself."""
    for each in found:
        for word in re.split(r"\s*[;|]\s*|,\s+", each.value):
            if 1 < len(word) < 100:
                yield Finding(word, each.confidence, each.evidence)


def _rights(doc: Doc, tags: _Tags, thing: StructuredItem | None, links: dict[str, list[str]]) -> list[Finding]:
    found = [finding(address, _LINKED, doc.url, "rel=license") for address in links.get("license", [])]
    found += tags.findings("licence") + _of_thing(thing, doc.url, "license")
    return list({each.value: each for each in reversed(found)}.values())[::-1][:5]


def _find_kind(tags: _Tags, things: Sequence[StructuredItem]) -> DocumentKind | None:
    """What the page calls its work."""
    return cast("DocumentKind | None", next(_kinds_told(tags, things), None))


def kind_of_type(values: Iterable[str]) -> DocumentKind | None:
    """The kind of a work by what its record calls its type."""
    words = [value.lower().rpartition("/")[2] for value in values]
    found = (kind for word in words for kind, said in _TABLES["kinds"].items() if word in said)
    return cast("DocumentKind | None", next(found, None))


def _kinds_told(tags: _Tags, things: Sequence[StructuredItem]) -> Iterator[str]:
    if kind := kind_of_type(value for name in _FIELDS["type"] for each, value in tags.rows if each == name):
        yield kind
    yield from (kind for kind, names in _TABLES["telling"].items() if not tags.names.isdisjoint(names))
    yield from (_WORKS[one] for thing in things[:1] for one in thing.types if _WORKS.get(one))


def find_program(doc: Doc) -> str:
    """The program that sent a page; empty: none that is known as a repository's or a journal's."""
    if doc.tree is None:
        return ""
    generators = " ".join(meta.attr("content") or "" for meta in doc.tree.select('meta[name="generator" i]')[:3])
    for name, program in _TABLES["programs"].items():
        if generators and _compiled(program["generator"]).search(generators):
            return str(name)
    for name, program in _TABLES["programs"].items():
        if program["markup"] and doc.tree.select_one(program["markup"]) is not None:
            return str(name)
    return ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


def links_to_records(doc: Doc) -> Iterator[Link]:
    """Where the repository of a page may list its records."""
    for base in find_oai(doc):
        yield Link(f"{base}?verb=ListRecords&metadataPrefix=oai_dc")


def find_oai(doc: Doc) -> tuple[str, ...]:
    """Where the repository of a page may answer by OAI-PMH: as its links say, or as programs of its kind do."""
    named = [link.href.partition("?")[0] for link in doc.links if _OAI.search(link.href)]
    addresses = [*named, *_usual_addresses(find_program(doc), doc.url)]
    return tuple(_resolve(doc, addresses)[:3])


def _usual_addresses(program: str, url: str) -> list[str]:
    parts = urlsplit(url)
    folders = parts.path.split("/")[1:-1]
    if "index.php" in folders:
        folders = folders[folders.index("index.php") + 1 :]
    journal = folders[0] if folders else ""
    paths = _TABLES["programs"][program]["oai"] if program in _TABLES["programs"] else ()
    named = [path.replace("{journal}", journal) for path in paths if journal or "{journal}" not in path]
    return [f"{parts.scheme}://{parts.netloc}{path}" for path in named]
