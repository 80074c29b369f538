"""Score of a stored URL, with the parts that it was made of: which order counts, and what it looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lycosa import urls
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.priority.policy_factory import is_steered, make_policy, make_relevance
from lycosa.model import WeightUpdate
from lycosa.quarry import Quarry

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.model import Link
    from lycosa.parse import Doc


class Score(Struct):
    """The higher, the sooner; equal scores go in the order of their finding."""

    value: float
    order: str  # bfs, dfs, best
    rule: str  # in words: how this order scores
    parts: dict[str, float]  # by name; of `best` those that the quarry gives


def explain(collection: Collection, mission: Mission, row: dict[str, Any], *, quarry: Quarry | None) -> Score:
    """Explain a stored score; a quarry's parts are worked out anew from the page that the link stands on."""
    value, order = row["score"] or 0.0, mission.order
    if order == "bfs":
        return Score(value, order, "the fewer links from a seed, the sooner", {"links from a seed": row["depth"]})
    if order == "dfs":
        return Score(value, order, "the newest page's links first, in their order on it", {"time of finding": value})
    if is_steered(mission):
        return _explain_policy(collection, mission, row)
    rule = "the highest score first, as the mission scores the link"
    if not row["parent"]:
        return Score(value, order, rule, {})
    if quarry is None and mission.hunted:
        try:
            quarry = load_quarry(mission)
        except UsageError as error:
            return Score(value, order, f"{rule}; its parts are not known: {error}", {})
    link_and_doc = _find_link(collection, mission, row, quarry) if quarry is not None else None
    return Score(value, order, rule, dict(quarry.explain(*link_and_doc)) if quarry is not None and link_and_doc else {})


def _explain_policy(collection: Collection, mission: Mission, row: dict[str, Any]) -> Score:
    """The score that the policy would give now, by what it noted of the URL and has learned since."""
    rule = f"the highest score first, by the policy {mission.policy.name}"
    rows = collection.rows("SELECT lore, host.name FROM url JOIN host USING (host) WHERE n = ?", [row["n"]])
    policy_data, host = next(rows, (b"", ""))
    try:
        policy = make_policy(mission, make_relevance(mission))
    except UsageError as error:
        return Score(row["score"] or 0.0, "best", f"{rule}; its parts are not known: {error}", {})
    learned = collection.rows("SELECT key, weight, energy FROM lesson") if policy.learns else ()
    policy.load_lessons([WeightUpdate(*row) for row in learned])
    if policy.learns and policy_data:
        promise = policy.promise(row["score"], host, policy_data=policy_data)
        rule = f"{rule}: {promise:.3f} by what it knows now, as log-odds"
    return Score(row["score"] or 0.0, "best", rule, dict(policy.explain(policy_data, host)))


def _find_link(
    collection: Collection, mission: Mission, row: dict[str, Any], quarry: Quarry
) -> tuple[Link, Doc] | None:
    """The link that led to the URL, on the stored page where it was found."""
    page = collection.page_at(row["parent"])
    if page is None:
        return None
    resolver = urls.Resolver(urls.Cleaner(mission.urls))
    doc = page.doc
    for link in (*doc.links, *quarry.links(doc)):
        if resolver.resolve(link.href, doc.base) == row["url"]:
            return link, doc
    return None
