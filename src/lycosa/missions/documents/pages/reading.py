"""What a page says of people: who owns it, teaches, is listed, with which addresses; and the words of its links.

Marked-up data counts first (JSON-LD, microformats, meta author), then the shape of the page: headings that are names,
labels before names ("Docentes:"), rows and items of staff lists, addresses beside names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lycosa.missions.documents.formats import format_by_suffix
from lycosa.missions.documents.model import DocumentLink, Evidence, Finding, PageFacts, Person, Role
from lycosa.missions.documents.names import (
    WORDS,
    FoundName,
    are_namesakes,
    find_names,
    fits_address,
    join_table,
    judge_name,
    names_another,
    same_person,
    share_addresses,
)
from lycosa.missions.documents.pages.blocks import Block, find_organisations, read_blocks
from lycosa.missions.documents.pages.landing import find_oai, read_landing
from lycosa.missions.documents.reading.emails import find_emails, is_address, is_impersonal
from lycosa.parse import Doc
from lycosa.text.fold import fold_words

MAX_PEOPLE = 500
MAX_LINKS = 1_000
_MAX_EMAILS = 500
_ITEM_CHARS = 600

#: Labels before names, by what they make of a person.
_LABELS: dict[Role, str] = {role: join_table(words) for role, words in WORDS["roles"].items()}
_LABEL = re.compile(
    "|".join(f"(?P<{role}>{words})" for role, words in _LABELS.items()),
    re.IGNORECASE,
)
#: Words by which a block is of a staff list.
_POSITION = re.compile(
    r"(?i)\b(?:profesor|profesora|catedr[aá]tic[oa]|titular|asociad[oa]|adjunt[oa]|ayudante|investigador|investigadora|becari[oa]"
    r"|professor|lecturer|reader|research fellow|researcher|postdoc|phd student|doctorand[oa]|jefe de trabajos|docente"
    r"|emeritus|em[eé]rito)\b"
)
_DOWNLOAD = re.compile(
    r"(?i)download|descarg|bitstream|handle|attachment|adjunto|getfile|viewfile|/file|pdf|[?&](?:f|file|doc|id)="
)
_USER_PATH = re.compile(
    r"/(?:~|%7e|users?/|people/|personal/|staff/|profesor(?:es)?/|docentes/)([\w.-]{2,40})", re.IGNORECASE
)


def read_page(doc: Doc) -> PageFacts:
    """What an HTML page says of people, organisations and the documents that it links to."""
    blocks = read_blocks(doc)
    people = _People(doc.url)
    for person in _marked_up(doc):
        people.add(person)
    owner = _find_owner(doc, blocks)
    if owner is not None:
        people.add(owner)
    emails = _read_emails(blocks, doc.url)
    reader = _PeopleReader(people, owner, doc.url)
    for block in blocks:
        reader.read(block)
    text = " ".join(block.text for block in blocks if not block.is_margin)
    return (
        PageFacts(
            title=(doc.title or "")[:300],
            language=doc.language[:10],
            people=tuple(people.everybody()),
            organisations=tuple(_read_organisations(blocks, doc)),
            emails=tuple(emails),
            keywords=tuple(_read_keywords(doc)),
            documents=tuple(_read_links(blocks)),
            work=read_landing(doc),
            oai=find_oai(doc),
        )
        if text or blocks
        else PageFacts(title=(doc.title or "")[:300], work=read_landing(doc), oai=find_oai(doc))
    )


class _People:
    """The persons of one page; two spellings of one name are one."""

    def __init__(self, url: str) -> None:
        self._found: list[Person] = []
        self._url = url

    def add(self, person: Person) -> Person:
        for at, known in enumerate(self._found):
            if same_person(known.name, person.name) >= 0.85 and not are_namesakes(known.emails, person.emails):
                merged = _merge(known, person)
                self._found[at] = merged
                return merged
        if len(self._found) < MAX_PEOPLE:
            self._found.append(person)
        return person

    def everybody(self) -> list[Person]:
        return self._found


#: Which role says most of a person.
_RANK: dict[Role, int] = {
    "owner": 0,
    "teacher": 1,
    "author": 2,
    "member": 3,
    "director": 4,
    "tutor": 4,
    "jury": 5,
    "head": 6,
    "editor": 7,
    "other": 8,
}


def _merge(known: Person, other: Person) -> Person:
    name = known.name if len(known.name) >= len(other.name) else other.name
    return Person(
        name=name,
        confidence=max(known.confidence, other.confidence),
        role=min(known.role, other.role, key=lambda role: _RANK[role]),
        emails=tuple(dict.fromkeys((*known.emails, *other.emails))),
        affiliations=tuple(dict.fromkeys((*known.affiliations, *other.affiliations))),
        orcid=known.orcid or other.orcid,
        page=known.page or other.page,
        evidence=(*known.evidence, *other.evidence)[:5],
    )


def _marked_up(doc: Doc) -> Iterator[Person]:
    """Persons in JSON-LD and microformats, and the author that the head of the page names."""
    yield from _people_of_json_ld(doc)
    yield from _people_of_cards(doc)
    assert doc.tree is not None
    for meta in doc.tree.select("meta[name]"):
        if (meta.attr("name") or "").lower() in ("author", "dc.creator", "dcterms.creator", "citation_author"):
            for name in re.split(r"\s*;\s*", meta.attr("content") or ""):
                if judge_name(_clean(name)) >= 0.6:
                    yield _person(name, 0.7, doc.url, rule="meta author", role="other")


def _people_of_json_ld(doc: Doc) -> Iterator[Person]:
    for item in _walk(_load_json_ld(doc.tree)):
        kinds, name, emails = item.get("@type"), item.get("name"), item.get("email") or []
        emails = [emails] if isinstance(emails, str) else emails
        if "Person" in (kinds if isinstance(kinds, list) else [kinds]) and isinstance(name, str):
            yield _person(
                name,
                0.9,
                doc.url,
                rule="JSON-LD",
                role="other",
                emails=[str(email).removeprefix("mailto:") for email in emails][:5],
                affiliations=list(_texts(item.get("affiliation") or item.get("worksFor")))[:5],
            )


def _people_of_cards(doc: Doc) -> Iterator[Person]:
    assert doc.tree is not None
    for card in doc.tree.select(".h-card, .vcard")[:MAX_PEOPLE]:
        name = next((element.text for element in card.select(".p-name, .fn")[:1]), "")
        addresses = [element.attr("href") or element.text for element in card.select(".u-email, .email")[:5]]
        emails = [address.removeprefix("mailto:") for address in addresses]
        organisations = [element.text for element in card.select(".p-org, .org")[:3]]
        if judge_name(_clean(name)):
            yield _person(name, 0.9, doc.url, rule="hCard", role="other", emails=emails, affiliations=organisations)


def _load_json_ld(tree: Any) -> object:
    try:
        return tree.json_ld()
    except (ValueError, RecursionError):
        return []


def _walk(data: object) -> Iterator[dict[str, Any]]:
    stack, left = [data], 10_000
    while stack and left:
        left -= 1
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _texts(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            yield item["name"]


#: Words beside a name that leave a page one about that person.
_HOME_WORDS = frozenset(WORDS["home"].split())


def _find_owner(doc: Doc, blocks: list[Block]) -> Person | None:
    """The person whom the page is about: its first heading, or its title, is a name; its path may name them too."""
    found = _USER_PATH.search(doc.url)
    logins = [f"{found[1]}@x"] if found else []
    headings = [block.text for block in blocks if block.tag in ("h1", "h2") and not block.is_margin][:3]
    titles = [piece for piece in re.split(r"\s+[-–—|·:»@/•(]\s*|\s*[|:]\s*", doc.title or "") if piece.strip()][:4]
    for text, rule in [
        *((text, "heading") for text in headings[:1]),
        *((text, "title") for text in titles),
        *((text, "heading") for text in headings[1:]),
    ]:
        name, sure = _sole_name(_clean(text))
        addresses = (email for block in blocks for email in _emails_of(block))
        if sure and (
            any(fits_address(name, login) >= 0.5 for login in logins)
            or any(fits_address(name, email) >= 0.8 for email in addresses)
        ):
            sure = max(sure, 0.9)
        if sure >= 0.6:
            return _person(name, sure, doc.url, rule=f"{rule} of the page", role="owner")
    return None


def _sole_name(text: str) -> tuple[str, float]:
    """The name in "Home page of Ana Pérez", "Dr. Ana Pérez", "Página de Ana Pérez", with how sure it is one."""
    found = find_names(text)
    if len(found) != 1:
        return "", 0.0
    beside = fold_words(f"{text[: found[0].start]} {text[found[0].end :]}").split()
    return (found[0].name, found[0].confidence) if _HOME_WORDS.issuperset(beside) else ("", 0.0)


#: Blocks for which the last person that was named may have the address that they hold.
_NEAR = 3
_SURE_NAME = 0.6
_LISTED = frozenset({"tr", "li", "dd", "dt", "div", "p"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
_MAX_NAMES = 50


class _PeopleReader:
    """Reads the blocks of a page in their order: whom they name, as what, and whose the addresses are."""

    def __init__(self, people: _People, owner: Person | None, url: str) -> None:
        self._people = people
        self._owner = owner
        self._url = url
        self._role_above: Role | None = None  # what the heading above makes of people
        self._last: Person | None = None  # whom a block named last
        self._since = 0  # blocks since then

    def read(self, block: Block) -> None:
        """Take over what a block says of people."""
        self._since += 1
        if block.tag in _HEADINGS:
            self._role_above = _role_of_heading(block)
        emails = [email for email in _emails_of(block) if not is_impersonal(email)]
        if block.is_margin and not emails:
            return
        found = _names_of(block, with_role=self._role_above is not None)
        names = [name for name in found if name.confidence >= _SURE_NAME]
        if names and 10 * len(names) <= max(10, len(block.text)):
            shared = share_addresses([name.name for name in names], emails) if len(names) > 1 else [emails]
            for name, own in list(zip(names, shared, strict=True))[:_MAX_NAMES]:
                self._add_name(name, block, own)
        else:
            for email in emails:
                self._add_address(email, block)

    def _add_name(self, name: FoundName, block: Block, emails: Sequence[str]) -> None:
        role = _role_in(block.text, name) or (self._role_above if block.tag not in ("h1", "h2") else None)
        is_listed = block.tag in _LISTED and len(block.text) < 300
        if role is None and is_listed and (_POSITION.search(block.text) or _emails_of(block)):
            role = "member"
        emails = _own_addresses(name.name, emails)
        self._last = self._people.add(
            _person(
                name.name,
                name.confidence,
                self._url,
                rule=f"{block.tag}: {role or 'name'}",
                role=role or "other",
                emails=emails,
                affiliations=find_organisations(block.text) if role in ("member", "teacher") or emails else [],
                quote=block.text[:200],
                page=next((link.url for link in block.links if link.text == name.name), ""),
            )
        )
        self._since = 0

    def _add_address(self, email: str, block: Block) -> None:
        """Give an address without a name to the one person whom it fits, or to whom was named last, or to the owner."""
        bearers = [person for person in self._people.everybody() if fits_address(person.name, email) >= 0.8]
        near = self._last if self._since <= _NEAR else None
        target = bearers[0] if len(bearers) == 1 else near or self._owner
        if target is not None and names_another(target.name, email):
            return
        if target is None:
            return
        is_sure = bool(bearers) or self._since < _NEAR or target is self._owner
        self._people.add(
            _person(
                target.name,
                min(target.confidence, 0.9) if is_sure else _SURE_NAME,
                self._url,
                rule="address near the name",
                role=target.role,
                emails=[email],
                quote=block.text[:200],
            )
        )


def _own_addresses(name: str, emails: Sequence[str]) -> list[str]:
    """The addresses of a block that are those of whom alone it names."""
    fitting = [email for email in emails if fits_address(name, email) >= 0.5]
    one = emails[: 1 if len(emails) < 3 else 0]
    return fitting or [email for email in one if not names_another(name, email)]


def _role_of_heading(block: Block) -> Role | None:
    """What a heading makes of the people below it."""
    label = _LABEL.search(block.text)
    if label is None or len(block.text) >= 60:
        return None
    role = _role_of(label)
    # The first heading of a page that lists teachers is of a staff, not of a course.
    return "member" if role == "teacher" and block.tag == "h1" else role


def _names_of(block: Block, *, with_role: bool) -> list[FoundName]:
    """The names in a block; words of a link that are a name, and lists of names, count as surer."""
    anchors = {link.text for link in block.links if judge_name(link.text)}
    found = _find_linked(block.text, anchors)
    whole = _clean(block.text)
    sure = []
    for name in found:
        confidence = name.confidence
        labelled = with_role or _role_in(block.text, name) is not None
        if name.name in anchors or name.name == whole or labelled:
            confidence = max(confidence, 0.65 if confidence >= 0.4 else 0.0)
        if _emails_of(block) and any(fits_address(name.name, email) >= 0.8 for email in _emails_of(block)):
            confidence = max(confidence, 0.9)
        sure.append(name._replace(confidence=confidence))
    return sure


def _find_linked(text: str, anchors: set[str]) -> list[FoundName]:
    """The names in a text; two links side by side are two names."""
    found = []
    for anchor in anchors:
        start = text.find(anchor)
        if start >= 0:
            found.append(FoundName(anchor, start, start + len(anchor), judge_name(anchor)))
    taken = [(name.start, name.end) for name in found]
    found += [
        name for name in find_names(text) if not any(start < name.end and name.start < end for start, end in taken)
    ]
    return sorted(found, key=lambda name: name.start)


def _role_in(text: str, name: FoundName) -> Role | None:
    """What the nearest label before a name makes of it: "Docentes: Ana Pérez, Luis Gil"."""
    before = text[max(0, name.start - 200) : name.start]
    labels = list(_LABEL.finditer(before))
    if not labels:
        return None
    label = labels[-1]
    between = before[label.end() :]
    if len(between) > 120 or re.search(
        r"[.;?!](?:\s|$)", re.sub(r"\b[A-Z]\.|Drª?a?\.|Prof\.|Lic\.|Ing\.", "", between)
    ):
        return None
    role = _role_of(label)
    return role if ":" in between or role in ("teacher", "director") or not between.strip() else None


def _role_of(label: re.Match[str]) -> Role:
    return next(role for role in _LABELS if label[role])


def _emails_of(block: Block) -> list[str]:
    found = [email for email in block.emails if is_address(email)]
    return list(dict.fromkeys([*found, *(each.email for each in find_emails(block.text, offices=True))]))


def _read_emails(blocks: list[Block], url: str) -> list[Finding]:
    found: dict[str, Finding] = {}
    for block in blocks:
        for email in _emails_of(block):
            if email not in found and len(found) < _MAX_EMAILS:
                rule = "mailto" if email in block.emails else "address in the text"
                evidence = Evidence(source="page", rule=rule, url=url, quote=block.text[:200])
                found[email] = Finding(email, 0.5 if is_impersonal(email) else 0.9, (evidence,))
    return list(found.values())


def _read_organisations(blocks: list[Block], doc: Doc) -> Iterator[Finding]:
    seen: dict[str, None] = {}
    texts = [(doc.title or "", "title", 0.8)]
    texts += [
        (block.text, f"{block.tag} of the page", 0.5 if block.is_margin else 0.7)
        for block in blocks[:400]
        if len(block.text) < 400
    ]
    for text, rule, sure in texts:
        for name in find_organisations(text):
            if fold_words(name) not in seen and len(seen) < 40:
                seen[fold_words(name)] = None
                yield Finding(name, sure, (Evidence(source="page", rule=rule, url=doc.url, quote=text[:200]),))


def _read_keywords(doc: Doc) -> list[str]:
    assert doc.tree is not None
    for meta in doc.tree.select("meta[name]"):
        if (meta.attr("name") or "").lower() in ("keywords", "dc.subject", "citation_keywords"):
            words = [word.strip() for word in re.split(r"[,;]", meta.attr("content") or "")]
            return [word for word in words if 2 < len(word) < 60][:30]
    return []


def _read_links(blocks: list[Block]) -> Iterable[DocumentLink]:
    """Links that may lead to documents, with the words around them."""
    count = 0
    for block in blocks:
        for link in block.links:
            if not format_by_suffix(link.url) and not _DOWNLOAD.search(link.url) and not _DOWNLOAD.search(link.text):
                continue
            yield DocumentLink(
                url=link.url, anchor=link.text[:300], item=block.text[:_ITEM_CHARS], heading=block.heading
            )
            count += 1
            if count >= MAX_LINKS:
                return


def _person(
    name: str,
    confidence: float,
    url: str,
    *,
    rule: str,
    role: Role,
    emails: Iterable[str] = (),
    affiliations: Iterable[str] = (),
    quote: str = "",
    page: str = "",
) -> Person:
    return Person(
        name=_clean(name),
        confidence=round(confidence, 3),
        role=role,
        emails=tuple(dict.fromkeys(email.strip().lower() for email in emails if is_address(email.strip()))),
        affiliations=tuple(dict.fromkeys(_clean(text) for text in affiliations if text)),
        page=page,
        evidence=(Evidence(source="page", rule=rule, url=url, quote=quote),),
    )


def _clean(text: str) -> str:
    return " ".join(text.split())[:200]
