"""Watched crawls: the figures of the collections that somebody looks at, one reading in two seconds for all who do."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from threading import Lock

from msgspec import Struct

from lycosa.collection.status import running_crawl
from lycosa.serve.collection_summaries import stamp_of_files
from lycosa.serve.crawl_figures import CrawlFigures, find_log, read_figures
from lycosa.serve.rate_history import POINTS, RatePoint, read_rates, spread_evenly

LOOK_S = 2.0
_MOST_SAMPLES = 1_800
_RATE_S = 10.0  # over which the present speed is the mean
_MOST_WATCHED = 200


class RateChart(Struct, frozen=True):
    """The speed over time, as it is drawn in a box of 1000 by 200."""

    line: str = ""  # points of an SVG path
    area: str = ""
    top: float = 0.0  # answers per second at the upper edge
    began: float = 0.0
    ended: float = 0.0


class CrawlPage(Struct, frozen=True):
    """What the page of a crawl shows."""

    name: str
    figures: CrawlFigures
    pages_per_s: float  # now
    answers_per_s: float
    rates: list[RatePoint]
    chart: RateChart


class WatchedCrawls:
    """The latest figures of the collections that somebody watches, and what they were before."""

    def __init__(self) -> None:
        self._watched: dict[Path, _WatchedCrawl] = {}
        self._lock = Lock()
        self.watchers = 0
        self.closing = False  # the server ends, and whoever watches goes

    def read(self, name: str, folder: Path) -> CrawlPage:
        """The page of a collection, not older than two seconds."""
        with self._lock:
            if len(self._watched) > _MOST_WATCHED:
                self._watched.clear()
            watched = self._watched.setdefault(folder, _WatchedCrawl(name, folder))
        return watched.read()


class _WatchedCrawl:
    """One collection that is watched."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._lock = Lock()
        self._read_at = 0.0
        self._stamp: object = None
        self._page: CrawlPage | None = None
        self._samples: deque[tuple[float, int, int, int]] = deque(maxlen=_MOST_SAMPLES)  # time, process, answers, pages
        self._rates: list[RatePoint] = []
        self._rates_at = 0.0

    def read(self) -> CrawlPage:
        with self._lock:
            now, process = time.monotonic(), running_crawl(self._folder)
            stamp = process, stamp_of_files(self._folder)
            if self._page is not None and process == self._page.figures.process:
                is_idle = stamp == self._stamp and not self._page.answers_per_s and not self._page.pages_per_s
                if is_idle or (process and now - self._read_at < LOOK_S * 0.9):
                    return self._page
            self._read_at, self._stamp = now, stamp
            self._page = None  # of one that vanished, nothing is shown any more
            self._page = self._look()
            return self._page

    def _look(self) -> CrawlPage:
        figures = read_figures(self._folder)
        if self._samples and (self._samples[-1][1] != figures.process or self._samples[-1][2] > figures.answers):
            self._samples.clear()  # another run, or another round
        self._samples.append((figures.at, figures.process, figures.answers, figures.pages))
        rates = self._read_rates(figures)
        pages, answers = self._speed(figures)
        return CrawlPage(
            name=self._name,
            figures=figures,
            pages_per_s=pages,
            answers_per_s=answers,
            rates=rates,
            chart=draw_rates(rates),
        )

    def _speed(self, figures: CrawlFigures) -> tuple[float, float]:
        """Pages and answers per second over the last moments; before there are two samples, over the run."""
        if not figures.process:
            return 0.0, 0.0
        then = next((sample for sample in self._samples if sample[0] >= figures.at - _RATE_S), self._samples[-1])
        seconds = figures.at - then[0]
        if seconds < LOOK_S / 2:
            recent = [point.rate for point in self._rates if point.at > figures.at - _RATE_S]
            mean = sum(recent) / len(recent) if recent else 0.0
            return 0.0, round(mean, 1)
        return round((figures.pages - then[3]) / seconds, 1), round((figures.answers - then[2]) / seconds, 1)

    def _read_rates(self, figures: CrawlFigures) -> list[RatePoint]:
        """The speed over the run, or over the last round where none runs; a long history is read less often."""
        began = figures.run_started if figures.process else figures.round_started
        patience = LOOK_S if figures.at - began < 600 else 10.0
        if not self._rates or figures.at - self._rates_at >= patience:
            until = figures.at if figures.process else 0.0
            rates = read_rates(find_log(self._folder), since=began, until=until)
            if not rates and len(self._samples) > 1:
                seen = [(sample[0], float(sample[2])) for sample in self._samples]
                rates = spread_evenly(seen, until=figures.at, points=POINTS)
            self._rates, self._rates_at = rates, figures.at
        return self._rates


def draw_rates(rates: list[RatePoint]) -> RateChart:
    """The curve of a speed, a step for each span; empty where there are not two of them."""
    if len(rates) < 2:
        return RateChart()
    top = _round_up(max(point.rate for point in rates))
    step = 1000 / len(rates)
    heights = [200 - 200 * point.rate / top for point in rates]
    steps = (f"V{height:.1f}H{step * nth:.1f}" for nth, height in enumerate(heights, 1))
    line = f"M0 {heights[0]:.1f}" + "".join(steps)
    began = 2 * rates[0].at - rates[1].at
    return RateChart(line=line, area=f"{line}V200H0Z", top=top, began=began, ended=rates[-1].at)


def _round_up(value: float) -> float:
    """The next number that people like at the end of an axis: 1, 2 or 5, and zeros."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    return next((unit * step for step in (1, 2, 5, 10) if unit * step >= value), value)
