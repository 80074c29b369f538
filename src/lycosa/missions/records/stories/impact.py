"""Impact of a story across media: how many took it up, when, in which languages and sections, and in whose words.

It is told as data, and as a page with charts that asks the network for nothing. Titles, hosts and sections come from
anybody: everything is escaped by the writers of the page and of the charts.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.field_roles import Roles, read_roles
from lycosa.missions.records.stories.catalogue import (
    CopyVerdict,
    Story,
    find_copies,
    list_stories,
    read_story,
    story_of,
    write_day,
)
from lycosa.missions.records.stories.features import read_features
from lycosa.output.charts import Bar, draw_bars, draw_histogram
from lycosa.output.html_page import Section, TableLink, table, text, tiles, write_page
from lycosa.output.plain import counted
from lycosa.text.fold import fold

#: Stories that a query may bring together.
_MOST_STORIES = 500
_LONG_SPAN = 60  # days, from which on weeks are counted
_LONGER_SPAN = 420  # and months
_LONGEST_SPAN = 1_800  # and years


class ImpactArticle(Struct, frozen=True):
    """One article of a story."""

    record: int
    story: int
    url: str
    host: str
    title: str
    published: str  # the day, ISO 8601
    language: str
    section: str
    words: int
    copied: float  # the share of its text that an earlier one has
    copied_from: str  # the host of that one
    verdict: str  # own words, partly copied, copy
    agency: str
    is_gone: bool


class MediumImpact(Struct, frozen=True):
    """What one medium brought."""

    host: str
    articles: int
    copies: int
    first: str
    days_after: int  # the first article of all


class Impact(Struct, frozen=True):
    """The impact of a story, or of the stories that a query finds."""

    title: str
    query: str
    stories: int
    articles: int
    media: int
    first: str
    last: str
    first_host: str
    first_url: str
    copied_share: float  # of all words, those that stand in an earlier article
    terms: tuple[str, ...]
    over_time: tuple[tuple[str, int], ...]  # the beginning of each day, week or month
    step: str
    by_medium: tuple[MediumImpact, ...]
    by_language: tuple[tuple[str, int], ...]
    by_section: tuple[tuple[str, int], ...]
    members: tuple[ImpactArticle, ...]


def find_stories(store: RecordStore, query: str) -> list[Story]:
    """The stories that are meant: by number, by the words that one of their records has, else the widest one."""
    if query.isdecimal():
        number = int(query[:18])
        found = read_story(store, number) or read_story(store, story_of(store, number))
        if found is None:
            raise UsageError(f"There is no story {query} in this collection: `lycosa stories` lists them.")
        return [found]
    numbers = _search(store, query) if query else _widest(store)
    found_stories = [story for number in numbers if (story := read_story(store, number)) is not None]
    if not found_stories:
        what = f"No record has the words {query}" if query else "There are no stories in this collection"
        raise UsageError(f"{what}: `lycosa stories` lists them, `lycosa extract` makes the records.")
    return found_stories


def measure_impact(stories: Sequence[Story], *, query: str = "") -> Impact:
    """The figures of stories, put together."""
    members = sorted(
        (article for story in stories for article in _articles(story)),
        key=lambda article: (article.published, article.record),
    )
    widest = max(stories, key=lambda story: (len(story.hosts), len(story.records), -story.id))
    first = members[0]
    words = sum(article.words for article in members)
    copied = sum(article.copied * article.words for article in members)
    step, over_time = _count_over_time([article.published for article in members])
    return Impact(
        title=widest.title if not query or len(stories) == 1 else query,
        query=query,
        stories=len(stories),
        articles=len(members),
        media=len({article.host for article in members}),
        first=first.published,
        last=members[-1].published,
        first_host=first.host,
        first_url=first.url,
        copied_share=round(copied / words, 3) if words else 0.0,
        terms=widest.terms,
        over_time=over_time,
        step=step,
        by_medium=tuple(_count_media(members)),
        by_language=_ranked(article.language or "unknown" for article in members),
        by_section=_ranked(article.section for article in members if article.section),
        members=tuple(members),
    )


def _articles(story: Story) -> Iterator[ImpactArticle]:
    hosts = {record.id: record.host for record in story.records}
    verdicts = find_copies(story.records)
    for record, published, verdict in zip(story.records, story.published, verdicts, strict=True):
        roles = read_roles(record.data)
        yield ImpactArticle(
            record=record.id,
            story=story.id,
            url=record.url,
            host=record.host,
            title=" ".join(roles.title.split())[:300],
            published=write_day(published),
            language=_language(roles),
            section=" ".join(roles.section.split())[:100],
            words=len(roles.text.split()),
            copied=verdict.share if verdict.is_copy else 0.0,
            copied_from=_source(verdict, hosts),
            verdict=verdict.said,
            agency=verdict.agency,
            is_gone=record.gone,
        )


def _source(verdict: CopyVerdict, hosts: dict[int, str]) -> str:
    return hosts.get(verdict.source, "") if verdict.is_copy else ""


def _language(roles: Roles) -> str:
    return roles.language or read_features(roles).language


def _count_media(members: Sequence[ImpactArticle]) -> Iterator[MediumImpact]:
    counts = Counter(article.host for article in members)
    begin = datetime.date.fromisoformat(members[0].published)
    for host, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        own = [article for article in members if article.host == host]
        after = datetime.date.fromisoformat(own[0].published) - begin
        copies = sum(article.verdict != "own words" for article in own)
        yield MediumImpact(host, count, copies, own[0].published, after.days)


def _count_over_time(days: Sequence[str]) -> tuple[str, tuple[tuple[str, int], ...]]:
    """How many fall on each day, week or month between the first and the last, the empty ones too."""
    dates = [datetime.date.fromisoformat(day) for day in days]
    span = (dates[-1] - dates[0]).days
    limits = ((_LONG_SPAN, "day"), (_LONGER_SPAN, "week"), (_LONGEST_SPAN, "month"))
    step = next((step for limit, step in limits if span <= limit), "year")
    counts = Counter(_begin_of(date, step) for date in dates)
    bins, date = [], _begin_of(dates[0], step)
    while date <= dates[-1]:
        bins.append((date.isoformat()[: {"month": 7, "year": 4}.get(step, 10)], counts[date]))
        date = _begin_of(date + datetime.timedelta({"day": 1, "week": 7, "month": 31, "year": 366}[step]), step)
    return step, tuple(bins)


def _begin_of(date: datetime.date, step: str) -> datetime.date:
    if step == "week":
        return date - datetime.timedelta(date.weekday())
    if step == "month":
        return date.replace(day=1)
    return date.replace(month=1, day=1) if step == "year" else date


def _ranked(values: Iterator[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))


def _widest(store: RecordStore) -> list[int]:
    best = max(
        list_stories(store), key=lambda story: (story.hosts, story.records, story.last_at, -story.id), default=None
    )
    return [] if best is None else [best.id]


def _search(store: RecordStore, query: str) -> list[int]:
    """The stories of records whose title or text has all the words, the newest records first."""
    words = fold(query).split()
    found: dict[int, None] = {}
    for record in store.records(gone=True):
        roles = read_roles(record.data)
        text = fold(f"{roles.title}\n{roles.lead}\n{roles.text}")
        if all(word in text for word in words) and (story := story_of(store, record.id)):
            found[story] = None
            if len(found) >= _MOST_STORIES:
                break
    return list(found)


#: Bars of a chart and rows of a table; what is more stands in the JSON.
_BARS = 30
_ROWS = 1_000


def write_impact(impact: Impact) -> Iterable[str]:
    """The page, piece by piece."""
    span = impact.first if impact.first == impact.last else f"{impact.first} to {impact.last}"
    subtitle = f"{counted(impact.articles, 'article')} in {counted(impact.media, 'medium')}, {span}. Made by lycosa."
    return write_page(f"Impact: {impact.title[:200]}", subtitle, _sections(impact))


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
    yield Section("Articles", _list_articles(impact))


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


def _list_articles(impact: Impact) -> list[str]:
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
