"""Settings of the topic mission: the table [topic] of a mission file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import re2
from msgspec import Meta, Struct

PLACES = ("url", "title", "text")


class TopicSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What the pages are about that are hunted: words, examples, patterns, a thesaurus, or several of these."""

    about: tuple[str, ...] = ()
    """words and phrases that pages of the topic use"""
    like: tuple[str, ...] = ()
    """pages of the topic: files of pages, lists of pages, addresses, and collections, of which marked pages count"""
    unlike: tuple[str, ...] = ()
    """pages of other topics, better of near ones"""
    pattern: tuple[str, ...] = ()
    """regular expressions, `url:`, `title:` or `text:` before them; a page is of the topic only if one matches"""
    thesaurus: str = ""
    """a thesaurus by name, or its file, whose words make pages relevant"""
    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
    """the relevance from which on a page is of the topic"""
    stop_when_exhausted: bool = False
    """whether a crawl ends, with exit code 5, when its last pages brought next to nothing"""
    examples: str = ""
    """the examples as they were read, which lycosa writes"""


def split_pattern(text: str) -> tuple[str, str]:
    """The place that a pattern looks at, empty for all of them, and the regular expression."""
    place, colon, rest = text.partition(":")
    return (place, rest) if colon and place in PLACES else ("", text)


def check_settings(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong beyond the types: patterns that are none."""
    for number, text in enumerate(settings.get("pattern", ())):
        try:
            re2.compile(split_pattern(str(text))[1])
        except re2.error as error:
            yield ("pattern", number), f"{text!r} is no regular expression: {error}"


def split_words(text: str) -> tuple[str, ...]:
    """Words and phrases of a text with commas between them."""
    return tuple(" ".join(part.split()) for part in re.split(r"[,;\n]", text) if part.strip())
