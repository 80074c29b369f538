"""Directory of the people of a collection: one entry per person, under all their spellings.

Pages bring names with addresses, documents bring authors. A spelling that fits two persons ("J. García" beside Juan
and Julia García) is tied to neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from lycosa.missions.documents.model import Evidence, Finding, KnownPerson, MailAddress, Person
from lycosa.missions.documents.names import (
    FITTING,
    NEARLY,
    are_namesakes,
    fits_address,
    name_parts,
    names_another,
    same_person,
    surname_keys,
    telling_parts,
)
from lycosa.missions.documents.reading.emails import is_impersonal
from lycosa.text.fold import fold_words

#: Similarity of names from which two mentions may be of one person.
SAME = 0.75
_MAX_LISTED = 20


class Mention(Struct, frozen=True):
    """A person on a page of the site."""

    person: Person
    url: str


class Entry(Struct, eq=False):
    """One person, while the directory is being made."""

    number: int
    name: str
    parts: list[str] = []
    names: dict[str, int] = {}  # every spelling, with how often it stands there
    addresses: dict[str, MailAddress] = {}  # as pages give them
    printed: dict[str, MailAddress] = {}  # as documents print them
    affiliations: dict[str, Finding] = {}
    orcid: str = ""
    pages: dict[str, None] = {}
    owned: dict[str, None] = {}  # pages about this person
    documents: dict[str, None] = {}

    def may_be(self, parts: list[str]) -> bool:
        """Whether each part of a name has its like here, whole or by its initial: what a comparison would need."""
        fewer, more = (parts, self.parts) if len(parts) <= len(self.parts) else (self.parts, parts)
        initials = {part[0] for part in more}
        return all(part in more or part[0] in initials for part in fewer)

    def add(self, mention: Mention) -> None:
        """Take over what a page says of this person."""
        person = mention.person
        self._add_name(person.name)
        self.orcid = self.orcid or person.orcid
        if len(self.pages) < _MAX_LISTED:
            self.pages[mention.url] = None
        if person.role == "owner":
            self.owned[mention.url] = None
        for email in person.emails:
            self._add_address(email, person)
        for name in person.affiliations:
            self.add_affiliation(name, person.confidence, person.evidence)

    def _add_name(self, name: str) -> None:
        self.names[name] = self.names.get(name, 0) + 1
        if len(fold_words(name)) > len(fold_words(self.name)):
            self.name = name
            self.parts = telling_parts(name)

    def _add_address(self, email: str, person: Person) -> None:
        # A page about the person says it best; the same address on several pages is surer.
        sure = 0.95 if person.role == "owner" else 0.9 if person.role in ("member", "teacher") else 0.8
        sure *= max(0.6, person.confidence)
        if is_impersonal(email):
            sure *= 0.4
        known = self.addresses.get(email)
        if known is not None:
            sure = min(0.99, max(known.confidence, sure) + 0.02)
        evidence = (*(known.evidence if known else ()), *person.evidence)[:3]
        self.addresses[email] = MailAddress(email, round(sure, 3), is_current=True, evidence=evidence)

    def add_affiliation(self, name: str, confidence: float, evidence: tuple[Evidence, ...]) -> None:
        """Note where this person works."""
        key = fold_words(name)
        if key and key not in self.affiliations and len(self.affiliations) < _MAX_LISTED:
            self.affiliations[key] = Finding(name, round(min(confidence, 0.9), 3), evidence[:2])

    def freeze(self) -> KnownPerson:
        """The entry as it is kept."""
        return KnownPerson(
            number=self.number,
            name=self.name,
            names=tuple(sorted(self.names, key=lambda name: (-self.names[name], name)))[:_MAX_LISTED],
            addresses=tuple(
                sorted(
                    {**self.printed, **self.addresses}.values(),
                    key=lambda each: (not each.is_current, -each.confidence),
                )
            ),
            affiliations=tuple(self.affiliations.values()),
            orcid=self.orcid,
            pages=tuple({**self.owned, **self.pages})[:_MAX_LISTED],
            documents=tuple(self.documents),
        )


class Directory:
    """Everybody whom the pages of a collection name."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._by_part: dict[str, list[Entry]] = defaultdict(list)
        #: What was found by a name, as long as nobody with one of its parts was added.
        self._by_name: dict[str, tuple[tuple[int, ...], list[Entry]]] = {}

    def add_all(self, mentions: Iterable[Mention]) -> None:
        """Add people of pages, those with the fullest names first, so that short spellings find them."""
        gathered = sorted(mentions, key=lambda mention: (-_fullness(mention.person.name), mention.url))
        for mention in gathered:
            found = self.find(mention.person.name)
            entry = _choose(found, mention)
            if entry is None:
                if found and not mention.person.emails:
                    continue  # it may be any of them
                entry = self._new(mention.person.name)
            entry.add(mention)
        self._settle_addresses()

    def _settle_addresses(self) -> None:
        """Take each address from those whom it does not name, and from all where it may be of any of several."""
        holders: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            for email in entry.addresses:
                holders[email].append(entry)
        for email, held in holders.items():
            fits = [fits_address(entry.name, email) for entry in held]
            best = max(fits)
            kept = [entry for entry, fit in zip(held, fits, strict=True) if fit >= best - NEARLY]
            if best < FITTING and (names_another(kept[0].name, email) or self._names_somebody(email)):
                kept = []
            if any(same_person(kept[0].name, entry.name) < SAME for entry in kept[1:]):
                owners = [entry for entry in kept if entry.owned]
                kept = owners if len(owners) == 1 else []
            for entry in held:
                if entry not in kept:
                    del entry.addresses[email]

    def _names_somebody(self, email: str) -> bool:
        """Whether the local part of an address is surely that of somebody here."""
        local = fold_words(email.partition("@")[0])[:32].replace(" ", "")
        parts = {local[at:end] for at in range(len(local)) for end in range(at + 4, len(local) + 1)}
        return any(fits_address(entry.name, email) >= 0.8 for part in parts for entry in self._by_part.get(part, ()))

    def _new(self, name: str) -> Entry:
        entry = Entry(len(self.entries) + 1, name, telling_parts(name), {name: 0})
        self.entries.append(entry)
        for part in surname_keys(name):
            self._by_part[part].append(entry)
        return entry

    def find(self, name: str) -> list[Entry]:
        """Everybody of whom this may be the name, the best fit first; of equal fits all."""
        keys = sorted(surname_keys(name))
        sizes = tuple(len(self._by_part.get(key, ())) for key in keys)
        known = self._by_name.get(name)
        if known is not None and known[0] == sizes:
            return known[1]
        parts = telling_parts(name)
        scores: dict[int, tuple[float, Entry]] = {}
        for key in keys:
            for entry in self._by_part.get(key, ()):
                if entry.number not in scores and entry.may_be(parts):
                    scores[entry.number] = (max(same_person(name, each) for each in entry.names), entry)
        best = max((score for score, _ in scores.values()), default=0.0)
        found = [] if best < SAME else [entry for score, entry in scores.values() if score >= max(SAME, best - 0.03)]
        self._by_name[name] = (sizes, found)
        return found

    def get_or_add(self, name: str) -> Entry:
        """The entry of an author of a document: the only one that fits, or a new one."""
        found = self.find(name)
        return found[0] if len(found) == 1 else self._new(name)


def _choose(found: list[Entry], mention: Mention) -> Entry | None:
    """The entry that a mention belongs to: the only one, or the one that shares an address or a page with it."""
    person = mention.person
    if len(found) == 1:
        entry = found[0]
        # Two pages about two persons of one name, or two rows of one list: their own addresses tell them apart.
        elsewhere = person.role == "owner" and entry.owned and mention.url not in entry.owned
        namesake = (elsewhere or mention.url in entry.pages) and are_namesakes(person.emails, entry.addresses)
        return None if namesake else entry
    sharing = [entry for entry in found if set(person.emails) & set(entry.addresses)]
    return sharing[0] if len(sharing) == 1 else None


def _fullness(name: str) -> int:
    return sum(len(part) if len(part) > 1 else 0 for part in name_parts(name))
