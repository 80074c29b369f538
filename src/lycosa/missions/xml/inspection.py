"""What a document is to this mission: a `Doc` flows in; its kind, its links and the members of an archive flow out.

The crawl asks for the kind and for the links in turn, so the last answer is remembered.
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
    """A member of an archive that belongs to the family."""

    member: Member
    kind: Kind
    trace: Trace


class Inspection(Struct):
    """All that one document tells."""

    kind: str  # one of kinds.NAMES, or the format of an archive that holds such documents; empty: neither
    trace: Trace | None = None  # of a document
    bundle: XmlArchive | None = None  # an archive
    parts: list[ArchiveMember] = []  # its members that belong to the family

    @property
    def is_quarry(self) -> bool:
        """XHTML belongs to the family, and is a page like any other."""
        return self.kind not in ("", "xhtml")


_NOTHING = Inspection("")
_last: tuple[Doc | None, Inspection] = (None, _NOTHING)


def survey(doc: Doc) -> Inspection:
    """Read a document once, however often it is asked for."""
    global _last  # noqa: PLW0603  a memory of one
    if doc.kind == "html":
        return _NOTHING
    if _last[0] is not doc:
        _last = (doc, _survey(doc))
    return _last[1]


def _survey(doc: Doc) -> Inspection:
    if doc.kind == "archive" or (doc.kind == "sitemap" and doc.body[:2] == b"\x1f\x8b"):
        bundle = unpack(doc.body, doc.url)
        return survey_bundle(bundle, doc.url) if bundle is not None else _NOTHING
    kind = recognise_doc(doc)
    if kind is None:
        return _NOTHING
    return Inspection(kind.name, trace(doc.body, doc.url, kind=kind, charset=doc.charset))


def survey_bundle(bundle: XmlArchive, url: str) -> Inspection:
    """What an archive holds of the family; an archive without any is no quarry."""
    parts = []
    for member in bundle.members:
        kind = recognise(member.body, url=f"http://x/{member.path}")
        if kind is not None:
            parts.append(ArchiveMember(member, kind, trace(member.body, base_of(member, url), kind=kind)))
    wanted = any(part.kind.name != "xhtml" for part in parts)
    return Inspection(bundle.format if wanted else "", bundle=bundle, parts=parts)


def base_of(member: Member, url: str) -> str:
    """What the links of a member are relative to: the archive, as if it had been unpacked where it lies."""
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
