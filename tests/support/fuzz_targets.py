"""What is fed with damaged input: for each reader of foreign data a few whole inputs to damage, words that mean much
to it, and a function that reads one input wholly. Whatever the function raises beyond the declared errors is a fault.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import brotli
import zstandard

from lycosa import urls
from lycosa.archive.reader import iter_records, read_record
from lycosa.config.loading import load
from lycosa.config.seeds import read_seeds
from lycosa.config.setting_docs import describe
from lycosa.config.settings import Mission, UrlSettings
from lycosa.config.toml import to_toml
from lycosa.errors import LycosaError
from lycosa.export.files import read_index
from lycosa.export.mirror import path_of
from lycosa.fetch import decode, headers
from lycosa.fetch.robots import Robots
from lycosa.judge.admission.rules import Rules
from lycosa.parse import charset, doc, link_lists, read
from lycosa.parse.doc import parse_robots_header
from lycosa.parse.html import parse_refresh

PAGE = "http://a.test/dir/page.html?x=1"
LIMIT = 1 << 20  # bytes that a decoder may give


@dataclass
class FuzzTarget:
    """One reader of foreign data."""

    feed: Callable[[bytes, random.Random, Path], object]
    fixtures: list[bytes]
    words: list[bytes] = field(default_factory=list)  # spliced in whole
    openers: list[bytes] = field(default_factory=list)  # repeated: what nests, or what a bad reader takes for nesting


# Addresses


_CLEANER = urls.Cleaner(UrlSettings(drop_session=True, drop_tracking=True, sort_query=True, drop=("x",)))


def feed_url(data: bytes, chance: random.Random, _folder: Path) -> None:
    text = data.decode("latin-1" if chance.random() < 0.3 else "utf-8", "surrogateescape")
    for base in (None, PAGE):
        url = urls.normalise(text, base)
        if url is None:
            continue
        assert urls.normalise(url) == url, f"{url!r} changes when it is normalised again"
        host = urls.host_of(url)
        urls.origin_of(url), urls.url_id(url), urls.file_name(url), urls.registered_domain(host)
        clean = _CLEANER.clean(url)
        assert _CLEANER.clean(clean) == clean, f"{clean!r} changes when it is cleaned again"
        path = path_of(url, "text/html")
        assert ".." not in path.split("/") and not path.startswith("/"), path
        rules = Rules(Mission(scope="free"), [])
        assert rules.judge(url, depth=1, host=host).ok == all(v.ok for _, v in rules.explain(url, depth=1, host=host))
    assert urls.Resolver().resolve(text, PAGE) in (urls.normalise(text, PAGE), None)


URL = FuzzTarget(
    feed_url,
    [
        b"http://www.example.org/a/b.html?x=1&y=2#z", b"https://[2001:db8::1]:8443/%7Euser/%E2%82%AC/../x",
        b"//cdn.example.org/x.js;jsessionid=0123456789ABCDEF?sid=12ab34cd56ef",
        b"../../index.php?year=2024&month=3&day=4", b"http://xn--bcher-kva.example/",
        "http://b\u00fccher.example/\u00e9t\u00e9?q=\u20ac".encode(),
        b"http://0x7f.1/", b"HTTP:\\\\user:pw@EXAMPLE.com.:80\\a\\..\\b", b"http://a.test/2024/03/04/?view=day",
        b"mailto:a@b.test", b"ftp://a.test:21/x",
        b"?q=" + b"%41" * 20,
        b"/a/a/a/a/b/b/b/b", b"http://a.b.c.d.e.f.example.co.uk/",
    ],
    [b"%", b"%25", b"@", b"//", b"\\", b":", b"[", b"]", b"#", b"?", b"xn--", b"..", b"%2e%2e", b"\xef\xbc\x8f", b"\t"],
    [b"../", b"/a", b"%25", b"a.", b"&a=b", b"[", b"xn--a", b";x=", b"\xcc\x81", b"2024/"],
)  # fmt: skip


def feed_robots(data: bytes, chance: random.Random, _folder: Path) -> None:
    robots = Robots.parse(data)
    for agent in ("lycosa", "*", "Bot-" * 50):
        for url in (PAGE, "http://a.test/", "http://a.test/" + "a/" * chance.randrange(200) + "x?" + "y" * 50):
            robots.allows(url, agent), robots.explain(url, agent)
        robots.crawl_delay(agent)
    assert all(isinstance(line, str) for line in robots.sitemaps)


ROBOTS = FuzzTarget(
    feed_robots,
    [
        b"User-agent: *\nDisallow: /private/\nAllow: /private/x$\nCrawl-delay: 2.5\nSitemap: http://a.test/s.xml\n",
        b"\xef\xbb\xbfUser-Agent: lycosa\r\nUser-agent: Other/1.0\r\nDisallow: /*?*sid=*$\r\n\r\nUser-agent:*",
        b"# c\nuser-agent : lycosa # me\ndisallow : /a*b*c*d$\nnoindex: /x\nHost: a.test\nDisallow: %7Ea/\xc3\xa9\n",
        b"User-agent: *\n" + b"".join(b"Disallow: /%d/*/x*\n" % n for n in range(50)),
    ],
    [b"*", b"$", b"Disallow:", b"User-agent: *\n", b"Crawl-delay: 1e999", b"\r", b"\0", b"%ZZ", b"Sitemap:"],
    [b"*", b"*a", b"Disallow: /*a*a*a*a$\n", b"User-agent: a\n", b"$", b"\n", b"Sitemap: x\n"],
)  # fmt: skip


# Documents


def feed_document(kind: str) -> Callable[[bytes, random.Random, Path], None]:
    def feed(data: bytes, chance: random.Random, _folder: Path) -> None:
        label = chance.choice(("", "; charset=utf-8", "; charset=iso-8859-1", "; charset=utf-16", "; charset=gb18030"))
        doc = read(PAGE, {"content-type": kind + label if chance.random() < 0.9 else ""}, data)
        assert isinstance(doc.text, str)
        assert doc.root is None or isinstance(doc.root.name, str)
        assert doc.etree is None or len(doc.etree) >= 0
        for i, link in enumerate(doc.links[:200]):
            doc.context(i)
            urls.normalise(link.href, doc.base)
        assert len(doc.links) <= 50_000

    return feed


HTML = FuzzTarget(
    feed_document("text/html"),
    [
        (
            b"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>T &amp; t</title><base href='/b/'>"
            b"<link rel=canonical href=c><meta http-equiv=refresh content='5; url=next.html'></head><body>"
            b"<h1>Head</h1><p>1 <a href='a' rel=nofollow>two <img alt=three></a> four<table><tr><td><a href=?p=2>2</a>"
            b"</table><ul><li>a<li>b</ul><script>if (a<b) document.write('<a href=x>')</script><!-- c --></body></html>"
        ),
        b"<frameset cols=*><frame src=a.html><noframes><a href=b>b</a></noframes></frameset>",
        (
            b"<?xml version='1.0' encoding='iso-8859-1'?><html xmlns='http://www.w3.org/1999/xhtml'><a href='x'/>\xe9"
            b"<svg><a xlink:href='y'>s</a></svg><math><mi>x</mi></math><template><a href=z>z</a></template></html>"
        ),
        b"<meta http-equiv=content-type content='text/html; charset=shift_jis'><area href=a><iframe src=b>\x82\xa0",
        b"<a href=1><b><a href=2><i></b></a>x</i><select><option>1<textarea><a></select>&#xD800;&#0;&bogus;&#99999999;",
    ],
    [
        b"<a href=x>", b"</", b"<!--", b"-->", b"<![CDATA[", b"<plaintext>", b"<svg>", b"<table>", b"&#x110000;",
        b"<base ",
    ],
    [
        b"<div>", b"<a href=x>", b"<b>", b"<svg><a>", b"<table><tr><td>", b"<select>", b"<template>", b"&", b"<!--",
        b"<", b"<a href=x><b>", b"<p><font>", b"</p>", b" a=b", b"<frame src=x>", b"<meta charset=x>",
    ],
)  # fmt: skip

XML = FuzzTarget(
    feed_document("application/xml"),
    [
        (
            b"<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE r [<!ENTITY a 'b'>]><r xmlns='urn:x' xmlns:y='urn:y'>"
            b"<y:e a='1'>t&a;</y:e><![CDATA[<c>]]><?pi x?></r>"
        ),
        (
            b"<?xml version='1.0' encoding='iso-8859-1'?><WMS_Capabilities version='1.3.0' xmlns='http://www.opengis.net/wms'>"
            b"<Service><Name>WMS</Name><Title>\xe9</Title></Service></WMS_Capabilities>"
        ),
        "<?xml version='1.0' encoding='utf-16'?><r>\u20ac</r>".encode("utf-16"),
        b"<!DOCTYPE r SYSTEM 'http://a.test/r.dtd' [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;]><r/>",
        b"<!ELEMENT a (b|c)*>\n<!ATTLIST a x CDATA #IMPLIED>\n<!ENTITY % m 'x'>",
    ],
    [b"<!ENTITY x '&x;&x;'>", b"&x;", b"]]>", b"<!DOCTYPE", b"encoding='utf-32'", b"xmlns:a=''", b"\x00", b"<?"],
    [b"<a>", b"<a b='", b"&lt;", b"<!ENTITY a 'b'>", b"<![CDATA[", b"<a xmlns:b='c'>", b" a='b'", b"&a;", b"<!--"],
)  # fmt: skip

_SITEMAP = b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>%s</urlset>" % (
    b"<url><loc>http://a.test/1?a=1&amp;b=2</loc><lastmod>2024-03-04</lastmod><priority>0.5</priority></url>" * 3
)
SITEMAP = FuzzTarget(
    feed_document("application/xml"),
    [
        _SITEMAP,
        gzip.compress(_SITEMAP),
        (
            b"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>/s.xml.gz</loc></sitemap>"
            b"</sitemapindex>"
        ),
        b"<urlset><url><loc>http://a.test/x</loc><news:news/><image:image><image:loc>i</image:loc></image:image></url>",
        b"http://a.test/1\r\nhttp://a.test/2\n",
    ],
    [b"<loc>", b"</loc>", b"<url>", b"<![CDATA[", b"&#0;", b"<urlset>", b"<sitemap>"],
    [b"<url><loc>", b"<url>", b"<sitemap><loc>x</loc></sitemap>", b"<loc>", b"&amp;"],
)  # fmt: skip

FEED = FuzzTarget(
    feed_document("application/rss+xml"),
    [
        (
            b"<?xml version='1.0'?><rss version='2.0'><channel><title>T</title><link>http://a.test/</link><item><title>i</title>"
            b"<link>/1</link><pubDate>Mon, 04 Mar 2024 10:00:00 GMT</pubDate><guid>x</guid></item></channel></rss>"
        ),
        (
            b"<feed xmlns='http://www.w3.org/2005/Atom'><title type='html'>&lt;b&gt;T</title><link href='?p=2'/>"
            b"<entry><title>e</title><link href='/e'/><updated>2024-03-04T10:00:00Z</updated></entry></feed>"
        ),
        (
            b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
            b"<item rdf:about='http://a.test/1'><link>http://a.test/1</link></item></rdf:RDF>"
        ),
    ],
    [b"<item>", b"<entry>", b"<link href='", b"]]>", b"<updated>", b"<title>"],
    [b"<item>", b"<entry><link href='x'/>", b"<link>x</link>", b"<channel>", b"&lt;"],
)  # fmt: skip


def feed_charset(data: bytes, chance: random.Random, _folder: Path) -> None:
    header = chance.choice(
        ("", "utf-8", "ISO-8859-1", "utf-16", "gb18030", "x-user-defined", "big5", "iso-2022-jp", "no")
    )
    found = charset.decode_body(data, header, url=PAGE)
    assert isinstance(found.text, str)
    found.text.encode("utf-8", "surrogatepass")
    charset.find_declared(data), charset.find_xml_encoding(data), charset.find_mark(data)
    charset.resolve_label(data[:200].decode("latin-1"))


CHARSET = FuzzTarget(
    feed_charset,
    [
        "<meta charset=windows-1250>Příliš žluťoučký kůň".encode("cp1250"),
        "Καλημέρα κόσμε".encode("iso-8859-7"),
        "\ufeff<p>España".encode("utf-16"),
        "日本語のテキスト".encode("shift_jis"),
        "日本語のテキスト".encode("iso-2022-jp"),
        "日本語のテキスト".encode("euc_jp"),
        "中文文本".encode("gb18030"),
        "中文文本".encode("big5"),
        "한국어".encode("euc_kr"),
        "<?xml version='1.0' encoding='koi8-r'?>Привет".encode("koi8-r"),
        "été €".encode(),
        b"<meta http-equiv=Content-Type content='text/html; charset=iso-8859-2'>\xe1\xe9",
    ],
    [
        b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1b$B", b"+AD4-", b"<meta charset=utf-7>", b"\xed\xa0\x80",
        b"\xf4\x90",
    ],
    [b"\xe3\x81", b"\x1b(J", b"<meta charset=", b"\x81", b"<!-- "],
)  # fmt: skip


# HTTP


def feed_head(data: bytes, _chance: random.Random, _folder: Path) -> None:
    head = headers.parse_head(data)
    for name, value in [*head.fields.items(), ("", data[:20_000].decode("latin-1"))]:
        assert name == name.lower()
        headers.parse_date(value), headers.parse_retry_after(value, 1.7e9)
        link_lists.parse_link_header(value), doc.extract_mime(value).essence, parse_refresh(value[:8192])
        parse_robots_header(value, "lycosa")


HEAD = FuzzTarget(
    feed_head,
    [
        (
            b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="utf-8"\r\nDate: Mon, 04 Mar 2024 10:00:00 GMT\r\n'
            b'Link: <http://a.test/2>; rel="next", <x>; rel=canonical\r\nRetry-After: 9\r\nX-Robots-Tag: b: no\r\n\r\n'
        ),
        b"HTTP/2 301\r\nlocation: /x\r\nSet-Cookie: a=b\r\nset-cookie: c=d\r\nRefresh: 0;url='x'\r\n folded\r\n\r\n",
        b"HTTP/1.0 200\nLast-Modified: Sunday, 06-Nov-94 08:49:37 GMT\nExpires: Sun Nov  6 08:49:37 1994\n\n",
        b"ICY 200 OK\r\nContent-Length: 99999999999999999999\r\nContent-Encoding: gzip, br\r\n\r\n",
    ],
    [
        b"\r\n", b"\r\n\r\n", b": ", b"\0", b";", b'"', b"\\", b"<", b">", b"charset=",
        b"Mon, 99 Foo 99999 99:99:99 +9999",
    ],
    [b";a=b", b"\r\nA: b", b",", b'"\\', b"<x>;", b"\r\n ", b"(", b"9"],
)  # fmt: skip


def feed_body(data: bytes, chance: random.Random, folder: Path) -> None:
    codings = (
        "gzip",
        "deflate",
        "br",
        "zstd",
        "gzip, br",
        "x-gzip,deflate,zstd",
        "identity",
        "gzip,gzip,gzip,gzip",
        "?",
    )
    for coding in chance.sample(codings, 3):
        assert len(decode.decode(data, coding, limit=LIMIT).body) <= LIMIT
    path = folder / "body"
    path.write_bytes(data)
    assert len(decode.decode_file(path, codings[data[0] % 4 if data else 0], limit=LIMIT, head=4096).body) <= 4096


_TEXT = b"A page of some text, and of some more text. " * 40
BODY = FuzzTarget(
    feed_body,
    [
        gzip.compress(_TEXT, mtime=0),
        gzip.compress(_TEXT, mtime=0) * 2,
        zlib.compress(_TEXT),
        zlib.compress(_TEXT)[2:-4],
        brotli.compress(_TEXT),
        zstandard.compress(_TEXT),
        gzip.compress(brotli.compress(_TEXT), mtime=0),
        gzip.compress(bytes(3_000_000), mtime=0),
        zstandard.compress(bytes(3_000_000)),
        brotli.compress(bytes(3_000_000)),
        zstandard.ZstdCompressor(write_content_size=False).compress(_TEXT),
    ],
    [b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18\x00\x00\x00\x00", b"\x78\x9c", b"\x00\x00\xff\xff"],
    [
        gzip.compress(b"", mtime=0),
        zstandard.compress(b""),
        b"\x00\x00\x00\xff\xff", b"\x50\x2a\x4d\x18\x00\x00\x00\x00",
    ],
)  # fmt: skip


# Files


def feed_warc(data: bytes, _chance: random.Random, folder: Path) -> None:
    path = folder / "x.warc.gz"
    path.write_bytes(data)
    for number, record in enumerate(iter_records(path, limit=LIMIT)):
        assert len(record.body_raw) <= LIMIT
        if record.length and number < 20:
            read_record(path, record.offset, length=record.length, limit=LIMIT)
    read_record(path, len(data) // 2, limit=LIMIT)


def _record(kind: bytes, block: bytes) -> bytes:
    return (
        b"WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2024-03-04T10:00:00Z\r\n"
        b"WARC-Record-ID: <urn:uuid:0>\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s"
        b"\r\n\r\n" % (kind, len(block), block)
    )


_ANSWER = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
_RECORDS = [_record(b"warcinfo", b"software: x\r\n"), _record(b"response", _ANSWER), _record(b"revisit", _ANSWER[:40])]
_ARC = (
    b"filedesc://x.arc 0.0.0.0 20240304100000 text/plain 76\n1 0 x\n"
    b"URL IP-address Archive-date Content-type Archive-length\n\n\nhttp://a.test/ 127.0.0.1 20240304 text/html 47\n"
    b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nhello\n"
)
WARC = FuzzTarget(
    feed_warc,
    [
        b"".join(_RECORDS),
        b"".join(gzip.compress(record, mtime=0) for record in _RECORDS),
        _ARC,
        gzip.compress(_ARC, mtime=0),
        gzip.compress(b"".join(_RECORDS), mtime=0),
    ],
    [b"WARC/1.0\r\n", b"Content-Length: 99999999999999\r\n", b"\x1f\x8b", b"\r\n\r\n", b"Content-Length: -1", b"\0"],
    [
        b"WARC/1.1\r\n", b"WARC/1.1\r\nContent-Length: 0\r\n\r\n", b"\r\n",
        gzip.compress(b"", mtime=0),
        b"A: b\r\n", b"0\r\n",
    ],
)  # fmt: skip


def feed_config(data: bytes, chance: random.Random, folder: Path) -> None:
    path = folder / chance.choice(("mission.toml", "Crawler.conf"))
    path.write_bytes(data)
    try:
        settled = load(path, environ={})
    except LycosaError:
        return
    describe(settled), to_toml(settled.mission)


def feed_lists(data: bytes, chance: random.Random, folder: Path) -> None:
    path = folder / chance.choice(("seeds.txt", "seeds.csv", "seeds.txt.gz", "index"))
    path.write_bytes(data)
    try:
        if path.name == "index":
            for _ in read_index(path):
                pass
        else:
            read_seeds([], files=[str(path)], stdin=BytesIO())
    except LycosaError:
        return


CONFIG = FuzzTarget(
    feed_config,
    [
        (
            b"name = 'x'\nseeds = ['http://a.test/', \"b.test\"]\nscope = 'host'\naccept = ['\\.html$', '^http://a']\n[limits]\n"
            b"pages = 100\ntime_s = '1h30m'\nhtml_bytes = '10 MB'\n[hosts.'*.a.test']\ndelay_s = 5\nheaders = {X='y'}\n"
        ),
        (
            b'starting_urls = { "http://a.test/", "http://b.test/" };\nMaxDepth = 3;\n# comment\nperiod = 72;\n'
            b'accept_list = { "*.html" }; reject_list = {};\nlog_level = 1;\n'
        ),
        b"[fetch]\nconnect_to = ['*=127.0.0.1:80']\nallow_private = ['10.0.0.0/8']\nrobots = 'ignore'\n[[x]]\na = 1\n",
    ],
    [
        b"=", b"[", b"]", b"{", b"}", b"'''", b'"""', b"nan", b"-inf", b"1e999", b"0x", b"\\u0000", b"#", b"(?=a)",
        b"99999h",
    ],
    [b"[", b"{", b"a.", b"a = [", b"'", b"(", b"[[a]]\n", b"\\", b"[a.b.c]\n"],
)  # fmt: skip

LISTS = FuzzTarget(
    feed_lists,
    [
        b"# seeds\nhttp://a.test/\nb.test\t9\n\nhttps://c.test/x?y\n",
        b'rank,url,note\n1,http://a.test/,"x,""y"\n2,b.test,\n',
        gzip.compress(b"http://a.test/\n", mtime=0),
        _SITEMAP,
        b'0cc175b9c0f1b6a831c399e269772661 http://a.test/ a "T\\n" utf-8 html - -\n\t@http://b.test/ "x"\n',
    ],
    [b"\n", b'"', b",", b"\t", b"\0", b"<", b"\xff\xfe", b"\\u12", b"\t@"],
    [b'"', b",", b"a.test\n", b'\t@x ""\n', b"<url><loc>"],
)  # fmt: skip

TARGETS = {
    "url": URL,
    "robots": ROBOTS,
    "html": HTML,
    "xml": XML,
    "sitemap": SITEMAP,
    "feed": FEED,
    "charset": CHARSET,
    "head": HEAD,
    "body": BODY,
    "warc": WARC,
    "config": CONFIG,
    "lists": LISTS,
}


def add_shared(folder: Path, *, most_bytes: int = 20_000) -> None:
    """Damage the shared test material too, as far as it is small."""
    data = folder / "data" / "conformance"

    def cases(name: str, key: str) -> Iterable[bytes]:
        rows = json.loads((data / name).read_text())["cases"]
        texts = [row[key] for row in rows if isinstance(row, dict) and isinstance(row.get(key), str)]
        return [text.encode("utf-8", "surrogatepass") for text in texts]

    def files(name: str) -> Iterable[bytes]:
        return [path.read_bytes() for path in sorted((data / name).iterdir()) if path.stat().st_size <= most_bytes]

    for target, inputs in (
        ("url", cases("url/urltestdata.json", "input")),
        ("robots", cases("robots/cases.json", "robots")),
        ("html", cases("html/tree_construction.json", "data")),
        ("sitemap", files("sitemaps")),
        ("warc", files("warc")),
        (
            "xml",
            (path.read_bytes()[:most_bytes] for path in sorted((folder / "data" / "ogc" / "files").glob("*.xml"))[:50]),
        ),
    ):
        TARGETS[target].fixtures += list(inputs)
