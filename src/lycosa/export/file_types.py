"""File types: one short word (html, pdf, xml…) for a media type and a URL."""

from __future__ import annotations

import re

_BY_MIME = {
    "application/atom+xml": "atom",
    "application/epub+zip": "epub",
    "application/gzip": "gz",
    "application/javascript": "js",
    "application/json": "json",
    "application/ld+json": "jsonld",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rdf+xml": "rdf",
    "application/rss+xml": "rss",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-gzip": "gz",
    "application/x-javascript": "js",
    "application/x-pdf": "pdf",
    "application/x-tar": "tar",
    "application/xhtml+xml": "html",
    "application/xml": "xml",
    "application/xml-dtd": "dtd",
    "application/xslt+xml": "xsl",
    "application/zip": "zip",
    "image/jpeg": "jpg",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/vnd.microsoft.icon": "ico",
    "image/x-icon": "ico",
    "text/calendar": "ics",
    "text/html": "html",
    "text/javascript": "js",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/tab-separated-values": "tsv",
    "text/xml": "xml",
}
#: Types that say nothing: servers send them for whatever they do not know.
_MUTE = frozenset(("application/octet-stream", "application/x-download", "application/force-download", "*/*"))
_BY_NAME = {"htm": "html", "xhtml": "html", "shtml": "html", "jpeg": "jpg", "tiff": "tif", "text": "txt", "xslt": "xsl"}
_EXTENSION = re.compile(r"^[^/?#]*//[^/?#]*/(?:[^?#]*/)?[^/?#]*[^/?#.]\.([A-Za-z0-9]{1,8})(?:[?#]|$)")
_SUBTYPE = re.compile(r"(?:x-)?([a-z0-9]{1,12})")


def type_of(mime: str, url: str) -> str:
    """The type of a page: from its media type or else from the name in its URL; `-` when neither says."""
    essence = mime.partition(";")[0].strip().lower()
    if essence and essence not in _MUTE:
        known = _BY_MIME.get(essence)
        if known:
            return known
        kind, _, subtype = essence.partition("/")
        for suffix in ("xml", "json", "zip"):
            if subtype.endswith("+" + suffix):
                return suffix
        plain = _SUBTYPE.fullmatch(subtype)
        if plain and kind in ("text", "image", "audio", "video", "font", "application"):
            return plain[1]
    named = _EXTENSION.match(url)
    if named is None:
        return "-"
    extension = named[1].lower()
    return _BY_NAME.get(extension, extension)
