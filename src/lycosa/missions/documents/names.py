"""Names of people: where they stand in running text, whether two are one person's, and which address is theirs.

The shape of words decides, a list of given names, titles before a name, and words that no name has. Similarities are 0
to 1 over folded text: Smith-Waterman for authors, Damerau-Levenshtein for affiliations. A name is also compared part
by part, as 'A. Casali', 'Casali, A' and 'Dra. Ana Casali' are one person, which no distance of letters tells.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from os.path import commonprefix
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lycosa import urls
from lycosa.missions.documents.text_similarity import OSA
from lycosa.text.fold import fold_words, spell_out

#: Tables of words, by name.
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

_TITLE = r"(?:Dr|Dra|Prof|Profa|Lic|Ing|Mag|Mg|MSc|Sr|Sra|Mr|Mrs|Ms|Doctor|Doctora|Profesor|Profesora|D|Dña|Don|Doña)"
_PART = r"[A-ZÀ-ÖØ-ÞĀ-Ž][a-zß-öø-ÿā-ž]+(?:[-'’][A-ZÀ-ÖØ-Þa-zß-öø-ÿ][a-zß-öø-ÿ]+)*"
_UPPER = r"[A-ZÀ-ÖØ-ÞĀ-Ž]{2,}(?:-[A-ZÀ-ÖØ-Þ]{2,})*"
_MIXED = r"(?:Mc|Mac|O['’]|De|Di|Le|La)[A-Z][a-zß-öø-ÿ]+"
_INITIAL = r"[A-ZÀ-ÖØ-Þ]\.(?:[ -]?[A-Z]\.)*|[A-ZÀ-ÖØ-Þ](?=\s)"
_PARTICLE = r"(?:de la|de las|de los|de|del|da|das|do|dos|di|van der|van den|van|von|y|e|la|le|al|el|bin|ben|ter)"
_WORD = rf"(?:{_MIXED}|{_PART}|{_INITIAL}|{_UPPER})"
_NAME = re.compile(
    rf"(?<!\w)(?:(?P<title>{_TITLE})\b\.?\s+)?"
    rf"(?P<name>{_WORD}(?:[ \u00a0]+(?:{_PARTICLE}[ \u00a0]+)?{_WORD}){{1,5}})"
)

_ROMAN = re.compile(r"(?=[IVX])(?:X{0,2})(?:IX|IV|V?I{0,3})")
_JOINED = re.compile(r"(?<=\b[A-ZÀ-ÖØ-Þ]\.)(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")


class FoundName(NamedTuple):
    """A name in a text: how it is written, where, and how sure it is that of a person, 0 to 1."""

    name: str
    start: int
    end: int
    confidence: float


def join_table(table: str) -> str:
    """A table of several lines as one pattern."""
    return re.sub(r"\n\s*", "", table)


@cache
def _read_words(file: str) -> frozenset[str]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def given_names() -> frozenset[str]:
    """Frequent given names, folded."""
    return _read_words("given_names.txt")


def no_names() -> frozenset[str]:
    """Words that stand in titles, offices and headings, never in the name of a person; folded."""
    return _read_words("no_names.txt")


def is_numbered(text: str) -> bool:
    """Whether a text has a Roman number, as courses and volumes have and people have not."""
    words = text.split()
    return any(_ROMAN.fullmatch(word) for word in words[1:]) or bool(_ROMAN.fullmatch(words[-1].rstrip(".")))


def judge_name(text: str) -> float:
    """How sure a text is the name of a person, by itself: 0 to 1."""
    words = fold_words(text).split()
    if not 2 <= len(words) <= 8 or len(text) > 80 or any(char.isdigit() for char in text):
        return 0.0
    if any(word in no_names() for word in words) or is_numbered(text):
        return 0.0
    if not _NAME.fullmatch(text.strip()):
        return 0.0
    long_words = [word for word in words if len(word) > 1]
    if not long_words:
        return 0.0
    known = given_names()
    if words[0] in known or (len(words) > 2 and words[1] in known and len(words[0]) == 1):
        return 0.95
    if any(word in known for word in words):
        return 0.75
    return 0.6 if any(len(word) == 1 for word in words) else _LIKELY


def find_names(text: str) -> list[FoundName]:
    """The names in a text, in their order; "E.Baro" counts as "E. Baro"."""
    found = []
    text = _JOINED.sub(" ", text)
    for match in _NAME.finditer(text):
        start, end = match.span("name")
        name, start, end = _trim(text, start, end)
        if not name:
            continue
        sure = judge_name(name)
        if match["title"] and sure:
            sure = max(sure, 0.9)
        if sure:
            found.append(FoundName(" ".join(name.split()), start, end, sure))
    return found


def _trim(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A run of capitalised words without those at its ends that no name has: "Profesor Juan Pérez Madrid"."""
    spans = [(match.start() + start, match.end() + start) for match in re.finditer(r"\S+", text[start:end])]
    while spans and fold_words(text[slice(*spans[0])]) in no_names():
        spans.pop(0)
    for at, span in enumerate(spans):
        if fold_words(text[slice(*span)]) in no_names():
            spans = spans[:at]
            break
    if len(spans) < 2:
        return "", start, end
    return text[spans[0][0] : spans[-1][1]], spans[0][0], spans[-1][1]


TITLES = frozenset(WORDS["titles"].split())
PARTICLES = frozenset(WORDS["particles"].split())

MATCH, MISMATCH, GAP = 2, -1, -1


@lru_cache(maxsize=65536)
def smith_waterman(left: str, right: str) -> float:
    """The best local alignment of two folded texts, as a share of that of the shorter one with itself."""
    if not left or not right:
        return 0.0
    if len(left) > len(right):
        left, right = right, left
    above = [0] * (len(right) + 1)
    best = 0
    for char in left:
        row = [0]
        for at, other in enumerate(right, 1):
            diagonal = above[at - 1] + (MATCH if char == other else MISMATCH)
            row.append(max(0, diagonal, above[at] + GAP, row[at - 1] + GAP))
        best = max(best, max(row))
        above = row
    return best / (MATCH * len(left))


def damerau_levenshtein(left: str, right: str) -> float:
    """One minus the share of letters that have to be changed to make one folded text of the other."""
    return float(OSA.normalized_similarity(left, right))


@lru_cache(maxsize=65536)
def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a name in its order, folded, without titles; "Casali, Ana" is turned round."""
    before, comma, after = name.partition(",")
    if comma and len(before.split()) <= 4 and after.strip() and "," not in after:
        name = f"{after} {before}"
    spread = re.sub(r"(?<=[A-ZÁÉÍÓÚÑÇ])\.(?=\S)", ". ", name)
    words = [word for word in spread.split() if word not in ("y", "e", "i", "and", "&")]
    return tuple(part for part in fold_words(" ".join(words)).split() if part not in TITLES or len(part) == 1)


def surname_keys(name: str) -> frozenset[str]:
    """The parts by which a person may be looked up: every part that is no initial and no particle."""
    return frozenset(part for part in name_parts(name) if len(part) > 2 and part not in PARTICLES)


def telling_parts(name: str) -> list[str]:
    """The parts of a name without its particles."""
    return [part for part in name_parts(name) if part not in PARTICLES]


@lru_cache(maxsize=65536)
def same_person(left: str, right: str) -> float:
    """How sure two names are one person's: each part of one has its like in the other, whole or by its initial.

    Letters may be written as two: "Åse Ødegård" is "Aase Oedegaard".
    """
    sure = _compare_parts(telling_parts(left), telling_parts(right))
    if sure or left.isascii() and right.isascii():
        return sure
    return _compare_parts(telling_parts(spell_out(left)), telling_parts(spell_out(right)))


def _compare_parts(left: list[str], right: list[str]) -> float:
    fewer, more = sorted((left, right), key=len)
    if not fewer:
        return 0.0
    if sorted(fewer) == sorted(more):
        return 1.0
    rest = list(more)
    alike: Counter[str] = Counter()
    for part in sorted(fewer, key=len, reverse=True):
        how = _take_like(part, rest)
        if not how:
            return 0.0
        alike[how] += 1
    unmatched = 0.05 * min(sum(len(part) > 1 for part in rest), 3)
    match alike["whole"], alike["initial"]:
        case 0, _:
            return 0.0
        case 1, 0:  # a surname alone
            return 0.3 if len(more) > 1 else 1.0
        case 1, _:
            return 0.85 - unmatched
    return 0.95 - unmatched


def _take_like(part: str, rest: list[str]) -> Literal["whole", "initial", ""]:
    """Take what a part of a name stands for from the parts of another: a whole part, but for a slip, or initials."""
    like = next((other for other in rest if other == part), None)
    if like is None and len(part) > 3:
        like = next((other for other in rest if len(other) > 3 and OSA.distance(part, other) <= 1), None)
    if like is not None:
        rest.remove(like)
        return "whole" if len(part) > 2 else "initial"
    like = next((other for other in rest if other[0] == part[0] and 1 in (len(part), len(other))), None)
    if like is not None:
        rest.remove(like)
        return "initial"
    if len(part) > 3 or Counter(part) - Counter(other[0] for other in rest):
        return ""
    for letter in part:  # "JM" stands for two parts
        rest.remove(next(other for other in rest if other[0] == letter))
    return "initial"


def are_namesakes(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether the addresses under one name are those of two people: other ones, at one institution."""
    return not set(left) & set(right) and bool(_sites(left) & _sites(right))


def _sites(emails: Iterable[str]) -> set[str]:
    """The registered domains of addresses."""
    domains = (email.partition("@")[2] for email in emails)
    return {urls.registered_domain(domain) or domain for domain in domains}


#: Similarity from which an address is a person's by its letters.
FITTING = 0.6
#: From here on it may be, if it is nobody else's.
_LIKELY = 0.45
#: Two fits that are nearer to each other say the same.
NEARLY = 0.04


@lru_cache(maxsize=65536)
def fits_address(name: str, email: str) -> float:
    """How well an address fits a name by its local part, 0 to 1: "acasali@…", "ana.casali@…", "casalia@…".

    Letters that addresses do not have may be written as two: juergen.mueller@… is Jürgen Müller's.
    """
    local = re.sub(r"\d+", " ", fold_words(email.partition("@")[0]))
    words = " ".join(local.split())[:32]
    fit = _fit(name_parts(name), words)
    return fit if fit == 1.0 or name.isascii() else max(fit, _fit(name_parts(spell_out(name)), words))


class _Explained(NamedTuple):
    """An address taken apart into beginnings of a name's parts; of two ways the cheaper one is better."""

    cost: float
    pieces: tuple[tuple[str, int], ...]  # the parts, and how many letters of each
    strange: int = 0  # letters that are left


def _fit(parts: tuple[str, ...], words: str) -> float:
    if PARTICLES.issuperset(parts) or len(words) > 5 and not any(part[:3] in words for part in parts):
        return 0.0
    best = _explain(words, parts[:7], False)
    lengths = sorted((length for _, length in best.pieces), reverse=True) or [0]
    whole = sum(length == len(part) > (2 if best.strange else 1) for part, length in best.pieces)
    if not best.strange:
        return _fit_all(lengths, whole, few=min(3, len(parts)))
    if _has_strange_name(words, parts):
        return 0.3 if whole else 0.0
    if sum(lengths) <= 2 * best.strange or lengths[0] < 3:
        return 0.0 if not whole else _LIKELY if lengths[0] > 4 else 0.3
    return 0.9 if whole > 1 else 0.75 if len(lengths) > 1 and (whole or lengths[0] > 3) else FITTING


def _fit_all(lengths: list[int], whole: int, *, few: int) -> float:
    """How well an address fits of which every letter is explained, by the longest pieces and the whole parts."""
    if len(lengths) == 1:
        return (0.8 if lengths[0] > 2 else _LIKELY) if whole else _fit_cut(lengths[0], sure=5)
    if whole or lengths[0] > 1:
        return 1.0 if whole > 1 else 0.95 if whole else _fit_cut(lengths[0], sure=4) or _LIKELY
    return FITTING if len(lengths) >= few else _LIKELY


def _fit_cut(length: int, *, sure: int) -> float:
    """How well the beginning of a part tells whose it is."""
    return 0.75 if length >= sure else FITTING if length > 2 else 0.0


def _explain(words: str, parts: tuple[str, ...], lost: bool) -> _Explained:
    """The cheapest way to read an address as beginnings of these parts; an initial stands beside what is explained."""
    if not words:
        return _Explained(0.0, ())
    if words[0] == " ":
        return _explain(words[1:], parts, False)
    best: _Explained | None = None
    for at, part in enumerate(parts):
        common = len(commonprefix((part, words)))
        lengths = {1, common} if common else set()
        if common and len(part) == 1 and not lost:  # an initial stands for the given name that an address spells
            word = words.partition(" ")[0]
            lengths |= {length for length in range(3, len(word) + 1) if word[:length] in given_names()}
            lengths |= {len(word)} if len(word) < len(words) else set()
        for length in sorted(lengths):
            if lost and length < min(3, max(2, len(part))):
                continue
            rest = _explain(words[length:], (*parts[:at], *parts[at + 1 :]), False)
            cost = rest.cost + FITTING
            if best is None or cost < best.cost:
                pieces = ((part, min(length, len(part))), *rest.pieces)
                best = _Explained(cost, pieces, rest.strange)
    if best is None or best.cost > 1:
        rest = _explain(words[1:], parts, True)
        if best is None or rest.cost + 1 < best.cost:
            best = rest._replace(cost=rest.cost + 1, strange=rest.strange + 1)
    return best


def _has_strange_name(words: str, parts: Iterable[str]) -> bool:
    """Whether a word of an address is, or begins with, a given name that is not this person's."""
    return any(
        word[:length] in given_names()
        and not any(part.startswith(word[:length]) or word.startswith(part) for part in parts)
        for word in words.split()
        for length in {len(word), *range(4, len(word))}
    )


def names_another(name: str, email: str) -> bool:
    """Whether an address speaks of somebody else than this person: it has another given name."""
    words = fold_words(email.partition("@")[0])
    return fits_address(name, email) < FITTING and _has_strange_name(words, name_parts(name))


def share_addresses(names: Sequence[str], emails: Sequence[str]) -> list[tuple[str, ...]]:
    """The addresses of each of these people, all weighed at once: by the local part, then by what is left over.

    Nobody gets an address that names another better; where two could have one, and nothing tells them apart, none does.
    """
    shared: list[list[str]] = [[] for _ in names]
    bearers = {email: _bearers(names, email) for email in emails}
    for email, found in bearers.items():
        if len(found) == 1:
            shared[found[0]].append(email)
    contested = [email for email, found in bearers.items() if len(found) > 1]
    while chosen := next((email for email in contested if len(_free(bearers[email], shared)) == 1), None):
        shared[_free(bearers[chosen], shared)[0]].append(chosen)
        contested.remove(chosen)
    if not contested:
        _share_rest(names, [email for email, found in bearers.items() if not found], shared)
    return [tuple(found) for found in shared]


def _share_rest(names: Sequence[str], left: list[str], shared: list[list[str]]) -> None:
    """Give addresses that fit nobody well to those of whom they may be, or by their order to who has none."""
    for email in left[:]:
        likely = [nth for nth, name in enumerate(names) if fits_address(name, email) >= _LIKELY]
        if len(likely) == 1 and not shared[likely[0]]:
            shared[likely[0]].append(email)
            left.remove(email)
    free = _free(range(len(names)), shared)
    if len(left) == len(free) <= max(1, len(names) - len(free)):
        for nth, email in zip(free, left, strict=True):
            shared[nth] += [] if names_another(names[nth], email) else [email]


def _bearers(names: Sequence[str], email: str) -> list[int]:
    """Whom an address fits, and nobody else better."""
    fits = [fits_address(name, email) for name in names]
    least = max(FITTING, max(fits, default=0.0) - NEARLY)
    return [nth for nth, fit in enumerate(fits) if fit >= least]


def _free(people: Iterable[int], shared: list[list[str]]) -> list[int]:
    """Those of these people who have no address yet."""
    return [nth for nth in people if not shared[nth]]
