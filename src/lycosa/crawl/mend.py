"""A collection as a crash, a power failure or a full disk left it goes in; one that can be continued comes out."""

from __future__ import annotations

from pathlib import Path

from lycosa.frontier import Frontier
from lycosa.keep import inspect, mend, settle


def mend_archive(folder: Path, frontier: Frontier) -> list[str]:
    """Cut what the archive holds beyond the last commit, fetch again what it lacks; returns what was done, for people.

    The order matters: the frontier is told first, so that a crash in between finds the same damage again.
    """
    notes = []
    archive = folder / "archive"
    for repair in inspect(archive, frontier.warcs()):
        again = frontier.repend_archive(repair.name, repair.lost) if repair.lost else 0
        mend(archive, repair)
        pages = "page is" if again == 1 else "pages are"
        notes.append(f"{repair.text} {again:,} {pages} fetched again." if repair.lost else repair.text)
    changed = settle(archive, frontier.warcs())
    if changed:
        frontier.note_warcs(changed)
    return notes
