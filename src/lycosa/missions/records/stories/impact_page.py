"""The page about a story's impact: one HTML file with charts, which asks the network for nothing.

Titles, hosts and sections come from anybody: everything is escaped by the writers of the page and of the charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lycosa.missions.records.stories.impact import Impact
from lycosa.output.charts import Bar, draw_bars, draw_histogram
from lycosa.output.html_page import Section, TableLink, table, text, tiles, write_page
from lycosa.output.wording import counted

#: Bars of a chart and rows of a table; what is more stands in the JSON.
_BARS = 30
_ROWS = 1_000


def write_impact(impact: Impact) -> Iterable[str]:
    """The page, piece by piece."""
    span = impact.first if impact.first == impact.last else f"{impact.first} to {impact.last}"
    subtitle = f"{counted(impact.articles, 'article')} in {_media(impact.media)}, {span}. Made by lycosa."
    return write_page(f"Impact: {impact.title[:200]}", subtitle, _sections(impact))


def _media(number: int) -> str:
    return "1 medium" if number == 1 else f"{number:,} media"


def _sections(impact: Impact) -> Iterator[Section]:
    yield Section("Overview", _overview(impact))
    step = {"day": "days", "week": "weeks", "month": "months", "year": "years"}[impact.step]
    labels = [(label[5:] if impact.step in ("day", "week") else label, count) for label, count in impact.over_time]
    yield Section("Over time", [draw_histogram(labels, title=f"Articles over {step}", axis=impact.step)])
    yield Section("By medium", _by_medium(impact))
    kinds = [
        draw_bars([Bar(name, (count,)) for name, count in counts[:_BARS]], title=title)
        for title, counts in (("Articles by language", impact.by_language), ("Articles by section", impact.by_section))
        if counts
    ]
    yield Section("By language and section", kinds)
    yield Section("Articles", _articles(impact))


def _overview(impact: Impact) -> list[str]:
    figures = [
        ("media", f"{impact.media:,}"),
        ("articles", f"{impact.articles:,}"),
        ("languages", f"{len(impact.by_language):,}"),
        ("first", impact.first),
        ("last", impact.last),
        ("of the text is copied", f"{impact.copied_share:.0%}"),
    ]
    if impact.stories > 1:
        figures.insert(0, ("stories", f"{impact.stories:,}"))
    parts = [tiles(figures), table(("first to publish",), [(TableLink(impact.first_url, impact.first_host),)])]
    if impact.terms:
        parts.append(text("What they share: " + ", ".join(impact.terms) + "."))
    return parts


def _by_medium(impact: Impact) -> list[str]:
    bars = [Bar(each.host, (each.articles - each.copies, each.copies)) for each in impact.by_medium[:_BARS]]
    rows = [(each.host, each.articles, each.copies, each.first, each.days_after) for each in impact.by_medium[:_ROWS]]
    return [
        draw_bars(bars, title="Articles by medium", series=("own words", "copied")),
        table(("medium", "articles", "copied", "first", "days after the first"), rows),
    ]


def _articles(impact: Impact) -> list[str]:
    rows = [
        (
            article.published,
            article.host,
            TableLink(article.url, article.title or article.url),
            article.language,
            article.section,
            f"{article.verdict} ({article.copied:.0%} of {article.copied_from})" if article.copied else article.verdict,
            article.agency,
        )
        for article in impact.members[:_ROWS]
    ]
    left = len(impact.members) - len(rows)
    more = [text(f"{counted(left, 'more article')} in the JSON file.")] if left else []
    return [table(("day", "medium", "article", "language", "section", "text", "agency"), rows), *more]
