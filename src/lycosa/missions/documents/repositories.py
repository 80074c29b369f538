"""Repositories of a collection: those whose pages say, or whose program knows, where they answer by OAI-PMH."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import Struct

from lycosa.collection.collection import Collection

_MOST = 20
_FOUND = """
SELECT base.value, count(*), min(base.key) FROM record, json_each(record.json, '$.oai') AS base
WHERE record.quarry = 'documents' AND record.kind = 'page' GROUP BY 1 ORDER BY 3, 2 DESC, 1"""
_HARVESTED = """
SELECT url, count(*) FROM records WHERE quarry = 'documents' AND kind = 'harvested' GROUP BY 1"""


class HarvestSource(Struct, frozen=True):
    """A host that may answer by OAI-PMH."""

    base: str
    pages: int  # that say so
    records: int  # that it has sent

    @property
    def request(self) -> str:
        """The address with which its list of records begins."""
        return f"{self.base}?verb=ListRecords&metadataPrefix=oai_dc"


def find_repositories(collection: Collection) -> list[HarvestSource]:
    """The repositories of a collection, one for each host, those of most pages first."""
    sent: dict[str, int] = {}
    for url, count in collection.rows(_HARVESTED):
        host = urlsplit(url).netloc
        sent[host] = sent.get(host, 0) + count
    found: dict[str, HarvestSource] = {}
    for base, pages, _ in collection.rows(_FOUND):
        host = urlsplit(base).netloc
        found.setdefault(host, HarvestSource(base, pages, sent.get(host, 0)))
    return sorted(found.values(), key=lambda one: -one.pages)


def tell(collection: Collection) -> Iterator[str]:
    """What people are told of them after a crawl."""
    for repository in find_repositories(collection)[:_MOST]:
        if not repository.records:
            yield (
                f"{urlsplit(repository.base).netloc} may list its records by OAI-PMH: "
                f'lycosa crawl -c {collection.path} "{repository.request}" takes them.'
            )
