"""Risky missions: those that came with a collection and would run code, or write elsewhere, when it is continued.

A collection may be somebody else's, and one click continues it. So the page reads its mission as the crawl would, and
starts none that names a program or a file out of the served folder.
"""

from __future__ import annotations

from pathlib import Path

from lycosa.config.loading import load
from lycosa.config.mission_files import find_own
from lycosa.errors import UsageError


def refuse_risky_mission(folder: Path, *, below: Path) -> None:
    """Refuse the mission of a collection that runs code, or writes a file that is not `below` the served folder."""
    file = find_own(folder)
    if file is None:
        return
    mission = load(file, check_own=False).mission
    if mission.quarry or mission.render.browser:
        raise UsageError(
            "The mission of this collection runs code of its own, which the page does not start: continue it with"
            " lycosa crawl --collection."
        )
    written = {"keep.mirror": mission.keep.mirror, "keep.index": mission.keep.index, "log.file": mission.log.file}
    for setting, path in written.items():
        if path not in ("", "-") and not Path(path).resolve().is_relative_to(below.resolve()):
            raise UsageError(
                f"The mission of this collection writes {path[:200]} ({setting}), which is not below the served folder:"
                " continue it with lycosa crawl --collection."
            )
