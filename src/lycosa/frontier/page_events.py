"""Page events: what a visit found of a page, by what was known before: new, changed, unchanged, gone, back."""

from __future__ import annotations

from msgspec import Struct

from lycosa.model import Discovery, Outcome, State

#: States of a page whose copy of this round is there.
HELD = (State.FETCHED, State.UNCHANGED)
#: The visit brought an answer that says something of the page.
ANSWERED = (*HELD, State.DUPLICATE, State.MOVED, State.MOVED_FOR_GOOD, State.GONE)
#: There is no page at the address now, though there may have been one.
AWAY = (State.MOVED, State.MOVED_FOR_GOOD, State.GONE)

#: Why a URL was dropped, or not fetched, that is kept for a document that needs it.
REOPENED_BY_NEED = ("not-quarry", "host-quota")


class PageBefore(Struct, gc=False):
    """What the frontier knew of a URL before a visit."""

    state: int
    reason: str
    via: str
    was: int  # the state that the last round left it in
    digest: bytes  # of the newest copy; empty: there is none
    due: float = 0.0


class KnownUrl(Struct, gc=False):
    """What the frontier knows of a URL that a link leads to."""

    n: int
    state: int
    reason: str
    via: str
    seed: bool
    score: float

    @property
    def waits(self) -> bool:
        """Whether it is still to be fetched, and its place in the order may change: a seed keeps its own."""
        return self.state in (State.PENDING, State.WAITING) and not self.seed


def event_of(outcome: Outcome, before: PageBefore, state: int) -> str:
    """What a visit found of a page; nothing where there is no page and never was one, or where it is not known."""
    if before.via == "sitemap" or before.state in ANSWERED:
        return ""  # no page, or one that this round has counted already
    away = before.was in AWAY
    if state in AWAY:
        return "gone" if before.digest and not away else ""
    if state not in (State.FETCHED, State.UNCHANGED, State.DUPLICATE):
        return ""
    if not before.digest:
        return "new" if outcome.page is not None else ""
    if away:
        return "back"
    return "changed" if outcome.page is not None and outcome.page.digest != before.digest else "unchanged"


def is_needed_now(outcome: Outcome, before: PageBefore) -> bool:
    """Whether a page was dropped as what one link led to, while another made it a part of a document."""
    return outcome.reason in REOPENED_BY_NEED and outcome.via not in ("", before.via)


def is_same_sort(via: str, other: str) -> bool:
    """Whether two kinds of links lead to the same sort of thing: a sitemap stays one, and a page stays a page."""
    return (via == "sitemap") == (other == "sitemap")


def raises(link: Discovery, known: KnownUrl) -> bool:
    """Whether a link that is followed lets a known URL rise to its score."""
    return bool(
        link.policy_data
        and link.state == State.PENDING
        and known.waits
        and -1 <= known.score <= link.score
        and is_same_sort(link.via, known.via)
    )
