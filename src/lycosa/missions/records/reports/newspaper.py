"""Newspaper: the records of a reader's interests as a static site, with a front page, sections, articles and days.

Pages need no script and ask the network for nothing; their names are made of numbers and plain letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock
from lycosa.clock import iso_time
from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.readers import MAX_ITEMS, Reader
from lycosa.missions.records.reports.digest import (
    EVERYTHING,
    Digest,
    DigestItem,
    DigestStore,
    date_of,
    title_of,
    view_record,
)
from lycosa.missions.records.reports.digest_output import make_entry, make_slug
from lycosa.missions.records.reports.feed import entry_id, write_feed
from lycosa.missions.records.reports.template_engine import built_in, render

#: Articles of a section that the front page shows.
_ON_FRONT = 6
#: An article is half as new after so many days.
_HALF_LIFE_DAYS = 3.0
_MAX_SECTIONS = 40
#: Paragraphs of the first article that the front page shows, unless they are too long for it.
_OPENING = 3
_MAX_OPENING = 1500
_MAX_FEED = 100


class PaperArticle(Struct, kw_only=True):
    """An article of the newspaper."""

    item: DigestItem
    path: str
    day: str
    rank: float
    section: str


class Newspaper:
    """The newspaper of one reader."""

    def __init__(
        self, store: RecordStore, reader: Reader, *, title: str = "", limit: int = MAX_ITEMS, since: float = 0.0
    ) -> None:
        self._digests = DigestStore(store)
        self._digest: Digest = self._digests.make(replace(reader, limit=MAX_ITEMS, group="interest"), since=since)
        self._title = title or f"The {reader.name} Gazette"
        self._reader = reader
        self._now = clock.now()
        self._articles = self._choose(limit)
        self._by_record = {article.item.record.id: article for article in self._articles}
        self._sections = self._divide()

    @property
    def count(self) -> int:
        """How many articles it has."""
        return len(self._articles)

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """The files of the site, each with its path below the folder."""
        yield "index.html", self._page("newspaper_front.html", "", sections=self._front_sections())
        for name, articles in self._sections.items():
            views = [self._view(article, "../") for article in articles]
            yield (
                f"section/{self._slugs[name]}.html",
                self._page("newspaper_section.html", "../", name=name, articles=views),
            )
        for article in self._articles:
            yield article.path, self._article_page(article)
        days: dict[str, list[PaperArticle]] = {}
        for article in self._articles:
            days.setdefault(article.day, []).append(article)
        listed = sorted(days, reverse=True)
        counts = [{"day": day, "count": len(days[day])} for day in listed]
        yield "archive/index.html", self._page("newspaper_archive.html", "../", days=counts)
        for nth, day in enumerate(listed):
            yield (
                f"archive/{day}.html",
                self._page(
                    "newspaper_day.html",
                    "../",
                    day=day,
                    articles=[self._view(article, "../") for article in days[day]],
                    earlier=listed[nth + 1] if nth + 1 < len(listed) else "",
                    later=listed[nth - 1] if nth else "",
                ),
            )
        yield "feed.atom", self._feed()

    def _choose(self, limit: int) -> list[PaperArticle]:
        """The articles, best first: what meets the interests well and is new; the newest decides what is new."""
        dates = {item.record.id: date_of(item.record) for item in self._digest.items}
        newest = max(dates.values(), default=datetime.fromtimestamp(0, UTC))
        found = []
        for item in self._digest.items:
            age_days = max(0.0, (newest - dates[item.record.id]).total_seconds() / 86_400)
            rank = (1.0 + item.score) * 0.5 ** min(age_days / _HALF_LIFE_DAYS, 900.0)
            found.append(
                PaperArticle(
                    item=item,
                    path=f"article/{item.record.id}-{make_slug(title_of(item.record))}.html",
                    day=dates[item.record.id].date().isoformat(),
                    rank=rank,
                    section=item.matches[0].interest if item.matches else EVERYTHING,
                )
            )
        found.sort(key=lambda article: (-article.rank, article.item.record.id))
        return found[:limit]

    def _divide(self) -> dict[str, list[PaperArticle]]:
        """The sections: the reader's interests in their order; without any, the sections of the media, or the media."""
        named: dict[str, list[PaperArticle]] = {interest.name: [] for interest in self._reader.interests}
        if not named:
            for article in self._articles:
                view = view_record(article.item.record)
                article.section = view["section"] or view["host"]
        for article in self._articles:
            named.setdefault(article.section, []).append(article)
        kept = dict([(name, articles) for name, articles in named.items() if articles][:_MAX_SECTIONS])
        self._slugs: dict[str, str] = {}
        for name in kept:
            self._slugs[name] = make_slug(name, self._slugs.values())
        return kept

    def _front_sections(self) -> list[dict[str, Any]]:
        """The sections with their best articles; the front page tells each story once."""
        sections = []
        told: set[int] = set()
        for name, articles in self._sections.items():
            shown: list[PaperArticle] = []
            for article in articles:
                if article.item.story not in told and len(shown) < _ON_FRONT:
                    shown.append(article)
                    told |= {article.item.story} - {0}
            sections.append(
                {
                    "name": name,
                    "path": f"section/{self._slugs[name]}.html",
                    "articles": [self._view(article, "") for article in shown],
                    "more": len(articles) - len(shown),
                }
            )
        return sections

    def _view(self, article: PaperArticle, root: str) -> dict[str, Any]:
        """An article as lists show it."""
        view = view_record(article.item.record)
        paragraphs = view.pop("paragraphs")
        return {
            **view,
            "path": f"{root}{article.path}",
            "opening": paragraphs[:_OPENING] if sum(map(len, paragraphs[:_OPENING])) < _MAX_OPENING else [],
            "media": article.item.media,
        }

    def _article_page(self, article: PaperArticle) -> bytes:
        view = self._digest.view(article.item)
        others = self._digest.related.get(article.item.record.id, [])
        related = [self._view_related(other) for other in others if other.id != article.item.record.id]
        section = article.section
        path = f"../section/{self._slugs[section]}.html" if section in self._slugs else ""
        return self._page(
            "newspaper_article.html",
            "../",
            article={**view, "related": related[:20], "day": article.day},
            section={"name": section, "path": path},
        )

    def _view_related(self, record: StoredRecord) -> dict[str, Any]:
        """Another article of the story: in this newspaper, or at its source."""
        article = self._by_record.get(record.id)
        view = view_record(record)
        return {**view, "path": f"../{article.path}" if article else "", "paragraphs": []}

    def _page(self, template: str, root: str, **data: Any) -> bytes:
        paper = {
            "title": self._title,
            "made": iso_time(self._now),
            "count": len(self._articles),
            "sections": [{"name": name, "path": f"{root}section/{slug}.html"} for name, slug in self._slugs.items()],
        }
        context = {"paper": paper, "root": root, "report": {"name": self._title, "made": paper["made"]}, **data}
        return render(built_in(template), context, "html").encode()

    def _feed(self) -> bytes:
        entries = [
            make_entry(
                article.item.record,
                published=article.item.record.first_at,
                updated=article.item.record.changed_at,
                interests=[article.section],
            )
            for article in self._articles[:_MAX_FEED]
        ]
        name = self._digests.feed_id(self._reader.name)
        return write_feed(
            entries, id=entry_id("newspaper", name, ""), title=self._title, updated=self._now, author="lycosa"
        )
