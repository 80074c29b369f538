"""The mirror: where pages wish to stand, where they stand among others, and how they get there."""

from __future__ import annotations

import itertools
import os
import re
import resource
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.errors import DiskFull, UsageError
from lycosa.export.mirror import (
    MANIFEST,
    MAX_NAME,
    MAX_PATH,
    MirrorCount,
    MirrorPlan,
    add_suffix,
    fold_path,
    path_of,
    type_of,
    write_mirror,
)

HTML = "text/html"
DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{d}{n}" for d in ("com", "lpt") for n in range(10)
}


def check_path(path: str) -> None:
    """Every part is a name that Windows, macOS and Linux can hold, and none leads elsewhere."""
    assert len(path.encode()) <= MAX_PATH + 40
    for part in path.split("/"):
        assert part
        assert len(part.encode()) <= MAX_NAME
        assert part not in (".", "..")
        assert part[0] not in ". "
        assert part[-1] not in ". "
        assert part.isprintable()
        assert not set(part) & set('<>:"\\|?*')
        assert part.partition(".")[0].rstrip(" ").lower() not in DEVICES
        assert unicodedata.is_normalized("NFC", part)


def place(*urls: str, mime: str = HTML) -> dict[str, str]:
    plan = MirrorPlan()
    for url in urls:
        plan.add(url, mime)
    return {url: path for url, path, _, _ in plan}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://www.ics.forth.gr/index.html", "www.ics.forth.gr/index.html"),
        ("http://www.ics.forth.gr/", "www.ics.forth.gr/index.html"),
        ("https://example.org/a/b.html", "example.org/a/b.html"),
        ("https://example.org/a/", "example.org/a/index.html"),
        ("https://example.org/a", "example.org/a"),
        ("https://example.org/README.TXT", "example.org/README.TXT"),
        ("http://example.org:8080/", "example.org_8080/index.html"),
        ("https://example.org:80/", "example.org_80/index.html"),
        ("http://[2001:db8::1]:81/x", "2001%3Adb8%3A%3A1_81/x"),
        ("https://ana:secret@example.org/x", "example.org/x"),
        ("https://example.org/list?page=2&sort=a", "example.org/list@page=2&sort=a"),
        ("https://example.org/?q=1", "example.org/index.html@q=1"),
        ("https://example.org/a?b=../../x", "example.org/a@b=..%2F..%2Fx"),
        ("https://example.org/a%20b/caf%C3%A9", "example.org/a b/café"),
        ("https://example.org/cafe%CC%81", "example.org/café"),
        ("https://example.org/%2e%2e/%2E%2E%2fetc", "example.org/%2E%2E/%2E.%2Fetc"),
        ("https://example.org/..%5C..%5Cx", "example.org/%2E.%5C..%5Cx"),
        ("https://example.org/C:/x", "example.org/C%3A/x"),
        ("https://example.org//x", "example.org/_/x"),
        ("https://example.org/CON/aux.txt", "example.org/%43ON/%61ux.txt"),
        ("https://nul.org/x.", "%6Eul.org/x%2E"),
        ("https://example.org/.htaccess", "example.org/%2Ehtaccess"),
        ("https://example.org/%E2%80%AEgpj.exe", "example.org/%E2%80%AEgpj.exe"),
        ("https://example.org/%FF%00", "example.org/%FF%00"),
        ("https://example.org/LONGNA~1.HTM", "example.org/LONGNA%7E1.HTM"),
        ("https://example.org/x~abcdefghijklmnop.html", "example.org/x%7Eabcdefghijklmnop.html"),
        ("", "_/index.html"),
    ],
)
def test_a_page_wishes_for_the_path_of_its_url(url: str, path: str) -> None:
    """Harmless characters are themselves; harmful ones, by nature, position or look, are spelled %XX."""
    assert path_of(url, HTML) == path
    check_path(path)


def test_a_folder_page_is_named_by_its_type() -> None:
    """What a server gives for a folder is index.html, or the like for another type."""
    assert path_of("https://example.org/feed/", "application/rss+xml") == "example.org/feed/index.rss"
    assert path_of("https://example.org/doc/", "application/pdf") == "example.org/doc/index.pdf"
    assert path_of("https://example.org/odd/", "?") == "example.org/odd/index.html"


@pytest.mark.parametrize(
    "url", ["n" * 5000, "/".join("d" * 500), "a?" + "q" * 300, "%E3%81%82" * 90, "%F0%9F%95%B7" * 99 + ".html"]
)
def test_long_names_are_cut_and_stay_apart(url: str) -> None:
    """A cut path carries the suffix of its URL, so that what was cut away still tells pages apart."""
    paths = {path_of(f"https://example.org/{url}{end}", HTML) for end in ("", "1", "2")}
    assert len(paths) == 3
    for path in paths:
        check_path(path)


@pytest.mark.parametrize("extension", [".html", ".XSD", ".tar.gz", ".warc.gz", ".json.bz2", ".gz", ""])
@pytest.mark.parametrize("letter", ["a", "é", "漢", "😀", "%20", "."])
def test_a_name_that_is_cut_keeps_its_extension(letter: str, extension: str) -> None:
    """So that it opens as what it is; whatever the letters, within the bytes that a name may have."""
    name = "x" + letter * 300 + "-y"
    paths = {path_of(f"https://e.org/{first}{name}{extension}", HTML) for first in "ab"}
    assert len(paths) == 2
    for path in paths:
        check_path(path)
        assert path.endswith(extension) and re.search(r"~[a-z2-7]{16}", path)
        assert path.partition("~")[2][16:] == extension
    assert path_of(f"https://e.org/{letter * 300}/a/b{extension}", HTML).endswith(extension)
    assert path_of("https://e.org/" + "folder/" * 200 + f"b{extension}", HTML).endswith(extension)


def test_what_is_packed_stays_so_beside_another() -> None:
    """Of two that want one place, both keep their whole extension."""
    assert {path.partition(".")[2] for path in place("https://e.org/a.tar.gz", "http://e.org/A.tar.gz").values()} == {
        "org/a.tar.gz", "org/A~" + add_suffix("", "http://e.org/A.tar.gz")[1:] + ".tar.gz",
    }  # fmt: skip


def test_pages_that_nobody_contests_stand_where_they_wish() -> None:
    """A site on one scheme, with folders, pages without extension and queries, keeps its plain names."""
    urls = [
        "https://example.org/",
        "https://example.org/a",
        "https://example.org/b/c.html",
        "https://example.org/b/?x=1",
    ]
    assert place(*urls) == {url: path_of(url, HTML) for url in urls}


def test_a_url_that_is_page_and_folder_becomes_the_folders_index() -> None:
    """`/a` beside `/a/b` stands in a/index.html, unless `/a/` has that place."""
    page, below, folder = "https://example.org/a", "https://example.org/a/b", "https://example.org/a/"
    assert place(page, below) == {page: "example.org/a/index.html", below: "example.org/a/b"}
    all_three = place(page, below, folder)
    assert all_three[folder] == "example.org/a/index.html"
    assert all_three[page] == add_suffix("example.org/a", page)
    deep = place(page, below, "https://example.org/a/index.html/c")
    assert deep[page] == add_suffix("example.org/a", page)


def test_one_of_those_that_want_one_place_gets_it() -> None:
    """https before http, a named page before its folder, then the smaller URL; the others get a suffix."""
    plain, secure = "http://example.org/x.html", "https://example.org/x.html"
    assert place(plain, secure) == {secure: "example.org/x.html", plain: add_suffix("example.org/x.html", plain)}
    root, index = "https://example.org/", "https://example.org/index.html"
    assert place(root, index) == {index: "example.org/index.html", root: add_suffix("example.org/index.html", root)}
    cases = place("https://example.org/Case", "https://example.org/case", "https://example.org/CASE")
    assert cases["https://example.org/CASE"] == "example.org/CASE"
    assert len({fold_path(path) for path in cases.values()}) == 3
    spelled = place("https://example.org/a%3Ab", "https://example.org/a:b")
    assert len(set(spelled.values())) == 2


SEGMENTS = st.one_of(
    st.sampled_from(
        ["a", "A", "b.html", "B.HTML", "index.html", "", ".", "..", "%2e%2e", "con", "x.", "x%20", "é", "%C3%A9"]
    ),
    st.text(max_size=8),
    st.sampled_from(["a~abcdefghijklmnop", "a%00", "%5C", "n" * 300, "%E3%81%82" * 80, "c:", "~1", "PROGRA~1"]),
)
URLS = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}/{'/'.join(path)}{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "H", "h:8080", "h_8080", "con", "[::1]", "u:p@h", "", "x" * 260]),
    st.lists(SEGMENTS, max_size=4),
    st.sampled_from(["", "?", "?a", "?a/b", "?A"]),
)


@settings(max_examples=150, deadline=None)
@given(urls=st.lists(URLS, max_size=12, unique=True), data=st.data())
def test_no_two_pages_share_a_place_whatever_their_order(urls: list[str], data: st.DataObject) -> None:
    """On every file system each page has a file of its own, no file is also a folder, and order does not matter."""
    placed = place(*urls)
    assert placed.keys() == set(urls)
    assert placed == place(*data.draw(st.permutations(urls)))
    keys = {fold_path(path) for path in placed.values()}
    assert len(keys) == len(urls)
    folders = {folder for key in keys for folder in itertools.accumulate(key.split("/")[:-1], "{}/{}".format)}
    assert not keys & folders
    for path in placed.values():
        check_path(path)


@given(url=st.text())
def test_any_text_gives_a_safe_path(url: str) -> None:
    """What is no URL at all still cannot name a file outside."""
    check_path(path_of(url, HTML))


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_mirror_holds_every_page(tmp_path: Path) -> None:
    """Each body is in its file, the list says which URL it is, and nothing else is left behind."""
    pages = [(f"https://example.org/{name}", HTML, name.encode()) for name in ("", "a", "a/b", "a/b/c", "A", "x?y=1")]
    count = write_mirror(iter(pages), tmp_path / "deep" / "mirror")
    assert count == MirrorCount(files=6, bytes=sum(len(body) for *_, body in pages), moved=3)
    listed = dict(line.split("\t") for line in (tmp_path / "deep/mirror" / MANIFEST).read_text().splitlines())
    files = files_of(tmp_path / "deep" / "mirror")
    assert {listed[path]: body for path, body in files.items()} == {url: body for url, _, body in pages}
    assert files["example.org/index.html"] == b""
    assert files["example.org/A/index.html"] == b"A"
    assert not (tmp_path / "deep/mirror/~parts").exists()


def test_the_last_of_two_pages_with_one_url_stays(tmp_path: Path) -> None:
    """A URL has one file, with its newest content."""
    pages = [("https://example.org/a", HTML, b"old"), ("https://example.org/a", HTML, b"new")]
    assert write_mirror(pages, tmp_path).files == 1
    assert files_of(tmp_path) == {"example.org/a": b"new"}


def test_a_second_mirror_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """Pages become folders, folders pages, pages vanish; files that no mirror listed stay."""
    write_mirror(
        [("https://e.org/a", HTML, b"1"), ("https://e.org/b/c/d", HTML, b"2"), ("https://f.org/", HTML, b"3")], tmp_path
    )
    (tmp_path / "mine.txt").write_bytes(b"mine")
    write_mirror([("https://e.org/a/b", HTML, b"4"), ("https://e.org/b", HTML, b"5")], tmp_path)
    assert files_of(tmp_path) == {"e.org/a/b": b"4", "e.org/b": b"5", "mine.txt": b"mine"}
    assert not (tmp_path / "f.org").exists()


@pytest.mark.parametrize("name", ["e.org/folder", "e.org/x", "f.org", MANIFEST])
def test_links_in_the_folder_lead_nowhere(name: str, tmp_path: Path) -> None:
    """A symbolic link in the place of a folder, a file or the list is somebody's: it stays, and so does its target."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"precious")
    mirror = tmp_path / "mirror"
    (mirror / "e.org").mkdir(parents=True)
    (mirror / name).symlink_to(outside / "x" if name in ("e.org/x", MANIFEST) else outside)
    pages = [(f"https://{path}", HTML, b"new") for path in ("e.org/folder/x", "e.org/x", "f.org/x")]
    with pytest.raises(UsageError, match=f"holds {name}, which no export wrote"):
        write_mirror(pages, mirror)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"x": b"precious"}
    assert (mirror / name).is_symlink()
    assert [path for path in mirror.rglob("*") if path.name not in ("e.org", Path(name).name)] == []


def test_a_forged_list_removes_nothing_outside(tmp_path: Path) -> None:
    """The list of an earlier mirror names files to remove; only files inside are removed."""
    (tmp_path / "precious").write_bytes(b"1")
    mirror = tmp_path / "mirror"
    (mirror / "e.org").mkdir(parents=True)
    (mirror / "e.org" / "up").symlink_to(tmp_path)
    (mirror / MANIFEST).write_text(f"../precious\tx\n{tmp_path}/precious\tx\ne.org/up/precious\tx\n\0\tx\n")
    write_mirror([("https://e.org/a", HTML, b"1")], mirror)
    assert (tmp_path / "precious").read_bytes() == b"1"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A full disk and a file in the folder's place end in one sentence, and no parts stay behind."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(DiskFull, match="no room"):
            write_mirror([("https://e.org/a", HTML, os.urandom(200_000))], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="is a file"):
        write_mirror([], tmp_path / "file")
    (tmp_path / "e.org" / "a" / "mine").mkdir(parents=True)
    with pytest.raises(UsageError, match="holds e.org/a/mine, which no export wrote"):
        write_mirror([("https://e.org/a", HTML, b"x")], tmp_path)


@pytest.mark.parametrize(
    ("mime", "url", "kind"),
    [
        ("text/html; charset=utf-8", "http://e.org/a.pdf", "html"),
        ("application/xhtml+xml", "", "html"),
        ("", "http://e.org/a.htm", "html"),
        ("", "http://e.org/a.HTML?x=.pdf", "html"),
        ("application/octet-stream", "http://e.org/a.pdf", "pdf"),
        ("application/pdf", "http://e.org/a", "pdf"),
        ("application/vnd.ogc.wms+xml", "", "xml"),
        ("image/png", "", "png"),
        ("image/jpeg", "", "jpg"),
        ("", "http://e.org/", "-"),
        ("", "http://e.org", "-"),
        ("", "http://e.org/.x", "-"),
        ('" \n', "http://e.org/x.tar.gz#y", "gz"),
        ("weird/thing", "http://e.org/x", "-"),
    ],
)
def test_the_type_is_that_of_the_header_then_of_the_name(mime: str, url: str, kind: str) -> None:
    """One short word; .htm and .html alike are html."""
    assert type_of(mime, url) == kind
