"""Document inspection: the kind of a document, its links, and the members of an archive.

The core asks for the kind, the links and the scores of a document in turn, so the module remembers one inspection: the
last, together with its `Doc`, which stays in memory until the next. No answer depends on it, only the time it takes.
"""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from msgspec import Struct

from lycosa.missions.xml.archives import Member, XmlArchive, unpack
from lycosa.missions.xml.kinds import Kind, recognise, recognise_doc
from lycosa.missions.xml.links import Reference, Trace, trace
from lycosa.parse import Doc


class ArchiveMember(Struct):
    """A member of an archive that belongs to the XML family."""

    member: Member
    kind: Kind
    trace: Trace


class Inspection(Struct):
    """The inspection of one document: its kind, with its links or its members."""

    kind: str  # one of kinds.NAMES, or the format of an archive that holds such documents; empty: neither
    trace: Trace | None = None  # of a document
    archive: XmlArchive | None = None  # an archive
    parts: list[ArchiveMember] = []  # its members that belong to the family

    @property
    def is_quarry(self) -> bool:
        """Whether the document is quarry; XHTML belongs to the family, but is a page like any other."""
        return self.kind not in ("", "xhtml")


_NOTHING = Inspection("")


class _LastInspection:
    """A cache of one: the document that was inspected last, and its inspection."""

    def __init__(self) -> None:
        self.known: tuple[Doc | None, Inspection] = (None, _NOTHING)


_last = _LastInspection()


def inspect(doc: Doc) -> Inspection:
    """The inspection of a document, which is read once for all calls in a row."""
    if _last.known[0] is not doc:
        _last.known = (doc, _inspect(doc))
    return _last.known[1]


def _inspect(doc: Doc) -> Inspection:
    if doc.kind == "archive" or (doc.kind == "sitemap" and doc.body[:2] == b"\x1f\x8b"):
        archive = unpack(doc.body, doc.url)
        return inspect_archive(archive, doc.url) if archive is not None else _NOTHING
    kind = recognise_doc(doc)
    if kind is None:
        return _NOTHING
    return Inspection(kind.name, trace(doc.body, doc.url, kind=kind, charset=doc.charset))


def inspect_archive(archive: XmlArchive, url: str) -> Inspection:
    """The inspection of an archive; one that holds nothing of the family is no quarry."""
    parts = []
    for member in archive.members:
        kind = recognise(member.body, url=f"http://x/{member.path}")
        if kind is not None:
            parts.append(ArchiveMember(member, kind, trace(member.body, base_of(member, url), kind=kind)))
    wanted = any(part.kind.name != "xhtml" for part in parts)
    return Inspection(archive.format if wanted else "", archive=archive, parts=parts)


def base_of(member: Member, url: str) -> str:
    """The base of the links of a member, as if the archive had been unpacked where it lies."""
    folder = url[: url.rfind("/") + 1]
    return folder + member.address.rpartition("!/")[2]


def index_members(parts: list[ArchiveMember]) -> dict[tuple[str, str], ArchiveMember]:
    """The members by the archive around each and the path in it; of two of one name, the first."""
    index: dict[tuple[str, str], ArchiveMember] = {}
    for part in parts:
        around, _, path = part.member.address.rpartition("!/")
        index.setdefault((around, unquote(path)), part)
    return index


def find_inside(
    reference: Reference, part: ArchiveMember, index: dict[tuple[str, str], ArchiveMember]
) -> ArchiveMember | None:
    """The member of the same archive that a link of a member leads to; None: it leads out of it."""
    href = unquote(reference.href.partition("#")[0].partition("?")[0].strip())
    if not href or ":" in href.partition("/")[0]:
        return None
    around, _, path = part.member.address.rpartition("!/")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(unquote(path)), href)).lstrip("/")
    return index.get((around, wanted))
