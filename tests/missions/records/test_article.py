"""Articles of unknown sites: the text without what stands around it, and who wrote it when."""

from __future__ import annotations

import datetime
import html
import json

import turbohtml

from lycosa.missions.records.article import BUILT_IN, Article, read_article
from lycosa.missions.records.main_text import read_main_text

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
