"""Formats of documents: by their media type and bytes, and as the suffix of an address promises."""

from __future__ import annotations

from lycosa.parse import Doc

_BY_MIME = {
    "application/msword": "doc",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
    "application/epub+zip": "epub",
    "application/postscript": "ps",
}
_SUFFIXES = frozenset({"pdf", "doc", "docx", "ppt", "pptx", "pps", "odt", "odp", "rtf", "epub", "ps"})
#: An old Office file says only that it is one; its address or announced type says which.
_OLE = "application/x-ole-storage"


def format_of(doc: Doc) -> str:
    """The format of a document; empty where it is none."""
    if doc.kind == "pdf":
        return "pdf"
    if found := _BY_MIME.get(doc.mime):
        return found
    if doc.mime == _OLE:
        suffix = format_by_suffix(doc.url)
        return suffix if suffix in ("doc", "ppt", "pps") else "doc"
    return ""


def format_by_suffix(href: str) -> str:
    """The format that an address promises by its suffix; empty: none."""
    path = href.partition("#")[0].partition("?")[0]
    dot = path.rfind(".")
    suffix = path[dot + 1 :].lower() if dot >= 0 and len(path) - dot <= 5 else ""
    return suffix if suffix in _SUFFIXES else ""
