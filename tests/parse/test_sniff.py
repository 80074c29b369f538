"""Types and encodings: what the bytes say against what was announced."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.parse import read
from lycosa.parse.charset import decode_body, find_declared, resolve_label
from lycosa.parse.doc import extract_mime, parse_mime
from lycosa.parse.sniff import sniff

URL = "http://example.org/dir/page"
PAGE = b"<!DOCTYPE html><html><head><title>t</title></head><body>x</body></html>"


@pytest.mark.parametrize(
    "announced", ["text/html", "text/plain", "image/png", "application/pdf", "application/xml", ""]
)
def test_html_is_recognised_whatever_was_announced(announced: str) -> None:
    """A page is a page: the announced type decides only between HTML and XHTML."""
    kind, mime = sniff(announced, PAGE)
    assert (kind, mime) == (
        ("xhtml", "application/xhtml+xml") if announced == "application/xml" else ("html", "text/html")
    )


@pytest.mark.parametrize(
    ("announced", "body", "kind", "mime"),
    [
        ("text/html", b"<?xml version='1.0'?><wms xmlns='urn:x'/>", "xml", "application/xml"),
        ("text/plain", b"<?xml version='1.0'?><r/>", "xml", "application/xml"),
        ("application/octet-stream", b"<x:r xmlns:x='urn:y'></x:r>", "xml", "application/xml"),
        ("text/html", b"<Capabilities version='1'><a/></Capabilities>\n", "xml", "application/xml"),
        ("text/html", b"<my-app></my-app><script>1</script>", "html", "text/html"),
        ("application/rdf+xml", b"<rdf:RDF xmlns:rdf='u'/>", "xml", "application/rdf+xml"),
        ("text/plain", b"<rdf:RDF xmlns:rdf='u'/>", "xml", "application/rdf+xml"),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "xml", "image/svg+xml"),
        ("text/xml", b"\n<!-- c --><!DOCTYPE a [<!ENTITY b 'c>'>]><a/>", "xml", "text/xml"),
        ("text/html", b"<!DOCTYPE caps SYSTEM 'x.dtd'><caps/>", "xml", "application/xml"),
        ("", b"\r\n\xef\xbb\xbf<?xml version='1.0'?><caps/>", "xml", "application/xml"),
        ("", b"Content-Type: text/xml\n\n<?xml version='1.0'?><caps/>", "xml", "application/xml"),
        ("", b"<?xml version='1.0'?><!DOCTYPE article SYSTEM 'd.dtd'><article/>", "xml", "application/xml"),
        ("", b"<?xml version='1.0'?><svg width='1'/>", "xml", "image/svg+xml"),
        ("text/html", b"<?xml version='1.0'?><body>x", "html", "text/html"),
        ("text/html", b"<svg><a href=x></a></svg>", "html", "text/html"),
        ("", b"<?xml encoding='utf-8'?>\n<!ENTITY % a 'b'>", "xml", "application/xml-dtd"),
        ("", b"<p>fragment", "html", "text/html"),
        ("", b"<!-- only a comment", "html", "text/html"),
        ("text/plain", b"<p> is a paragraph", "text", "text/plain"),
        ("text/javascript", b"<!-- old browsers\nvar a;", "text", "text/javascript"),
        ("text/html", b"plain words", "html", "text/html"),
        ("text/html", b"", "html", "text/html"),
        ("", b"", "text", "text/plain"),
        ("", b"plain words", "text", "text/plain"),
        ("text/html", b'{"a": [1, 2]}', "json", "application/json"),
        ("application/geo+json", b'{"a": 1}', "json", "application/geo+json"),
        ("text/css", b"{a}", "text", "text/css"),
        ("text/plain", b"a\0\1\2b", "binary", "application/octet-stream"),
        ("application/x-thing", b"a\0\1\2b", "binary", "application/x-thing"),
        ("application/octet-stream", b"%PDF-1.7\n", "pdf", "application/pdf"),
        ("text/html", b"junk\n%PDF-1.4\n\0", "pdf", "application/pdf"),
        ("text/html", b"<br /><b>Notice</b>: x<br />\n%PDF-1.4\n1 0 obj\n%%EOF\n", "pdf", "application/pdf"),
        ("text/html", b"<p>It begins with<pre>%PDF-1.4\n</pre>", "html", "text/html"),
        ("text/html", b"\x89PNG\r\n\x1a\n\0", "image", "image/png"),
        ("", b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
        ("", b"RIFF\0\0\0\0WEBPVP8 ", "image", "image/webp"),
        ("", b"\0\0\0\x20ftypavif", "image", "image/avif"),
        ("application/msword", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document", "application/msword"),
        ("", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document", "application/x-ole-storage"),
        ("text/plain", b"{\\rtf1 x}", "document", "application/rtf"),
        ("", b"\x1f\x8b\x08\0", "archive", "application/gzip"),
        ("", b"x" * 257 + b"ustar\0", "archive", "application/x-tar"),
        ("", "\ufeffwords".encode("utf-16-le"), "text", "text/plain"),
        ("", "\ufeff<html>".encode("utf-16-be"), "html", "text/html"),
        ("", "<?xml version='1.0'?><r/>".encode("utf-16-le"), "xml", "application/xml"),
        ("", b"\xef\xbb\xbf <html>", "html", "text/html"),
    ],
)
def test_kinds(announced: str, body: bytes, kind: str, mime: str) -> None:
    """The bytes decide where they speak, the announced type elsewhere."""
    assert sniff(announced, body) == (kind, mime)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<?xml version='1.0'?><urlset><url/></urlset>", "sitemap"),
        (b"<sm:sitemapindex xmlns:sm='x'/>", "sitemap-index"),
        (b"<rss version='2.0'/>", "feed"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'/>", "feed"),
        (b"<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'/>", "feed"),
        (b"<feed-me>", "html"),
    ],
)
def test_feeds_and_sitemaps_sent_as_html(body: bytes, kind: str) -> None:
    """Sitemaps and feeds are told by their root element."""
    assert sniff("text/html", body)[0] == kind


_HTML = b"<html><head><title>t</title></head><body><a href=/x>x</a></body></html>"


@pytest.mark.parametrize(
    "body",
    [
        b'<esi:include src="/header"/>\n<!DOCTYPE html>' + _HTML,
        b'<fb:like href="x"/>' + _HTML,
        b'<cfsetting showdebugoutput="no"/>\n' + _HTML,
        b'<f:view xmlns:f="http://java.sun.com/jsf/core"><f:loadBundle basename="b"/>' + _HTML + b"</f:view>",
        b'<?xml version="1.0"?>\n<rss2html/>' + _HTML,
        b"<x:a xmlns:x='u'><b/></x:a><BODY><a href=/x>x</a>",
        b'<my-app><a href="/x">x</a></my-app>',
        b'<svg xmlns="http://www.w3.org/2000/svg"><symbol id="a"><path/></symbol></svg><!doctype html><a href=/x>x</a>',
        b"<![if !IE]>" + _HTML,
        b'["x"]<br>' + _HTML + b"]",
        b"\0\0" + _HTML,
        b"Warning: \x1f<br>" + _HTML,
        b'<text id="1" encoding="gb2312">\n<base href="http://example.org/">\n' + _HTML + b"</text>",
        b'<text id="1"><head><meta charset=utf-8><title>t</title></head><p>Words<p><a href=/x>x</a></text>',
        b'<tpl:include src="1"/><div><p>Words</p></div><a href="/x">x</a>',
        b"<page><section><div>Words<br>words</div><a href='/x'>x</a></section></page>",
    ],
)
def test_pages_that_begin_like_something_else(body: bytes) -> None:
    """What was announced as HTML and has the tags of a page is a page, whatever a server put before them."""
    doc = read(URL, {"content-type": "text/html"}, body)
    assert (doc.kind, doc.mime, [link.href for link in doc.links]) == ("html", "text/html", ["/x"])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            b"<xsl:stylesheet xmlns:xsl='x'><xsl:template match='/'>" + _HTML + b"</xsl:template></xsl:stylesheet>",
            "xml",
        ),
        (b"<Capabilities><!-- <html> --><Abstract><![CDATA[<html><body>]]></Abstract></Capabilities>", "xml"),
        (b"<opml version='2.0'><head/><body><outline text='x'/></body></opml>", "xml"),
        (b"<xs:schema xmlns:xs='x'><xs:annotation><xs:documentation>" + _HTML, "xml"),
        (b"<rss version='2.0'><channel><item><description>" + _HTML, "feed"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><a href='x'/></svg>", "xml"),
        (b"<web-app xmlns='http://java.sun.com/xml/ns/javaee'><a href='x'/></web-app>", "xml"),
        (b"<service-list><service/></service-list>", "xml"),
        (b"<!-- <!DOCTYPE html> <html> --><!ELEMENT html (head, body)>", "xml"),
        (b'{"page": "<html><body>\\"<a href=/x>"}', "json"),
        (b"\1\2<a\3<p\0", "binary"),
        (b'<book><chapter><div><br/><a href="x">x</a></div></chapter></book>', "xml"),
        (b'<!-- c --><!DOCTYPE doc SYSTEM "d.dtd"><doc><div>1<br>2</div></doc>', "xml"),
    ],
)
def test_what_only_quotes_a_page_is_none(body: bytes, kind: str) -> None:
    """XML, feeds and JSON that were announced as HTML stay what they are where a page is only a part of them."""
    assert sniff("text/html", body)[0] == kind


@pytest.mark.parametrize("announced", ["", "application/octet-stream"])
def test_a_name_tells_what_the_server_does_not(announced: str) -> None:
    """What is named .html is read as HTML, whatever stands before it, unless it surely is something else."""
    for start in (b"Notice: Undefined index: id in page.php on line 3\n", b"<unknown>\n", b"[]", b"\0"):
        doc = read(f"{URL}.HTM?x=1", {"content-type": announced} if announced else {}, start + _HTML)
        assert (doc.kind, [link.href for link in doc.links]) == ("html", ["/x"])
    for body, kind in ((b"<?xml version='1.0'?><r/>", "xml"), (b"%PDF-1.4\n", "pdf"), (b'{"a": 1}', "json")):
        assert read(f"{URL}.html", {"content-type": announced}, body).kind == kind


def test_xhtml_is_told_apart() -> None:
    """XHTML is what is announced as XML or written as XML; announced as HTML it is HTML."""
    body = b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head/></html>"
    assert sniff("application/xhtml+xml", body) == ("xhtml", "application/xhtml+xml")
    assert sniff("text/xml", body)[0] == "xhtml"
    assert sniff("", body)[0] == "xhtml"
    assert sniff("text/html", body)[0] == "html"


def _zip(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.text" if name == "mimetype" else "x")
    return file.getvalue()


def test_office_documents_inside_zip() -> None:
    """OpenDocument and Office Open XML are documents, other zip files archives."""
    assert sniff("", _zip("mimetype", "content.xml")) == ("document", "application/vnd.oasis.opendocument.text")
    assert sniff("application/zip", _zip("[Content_Types].xml", "word/document.xml"))[1].endswith(
        "wordprocessingml.document"
    )
    assert sniff("", _zip("a.txt")) == ("archive", "application/zip")


def test_gzipped_sitemap_is_a_sitemap() -> None:
    """A gzip file is looked into: with a sitemap inside it is one, else an archive."""
    body = gzip.compress(b"<urlset><url><loc>http://example.org/1</loc></url></urlset>")
    doc = read(URL, {"content-type": "application/gzip"}, body)
    assert (doc.kind, [link.href for link in doc.links]) == ("sitemap", ["http://example.org/1"])
    assert read(URL, {}, gzip.compress(b"words")).kind == "archive"


@pytest.mark.parametrize("declared", ["gb2312", "big5", "euc-kr", "shift_jis", "iso-8859-2", "windows-1251"])
def test_valid_utf8_is_utf8_whatever_is_declared(declared: str) -> None:
    """By header and document, also where the body was cut within a character; a real text of the encoding stays."""
    words = "港口因风暴关闭了三天" if declared == "gb2312" else "Přístav zavřela bouře, říká přednosta města Žďár"
    body = f'<meta charset="{declared}"><p>{words}'.encode()
    for part in (body, body + "é".encode()[:1]):
        doc = read(URL, {"content-type": f"text/html; charset={declared}"}, part)
        assert words in doc.text and doc.charset == "utf-8" and "is utf-8" in doc.problem
        assert words in read(URL, {"content-type": "text/html"}, b" " * 600 + body + b" " * 600).text
    chinese = "<p>联通 港口因风暴关闭了".encode("gbk")
    assert "港口" in read(URL, {"content-type": "text/html; charset=gb2312"}, chinese).text


def test_mime_parameters() -> None:
    """Parameters are read as browsers read them: first one wins, quotes and bad ones tolerated."""
    mime = parse_mime(' Text/HTML ; x; charset="UTF\\-8" ; charset=latin1; =;b=(')
    assert mime is not None
    assert (mime.essence, mime.charset, dict(mime.parameters)["b"]) == ("text/html", "UTF-8", "(")
    assert parse_mime("text") is parse_mime("text/") is parse_mime("a b/c") is None


def test_mime_of_repeated_headers() -> None:
    """Of joined header fields the last type counts, and keeps the charset of an equal one."""
    assert extract_mime('text/html;charset="a,b", text/html').charset == "a,b"
    assert extract_mime("text/html;charset=gbk, text/plain").charset == ""
    assert extract_mime("text/plain, */*, nonsense").essence == "text/plain"
    assert extract_mime("").essence == ""


@pytest.mark.parametrize(
    ("value", "essence", "parameters"),
    [
        ("text/html", "text/html", {}),
        ("Text/HTML; Charset=UTF-8", "text/html", {"charset": "UTF-8"}),
        ('text/html;charset="utf-8"', "text/html", {"charset": "utf-8"}),
        (' text/xml ; a="b\\"c;d" ; a=2;;e', "text/xml", {"a": 'b"c;d'}),
        ('text/html;x="open, text/plain', "text/html", {"x": "open, text/plain"}),
        ('text/html;x="";y=', "text/html", {"x": ""}),
        ("text/html, image/png", "image/png", {}),
        ("text/html;charset=gbk, text/html", "text/html", {"charset": "gbk"}),
        ("text/html;charset=gbk, */*, bad", "text/html", {"charset": "gbk"}),
        ("application/atom+xml;type=feed", "application/atom+xml", {"type": "feed"}),
        ("", "", {}),
        ("html", "", {}),
        ("text/", "", {}),
        ("te xt/html", "", {}),
        ("text;;/html==,,", "", {}),
    ],
)
def test_content_type(value: str, essence: str, parameters: dict[str, str]) -> None:
    """Types and parameters as browsers read them; of several types the last valid one."""
    mime = extract_mime(value)
    assert (mime.essence, dict(mime.parameters)) == (essence, parameters)


@pytest.mark.parametrize("piece", ["<", ";", "; ", ",", '"', '\\"', "a/b;", "a/b;x=", 'a/b;x="'])
def test_long_content_types_are_read(piece: str) -> None:
    """Values made to send a careless pattern into backtracking are read."""
    value = piece * (200_000 // len(piece))
    for text in (value, "text/html;x=" + value):
        assert extract_mime(text).essence in ("", "a/b", "text/html")


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60))
def test_any_content_type_is_read(text: str) -> None:
    """Whatever comes, there is an answer, in lower case."""
    mime = extract_mime(text)
    assert mime.essence == mime.essence.lower()


def test_labels() -> None:
    """Labels name encodings the way of the web: latin1 is windows-1252."""
    assert resolve_label(" Latin1\n") == "windows-1252"
    assert resolve_label("utf8") == "utf-8"
    assert resolve_label("nonsense") is resolve_label("") is resolve_label("x" * 1000) is None


def test_declarations() -> None:
    """The meta prescan and the XML declaration; comments declare nothing."""
    assert find_declared(b"<meta charset=koi8-r>") == "koi8-r"
    assert find_declared(b'<META http-equiv=content-type content="text/html; CHARSET=gb2312">') == "gbk"
    assert find_declared(b"<!-- <meta charset=koi8-r> --><p charset=koi8-r>") is None
    assert find_declared(b'<?xml version="1.0" encoding="iso-8859-2"?>') == "iso-8859-2"
    assert find_declared(b"<meta charset=utf-8>") is None


@pytest.mark.parametrize(
    ("body", "header", "charset", "text"),
    [
        ("dé".encode(), "", "utf-8", "dé"),
        ("\ufeffdé".encode(), "latin1", "utf-8", "dé"),
        ("\ufeffdé".encode("utf-16-le"), "utf-8", "utf-16le", "dé"),
        ("<meta charset=koi8-r>Да".encode("koi8-r"), "", "koi8-r", "<meta charset=koi8-r>Да"),
        ("<meta charset=koi8-r>Да".encode("cp1251"), "windows-1251", "windows-1251", "<meta charset=koi8-r>Да"),
        ("Привет, мир: это проверка".encode("cp1251"), "", "windows-1251", "Привет, мир: это проверка"),
        ("naïve café déjà vu".encode("latin-1"), "utf-8", "windows-1252", "naïve café déjà vu"),
        ("naïve café".encode(), "iso-8859-1", "utf-8", "naïve café"),
        ("ééééé".encode() + b"\xe9!", "", "utf-8", "ééééé\ufffd!"),
        ("cut é".encode()[:-1], "utf-8", "utf-8", "cut \ufffd"),
        ("日本語".encode("iso2022_jp"), "", "iso-2022-jp", "日本語"),
        (b"", "", "utf-8", ""),
    ],
)
def test_encoding_is_settled(body: bytes, header: str, charset: str, text: str) -> None:
    """Mark, header, declaration, bytes: in this order, and a declaration that the bytes contradict is not believed."""
    decoded = decode_body(body, header)
    assert (decoded.charset, decoded.text) == (charset, text)


def test_wrong_declaration_is_a_problem() -> None:
    """A page that is not in the encoding it declares says so."""
    doc = read(URL, {"content-type": "text/html; charset=utf-8"}, "<p>naïve café déjà vu".encode("latin-1"))
    assert doc.problem == "charset: declared utf-8, is windows-1252"
    assert "naïve café" in doc.text


def test_late_declaration_counts() -> None:
    """A meta element beyond the first kilobyte is honoured when nothing else told the encoding."""
    late = b"<!DOCTYPE html><title>" + b"x" * 2000 + b"</title><meta charset=windows-1251><p>"
    assert read(URL, {"content-type": "text/html"}, late + "жук".encode("cp1251")).text.endswith("жук")
    assert read(URL, {"content-type": "text/html"}, late).charset == "windows-1251"
    assert read(URL, {"content-type": "text/html; charset=utf-8"}, late).charset == "utf-8"


@pytest.mark.parametrize("announced", ["text/html", "text/plain", "application/xml", "application/json", ""])
def test_nothing_raises(announced: str) -> None:
    """Every prefix of all bytes, under every type, gives a document."""
    junk = bytes(range(256)) + b"<html>" + bytes(range(255, -1, -1)) + b"<?xml version='1.0'?><a:b c='&d;'>]]>"
    for start in range(0, len(junk), 7):
        doc = read(URL, {"content-type": announced}, junk[start:])
        assert isinstance(doc.text, str)
        assert doc.etree is None or doc.kind not in ("html", "text")


@pytest.mark.parametrize(
    "start", [b"<!DOCTYPE " + b"h" * 60_000, b"<!DOCTYPE h" + b" " * 60_000, b"<" + b"a." * 30_000]
)
def test_long_prologs_end_at_once(start: bytes) -> None:
    """A declaration that is never closed costs its length, not the square of it (found by bench/fuzz_readers.py)."""
    assert sniff("", start)[0]
