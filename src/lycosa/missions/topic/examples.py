"""Examples of a topic: pages that somebody says are of it, or are not, kept as texts.

A collection keeps their texts, as one packed text in its settings: it learns anew without the pages themselves.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.missions.topic.classifier import MOST_MARKED, TopicModel, train
from lycosa.missions.topic.page_words import PageText, PageWords, choose_text, read_words

#: Characters of an example that are kept, and bytes of all of them.
_KEPT_CHARS, _MOST_BYTES = 6000, 1 << 26


class MarkedPage(Struct, frozen=True, array_like=True):
    """A page, and whether it is of the topic."""

    url: str
    title: str
    text: str
    is_wanted: bool

    @property
    def page(self) -> PageText:
        return choose_text(self.url, self.title, self.text)


def make_example(page: PageText, *, is_wanted: bool) -> MarkedPage:
    return MarkedPage(page.url, page.title, page.text[:_KEPT_CHARS], is_wanted)


def pack(examples: Sequence[MarkedPage]) -> str:
    """Examples as one text; none as an empty one."""
    return base64.b85encode(zlib.compress(msgspec.json.encode(examples), 9)).decode() if examples else ""


def unpack(text: str) -> list[MarkedPage]:
    if not text:
        return []
    try:
        data = zlib.decompressobj().decompress(base64.b85decode(text), _MOST_BYTES)
        return msgspec.json.decode(data, type=list[MarkedPage])
    except (ValueError, zlib.error, msgspec.MsgspecError):
        raise UsageError("The examples of the topic cannot be read: name them again with --like.") from None


def learn(examples: Sequence[MarkedPage], others: Iterable[PageWords] = ()) -> TopicModel | None:
    """What there is to be learned; None without an example of the topic."""
    if not any(example.is_wanted for example in examples):
        return None
    chosen = [(read_words(example.page), example.is_wanted) for example in examples[-MOST_MARKED:]]
    return train(chosen, list(others))


def merge(examples: Iterable[MarkedPage], marks: Iterable[MarkedPage]) -> list[MarkedPage]:
    """Examples and marks; of one page, what was said last counts."""
    known = {example.url: example for example in examples}
    for each in marks:
        known.pop(each.url, None)
        known[each.url] = each
    return list(known.values())
