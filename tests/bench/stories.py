"""How recognising stories grows with the number of articles, and how good it is: run by hand, prints a table.

    python tests/bench/stories.py --articles 100000
    LYCOSA_SHARED=../shared python tests/bench/stories.py --world 5 6 7 8

Articles are made up: sixty papers in two languages over a year, words by their rank as in real texts, half of the
articles alone, the others told by two to twelve papers in own words around two persons, a place and a figure, one in
eight of them a copy of another. With --world they are those of the synthetic web of a seed, whose truth knows the
events. Times are CPU seconds of this process; pairs are compared within a story, B-cubed counts for every article.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from lycosa.missions.records.database import NewRecord, open_store
from lycosa.missions.records.stories import refresh_stories

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.story_scores import StoryScores, ToldArticle, score_stories, world_articles  # noqa: E402

PAPERS, DAYS, WORDS, NAMES, PLACES = 60, 365, 12_000, 4_000, 1_500
SYLLABLES = [a + b for a in "bdfglmnprstvk" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]


def make_articles(count: int, seed: int = 7) -> Iterator[ToldArticle]:
    chance = random.Random(seed)
    words = [["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(WORDS)] for _ in "ab"]
    ranks = list(accumulate(1 / (rank + 10) for rank in range(WORDS)))
    names = ["".join(chance.choices(SYLLABLES, k=3)).capitalize() for _ in range(NAMES)]
    places = ["".join(chance.choices(SYLLABLES, k=3)).capitalize() + "ia" for _ in range(PLACES)]
    begin = datetime.date(2024, 1, 1)

    def sentence(language: int) -> str:
        return " ".join(chance.choices(words[language], cum_weights=ranks, k=chance.randint(8, 16)))

    made = event = 0
    while made < count:
        event += 1
        people = [f"{chance.choice(names)} {chance.choice(names)}" for _ in range(2)]
        place, figure = chance.choice(places), f"{chance.randint(100, 99_999)}"
        day = begin + datetime.timedelta(chance.randrange(DAYS))
        copied = ""
        for paper in chance.sample(range(PAPERS), 1 if chance.random() < 0.7 else chance.randint(2, 12)):
            language = paper % 2
            facts = [*people, place, f"{figure} {chance.choice(words[language])}"]
            chance.shuffle(facts)
            parts = [f"{sentence(language)} {fact} {sentence(language)}." for fact in facts[: chance.randint(3, 4)]]
            parts += [f"{sentence(language)}." for _ in range(chance.randint(6, 14))]
            chance.shuffle(parts)
            if copied and chance.random() < 0.125:
                parts = [copied, sentence(language)]
            copied = text = " ".join(part[0].upper() + part[1:] for part in parts)
            yield ToldArticle(
                f"http://paper{paper}.test/{made}",
                {
                    "title": f"{sentence(language)[:50]} {place if chance.random() < 0.5 else people[0]}".capitalize(),
                    "date": (day + datetime.timedelta(chance.choice((0, 0, 0, 1, 1, 2)))).isoformat(),
                    "language": ("es", "en")[language],
                    "text": text,
                },
                str(event),
            )
            made += 1


def measure(articles: list[ToldArticle]) -> tuple[float, StoryScores]:
    """CPU seconds and scores."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as store:
        store.put((NewRecord(kind="article", url=each.url, data=each.data) for each in articles), at=1.7e9)
        began = time.process_time()
        refresh_stories(store)
        seconds = time.process_time() - began
        sql = "SELECT url, story FROM story_member JOIN records ON records.id = record"
        stories = dict(store.connection.execute(sql))
    return seconds, score_stories({each.url: each.event for each in articles}, stories)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--articles", type=int, default=100_000)
    parser.add_argument("--world", type=int, nargs="*", help="seeds of the synthetic web")
    given = parser.parse_args()
    print(f"{'':>10}{'articles':>10}{'seconds':>9}{'ms each':>9}{'peak MB':>9}{'P':>8}{'R':>8}{'F':>8}{'B3 F':>8}")
    shared = Path(os.environ.get("LYCOSA_SHARED", "../shared"))
    if given.world is not None:
        runs = [(f"world {seed}", lambda seed=seed: world_articles(shared / "world", seed)) for seed in given.world]
    else:
        sizes = [size for size in (1_000, 10_000) if size < given.articles]
        runs = [("made up", lambda size=size: make_articles(size)) for size in (*sizes, given.articles)]
    for name, make in runs:
        articles = list(make())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        seconds, scores = measure(articles)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
        print(
            f"{name:>10}{len(articles):>10,}{seconds:>9.1f}{seconds / len(articles) * 1e3:>9.2f}{peak:>9.0f}"
            f"{scores.precision:>8.3f}{scores.recall:>8.3f}{scores.f:>8.3f}{scores.b_cubed_f:>8.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
