"""Page storage: what an answer leaves in the archive, and what is remembered of its page.

Nothing here writes to disk: the worker flushes archive and batch together. Bodies that the archive already holds become
WARC revisit records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lycosa.archive import unstored_log
from lycosa.archive.record_bytes import digest_of, identity_of, is_core, is_stamped
from lycosa.archive.writer import ArchiveWriter, Profile
from lycosa.config.settings import Mission
from lycosa.fetch.headers import DISTRUSTED, make_validators
from lycosa.frontier import link_codec
from lycosa.frontier.contract import Knowledge
from lycosa.intake.revisits import Revisits
from lycosa.judge.admission.fetch_rules import make_storage_rules
from lycosa.model import (
    Answer,
    ArchivePlace,
    ContentHolder,
    Discovery,
    Link,
    Outcome,
    PageRow,
    State,
    Target,
    UnstoredPage,
    Verdict,
    VisitHistory,
)
from lycosa.parse import Doc
from lycosa.politeness.disposition import truncation_of

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


NO_VALIDATORS = ("", "")  # to be asked for without a condition


class PageStorage:
    """Stores the answers of one worker in the archive, and fills their outcomes."""

    def __init__(self, mission: Mission, *, archive: ArchiveWriter, known: Knowledge, revisits: Revisits) -> None:
        self._archive = archive
        self._known = known
        self._revisits = revisits
        self._dedup = ContentDedup(archive, known)
        self._rules = make_storage_rules(mission)  # None: everything is stored
        self.stores_all = self._rules is None
        self.bytes = 0

    def judge(self, doc: Doc, *, kind: str) -> Verdict | None:
        """Why a page that was read is not stored; None: it is."""
        verdict = self._rules.judge(doc.mime, kind=kind) if self._rules is not None else None
        return verdict if verdict is not None and not verdict.ok else None

    def look_ahead(self, answers: Sequence[Answer]) -> None:
        """Hear of answers that are stored next."""
        if len(answers) > 1:
            self._dedup.look_ahead(answers)

    def store_page(
        self, answer: Answer, outcome: Outcome, doc: Doc, *, digest: bytes, links: bytes, html: bytes, kind: str
    ) -> None:
        """Store a page, as it came or, with `html`, as its scripts made it; content that is held already only once."""
        target, headers = answer.target, answer.headers
        holder = self._dedup.find_holder(digest, answer)
        if html:
            place = self._dedup.add_rendered(answer, html, digest)
        elif holder is None:
            raw = digest_of(answer) if is_stamped(answer) else digest
            place = self._archive.add(answer, digest=raw, mime=doc.mime, truncated=truncation_of(answer.failure))
        else:
            place = self._dedup.add_revisit(answer, digest, holder, profile="identical")
        if holder is not None and holder.row != target.row:
            outcome.state = State.DUPLICATE
        self.bytes += answer.size
        outcome.page = PageRow(
            fetched_at=answer.began,
            status=answer.status,
            mime=doc.mime,
            charset=doc.charset,
            title=doc.title,
            language=doc.language,
            kind=kind,
            size=answer.size,
            digest=digest,
            etag=headers.get("etag", ""),
            last_modified=headers.get("last-modified", ""),
            server_date=headers.get("date", ""),
            warc=place.file,
            offset=place.offset,
            length=place.length,
            rendered=bool(html),
            links=links,
        )
        # Whether a rendered page is still the same does not show in the answer that it was made from.
        distrusted = target.modified if target.digest else ""
        outcome.validators = NO_VALIDATORS if html else make_validators(headers, answer.began, distrusted=distrusted)
        outcome.history = self._revisits.after_page(target)

    def store_unchanged(self, answer: Answer, outcome: Outcome, *, profile: Profile, rendered: bool = False) -> bool:
        """Store a record which says that a page is as it was, in place of its bytes; False if no page holds them."""
        target = answer.target
        holder = self._known.content_holder(target.digest)
        if holder is None and profile == "identical":
            return False
        outcome.state, outcome.reason = State.UNCHANGED, ""
        self.bytes += answer.size
        if rendered:  # what its scripts make is the same; of the answer itself nothing can be said
            outcome.archive_place, outcome.validators = self._dedup.add_plain(answer), NO_VALIDATORS
            outcome.history = self._revisits.after_unchanged(Answer(target, answer.status, began=answer.began))
            return True
        outcome.archive_place = self._dedup.add_revisit(answer, target.digest, holder, profile=profile)
        etag, modified = make_validators(
            answer.headers, answer.began, distrusted=target.modified if target.modified.startswith(DISTRUSTED) else ""
        )
        if profile == "not-modified":  # which need not repeat what has not changed
            etag = etag or target.etag
            modified = modified if "last-modified" in answer.headers else target.modified
        outcome.validators = (etag, modified)
        outcome.history = self._revisits.after_unchanged(answer)
        return True

    def store_other(self, answer: Answer) -> ArchivePlace:
        """Store a redirect or a refusal: they are answers too, which replay and proof need."""
        if not self.stores_all:
            location = answer.headers.get("location", "")
            self._archive.add_unstored(
                unstored_log.encode(
                    unstored_log.UnstoredAnswer(answer.target.url, answer.began, answer.status, location=location)
                )
            )
            return ArchivePlace()
        return self._archive.add(answer, digest=digest_of(answer), mime="", truncated=truncation_of(answer.failure))

    def store_robots(self, answer: Answer) -> None:
        """Store a robots.txt, where everything is stored."""
        if answer.status and self.stores_all:
            self.store_other(answer)

    def store_subresource(self, answer: Answer) -> None:
        """Store what a page in a browser asked for: it is no page, but needed to show that one again."""
        self._archive.add(answer, digest=digest_of(answer), mime="")

    def record_unstored(
        self,
        answer: Answer,
        outcome: Outcome,
        doc: Doc,
        *,
        reason: str,
        kind: str,
        rows: list[link_codec.Row],
        news: Sequence[Discovery],
    ) -> None:
        """Record a page that was read for its links, `rows`, and is not stored: the archive gets a line on it.

        A page whose only use was its links must not be forgotten with them: without a trace of it, a database that is
        made anew from the archive would know neither that it was visited nor where it led. `news` are the addresses
        that nobody had named before. Those alone are in the line: so each address is written once, which takes a fifth
        of what all links would.
        """
        self.bytes += answer.size
        outcome.reason = reason
        outcome.history = VisitHistory(checked=self._revisits.number)  # nothing tells whether it changes: visit it
        outcome.unstored = UnstoredPage(doc.mime, kind, answer.size, link_codec.pack(rows))
        entry = unstored_log.UnstoredAnswer(
            url=answer.target.url,
            at=answer.began,
            status=answer.status,
            reason=reason,
            mime=doc.mime,
            kind=kind,
            size=answer.size,
        )
        entry.links = [
            (discovery.url, discovery.anchor, "" if discovery.via == "a" else discovery.via)
            for discovery in news
            if discovery.state == State.PENDING
        ]
        self._archive.add_unstored(unstored_log.encode(entry))


def recall_unstored(entry: unstored_log.UnstoredAnswer, target: Target) -> tuple[Answer, Doc]:
    """The answer that a line is on, as far as it says, and the document with the links that were followed."""
    headers = {"content-type": entry.mime} | ({"location": entry.location} if entry.location else {})
    doc = Doc(target.url, b"", kind=entry.kind, mime=entry.mime)
    doc.links = [Link(url, text, kind or "a") for url, text, kind in entry.links]
    return Answer(target, entry.status, headers=headers, size=entry.size, began=entry.at), doc
