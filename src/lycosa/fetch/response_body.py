"""The body of an answer as it was received goes in, its content as the author wrote it and what that tells come out."""

from __future__ import annotations

from lycosa.config.settings import LimitSettings
from lycosa.fetch.decode import decode, decode_file
from lycosa.fetch.headers import link_header
from lycosa.model import Answer, LastmodHint, Link
from lycosa.parse import Doc
from lycosa.parse.sitemap import read_time
from lycosa.urls import Resolver, host_of, url_id

LIST_HEAD = 50 << 20  # bytes of a sitemap: its protocol's own limit
TEXT_HEAD = 64 * 1024  # bytes read of a body that lies in a spool file and is not HTML


def read_content(answer: Answer, limits: LimitSettings, *, whole: bool = False) -> tuple[bytes, str]:
    """The content and what is wrong with it; of a large file that is not HTML only the beginning, unless `whole`."""
    coding = answer.headers.get("content-encoding", "")
    kind = answer.headers.get("content-type", "html").lower()
    html = "html" in kind
    if answer.spool:
        listing = (
            whole or "xml" in kind or answer.target.via == "sitemap" or answer.target.url.endswith((".xml", ".xml.gz"))
        )
        head = limits.html_bytes if html else LIST_HEAD if listing else TEXT_HEAD
        decoded = decode_file(answer.spool, coding, limit=limits.body_bytes, head=head)
    elif coding:
        decoded = decode(answer.body, coding, limit=limits.html_bytes if html else limits.body_bytes)
    else:
        return answer.body, ""
    return decoded.body, decoded.problem


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
