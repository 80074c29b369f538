"""Fusion: what is known of each document of a site, from itself, from the pages above it and from the other documents.

Three passes give candidates, each with a confidence and its evidence: the document's own text and metadata; the pages
that lead to it, up to a depth; the authors and affiliations of the other documents that stand in its beginning. Their
union is the `DocumentDescription`. What a document prints outweighs what others say: where it names its authors, pages
confirm them and add addresses; they name authors only where the document names none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from urllib.parse import unquote

from msgspec.structs import replace

from lycosa.missions.documents.evidence.directory import SAME, Directory, Entry, Mention
from lycosa.missions.documents.evidence.labels import (
    CategoryLabel,
    find_label,
    find_subcategory,
    kind_of_words,
    parse_labels,
    words_of_path,
)
from lycosa.missions.documents.evidence.landing_page import overlay, told_authors
from lycosa.missions.documents.evidence.site_graph import Neighbour, SiteDocument, SiteGraph
from lycosa.missions.documents.model import (
    Author,
    DocumentDescription,
    DocumentFacts,
    DocumentLink,
    Evidence,
    Finding,
    MailAddress,
    Person,
    PresentedWork,
    Source,
)
from lycosa.missions.documents.names import (
    FITTING,
    NEARLY,
    PARTICLES,
    WORDS,
    damerau_levenshtein,
    find_names,
    fits_address,
    judge_name,
    name_parts,
    same_person,
    share_addresses,
    smith_waterman,
    surname_keys,
)
from lycosa.missions.documents.settings import DocumentSettings
from lycosa.missions.documents.text_similarity import fuzz
from lycosa.text.fold import fold_words

#: Kinds that teachers of a course write for it.
_TEACHING = frozenset({"exercises", "exam", "notes", "slides"})
#: Where in a document authors stand who are known from elsewhere.
_HEADER_CHARS = 1_500
#: Documents in whose head a name stands that nothing says is a person's: from here on it is that of a course.
_REPEATED = 3
#: How sure the owner of a folder is the author of what names nobody.
_OWNER = 0.5
#: From here on a document names its authors itself.
_SURE = 0.5
_MOST = 0.98
#: Words of links that say nothing of what they lead to.
_GENERIC = frozenset(WORDS["generic"].split())


class Fusion:
    """Weighs the evidence of one site; `describe` is called for each document, after `learn` has seen them all."""

    def __init__(self, settings: DocumentSettings, graph: SiteGraph) -> None:
        self.settings = settings
        self.directory = Directory()
        self._graph = graph
        self._labels: list[CategoryLabel] = parse_labels(settings.labels)
        self._written: dict[str, dict[str, list[str]]] = defaultdict(dict)  # by surname: authors, and what they wrote
        self._affiliations: dict[str, tuple[Finding, str]] = {}
        self._owners: dict[str, dict[str, Person]] = defaultdict(dict)  # by folder: whose pages stand there
        self._repeated: Counter[str] = Counter()  # names of nobody known that alone are named as authors
        # Particles stand in names of people and places: alone they stop nothing.
        self._stop_authors = {*map(fold_words, settings.author_stop_words)} - PARTICLES
        self._stop_affiliations = {*map(fold_words, settings.affiliation_stop_words)} - PARTICLES

    def learn_pages(self) -> None:
        """Make the directory of everybody whom pages name."""
        if "pages" not in self.settings.passes:
            return
        mentions: list[Mention] = []
        for url, facts in self._graph.pages():
            for person in facts.people:
                if person.confidence >= 0.6 and (person.emails or person.role in ("owner", "member", "teacher")):
                    mentions.append(Mention(_with_place(person, facts.organisations), url))
                if person.confidence >= 0.6 and person.role == "owner" and (folder := _own_folder(url)):
                    owners = self._owners[folder]
                    if not any(same_person(person.name, name) >= SAME for name in owners):
                        owners[person.name] = person
        self.directory.add_all(mentions)

    def learn_document(self, document: SiteDocument) -> None:
        """Remember whom and which affiliations a document names, for the others."""
        if "documents" not in self.settings.passes:
            return
        for person in document.facts.people:
            if person.role == "author" and person.confidence >= 0.6:
                for part in surname_keys(person.name):
                    written = self._written[part].setdefault(person.name, [])
                    if len(written) < 2:  # one of them is another document
                        written.append(document.url)
        authors = [person for person in document.facts.people if person.role == "author"]
        if all(self._is_doubtful(person, document.facts) for person in authors):
            self._repeated.update({fold_words(person.name) for person in authors})
        for found in document.facts.affiliations:
            if found.confidence >= 0.6 and len(self._affiliations) < 20_000:
                self._affiliations.setdefault(fold_words(found.value), (found, document.url))

    def describe(self, document: SiteDocument) -> DocumentDescription:
        """Everything that is known of a document."""
        facts = document.facts
        depth = self.settings.depth if "pages" in self.settings.passes else 0
        above = self._graph.above(document, depth) if depth else []
        links = self._graph.links_to(document) if depth else []
        head = facts.head[: self.settings.head_chars]
        kind = self._weigh_kind(document, links)
        title = self._weigh_title(facts, links, head)
        work = self._graph.work_of(document) if depth else None
        authors = self._weigh_authors(document, kind.value, above, links, head, work)
        affiliations = self._weigh_affiliations(document, authors, above, head)
        emails = self._sure(_list_emails(facts, authors))
        label = self._find_label(facts, links, above)
        description = DocumentDescription(
            url=document.url,
            format=facts.format,
            kind=kind,
            wanted=kind.value not in self.settings.unwanted,
            category=label.category if label else kind.value,
            subcategory=label.subcategory if label else find_subcategory(kind.value, head),
            pages=facts.pages,
            title=title,
            authors=tuple(authors),
            contributors=tuple(person for person in facts.people if person.role != "author"),
            affiliations=tuple(affiliations),
            emails=emails,
            language=facts.language,
            abstract=next(iter(self._sure([facts.abstract] if facts.abstract else [])), None),
            keywords=self._sure(facts.keywords),
            references=facts.references,
            doi=facts.doi,
            year=facts.year,
            rights=self._sure(facts.rights),
            linked_from=tuple(
                dict.fromkeys(url for address in document.addresses for url in self._graph.parents(address))
            )[:20],
            fetched=document.fetched,
            head=facts.head[:4_000],
            confidence=round(
                min(title.confidence if title else 0.0, max((a.confidence for a in authors), default=0.0)), 3
            ),
            problem=facts.problem,
        )
        return description if work is None else overlay(description, work)

    def _sure(self, found: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(each for each in found if each.confidence >= self.settings.min_confidence)

    def _weigh_kind(self, document: SiteDocument, links: list[tuple[str, DocumentLink]]) -> Finding:
        """The kind by the document itself; where it is unsure of that, by the words of its address and of its links."""
        votes: dict[str, float] = defaultdict(float)
        evidence: dict[str, Evidence] = {}
        for url, link in links[:20]:
            places = (
                (link.anchor, 0.65, "words of the link"),
                (link.item, 0.5, "words around the link"),
                (link.heading.rpartition(" / ")[2], 0.4, "heading above the link"),
            )
            for words, weight, rule in places:
                if (kind := kind_of_words(words)) and weight > votes[kind]:
                    votes[kind] = weight
                    evidence[kind] = Evidence(source="link", rule=rule, url=url, quote=words[:200], distance=1)
        named = [words_of_path(part) for part in unquote(document.url.partition("?")[0]).split("/")[3:]]
        for words, weight, rule in zip(
            reversed(named), (0.7, 0.5, 0.4), ("name of the file", "folder", "folder"), strict=False
        ):
            if (kind := kind_of_words(words)) and weight > votes[kind]:
                votes[kind] = weight
                evidence[kind] = Evidence(source="link", rule=rule, url=document.url, quote=words)
        own = document.facts.kind
        if not votes:
            return own
        best = max(votes, key=lambda kind: votes[kind])
        if own.value in votes:
            sure = _either(own.confidence, votes[own.value])
            return Finding(own.value, sure, (*own.evidence, evidence[own.value]))
        if votes[best] > own.confidence:
            return Finding(best, round(votes[best] * 0.95, 3), (evidence[best], *own.evidence))
        return replace(own, confidence=round(own.confidence * 0.9, 3))

    def _weigh_title(self, facts: DocumentFacts, links: list[tuple[str, DocumentLink]], head: str) -> Finding | None:
        """The title that most of the text, the metadata and the words of links agree on."""
        candidates = [*facts.titles, *_titles_of_links(links, head)]
        best: Finding | None = None
        for candidate in candidates:
            others = (other for other in candidates if other is not candidate)
            agreeing = [other for other in others if _same_title(candidate.value, other.value)]
            sure = _agreed(candidate, agreeing)
            if best is None or sure > best.confidence:
                proof = tuple(piece for each in agreeing for piece in each.evidence[:1])
                best = Finding(candidate.value, round(min(sure, _MOST), 3), (*candidate.evidence, *proof)[:5])
        return best if best is not None and best.confidence >= self.settings.min_confidence * 0.5 else None

    def _weigh_authors(
        self,
        document: SiteDocument,
        kind: str,
        above: list[Neighbour],
        links: list[tuple[str, DocumentLink]],
        head: str,
        work: PresentedWork | None,
    ) -> list[Author]:
        """The authors whom its landing page names, or whom a document prints, or else those whom its site names."""
        facts = document.facts
        pages = list(self._from_pages(above, kind, head))
        owner = self._owner_of(document)
        printed, others = self._printed_authors(facts, kind)
        if work is not None and work.authors:
            printed, kind = told_authors(work, printed), work.kind or "article"
        elif kind in _TEACHING or owner or not all(is_in_head for _, is_in_head in pages):
            printed = [person for person in printed if not self._is_course(person, facts)]
        pool = _Pool(self.settings)
        for person in printed:
            pool.add(person)
        if kind in _TEACHING and all(self._is_doubtful(person, facts) for person in printed):
            printed = []
        candidates = [*self._from_links(links, kind), *pages, *self._from_documents(document, head)]
        self._add_candidates(pool, candidates, printed, others, facts)
        if owner and not printed and not others and all(self._is_doubtful(one, facts) for one in pool.people()):
            pool.add(owner)
        sure = [person for person in pool.people() if person.confidence >= self.settings.min_confidence]
        shared = _share_printed(sure, others, facts)
        authors = [self._with_addresses(person, own, above) for person, own in zip(sure, shared, strict=False)]
        return [_without_addresses_of(author, [*sure, *others]) for author in authors]

    def _add_candidates(
        self,
        pool: _Pool,
        candidates: Iterable[tuple[Person, bool]],
        printed: list[Person],
        others: list[Person],
        facts: DocumentFacts,
    ) -> None:
        """Confirm authors by what others say, and take over whom these name where the document names nobody itself."""
        names_itself = _names_authors(printed)
        for candidate, is_in_head in candidates:
            has_role = any(same_person(candidate.name, other.name) >= 0.8 for other in others)
            if has_role or self._is_stopped(candidate.name) or pool.confirm(candidate):
                continue
            if not names_itself and (is_in_head or not printed) and not self._is_course(candidate, facts):
                pool.add(candidate)

    def _printed_authors(self, facts: DocumentFacts, kind: str) -> tuple[list[Person], list[Person]]:
        """The authors whom a document prints, and people in other roles.

        Who teaches a course wrote its exercises, unless the sheet says who did.
        """
        authors = [person for person in facts.people if person.role == "author" and not self._is_stopped(person.name)]
        others = [person for person in facts.people if person.role != "author"]
        if kind == "cv":  # of one person; its headings are nobody
            return [person for person in authors if not self._is_doubtful(person, facts)][:1], others
        if kind not in _TEACHING or _names_authors(authors):
            return authors, others
        teachers = [person for person in others if person.role == "teacher"]
        authors += [replace(one, role="author", confidence=round(one.confidence * 0.85, 3)) for one in teachers]
        return authors, [person for person in others if person.role != "teacher"]

    def _is_doubtful(self, person: Person, facts: DocumentFacts) -> bool:
        """Whether nothing says that this is a person: no given name, no address, no page."""
        emails = (*person.emails, *(each.value for each in facts.emails))
        return (
            judge_name(person.name) < 0.75
            and all(fits_address(person.name, email) < FITTING for email in emails)
            and not self.directory.find(person.name)
        )

    def _is_course(self, person: Person, facts: DocumentFacts) -> bool:
        """Whether a name is that of a course: it stands in the head of several documents, and is nobody's."""
        return self._repeated[fold_words(person.name)] >= _REPEATED and self._is_doubtful(person, facts)

    def _owner_of(self, document: SiteDocument) -> Person | None:
        """The only person whose pages stand in the folder of a document, or else in the nearest one above.

        Not of a document that prints addresses of others alone.
        """
        folder = document.url.partition("?")[0]
        while folder.count("/") > 2:
            folder = folder.rstrip("/").rpartition("/")[0] + "/"
            if owners := list(self._owners.get(folder, {}).values()):
                emails = [each.value for each in document.facts.emails]
                fits = any(fits_address(owners[0].name, email) >= FITTING for email in emails)
                if len(owners) > 1 or emails and not fits or self._is_stopped(owners[0].name):
                    return None
                return replace(owners[0], role="author", confidence=_OWNER)
        return None

    def _is_stopped(self, name: str) -> bool:
        folded = f" {fold_words(name)} "
        return any(f" {word} " in folded for word in self._stop_authors)

    def _from_links(self, links: list[tuple[str, DocumentLink]], kind: str) -> Iterable[tuple[Person, bool]]:
        """People in the list item around a link, as lists of publications have them."""
        for url, link in links[:20]:
            for name in find_names(link.item)[:15]:
                if name.confidence < 0.6 or _in_title(name.name, link.anchor):
                    continue
                sure = 0.75 if kind in ("article", "thesis", "report", "proposal", "poster") else 0.6
                evidence = Evidence(
                    source="link", rule="name beside the link", url=url, quote=link.item[:200], distance=1
                )
                yield (
                    Person(
                        name=name.name,
                        confidence=round(sure * min(1.0, name.confidence + 0.2), 3),
                        evidence=(evidence,),
                    ),
                    False,
                )

    def _from_pages(self, above: list[Neighbour], kind: str, head: str) -> Iterable[tuple[Person, bool]]:
        """People of the pages above: those who stand in the document's beginning, the teachers and the owner."""
        words = _Words(head[:_HEADER_CHARS])
        for page in above:
            decay = self.settings.decay ** (page.distance - 1)
            has_owner = any(person.role == "owner" for person in page.facts.people)
            for person in page.facts.people:
                if person.confidence < 0.6:
                    continue
                proof = tuple(replace(each, distance=page.distance) for each in person.evidence[:2])
                if self._stands_in(person.name, words):
                    yield replace(person, confidence=round(0.85 * decay, 3), role="author", evidence=proof), True
                elif person.role == "teacher" and kind in _TEACHING and page.distance <= 2 and not has_owner:
                    yield replace(person, confidence=round(0.75 * decay, 3), role="author", evidence=proof), False
                elif person.role == "owner" and page.distance <= 2:
                    yield replace(person, confidence=round(0.65 * decay, 3), role="author", evidence=proof), False
                elif person.role == "author" and page.distance == 1:
                    yield replace(person, confidence=0.7, role="author", evidence=proof), False

    def _from_documents(self, document: SiteDocument, head: str) -> Iterable[tuple[Person, bool]]:
        """Authors of the other documents who stand in this document's beginning."""
        words = _Words(head[:_HEADER_CHARS])
        seen: set[str] = set()
        for word in words.places:
            for name, written in self._written.get(word, {}).items():
                other = next((url for url in written if url != document.url), "")
                if other and name not in seen and len(seen) < 200 and _has_parts(name, word, words.places):
                    seen.add(name)
                    if self._stands_in(name, words):
                        evidence = Evidence(source="document", rule="author of another document", url=other)
                        yield Person(name=name, confidence=0.7, evidence=(evidence,)), True

    def _stands_in(self, name: str, words: _Words) -> bool:
        """Whether a name, in one of its spellings, stands in a text."""
        parts = name_parts(name)
        whole = " ".join(parts)
        for key in surname_keys(name):
            others = [part for part in parts if part != key][:1]
            for at in words.places.get(key, ()):
                near = words.list[max(0, at - 4) : at + 5]
                is_near = all(any(_is_like(word, part) for word in near) for part in others)
                if is_near and smith_waterman(whole, " ".join(near)) >= self.settings.author_match:
                    return True
        return False

    def _with_addresses(self, person: Person, printed: dict[str, MailAddress], above: list[Neighbour]) -> Author:
        """The author with the addresses that the document prints and those that the site gives today."""
        entries = self.directory.find(person.name)
        linked = [entry for entry in entries if person.page and person.page in entry.owned]
        entry = linked[0] if len(linked) == 1 else self._nearest(entries, above)
        current: list[MailAddress] = []
        affiliations = person.affiliations
        if entry is not None:
            match = max(same_person(person.name, name) for name in entry.names)
            share = (0.6 + 0.4 * match) * (1.0 if len(entries) == 1 or linked else 0.8)
            current = _current_addresses(entry, printed, share)
            affiliations = affiliations or tuple(each.value for each in entry.affiliations.values())
        addresses = sorted([*current, *printed.values()], key=lambda each: (not each.is_current, -each.confidence))
        return Author(
            name=person.name,
            confidence=person.confidence,
            person=entry.number if entry else 0,
            addresses=tuple(addresses),
            affiliations=tuple(dict.fromkeys(affiliations)),
            orcid=person.orcid or (entry.orcid if entry else ""),
            evidence=person.evidence[:5],
        )

    def _nearest(self, entries: list[Entry], above: list[Neighbour]) -> Entry | None:
        """The person that a name stands for: the only one, or the one with the nearest page; None where it is open."""
        if len(entries) <= 1:
            return entries[0] if entries else None
        distances = {page.url: page.distance for page in above}
        ranked = sorted(
            (min((distances.get(url, 99) for url in entry.pages), default=99), entry.number, entry) for entry in entries
        )
        return ranked[0][2] if ranked[0][0] < ranked[1][0] else None

    def _weigh_affiliations(
        self, document: SiteDocument, authors: list[Author], above: list[Neighbour], head: str
    ) -> list[Finding]:
        facts = document.facts
        found = list(self._sure(facts.affiliations))
        beginning = fold_words(head[:_HEADER_CHARS])
        for page in above:
            for each in page.facts.organisations:
                if _contains(beginning, fold_words(each.value), self.settings.affiliation_match):
                    proof = tuple(replace(piece, distance=page.distance) for piece in each.evidence[:1])
                    sure = round(0.8 * self.settings.decay ** (page.distance - 1), 3)
                    found = self._add_affiliation(
                        found, Finding(each.value, sure, proof), only_new=bool(facts.affiliations)
                    )
        if "documents" in self.settings.passes and not facts.affiliations:
            for key, (each, url) in self._affiliations.items():
                if url != document.url and len(key) > 8 and f" {key} " in f" {beginning} ":
                    proof = (Evidence(source="document", rule="affiliation of other documents", url=url),)
                    found = self._add_affiliation(found, Finding(each.value, 0.7, proof))
        if not found:
            for author in authors:
                entry = self._nearest(self.directory.find(author.name), above)
                for each in entry.affiliations.values() if entry else ():
                    found = self._add_affiliation(found, replace(each, confidence=round(each.confidence * 0.8, 3)))
        return [each for each in self._sure(found) if not self._stops(each.value)]

    def _stops(self, affiliation: str) -> bool:
        folded = f" {fold_words(affiliation)} "
        return any(f" {word} " in folded for word in self._stop_affiliations)

    def _add_affiliation(self, found: list[Finding], new: Finding, *, only_new: bool = False) -> list[Finding]:
        """The list with another affiliation, unless it is one of them in another spelling, which is then surer."""
        folded = fold_words(new.value)
        for at, known in enumerate(found):
            other = fold_words(known.value)
            if (
                folded in other
                or other in folded
                or damerau_levenshtein(folded, other) >= max(self.settings.affiliation_duplicates, 0.8)
            ):
                sure = _either(known.confidence, new.confidence * 0.5)
                return [*found[:at], Finding(known.value, sure, (*known.evidence, *new.evidence)[:4]), *found[at + 1 :]]
        return found if only_new else [*found, new]

    def _find_label(
        self, facts: DocumentFacts, links: list[tuple[str, DocumentLink]], above: list[Neighbour]
    ) -> CategoryLabel | None:
        if not self._labels:
            return None
        head, place = facts.head[: self.settings.head_chars], self.settings.label_places
        around = " . ".join(f"{link.anchor} {link.item} {link.heading}" for _, link in links)
        around += " . ".join(page.facts.title for page in above if page.distance == 1)
        return find_label(
            self._labels,
            head=head if place != "page" else "",
            around=around if place != "document" else "",
            has_header=any(person.role == "author" and person.confidence >= _SURE for person in facts.people),
        )


def _own_folder(url: str) -> str:
    """The folder whose first page this is; empty where it is another page."""
    folder, _, name = url.partition("?")[0].rpartition("/")
    return f"{folder}/" if not name or re.match(r"(?i)(?:index|home|default|inicio)\b", name) else ""


def _titles_of_links(links: list[tuple[str, DocumentLink]], head: str) -> Iterator[Finding]:
    """What may be the title in the words of links and around them; surer where the document begins with it."""
    folded_head = fold_words(head).replace(" ", "")
    for url, link in links[:20]:
        pieces = [(piece, 0.35, "words around the link") for piece in _title_pieces(link)]
        for words, sure, rule in [(link.anchor, 0.45, "words of the link"), *pieces]:
            if _may_be_title(words):
                sure += 0.3 if fold_words(words).replace(" ", "") in folded_head else 0.0
                evidence = Evidence(source="link", rule=rule, url=url, quote=link.item[:200] or link.anchor, distance=1)
                yield Finding(" ".join(words.split()), sure, (evidence,))


def _agreed(candidate: Finding, agreeing: list[Finding]) -> float:
    """How sure a value is that values of other sources agree with: the best of each source counts half."""
    own = {each.source for each in candidate.evidence}
    best: dict[Source, float] = {}
    for each in agreeing:
        if each.evidence and (source := each.evidence[0].source) not in own:
            best[source] = max(best.get(source, 0.0), each.confidence)
    sure = candidate.confidence
    for confidence in best.values():
        sure = _either(sure, 0.5 * confidence)
    return sure


def _names_authors(people: list[Person]) -> bool:
    """Whether a document itself says who its authors are."""
    return any(person.confidence >= _SURE for person in people)


def _share_printed(sure: list[Person], others: list[Person], facts: DocumentFacts) -> list[dict[str, MailAddress]]:
    """The addresses that a document prints, for each of its authors; who is not printed has only what fits the name."""
    names = [person.name for person in (*sure, *others)]
    printed = all(any(each.source in ("text", "metadata") for each in person.evidence) for person in sure)
    own = {
        each.value: MailAddress(each.value, each.confidence, evidence=each.evidence)
        for each in facts.emails
        if printed or any(fits_address(name, each.value) >= FITTING for name in names)
    }
    return [{email: own[email] for email in found} for found in share_addresses(names, list(own))]


def _without_addresses_of(author: Author, people: list[Person]) -> Author:
    """An author without the addresses that name another person of the same document."""

    def is_own(email: str) -> bool:
        fit = max(FITTING, fits_address(author.name, email) + NEARLY)
        return all(person.name == author.name or fits_address(person.name, email) < fit for person in people)

    return replace(author, addresses=tuple(each for each in author.addresses if is_own(each.email)))


def _current_addresses(entry: Entry, printed: dict[str, MailAddress], share: float) -> list[MailAddress]:
    """The addresses that the site gives a person today; those that the document prints as well leave `printed`."""
    current = []
    for address in entry.addresses.values():
        sure = round(address.confidence * share, 3)
        known = printed.pop(address.email, None)
        if known is not None:
            evidence = (*known.evidence, *address.evidence)
            sure = _either(known.confidence, sure * 0.5)
            current.append(MailAddress(address.email, sure, is_current=True, evidence=evidence))
        elif sure >= 0.5:
            current.append(replace(address, confidence=sure))
    return current


class _Words:
    """The beginning of a document word by word, with the places of each."""

    def __init__(self, text: str) -> None:
        self.list = fold_words(text).split()
        self.places: dict[str, list[int]] = {}
        for at, word in enumerate(self.list):
            self.places.setdefault(word, []).append(at)


def _is_like(word: str, part: str) -> bool:
    """Whether a word is a part of a name, whole or as an initial."""
    return word == part or (len(word) == 1 and word == part[0]) or (len(part) == 1 and word[:1] == part)


class _Pool:
    """The authors of one document as they are gathered; two spellings of one person are one."""

    def __init__(self, settings: DocumentSettings) -> None:
        self._settings = settings
        self._people: list[Person] = []

    def people(self) -> list[Person]:
        return self._people

    def _find(self, name: str) -> int | None:
        for at, known in enumerate(self._people):
            if same_person(known.name, name) >= 0.75:
                return at
            left, right = " ".join(name_parts(known.name)), " ".join(name_parts(name))
            if surname_keys(known.name) & surname_keys(name) and smith_waterman(left, right) >= max(
                0.9, self._settings.author_duplicates
            ):
                return at
        return None

    def confirm(self, other: Person) -> bool:
        """Whether this is somebody who is known already, who is then surer."""
        at = self._find(other.name)
        if at is None:
            return False
        known = self._people[at]
        sources: set[Source] = {each.source for each in known.evidence}
        fresh = any(each.source not in sources for each in other.evidence)
        sure = _either(known.confidence, other.confidence * 0.6) if fresh else max(known.confidence, other.confidence)
        self._people[at] = replace(
            known,
            confidence=sure,
            page=known.page or other.page,
            evidence=(*known.evidence, *other.evidence)[:6] if fresh else known.evidence,
        )
        return True

    def add(self, person: Person) -> None:
        if not self.confirm(person):
            self._people.append(person)


def _has_parts(name: str, surname: str, words: Container[str]) -> bool:
    """Whether another part of a name is among these words, whole or as an initial: it is cheap to ask first."""
    return any(part in words or part[0] in words for part in name_parts(name) if part != surname)


def _list_emails(facts: DocumentFacts, authors: list[Author]) -> list[Finding]:
    """The addresses of a document: those that it prints, then those that the site gives its authors today."""
    found = {each.value: each for each in facts.emails}
    for author in authors:
        for address in author.addresses:
            known = found.get(address.email)
            if known is None or address.confidence > known.confidence:
                found[address.email] = Finding(address.email, address.confidence, address.evidence)
    return list(found.values())


def _with_place(person: Person, organisations: tuple[Finding, ...]) -> Person:
    """A page's owner belongs to the organisations that the page names, where it says nothing nearer."""
    if person.role != "owner" or person.affiliations:
        return person
    near = [each.value for each in organisations if each.confidence >= 0.7][:4]
    return replace(person, affiliations=tuple(near))


def _either(first: float, second: float) -> float:
    """How sure a value is that two independent witnesses give."""
    return round(min(_MOST, 1 - (1 - first) * (1 - second)), 3)


def _contains(text: str, words: str, share: float) -> bool:
    """Whether a text has these words, with slips of the pen."""
    if len(words) < 6:
        return False
    if f" {words} " in f" {text} ":
        return True
    return len(words) > 12 and fuzz.partial_ratio(words, text, score_cutoff=100 * max(share, 0.92)) > 0


def _same_title(left: str, right: str) -> bool:
    a, b = fold_words(left).replace(" ", ""), fold_words(right).replace(" ", "")
    if not a or not b:
        return False
    return fuzz.ratio(a, b) >= 88 or (min(len(a), len(b)) >= 12 and (a in b or b in a))


def _may_be_title(words: str) -> bool:
    plain = fold_words(words).split()
    telling = [word for word in plain if word not in _GENERIC and not word.isdigit()]
    return len(telling) >= 2 and 8 <= len(words) <= 250 and not judge_name(words) >= 0.75


def _title_pieces(link: DocumentLink) -> list[str]:
    """What may be the title in the item around a link: quoted words, the longest sentence without names."""
    quoted = re.findall(r"[\"“«]([^\"”»]{10,250})[\"”»]", link.item)
    rest = link.item.replace(link.anchor, " ") if link.anchor else link.item
    pieces = [
        piece.strip(" .,:;-–—()[]") for piece in re.split(r"(?<=[a-zà-ÿ0-9)])[.:;]\s+|\s[|–—-]\s|,\s+(?=[A-Z]\.)", rest)
    ]
    return [*quoted, *(piece for piece in pieces if len(piece) > 15 and not find_names(piece)[:1])][:4]


def _in_title(name: str, anchor: str) -> bool:
    return len(anchor) > len(name) + 10 and fold_words(name) in fold_words(anchor)
