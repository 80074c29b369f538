"""Comparison of policies: how soon each would have found what a stored crawl found (harvest curves)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.config.loading import load
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.priority.policy_factory import make_relevance
from lycosa.lab.recording import RecordedAnswer, Recording
from lycosa.lab.simulation import Point, measure
from lycosa.parse import Doc

_ROWS = 20
_MOST = 0.1  # the share of addresses that were never asked for above which curves say too much


def compare(
    folder: str,
    names: Sequence[str],
    *,
    sets: Sequence[str] = (),
    limit: int = 0,
    step: int = 0,
    tell: Callable[[str], object] | None = None,
    warn: Callable[[str], object] | None = None,
) -> list[Point]:
    """The curves of policies over one collection; `sets` are settings other than its own.

    `tell` hears what is under way, `warn` what makes the curves better than a crawl would be.
    """
    with Collection(folder) as collection:
        mission = load(text=to_toml(collection.mission), sets=sets).mission
        missions = [_name_policy(mission, name) for name in names]
        if not mission.hunted:
            raise UsageError("The collection's mission hunts nothing: there is no quarry that could be found sooner.")
        quarry = load_quarry(mission)
        relevance = make_relevance(mission)

        def weigh(doc: Doc) -> float:
            return relevance.page(doc.text if doc.tree is None or relevance.reads else doc.raw_text, doc.language)

        def key(answer: RecordedAnswer) -> str:
            return quarry.identity(answer.url) or answer.digest or answer.url

        if tell is not None:
            tell("lycosa: reading the archive\n")
        recording = Recording(collection, quarry, weigh=weigh)
        if warn is not None and (share := recording.unfetched / max(1, recording.unfetched + len(recording))) > _MOST:
            warn(
                f"lycosa: {recording.unfetched:,} known addresses ({share:.0%}) were never asked for: the replay leaves"
                " them out, and every policy finds more with the same requests than a crawl would.\n"
            )
        try:
            wide = step or max(1, (min(limit, len(recording)) if limit else len(recording)) // _ROWS)
            points: list[Point] = []
            for one in missions:
                if tell is not None:
                    tell(f"lycosa: replaying with {one.policy.name}\n")
                points += measure(recording, one, key=key, identity=quarry.identity, limit=limit, step=wide)
            return points
        finally:
            recording.close()


def _name_policy(mission: Mission, name: str) -> Mission:
    """The mission under another policy; whether there is one of that name, the settings know."""
    checked = load(text=to_toml(mission), overrides={"policy.name": name}).mission
    return replace(checked, order="best")
