"""Script scan: the addresses in the text of scripts, by what stands around them.

Places in a text flow in, addresses as written flow out.
"""

from __future__ import annotations

import re
from itertools import chain, islice

#: How far from the name of a service its address may stand in a script.
_WINDOW = 600
#: Addresses in the list of one service, and files that are named in scripts.
_MAX_LISTED = 20

_LITERAL = re.compile(r"""["'`]((?:https?:)?//[^"'`\s<>]{4,2000}|/[^"'`\s<>/*][^"'`\s<>]{2,2000})["'`]""")
_KEYED = re.compile(
    r"""(?<!\w)(?:\w{0,20}url|uri|href|endpoint|server|address|baseurl|host|service|src|onlineresource)["']?\s*[:=]\s*"""
    r"""(?:\[\s*)?["'`]((?:https?:)?//[^"'`\s<>]{4,2000}|/[^"'`\s<>/*][^"'`\s<>]{2,2000})["'`]""",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""[\w.\[\]]{0,40}["']?\s*[:=]\s*["'`]((?:https?:)?//[^"'`\s<>]{4,2000}|/[^"'`\s<>/*][^"'`\s<>]*)["'`]"""
)
_CALLED = re.compile(r"\w{0,40}\s*\(")
_BRACE = re.compile(r"[{}]")
_FILE = re.compile(r"""["'`]([^"'`\s<>{}$]{1,300}\.json(?:\?[^"'`\s<>{}$]{0,200})?)["'`]""", re.IGNORECASE)
_STYLE = re.compile(r"""\bstyle["']?\s*:\s*["'`]([^"'`\s<>{}$]{1,500}\.json(?:\?[^"'`\s<>{}$]{0,200})?)["'`]""")
_TILED = re.compile(r"""\btype["']?\s*:\s*["'`](?:vector|raster(?:-dem)?)["'`]""")
_TILES = re.compile(r"""\burl["']?\s*:\s*["'`]([^"'`\s<>{}$]{1,2000})["'`]""")
_MAP_SCRIPT = re.compile(
    r"(?:conf|layer|capa|visor|viewer|map|init|app|servi)[^/?]{0,60}\.js(?:on)?(?:\?|$)", re.IGNORECASE
)
_LIBRARY = re.compile(
    r"jquery|bootstrap|openlayers|/ol\.js|leaflet|mapbox|maplibre|cesium|googleapis|/arcgis|d3\.|react|vue|angular"
    r"|polyfill|sitemap|service-?worker|webmap(?!viewer)|gtm|analytics|cookie|/wp-|\.min\.js|vendor|runtime|tinymap",
    re.IGNORECASE,
)


def is_of_map(name: str) -> bool:
    """Whether the name of a file is like that of the configuration of a map."""
    return _MAP_SCRIPT.search(name) is not None and _LIBRARY.search(name) is None


def find_files(text: str, scripts: list[tuple[int, int]]) -> list[str]:
    """The JSON files that scripts name: styles of maps, and files with the name of a configuration of a map."""
    styles = (match[1] for script in scripts for match in _STYLE.finditer(text, *script))
    named = (match[1] for script in scripts for match in _FILE.finditer(text, *script))
    return list(dict.fromkeys(islice(chain(styles, filter(is_of_map, named)), _MAX_LISTED)))


def find_tiles(text: str, scripts: list[tuple[int, int]]) -> list[str]:
    """The descriptions of tiles that scripts name as sources of a map."""
    tiled = ((match.span(), script) for script in scripts for match in _TILED.finditer(text, *script))
    parts = (_cut_inner(text, *_find_object(text, *place)) for place in islice(tiled, _MAX_LISTED))
    return [tiles[1] for tiles in map(_TILES.search, parts) if tiles]


def find_written(text: str, mention: tuple[int, int], script: tuple[int, int]) -> list[str]:
    """The addresses that belong to a mention in a script."""
    at, after = mention
    if found := _ASSIGNED.match(text, after, script[1]):
        return [found[1]]
    called = _CALLED.match(text, after, script[1])
    if called:
        part = text[called.end() : _find_close(text, called.end(), script[1])]
        found = _KEYED.search(part) or _LITERAL.search(part)
    else:
        low, high = _find_object(text, mention, script)
        part = _cut_inner(text, low, high)
        found = _KEYED.search(part)
        if found is None:
            part = text[after:high]
            found = _KEYED.search(part)
    if found is None:
        return []
    listed = found[0].partition(found[1])[0].rstrip("\"'`").rstrip().endswith("[")
    end = part.find("]", found.end()) if listed else -1
    return [found[1], *islice((more[1] for more in _LITERAL.finditer(part, found.end(), max(end, 0))), _MAX_LISTED)]


def _find_object(text: str, mention: tuple[int, int], script: tuple[int, int]) -> tuple[int, int]:
    """Where the object around a mention begins and ends, within reach."""
    at, after = mention
    low, high = max(script[0], at - _WINDOW), min(script[1], after + _WINDOW)
    depth = 0
    for sign in reversed(list(_BRACE.finditer(text, max(script[0], at - 3 * _WINDOW), at))):
        depth += 1 if sign[0] == "}" else -1
        if depth < 0:
            low = sign.end()
            break
    depth = 0
    for sign in _BRACE.finditer(text, after, min(script[1], after + 3 * _WINDOW)):
        depth += 1 if sign[0] == "{" else -1
        if depth < 0:
            high = sign.start()
            break
    return low, high


def _cut_inner(text: str, low: int, high: int) -> str:
    """A part of a text without the objects in it."""
    parts, depth, start = [], 0, low
    for sign in _BRACE.finditer(text, low, high):
        if sign[0] == "{":
            if depth == 0:
                parts.append(text[start : sign.start()])
            depth += 1
        elif depth and (depth := depth - 1) == 0:
            start = sign.end()
    return "{}".join([*parts, "" if depth else text[start:high]])


def _find_close(text: str, at: int, end: int) -> int:
    """Where the parenthesis that was opened before `at` is closed, within reach."""
    depth = 1
    for sign in re.finditer(r"[()]", text[at : min(end, at + 3 * _WINDOW)]):
        depth += 1 if sign[0] == "(" else -1
        if depth == 0:
            return at + sign.start()
    return min(end, at + 3 * _WINDOW)
