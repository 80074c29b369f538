"""Content is recognised again, also behind a server that stamps what it compresses."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lycosa.archive.record_bytes import digest_of, identity_of, is_stamped
from lycosa.model import Answer, Target

TARGET = Target(1, 1, "http://a.test/", "a.test")
TEXT = b"<p>the same words</p>" * 20


def answer(body: bytes, *, coding: str = "gzip") -> Answer:
    return Answer(TARGET, 200, body=body, headers={"content-encoding": coding} if coding else {})


def packed(text: bytes = TEXT, *, mtime: int = 0, name: str = "") -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=out, mtime=mtime) as file:
        file.write(text)
    return out.getvalue()


def test_plain_bodies_have_one_digest() -> None:
    """The usual case costs nothing more."""
    for body in (TEXT, packed(), b"", b"\x1f", b"\x1f\x8b\x08\x00"):
        assert identity_of(answer(body)) == digest_of(answer(body)) == hashlib.sha1(body).digest()


def test_time_and_name_of_a_gzip_header_do_not_count() -> None:
    """Neither seconds nor padding make a page another one; its words do."""
    alike = [packed(mtime=1), packed(mtime=2), packed(mtime=3, name="a" * 7), packed(mtime=4, name="b" * 90)]
    assert len({identity_of(answer(body)) for body in alike}) == 1
    assert len({digest_of(answer(body)) for body in alike}) == 4
    assert identity_of(answer(packed(b"other words", mtime=1))) != identity_of(answer(alike[0]))


def test_a_file_that_is_gzip_itself_is_its_bytes() -> None:
    """Without a content coding the header belongs to the document."""
    assert not is_stamped(answer(packed(mtime=1), coding=""))
    assert identity_of(answer(packed(mtime=1), coding="")) == hashlib.sha1(packed(mtime=1)).digest()


def test_a_body_in_a_file_is_its_bytes(tmp_path: Path) -> None:
    """What is large lies in a spool file."""
    (tmp_path / "spool").write_bytes(TEXT)
    assert identity_of(Answer(TARGET, spool=str(tmp_path / "spool"))) == hashlib.sha1(TEXT).digest()


@given(st.binary(max_size=60))
def test_any_header_is_survived(rest: bytes) -> None:
    """Whatever follows the magic numbers."""
    assert len(identity_of(answer(b"\x1f\x8b\x08" + rest))) == 20
