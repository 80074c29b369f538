"""Page scan: the services that a page only mentions, in scripts, pictures, attributes and plain text.

HTML, scripts and JSON flow in as text, hints flow out. One pass of a linear matcher over the bytes finds nothing in
most pages, and they cost no more; where it finds something, the scan cuts out the address around it and reads it. In
the text of scripts, addresses are told by what stands around them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from html import unescape
from itertools import chain, islice
from typing import Any

import re2
from msgspec import Struct

from lycosa import urls
from lycosa.missions.geo.recognise.endpoint_inference import (
    GUESSES,
    ServiceHint,
    description_url,
    infer,
    is_data,
    is_document,
    is_reserved,
    is_writing,
    name_service,
    repair_url,
    strip_request,
)
from lycosa.missions.geo.vocabulary import SERVICES
from lycosa.parse import Doc
from lycosa.parse.charset import decode

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


#: Bytes of a page or a script that are searched; libraries and data are larger.
_SEARCHED_BYTES = 1 << 20
#: Mentions that are read in one document.
_MAX_MENTIONS = 2_000
MAX_HINTS = 500
#: How far an address reaches at most.
_REACH = 2_000
#: Names of services in scripts whose address is searched for.
_MAX_CONFIGURED = 300
_MAX_PLAIN = 50

WORDS = (
    r"wms|wfs|wcs|wmts|wps|csw|[/=:\"']sos[/?\"'&]|wcts|mapserv|request=get|service=|/rest\\?/services|[/\"']ows|/wxs"
    r"|ogc-?api|/oapif?/|/stac[/\"'?]|getcapabilities|web(?:map|feature|coverage|processing)"
    r"|web (?:map|feature|coverage) |/tms/|geonetwork|/geoserver|[?&]f=(?:json|html)"
    r"|/collections/[^/\s\"'<>]{1,100}/(?:items|coverage|tiles)|/tilematrixsets"
)
_MENTION = re2.compile((r"(?i)" + WORDS).encode())
#: Names of scripts and files that belong to a map even where nothing else speaks of one.
_CONFIGURED = re2.compile(rb"(?i)(?:conf|layer|capa|visor|viewer|map|servi)[\w.-]*\.js")
#: All that a page is searched for, in one pass, as most pages have nothing of it.
_MAP_SIGN = re2.compile(b"|".join((_MENTION.pattern, _CONFIGURED.pattern, rb"maplibregl|mapboxgl")))
# Without a flag for the whole, "<" is searched for as fast as can be.
_SCRIPT = re.compile(r"<(?i:script)\b[^<>]*>(.*?)(?:</(?i:script)|\Z)", re.DOTALL)
_END = re.compile(r"""["'<>\s`|\\^]|&(?:quot|apos|lt|gt|#(?:3[49]|6[02]|[xX](?:2[27]|3[cCeE])));""")
_STARTS = "\"> '<\n\t\r`|\\^"
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*[\"']?\Z")
_ADDRESS = re.compile(r"(?:https?:)?//[^/?#]+|/(?!/)|\.\./|\./|[\w.-]+/|\?", re.IGNORECASE)
_PLAIN = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]{4,2000}")
_PAGE_END = re.compile(
    r"\.(?:x?html?|php|pdf|docx?|zip|png|jpe?g|gif|css|js|xsd|txt)(?:[?#]|$)|/(?:[?#]|$)", re.IGNORECASE
)
_ANCHOR = re.compile(r"\b(?:WMS|WFS|WCS|WMTS|WPS|CSW|SOS|WCTS)\b")
_EXTENSION = re.compile(r"\b(WMS|WFS|WCS)Server\b")
_REST_PAGE = re.compile(r"/rest/services/.+/\w+Server/?$", re.IGNORECASE)
_SCRIPT_FILE = re.compile(r"""<(?i:script)\b[^<>]{0,300}?\b(?i:src)\s*=\s*["']?([^"'\s<>]{1,500})""")


class ScannedSource(Struct):
    """A document as it was written, markup and all; in `text` each byte is one character, so that places agree."""

    data: bytes
    text: str
    charset: str


def read_source(doc: Doc) -> ScannedSource:
    """The beginning of a document, for searching."""
    data, charset = doc.body[:_SEARCHED_BYTES], doc.charset or "utf-8"
    if charset.startswith("utf-16"):
        data, charset = decode(data, charset).encode("utf-8", "replace"), "utf-8"
    if b"\\/" in data or b"\\u0026" in data:  # as JSON is written in pages
        data = data.replace(b"\\/", b"/").replace(b"\\u0026", b"&")
    return ScannedSource(data, data.decode("latin-1"), charset)


def has_no_mention(doc: Doc, words: Any = _MENTION) -> bool:
    """Whether a document surely mentions no service, or has none of these words; UTF-16 needs decoding to know."""
    return not doc.charset.startswith("utf-16") and words.search(doc.body[:_SEARCHED_BYTES]) is None


def read_page(doc: Doc) -> list[ServiceHint]:
    """The services that an HTML page mentions, other than by a plain link to their description."""
    if has_no_mention(doc, _MAP_SIGN):
        return []
    no_mention = has_no_mention(doc)
    source = read_source(doc)
    scripts = [match.span(1) for match in _SCRIPT.finditer(source.text)]
    found = ScanHints(doc)
    if not no_mention:
        found.extend(_read_anchors(doc))
        found.extend(_read_mentions(source, doc.base, scripts))
        found.extend(_read_plain(source, scripts))
        found.extend(_read_extensions(source.text, doc.url))
    if found.hints or scripts:
        found.extend(_read_map_scripts(source.text, doc.base, no_mention=no_mention))
        found.extend(_read_files(source.text, doc.base, scripts))
    return found.hints


def read_script(doc: Doc, *, configured: int = _MAX_CONFIGURED) -> list[ServiceHint]:
    """The services that a script or a JSON document mentions: by addresses, and by so many names of services."""
    no_mention = has_no_mention(doc)
    if no_mention and doc.kind == "json":
        return []
    source = read_source(doc)
    found, whole = ScanHints(doc), [(0, len(source.text))]
    if not no_mention:
        found.extend(_read_mentions(source, doc.base, whole, configured=configured))
    if doc.kind != "json":
        found.extend(_read_files(source.text, doc.base, whole))
    return found.hints


def read_addresses(doc: Doc, limit_bytes: int = _SEARCHED_BYTES) -> list[ServiceHint]:
    """The services that any other text mentions, by their addresses alone."""
    if has_no_mention(doc):
        return []
    found = ScanHints(doc)
    linked = doc.kind == "feed"
    found.extend(_read_mentions(read_source(doc), doc.base, [], limit_bytes=limit_bytes, linked=linked))
    return found.hints


class ScanHints:
    """The hints of one document, each service once, without the document's own address."""

    def __init__(self, doc: Doc, limit: int = MAX_HINTS) -> None:
        self.hints: list[ServiceHint] = []
        self._limit = limit
        self._seen: set[tuple[str, str]] = set()
        self._endpoints: set[str] = set()
        self._own = doc.url

    def add(self, hint: ServiceHint) -> None:
        key = (hint.service, hint.endpoint or hint.url)
        if key in self._seen or hint.url == self._own or len(self.hints) >= self._limit:
            return
        if hint.endpoint in self._endpoints and hint.rule.rpartition(": ")[2] in GUESSES:
            return  # something better than a guess was said of it
        self._endpoints.add(hint.endpoint)
        self._seen.add(key)
        self.hints.append(hint)

    def extend(self, hints: Iterable[ServiceHint]) -> None:
        """Add hints, those found first before the others."""
        for hint in hints:
            self.add(hint)


def _read_mentions(
    source: ScannedSource,
    base: str,
    scripts: list[tuple[int, int]],
    *,
    linked: bool = True,
    configured: int = _MAX_CONFIGURED,
    limit_bytes: int = _SEARCHED_BYTES,
) -> Iterator[ServiceHint]:
    """Read every mention of a service; `linked`: the core follows the addresses in href."""
    text, starts = source.text, [start for start, _ in scripts]
    seen: set[str] = set()
    until = 0
    for mention in islice(_MENTION.finditer(source.data[:limit_bytes]), _MAX_MENTIONS):
        at, after = mention.span()
        if at < until or text[at - 1 : at] == "<" or text[at - 2 : at] == "</":
            continue  # within an address that was read, or the name of an element
        start, end = _cut(text, at, after)
        index = bisect_right(starts, at) - 1
        scripted = index >= 0 and at < scripts[index][1]
        if _ADDRESS.match(text, start, end):
            until = end
            if (written := text[start:end]) in seen:
                continue
            seen.add(written)
            place = _name_place(text, start, scripted=scripted)
            yield from _read_address(_decode(written, source.charset), base, place=place, linked=linked)
        elif scripted and configured > 0:
            configured -= 1
            yield from _read_configuration(source, (at, after), scripts[index], base)


def _decode(written: str, charset: str) -> str:
    """A piece of a source, decoded where it is not ASCII."""
    return written if written.isascii() else decode(written.encode("latin-1"), charset)


def _cut(text: str, at: int, end: int) -> tuple[int, int]:
    """Where the word around a mention begins and ends."""
    start = max(0, at - _REACH) - 1
    for sign in _STARTS:
        start = max(start, text.rfind(sign, start + 1, at + 1))
    stop = _END.search(text, end, end + _REACH)
    return min(start + 1, at), stop.start() if stop else min(len(text), end + _REACH)


def _name_place(text: str, start: int, *, scripted: bool) -> str:
    """Where an address stands: the name of its attribute, or "script", or "text"."""
    if scripted:
        return "script"
    attribute = _ATTRIBUTE.search(text, max(0, start - 60), start)
    if attribute:
        name = attribute[1].lower()
        return _NAMESPACE if name.startswith("xmlns") or name.rpartition(":")[2] in _NAMESPACES else name
    listed = text.rfind("chemaLocation", max(0, start - _REACH), start)
    return _NAMESPACE if listed >= 0 and sum(text.count(sign, listed, start) for sign in "\"'") == 1 else "text"


def _read_address(written: str, base: str, *, place: str, linked: bool) -> Iterator[ServiceHint]:
    """The services that an address tells of, as written."""
    if place == "text":
        if not written[:8].lower().startswith(("http://", "https://")):
            return
        written = written.rstrip(").,;:!?]}'\"")
    url = resolve(written, base)
    if url is None:
        return
    for hint in infer(url):
        # The crawl fetches a link anyway: its answer tells more than a guess, and may be the description itself.
        if linked and place == "href" and (hint.rule in _LINKED or is_same(hint, url)):
            continue
        if place == _NAMESPACE and not hint.rule.endswith("request"):
            continue  # a name, which only looks like an address
        yield with_origin(hint, _PLACES.get(place, place))


_LINKED = GUESSES - {"named host"} | {"capabilities request"}
_NAMESPACE = "namespace"
_NAMESPACES = frozenset(("targetnamespace", "schemalocation", "nonamespaceschemalocation", "namespace", "codespace"))
_PLACES = {"src": "picture", "href": "link", "xlink:href": "link"}


def is_same(hint: ServiceHint, url: str) -> bool:
    """Whether a link leads to what a hint proposes, or to the page that will propose it."""
    bare = url.partition("#")[0]
    page = hint.service in ("ESRI-REST", "OGCAPI") and hint.endpoint.rstrip("/") == bare.partition("?")[0].rstrip("/")
    return hint.url == bare or page


def resolve(written: str, base: str) -> str | None:
    """The absolute address that a text means, its templates kept."""
    written = repair_url(unescape(written) if "&" in written else written).strip()
    if written.startswith("//"):
        return f"{base.partition(':')[0]}:{written}"
    if written[:7].lower() == "http://" or written[:8].lower() == "https://":
        return written
    if "{" in written or "$" in written:
        head, _, query = written.partition("?")
        if "{" in head or "$" in head:
            return None
        written = head + ("?" + "&".join(p for p in query.split("&") if "{" not in p and "$" not in p))
    return urls.normalise(written, base)


def with_origin(hint: ServiceHint, where: str) -> ServiceHint:
    """A hint that says where it was found."""
    return ServiceHint(hint.url, hint.service, hint.endpoint, f"{where}: {hint.rule}", hint.trust)


def propose(service: str, written: str, base: str, *, rule: str, trust: float) -> Iterator[ServiceHint]:
    """The hint that the service named beside an address answers there."""
    url = resolve(written, base)
    if url is None or "{" in url.partition("?")[0] or is_reserved(urls.host_of(url).partition(":")[0]):
        return
    inferred = infer(url)
    if inferred and not (service in SERVICES and inferred[0].rule in GUESSES):
        yield from map(partial(with_origin, where=rule), inferred)
    elif service in SERVICES and not is_document(url):
        normal = urls.normalise(strip_request(url))
        if normal:
            normal = normal.rstrip("?&")
            yield ServiceHint(description_url(normal, service), service, normal, rule, trust)
    elif service and not is_data(url):
        normal = urls.normalise(url)
        if normal:
            yield ServiceHint(normal, service, normal, rule, trust)


def _read_configuration(
    source: ScannedSource, mention: tuple[int, int], script: tuple[int, int], base: str
) -> Iterator[ServiceHint]:
    """The address that stands with the name of a service: assigned to it, given to its maker, or in its object."""
    text, (at, after) = source.text, mention
    service = name_service(text[max(script[0], at - 12) : after + 12]) or name_service(text[at:after])
    if service not in SERVICES:
        return
    for written in find_written(text, mention, script):
        written = _decode(written, source.charset)
        yield from propose(service, written, base, rule=f"script: {service} configuration", trust=0.7)


def _read_anchors(doc: Doc) -> Iterator[ServiceHint]:
    """Links whose text is the name of a service and whose address is no page's."""
    own = doc.url.partition("#")[0]
    for link in doc.links:
        text = link.text
        if link.href.startswith("#") or link.href.partition("#")[0] == own:
            continue  # a tab, or a button
        if not 3 <= len(text) <= 120 or _ANCHOR.search(text) is None or _PAGE_END.search(link.href):
            continue
        named = set(_ANCHOR.findall(text))
        if len(named) == 1 and link.kind == "a" and "request=" not in link.href.lower():
            for hint in propose(named.pop(), link.href, doc.base, rule="link: named by its text", trust=0.4):
                if not is_same(hint, hint.endpoint) and not is_writing(hint.endpoint):
                    yield hint


def _read_plain(source: ScannedSource, scripts: list[tuple[int, int]]) -> Iterator[ServiceHint]:
    """Addresses in the text of a page that mentions services: only the answer will tell what they are."""
    text, starts = source.text, [start for start, _ in scripts]
    count = 0
    for match in islice(_PLAIN.finditer(text), _MAX_MENTIONS):
        at = match.start()
        before = text[at - 1 : at]
        if before in ("'", '"'):
            yield from _read_attribute(text, match, source.charset)
        if before not in ("", ">", " ", "\n", "\t", "(", ":", ";"):
            continue
        index = bisect_right(starts, at) - 1
        if index >= 0 and at < scripts[index][1]:
            continue
        low = max(0, at - _REACH)
        if text.rfind("<", low, at) > text.rfind(">", low, at):
            continue  # inside a tag
        written = _END.split(match[0], maxsplit=1)[0]  # where markup is shown as text
        url = resolve(_decode(written, source.charset).rstrip(").,;:!?'\""), "")
        if url is None or _PAGE_END.search(url) or is_reserved(urls.host_of(url).partition(":")[0]):
            continue
        inferred = infer(url)
        if inferred:
            yield from map(partial(with_origin, where="text"), inferred)
        elif normal := urls.normalise(url):
            yield ServiceHint(normal, "", "", "text: an address among services", 0.2)
        count += 1
        if count == _MAX_PLAIN:
            return


def _read_attribute(text: str, match: re.Match[str], charset: str) -> Iterator[ServiceHint]:
    """An address that a page gives to be copied, or to its script: in a field, or in an attribute of its own."""
    attribute = _ATTRIBUTE.search(text, max(0, match.start() - 60), match.start())
    name = attribute[1].lower() if attribute else ""
    if name == "value" or name.startswith("data-"):
        written, service = _decode(match[0], charset), name_service(name)
        if service in SERVICES:
            yield from propose(service, written, "", rule="attribute: named by it", trust=0.6)
        elif name == "value" and not _PAGE_END.search(written):
            normal = urls.normalise(unescape(written))
            if normal and not is_reserved(urls.host_of(normal).partition(":")[0]):
                yield ServiceHint(normal, "", "", "value: an address among services", 0.2)


def _read_extensions(text: str, url: str) -> Iterator[ServiceHint]:
    """The OGC services that a page of an ArcGIS REST directory lists as extensions of its own."""
    page = url.partition("?")[0].rstrip("/")
    if not _REST_PAGE.search(page):
        return
    head, _, tail = page.partition("/rest/services/")
    for service in dict.fromkeys(_EXTENSION.findall(text)):
        endpoint = f"{head}/services/{tail}/{service}Server"
        yield ServiceHint(description_url(endpoint, service), service, endpoint, "rest extension", 0.9)
    yield from infer(page)


def _read_map_scripts(text: str, base: str, *, no_mention: bool) -> Iterator[ServiceHint]:
    """Scripts of a page that may hold the configuration of its map; fewer do on a page that mentions no service."""
    host = urls.host_of(base)
    for match in islice(_SCRIPT_FILE.finditer(text), _MAX_PLAIN):
        if not is_of_map(match[1]) or (no_mention and not _CONFIGURED.search(match[1].encode())):
            continue
        url = urls.normalise(unescape(match[1]), base)
        if url and urls.host_of(url) == host:
            yield ServiceHint(url, "", "", "script of a map", 0.1 if no_mention else 0.2)


def _read_files(text: str, base: str, scripts: list[tuple[int, int]]) -> Iterator[ServiceHint]:
    """The files that scripts read: the style of a map or another configuration, and the descriptions of its tiles."""
    tiles = ((written, "tiles of a map", 0.5) for written in find_tiles(text, scripts))
    files = ((written, "script of a map", 0.3) for written in find_files(text, scripts))
    for written, rule, trust in (*tiles, *files):
        url = urls.normalise(written, base)
        if url and not is_reserved(urls.host_of(url).partition(":")[0]):
            yield ServiceHint(url, "", "", rule, trust)
