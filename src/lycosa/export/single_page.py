"""One page as one file: HTML with everything in it, PDF, or a picture.

In the HTML what shows the page stands as data, and links lead to the live addresses. PDF and picture are made by the
browser, for which the archive answers instead of the web (`ArchivedAnswers`).
"""

from __future__ import annotations

import base64
from pathlib import Path

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.errors import UsageError
from lycosa.export.browsable import AddressReplacer, rewrite_page, rewrite_sheet
from lycosa.export.mirror import type_of
from lycosa.output.atomic_file import whole_file
from lycosa.parse import requisites
from lycosa.render.messages import Resource

ENDINGS = ("html", "pdf", "png")
_PART_BYTES = 32 << 20
_ALL_BYTES = 256 << 20
_SHEETS_DEEP = 5  # style sheets that import each other
_HOPS = 10


class ArchivedAnswers:
    """Answers for the web from a collection alone: for each address its copy of a round, or the nearest."""

    def __init__(self, collection: Collection, *, round: int | None = None) -> None:
        self._collection = collection
        self._round = round
        self._cleaner = urls.Resolver(urls.Cleaner(collection.mission.urls))

    def find(self, url: str) -> Page | None:
        """The copy at an address, redirects followed; None: the collection has none."""
        for _ in range(_HOPS):
            clean = self._cleaner.resolve(url, url)
            if clean is None:
                return None
            page = self._collection.page(clean, round=self._round) or self._collection.page(clean)
            known = self._collection.url(clean) if page is None else None
            if known is None or not known.redirect:
                return page
            url = known.redirect
        return None

    def __call__(self, url: str) -> Resource | None:
        """What a browser is answered; another address than that of the copy is a redirect to it."""
        page = self.find(url)
        if page is None or page.problem:
            return None
        if page.url != self._cleaner.resolve(url, url):
            return Resource(0, 302, {"location": page.url})
        headers = {**page.headers, "content-type": "text/html; charset=utf-8"} if page.rendered else page.headers
        return Resource(0, page.status if page.status != 304 else 200, headers, page.body)


def export_page(collection: Collection, url: str, to: Path, *, round: int | None = None) -> int:
    """Write one page as the ending of the file's name says; returns its size."""
    clean = urls.normalise(url)
    answers = ArchivedAnswers(collection, round=round)
    page = answers.find(clean) if clean is not None else None
    if page is None:
        raise UsageError(f"There is no page {url[:500]} in the collection: lycosa why tells more.")
    if page.problem:
        raise UsageError(f"{page.url} cannot be read from the archive: {page.problem} (see lycosa verify).")
    kind = to.suffix.lower().removeprefix(".")
    data = _Inlining(answers, collection).page(page) if kind == "html" else _photograph(collection, page, answers, kind)
    with whole_file(to) as unfinished:
        Path(unfinished).write_bytes(data)
    return len(data)


def _photograph(collection: Collection, page: Page, answers: ArchivedAnswers, kind: str) -> bytes:
    from lycosa.render.still import opened_camera

    with opened_camera(collection.mission) as camera:
        still = camera.take(page.url, answers, pdf=kind == "pdf", scripts=not page.rendered)
    if still.problem:
        raise UsageError(f"{page.url} cannot be shown: {still.problem}.")
    return still.picture


class _Inlining:
    """One page whose requisites become data; bounds count for all of them."""

    def __init__(self, answers: ArchivedAnswers, collection: Collection) -> None:
        self._answers = answers
        self._cleaner = urls.Cleaner(collection.mission.urls)
        self._room = _ALL_BYTES

    def page(self, page: Page) -> bytes:
        """The page as one file."""
        tree = page.doc.tree
        if tree is None:
            raise UsageError(f"{page.url} is no HTML ({page.mime}): lycosa export mirror writes it as it is.")
        base = page.doc.base
        resolver = urls.Resolver(self._cleaner)
        shown = {resolver.resolve(href, base) for href in requisites.of_page(tree, media=True)}
        replacer = AddressReplacer(self._cleaner, lambda url: self._data(url, _SHEETS_DEEP) if url in shown else None)
        return rewrite_page(tree, replacer.of(base, page.url), rendered=bool(page.rendered))

    def _data(self, url: str, depth: int) -> str | None:
        """A requisite as an address of data; None: it is not there, or there is no room."""
        page = self._answers.find(url)
        if page is None or page.problem or page.size > _PART_BYTES or "html" in page.mime:
            return None
        body, mime = page.body, page.mime or "application/octet-stream"
        if type_of(page.mime, page.url) == "css" and depth:
            inner = AddressReplacer(self._cleaner, lambda part: self._data(part, depth - 1))
            body, mime = rewrite_sheet(page, inner.of(page.url, page.url)), "text/css"
        self._room -= len(body) * 4 // 3
        return f"data:{mime};base64,{base64.b64encode(body).decode()}" if self._room > 0 else None
