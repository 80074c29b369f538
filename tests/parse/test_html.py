"""What is taken from an HTML page."""

from __future__ import annotations

import pytest

from lycosa.model import Link
from lycosa.parse import Doc, Root, read

URL = "http://example.org/dir/page.html"


def _read(page: str, headers: dict[str, str] | None = None, *, links_per_page: int = 6000) -> Doc:
    headers = {"content-type": "text/html; charset=utf-8", **(headers or {})}
    return read(URL, headers, page.encode(), links_per_page=links_per_page)


def _links(page: str) -> list[tuple[str, str]]:
    return [(link.href, link.text) for link in _read(page).links]


def test_page_facts() -> None:
    """Title, language, canonical, base and refresh of an ordinary page."""
    doc = _read(
        "<!doctype html><html lang=' en-GB '><head><title> A\n  title </title><base href='/other/'>"
        "<link rel=canonical href='x'><meta http-equiv=Refresh content='5; URL=\"next.html\"'></head><body>Hi"
    )
    assert (doc.kind, doc.mime, doc.charset) == ("html", "text/html", "utf-8")
    assert (doc.title, doc.language) == ("A title", "en-GB")
    assert doc.base == "http://example.org/other/"
    assert doc.canonical == "http://example.org/other/x"
    assert doc.refresh == (5.0, "next.html")
    assert doc.links == [Link("x", "", "canonical", "canonical"), Link("next.html", "", "refresh")]
    assert doc.problem == ""


def test_anchors() -> None:
    """Anchor texts are folded, entities resolved, upper case and missing quotes understood, rel kept in lower case."""
    page = (
        "<A HREF=a?b=1&amp;c=2 REL='NoFollow UGC'>one\n  <b>tw</b>o&nbsp;</A><a name=x>no link</a><a href=''>self</a>"
    )
    assert _read(page).links == [Link("a?b=1&c=2", "one two", "a", "nofollow ugc"), Link("", "self")]


def test_anchor_around_a_picture() -> None:
    """Without text of its own an anchor is called what its picture is called."""
    assert _links("<a href=1><img alt=' the\n map '></a><a href=2>text <img alt=x></a><a href=3> <img></a>") == [
        ("1", "the map"),
        ("2", "text"),
        ("3", ""),
    ]


def test_hrefs_stay_as_written() -> None:
    """White space in addresses is left to the URL parser, which knows where it may stand."""
    assert _links("<a href=' x\ty\n'>a</a><a href='\ufeffz'>b</a>") == [(" x\ty\n", "a"), ("\ufeffz", "b")]


@pytest.mark.parametrize(
    ("charset", "href", "expected"),
    [
        ("windows-1251", "/путь?q=мир&x=1#мир", "/путь?q=%EC%E8%F0&x=1#мир"),
        ("windows-1251", "?q=é", "?q=%26%23233%3B"),
        ("shift_jis", "/?q=ソa", "/?q=%83\\a"),
        ("euc-kr", "?한", "?%C7%D1"),
        ("gbk", "?中", "?%D6%D0"),
        ("utf-8", "?мир", "?мир"),
        ("iso-2022-jp", "?ソ", "?ソ"),
    ],
)
def test_queries_are_in_the_encoding_of_their_page(charset: str, href: str, expected: str) -> None:
    """As a browser asks for them, and as the server that wrote the page expects them; paths are always UTF-8."""
    written = "".join(c if c.isascii() else f"&#{ord(c)};" for c in href)
    page = f'<meta charset="{charset}"><a href="{written}">x</a>'.encode()
    assert [link.href for link in read(URL, {"content-type": "text/html"}, page).links] == [expected]


def test_links_of_other_elements() -> None:
    """Areas, frames and documents named by link elements are links; style sheets, icons, scripts, images are not."""
    page = (
        "<link rel=stylesheet href=1><link rel='alternate stylesheet' href=2><link rel='shortcut icon' href=3>"
        "<link rel=Next href=4><link rel=alternate type='application/atom+xml; x' title=News href=5>"
        "<link rel=alternate hreflang=de href=6><link rel=preload href=7><link rel=next>"
        "<script src=8></script><img src=9><iframe src=10 title=T></iframe><iframe></iframe>"
        "<map><area href=11 alt='an\narea'><area></map>"
    )
    assert _read(page).links == [
        Link("4", "", "link", "next"),
        Link("5", "News", "feed", "alternate"),
        Link("6", "", "link", "alternate"),
        Link("10", "T", "frame"),
        Link("11", "an area", "area"),
    ]


def test_documents_shown_in_a_page() -> None:
    """What <embed> and <object> show is a link like a frame, unless it is a picture, a sound, a film or a program."""
    page = (
        "<p><object data=1.pdf type=application/pdf><a href=2>instead</a></object><embed src=3.pdf title=T>"
        "<embed src=4 type=image/png><object data=5 type='Video/mp4'></object><embed src=6 type=audio/mpeg>"
        "<embed src=7 type=application/x-shockwave-flash><object data=8 type=text/javascript></object><embed><object>"
    )
    assert _read(page).links == [Link("1.pdf", "", "frame"), Link("2", "instead"), Link("3.pdf", "T", "frame")]


def test_sitemaps_that_pages_name() -> None:
    """A sitemap in XML that a page names is one; a page that is called so is a page."""
    page = "<link rel=Sitemap type=application/xml href=1><link rel=sitemap href=2.xml><link rel=sitemap href=/map/>"
    kinds = [(link.href, link.kind) for link in _read(page).links]
    assert kinds == [("1", "sitemap"), ("2.xml", "sitemap"), ("/map/", "link")]


def test_what_a_page_is_called_for_programs() -> None:
    """Descriptions to embed it, the interface of WordPress, a short address beside a canonical one are no links."""
    oembed = (
        "<link rel=alternate type='application/json+oembed' href=1><link rel=alternate type=text/xml+oembed href=2>"
    )
    rest = "<link rel=alternate type=application/json href='/wp-json/wp/v2/posts/3'>"
    short, canonical = "<link rel=shortlink href='/?p=4'>", "<link rel=canonical href=/5>"
    assert [link.href for link in _read(oembed + rest + short + canonical).links] == ["/5"]
    assert [link.href for link in _read(canonical + oembed + rest + short).links] == ["/5"]
    assert [link.href for link in _read(short).links] == ["/?p=4"]
    service = "<link rel=alternate type=application/json href='/collections?f=json'>"
    assert [link.href for link in _read(service).links] == ["/collections?f=json"]


def test_frameset() -> None:
    """Frames are links."""
    doc = _read("<frameset><frame src=a><frame src=b></frameset><noframes><a href=c>c</a></noframes>")
    assert [(link.href, link.kind) for link in doc.links] == [("a", "frame"), ("b", "frame")]


def test_where_links_are() -> None:
    """SVG, templates, shadow roots and noscript hold links; comments, scripts and raw text do not."""
    page = (
        "<svg><title>s</title><a xlink:href=1>a</a><a href=2>b</a></svg><template><a href=3>c</a></template>"
        "<div><template shadowrootmode=open><a href=4>d</a></template></div><noscript><a href=5>e</a></noscript>"
        "<!-- <a href=6>f</a> --><script>'<a href=7>g</a>'</script><style><a href=8></style>"
        "<textarea><a href=9>i</a></textarea><title><a href=10>j</a></title>"
    )
    doc = _read(page)
    assert [link.href for link in doc.links] == ["1", "2", "3", "4", "5"]
    assert doc.title == "<a href=10>j</a>"


def test_broken_nesting() -> None:
    """Anchors that are closed late or never are those that a browser makes of them."""
    assert _links("<p><a href=1>one<a href=2>two</a></p><b><a href=3>three</b> more</a>") == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
        ("3", "more"),
    ]


@pytest.mark.parametrize(
    ("page", "base"),
    [
        ("<base href='data:text/plain,x'>", URL),
        ("<base href='javascript:1'>", URL),
        ("<base target=_top><base href='/a/b'><base href='/c/'>", "http://example.org/a/b"),
        ("<base href='//other.example'>", "http://other.example/"),
        ("<base href=''>", URL),
        ("", URL),
    ],
)
def test_base(page: str, base: str) -> None:
    """The first base with an address counts, and only if it leads to the web."""
    assert _read(page).base == base


def test_fragments_below_a_base() -> None:
    """Where the base is another address, an empty link and a fragment lead there, as in browsers; else to the page."""
    anchors = "<a href=''>1</a><a href='#x'>2</a><a href='y#x'>3</a>"
    other = [link.href for link in _read(f"<base href='/app/'>{anchors}").links]
    assert other == ["http://example.org/app/", "http://example.org/app/", "y#x"]
    for same in ("", "<base href='page.html'>"):
        assert [link.href for link in _read(same + anchors).links] == ["", "#x", "y#x"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0", (0.0, "")),
        ("  3 ; url = x y ", (3.0, "x y ")),
        ("1,'a'b", (1.0, "a")),
        ("1 a", (1.0, "a")),
        (".5;x", (0.0, "x")),
        ("2.7;URL=u", (2.0, "u")),
        ("9" * 5000 + ";u", (999999999.0, "u")),
        ("x;url=y", None),
        ("5x", None),
        ("", None),
    ],
)
def test_refresh(content: str, expected: tuple[float, str] | None) -> None:
    """Refresh is read as the HTML standard says."""
    assert _read(f'<meta http-equiv=refresh content="{content}">').refresh == expected


def test_refresh_header() -> None:
    """A Refresh header counts like the meta element."""
    doc = _read("x", {"refresh": "0; url=/there"})
    assert (doc.refresh, doc.links) == ((0.0, "/there"), [Link("/there", "", "refresh")])


def test_robots() -> None:
    """Directives for every robot and for ours, of the page and of the header, are put together."""
    page = (
        "<meta name=ROBOTS content='NoIndex, noarchive'><meta name=Lycosa content=nofollow><meta name=other content=x>"
    )
    assert _read(page).robots == {"noindex", "noarchive", "nofollow"}
    assert _read("x", {"x-robots-tag": "other: nofollow, lycosa: noindex, unavailable_after: 25 Jun 2030"}).robots == {
        "noindex",
        "unavailable_after: 25 jun 2030",
    }
    dated = "unavailable_after: Wed, 31 Dec 2031 23:59:59 GMT, nofollow, other: noindex"
    assert "nofollow" in _read("x", {"x-robots-tag": dated}).robots
    assert "noindex" not in _read("x", {"x-robots-tag": dated}).robots
    assert _read("<meta name=robots content=none>").robots == {"none", "noindex", "nofollow"}
    assert _read("x").robots == frozenset()


def test_language_fallbacks() -> None:
    """The html element tells the language, else the meta element, else the header."""
    header = {"content-language": "fr, en"}
    assert _read("<html xml:lang=de>", header).language == "de"
    assert _read("<meta http-equiv=content-language content=es>", header).language == "es"
    assert _read("x", header).language == "fr"


def test_context() -> None:
    """The context is the text around a link, markup and scripts not counted, words kept apart across blocks."""
    doc = _read(
        "<title>T</title><p>Intro.</p><p>See <b>our</b> long<i>er</i> <script>no()</script><a href=1>maps <b>of</b>"
        "</a>, all\n of <em>them</em>.</p><ul><li>next<br>line</li></ul>"
    )
    assert doc.context(0) == "Intro. See our longer , all of them. next line"
    assert doc.context(0, chars=6) == "longer , all"
    assert doc.context(0, 0) == ""


def test_context_length() -> None:
    """At most the given number of characters stands on each side."""
    doc = _read("<p>" + "b" * 100 + "<a href=1>x</a>" + "a" * 100)
    assert doc.context(0) == "b" * 30 + " " + "a" * 30
    assert doc.context(0, chars=5) == "bbbbb aaaaa"


def test_links_without_place_have_no_context() -> None:
    """Link elements, refreshes and feeds stand nowhere in the text."""
    doc = _read("<link rel=next href=x><meta http-equiv=refresh content='0;y'>text")
    assert [doc.context(i) for i in range(3)] == ["", "", ""]


def test_text() -> None:
    """The text is what a reader sees."""
    doc = _read("<title>T</title><style>s{}</style><p>One</p><script>x</script><p>two <b>three</b></p>")
    assert doc.text.split() == ["One", "two", "three"]
    assert doc.tree is not None
    assert doc.etree is None


def test_xhtml_empty_elements() -> None:
    """In XHTML an empty script or anchor does not swallow what follows."""
    page = (
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><script src='s.js'/><title/></head>"
        "<body><a id='top'/><a href='x'>y</a></body></html>"
    )
    doc = read(URL, {"content-type": "application/xhtml+xml"}, page.encode())
    assert (doc.kind, doc.links) == ("xhtml", [Link("x", "y")])
    assert doc.root == Root("http://www.w3.org/1999/xhtml", "html")
    assert doc.etree is not None


def test_caps() -> None:
    """Links, anchors and titles are cut, and the cut of links is said."""
    doc = _read(f"<title>{'t ' * 5000}</title>" + f"<a href=x>{'w' * 9000}</a>" * 20, links_per_page=7)
    assert len(doc.links) == 7
    assert doc.problem == "links: only the first 7 are taken"
    assert (len(doc.title), len(doc.links[0].text)) == (1000, 500)


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000 + "<a href=x>y</a>",
        "<svg><a href=x>" * 50_000,
        "<table><tr><td><a href=x>y" * 30_000,
        "<b><i><a href=x>" * 30_000,
        "<a href='" + "x" * 2_000_000 + "'>y</a>",
        "<a " + " ".join(f"a{i}=1" for i in range(50_000)) + " href=x>y</a>",
        "<a href=x>" + "word " * 500_000,
        "<" * 1_000_000 + "<a href=x>",
        "<!-->" * 300_000 + "<a href=x>",
    ],
    ids=["deep", "svg", "table", "formatting", "address", "attributes", "text", "brackets", "comments"],
)
def test_hostile_pages_end(page: str) -> None:
    """Depth, length and number cost time in proportion, and the link is still found."""
    doc = _read(page)
    assert 1 <= len(doc.links) <= 6000
    assert all(len(link.text) <= 500 for link in doc.links)
    assert isinstance(doc.context(0), str)


def test_large_page_keeps_outer_anchors() -> None:
    """On a large page, an anchor inside an anchor goes without text; others keep theirs."""
    inner = "<svg><a href=1>out<svg><a href=2>in</a></svg></a></svg>"
    doc = _read("<a href=0><img alt=pic></a>" + inner + "<p>" + "x" * 300_000)
    assert [(link.href, link.text) for link in doc.links] == [("0", "pic"), ("1", "outin"), ("2", "")]
    assert [link.text for link in _read(inner).links] == ["outin", "in"]


def test_frames_inside_a_body_are_found() -> None:
    """A frameset in the wrong place has no place in the tree; its frames are links all the same."""
    doc = _read("<html><body><FRAMESET cols='1,*'><frame src='menu.htm'><frame src=main.htm></frameset></body></html>")
    assert [(link.href, link.kind) for link in doc.links] == [("menu.htm", "frame"), ("main.htm", "frame")]


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("alpha<br>beta", "alpha beta"),
        ("<h3>Title</h3><p>text</p>", "Title text"),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("<span><div>card</div></span>more", "card more"),
        (
            "see<script>var x</script><style>b{}</style><span hidden>none</span><b style='display:none'>no</b> this",
            "see this",
        ),
        ("un<b>bold</b>ed", "unbolded"),
    ],
)
def test_words_of_an_anchor_stay_apart(anchor: str, text: str) -> None:
    """Markup that begins a line parts words; scripts, styles and what is hidden are not read; phrases are one text."""
    assert _links(f"<div>x <a href=y>{anchor}</a></div>") == [("y", text)]


@pytest.mark.parametrize(
    "pieces",
    [
        "<ul>{}</ul>|<li>{}</li>",
        "<div>{}</div>|<a href=x><p>{}</p></a><span>,</span>",
        "<p>{}</p>|<button>{}</button>",
        "<select>{}</select>|<option>{}</option>",
        "<div>{}</div>|<form>{}</form>",
        "<table><tr>{}</table>|<td>{}</td>",
        "<dl>{}</dl>|<dt>{}</dt>",
        "<div>{}</div>|<b><h4>{}</h4></b><i>,</i>",
    ],
)
def test_a_minified_page_has_the_words_of_one_with_line_breaks(pieces: str) -> None:
    """Where no white space stands between elements, their words do not run together."""
    outer, _, inner = pieces.partition("|")
    terms = ["wms", "wfs", "csw"]
    minified = outer.format("".join(inner.format(term) for term in terms))
    loose = outer.format("\n".join(inner.format(term) for term in terms)).replace("><", ">\n<")
    words = [word for word in _read(minified).text.split() if word != ","]
    assert words == [word for word in _read(loose).text.split() if word != ","] == terms


def test_what_is_hidden_is_not_read() -> None:
    """Hidden elements are no text, but for pages that only their script shows; the tree stays what it was."""
    hidden = "<div hidden>a</div><p style='color:red; Display: none'>b</p><iframe>c</iframe><dialog>d</dialog>"
    hidden += "<template hidden><b>e</b></template><div hidden><template>f</template></div>"
    doc = _read(f"<body><p>seen</p>{hidden}")
    assert doc.tree is not None
    tags = [e.tag for e in doc.tree.iter_elements()]
    assert doc.text.split() == ["seen"]
    assert [e.tag for e in doc.tree.iter_elements()] == tags
    assert _read("<body style='display:none'><h1>Later</h1>all").text.split() == ["Later", "all"]
    assert _read("<body><div hidden><main>Later</main></div>").text.split() == ["Later"]


def test_links_beside_each_other_are_no_one_word_in_a_context() -> None:
    """As a page has them that was made small; the text behind them neither."""
    small = b"<div><a href=a>one</a><a href=b>two</a><a href=c>three</a>four</div>"
    page = read("http://a.test/", {"content-type": "text/html"}, small)
    assert [page.context(i) for i in range(3)] == ["two three four", "one three four", "one two four"]


def test_what_stands_right_beside_a_link_is_no_part_of_its_last_word() -> None:
    """A page that was made small has the words of one with line breaks; within a word nothing is parted."""
    items = "<li><a href=x>Maps</a><span>of the sea</span><a href=y>News</a><a href=z>Team</a></li>"
    words = ["Maps", "of", "the", "sea", "News", "Team", "Datasette", "s"]
    for body in (items, items.replace("><", ">\n<")):
        page = read("http://a.test/", {}, f"<html>{body}<p>Data<b>sette</b> s</p>".encode())
        assert page.text.split() == words
