"""Proof of a copy: pages shown from the archive alone, beside the live ones.

A page is shown twice in the browser: once the collection answers for the whole web, once the web itself, asked as
politely as by a crawl. What differs says how faithful the copy is: requests that only the live page had an answer to,
words, and the part of the picture that is another.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.export.single_page import ArchivedAnswers
from lycosa.fetch.address_guard import AddressGuard
from lycosa.output.plain import counted
from lycosa.politeness.single_requests import Reply, SingleRequests
from lycosa.render.messages import Resource
from lycosa.render.still import Still, StillCamera, opened_camera

_BYTES = 32 << 20
#: From here on a page counts as faithful: so little of the words and of the picture is another.
WORDS, PICTURE = 0.02, 0.03
_SHOWN = 3


class PageProof(Struct):
    """How the copy of one page compares with the live page."""

    url: str
    requests: int  # of the live page
    missing: list[str]  # those that the live page had an answer to, and the archive has none
    words: float  # the part of the words that is another, 0 to 1
    picture: float  # the part of the picture that is another
    problem: str = ""  # why nothing can be said

    @property
    def faithful(self) -> bool:
        return not self.problem and not self.missing and self.words <= WORDS and self.picture <= PICTURE


class ProofReport(Struct):
    """How faithful a copy is, by the pages that were looked at."""

    pages: list[PageProof]
    mended: int = 0  # requests of theirs that had no answer before, and were made for the archive

    @property
    def missing(self) -> tuple[str, ...]:
        """All that the archive lacks."""
        return tuple(dict.fromkeys(url for page in self.pages for url in page.missing))

    @property
    def problems(self) -> int:
        """How many pages are not as the live ones."""
        return sum(not page.faithful for page in self.pages)

    @property
    def text(self) -> str:
        """The report as people read it."""
        asked = sum(page.requests for page in self.pages)
        lacking = sum(len(page.missing) for page in self.pages)
        good = len(self.pages) - self.problems
        lines = [f"As faithful as can be seen: {good:,} of {counted(len(self.pages), 'page')}."]
        lines.append(f"{lacking:,} of {counted(asked, 'request')} had no answer in it.")
        for page in self.pages:
            if page.problem:
                lines.append(f"  {page.url}: {page.problem}")
            elif not page.faithful:
                lines.append(f"  {page.url}: {page.words:.1%} of the words, {page.picture:.1%} of the picture differ")
            lines += [f"    not in the archive: {url}" for url in page.missing[:_SHOWN]]
            if len(page.missing) > _SHOWN:
                lines.append(f"    and {len(page.missing) - _SHOWN:,} more")
        if self.mended:
            lines.append(f"{counted(self.mended, 'address', 'was')} fetched that the archive had lacked.")
        elif lacking:
            lines.append("What is missing is fetched by: lycosa crawl --requisites page --recrawl --full")
        return "\n".join(lines)


def prove(
    collection: Collection, *, pages: int = 0, chosen: Sequence[str] = (), keep: Path | None = None
) -> ProofReport:
    """Compare so many pages, spread over the collection, or those chosen; `keep` is for the pictures of both."""
    chosen = chosen or _choose(collection, pages)
    archived = ArchivedAnswers(collection)
    report = ProofReport([])
    with opened_camera(collection.mission) as camera, _opened_web(collection, chosen) as live:
        for url in chosen:
            page = archived.find(url)  # what scripts have made already, they would make once more
            copy = camera.take(url, archived, scripts=page is None or not page.rendered)
            original = camera.take(url, live)
            missing = sorted(each for each in set(original.asked) - set(original.failed) if archived(each) is None)
            report.pages.append(_compare(url, copy, original, missing=missing, camera=camera))
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                for name, still in (("archive", copy), ("live", original)):
                    (keep / f"{len(report.pages):03d}-{name}.png").write_bytes(still.picture)
    return report


def prove_and_mend(folder: Path, every: int, fetch: Callable[[tuple[str, ...]], object]) -> ProofReport:
    """Compare every so many pages one; have what is missing fetched, and look at those pages once more.

    The pictures of both lie in the folder `proof` of the collection.
    """
    with Collection(folder) as collection:
        report = prove(collection, pages=-(-len(collection) // every), keep=folder / "proof")
    report.mended = len(report.missing)
    if report.missing:
        fetch(report.missing)
        lacking = [page.url for page in report.pages if page.missing]
        with Collection(folder) as collection:
            again = {page.url: page for page in prove(collection, chosen=lacking).pages}
        report.pages = [again.get(page.url, page) for page in report.pages]
    return report


def _choose(collection: Collection, pages: int) -> list[str]:
    """Pages of HTML, spread evenly over those that were found."""
    found = [page.url for page in collection.pages(mime="*html*") if page.status == 200]
    stride = max(1.0, len(found) / pages)
    return [found[int(place * stride)] for place in range(min(pages, len(found)))]


def _compare(url: str, copy: Still, live: Still, *, missing: list[str], camera: StillCamera) -> PageProof:
    problem = copy.problem and f"the copy cannot be shown: {copy.problem}"
    problem = problem or (live.problem and f"the live page cannot be shown: {live.problem}")
    words = differing_words(copy.text, live.text)
    picture = camera.compare(copy.picture, live.picture) if not problem else 1.0
    return PageProof(url, len(set(live.asked)), missing, words, picture, problem)


def differing_words(one: str, other: str) -> float:
    """The part of the words of two texts that only one of them has, 0 to 1."""
    mine, theirs = Counter(one.split()), Counter(other.split())
    total = mine.total() + theirs.total()
    return 1 - 2 * (mine & theirs).total() / total if total else 0.0


@contextmanager
def _opened_web(collection: Collection, pages: Iterable[str]) -> Iterator[Callable[[str], Resource | None]]:
    """The live web as a page of the collection may ask it: each address once, and as politely as in a crawl."""
    mission = collection.mission
    known: dict[str, Resource | None] = {}
    guard = AddressGuard(
        allow_private=mission.fetch.allow_private,
        connect_to=mission.fetch.connect_to,
        seed_hosts={urls.host_of(url) for url in pages},
    )
    with tempfile.TemporaryDirectory(prefix="lycosa-proof-") as spool:
        requests = SingleRequests(mission, guard, spool_folder=spool, robots=lambda origin: None)

        def receive(tag: object, reply: Reply) -> None:
            url = str(tag)
            if reply.status and reply.url != urls.normalise(url):
                known[url] = Resource(0, 302, {"location": reply.url})
                url = reply.url
            given = Resource(0, reply.status, reply.headers, reply.body)
            known[url] = given if reply.status and (not reply.reason or reply.status >= 400) else None

        def answer(url: str) -> Resource | None:
            if url not in known and url.startswith(("http://", "https://")):
                requests.ask(url, url, max_bytes=_BYTES)
                requests.run(receive)
            return known.get(url)

        try:
            yield answer
        finally:
            requests.close()
