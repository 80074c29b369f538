"""Content deduplication: writes WARC revisit records for bodies that the archive already holds."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.archive.digests import digest_of, identity_of, is_core
from lycosa.archive.writer import ArchiveWriter, Profile
from lycosa.frontier.contract import Knowledge
from lycosa.model import Answer, ArchivePlace, ContentHolder

DIGESTS_MAX = 100_000  # contents that are remembered without asking the frontier
PLAIN_MAX = 100_000  # plain answers of rendered pages that are remembered
RENDERED_TYPE = "text/html; charset=utf-8"


class ContentDedup:
    """Finds the page that holds a content already, and writes the records of one worker that refer to another one."""

    def __init__(self, archive: ArchiveWriter, known: Knowledge) -> None:
        self._archive = archive
        self._known = known
        self._digests: dict[bytes, ContentHolder] = {}
        self._stamped: dict[bytes, tuple[int, bytes]] = {}  # of those with a stamp: whose, the digest of the whole body
        self._plain_answers: dict[
            bytes, tuple[str, float]
        ] = {}  # plain answers of rendered pages, which are often all alike

    def look_ahead(self, answers: Iterable[Answer]) -> None:
        """Ask a server about the contents of several answers at once, as it would be waited for at each."""
        small = (answer for answer in answers if answer.status == 200 and answer.body)
        self._known.look_up_contents(identity_of(answer) for answer in small)

    def find_holder(self, digest: bytes, answer: Answer) -> ContentHolder | None:
        """The page that holds this very content already, if any; it may be this one, in an earlier round."""
        target = answer.target
        holder = self._digests.get(digest)
        if holder is not None and holder.row == target.row:
            holder = None  # it was fetched before in this run, and that may not have been committed
        holder = holder or self._known.content_holder(digest)
        if holder is None:
            if len(self._digests) > DIGESTS_MAX:
                self._digests.clear()
                self._stamped.clear()
            self._digests[digest] = ContentHolder(target.row, target.url, answer.began)
            if is_core(digest):
                self._stamped[digest] = (target.row, digest_of(answer))
        return holder

    def add_rendered(self, answer: Answer, html: bytes, digest: bytes) -> ArchivePlace:
        """The page as its scripts made it, then the answer as it was received; one place for both."""
        made = self._archive.add_conversion(answer, html, mime=RENDERED_TYPE, digest=digest)
        plain = self.add_plain(answer)
        return ArchivePlace(made.file, made.offset, plain.offset + plain.length - made.offset)

    def add_plain(self, answer: Answer) -> ArchivePlace:
        """The answer that a rendered page was made from; those of one site are mostly all alike."""
        plain = digest_of(answer)
        first = self._plain_answers.get(plain)
        if first is not None:
            return self._archive.add_revisit(
                answer, digest=plain, refers_to_url=first[0], refers_to_date=first[1], profile="identical"
            )
        if len(self._plain_answers) > PLAIN_MAX:
            self._plain_answers.clear()
        self._plain_answers[plain] = answer.target.url, answer.began
        return self._archive.add(answer, digest=plain, mime="text/html")

    def add_revisit(
        self, answer: Answer, digest: bytes, holder: ContentHolder | None, *, profile: Profile
    ) -> ArchivePlace:
        """Add a record which says that the content is that of another, `holder`.

        Replay tools look for a record with the digest that this one states: what is recognised by its core has another.
        A page that was not modified need not state one, and asking the archive for it would read the disk each time.
        """
        url, date = (holder.url, holder.at) if holder else (answer.target.url, None)
        stated = digest
        if is_core(digest):
            stated = self._find_stated(digest, holder) if profile == "identical" else b""
        if not stated and profile == "identical":  # the record that holds it cannot be read
            mime = answer.headers.get("content-type", "").partition(";")[0] or "application/octet-stream"
            return self._archive.add(answer, digest=digest_of(answer), mime=mime)
        return self._archive.add_revisit(answer, digest=stated, refers_to_url=url, refers_to_date=date, profile=profile)

    def _find_stated(self, digest: bytes, holder: ContentHolder | None) -> bytes:
        """The digest of the body in the record that holds a content with a stamp; empty: it cannot be had."""
        row, stated = self._stamped.get(digest, (0, b""))
        if holder is not None and row == holder.row:
            return stated
        place = self._known.content_place(digest)
        return self._archive.digest_at(place) if place is not None else b""
