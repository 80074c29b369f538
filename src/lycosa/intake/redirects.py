"""Redirects: whether one of them closes a loop, and what becomes of the loop."""

from __future__ import annotations

from lycosa import urls
from lycosa.config.settings import FetchSettings
from lycosa.frontier.contract import Knowledge
from lycosa.model import Answer, Link, Outcome, State, Target
from lycosa.parse import Doc

REDIRECTS_MAX = 10_000  # redirects that are remembered without asking the frontier
SOON_S = 10.0  # seconds after which a page that refreshes itself was meant to be read
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)


def is_move(link: Link, doc: Doc, target: Target) -> bool:
    """Whether a page sends its readers on at once, as a redirect does; once only: slide shows do so, too."""
    return link.kind == "refresh" and not target.hops and (doc.refresh is None or doc.refresh[0] <= SOON_S)


class RedirectLoops:
    """The latest redirects, which may not be committed yet, and those that the frontier knows."""

    def __init__(self, known: Knowledge, fetch: FetchSettings) -> None:
        self._known = known
        self._fetch = fetch
        self._latest: dict[str, str] = {}
        self._cookie_setters: set[str] = set()  # those of them that set a cookie

    def closes_loop(self, url: str, answer: Answer) -> bool:
        """Whether the redirects that are known lead from `url` back to where this answer came from.

        Those of earlier runs and other workers are in the frontier, which is asked from the second hop on: most
        redirects are the first of their kind.
        """
        target, origin = answer.target, answer.target.url
        if len(self._latest) > REDIRECTS_MAX:
            self._latest.clear()
            self._cookie_setters.clear()
        self._latest[origin] = url
        if self._fetch.cookies and "set-cookie" in answer.headers:
            self._cookie_setters.add(origin)
        for _ in range(self._fetch.redirects + 1):
            if url == origin:
                return True
            onward = self._latest.get(url, "")
            asked = not onward and target.hops > 0
            if asked and (row := self._known.find(url)) is not None and row.state in _MOVED:
                onward = row.redirect
            if not onward:
                return False
            url = onward
        return False

    def resolve_loop(self, url: str, answer: Answer, outcome: Outcome) -> list[Outcome]:
        """Resolve a redirect to `url` that closes a loop; returns outcomes of what is fetched once more because of it.

        A page that sets a cookie and leads back, at once or by way of another address, wants to see the cookie.
        """
        target, hop = answer.target, url
        sets_cookie = target.url in self._cookie_setters
        while hop != target.url and not sets_cookie:
            sets_cookie, hop = hop in self._cookie_setters, self._latest.get(hop, target.url)
        if sets_cookie and not target.retries:
            if url == target.url:
                outcome.state, outcome.due, outcome.retries = State.WAITING, answer.began, 1
                return []
            row = self._known.find(url)
            # A host of another worker is that one's to ask.
            if row is not None and row.state in _MOVED and not row.retries and urls.host_of(url) == target.host:
                return [Outcome(row.row, target.host, State.WAITING, at=answer.began, due=answer.began, retries=1)]
        outcome.state, outcome.reason = State.FAILED, "redirect-loop"
        return []
