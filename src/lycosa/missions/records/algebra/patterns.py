"""Regular expressions of rules: in RE2's syntax, whose cost is linear in the text whatever the expression."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from lycosa.errors import UsageError

MAX_PATTERN = 2000
#: An expression without these is a text to be found as it is.
_SIGNS = frozenset("\\.^$*+?{}[]|()")


def is_plain(pattern: str) -> bool:
    """Whether an expression is a text to be found as it is."""
    return bool(pattern) and not _SIGNS.intersection(pattern)


def find_spans(pattern: str, text: str) -> Iterator[list[tuple[int, int]]]:
    """Where each match that is not empty, and each of its groups, begins and ends."""
    if is_plain(pattern):
        at = text.find(pattern)
        while at >= 0:
            yield [(at, at + len(pattern))]
            at = text.find(pattern, at + len(pattern))
        return
    compiled = compile_pattern(pattern)
    for match in compiled.finditer(text):
        if match.start() < match.end():
            yield [match.span(group) for group in range(compiled.groups + 1)]


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> Any:
    """A regular expression in RE2's syntax, or what is wrong with it."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise UsageError(f"A regular expression has 1 to {MAX_PATTERN:,} characters; this one has {len(pattern):,}.")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise UsageError(f'"{pattern[:200]}" is no regular expression in RE2\'s syntax: {said}.') from None
