"""Forgetting: nothing of what is named is left in any file, everything else is as it was, and no kill leaves a half."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from support.crawl_runs import crawl, rows, states
from support.killed_commands import run_to_moment
from support.loopback import Reply, Web, html
from support.pdf import make_pdf

from lycosa.archive.reader import iter_records
from lycosa.cli.main import main
from lycosa.errors import UsageError
from lycosa.frontier import link_codec
from lycosa.repair.subject import ForgetSubject

PERSONS = [f"Adela Zorbulat{chr(97 + n // 10)}{chr(97 + n % 10)}" for n in range(100)]
MAIL = [f"{name.split()[1].lower()}@mail.test" for name in PERSONS]


def plant(web: Web) -> None:
    """A site of articles; each person stands in another place of it."""
    links = []
    for n, name in enumerate(PERSONS):
        first, last = name.split()
        path, page = f"/a/{n}", _article(n, f"By {first} <b>{last}</b>")
        if n % 8 == 1:
            path, page = f"/people/{first}-{last}".lower(), _article(n, "A profile")
        elif n % 8 == 2:
            pdf = make_pdf(f"Report {n}", f"written by {last}, {first}")
            path, page = f"/r/{n}.pdf", Reply(pdf, headers={"Content-Type": "application/pdf"})
        elif n % 8 == 3:
            page = _article(n, f'<a href="mailto:{MAIL[n]}">write</a>')
        elif n % 8 == 4:
            page = _article(n, "nothing", title=f"{last.upper()}, {first}")
        elif n % 8 == 5:
            page = Reply(gzip.compress(page.body), headers={**page.headers, "Content-Encoding": "gzip"})
        elif n % 8 == 6:
            page = _article(n, f"{first}&nbsp;&#90;{last[1:]}")
        elif n % 8 == 7:
            page = Reply(status=301, headers={"Location": f"/went/{first}-{last}"})
        web[f"a.test{path}"] = page
        links.append(path)
    for n in range(30):
        web[f"a.test/s/{n}"] = _article(1000 + n, "nobody")
        links.append(f"/s/{n}")
    web["a.test/"] = html(*links[100:], "/list", "/twin", title="root")
    web["a.test/list"] = html(*links[:100], title="list")
    web["a.test/twin"] = web.pages["a.test/s/3"]


def _article(n: int, text: str, *, title: str = "") -> Reply:
    words = " ".join(f"Sentence {k} of article {n} tells how the river rose and the harbour closed." for k in range(12))
    body = f"<html><head><title>{title or f'Article {n}'}</title></head><body><article><h1>News {n}</h1><p>{text}</p>"
    return Reply(f"{body}<p>{words}</p></article></body></html>".encode(), headers={"Content-Type": "text/html"})


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of records with indexes, an export and a mirror in it."""
    folder, web = tmp_path_factory.mktemp("planted") / "c", Web()
    try:
        plant(web)
        extra = ("--set", "reject=", "--set", "keep.what=everything", "--set", "log.level=1", "--workers", "1")
        crawl(web, folder, "records", "http://a.test/", *extra)
    finally:
        web.close()
    where = ("-c", str(folder))
    assert main(["health", *where]) == 0
    assert main(["search", "river", *where]) == 0
    assert main(["export", "wacz", *where, "-o", str(folder / "out/a.wacz")]) == 0
    assert main(["export", "mirror", *where, "-o", str(folder / "copy")]) == 0
    assert main(["query", *where, "SELECT count(*) FROM urls"]) == 0
    assert (folder / "records.db").exists() and rows(folder, "SELECT count(*) FROM record")[0][0] != 0
    return folder


def found_in(folder: Path, words: list[str]) -> set[str]:
    """The files in which one of some words stands, unpacked."""
    sought = [word.lower().encode() for word in words]
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in text.lower() for text in _unpacked(path) for word in sought)
    }


def _unpacked(path: Path) -> list[bytes]:
    data = path.read_bytes()
    found = [str(path).encode(), data]
    if path.name == "crawl.db":
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            found += [repr(link_codec.unpack(blob)).encode() for (blob,) in database.execute("SELECT links FROM link")]
    waiting = [data]
    while waiting:
        data = waiting.pop()
        if data[:2] == b"\x1f\x8b":
            found.append(gzip.decompress(data))
            at = -1  # bodies within it that were compressed in transit
            while (at := found[-1].find(b"\r\n\r\n\x1f\x8b\x08", at + 1)) >= 0:
                with gzip.GzipFile(fileobj=io.BytesIO(found[-1][at + 4 :])) as body:
                    found.append(body.read1(1 << 20))
                    found[-1], found[-2] = found[-2], found[-1]
        elif data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                parts = [archive.read(name) for name in archive.namelist()]
            found += parts
            waiting += parts
    return found


def records_of(folder: Path) -> dict[str, str]:
    """The digest of the bytes of every record but fillers, by its file and offset."""
    found = {}
    for path in (folder / "archive").glob("*.gz"):
        data = path.read_bytes()
        for record in iter_records(path):
            assert not record.problem and record.length
            if not record.body_raw.startswith(b"note: a record that stood here"):
                piece = data[record.offset : record.offset + record.length]
                found[f"{path.name} {record.offset}"] = hashlib.sha256(piece).hexdigest()
    return found


def forget(folder: Path, *words: str, code: int = 0) -> None:
    assert main(["forget", "-c", str(folder), *words]) == code


def everybody() -> list[str]:
    return [word for name in (*PERSONS, *MAIL) for word in ("--person", name)]


def test_a_hundred_persons(planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file names them, all other records are as they were, and the collection is in order and goes on."""
    folder = tmp_path / "c"
    shutil.copytree(planted, folder)
    lasts = [name.split()[1] for name in PERSONS]
    before, found = records_of(folder), found_in(folder, lasts)
    assert {"crawl.db", "records.db", "out/a.wacz"} <= found and len(found) > 60
    forget(folder, "--dry-run", "--format", "text", *everybody())
    assert " addresses, " in capsys.readouterr().out
    assert found_in(folder, lasts) == found
    forget(folder, *everybody())
    assert found_in(folder, lasts) == set()
    after = records_of(folder)
    assert {place: after[place] for place in before if place in after} == {
        place: digest for place, digest in before.items() if place in after
    }
    kept = states(folder)
    assert sum(state == "fetched" for state in kept.values()) >= 31
    assert sum(state == "rejected forgotten" for state in kept.values()) >= 100
    assert main(["verify", "-c", str(folder)]) == 0
    capsys.readouterr()
    assert main(["why", "-c", str(folder), f"http://a.test/people/{PERSONS[1].replace(' ', '-').lower()}"]) == 0
    assert "removed with lycosa forget" in capsys.readouterr().out
    assert rows(folder, "SELECT sum(count) FROM stat") == rows(folder, "SELECT count(*) FROM url")
    log = [json.loads(line) for line in (folder / "forgotten.jsonl").read_text().splitlines()]
    assert len(log) == 1 and log[0]["archive"][0]["kept_sha256"]


def test_they_do_not_come_back(web: Web, planted: Path, tmp_path: Path) -> None:
    """Neither a crawl nor an import nor a database that is made anew brings back what was forgotten."""
    plant(web)
    folder = tmp_path / "c"
    shutil.copytree(planted, folder)
    forget(folder, "http://a.test/s/*", "http://a.test/list")
    crawl(web, folder, "--recrawl", "--full")
    assert not [path for path in web.paths() if "/s/" in path or path.endswith("/list")]
    assert main(["import", str(planted / "out/a.wacz"), "-c", str(folder)]) == 0
    (folder / "crawl.db").unlink()
    crawl(web, folder)
    assert not [path for path in web.paths() if "/s/" in path or path.endswith("/list")]
    assert "http://a.test/s/4" not in states(folder)


def test_a_page_that_shared_its_body_keeps_it(planted: Path, tmp_path: Path) -> None:
    """What another page refers to is written for it once more; its content is the same."""
    folder = tmp_path / "c"
    shutil.copytree(planted, folder)
    asked = "SELECT url, digest, size FROM pages WHERE url IN ('http://a.test/twin', 'http://a.test/s/3')"
    pair = rows(folder, asked)
    states_before = states(folder)
    first = next(str(url) for url, *_ in pair if states_before[str(url)] == "fetched")
    forget(folder, first)
    assert rows(folder, asked) == [row for row in pair if row[0] != first]
    assert main(["verify", "-c", str(folder)]) == 0
    assert found_in(folder / "archive", [f"{first}\r"]) == set()
    assert len(states(folder)) == len(states_before)


def test_killed_at_any_moment(planted: Path, tmp_path: Path) -> None:
    """It is done or not begun when the collection is opened next."""
    words = ["--person", PERSONS[0], "http://a.test/s/*"]
    sought = [PERSONS[0].split()[1], "river rose and the harbour closed. Sentence 3 of article 1004"]
    shutil.copytree(planted, tmp_path / "0")
    code, moments = run_to_moment(0, "forget", "-c", str(tmp_path / "0"), *words)
    assert code == 0 and found_in(tmp_path / "0", sought) == set()
    whole = found_in(planted, sought)
    done = 0
    for moment in [*range(60, moments - 40, max(1, (moments - 100) // 10)), *range(moments - 40, moments, 4)]:
        folder = tmp_path / str(moment)
        shutil.copytree(planted, folder, copy_function=shutil.copy2)
        assert run_to_moment(moment, "forget", "-c", str(folder), *words)[0] == -9
        assert main(["query", "-c", str(folder), "SELECT count(*) FROM urls"]) == 0
        assert main(["verify", "-c", str(folder)]) == 0
        found = found_in(folder, sought)
        assert found in (set(), whole)
        done += not found
        assert not (folder / "unfinished").exists()
        shutil.rmtree(folder)
    assert done > 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ada Example", True),
        ("EXAMPLE,  Ada", True),
        ("mailto:ada.example@x.test", True),
        ("http://x.test/ada%20example", True),
        ("Ada&nbsp;Example's", True),
        ("\\u0041da Example", True),
        ("Canada Example", False),
        ("Ada Examples", False),
        ("Adam Example", False),
    ],
)
def test_how_a_person_is_found(text: str, named: bool) -> None:
    """In either order, whatever stands between the names, and nobody else."""
    with closing(ForgetSubject((), ("Ada Example",))) as subject:
        assert subject.is_named(text) is named


def test_wrong_use_is_told(planted: Path, tmp_path: Path) -> None:
    """What is no address, and a name that would be found everywhere."""
    forget(planted, code=2)
    forget(planted, "nonsense", code=2)
    forget(planted, "--person", "Al", code=2)
    forget(tmp_path / "none", "--person", "Ada Example", code=2)


@pytest.mark.parametrize("pattern", ["*", "**", "http*", "https://*", "*://*/*", "*/*", "*.*", "*a*"])
def test_patterns_that_mean_everything_are_refused(pattern: str) -> None:
    """One asterisk too early would take the whole collection."""
    with pytest.raises(UsageError, match="nearly every address"):
        ForgetSubject([pattern], [])
    for word in ("https://a.example/*", "*.pdf", "*://a.example/*"):
        ForgetSubject([word], []).close()
