"""Service states: which service a hypothesis put at an address, and a word for what was found there.

State, reason and origin of an address flow in, a `Hypothesis` and a word of `STATES` flow out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lycosa.missions.geo.recognise.document_links import DETAILS
from lycosa.missions.geo.recognise.endpoint_inference import GUESSES, infer, strip_request
from lycosa.missions.geo.recognise.service_hints import HOME, PREFIX
from lycosa.model import State

#: The states of a service, the best first, and what each means.
STATES = {
    "live": "it describes itself",
    "empty": "it describes itself, and offers nothing",
    "exception": "it answers with an error report of its kind",
    "error": "it answers with an error (HTTP 400, 500…)",
    "refused": "it wants a password or a token, or forbids it (HTTP 401, 403, 429…)",
    "forbidden": "robots.txt forbids it, or could not be had",
    "dead": "there is nothing (HTTP 404, 410), or nobody answers",
    "other": "something answers, but it describes no service",
    "unvisited": "it was not asked yet",
}
RANK = {state: rank for rank, state in enumerate(STATES)}

_REFUSED = frozenset(f"http-{status}" for status in (401, 402, 403, 407, 429, 451))
_GONE = frozenset(("http-404", "http-410"))
#: Rules of links that lead to services but to none themselves.
_ON_THE_WAY = frozenset(
    (
        "metadata of a layer",
        "script of a map",
        "records of a catalogue",
        "next records of a catalogue",
        "search of a feed",
        DETAILS,
        HOME,
    )
)
#: How rules begin or end that try an address where no document named a service.
_TRIED = ("beside ", "complaint ", "twin ", "ogcapi ", "stac ", "definition ")
_TRIED_ENDS = ("named by its text", "geonetwork", *GUESSES)
#: How rules end of addresses that only stand among services: one that answers with something else never was a service.
_AMONG = ("an address among services", ": a link")
#: What the rules have in them by which a document says which kind of service is at an address.
_NAMING = ("record", "capabilities", "QGIS")
_ASKS = frozenset(("capabilities request", "capabilities file"))
#: Rules by which an address is that of a service: a page that links to it says that there is one.
_NAMED = frozenset(("endpoint", "shared endpoint", "rest service", "rest endpoint", "rest directory"))
#: What such an address has in it; a search for that is quicker than taking every address apart.
_LIKELY = re.compile(r"w[mfcp]s|wmts|wcts|csw|ows|sos|mapserv|/rest/|ogc|stac", re.IGNORECASE)
_FAILED = (State.GONE, State.FAILED, State.REJECTED)
_ANSWERED = (State.FETCHED, State.UNCHANGED, State.DUPLICATE)


class Hypothesis(NamedTuple):
    """A hypothesis: a service that should be at an address."""

    type: str  # WMS…; empty where nothing tells
    endpoint: str
    rule: str  # how it was found
    guess: bool  # nobody said that it is there
    named: bool = False  # the kind of service was named, too


def find_hypothesis(url: str, via: str, state: int, *, refused: bool = False) -> Hypothesis | None:
    """The service that was searched for at an address, by the link that led there; None where none was.

    `refused`: the answer said that the service is not for everybody.
    """
    if not via.startswith(PREFIX):
        return _read_link(url, failed=refused or state in _FAILED)
    hints = infer(url)
    kind, endpoint = (hints[0].service, hints[0].endpoint) if hints else ("", strip_request(url))
    rule = via.removeprefix(PREFIX)
    if rule in _ON_THE_WAY:
        return None
    guess = rule.startswith(_TRIED) or rule.endswith(_TRIED_ENDS)
    if rule.endswith("endpoint") and not guess:
        known = infer(endpoint)
        guess = not known or known[0].trust < 0.5
    return Hypothesis(_rename(kind), endpoint, rule, guess, named=any(word in rule for word in _NAMING))


def is_tried(via: str) -> bool:
    """Whether the link that led to an address only tries it, beside a service that is known."""
    return via.removeprefix(PREFIX).startswith(_TRIED)


def is_guess(hypothesis: Hypothesis, state: str, *, elsewhere: bool, itself: bool) -> bool:
    """Whether no document said that there is such a service.

    `elsewhere`: another kind of service answers at this endpoint, so only a rule that names the kind says that it is
    there, too. `itself`: only the page at the endpoint led there. An address that answers with an exception report is
    a service, unless it was only tried; one that answers with a page is none if only its address speaks of one: WMS is
    also what programs for warehouses are called.
    """
    if state in ("other", "unvisited") and hypothesis.rule.endswith(_AMONG):
        return True
    if state == "other" and hypothesis.rule.endswith("endpoint") and not hypothesis.named:
        return True
    if elsewhere or itself:
        return hypothesis.guess or itself or not hypothesis.named
    return hypothesis.guess and (state != "exception" or hypothesis.rule.startswith(_TRIED))


def _read_link(url: str, *, failed: bool) -> Hypothesis | None:
    """The hypothesis of an ordinary link; an endpoint that answers leads to one of its own."""
    hints = infer(url) if _LIKELY.search(url) else ()
    if not hints or hints[0].trust < 0.5:
        return None
    hint = hints[0]
    if hint.rule in _ASKS:
        return Hypothesis(_rename(hint.service), hint.endpoint, "link", guess=False, named=True)
    if not failed or hint.rule not in _NAMED:
        return None
    kind = "" if hint.rule in GUESSES else _rename(hint.service)
    return Hypothesis(kind, hint.endpoint, f"link: {hint.rule}", guess=False)


def _rename(kind: str) -> str:
    """A kind of service as inventories call it."""
    return {"ESRI-REST": "ARCGIS"}.get(kind, kind)


def state_of(state: int, reason: str, *, exception: bool = False, refused: bool = False) -> str:
    """The word of `STATES` for an address that brought no description."""
    if refused:
        return "refused"
    if exception:
        return "exception"
    if state in _ANSWERED:
        return "other"
    if state in (State.GONE, State.FAILED, State.WAITING) or reason.startswith("robots"):
        return name_failure(reason)
    return "unvisited"


def name_failure(reason: str) -> str:
    """The word of `STATES` for the reason why a request failed, whoever asked: a crawl or a check."""
    if reason.startswith("robots"):
        return "forbidden"
    if reason in _REFUSED:
        return "refused"
    return "error" if reason.startswith("http-") and reason not in _GONE else "dead"
