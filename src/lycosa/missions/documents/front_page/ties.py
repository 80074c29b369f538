"""Ties: which institution, address and identifier belong to which person of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from lycosa.missions.documents.front_page.people import Institution, Named
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import fold, plain

_ORCID = re.compile(r"\b(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\b")


def tie_places(people: Sequence[Named], places: Sequence[Institution]) -> dict[int, tuple[str, ...]]:
    """The institutions of each person, by their place in the list: by marks, by what follows the name, or all."""
    tied: dict[int, tuple[str, ...]] = {}
    marked = any(place.marks for place in places)
    orders = sorted({person.order for person in people})
    for nth, person in enumerate(people):
        by_mark = [place.text for place in places if set(place.marks) & set(person.marks)]
        if marked and by_mark:
            tied[nth] = tuple(by_mark)
            continue
        following = next((order for order in orders if order > person.order), 10_000)
        page = person.line.page if person.line else 1
        after = [place.text for place in places if person.order <= place.order < following and place.line.page == page]
        if after and len(orders) > 1 and not marked:
            tied[nth] = tuple(after)
        elif len(places) == 1 or len(people) == 1 or (len(orders) == 1 and not marked):
            tied[nth] = tuple(place.text for place in places)
    return tied


def address_fits(email: str, name: str) -> float:
    """How well the local part of an address fits a name, 0 to 1."""
    local = re.sub(r"[^a-z]", "", fold(email.split("@")[0]))
    words = [word for word in re.split(r"[\s.\-'’]+", fold(name)) if word]
    if len(words) < 2 or len(local) < 2:
        return 0.0
    given, surnames = words[0], words[1:]
    for surname in surnames:
        if len(surname) > 2 and surname in local:
            rest = local.replace(surname, "", 1)
            return 0.95 if not rest or rest[0] == given[0] or given.startswith(rest) else 0.75
        if len(surname) > 5 and len(local) > 4 and (local.startswith(surname[:5]) or local.endswith(surname[:5])):
            return 0.8
    if len(given) > 3 and given in local or given == local:
        return 0.65
    initials = "".join(word[0] for word in words)
    if len(local) >= 2 and (local == initials or local.startswith(initials) and len(initials) > 2):
        return 0.6
    if len(local) > 4 and fuzz.partial_ratio(local, "".join(words)) > 85:
        return 0.6
    return 0.0


def tie_emails(people: Sequence[str], emails: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """The addresses of each person: those that fit the name best, else by order where there are as many as people."""
    tied: dict[int, list[str]] = {}
    left = list(emails)
    fits = sorted(
        ((address_fits(email, name), nth, email) for nth, name in enumerate(people) for email in emails),
        key=lambda one: -one[0],
    )
    for fit, nth, email in fits:
        if fit >= 0.6 and email in left:
            tied.setdefault(nth, []).append(email)
            left.remove(email)
    alone = [nth for nth in range(len(people)) if nth not in tied]
    if left and len(left) == len(alone):
        for nth, email in zip(alone, left, strict=True):
            tied.setdefault(nth, []).append(email)
    return {nth: tuple(found) for nth, found in tied.items()}


def find_orcids(lines: Sequence[Line], people: Sequence[Named]) -> dict[int, str]:
    """The ORCID of each person: on the name's line or on the nearest line after it; checked by its last figure."""
    found: dict[int, str] = {}
    for nth, line in enumerate(lines):
        for match in _ORCID.finditer(plain(line.text)):
            if not _is_valid(match[1]):
                continue
            here = [n for n, person in enumerate(people) if person.line is line]
            before = [
                n for n, person in enumerate(people) if any(one is person.line for one in lines[max(0, nth - 6) : nth])
            ]
            named = [n for n in (*here, *before[::-1]) if n not in found]
            if not named and len(people) == 1:
                named = [0]
            if named:
                found[named[0]] = match[1]
    return found


def _is_valid(orcid: str) -> bool:
    """ISO 7064, 11-2."""
    total = 0
    figures = orcid.replace("-", "")
    for figure in figures[:-1]:
        total = (total + int(figure)) * 2
    check = (12 - total % 11) % 11
    return figures[-1] == ("X" if check == 10 else str(check))


def mend_underscore(text: str, email: str, people: Sequence[str]) -> str:
    """An address whose underscore was printed as a rule and so lost: "sahand n@x.edu" beside Sahand Negahban."""
    local, _, domain = email.partition("@")
    found = re.search(rf"(?<![\w.@-])([a-z][a-z0-9]{{1,20}})\s{re.escape(local)}\s?@", text)
    if not found:
        return email
    for name in people:
        words = [word for word in re.split(r"[\s.]+", fold(name)) if word]
        first = [word for word in words if word == found[1] or len(found[1]) > 2 and word.startswith(found[1])]
        if first and any(word.startswith(local) for word in words if word != first[0]):
            return f"{found[1]}_{local}@{domain}"
    return email
