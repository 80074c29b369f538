"""Stories against the truth: the events of the synthetic web's newspapers, and scores of what was put together."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class ToldArticle(NamedTuple):
    """An article and the event that it tells of."""

    url: str
    data: dict[str, Any]
    event: str


class StoryScores(NamedTuple):
    """How well articles were put together."""

    precision: float
    recall: float
    b_cubed_precision: float
    b_cubed_recall: float

    @property
    def f(self) -> float:
        return 2 * self.precision * self.recall / ((self.precision + self.recall) or 1)

    @property
    def b_cubed_f(self) -> float:
        both = self.b_cubed_precision + self.b_cubed_recall
        return 2 * self.b_cubed_precision * self.b_cubed_recall / (both or 1)


def score_stories(events: dict[str, str], stories: dict[str, int]) -> StoryScores:
    """Compare stories with events, both by URL."""

    def pairs(counts: Counter[Any]) -> int:
        return sum(count * (count - 1) // 2 for count in counts.values())

    both = Counter((events[url], stories[url]) for url in events)
    by_event, by_story = Counter(events.values()), Counter(stories[url] for url in events)
    right = pairs(both)
    total = len(events)
    return StoryScores(
        right / (pairs(by_story) or 1),
        right / (pairs(by_event) or 1),
        sum(n * n / by_story[story] for (_, story), n in both.items()) / total,
        sum(n * n / by_event[event] for (event, _), n in both.items()) / total,
    )


def world_articles(world: Path, seed: int) -> Iterator[ToldArticle]:
    """The articles of the synthetic web, as its truth has them at the end."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(world))
    from webworld.news import NewsSite  # type: ignore[import-not-found]
    from webworld.universe import World  # type: ignore[import-not-found]

    for site in World(seed).sites.values():
        if not isinstance(site, NewsSite):
            continue
        for page in (page for section in site.items for page in section):
            gold = site.fields(page, 720)
            names = ("title", "authors", "date", "place", "section", "language")
            text = "\n".join([gold["abstract"], *gold["body"]])
            event = gold["event"]
            yield ToldArticle(
                gold["url"],
                {**{name: gold[name] for name in names}, "text": text},
                gold["url"] if event is None else f"event {event}",
            )
