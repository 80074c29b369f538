"""Archives that hold XML (X14): what is in them, with safe names, within bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from lycosa.missions.xml.archives import ArchiveLimits, XmlArchive, make_safe, unpack

URL = "http://a.org/dir/x.zip"
XSD = b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"/>'


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, body in members:
            archive.writestr(name, body)
    return file.getvalue()


def tarred(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, body in members:
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return file.getvalue()


def opened(body: bytes, url: str = URL, bounds: ArchiveLimits | None = None) -> XmlArchive:
    bundle = unpack(body, url, bounds=bounds or ArchiveLimits())
    assert bundle is not None
    return bundle


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_is_opened(method: int) -> None:
    """Each member has the address of its archive and its own path; pictures are not opened."""
    bundle = opened(zipped(("a.xsd", XSD), ("dir name/é.xml", b"<a/>"), ("b.png", b"x"), ("dir/", b""), method=method))
    assert bundle.format == "zip"
    assert [(member.address, member.body) for member in bundle.members] == [
        (f"{URL}!/a.xsd", XSD),
        (f"{URL}!/dir%20name/%C3%A9.xml", b"<a/>"),
    ]
    assert (bundle.skipped, bundle.problem) == (2, "")


@pytest.mark.parametrize(
    ("body", "url", "format", "address"),
    [
        (gzip.compress(XSD), "http://a/b.xsd.gz", "gz", "http://a/b.xsd.gz!/b.xsd"),
        (gzip.compress(XSD[:20]) + gzip.compress(XSD[20:]), "http://a/b.xsd.gz", "gz", "http://a/b.xsd.gz!/b.xsd"),
        (bz2.compress(XSD), "http://a/b.xsd.bz2", "bz2", "http://a/b.xsd.bz2!/b.xsd"),
        (bz2.compress(XSD[:20]) + bz2.compress(XSD[20:]), "http://a/b.xsd.bz2", "bz2", "http://a/b.xsd.bz2!/b.xsd"),
        (bz2.compress(XSD) + b"signature", "http://a/b.xsd.bz2", "bz2", "http://a/b.xsd.bz2!/b.xsd"),
        (lzma.compress(XSD), "http://a/b.xsd.xz", "xz", "http://a/b.xsd.xz!/b.xsd"),
        (lzma.compress(XSD[:20]) + lzma.compress(XSD[20:]), "http://a/b.xsd.xz", "xz", "http://a/b.xsd.xz!/b.xsd"),
        (tarred(("d/b.xsd", XSD)), "http://a/b.tar", "tar", "http://a/b.tar!/d/b.xsd"),
        (gzip.compress(tarred(("d/b.xsd", XSD))), "http://a/b.tgz", "gz+tar", "http://a/b.tgz!/d/b.xsd"),
        (zipped(("in.zip", zipped(("b.xsd", XSD)))), "http://a/b.zip", "zip", "http://a/b.zip!/in.zip!/b.xsd"),
    ],
)
def test_other_forms_are_opened(body: bytes, url: str, format: str, address: str) -> None:
    """Gzip, bzip2, xz, tar and what they hold; archives within archives."""
    bundle = opened(body, url)
    assert bundle.format == format
    assert [(member.address, member.body, member.problem) for member in bundle.members] == [(address, XSD, "")]


def test_no_name_leads_out_of_the_archive() -> None:
    """Parents, roots, drives and control characters are taken out of names."""
    assert make_safe("../../etc/passwd.xml") == "etc/passwd.xml"
    assert make_safe("/root.xml") == "root.xml"
    assert make_safe("C:\\windows\\x.xml") == "windows/x.xml"
    assert make_safe("a\n\x00b\x1b[2J.xml") == "a__b_[2J.xml"
    assert make_safe("dir/") == ""
    bundle = opened(tarred(("../../x.xml", b"<a/>")), "http://a/b.tar")
    assert [member.address for member in bundle.members] == ["http://a/b.tar!/x.xml"]


def test_a_truncated_zip_gives_what_it_has() -> None:
    """Without its directory the members are read one after the other."""
    whole = zipped(("a.xsd", XSD), ("b.xml", b"<b>" + b"text " * 10000 + b"</b>"))
    bundle = opened(whole[:-150])
    assert bundle.members[0].body == XSD
    assert "directory" in bundle.problem


def test_archives_that_explode_are_bounded() -> None:
    """By their ratio, their bytes, their members and their depth; what came before counts."""
    bomb = zipped(("a.xsd", XSD), *((f"{n}.xml", b"<a>" + b" " * 10_000_000) for n in range(8)))
    bundle = opened(bomb)
    assert bundle.members[0].body == XSD
    assert "bytes unpacked" in bundle.problem
    assert sum(len(member.body) for member in bundle.members) <= 200 * len(bomb) + 4_000_000
    assert "bytes unpacked" in opened(gzip.compress(bytes(100_000_000)), "http://a/b.gz").problem
    assert (
        "members" in opened(zipped(*((f"{n}.xml", b"") for n in range(30))), bounds=ArchiveLimits(members=20)).problem
    )
    nested = XSD
    for _ in range(6):
        nested = gzip.compress(nested)
    assert "within archives" in opened(nested, "http://a/b.gz").problem


@pytest.mark.parametrize("squeeze", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_without_number_end(squeeze: Callable[[bytes], bytes]) -> None:
    """A file of very many streams, each of nothing, is left after some."""
    bundle = opened(squeeze(b"<a>") + squeeze(b"") * 30_000, "http://a/b.xml.gz")
    assert bundle.problem == "more than 20,000 streams"
    assert bundle.members[0].body == b"<a>"


@pytest.mark.parametrize("squeeze", [gzip.compress, lzma.compress])
def test_what_stands_before_the_damage_is_read(squeeze: Callable[[bytes], bytes]) -> None:
    """A stream that is broken in its midst gives its beginning, and the problem is told."""
    numbers = b"".join(b"<n>%d</n>" % (n * n * 7919) for n in range(20_000))
    packed = bytearray(squeeze(b"<r>" + numbers + b"</r>"))
    middle = len(packed) // 2
    packed[middle : middle + 40] = b"\xff" * 40
    bundle = opened(bytes(packed), "http://a/b.xml.gz")
    assert bundle.problem and bundle.members[0].body.startswith(b"<r><n>0</n><n>7919</n>")


def test_broken_archives_have_a_problem() -> None:
    """Whatever is wrong is told, and nothing raises."""
    for body in (
        b"PK\x03\x04" + bytes(100),
        b"PK\x05\x06" + bytes(10),
        b"\x1f\x8b\x08" + bytes(100),
        b"BZh9" + bytes(100),
        b"\xfd7zXZ\0" + bytes(100),
        bytes(257) + b"ustar" + bytes(300),
        zipped(("a.xml", b"<a/>")).replace(b"PK\x03\x04", b"PK\x03\x05"),
        b"PK\x03\x04" * 10000,
        b"PK\x01\x02" * 10000 + b"PK\x05\x06" + bytes(18),
    ):
        bundle = unpack(body, URL)
        assert bundle is None or not any(member.body for member in bundle.members)
    assert unpack(b"<a/>", URL) is None
