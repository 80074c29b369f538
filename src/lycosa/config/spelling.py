"""Spelling: which of several words was most likely meant by one that is none of them."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice that was most likely meant, or nothing."""
    known = {choice.lower(): choice for choice in choices}
    word = word.lower()
    longer = [name for name in known if name.startswith(word)] if len(word) > 2 else []
    if len(longer) == 1:
        return known[longer[0]]
    from difflib import get_close_matches  # 10 ms that only a mistake has to pay

    close = get_close_matches(word[:100], list(known), n=1, cutoff=0.6)
    return known[close[0]] if close else ""
