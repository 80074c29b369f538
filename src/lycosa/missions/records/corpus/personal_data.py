"""Personal data in a text: mail addresses, account numbers, IP addresses, telephone numbers; masked, counted."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import re2
from msgspec import Struct

from lycosa.errors import UsageError

_DIGITS = range(8, 16)  # of a telephone number with its country's code (E.164); a labelled one may have 7
_YEARS = re.compile(r"(?:(?:19|20)[0-9]{2}[^0-9+]*)+")
#: Account numbers of so many characters, in groups or not.
_GROUPED = [re.compile(f"(?:[ -]?[A-Z0-9]){{{length}}}") for length in range(35)]


class _Kind(Struct, frozen=True):
    mask: str
    pattern: str
    check: str = ""
    lengths: str = ""


def _check_ip(text: str, start: int, end: int) -> int:
    """Addresses of the open net; those of a house's own net and parts of longer numbers are nobody's."""
    if text[start - 1 : start] in (".", ":") or re.match(r"[\w:]|\.\d", text[end:]):
        return start
    try:
        return end if ipaddress.ip_address(text[start:end]).is_global else start
    except ValueError:
        return start


def _check_phone(text: str, start: int, end: int) -> int:
    digits = sum(map(str.isdigit, text[start:end]))
    least = _DIGITS.start if text[start] == "+" else _DIGITS.start - 1
    is_part = text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
    fits = least <= digits < _DIGITS.stop and not _YEARS.fullmatch(text, start, end)
    return end if fits and not is_part else start


def _check_iban(text: str, start: int, end: int) -> int:
    """Where the number ends that begins so, has the length of its country and the right check digits."""
    length = _lengths().get(text[start : start + 2], 0)
    number = _GROUPED[length].match(text, start) if length else None
    if number is None or text[number.end() : number.end() + 1].isalnum():
        return start
    plain = re.sub("[ -]", "", number[0])
    digits = "".join(str(int(each, 36)) for each in plain[4:] + plain[:4])
    return number.end() if int(digits) % 97 == 1 else start


#: Each tells where what was found at a place ends; where it begins: it is none.
_CHECKS: dict[str, Callable[[str, int, int], int]] = {"ip": _check_ip, "phone": _check_phone, "iban": _check_iban}


@cache
def _kinds() -> dict[str, _Kind]:
    read = tomllib.loads(Path(__file__).with_name("personal_data.toml").read_text("utf-8"))
    return {name: _Kind(**table) for name, table in read.items()}


@cache
def _lengths() -> dict[str, int]:
    return {each[:2]: int(each[2:]) for each in _kinds()["ibans"].lengths.split()}


@cache
def _pattern(name: str) -> Any:
    pattern = _kinds()[name].pattern
    if pattern.startswith("(?x)"):  # which RE2 does not know
        pattern = re.sub(r"(?<!\\)\s+", "", pattern.removeprefix("(?x)"))
    pattern = re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", pattern)
    return re2.compile(pattern)


class Masker:
    """Masks the kinds of personal data that were asked for, and counts what it masked."""

    def __init__(self, kinds: str) -> None:
        """`kinds`: their names between commas, or all."""
        asked = [part.strip().lower() for part in kinds.split(",") if part.strip()]
        if wrong := next((name for name in asked if name not in (*_kinds(), "all")), ""):
            raise UsageError(f"--mask has {wrong[:20]!r}; allowed: {', '.join(_kinds())}, all.")
        self._asked = [name for name in _kinds() if name in asked or "all" in asked]
        self.counts: Counter[str] = Counter(dict.fromkeys(self._asked, 0))

    def __bool__(self) -> bool:
        return bool(self._asked)

    def mask(self, text: str, *, count: bool = True) -> str:
        """The text with a mask in place of each; `count` as found, where it is not the same text in another form."""
        for name in self._asked:
            parts = list(self._split(text, name))
            self.counts[name] += (len(parts) // 2) * count
            text = "".join(parts)
        return text

    def _split(self, text: str, name: str) -> Iterable[str]:
        """What stays and the masks, in turn."""
        kind, done = _kinds()[name], 0
        check = _CHECKS.get(kind.check)
        for found in _pattern(name).finditer(text):
            start, end = next(span for span in map(found.span, range(1, found.re.groups + 1)) if span[0] >= 0)
            end = check(text, start, end) if check else end
            if end > start >= done:
                yield text[done:start]
                yield kind.mask
                done = end
        yield text[done:]
