"""Differences between two copies of a text or a value: what changed in meaning, and how it is shown.

Lines are compared as a set, so that their order makes no difference; what noise alone tells apart is no difference.
"""

from __future__ import annotations

import difflib
import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from lycosa.missions.records.alerts.noise import fold_line, fold_lines, fold_url
from lycosa.missions.records.value_text import show_value

#: Pairs of lines that are looked at to find which became which, and words of a line that are compared one by one.
_MAX_PAIRS = 20_000
_MAX_WORDS = 600
#: What is shown of one difference.
_MAX_HUNKS = 12
_CONTEXT_WORDS = 8
_MAX_PART = 500
_LONG = 200
#: Lines that share so many of their words are versions of each other.
_ALIKE = 0.5
#: A word of so many letters or more with one wrong was misspelt.
_SPELT = 5

_TOKEN = re.compile(r"[-+<>=]?\d[\d.,:]*(?<![.,:])%?|⟨\w+⟩|[^\W\d_]+(?:'[^\W\d_]+)?|[€$£¥%]")
_ITEMS = re.compile(r"\s*[,;|·•/]\s*")

PartKind = Literal["same", "gone", "new", "cut"]


class Part(NamedTuple):
    """Words that stayed, went or came; or a cut, where the rest is left out."""

    kind: PartKind
    text: str


class TextDifference(NamedTuple):
    """What changed in a text, line by line: each with the parts that are shown."""

    lines: tuple[tuple[Part, ...], ...]
    words: int  # that went or came
    marks: frozenset[str]  # the lines that went or came, in the form that is compared
    came: frozenset[str]  # those of them that came
    left_out: int = 0  # lines that are not shown


def compare_texts(
    before: str, after: str, *, moments: tuple[float, float], around: tuple[str, str] = ("", "")
) -> TextDifference | None:
    """What changed between two copies of a text that were made at these moments; None where it says the same.

    `around` are the whole pages that the texts are parts of: a line that the other page has, too, only moved between
    its text and its frame.
    """
    gone_lines, new_lines = _subtract(before.splitlines(), after.splitlines())
    gone = list(fold_lines("\n".join(gone_lines), moments[0]))
    new = list(fold_lines("\n".join(new_lines), moments[1]))
    both = Counter(folded for folded, _ in gone) & Counter(folded for folded, _ in new)
    gone, new = _without(gone, both), _without(new, both)
    if not gone and not new:
        return None
    if _tokens(" ".join(folded for folded, _ in gone)) == _tokens(" ".join(folded for folded, _ in new)):
        return None  # the lines were only cut otherwise
    hunks = [hunk for hunk in _pair(gone, new) if not _says_the_same(hunk)]
    hunks = [hunk for hunk in hunks if not _has_moved(hunk, around, moments)]
    return _as_difference(hunks) if hunks else None


_Line = tuple[str, str]  # in the form that is compared, and as it stands there
_Hunk = tuple[_Line | None, _Line | None]
_NO_LINE: _Line = ("", "")


def _as_difference(hunks: list[_Hunk]) -> TextDifference:
    pairs = [(old or _NO_LINE, fresh or _NO_LINE) for old, fresh in hunks]
    came = frozenset(fresh[0] for _, fresh in hunks if fresh)
    return TextDifference(
        lines=tuple(_diff_words(old[1], fresh[1]) for old, fresh in pairs[:_MAX_HUNKS]),
        words=sum(_count_words(old[0], fresh[0]) for old, fresh in pairs),
        marks=came | {old[0] for old, _ in hunks if old},
        came=came,
        left_out=max(0, len(hunks) - _MAX_HUNKS),
    )


def _subtract(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has, in their order."""
    both = Counter(before) & Counter(after)
    return [line for _, line in _without([(b, b) for b in before], both)], [
        line for _, line in _without([(a, a) for a in after], both)
    ]


def _without(lines: list[_Line], both: Counter[str]) -> list[_Line]:
    rest = Counter(both)
    kept = []
    for line in lines:
        if rest[line[0]] > 0:
            rest[line[0]] -= 1
        else:
            kept.append(line)
    return kept


def _pair(gone: list[_Line], new: list[_Line]) -> Iterator[_Hunk]:
    """Lines that went beside what came in their place; the others alone."""
    left = list(new)
    if len(gone) * len(new) > _MAX_PAIRS:
        yield from ((old, None) for old in gone)
        yield from ((None, fresh) for fresh in new)
        return
    words = [Counter(_tokens(folded)) for folded, _ in left]
    for old in gone:
        mine = Counter(_tokens(old[0]))
        scores = [2 * (mine & theirs).total() / max(1, mine.total() + theirs.total()) for theirs in words]
        best = max(range(len(scores)), key=scores.__getitem__, default=None)
        if best is not None and (scores[best] >= _ALIKE or len(gone) == len(new) == 1):
            yield old, left.pop(best)
            words.pop(best)
        else:
            yield old, None
    yield from ((None, fresh) for fresh in left)


def _says_the_same(hunk: _Hunk) -> bool:
    """Whether a line differs in punctuation, in the order of what it lists, or in the spelling of a word only."""
    old, fresh = hunk
    if old is None or fresh is None:
        return not _tokens((old or fresh or ("", ""))[0])
    before, after = _tokens(old[0]), _tokens(fresh[0])
    if before == after:
        return True
    items = [sorted(_ITEMS.split(line[0])) for line in (old, fresh)]
    if len(items[0]) > 2 and items[0] == items[1]:
        return True
    if len(before) != len(after) or len(before) < 2 * _SPELT:
        return False
    wrong = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    return len(wrong) <= 2 and all(_is_misspelt(one, other) for one, other in wrong)


def _has_moved(hunk: _Hunk, around: tuple[str, str], moments: tuple[float, float]) -> bool:
    """Whether a line that came or went stands on the other page all the same."""
    old, fresh = hunk
    line, place = (fresh, 0) if old is None else (old, 1)
    if line is None or (old is not None and fresh is not None) or not around[place]:
        return False
    return any(folded == line[0] for folded, _ in fold_lines(around[place], moments[place]))


def _is_misspelt(one: str, other: str) -> bool:
    """Whether two words differ by a letter too many, too few, wrong, or by two that changed places."""
    if not (one.isalpha() and other.isalpha()) or min(len(one), len(other)) < _SPELT or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    mine, theirs = one[start:], other[start:]
    return (
        mine[1:] == theirs[1:]
        or mine[1:] == theirs
        or mine == theirs[1:]
        or (mine[:2] == theirs[1::-1] and mine[2:] == theirs[2:])
    )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _count_words(before: str, after: str) -> int:
    one, other = Counter(_tokens(before)), Counter(_tokens(after))
    return ((one - other) + (other - one)).total()


def _diff_words(before: str, after: str) -> tuple[Part, ...]:
    """Word by word what became of a line, with a few words around each change."""
    one, other = before.split(), after.split()
    if not one or not other or max(len(one), len(other)) > _MAX_WORDS:
        gone, new = Part("gone", _cut(before)), Part("new", _cut(after))
        return tuple(part for part in (gone, new) if part.text)
    parts: list[Part] = []
    operations = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    for place, (operation, start, end, start_after, end_after) in enumerate(operations):
        if operation == "equal":
            words = one[start:end]
            head = words[:_CONTEXT_WORDS] if place else []
            tail = words[-_CONTEXT_WORDS:] if place < len(operations) - 1 else []
            if len(head) + len(tail) >= len(words):
                parts.append(Part("same", " ".join(words)))
            else:
                parts += [Part("same", " ".join(head)), Part("cut", "…"), Part("same", " ".join(tail))]
            continue
        if start < end:
            parts.append(Part("gone", _cut(" ".join(one[start:end]))))
        if start_after < end_after:
            parts.append(Part("new", _cut(" ".join(other[start_after:end_after]))))
    return tuple(part for part in parts if part.text)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_PART else f"{text[:_MAX_PART]}…"


def diff_values(before: object, after: object) -> tuple[Part, ...]:
    """What became of a value, as it is shown."""
    one, other = show_value(before, _MAX_PART), show_value(after, _MAX_PART)
    if max(len(one), len(other)) < 60 or not one or not other:
        return tuple(part for part in (Part("gone", one), Part("new", other)) if part.text)
    return _diff_words(one, other)


def as_text(parts: Sequence[Part]) -> str:
    """The parts in plain text, as wdiff marks them; also Markdown takes it as it is."""
    forms = {"gone": "[-{}-]", "new": "{{+{}+}}", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(text) for kind, text in parts)


def as_markdown(parts: Sequence[Part]) -> str:
    """The parts in Markdown: struck out and bold."""
    forms = {"gone": "~~{}~~", "new": "**{}**", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(_escape_markdown(text)) for kind, text in parts)


def as_html(parts: Sequence[Part]) -> str:
    """The parts in HTML: what went in <del>, what came in <ins>."""
    forms = {"gone": "<del>{}</del>", "new": "<ins>{}</ins>", "same": "{}", "cut": "{}"}
    return " ".join(forms[kind].format(html.escape(text)) for kind, text in parts)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_~\[\]<>#|])", r"\\\1", text)


def is_same(before: object, after: object, *, moments: tuple[float, float]) -> bool:
    """Whether two values of a field say the same: white space, case, order of lists, noise make no difference."""
    if texts := as_long_texts(before, after):
        return compare_texts(*texts, moments=moments) is None
    return bool(fold_value(before, moments[0]) == fold_value(after, moments[1]))


def as_long_texts(before: object, after: object) -> tuple[str, str] | None:
    """Two values that are texts or lists of paragraphs, with a line for each; None where neither is long."""
    one, other = _as_lines(before), _as_lines(after)
    if one is None or other is None or max(len(one), len(other)) <= _LONG:
        return None
    return one, other


def _as_lines(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def fold_value(value: object, moment: float) -> Any:
    """A value in the form that is compared, made of plain values; None where it says nothing."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return float(f"{value:.12g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return _fold_string(value, moment) or None
    if isinstance(value, dict):
        folded = {str(key): fold_value(item, moment) for key, item in value.items() if not str(key).startswith("@")}
        return {key: item for key, item in sorted(folded.items()) if item is not None} or None
    if isinstance(value, list | tuple):
        items = [fold_value(item, moment) for item in value]
        return sorted((item for item in items if item is not None), key=msgspec.json.encode) or None
    return _fold_string(str(value), moment) or None


def _fold_string(text: str, moment: float) -> str:
    if re.match(r"https?://\S+$", text.strip()):
        return fold_url(text)
    return "\n".join(folded for line in text.splitlines() if (folded := fold_line(line, moment)))
