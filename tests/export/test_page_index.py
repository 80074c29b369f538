"""The index file: the form of its lines, and that it gives back what was written."""

from __future__ import annotations

import hashlib
import io
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.crawl_runs import command, crawl
from support.loopback import Reply, Web, html

from lycosa.errors import CollectionError, UsageError
from lycosa.export.files import IndexEntry, date_of, format_entry, read_index, write_index

URL = "https://example.org/"
MD5 = hashlib.md5(URL.encode()).hexdigest()


def test_a_page_is_one_line_and_each_link_another(tmp_path: Path) -> None:
    """The fields stand in their order, separated by spaces; links are behind a tab and an @."""
    entry = IndexEntry(
        url=URL,
        original="HTTPS://Example.org",
        title="Wolf spiders",
        encoding="utf-8",
        type="html",
        last_modified=date_of("Sat, 31 Jan 2026 12:00:00 GMT"),
        server_date=date_of("Sunday, 01-Feb-26 00:00:00 GMT"),
        links=[("https://example.org/a", "Habitat"), ("https://example.org/b", "")],
    )
    assert write_index([entry], tmp_path / "index.txt") == 1
    assert (tmp_path / "index.txt").read_text() == (
        f'{MD5} https://example.org/ HTTPS://Example.org "Wolf spiders" utf-8 html '
        "2026-01-31T12:00:00Z 2026-02-01T00:00:00Z\n"
        '\t@https://example.org/a "Habitat"\n'
        '\t@https://example.org/b ""\n'
    )
    assert list(read_index(tmp_path / "index.txt")) == [entry]


def test_what_is_missing_is_a_dash() -> None:
    """Encoding, type and dates that nobody gave are `-`, a title that nobody gave is empty."""
    assert format_entry(IndexEntry(URL, URL)) == f'{MD5} {URL} {URL} "" - - - -\n'


def test_texts_stay_on_their_line() -> None:
    """Quotes, backslashes, line breaks, tabs and other control characters are escaped."""
    entry = IndexEntry(URL, "a b\n", 'She said "hi"\\\r\n\tand\x00left\u2028', links=[(URL, 'x"\n\t@y "z')])
    first, second, end = format_entry(entry).split("\n")
    assert first == rf'{MD5} {URL} a\sb\n "She said \"hi\"\\\r\n\tand\u0000left\u2028" - - - -'
    assert second == rf'	@{URL} "x\"\n\t@y \"z"'
    assert end == ""


TEXTS = st.one_of(
    st.text(st.characters(), max_size=12), st.sampled_from(["-", "\\-", "\\", '"', '" "', "\ud800", "\\u0041"])
)
ENTRIES = st.builds(
    IndexEntry,
    url=TEXTS,
    original=TEXTS,
    title=TEXTS,
    encoding=TEXTS,
    type=TEXTS,
    last_modified=TEXTS,
    server_date=TEXTS,
    links=st.lists(st.tuples(TEXTS, TEXTS), max_size=4),
)


@settings(max_examples=200, deadline=None)
@given(entries=st.lists(ENTRIES, max_size=5))
def test_an_index_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, entries: list[IndexEntry]
) -> None:
    """Whatever stands in titles, anchors and addresses, the file parses back to the same data."""
    path = tmp_path_factory.mktemp("index") / "index.txt"
    assert write_index(iter(entries), path) == len(entries)
    assert list(read_index(path)) == entries
    assert len(path.read_bytes().split(b"\n")) == 1 + sum(1 + len(entry.links) for entry in entries)
    assert len(path.read_text("utf-8").splitlines()) == sum(1 + len(entry.links) for entry in entries)


def test_an_index_can_go_down_a_pipe() -> None:
    """A stream gets the same lines as a file."""
    out = io.StringIO()
    assert write_index([IndexEntry(URL, URL)], out) == 1
    assert out.getvalue() == format_entry(IndexEntry(URL, URL))


@pytest.mark.parametrize(
    "line",
    [
        "junk\n",
        "\n",
        f'\t@{URL} "link before any page"\n',
        f'{MD5} {URL} {URL} "" - - -\n',
        f'{"0" * 32} {URL} {URL} "" - - - -\n',
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    """The message gives file and line number."""
    path = tmp_path / "index.txt"
    path.write_text(line)
    with pytest.raises(CollectionError, match=r"index\.txt, line 1: "):
        list(read_index(path))


def test_an_index_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """One sentence, and no half of a file."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        write_index([IndexEntry(URL, URL)], tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("header", "date"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 +0200", "1994-11-06T06:49:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 -0000", "1994-11-06T08:49:37Z"),
        ("", ""),
        ("yesterday", ""),
        ("Sun, 99 Nov 1994 08:49:37 GMT", ""),
        ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", ""),
        ("Fri, 31 Dec 9999 23:59:59 -2300", ""),
        ("0", ""),
        ("\x00" * 5000, ""),
    ],
)
def test_dates_are_iso_8601_or_missing(header: str, date: str) -> None:
    """Every form that HTTP allows is read; what is no date is missing."""
    assert date_of(header) == date


@given(header=st.text(max_size=40))
def test_no_date_raises(header: str) -> None:
    """Whatever a server sends, the answer is a date or nothing."""
    assert date_of(header) == "" or date_of(header).endswith("Z")


def test_links_lead_to_entries(web: Web, tmp_path: Path) -> None:
    """A link that was redirected stands for where it led; one that robots.txt forbids is not listed as accepted."""
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /private")
    web["a.test/"] = html("/old", "/private", "/new")
    web["a.test/old"] = Reply(status=301, headers={"Location": "/older"})
    web["a.test/older"] = Reply(status=302, headers={"Location": "/new"})
    web["a.test/new"] = html(text="here it is")
    crawl(web, tmp_path / "c", "http://a.test/", "--index", str(tmp_path / "index.txt"))
    entries = {entry.url: entry.links for entry in read_index(tmp_path / "index.txt")}
    assert entries["http://a.test/"] == [("http://a.test/new", "to /old"), ("http://a.test/new", "to /new")]


def test_a_crawl_that_is_interrupted_says_how_mirror_and_index_are_written(web: Web, tmp_path: Path) -> None:
    """The commands are those that write them."""
    folder, index = tmp_path / "c", tmp_path / "index.txt"
    web["a.test/"] = html("/slow")
    web["a.test/slow"] = Reply(b"", delay_s=5)
    words = command(web, folder, "http://a.test/", "--index", str(index), "--mirror", str(tmp_path / "m"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        while "a.test/slow" not in web.paths() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert f"The mirror is not written: lycosa export mirror -c {folder} -o {tmp_path / 'm'} does it." in said
    told = re.search(r"lycosa (export index .*) does it", said)
    assert told is not None
    subprocess.run([sys.executable, "-m", "lycosa", *told[1].split()], check=True, timeout=60)
    assert "http://a.test/" in [entry.url for entry in read_index(index)]
