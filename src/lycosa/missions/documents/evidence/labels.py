"""Kind and labels of a document by words: of links to it, of its beginning, and of the pages that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.missions.documents.names import WORDS, join_table
from lycosa.text.fold import fold_words

_PATTERNS = {kind: re.compile(rf"\b(?:{join_table(words)})\b") for kind, words in WORDS["kinds"].items()}
#: Further words are those of a title, which speaks of its subject.
_FIRST_WORDS = 4


def kind_of_words(text: str) -> str:
    """The kind that a few words begin with; empty where they speak of none."""
    first = " ".join(fold_words(text[:200]).split()[:_FIRST_WORDS])
    places = {kind: match.start() for kind, pattern in _PATTERNS.items() if (match := pattern.search(first))}
    return min(places, key=lambda kind: places[kind]) if places else ""


def words_of_path(part: str) -> str:
    """The words of one part of an address: "ApuntesAfin.pdf", "hoja3-v2.pdf"."""
    stem = re.sub(r"\.\w{1,5}$", "", part)
    return re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|[_\W]+", " ", stem).strip()


_RULE = re.compile(
    r"\s*([^:/\[\]]+?)\s*(?:/\s*([^:/\[\]]+?)\s*)?(?:\[\s*(\d*)\s*(header)?\s*\]\s*)?:\s*(.+)", re.DOTALL
)
_CHARS = 2_000


class CategoryLabel(Struct, frozen=True):
    """A category with the words that speak for it."""

    category: str
    subcategory: str
    words: tuple[str, ...]  # folded
    max_chars: int = _CHARS  # of the document's beginning that are searched
    needs_header: bool = False  # only of documents that print their authors


def parse_labels(rules: Iterable[str]) -> list[CategoryLabel]:
    """The labels that a setting describes: "CATEGORY / SUBCATEGORY [CHARACTERS header]: WORD, WORD…"."""
    found = []
    for rule in rules:
        match = _RULE.fullmatch(rule)
        words = tuple(filter(None, map(fold_words, match[5].split(",")))) if match else ()
        if match is None or not words:
            raise UsageError(
                f"documents.labels holds {rule!r}; allowed: CATEGORY / SUBCATEGORY [CHARACTERS header]: WORD, WORD…,"
                ' as "teaching / exercise sheet [2000]: ejercicios, práctica"'
            )
        found.append(CategoryLabel(match[1], match[2] or "", words, int(match[3] or _CHARS), bool(match[4])))
    return found


def find_label(
    labels: Iterable[CategoryLabel], *, head: str, around: str, has_header: bool = True
) -> CategoryLabel | None:
    """The first label one of whose words stands in the beginning of a document, or in the words around its links."""
    folded_around = f" {fold_words(around)} "
    for label in labels:
        if label.needs_header and not has_header:
            continue
        beginning = f" {fold_words(head[: label.max_chars])} " if head else ""
        if any(f" {word} " in beginning or f" {word} " in folded_around for word in label.words):
            return label
    return None


def find_subcategory(kind: str, head: str) -> str:
    """The finer sort of a document by the words of its beginning; empty where none is told."""
    text = fold_words(head[:3_000])
    for name, words in WORDS["subcategories"].get(kind, {}).items():
        if not words or re.search(rf"\b(?:{join_table(words)})\b", text):
            return str(name)
    return ""
