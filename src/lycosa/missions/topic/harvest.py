"""The harvest of a hunt: which share of the pages is of the topic, so far and lately; what is known, what is unsure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.output.plain import counted

#: The last pages, by which it is told whether there is more to be found; at least so many, and this share of all.
LATELY, _LATELY_SHARE = 200, 0.1
#: Below this part of the share of all pages before, the topic is as good as exhausted.
_EXHAUSTED = 0.1
_POINTS = 40
_PAGES = "SELECT page.kind FROM page JOIN url USING (n) ORDER BY url.fetched_at, n"
_JUDGED = """SELECT url.url, record.json FROM record JOIN url USING (n) WHERE record.quarry = 'topic'
ORDER BY abs(json_extract(record.json, '$.relevance') - ?) LIMIT ?"""


class Harvest(Struct, frozen=True):
    """How many pages were stored, and of the topic; the same of the last ones; for a curve, finds after N pages."""

    pages: int
    found: int
    lately: int
    found_lately: int
    curve: list[tuple[int, int]]

    @property
    def is_exhausted(self) -> bool:
        """Whether the last pages brought next to nothing, compared to those before."""
        before, found = self.pages - self.lately, self.found - self.found_lately
        return before >= LATELY and found > 0 and self.found_lately / self.lately < _EXHAUSTED * found / before


class JudgedPage(Struct, frozen=True):
    """A page as it was judged, with the words for and against it."""

    url: str
    title: str
    relevance: float
    words_for: list[str]
    words_against: list[str]


def measure_harvest(collection: Collection) -> Harvest:
    """The harvest of a collection, in the order in which its pages were fetched."""
    finds = bytes(bool(kind) for (kind,) in collection.rows(_PAGES))
    step = max(1, len(finds) // 1000)
    curve = [(0, 0)]
    for start in range(0, len(finds), step):
        part = finds[start : start + step]
        curve.append((start + len(part), curve[-1][1] + sum(part)))
    return read_curve(curve)


def read_curve(curve: Sequence[tuple[int, int]]) -> Harvest:
    """The harvest of so many pages that brought so many finds: both sums, from 0 on."""
    pages, found = curve[-1]
    lately = max(LATELY, int(pages * _LATELY_SHARE))
    before, found_before = max((point for point in curve if point[0] <= pages - lately), default=(0, 0))
    step = -(-len(curve) // _POINTS)
    return Harvest(pages, found, pages - before, found - found_before, [*curve[step:-1:step], curve[-1]])


def tell_status(collection: Collection) -> list[str]:
    """The harvest in a phrase."""
    harvest = measure_harvest(collection)
    return [f"harvest {harvest.found / harvest.pages:.0%}"] if harvest.pages else []


def tell_harvest(harvest: Harvest) -> list[str]:
    """The harvest in sentences."""
    if not harvest.pages:
        return []
    share, late = harvest.found / harvest.pages, harvest.found_lately / harvest.lately
    said = f"{harvest.found:,} of {counted(harvest.pages, 'page')} are of the topic ({share:.0%})"
    if harvest.lately < harvest.pages:
        said += f", of the last {harvest.lately:,} {late:.0%}"
    more = "The topic seems exhausted: the last pages brought next to nothing."
    return [f"{said}.", *([more] if harvest.is_exhausted else [])]


def list_judged(collection: Collection, *, near: float, most: int) -> Iterator[JudgedPage]:
    """The pages whose relevance is the nearest to a value."""
    for url, data in collection.rows(_JUDGED, [near, most]):
        found = msgspec.json.decode(data)
        yield JudgedPage(
            str(url),
            str(found.get("title", "")),
            float(found.get("relevance", 0.0)),
            list(found.get("for", {})),
            list(found.get("against", {})),
        )
