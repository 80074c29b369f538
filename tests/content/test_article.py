"""Articles of unknown sites: the text without what stands around it, and who wrote it when."""

from __future__ import annotations

import datetime
import html
import json

import pytest
import turbohtml

from lycosa.content.article import BUILT_IN, Article, read_article
from lycosa.content.main_text import read_main_text

PROSE = (
    "The harbour of Oakham was closed on Monday, after a storm had torn three ships from their moorings.",
    "Nobody was hurt, the harbour master said, but the repair of the long quay will take until the summer.",
    "Fishermen have been asked to land their catch in Bramley, where the town has opened a second hall for them.",
)
TEASERS = "".join(
    f'<div class="item"><a href="/{n}">Another story number {n}</a><p>A short teaser of story {n}, cut off.</p></div>'
    for n in range(12)
)
PAGE = f"""<html lang="en-GB"><head><title>Storm closes harbour | The Oakham Post</title>
<meta property="og:site_name" content="The Oakham Post"></head><body>
<nav><a href="/">Home</a> <a href="/news">News</a></nav>
<div class="wrap"><div class="story"><h1>Storm closes harbour</h1>
<div class="byline">By Ann Lee and Bob Ray</div><span class="date">4 May 2021</span>
<div class="share">Share this story with everybody that you know, on every network there is.</div>
{"".join(f"<p>{line}</p>" for line in PROSE)}
<ul><li>The quay is 200 metres long.</li><li>It was built in 1912.</li></ul>
<div class="related"><h3>Related</h3><p>The mayor opens a new library in the old town hall, at last.</p></div>
</div>
<div class="col">{TEASERS}</div></div>
<div id="comments"><p>What a pity, I have always loved to walk along that quay on Sundays, with my dog.</p></div>
<footer><p>Copyright The Oakham Post. All rights reserved, and no part may be copied without our consent.</p></footer>
</body></html>"""
TODAY = datetime.date(2026, 1, 1)


def read(page: str, url: str = "http://post.test/story", language: str = "") -> Article:
    return read_article(turbohtml.parse(page, scripting=False), url=url, language=language, today=TODAY)


def test_an_article_is_read_without_rules() -> None:
    """Its text, title, authors, day and language, from what the page shows."""
    article = read(PAGE)
    assert all(line in article.text for line in PROSE)
    assert "200 metres" in article.text
    assert article.title == "Storm closes harbour"
    assert article.authors == ["Ann Lee", "Bob Ray"]
    assert article.date == "2021-05-04"
    assert article.language == "en-GB"


def test_the_text_has_nothing_of_what_stands_around_it() -> None:
    """No menu, teaser, related story, comment or notice."""
    text = read(PAGE).text
    for other in ("Home", "teaser", "library", "my dog", "Copyright", "Share this"):
        assert other not in text


def test_a_name_does_not_hide_the_only_text() -> None:
    """A page whose text stands in a form, or in something that is called a sidebar, has it all the same."""
    prose = "".join(f"<p>{line}</p>" for line in PROSE)
    for start, end in (("<form>", "</form>"), ('<div class="widget">', "</div>"), ("<noscript>", "</noscript>")):
        found = read_main_text(turbohtml.parse(f"<body>{start}{prose}{end}<p>Short.</p>", scripting=False))
        assert PROSE[1] in found.text


def test_text_between_line_breaks_is_prose() -> None:
    """Old pages have no paragraphs."""
    page = f"<table><tr><td><a href=/>Menu</a></td><td>{'<br><br>'.join(PROSE)}</td></tr></table>"
    assert read_main_text(turbohtml.parse(page)).text.splitlines() == list(PROSE)


def test_structured_data_is_the_best_witness() -> None:
    """JSON-LD before what the page shows; organisations only where no person is named."""
    data = """{"@type": "NewsArticle", "headline": "Storm closes harbour", "datePublished": "2021-05-03T23:00:00Z",
    "author": [{"@type": "Person", "name": "Cy Dee"}, {"@type": "Organization", "name": "The Oakham Post"}],
    "citation": {"@type": "Article", "author": {"name": "Someone Else"}, "datePublished": "1999-01-01"}}"""
    article = read(PAGE.replace("</head>", f'<script type="application/ld+json">{data}</script></head>'))
    assert article.authors == ["Cy Dee"]
    assert article.date == "2021-05-03"


def test_a_text_that_only_scripts_show_is_taken_from_the_data() -> None:
    """`articleBody` counts where the page itself has next to nothing."""
    body = " ".join(PROSE * 4)
    page = f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{body}"}}</script><p>Loading…</p>'
    assert read(page).text == body


def test_markup_and_references_in_such_a_text_are_read() -> None:
    """Some sites leave tags in `articleBody`, or references to characters, or both, escaped once more."""
    body = "<p>" + "</p><p>".join(f"{part} <strong>3 &lt; 4</strong>&#160;km" for part in PROSE * 4) + "</p>"
    wanted = "\n".join(f"{part} 3 < 4 km" for part in PROSE * 4)
    for written in (body, html.escape(body)):
        data = json.dumps({"@type": "Article", "articleBody": written})
        assert read(f'<script type="application/ld+json">{data}</script><p>Loading…</p>').text == wanted


def test_days_that_cannot_be_are_passed_over() -> None:
    """A year 9999 and a day after today are mistakes; the next witness is asked."""
    meta = '<meta property="article:published_time" content="{}"><time datetime="2020-02-03">x</time>'
    for day in ("9999-12-31", "2030-01-01", "rubbish", "0001-01-01"):
        assert read(meta.format(day)).date == "2020-02-03"


def test_the_address_tells_the_day() -> None:
    """Where the page does not."""
    assert read("<p>Text", url="http://post.test/2019/12/31/storm").date == "2019-12-31"


def test_the_name_of_the_site_is_no_title() -> None:
    """Neither as the heading nor after the title."""
    page = "<title>Storm closes the old harbour - The Oakham Post</title><h1>The Oakham Post</h1>"
    assert (
        read(page + '<meta property="og:site_name" content="The Oakham Post">').title == "Storm closes the old harbour"
    )


def test_built_in_fields_have_names_for_rules() -> None:
    """Each gives a list of texts, empty where the page does not tell."""
    assert BUILT_IN["authors"](read(PAGE)) == ["Ann Lee", "Bob Ray"]
    assert {name: field(Article()) for name, field in BUILT_IN.items()} == dict.fromkeys(BUILT_IN, [])


def test_hostile_pages_are_read_in_bounds() -> None:
    """Depth, breadth and emptiness end in some text, never in an error."""
    for page in (
        "",
        "<frameset>",
        "<div>" * 5000 + "x",
        "<span class=ad>" * 3000 + "x",
        "<p>a<br>" * 20_000,
        "\x00",
        "<a>" * 3000,
    ):
        assert isinstance(read(page).text, str)


def test_advertisements_and_counters_are_no_text() -> None:
    """By name, by label, by what they say; an article about advertising, votes or views keeps its words."""
    beside = (
        '<div class="ad">Advertisement: Brassica Quartz Bank gives four percent.</div>',
        "<div><p>Anzeige</p><p>Kaufen Sie heute Brassica, den neuen Wagen.</p></div>",
        "<p>Publicidad: Brassica, el banco de todos.</p>",
        "<p>ADVERTISEMENT Buy Brassica today.</p>",
        '<p class="views">5140 Brassica views</p>',
        '<span class="post-views">Brassica, gelesen: 77</span>',
        "<p>5,140 views · 12 comments</p>",
        "<div>Visitas: 512</div>",
        "<p>This page has been viewed 512 times</p>",
        "<p>512 次阅读</p>",
        '<section aria-label="Advertisement"><p>Brassica is the bank of all the towns on this coast.</p></section>',
        "<p><strong>Advertisement</strong> Brassica is the bank of all the towns on this coast.</p>",
    )
    said = (
        "Advertisement was never so cheap, said the owner of the town's only paper, when he was asked about it.",
        "AD 79, they say in the town, was such a year: the tower was then built with stones from the old harbour.",
        "The proposal was won by 12 votes, and 5140 people had a look at it within the hour, as the town says.",
        '<span class="views-field">From the tower the whole harbour can be seen, on clear days the islands.</span>',
    )
    body = f"<p>{said[0]}</p>{beside[0]}<p>{said[1]}</p><p>{said[2]}</p>{''.join(beside[1:])}<div>{said[3]}</div>"
    text = read(PAGE.replace(f"<p>{PROSE[1]}</p>", f"<p>{PROSE[1]}</p>{body}")).text
    assert not any(word in text for word in ("Brassica", "Anzeige", "ADVERT", "5,140", "512"))
    assert all(line in text for line in (*PROSE, *said[:3], "the whole harbour"))


NOTICE = (
    "You are using a browser with limited support for style sheets, so that you see this site without them. To have the"
    " best of it, we recommend that you take a newer one, or that you turn off the mode in which it looks as if it were"
    " old. In the meantime everything is shown plainly, for which we ask everybody who reads this to forgive us."
)


def test_a_marked_article_counts_more_than_a_notice() -> None:
    """A longer notice above, or an imprint below, is not the text; a long text outside of the mark still is."""
    short = "".join(f"<section><p>{line}</p></section>" for line in PROSE)
    for mark in ("<article>{}</article>", '<div itemprop="articleBody">{}</div>'):
        page = mark.format(f"<h1>Storm closes harbour</h1>{short}")
        for whole in (f"<div><p>{NOTICE}</p></div><main>{page}</main>", f"{page}<div class=x>{NOTICE}</div>"):
            assert read_main_text(turbohtml.parse(whole)).text.split("\n")[-3:] == list(PROSE)
    teaser = f"<article><h2>Read on</h2><p>{NOTICE[:150]}</p></article>"
    story = "".join(f"<p>{line}</p>" for line in PROSE * 6)
    assert PROSE[2] in read_main_text(turbohtml.parse(f"{teaser}<div>{story}</div>")).text


def test_a_text_told_live_has_its_entries() -> None:
    """Where each begins with its time, names or structured data say so; those that only the data has come last."""
    said = "The minister says that the quay opens in {} days."
    for name, clock, data in (
        ("e", "9:3{} ", ""),
        ("liveblog-entry", "", ""),
        ("e", "", '{"@type": "LiveBlogPosting"}'),
    ):
        entries = "".join(f'<div class="{name}"><p>{clock.format(n)}{said.format(n)}</p></div>' for n in range(9))
        intro = "".join(f"<p>{line}</p>" for line in PROSE * 2)
        page = f'<script type="application/ld+json">{data}</script><article><h1>Storm</h1>{intro}</article>'
        text = read(f"{page}<div>{entries}</div><div class=col>{TEASERS}</div>").text
        assert PROSE[0] in text and all(said.format(n) in text for n in range(9)) and "teaser" not in text
    update = {"@type": "BlogPosting", "headline": "Quay open", "articleBody": "<p>It is open.</p>", "author": "Cy Dee"}
    live = {"@type": "LiveBlogPosting", "headline": "Storm", "author": "Ann Lee", "liveBlogUpdate": [update]}
    article = read(f'<script type="application/ld+json">{json.dumps(live)}</script>{intro}')
    assert article.text.endswith("Quay open\nIt is open.") and article.authors == ["Ann Lee"]


BYLINES = (
    '<footer class="vcard author">By <a class="url fn" href="/a">Ann Lee</a>\n<a class="url fn">Bob Ray</a></footer>',
    '<div class="byline">By <a href="/a">Ann Lee</a> <a href="/b">Bob Ray</a></div>',
    '<p><span class="author">Ann Lee</span><span class="author">Bob Ray</span></p>',
    '<p>By <a rel="author" href="/a">Ann Lee</a> <a rel="author" href="/b">Bob Ray</a></p>',
)


def test_authors_of_one_byline_are_several() -> None:
    """Also where only the markup parts them; what else is called an author elsewhere is none."""
    text = "".join(f"<p>{line}</p>" for line in PROSE)
    for byline in BYLINES:
        page = f"<article><h1>Storm closes harbour</h1>{byline}{text}</article>"
        other = '<footer><p>By <a rel="author" href="/c">Cy Dee</a></p></footer>'
        assert read(page + other).authors == ["Ann Lee", "Bob Ray"], byline
    one = '<div class="byline">By <a href="/a">Ann Maria Lee</a></div>'
    assert read(f"<h1>Storm closes harbour</h1>{one}{text}").authors == ["Ann Maria Lee"]


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("2021-05-03T23:00:00Z", "2021-05-04"),
        ("2021-05-03T23:00:00+01:00", "2021-05-04"),
        ("2021-05-05T02:00:00+02:00", "2021-05-04"),
        ("2021-05-05T23:00:00Z", "2021-05-05"),  # nowhere the day before
        ("2021-05-03", "2021-05-03"),
        ("2021-05-07T10:00:00Z", "2021-05-07"),
    ],
)
def test_the_day_is_that_of_the_site(said: str, day: str) -> None:
    """A moment that is told in another time zone is of the day in the address, where that is possible."""
    page = f'<script type="application/ld+json">{{"@type": "NewsArticle", "datePublished": "{said}"}}</script>'
    assert read(page, url="http://post.test/2021/05/04/storm").date == day
