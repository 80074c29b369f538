"""Groups: the collections into which an analysis sorted the documents, cluster by cluster."""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.xml.web.findings import XmlFindings

_ROWS = 100


class GroupRow(Struct, frozen=True):
    """A collection of a cluster."""

    name: str
    documents: int
    bytes: int


class GroupsPage(Struct, frozen=True):
    """The clusters of an analysis, each with its largest collections."""

    clusters: dict[str, list[GroupRow]]
    counts: dict[str, int]
    analysed: bool = True


def list_groups(found: XmlFindings) -> GroupsPage:
    """The clusters of an analysis, each with its largest collections."""
    clusters: dict[str, list[GroupRow]] = {}
    counts: dict[str, int] = {}
    rows = found.rows(
        """SELECT cluster, collection, count(*), total(bytes) FROM membership
           JOIN document ON document.id = membership.document GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"""
    )
    for cluster, name, count, size in rows:
        counts[cluster] = counts.get(cluster, 0) + 1
        if counts[cluster] <= _ROWS:
            clusters.setdefault(cluster, []).append(GroupRow(str(name), count, int(size)))
    return GroupsPage(clusters=clusters, counts=counts)
