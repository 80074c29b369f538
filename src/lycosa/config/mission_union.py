"""Union of the settings of several missions that share one crawl.

The crawl visits, reads and keeps what any of the missions would: scopes and bounds are the widest, lists of terms and
admitted addresses are joined, and an address is rejected only if all of them reject it. In everything else (policy,
politeness, names of files) the first mission that gives a value decides. See `docs/missions.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from lycosa.config.fields import GivenValue, Path, field_at
from lycosa.config.value_parsers import Wrong

#: Choices from the narrow to the wide.
_WIDER: dict[Path, tuple[str, ...]] = {
    ("scope",): ("path", "host", "domain", "free"),
    ("order",): ("bfs", "dfs", "best"),
    ("keep", "what"): ("recognised", "everything"),
    ("fetch", "follow"): ("external", "all"),
    ("fetch", "render"): ("never", "auto", "always"),
}
_JOINED: frozenset[Path] = frozenset(
    {("missions",), ("seeds",), ("policy", "anchor_terms"), ("policy", "url_terms"), ("policy", "hint_terms")}
)
#: Lists that admit everything when they are empty.
_ADMITTED: frozenset[Path] = frozenset({("accept",), ("themes",)})
_REFUSED: frozenset[Path] = frozenset({("reject",), ("keep", "drop"), ("urls", "drop")})
#: Switches that keep, or follow, more when they are on.
_MORE: frozenset[Path] = frozenset({("keep", "requests"), ("render", "archive"), ("fetch", "sitemaps")})
#: The number that stands for no bound, where it is not 0: a depth of 0 stands for the seeds alone.
_UNBOUNDED: dict[Path, int] = {("limits", "depth"): -1}
_PLAIN_NUMBERS: frozenset[Path] = frozenset({("limits", "host_urls_growth")})


def unite(missions: Sequence[Sequence[GivenValue]]) -> list[GivenValue]:
    """The values of several missions as those of one; a wrong value is passed on, for the loader to refuse."""
    try:
        validated = [
            {item.path: replace(item, value=item.read(item.path), is_text=False) for item in each} for each in missions
        ]
    except Wrong:
        return [item for each in missions for item in each]
    paths = dict.fromkeys(path for each in validated for path in each)
    return [_choose(path, [each.get(path) for each in validated]) for path in paths]


def _choose(path: Path, given: Sequence[GivenValue | None]) -> GivenValue:
    """The value of the union for one setting; a mission that gives none has the default."""
    field = field_at(path)
    first = next(item for item in given if item is not None)
    if field is None:
        return first
    values: list[Any] = [field.default if item is None else item.value for item in given]
    if path == ("name",):
        return _with_value(first, "-".join(dict.fromkeys(values)))
    if path in _JOINED:
        return _with_value(first, list(dict.fromkeys(value for each in values for value in each)))
    if path in _ADMITTED:
        everything = [] if not all(values) else [value for each in values for value in each]
        return _with_value(first, list(dict.fromkeys(everything)))
    if path in _REFUSED:
        return _with_value(first, [value for value in values[0] if all(value in each for each in values)])
    if path in _WIDER:
        chosen = max(values, key=_WIDER[path].index)
    elif path in _MORE:
        chosen = any(values)
    elif path[0] in ("limits", "traps") and path not in _PLAIN_NUMBERS:
        least = _UNBOUNDED.get(path, 0)
        chosen = next((value for value in values if value <= least), max(values))
    elif path in _PLAIN_NUMBERS:
        chosen = max(values)
    else:
        return first
    return next((item for item in given if item is not None and item.value == chosen), replace(first, value=chosen))


def _with_value(first: GivenValue, value: object) -> GivenValue:
    return replace(first, value=value, item_lines=())
