"""TODO."""

from __future__ import annotations

from lycosa.fetch.headers import link_header
from lycosa.model import LastmodHint, Link
from lycosa.parse import Doc
from lycosa.parse.sitemap import read_time
from lycosa.urls import Resolver, host_of, url_id


def header_links(value: str) -> list[Link]:
    """Links of the HTTP Link header that a page's own <link> elements could be."""
    wanted = ("next", "prev", "alternate", "canonical")
    return [Link(href, "", "link", rel) for href, rel in link_header(value) if rel in wanted]


def find_hints(doc: Doc, resolver: Resolver, host: str) -> list[LastmodHint]:
    """What a sitemap or feed says of when its host's own pages changed."""
    hints = []
    for link, text in zip(doc.links, doc.modified, strict=False):
        modified = read_time(text) if text and link.kind != "sitemap" else None
        address = resolver.find(link.href, doc.base) if modified is not None else None
        if address is not None and modified is not None and host_of(address.url) == host:
            hints.append(LastmodHint(url_id(address.url), host, modified))
    return hints
