"""What an archive holds, listed: the newest answer of each URL, its body, what a browser made of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lycosa.archive.answer_catalogue import AnswerCatalogue
from lycosa.archive.writer import ArchiveWriter
from lycosa.model import Answer, Target


def make_answer(path: str, body: bytes, *, began: float, status: int = 200) -> Answer:
    url = f"http://a.test/{path}"
    head = b"HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n\r\n" % status
    return Answer(
        Target(1, 1, url, "a.test"), status=status, head=head, body=body, size=len(body), request=b"GET", began=began
    )


def digest(body: bytes) -> bytes:
    return hashlib.sha1(body).digest()


def test_the_newest_answer_of_each_url(tmp_path: Path) -> None:
    """In the order of their dates; not what says that nothing changed, nor what a browser asked for on the way."""
    with ArchiveWriter(tmp_path, prefix="t", max_bytes=1 << 30, software="", info={}) as archive:
        old = archive.add(make_answer("a", b"old", began=1.0), digest=digest(b"old"), mime="text/html")
        archive.add(make_answer("b", b"b", began=2.0), digest=digest(b"b"), mime="text/html")
        archive.add(make_answer("script", b"js", began=2.5), digest=digest(b"js"), mime="")
        archive.add(make_answer("gone", b"no", began=3.0, status=404), digest=digest(b"no"), mime="")
        archive.add(make_answer("a", b"new", began=4.0), digest=digest(b"new"), mime="text/html")
        copy = make_answer("copy", b"", began=5.0)
        archive.add_revisit(copy, refers_to_url="", refers_to_date=None, digest=digest(b"old"), profile="identical")
        same = make_answer("b", b"", began=6.0, status=304)
        archive.add_revisit(same, refers_to_url="", refers_to_date=None, digest=digest(b"b"), profile="not-modified")
        shell = make_answer("app", b"<div>", began=7.0)
        archive.add_conversion(shell, b"<p>made", mime="text/html", digest=digest(b"<p>made"))
        archive.add(shell, digest=digest(b"<div>"), mime="text/html")
        name, _ = archive.flush()
    catalogue = AnswerCatalogue(tmp_path, tmp_path / "records.db")
    assert catalogue.read(name) == 6
    catalogue.finish()
    catalogue.reopen()
    entries = {entry.url.rpartition("/")[2]: entry for entry in catalogue.newest()}
    assert list(entries) == ["b", "gone", "a", "copy", "app"]
    assert {path: entry.at for path, entry in entries.items()} == {"b": 2, "gone": 3, "a": 4, "copy": 5, "app": 7}
    bodies = {path: catalogue.answer(entry)[0].body_raw for path, entry in entries.items()}
    assert bodies == {"b": b"b", "gone": b"no", "a": b"new", "copy": b"old", "app": b"<div>"}
    assert catalogue.answer(entries["copy"])[1] == old
    assert {path: catalogue.rendered(entry) for path, entry in entries.items() if entry.rendered >= 0} == {
        "app": b"<p>made"
    }
    catalogue.close()
    assert not (tmp_path / "records.db").exists()


def test_what_refers_to_nothing_says_so(tmp_path: Path) -> None:
    """A copy of which the body is not in the archive has a problem, and what is no archive has no answers."""
    with ArchiveWriter(tmp_path, prefix="t", max_bytes=1 << 30, software="", info={}) as archive:
        copy = make_answer("copy", b"", began=5.0)
        archive.add_revisit(copy, refers_to_url="", refers_to_date=None, digest=digest(b"x"), profile="identical")
        name, size = archive.flush()
    (tmp_path / "rubbish").write_bytes(b"\0" * 1000)
    catalogue = AnswerCatalogue(tmp_path, tmp_path / "records.db")
    assert (catalogue.read(name), catalogue.read(name, start=size), catalogue.read("rubbish")) == (1, 0, 0)
    catalogue.finish()
    catalogue.reopen()
    (entry,) = catalogue.newest()
    assert "not in the archive" in catalogue.answer(entry)[0].problem
    catalogue.close()
