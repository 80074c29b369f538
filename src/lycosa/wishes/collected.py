"""Collected wishes: what a collection holds of the signals that concern one of its pages."""

from __future__ import annotations

from lycosa.collection.collection import Collection, Page
from lycosa.wishes.signals import Signal, read_page
from lycosa.wishes.sites import SiteWishes


class CollectedWishes:
    """Gathers the signals on pages of a collection: of the answer, of its markup, and of the files of its site."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._agent = collection.mission.agent.name
        self._sites = SiteWishes(self._find, agent=self._agent)

    def _find(self, key: str) -> bytes:
        """A robots.txt by its origin, or a file of the site by its address, fetched for this or as a page."""
        rows = self._collection.rows("SELECT status, body FROM robots WHERE origin = ?", [key])
        row = next(rows, None)
        if row is not None:
            return bytes(row[1] or b"") if 200 <= row[0] < 300 else b""
        page = self._collection.page(key) if key.count("/") > 2 else None
        return page.body if page is not None and page.status == 200 else b""

    def of_site(self, url: str) -> list[Signal]:
        """What the files of a site say of one address."""
        return self._sites.of(url)

    def of_page(self, page: Page, *, markup: bool = True) -> list[Signal]:
        """All signals on a page; without `markup`, which may be hostile, those of its header and its site."""
        tree = page.doc.tree if markup else None
        return [*self.of_site(page.url), *read_page(page.headers, tree, url=page.url, agent=self._agent)]
