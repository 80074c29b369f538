"""What the oldest Python that we promise does otherwise than the one at hand."""

from __future__ import annotations

import re
from pathlib import Path

import lycosa

ROOT = Path(lycosa.__file__).parent
_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+(?!\+)")
#: Nothing in these groups can be matched in two ways, which is where Python goes wrong.
_HARMLESS = {"urls.py"}


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.0 to 3.11.4 match `(?:a|b)*+` wrongly (gh-106052), and Debian 12 has one of them: `(?>(?:a|b)*)`."""
    guilty = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ROOT.rglob("*.py")
        if path.name not in _HARMLESS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _POSSESSIVE_GROUP.search(line) and "safe=" not in line and "_SAFE" not in line
    ]
    assert guilty == []
