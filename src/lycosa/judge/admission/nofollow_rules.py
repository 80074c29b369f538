"""Links in; those that are not followed whatever they lead to, with the reason, out (T12).

What a page forbids (nofollow), a link forbids (rel=nofollow), or stays on its host where only links that leave it are
wanted, is put down like any other address that is refused. A link that may be followed lifts the bar. A sitemap
recommends nothing, so its nofollow is none; and where a page moves to (refresh) is followed like a redirect.
"""

from __future__ import annotations

from collections.abc import Callable

from lycosa import urls
from lycosa.config.settings import FetchSettings
from lycosa.crawler.intake.yield_quota import INTERNAL, YieldQuota
from lycosa.frontier import Seen
from lycosa.judge.admission.rules import Rules
from lycosa.model import Discovery, Link, State, Target, Verdict
from lycosa.parse import Doc

_PAGE = Verdict(False, "nofollow", "the page that links to it says nofollow")
_LINK = Verdict(False, "rel-nofollow", "the link to it says rel=nofollow")
_NEVER = frozenset({"nofollow", "none"})
_LISTS = frozenset({"sitemap", "sitemap-index"})
#: Ids that are remembered: what is forgotten is told to the frontier once more, which does no harm.
_MEMORY = 100_000


class NofollowRules:
    """One worker's."""

    def __init__(self, fetch: FetchSettings, rules: Rules, hunt: YieldQuota | None) -> None:
        self._obeys_page = fetch.nofollow == "obey"
        self._obeys_link = fetch.rel_nofollow == "obey"
        self._internal = hunt.is_internal if hunt is not None and hunt.external else None
        self._rules = rules
        self._told = Seen(_MEMORY)
        self.of_link: Callable[[Link, str, str], Verdict | None] | None = None
        """Why a link to a URL on a page of a host is not followed; None: nothing asks. `of_page` is asked first."""
        self._per_link = self._judge_link if self._obeys_link or self._internal is not None else None

    def of_page(self, doc: Doc) -> Verdict | None:
        """Why no link of a page is followed; where one of them is, `of_link` tells the others."""
        self.of_link = self._per_link
        if not doc.robots or not self._obeys_page or _NEVER.isdisjoint(doc.robots) or doc.listed or doc.kind in _LISTS:
            return None
        if any(link.kind == "refresh" for link in doc.links):
            self.of_link = self._judge_closed
            return None
        return _PAGE

    def _judge_closed(self, link: Link, url: str, host: str) -> Verdict | None:
        """The same on a page that says nofollow and moves."""
        if link.kind != "refresh":
            return _PAGE
        return self._per_link(link, url, host) if self._per_link is not None else None

    def _judge_link(self, link: Link, url: str, host: str) -> Verdict | None:
        if self._obeys_link and "nofollow" in link.rel:
            return _LINK
        return INTERNAL if self._internal is not None and self._internal(link, url, host) else None

    def note(self, url: str, link: Link, verdict: Verdict, *, target: Target) -> Discovery | None:
        """What the frontier is told of a barred link; None: it knows. What other rules refuse is refused for those."""
        ident = urls.url_id(url)
        if not self._told.add(ident):
            return None
        host, depth = urls.host_of(url), target.depth + 1
        verdict = self._rules.refusal(url, depth=depth, host=host) or verdict
        return Discovery(
            ident, url, host, int(State.REJECTED), verdict.reason, 0.0, depth, 0, target.row,
            via=link.kind, anchor=link.text,
        )  # fmt: skip
