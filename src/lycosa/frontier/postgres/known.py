"""What a PostgreSQL frontier knows: of URLs, hosts and contents; and its figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lycosa import urls
from lycosa.frontier.contract import UrlRow
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, reading, writing
from lycosa.frontier.postgres.schema import NUMBERS
from lycosa.frontier.seen import Seen
from lycosa.frontier.stored import URL_ROW, StoredFigures
from lycosa.model import ArchivePlace, ContentHolder, HostRow, RobotsRow, State, WeightUpdate

_FIND = f"SELECT {URL_ROW} FROM url WHERE part = %s AND host = %s AND id = %s"
_HOST = """
SELECT name, next_at, delay_s, CASE WHEN round = %s THEN visited ELSE 0 END, errors
FROM host WHERE part = %s AND host = %s"""
_RECALL = "SELECT state, reason FROM url WHERE part = %s AND host = %s AND id = %s"
_CONTENT = "SELECT 1 FROM content WHERE part = %s AND digest = %s"
_CONTENTS = """
SELECT digest FROM unnest(%s::smallint[], %s::bytea[]) AS asked (part, digest) JOIN content USING (part, digest)"""
_HOLDER = """
SELECT {} FROM content JOIN url ON url.part = content.n >> 44 AND url.n = content.n
JOIN page ON page.part = url.part AND page.n = url.n AND page.round = content.round
WHERE content.part = %s AND content.digest = %s"""


class PostgresKnowledge(PostgresFacet):
    """What is known of URLs, hosts and contents, and what policies learned."""

    def __init__(self, connection: PostgresConnection, machine: str) -> None:
        super().__init__(connection, machine)
        self.ids = Seen()  # of URLs that are known and were not refused
        self._unheld: set[bytes] = set()  # contents that nobody held a moment ago; a commit asks again

    def find(self, url: str) -> UrlRow | None:
        host = urls.host_of(url)
        rows = self._ask(_FIND, part_of(host), host_key(host), urls.url_id(url))
        row = UrlRow(*rows[0]) if rows else None
        if row is not None and row.state != State.REJECTED:
            self.ids.add(urls.url_id(url))
        return row

    def holds(self, url_hash: int) -> bool:
        return url_hash in self.ids

    @reading
    def recall(self, url: str) -> tuple[int, str] | None:
        host = urls.host_of(url)
        row: tuple[int, str] | None = self._connection.row(_RECALL, (part_of(host), host_key(host), urls.url_id(url)))
        return row

    @reading
    def host(self, name: str) -> HostRow:
        row = self._connection.row(_HOST, (self._connection.round, part_of(name), host_key(name)))
        return HostRow(name) if row is None else HostRow(*row)

    def robots(self, origin: str) -> RobotsRow | None:
        rows = self._ask("SELECT origin, fetched_at, status, body FROM robots WHERE origin = %s", origin)
        return RobotsRow(*rows[0]) if rows else None

    def tallies(self, host: str) -> dict[str, int]:
        return dict(
            self._ask("SELECT key, count FROM tally WHERE part = %s AND host = %s", part_of(host), host_key(host))
        )

    @reading
    def look_up_contents(self, digests: Iterable[bytes]) -> None:
        asked = {digest for digest in digests if digest}
        columns = [digest[0] for digest in asked], list(asked)
        held = self._connection.rows(_CONTENTS, columns) if asked else []
        self._unheld = asked.difference(bytes(digest) for (digest,) in held)

    def forget_contents(self) -> None:
        """Ask the server again who holds a content."""
        self._unheld = set()

    @reading
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @reading
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, 'page.warc, page."offset", page.length')
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        """Asked for every page, and most contents are new: who holds a content is asked only where there is one."""
        if not digest or digest in self._unheld or self._connection.row(_CONTENT, (digest[0], digest)) is None:
            return None
        return self._connection.row(_HOLDER.format(columns), (digest[0], digest))

    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        stamp = int(self._ask("SELECT coalesce(max(stamp), 0) FROM lesson")[0][0])
        if stamp <= since:
            return stamp, []
        return stamp, self._ask("SELECT key, weight, energy FROM lesson WHERE stamp > %s", since)

    @writing
    def forget_lessons(self) -> None:
        self._connection.run("DELETE FROM lesson")


class PostgresFigures(PostgresFacet, StoredFigures):
    """The figures in a database, each spread over several shards."""

    cut = f"""
SELECT url.url, page.mime FROM url JOIN page USING (part, n)
WHERE url.state < 4 AND url.reason = 'too-large'
AND page.round = (SELECT max(round) FROM page AS later WHERE later.part = url.part AND later.n = url.n)
ORDER BY url.n & {NUMBERS} LIMIT ?"""

    @property
    def _round(self) -> int:
        return self._connection.round
