"""Seeds: from words, text, CSV, sitemaps and stdin, whole or as a sample."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.config.seeds import read_seeds
from lycosa.config.value_parsers import Wrong, as_url
from lycosa.errors import UsageError

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://example.org/image">
  <url><loc>
    http://a.org/?x=1&amp;y=2 </loc><i:image><i:loc>http://a.org/picture.png</i:loc></i:image></url>
  <url><lastmod>2024-01-01</lastmod><loc><![CDATA[http://b.org/]]></loc></url>
</urlset>"""


def put(folder: Path, name: str, data: bytes | str) -> str:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def refusal(*words: str, files: tuple[str, ...] = (), column: str = "") -> str:
    with pytest.raises(UsageError) as caught:
        read_seeds(words, files=files, column=column)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "http://example.org/"),
        (" Example.ORG/a b ", "http://example.org/a%20b"),
        ("example.org:8080/x", "http://example.org:8080/x"),
        ("localhost", "http://localhost/"),
        ("localhost:80", "http://localhost/"),
        ("[::1]:81", "http://[::1]:81/"),
        ("//example.org", "http://example.org/"),
        ("HTTPS://example.org/#top", "https://example.org/"),
        ("http://intranet", "http://intranet/"),
        ("http://example.org/@ana", "http://example.org/@ana"),
    ],
)
def test_what_counts_as_an_address(text: str, url: str) -> None:
    """URLs and bare hosts are normalised."""
    assert as_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "mirorr",
        "localhosts",
        "mailto:a@b.org",
        "javascript:go(1)",
        "ftp://a.org/",
        "http://",
        "http://a b/",
        "a.org:99999",
    ]
    + ["http://u:p@a.org/", "C:\\file.html", "http://a.org/" + "x" * 70_000, "file:///etc/passwd"]
    + ['"http://a.org/",', "<a.org>", "a.org,b.org", "'a.org'", "- http://a.org/"],
)
def test_what_is_no_address(text: str) -> None:
    """Other schemes, credentials, words and broken URLs are refused with what is allowed."""
    with pytest.raises(Wrong) as caught:
        as_url(text)
    assert "URL" in caught.value.allowed


def test_words_come_out_normalised_once_and_in_order() -> None:
    """Equal addresses are dropped, order stays."""
    seeds = read_seeds(["b.org", "http://a.org", "http://B.org/"])
    assert seeds.urls == ("http://b.org/", "http://a.org/")
    assert seeds.read == 3
    assert read_seeds([]).urls == ()


def test_text_lists(tmp_path: Path) -> None:
    """Comments, blank lines, a byte order mark, CRLF, UTF-8 beside Latin-1, and a last line without an end."""
    data = b"\xef\xbb\xbfa.org\r\n\r\n# no\r\n  http://a.org/#x \nb.org/caf\xc3\xa9 # note\nc.org/caf\xe9"
    assert read_seeds(files=[put(tmp_path, "s.txt", data)]).urls == (
        "http://a.org/",
        "http://b.org/caf%C3%A9",
        "http://c.org/caf%C3%A9",
    )


def test_lists_with_old_ends_of_lines(tmp_path: Path) -> None:
    """A carriage return alone ends a line too: two addresses must not become one."""
    name = put(tmp_path, "seeds.txt", b"# mine\rhttp://a.org/\rhttp://b.org/" + b"x" * 70_000 + b"\rc.org\r")
    assert "seeds.txt:3" in refusal(files=(name,))
    name = put(tmp_path, "seeds.txt", b"# mine\rhttp://a.org/\rb.org\r")
    assert read_seeds((), files=(name,)).urls == ("http://a.org/", "http://b.org/")


def test_lists_from_stdin_and_compressed(tmp_path: Path) -> None:
    """`-` is stdin; gzip is undone by content; words come first; a URL in place of a file is passed on."""
    packed = put(tmp_path, "list", gzip.compress(b"b.org\n"))
    seeds = read_seeds(["z.org"], files=["-", packed, "http://c.org/sitemap.xml"], stdin=io.BytesIO(b"a.org\n"))
    assert seeds.urls == ("http://z.org/", "http://a.org/", "http://b.org/", "http://c.org/sitemap.xml")


def test_bad_seeds_are_told_all_at_once(tmp_path: Path) -> None:
    """The first ten with file and line, and a count; secrets masked."""
    name = put(tmp_path, "s.txt", "a.org\n\nmailto:x\n" + "word\n" * 20)
    said = refusal("http://ana:hush@b.org/", files=(name,))
    assert said.startswith("22 seeds are no addresses")
    assert f"{name}:3: found 'mailto:x'" in said
    assert said.endswith("… and 12 more")
    assert len(said.splitlines()) == 12
    assert "hush" not in said
    assert refusal("word").startswith("1 seed is no address")


def test_a_list_named_as_a_seed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a file among the addresses brings the option that was meant."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "list", "a.org")
    assert "--seeds list" in refusal("list")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id,url\n1,a.org\n2,b.org\n3,\n4\n", ""),
        ("id;URL;x\n1;a.org;y\n2;b.org;z\n", ""),
        ("n\tWebsite\n1\ta.org\n2\tb.org\n", "website"),
        ('n|"the, page"\n1|a.org\n2|"b.org"\n', "the, page"),
        ("n,page\n1,a.org\n2,b.org\n", "2"),
        ("1,http://a.org\n2,http://b.org/\n", ""),
        ("1,http://a.org\n2,http://b.org/\n", "2"),
        ("place\na.org\nb.org\n", ""),
        ("a.org\nb.org\n", ""),
        ("1,a.org\n2,b.org\n", "2"),
        ("a.org,1\nb.org,2\n", "1"),
        ("2,a.org\n1,b.org\n", "2"),
        ("n,Adr.\n1,a.org\n2,b.org\n", "2"),
        ("2023,2024\nx,a.org\ny,b.org\n", "2024"),
        ("2,1\na.org,x\nb.org,y\n", "2"),
    ],
)
def test_csv_columns(tmp_path: Path, text: str, name: str) -> None:
    """The column is named, numbered or guessed; the delimiter is found; a first row of addresses is data."""
    path = put(tmp_path, "s.csv", text)
    assert read_seeds(files=[path], column=name).urls == ("http://a.org/", "http://b.org/")
    if name:
        assert read_seeds(files=[f"{path}:{name}"]).urls == ("http://a.org/", "http://b.org/")


def test_a_csv_of_hosts_with_ports_loses_none(tmp_path: Path) -> None:
    """What is an address among the seeds is one in the first row."""
    path = put(tmp_path, "s.csv", "localhost:8080\nlocalhost:8081\n")
    assert read_seeds(files=[path]).urls == ("http://localhost:8080/", "http://localhost:8081/")


def test_csv_mistakes(tmp_path: Path) -> None:
    """A column that is not there, one that cannot be guessed, and a broken file."""
    path = put(tmp_path, "s.csv", "id,page\n1,a.org\n2,word\n")
    assert "no column 'pgae' (did you mean page?); allowed: id, page" in refusal(files=(path,), column="pgae")
    assert "which column" in refusal(files=(path,))
    assert f"{path}:3: found 'word'" in refusal(files=(path,), column="page")
    assert "not valid CSV" in refusal(files=(put(tmp_path, "b.csv", 'url\n"' + "x\n" * 100_000),))
    assert read_seeds(files=[put(tmp_path, "e.csv", "")]).urls == ()


def test_sitemaps(tmp_path: Path) -> None:
    """Pages of a sitemap, plain or compressed; an index gives the sitemaps, which the crawl follows."""
    expected = ("http://a.org/?x=1&y=2", "http://b.org/")
    assert read_seeds(files=[put(tmp_path, "s.xml", SITEMAP)]).urls == expected
    assert read_seeds(files=[put(tmp_path, "s.xml.gz", gzip.compress(SITEMAP))]).urls == expected
    index = "<sitemapindex><sitemap><loc>http://a.org/1.xml</loc></sitemap></sitemapindex>"
    assert read_seeds(files=[put(tmp_path, "i.xml", index)]).urls == ("http://a.org/1.xml",)
    bad = put(tmp_path, "b.xml", "<urlset>\n<url><loc>word</loc></url></urlset>")
    assert f"{bad}:2: found 'word'" in refusal(files=(bad,))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<urlset>\n<url><loc>a.org</loc>", ":2: not well-formed XML"),
        (b"<html><body/></html>", "allowed: a sitemap"),
        (b'<!DOCTYPE u [<!ENTITY a "x">]><urlset/>', "declaration of an entity"),
        (b'<!DOCTYPE u [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset/>', "declaration of an entity"),
        (b'<?xml version="1.0" encoding="nope"?><urlset/>', "not well-formed"),
        (b"<urlset>" + b"<a>" * 100_000, "not well-formed"),
        (b"\xff\xfe<\x00", "UTF-16"),
        (gzip.compress(b"a.org\n" * 1000, mtime=0)[:40], "cannot be read"),
        (b"\x1f\x8bgarbage", "cannot be read"),
    ],
)
def test_hostile_lists_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    """Entities, truncation and garbage end in a sentence that names the file."""
    name = put(tmp_path, "s.xml", data)
    assert said in refusal(files=(name,))
    assert name in refusal(files=(name,))


def test_lists_that_are_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are told apart."""
    assert "no such file" in refusal(files=(str(tmp_path / "none.txt"),))
    assert "is a folder" in refusal(files=(str(tmp_path),))
    assert "cannot be read" in refusal(files=("\0",))


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    """N distinct addresses in the list's order, again and again; another number draws others."""
    name = put(tmp_path, "s.txt", "".join(f"h{n % 1000}.org\n" for n in range(3000)))
    first = read_seeds(files=[name], sample=50)
    assert len(first.urls) == 50
    assert first.read == 3000
    assert list(first.urls) == sorted(first.urls, key=lambda url: int(url[8:-5]))
    assert read_seeds(files=[name], sample=50) == first
    assert read_seeds(files=[name], sample=50, sample_seed=1).urls != first.urls
    assert len(read_seeds(files=[name], sample=5000).urls) == 1000
    with pytest.raises(UsageError, match="--sample: found -1"):
        read_seeds(files=[name], sample=-1)


def test_a_sample_is_uniform() -> None:
    """Over many seeds every address is drawn about equally often."""
    words = [f"h{n}.org" for n in range(20)]
    drawn = Counter(url for seed in range(2000) for url in read_seeds(words, sample=5, sample_seed=seed).urls)
    assert len(drawn) == 20
    assert min(drawn.values()) > 400 and max(drawn.values()) < 600


def test_a_sample_takes_constant_memory(tmp_path: Path) -> None:
    """The list is streamed: a list of 6 MB costs a fraction of its size."""
    name = put(tmp_path, "s.txt", "".join(f"http://www.example.org/a/long/path/{n}.html\n" for n in range(120_000)))
    read_seeds(files=[name], sample=1)
    tracemalloc.start()
    try:
        read_seeds(files=[name], sample=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600_000


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["s.txt", "s.csv", "s.xml"]))
def test_arbitrary_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    """Any file gives http(s) URLs or one sentence."""
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    try:
        assert all(url.startswith(("http://", "https://")) for url in read_seeds(files=[str(path)]).urls)
    except UsageError as error:
        assert str(path) in str(error)
