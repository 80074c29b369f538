"""Collected wishes: what a collection holds of the signals that concern one of its pages."""

from __future__ import annotations

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.wishes.signals import Signal, find_rsl_addresses, read_page, read_robots, read_rsl, read_tdmrep

_KEPT = 10_000  # sites whose files are remembered


class _SiteFiles:
    """The files of one origin that speak of use; an empty one: the collection does not hold it."""

    def __init__(self, collection: Collection, origin: str) -> None:
        row = next(collection.rows("SELECT status, body FROM robots WHERE origin = ?", [origin]), None)
        self.robots = bytes(row[1] or b"") if row is not None and row[0] == 200 else b""
        # Addresses are written without the port that is usual.
        root = urls.normalise(f"{origin}/") or f"{origin}/"
        self.tdmrep = _read_body(collection, f"{root}.well-known/tdmrep.json")
        named = [urls.normalise(address, root) for address in find_rsl_addresses(self.robots)[:5]]
        self.licences = [body for address in named if address and (body := _read_body(collection, address))]


def _read_body(collection: Collection, url: str) -> bytes:
    page = collection.page(url)
    return page.body if page is not None and page.status == 200 else b""


class CollectedWishes:
    """Gathers the signals on pages of a collection: of the answer, of its markup, and of the files of its site."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._agent = collection.mission.agent.name
        self._sites: dict[str, _SiteFiles] = {}

    def of_site(self, url: str) -> list[Signal]:
        """What the files of a site say of one address."""
        origin = urls.origin_of(url)
        site = self._sites.get(origin)
        if site is None:
            if len(self._sites) > _KEPT:
                self._sites.clear()
            site = self._sites[origin] = _SiteFiles(self._collection, origin)
        signals = read_robots(site.robots, url=url, agent=self._agent) if site.robots else []
        signals += read_tdmrep(site.tdmrep, url=url) if site.tdmrep else []
        return signals + [signal for body in site.licences for signal in read_rsl(body, url=url)]

    def of_page(self, page: Page, *, markup: bool = True) -> list[Signal]:
        """All signals on a page; without `markup`, which may be hostile, those of its header and its site."""
        tree = page.doc.tree if markup else None
        return [*self.of_site(page.url), *read_page(page.headers, tree, url=page.url, agent=self._agent)]
