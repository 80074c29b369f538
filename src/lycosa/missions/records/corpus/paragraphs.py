"""Paragraphs as a corpus compares them: by their words alone, so that those of Markdown are known again."""

from __future__ import annotations

import re
from collections.abc import Container

from xxhash import xxh3_64_intdigest

#: Characters of scripts in which words are not written apart.
WIDE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_COUNTED = re.compile(rf"[^\W_{WIDE}]+|[{WIDE}]")
_WORDS = re.compile(r"[^\W_]+")
_TARGETS = re.compile(r"\]\([^()\s]*\)")
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)


def hash_words(text: str) -> int:
    """A number of 63 bits for the words of a paragraph; 0 where it has none."""
    words = " ".join(_WORDS.findall(text.casefold()))
    return xxh3_64_intdigest(words.encode("utf-8", "surrogatepass")) >> 1 if words else 0


def count_words(text: str) -> int:
    """How many words a text has; a character counts as one where words are not written apart."""
    return len((_WORDS if text.isascii() else _COUNTED).findall(text))


def drop_paragraphs(text: str, repeated: Container[int]) -> str:
    """A text without the lines whose words are among the repeated ones."""
    return "\n".join(line for line in text.split("\n") if hash_words(line) not in repeated)


def drop_blocks(markdown: str, repeated: Container[int]) -> str:
    """The same of the blocks of Markdown, and of the items of its lists; code stays as it is."""
    kept: list[str] = []
    in_code = False
    for block in markdown.split("\n\n"):
        code = in_code or bool(_FENCE.match(block))
        in_code ^= len(_FENCE.findall(block)) % 2 == 1
        lines = [block] if code else [line for line in block.split("\n") if _hash_marked(line) not in repeated]
        if lines and (code or _hash_marked(block) not in repeated):
            kept.append("\n".join(lines))
    return "\n\n".join(kept).strip()


def _hash_marked(block: str) -> int:
    return hash_words(_TARGETS.sub("]", block))
