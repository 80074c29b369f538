"""Sitemaps and feeds of every form and quality."""

from __future__ import annotations

import gzip

import pytest

from lycosa.model import Link
from lycosa.parse import read, read_sitemap
from lycosa.parse.sitemap import read_time

URL = "http://example.org/sitemap.xml"
OPEN = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def _hrefs(text: str) -> list[str]:
    return [link.href for link in read_sitemap(text.encode()).links]


def test_urlset() -> None:
    """Each loc is a link, white space around it dropped, its lastmod kept beside it."""
    result = read_sitemap(
        (
            f"{OPEN}<url><loc>\n http://e.org/?a=1&amp;b=2 </loc><lastmod>2024-05-06</lastmod></url>"
            "<url><loc><![CDATA[http://e.org/2]]></loc><priority>0.5</priority></url></urlset>"
        ).encode()
    )
    assert result.links == [Link("http://e.org/?a=1&b=2"), Link("http://e.org/2")]
    assert result.modified == ["2024-05-06", ""]
    assert result.problem == ""


def test_index() -> None:
    """The children of an index are sitemaps; an address without loc is found too."""
    result = read_sitemap(
        b"<sitemapindex><sitemap><loc>http://e.org/1.xml</loc></sitemap><sitemap> http://e.org/2.xml </sitemap>"
        b"<sitemap>words</sitemap></sitemapindex>"
    )
    assert result.links == [Link("http://e.org/1.xml", kind="sitemap"), Link("http://e.org/2.xml", kind="sitemap")]


def test_namespaces_do_not_matter() -> None:
    """Prefixed, wrong, undeclared and missing namespaces give the same."""
    assert _hrefs("<s:urlset xmlns:s='x'><s:url><s:loc>http://e.org/1</s:loc></s:url></s:urlset>") == ["http://e.org/1"]
    assert _hrefs("<s:urlset><s:url><s:loc>http://e.org/1</s:loc></s:url></s:urlset>") == ["http://e.org/1"]
    assert _hrefs("<urlset xmlns='wrong'><url><loc>http://e.org/1</loc></url></urlset>") == ["http://e.org/1"]


def test_extensions() -> None:
    """Pictures and videos of a page are no links, the same page in another language is one."""
    result = read_sitemap(
        f"{OPEN}<url><loc>http://e.org/1</loc><image:image><image:loc>http://e.org/p.jpg</image:loc></image:image>"
        "<xhtml:link rel='alternate' hreflang='de' href='http://e.org/de'/></url></urlset>".encode()
    )
    assert result.links == [Link("http://e.org/1"), Link("http://e.org/de", kind="link", rel="alternate")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{OPEN}<url><loc>http://e.org/1</loc></url><url><lo", 1),
        (f"{OPEN}<url><loc>http://e.org/1</loc></url><url><loc>http://e.org/2</loc>", 2),
        (f"{OPEN}<url><loc>http://e.org/?a&b</loc></url><url><loc>http://e.org/2</loc></url></urlset>", 2),
        (f"{OPEN}<url><loc>http://e.org/1</loc><x y=1></url><url><loc>http://e.org/2</loc></url></urlset>", 2),
        (f"junk {OPEN}<url><loc>http://e.org/1</loc></url></urlset>", 0),
        (f"\n\n{OPEN}<url><loc>http://e.org/1</loc></url></urlset>", 1),
        (f"\ufeff{OPEN}<url><loc>http://e.org/1</loc></url></urlset> more <", 1),
    ],
)
def test_broken_sitemaps(text: str, expected: int) -> None:
    """What is wrong costs at most the entry it is in."""
    assert len(_hrefs(text)) == expected


def test_parameters_behind_a_bare_ampersand() -> None:
    """What only begins like a symbol (&section=, &copy=) is a parameter; what ends in a semicolon is expanded."""
    hrefs = ["http://a/?id=1&section=2&region=3", "http://a/?b&copy=1&lt=2&section;&nosuch;"]
    text = "<urlset>" + "".join(f"<url><loc>{href}</loc></url>" for href in hrefs)
    text += "<url><loc>http://a/?b&amp;c&#38;d&#x26;e&eacute;</loc><x:link href='http://a/?b&region=1&amp;c'/></url></urlset>"
    found = [link.href for link in read_sitemap(text.encode()).links]
    assert found == [*hrefs, "http://a/?b&c&d&eé", "http://a/?b&region=1&c"]
    feed = "<rss><channel><item><link>http://a/?id=1&timestamp=2</link></item></channel></rss>"
    assert [link.href for link in read_sitemap(feed.encode()).links] == ["http://a/?id=1&timestamp=2"]


def test_broken_entry_is_read_once() -> None:
    """The entry in which the XML breaks is neither lost nor doubled, and the damage is said."""
    result = read_sitemap(
        f"{OPEN}<url><loc>http://e.org/1</loc></url><url><loc>http://e.org/?a=1&b=2</loc></url></urlset>".encode()
    )
    assert [link.href for link in result.links] == ["http://e.org/1", "http://e.org/?a=1&b=2"]
    assert result.problem.startswith("xml: not well-formed")


def test_entities_are_refused() -> None:
    """A sitemap that declares entities is read without them, and that is said."""
    result = read_sitemap(
        b"<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
        b"<urlset><url><loc>http://e.org/&b;</loc></url></urlset>"
    )
    assert result.problem == "xml: entity declarations refused"
    assert [link.href for link in result.links] == ["http://e.org/&b;"]


def test_limit() -> None:
    """No more addresses are taken than allowed, and that is said."""
    entries = "".join(f"<url><loc>http://e.org/{i}</loc></url>" for i in range(20))
    result = read_sitemap(f"{OPEN}{entries}</urlset>".encode(), max_urls=10)
    assert (len(result.links), result.problem) == (10, "sitemap: only the first 10 addresses are taken")


def test_text_sitemap() -> None:
    """A list of addresses, with a mark and rubbish in it."""
    result = read_sitemap("\ufeffhttp://e.org/1\r\nHTTPS://e.org/2 \n\nnot one\nftp://e.org/3\n".encode())
    assert [link.href for link in result.links] == ["http://e.org/1", "HTTPS://e.org/2"]
    assert result.problem == "sitemap: 2 lines are no addresses"
    assert _hrefs("http://e.org/1") == ["http://e.org/1"]


def test_other_encodings() -> None:
    """UTF-16 and declared encodings are understood."""
    text = "<?xml version='1.0' encoding='{}'?><urlset><url><loc>http://e.org/é</loc></url></urlset>"
    for encoding in ("utf-16", "iso-8859-1", "utf-8"):
        result = read_sitemap(text.format(encoding).encode(encoding))
        assert [link.href for link in result.links] == ["http://e.org/é"]


def test_gzip() -> None:
    """Compressed sitemaps are inflated, several members too, up to a bound; damage keeps what came before."""
    body = f"{OPEN}<url><loc>http://e.org/1</loc></url></urlset>".encode()
    packed = gzip.compress(body[:50]) + gzip.compress(body[50:])
    assert read_sitemap(packed).links == [Link("http://e.org/1")]
    cut = read_sitemap(gzip.compress(body * 1)[:-9])
    assert cut.problem.startswith("gzip:")
    bomb = read_sitemap(gzip.compress(bytes(51 << 20), 1))
    assert (bomb.links, bomb.problem) == ([], "gzip: more than 52428800 bytes")


@pytest.mark.parametrize(
    "body", [b"<html><a href=x>y</a></html>", b"%PDF-1.4", b"\0\1\2", b'{"a":1}', b"<r xmlns='x'/>"]
)
def test_what_is_no_sitemap(body: bytes) -> None:
    """Other documents give no addresses and say what they are."""
    result = read_sitemap(body)
    assert (result.links, result.problem[:14]) == ([], "sitemap: it is")


def test_rss() -> None:
    """Entries give their link with the title as anchor text, enclosures, or a guid when there is no link."""
    doc = read(
        URL,
        {"content-type": "text/xml"},
        b"<rss version='2.0'><channel><title> News\n of it </title><link>http://e.org/</link>"
        b"<item><title>One</title><link>http://e.org/1</link><guid>http://e.org/g</guid>"
        b"<enclosure url='http://e.org/1.pdf'/><pubDate>Mon</pubDate></item>"
        b"<item><guid isPermaLink='false'>http://e.org/2</guid><source><link>http://no/</link></source></item>"
        b"<item><guid>tag:x</guid></item></channel></rss>",
    )
    assert (doc.kind, doc.title) == ("feed", "News of it")
    assert doc.links == [
        Link("http://e.org/", rel="alternate"),
        Link("http://e.org/1", "One", rel="alternate"),
        Link("http://e.org/1.pdf", "One", rel="enclosure"),
        Link("http://e.org/2", rel="alternate"),
    ]


def test_atom() -> None:
    """Atom links count by their relation; those to the feed's own machinery do not."""
    doc = read(
        URL,
        {"content-type": "application/atom+xml"},
        b"<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><link rel='self' href='/feed'/><link href='/'/>"
        b"<entry><link rel='edit' href='/e'/><link href='/1'/><title>One</title><content src='/c'/>"
        b"<content type='xhtml'><div><link href='/no'/><title>no</title></div></content></entry></feed>",
    )
    assert [(link.href, link.text, link.rel) for link in doc.links] == [
        ("/", "", "alternate"),
        ("/1", "One", "alternate"),
        ("/c", "One", "content"),
    ]


@pytest.mark.parametrize("broken", ["", "<i>&x;</b>"])
def test_bases_of_feeds(broken: str) -> None:
    """xml:base of the feed, of an entry and of a link count one below the other, also behind an error in the feed."""
    text = (
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.example/blog/'><link rel='next' href='2.xml'/>"
        f"<entry xml:base='2024/'><link href='1.html'/><content xml:base='x/' src='c'/></entry>{broken}"
        "<entry><title/><link href='/2.html'/></entry><entry xml:base='http://[bad'><link href='http://c/'/></entry></feed>"
    )
    links = read(URL, {"content-type": "application/atom+xml"}, text.encode()).links
    assert [link.href for link in links] == [
        "http://b.example/blog/2.xml", "http://b.example/blog/2024/1.html", "http://b.example/blog/2024/x/c",
        "http://b.example/2.html", "http://c/",
    ]  # fmt: skip
    relative = (
        b"<rss xml:base='/blog/'><channel><item xml:base=''><link>1.html</link><enclosure/></item></channel></rss>"
    )
    assert [link.href for link in read(URL, {}, relative).links] == ["/blog/1.html"]


def test_feed_with_html_entities() -> None:
    """Undeclared entities and bare ampersands do not end a feed."""
    doc = read(
        URL,
        {},
        b"<rss><channel><title>A&nbsp;B</title><item><title>C &copy; D</title><link>http://e.org/?a&b</link></item>"
        b"<item><link>http://e.org/2</link></item></channel></rss>",
    )
    assert [link.href for link in doc.links] == ["http://e.org/?a&b", "http://e.org/2"]
    assert (doc.title, doc.links[0].text) == ("A B", "C © D")
    assert doc.problem.startswith("xml:")


@pytest.mark.parametrize(
    "tail",
    [
        "<url><loc>" * 60_000,
        "<![CDATA[" * 100_000,
        "<!--" * 100_000,
        "&<a " + "a" * 500_000,
        "&<a " + "a=" * 300_000 + ">",
    ],
    ids=["open", "cdata", "comments", "tag", "attributes"],
)
def test_hostile_sitemaps_end(tail: str) -> None:
    """Markup that never closes costs time in proportion to its length."""
    result = read_sitemap(f"{OPEN}<url><loc>http://e.org/1</loc></url>{tail}".encode())
    assert result.links[0].href == "http://e.org/1"


def test_dates_are_read_in_the_forms_that_there_are() -> None:
    """W3C dates of any precision, those of mail, and nothing for what is no date."""
    for text in ("2024-03-05", "2024-03-05T00:00:00Z", "2024-03-05T01:00+01:00", "Tue, 05 Mar 2024 00:00:00 GMT"):
        assert read_time(text) == 1_709_596_800.0
    for text in ("", "yesterday", "2024-13-45", "0000-00-00T00:00:00", "9" * 10_000, "Tue, 99 Foo 2024", "\0"):
        assert read_time(text) is None
