"""A quarry: what a mission hunts, and the seam by which it steers a crawl that knows nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lycosa.model import Link, Record
from lycosa.parse import Doc

#: What methods were called before; a quarry that was written then is read as if it used the names of now.
_FORMER = {"refused": "links_of_error", "same": "identity", "vouched": "trusted_kinds"}


class Quarry:
    """What is hunted. No method but `look_in` does I/O or asks the clock: it runs live, over archives, in workers.

    The defaults hunt nothing; a mission overrides what it needs. What a quarry remembers of earlier documents is that
    of its own process, and may be lost at any time.
    """

    #: Under what name its records are kept; empty: the name of the class.
    name: str = ""
    #: Of the rules in `extract`: with another version, pages that were done are due again.
    version: str = "1"
    #: Kinds of links that lead to quarry almost surely: no quota of a host stands against them.
    trusted_kinds: frozenset[str] = frozenset()
    #: Of these, those that the mission's reject list does not hold back either.
    insistent_kinds: frozenset[str] = frozenset()
    #: Whether people are told, while it crawls, which share of the pages it recognises.
    tells_harvest: bool = False
    #: Whether `links` and `relevance` are to see the text of PDFs, which costs the crawl some milliseconds each.
    reads_pdf: bool = False

    def __init_subclass__(cls) -> None:
        for former, name in _FORMER.items():
            if former in vars(cls) and name not in vars(cls):
                setattr(cls, name, vars(cls)[former])

    def configured(self, settings: Mapping[str, Any]) -> Quarry:
        """The quarry for a mission's own settings, its table of a mission file; each process asks for its own."""
        return self

    def look_in(self, folder: Path) -> None:
        """Take over what the collection's folder has for it by now; asked first, and at times between documents."""

    def recognise(self, doc: Doc) -> str | None:
        """The refined kind if this document is quarry ("recipe/soup"), else None."""
        return None

    def recognise_part(self, doc: Doc, relation: str) -> str | None:
        """The kind of a document that is quarry only for the link that leads to it, of one of the trusted kinds."""
        return None

    def relevance(self, doc: Doc) -> float:
        """How much of the topic is here, 0 to 1."""
        return 0.0

    def links(self, doc: Doc) -> Iterable[Link]:
        """Links that ordinary HTML parsing does not see."""
        return ()

    def chosen_links(self, doc: Doc) -> Sequence[Link] | None:
        """The links of a document that are followed, with others that it knows of; None: all of them."""
        return None

    def links_of_error(self, doc: Doc, status: int) -> Iterable[Link]:
        """Links that an answer with an error status (400 to 599) leads to: what may be asked for instead."""
        return ()

    def identity(self, url: str) -> str:
        """What an address stands for, where several spellings are one; empty: for itself."""
        return ""

    def refuses(self, url: str) -> str:
        """Why an address is in none of the ranges that are visited, for people; empty: it is admitted."""
        return ""

    def describe_url(self, url: str) -> str:
        """What it makes of an address, in a sentence for `lycosa check` and `lycosa why`; empty: nothing."""
        return ""

    def describe_page(self, doc: Doc) -> str:
        """What it makes of a page, in a sentence for `lycosa why`; empty: nothing."""
        return ""

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is before it is fetched, 0 to 1."""
        return 0.0

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts that `score` is made of, by name, for `lycosa why`; a policy that learns tells them as of now."""
        return {}

    def is_exhausted(self, curve: Sequence[tuple[int, int]]) -> bool:
        """Whether to end a crawl of which so many pages brought so many finds: both sums, again and again, from 0."""
        return False

    def score_change(self, doc: Doc) -> float:
        """By how much the score of an address changes now that its document is there; 0: it was what it promised."""
        return 0.0

    def extract(self, doc: Doc) -> Iterable[Record]:
        """What is kept of this document as data; a generator may return why there is nothing, which is counted."""
        return ()


#: Hears of an exception: the method that raised it, the address that it was asked about, and the exception.
OnError = Callable[[str, str, BaseException], None]


class QuarryUnion(Quarry):
    """Several quarries in one crawl: each document is offered to all of them, a link counts by its best score.

    Their records are kept apart: `extract` is run for each of them by itself.
    """

    def __init__(self, parts: Sequence[Quarry], *, on_error: OnError | None = None) -> None:
        """`on_error` hears what one of them raises, so that the others are still asked; None: it is raised."""
        self.parts = tuple(parts)
        self.trusted_kinds = frozenset(kind for part in parts for kind in part.trusted_kinds)
        self.insistent_kinds = frozenset(kind for part in parts for kind in part.insistent_kinds)
        self.reads_pdf = any(part.reads_pdf for part in parts)
        self.tells_harvest = any(part.tells_harvest for part in parts)
        self._on_error = on_error

    def _ask(self, method: str, url: str, *arguments: Any) -> Iterator[tuple[Quarry, Any]]:
        for part in self.parts:
            try:
                answer = getattr(part, method)(*arguments)
            except (Exception, SystemExit) as error:
                if self._on_error is None:
                    raise
                self._on_error(method, url, error)
            else:
                yield part, answer

    def look_in(self, folder: Path) -> None:
        for part in self.parts:
            part.look_in(folder)

    def _links(self, method: str, url: str, *arguments: Any) -> Iterator[Link]:
        for part in self.parts:
            try:
                yield from getattr(part, method)(*arguments)
            except (Exception, SystemExit) as error:
                if self._on_error is None:
                    raise
                self._on_error(method, url, error)

    def recognise(self, doc: Doc) -> str | None:
        """The kinds that they find, with ", " between them where they are several."""
        return ", ".join(dict.fromkeys(kind for _, kind in self._ask("recognise", doc.url, doc) if kind)) or None

    def recognise_part(self, doc: Doc, relation: str) -> str | None:
        found = self._ask("recognise_part", doc.url, doc, relation)
        kinds = [kind for part, kind in found if kind and relation in part.trusted_kinds]
        return ", ".join(dict.fromkeys(kinds)) or None

    def relevance(self, doc: Doc) -> float:
        return max((answer for _, answer in self._ask("relevance", doc.url, doc)), default=0.0)

    def links(self, doc: Doc) -> Iterator[Link]:
        return self._links("links", doc.url, doc)

    def chosen_links(self, doc: Doc) -> list[Link] | None:
        """What any of them chooses; all, where one of them wants all."""
        found = [links for _, links in self._ask("chosen_links", doc.url, doc)]
        if len(found) < len(self.parts) or any(links is None for links in found):
            return None
        return [link for links in found for link in links]

    def is_exhausted(self, curve: Sequence[tuple[int, int]]) -> bool:
        """What all of them take for exhausted."""
        return all([answer for _, answer in self._ask("is_exhausted", "", curve)] or [False])

    def refuses(self, url: str) -> str:
        """Refused is what all of them refuse."""
        found = [answer for _, answer in self._ask("refuses", url, url)]
        return "; ".join(found) if len(found) == len(self.parts) and all(found) else ""

    def describe_url(self, url: str) -> str:
        told = self._ask("describe_url", url, url)
        return "; ".join(f"{name_of(part)}: {text}" for part, text in told if text)

    def describe_page(self, doc: Doc) -> str:
        told = self._ask("describe_page", doc.url, doc)
        return "; ".join(f"{name_of(part)}: {text}" for part, text in told if text)

    def links_of_error(self, doc: Doc, status: int) -> Iterator[Link]:
        return self._links("links_of_error", doc.url, doc, status)

    def identity(self, url: str) -> str:
        """That of the first who knows one."""
        return next((answer for _, answer in self._ask("identity", url, url) if answer), "")

    def score(self, link: Link, doc: Doc) -> float:
        scores = [float(score) for _, score in self._ask("score", doc.url, link, doc)]
        return max((score for score in scores if score == score), default=0.0)  # NaN is not itself

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts of each, under its name: "xml: known suffix"."""
        return {
            f"{name_of(part)}: {name}": value
            for part, found in self._ask("explain", doc.url, link, doc)
            for name, value in found.items()
        }

    def score_change(self, doc: Doc) -> float:
        """That of the one whom it pleases most: a document is worth what it is worth to somebody."""
        return max((float(change) for _, change in self._ask("score_change", doc.url, doc)), default=0.0)


def parts_of(quarry: Quarry) -> tuple[Quarry, ...]:
    """The quarries that are hunted together; one that is hunted alone by itself."""
    return quarry.parts if isinstance(quarry, QuarryUnion) else (quarry,)


def overrides(quarry: Quarry, method: str) -> bool:
    """Whether a quarry, or one of those in a union, has more than the default of a method."""
    return any(getattr(type(part), method) is not getattr(Quarry, method) for part in parts_of(quarry))


def url_judge(quarry: Quarry | None) -> Quarry | None:
    """The quarry where it has ranges of its own, else None: the rules need not ask it."""
    return quarry if quarry is not None and overrides(quarry, "refuses") else None


def has_extract(quarry: Quarry) -> bool:
    """Whether there is anything to run over kept documents."""
    return overrides(quarry, "extract")


def name_of(quarry: Quarry | type[Quarry]) -> str:
    """The name under which its records are kept."""
    kind = quarry if isinstance(quarry, type) else type(quarry)
    return str(kind.name) or kind.__name__
