"""Address forms: what a person typed, its normalised and its cleaned form, with every change; and other spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.config.host_rules import mask
from lycosa.config.settings import UrlSettings
from lycosa.config.value_parsers import Wrong, as_url
from lycosa.errors import UsageError

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_CREDENTIALS = re.compile(r"[a-z]+://[^/?#\\]*@", re.IGNORECASE)
_OWN_SCHEMES = ("http:", "https:", "ftp:")


class AddressForms(Struct):
    """An address as it was given, in its one form, and as the mission cleans it."""

    given: str
    normalised: str
    cleaned: str
    changes: list[str]  # in words: what was done to it, and by which setting


def read_address(text: str, settings: UrlSettings) -> AddressForms:
    """Read an address as the crawl would; UsageError for what is none."""
    word = text.strip()
    shown = mask(("seeds",), word)
    scheme = _SCHEME.match(word)
    if scheme and scheme[0].lower() in _OWN_SCHEMES:
        normal = urls.normalise(word)
        if normal is None:
            raise UsageError(f"{shown[:200]!r} is not an address that could be visited.")
    else:
        try:
            normal = as_url(word)
        except Wrong as wrong:
            raise UsageError(f"{shown[:200]!r} is not an address that could be visited; allowed: {wrong}.") from None
    changes = list(_normal_changes(word, normal))
    cleaned, cleanings = _clean(normal, settings)
    return AddressForms(shown, normal, cleaned, changes + cleanings)


def _normal_changes(word: str, normal: str) -> Iterator[str]:
    """What normalising changed, one part after the other."""
    if word == normal:
        return
    if "://" not in word:
        yield "http:// was put in front"
        word = f"http://{word.removeprefix('//')}"
    if "#" in word:
        yield f"the fragment {word[word.index('#') :][:60]} was dropped: it names a place within the page"
    if _CREDENTIALS.match(word):
        yield "user and password were dropped: they are given per host in a mission"
    try:
        before, after = urlsplit(word.partition("#")[0]), urlsplit(normal)
        port, host = before.port, before.netloc.rpartition("@")[2].partition(":")[0]
    except ValueError:
        yield "it was written in its one form (WHATWG, RFC 3986)"
        return
    if before.scheme and not word.startswith(before.scheme):
        yield "the scheme was put in lower case"
    if host and host != after.hostname:
        yield f"the host {host[:100]} was written as {after.hostname}"
    if port is not None and after.port is None:
        yield f"the port {port} was dropped: it is the one that {after.scheme} has anyway"
    if (before.path, before.query) != (after.path, after.query) and (before.path or after.path != "/"):
        yield f"path and query were written as {after.path}{'?' + after.query if after.query else ''}"


def _clean(url: str, settings: UrlSettings) -> tuple[str, list[str]]:
    """The URL as the mission's [urls] leave it, and what each of them took away."""
    changes = []
    for name in ("drop_session", "drop_tracking", "drop", "sort_query"):
        alone = replace(UrlSettings(), **{name: getattr(settings, name)})
        cleaned = urls.Cleaner(alone).clean(url)
        if cleaned == url:
            continue
        if name == "sort_query":
            changes.append("the parameters of the query were sorted (urls.sort_query)")
        else:
            kept = cleaned.partition("?")[2].split("&")
            lost = [pair for pair in url.partition("?")[2].split("&") if pair and pair not in kept]
            what = ", ".join(lost) if lost else "a session id in the path"
            changes.append(f"{what[:200]} was dropped (urls.{name})")
        url = cleaned
    return url, changes


def spellings(url: str) -> Iterator[str]:
    """Addresses that people take for the same: other scheme, www, slash or index file at the end, other query."""
    scheme, _, rest = url.partition("://")
    authority, _, tail = rest.partition("/")
    path, mark, query = tail.partition("?")
    schemes = [scheme, {"http": "https", "https": "http"}.get(scheme, scheme)]
    hosts = [authority, authority[4:] if authority.startswith("www.") else f"www.{authority}"]
    paths = list(
        dict.fromkeys((path, *(other for near in _other_paths(path) for other in (near, *_other_paths(near)))))
    )
    queries = list(dict.fromkeys((mark + query, *_other_queries(query))))
    for form in dict.fromkeys(
        f"{one}://{host}/{way}{ask}" for ask in queries for way in paths for host in hosts for one in schemes
    ):
        normal = urls.normalise(form)
        if normal is not None and normal != url:
            yield normal


def _other_paths(path: str) -> Iterator[str]:
    folder = path.rstrip("/")
    yield folder
    yield f"{folder}/" if folder else ""
    for name in ("index.html", "index.htm", "index.php"):
        if path.endswith(f"/{name}") or path == name:
            yield path.removesuffix(name)
            yield path.removesuffix(name).rstrip("/")
    if not path or path.endswith("/"):
        yield f"{path}index.html"
    if folder.endswith((".htm", ".html")):
        yield folder.removesuffix("l") if folder.endswith("l") else f"{folder}l"
    yield path.lower()


def _other_queries(query: str) -> Iterator[str]:
    pairs = [pair for pair in query.split("&") if pair]
    if pairs:
        yield "?" + "&".join(sorted(pairs))
        yield "?" + "&".join(reversed(pairs))
        everything = UrlSettings(drop_session=True, drop_tracking=True)
        yield urls.Cleaner(everything).clean(f"http://h/?{query}").removeprefix("http://h/")
    yield ""
