"""Which of several missions wanted a URL: a stored URL goes in, the names of missions with their grounds come out."""

from __future__ import annotations

from typing import Any

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.parse import Doc
from lycosa.quarry import Quarry, QuarryUnion, name_of


def find_wanting(
    collection: Collection, mission: Mission, row: dict[str, Any], *, quarry: Quarry | None
) -> dict[str, str]:
    """By mission, why it wanted a URL; empty where one mission alone is hunted for, or none of them asked for it."""
    if "," not in mission.hunted:
        return {}
    try:
        quarry = quarry or load_quarry(mission)
    except UsageError:  # `why` tells everything else
        return {}
    if not isinstance(quarry, QuarryUnion):
        return {}
    page = collection.page_at(row["n"])
    if page is not None:
        doc = page.doc
        return {name_of(part): f"it is {kind}" for part in quarry.parts if (kind := part.recognise(doc))}
    parent = collection.page_at(row["parent"]) if row["parent"] else None
    return _find_proposals(quarry, parent.doc, mission, row["url"]) if parent is not None else {}


def _find_proposals(quarry: QuarryUnion, doc: Doc, mission: Mission, url: str) -> dict[str, str]:
    """Who sees a link on the page where the URL was found, or thinks most of the one that stands there."""
    resolver = urls.Resolver(urls.Cleaner(mission.urls))

    def leads_there(href: str) -> bool:
        return resolver.resolve(href, doc.base) == url

    found = {
        name_of(part): f"it sees a link there: {link.kind}"
        for part in quarry.parts
        for link in part.links(doc)
        if leads_there(link.href)
    }
    link = next((link for link in doc.links if leads_there(link.href)), None)
    if found or link is None:
        return found
    scores = {name_of(part): part.score(link, doc) for part in quarry.parts}
    best = max(scores.values())
    return {name: f"it gives the link a score of {score:g}" for name, score in scores.items() if score == best > 0}
