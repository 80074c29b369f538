"""The topic quarry: what the core asks the topic mission of each answer and link."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from lycosa.disk import mark_file
from lycosa.missions.topic.classifier import MOST_UNMARKED, TopicModel
from lycosa.missions.topic.examples import learn, merge, unpack
from lycosa.missions.topic.harvest import read_curve
from lycosa.missions.topic.marks import MARKS, MODEL, read_marks, read_model
from lycosa.missions.topic.page_words import PageWords, read_page, read_words
from lycosa.missions.topic.settings import TopicSettings
from lycosa.missions.topic.topic import Judgement, Topic
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry
from lycosa.text.fold import fold_words

KIND = "topic"
_KINDS = frozenset({"html", "xhtml", "text", "pdf"})
_WORD = re.compile(r"\w{3,}")
#: So many pages are judged before they help to judge others.
_FIRST = 32
#: Settings by which no page is judged, or of which the model tells.
_NO_RULES: dict[str, Any] = {"examples": "", "like": (), "unlike": (), "stop_when_exhausted": False}
#: What a link is worth whose text or address has words of the topic.
_TELLING = 0.5


class TopicPages(Quarry):
    """The quarry of a topic: pages that are about it."""

    name = "topic"
    version = "1"
    tells_harvest = True

    def __init__(self, settings: TopicSettings | None = None) -> None:
        self._settings = settings or TopicSettings()
        self._last: tuple[Doc | None, float] = None, 0.0
        self._stamps = "", ""
        self._examples = unpack(self._settings.examples)
        self._sample: list[PageWords] = []  # of pages that nobody marked: every so many of those judged
        self._seen, self._step, self._due = 0, 1, _FIRST
        self._phrases = frozenset(fold_words(text) for text in self._settings.about)
        self._words = frozenset(phrase for phrase in self._phrases if " " not in phrase)
        self._phrases -= self._words
        self._take(learn(self._examples))

    def configured(self, settings: Mapping[str, Any]) -> Quarry:
        return TopicPages(msgspec.convert(settings, TopicSettings))

    def look_in(self, folder: Path) -> None:
        """Take the model of the collection, where there is a newer one."""
        stamps = mark_file(folder / MODEL), mark_file(folder / MARKS)
        if stamps != self._stamps:
            self._stamps = stamps
            self._examples = merge(unpack(self._settings.examples), read_marks(folder))
            if (model := read_model(folder)) is not None:
                self._take(model)

    def _take(self, model: TopicModel | None, *, keeps_version: bool = False) -> None:
        self._topic = Topic(self._settings, model)
        self._last = None, 0.0
        if keeps_version:
            return
        known = msgspec.json.encode(msgspec.structs.replace(self._settings, **_NO_RULES))
        self.version = f"1-{xxhash.xxh3_64_hexdigest(known + (model.encode() if model is not None else b''))}"

    def relevance(self, doc: Doc) -> float:
        """How relevant a page is; that of the last one is remembered."""
        if self._last[0] is not doc:
            relevance = 0.0
            if doc.kind in _KINDS:
                page = read_page(doc)
                words = read_words(page)
                self._compare(words)
                relevance = self._topic.weigh(page, doc.language, words=words)
            self._last = doc, relevance
        return self._last[1]

    def _compare(self, words: PageWords) -> None:
        """Let a page take part in saying what is usual, and learn anew when twice as many were seen as before."""
        self._seen += 1
        if self._examples and self._seen % self._step == 0:
            self._sample.append(words)
            if len(self._sample) >= MOST_UNMARKED:
                self._sample, self._step = self._sample[1::2], 2 * self._step
        if self._examples and self._seen >= self._due:
            self._due *= 2
            self._take(learn(self._examples, self._sample), keeps_version=True)

    def recognise(self, doc: Doc) -> str | None:
        return KIND if self._topic.accepts(self.relevance(doc)) else None

    def score(self, link: Link, doc: Doc) -> float:
        """Whether a link's text or address has words of the topic."""
        if not self._words and not self._phrases:
            return 0.0
        text = fold_words(f"{link.text[:200]} {link.href[-200:]}")
        if any(word in self._words for word in _WORD.findall(text)) or any(each in text for each in self._phrases):
            return _TELLING
        return 0.0

    def is_exhausted(self, curve: Sequence[tuple[int, int]]) -> bool:
        return self._settings.stop_when_exhausted and read_curve(curve).is_exhausted

    def judge(self, doc: Doc) -> Judgement:
        """What a page is, with reasons."""
        self.relevance(doc)
        return self._topic.judge(read_page(doc), doc.language)

    def describe_page(self, doc: Doc) -> str:
        found = self.judge(doc)
        parts = [f"relevance {found.relevance:.2f}, {'of the topic' if found.is_wanted else 'not of the topic'}"]
        for name, words in (("for it", found.words_for), ("against it", found.words_against)):
            if words:
                parts.append(f"{name}: " + ", ".join(f"{word} {weight:+.2f}" for word, weight in words.items()))
        return "; ".join(parts)

    def extract(self, doc: Doc) -> Generator[Record, None, str]:
        """What a page was found to be, as a record."""
        if doc.kind not in _KINDS:
            return "no page"
        yield Record(KIND, {"title": doc.title[:300], **self.judge(doc).as_record()})
        return ""
