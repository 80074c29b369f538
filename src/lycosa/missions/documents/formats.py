"""Formats of documents: by their media type and bytes, and as the suffix of an address promises."""

from __future__ import annotations

from lycosa.parse import Doc

MIMES = {
    "pdf": "application/pdf",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "ppt": "application/vnd.ms-powerpoint",
    "pps": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "rtf": "application/rtf",
    "epub": "application/epub+zip",
    "ps": "application/postscript",
}
_BY_MIME = {mime: name for name, mime in MIMES.items() if name != "pps"} | {"text/rtf": "rtf"}
_SUFFIXES = frozenset(MIMES)
#: An old Office file says only that it is one; its address or announced type says which.
_OLE = "application/x-ole-storage"


def format_of(doc: Doc) -> str:
    """The format of a document; empty where it is none."""
    return "pdf" if doc.kind == "pdf" else format_by_mime(doc.mime, doc.url)


def format_by_mime(mime: str, url: str) -> str:
    """The format of what was recognised as this type at this address; empty where it is no document."""
    if found := _BY_MIME.get(mime):
        return found
    if mime == _OLE:
        suffix = format_by_suffix(url)
        return suffix if suffix in ("doc", "ppt", "pps") else "doc"
    return ""


def format_by_suffix(href: str) -> str:
    """The format that an address promises by its suffix; empty: none."""
    path = href.partition("#")[0].partition("?")[0]
    dot = path.rfind(".")
    suffix = path[dot + 1 :].lower() if dot >= 0 and len(path) - dot <= 5 else ""
    return suffix if suffix in _SUFFIXES else ""
