"""Readers of the first pages: who wrote a document, and where, by the line model's words or by a cover's labels."""

from __future__ import annotations

import re

from msgspec import Struct, structs

from lycosa.missions.documents.front_page.names import name_score, role_after, role_of, role_within, split_names
from lycosa.missions.documents.front_page.people import (
    ADDRESSES,
    CONTACT,
    CUT,
    NO_HEADER,
    NO_PLACE_LABEL,
    Institution,
    Named,
    acronyms,
    has_names,
    is_place,
    is_sentence,
    name_confidence,
    names_and_places,
    names_in_groups,
    tidy_place,
)
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    ADDRESS,
    DEGREE,
    GIVEN_NAMES,
    INSTITUTION,
    KEYWORDS,
    PARTICLES,
    SECTION,
    TEACHER,
    table_pattern,
)
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.reading.layout import RAISED, Line, join_lines, plain
from lycosa.text.fold import fold

#: Lines below the title in which a label counts whatever the line model says.
_LABEL_LINES = 12
_GROUP_CHARS = 1500  # of a block of authors in groups
_WRAPPED_CHARS = 60  # a longer line goes on in the next one
#: Lines below a label whose names have its role, on a cover.
_LABELLED_MAX = 4


def read_header(
    lines: list[Line], *, title: list[Line], chances: dict[int, dict[str, float]], levels: bool = False
) -> tuple[list[Named], list[Institution]]:
    """The people and institutions that the first page of a text names, by what the line model says of each line.

    `levels`: each line of an institution is one of its levels, as on covers; else lines are joined, as in articles.
    """
    reader = _HeaderReader(lines, title=title, chances=chances, levels=levels)
    for order, line in enumerate(lines):
        reader.read(order, line)
    return reader.people, [one for one in reader.places if is_place(one)]


def read_cover(pages: list[list[Line]], *, title: list[Line]) -> tuple[list[Named], list[Institution]]:
    """The people and institutions of covers: one institution a line, names with the roles that labels give.

    A label stands before its names, on their line or above them, or below one name. A name without a label on the
    first of the pages is the author's; on later ones it is somebody's of whom nothing is said.
    """
    reader = _CoverReader(title)
    for nth, lines in enumerate(pages):
        reader.read_page(lines, is_first=nth == 0)
    people = reader.people
    if any(one.role == "author" and one.rule.startswith("label") for one in people):
        for one in people:
            if one.role == "author" and not one.rule.startswith("label"):
                one.role, one.score = "other", 0.3
    return people, reader.places


def join_groups(lines: list[Line], chances: dict[int, dict[str, float]]) -> list[Line]:
    """The lines with each block of authors in groups as one line: "Ana Ruiz, University of X; Eva Sanz," goes on."""
    out: list[Line] = []
    for line in lines:
        last = out[-1] if out and len(out[-1].text) < _GROUP_CHARS else None
        if last is None or ";" not in last.text or CONTACT.search(line.text) or not _goes_on(line, last):
            out.append(line)
        elif last.page == line.page and names_in_groups(f"{last.text};")[0]:
            out[-1] = structs.replace(last, text=join_lines([last.text, line.text]))
            chances[id(out[-1])] = chances.get(id(last), {})
        else:
            out.append(line)
    return out


class _SeenLine(Struct):
    """A line of a header with what the line model says of it."""

    order: int
    line: Line
    text: str
    folded: str
    author: float
    place: float


class _HeaderReader:
    """Reads the lines of a header in their order; a label, or half a name, is kept for the line below."""

    def __init__(
        self, lines: list[Line], *, title: list[Line], chances: dict[int, dict[str, float]], levels: bool
    ) -> None:
        self.people: list[Named] = []
        self.places: list[Institution] = []
        self._lines = lines
        self._title = title
        self._title_ids = {id(line) for line in title}
        self._chances = chances
        self._levels = levels
        self._top = max((nth for nth, line in enumerate(lines) if id(line) in self._title_ids), default=0)
        self._began = False  # the text: after the heading of the abstract or the introduction
        self._pending: Role | None = None
        self._broken: tuple[int, str] = (-9, "")  # the end of a line of authors that is no name yet

    def read(self, order: int, line: Line) -> None:
        """Take over the people or the institution that a line names."""
        text = line.text.strip()
        folded = fold(plain(text))
        if any(pattern.match(folded) for pattern in (ABSTRACT, SECTION, KEYWORDS)):
            self._began, self._pending = True, None
            return
        if not folded or id(line) in self._title_ids:
            return
        said = self._chances.get(id(line), {})
        seen = _SeenLine(order, line, text, folded, said.get("author", 0.0), said.get("affiliation", 0.0))
        if seen.author < 0.5 and self._is_name_below(seen):
            seen.author = 0.5
        role, rest = role_of(text)
        labelled = role is not None and not self._began and order < self._top + _LABEL_LINES
        if seen.author + seen.place + said.get("email", 0.0) < 0.15 and not labelled:
            self._pending = None
            return
        counts = labelled or max(seen.author, seen.place) > 0.3
        if role is None or not counts or not self._take_labelled(seen, role, rest):
            self._take_unlabelled(seen)

    def _take_unlabelled(self, seen: _SeenLine) -> None:
        """Take over the names or the institution of a line that no label begins."""
        if NO_HEADER.match(seen.folded):
            return
        if CONTACT.search(seen.folded) and not has_names(seen.text):
            before = ADDRESSES.sub("\n", seen.line.text).partition("\n")[0].rstrip(" .,;(")
            if "@" not in seen.text or not INSTITUTION.search(fold(before)):
                return
            seen.line, seen.text, seen.folded = structs.replace(seen.line, text=before), before, fold(plain(before))
            seen.place = max(seen.place, 0.3)
        if not self._take_names(seen):
            self._pending = None
            self._take_place(seen)

    def _is_name_below(self, seen: _SeenLine) -> bool:
        """Whether a name stands just below the title or other names, whatever the model says."""
        if self._began:
            return False
        last = self.people[-1].line if self.people else None
        above = last or (self._title[-1] if self._title else None)
        return above is not None and _is_below(seen.line, above) and _is_name(seen.text)

    def _take_labelled(self, seen: _SeenLine, role: Role, rest: str) -> bool:
        """Take over the names behind a label, or keep it for those below; whether the line is done with."""
        names = split_names(rest)
        self.people += _named(names, role, seen.line, base=0.85, rule=f"label: {role}", order=seen.order)
        self._pending = role if not rest else None
        return bool(names) or not rest

    def _take_names(self, seen: _SeenLine) -> bool:
        """Take over the names of a line where the model, its place and its words say together that it is of authors."""
        names, rests = names_and_places(self._with_line_above(seen))
        if not names or not self._is_of_authors(seen, [name_score(name) for name, _ in names], has_place=bool(rests)):
            return False
        base = 0.45 + 0.5 * seen.author - (0.25 if seen.order < self._top else 0.0)
        role: Role = self._pending or "author"
        self.people += _named(names, role, seen.line, base=base, rule="line model", order=seen.order)
        self.places += [Institution(tidy_place(one), seen.line, marks, 0.75, seen.order) for one, marks in rests]
        self._broken = (-9, "") if rests else (seen.order, _broken_name(seen.text))
        return True

    def _with_line_above(self, seen: _SeenLine) -> str:
        """The words of a line with the part of a name that the line above ends with: "Ana Ruiz", "de Sousa and …"."""
        if self.people and self.people[-1].order == seen.order - 1 and seen.text.split()[0] in PARTICLES:
            return f"{self.people.pop().name} {seen.text}"
        order, tail = self._broken
        return f"{tail} {seen.text}" if tail and order == seen.order - 1 else seen.text

    def _is_of_authors(self, seen: _SeenLine, scores: list[float], *, has_place: bool) -> bool:
        """Weigh a line with names; `seen.author` rises where its place or its institution speaks for it."""
        enough = 0.75 if self._began else 0.25
        in_header = not self._began and seen.order > self._top
        if has_place and in_header:
            seen.author = max(seen.author, 0.4)  # a name with its institution
        elif max(scores) < 0.6:
            enough = max(enough, 0.5)
        starts = seen.order == 0 or self._lines[seen.order - 1].block != seen.line.block
        if seen.author < enough and starts and in_header and min(scores) > 0.5:
            seen.author = max(seen.author, 0.3)  # a block that begins with a name
        if seen.author < enough or DEGREE.match(seen.folded):
            return False
        return has_place or seen.author > 0.8 or not INSTITUTION.search(seen.folded)

    def _take_place(self, seen: _SeenLine) -> None:
        """Take over an institution, or the rest of the one that the line above began."""
        text, folded = seen.text, seen.folded
        if (
            is_sentence(text)
            and not _leading_mark(seen.line.text)[0]
            and not re.match(r"^\W*(?:del? |d[ao] |y |e |and )", folded)
        ):
            return
        if INSTITUTION.search(folded) and seen.place >= 0.2 or seen.place > 0.7:
            self._add_place(seen)
        elif self.places and self.places[-1].order == seen.order - 1 and len(text) < 90:
            last = self.places[-1]
            if ADDRESS.search(folded) or last.text.endswith((",", "-")):
                last.text = tidy_place(f"{last.text} {plain(text)}")
                last.order = seen.order

    def _add_place(self, seen: _SeenLine) -> None:
        """Adds the institutions of a line, or its words to the one that the line above began."""
        line, order, places = seen.line, seen.order, self.places
        marks, body = _leading_mark(line.text)
        goes_on = bool(places) and places[-1].order == order - 1 and not marks
        goes_on = goes_on and _goes_on(line, self._lines[order - 1])
        if self._levels and not goes_on and re.search(r"\b(?:19|20)\d\d\b", body):
            return  # a station of a life
        for nth, (part_marks, part) in enumerate(_marked_parts(line.text) or [(marks, body)]):
            before = fold(places[-1].text) if places else ""
            if nth == 0 and goes_on and not part_marks and not self._is_another(before, part):
                link = self._link_to(order, before, part)
                places[-1].text = tidy_place(places[-1].text + link + part)
                places[-1].order = order
            else:
                places.append(Institution(tidy_place(part), line, part_marks, round(0.4 + 0.5 * seen.place, 2), order))

    def _link_to(self, order: int, before: str, part: str) -> str:
        """What stands between an institution and what the next line goes on with."""
        if before.endswith("-"):
            return ""
        line, above = self._lines[order], self._lines[order - 1]
        own = INSTITUTION.match(fold(part)) or ADDRESS.search(fold(part)) or re.search(r"\d{4}", part)
        ends = [one.text[-1:] for one in self._lines if one.block == line.block and one.page == line.page]
        wrapped = CUT.search(before) or len(above.text) > _WRAPPED_CHARS or "," in ends
        return ", " if above.text.endswith(",") or own and not wrapped else " "

    def _is_another(self, before: str, part: str) -> bool:
        """Whether a part is an institution of its own, and not more of the one before."""
        if CUT.search(before):
            return False
        folded = fold(part)
        return bool(_WHOLE.search(before) and _WHOLE.search(folded) or self._levels and INSTITUTION.search(folded))


def _named(
    names: list[tuple[str, tuple[str, ...]]], role: Role, line: Line, *, base: float, rule: str, order: int
) -> list[Named]:
    titled = TEACHER.search(fold(plain(line.text))) is not None
    return [Named(name, role, line, marks, name_confidence(name, base), rule, order, titled) for name, marks in names]


def _broken_name(text: str) -> str:
    """The end of a line of authors where it is no name yet; empty where it is one."""
    tail = re.split(r"[,;&]|\b(?:and|y|e)\b", text)[-1].strip()
    is_cut = tail != text and RAISED not in tail and re.search(r"[a-z]{2}", tail) and not split_names(tail)
    return tail if is_cut else ""


class _CoverReader:
    """Reads covers line by line; a label is kept for the names below it."""

    def __init__(self, title: list[Line]) -> None:
        self.people: list[Named] = []
        self.places: list[Institution] = []
        self._title_ids = {id(line) for line in title}
        self._lines: list[Line] = []  # of the page
        self._is_first = True
        self._pending: Role | None = None
        self._since_label = 0  # lines with names

    def read_page(self, lines: list[Line], *, is_first: bool) -> None:
        """Take over the people and institutions of a page."""
        self._lines, self._is_first = lines, is_first
        self._pending, self._since_label = None, 0
        for order in range(len(lines)):
            self._read(order)
        if not self.places:
            self.places += _in_prose(lines)

    def _read(self, order: int) -> None:
        line = self._lines[order]
        text = line.text.strip()
        folded = fold(plain(text))
        if not folded or id(line) in self._title_ids or SECTION.match(folded) or NO_HEADER.match(folded):
            self._pending = None
            return
        if (
            TEACHER.match(folded)
            and self.people
            and self.people[-1].line is self._lines[order - 1]
            and not has_names(text)
        ):
            self.people[-1].titled = True
        role, rest = role_of(text)
        if role is None:
            role, rest = role_within(text)
        if role is not None and self._take_labelled(order, role, rest):
            return
        if DEGREE.match(folded):
            self._pending = None
        elif has_names(text) or not CONTACT.search(folded):
            text, own_role = role_after(text)
            if not self._take_names(order, text, own_role):
                self._take_places(order, text, is_labelled=role is not None)
                self._pending = None

    def _take_labelled(self, order: int, role: Role, rest: str) -> bool:
        """Take over the names behind a label, or keep it for those around; whether the line is done with."""
        line = self._lines[order]
        folded = fold(plain(line.text.strip()))
        rest = _name_part(rest)
        names = split_names(rest)
        self.people += _named(names, role, line, base=0.92, rule=f"label: {role}", order=order)
        if not rest and self.people and _is_label_below(self._lines, order):
            several = bool(re.search(r"e?s\)?$", folded))
            for above in self.people:
                beside = several and above.line is not None and above.line.block == line.block
                if above.line is self._lines[order - 1] or beside:
                    above.role, above.rule = role, f"label below: {role}"
            self._pending = None
        else:
            goes_on = not names or rest.endswith(",") or bool(re.match(r"^\W*\w+(?:es|s)\b", folded))
            self._pending, self._since_label = role if goes_on else None, 0
        if names or not rest:
            return True
        self._pending = None
        return False

    def _take_names(self, order: int, text: str, own_role: Role | None) -> bool:
        """Take over the names of a line; whether it is done with."""
        line = self._lines[order]
        names, rests = names_and_places(text)
        if not names:
            return False
        is_sure = any(not GIVEN_NAMES.isdisjoint(fold(name).split()) for name, _ in names)
        if self._pending is None and own_role is None and not is_sure and self._is_of_place(order):
            return True
        if not rests and INSTITUTION.search(fold(plain(line.text.strip()))):
            return False
        near = own_role or (self._pending if self._since_label < _LABELLED_MAX else None)
        role: Role = near or ("author" if self._is_first else "other")
        self._since_label += 1
        rule = f"label: {role}" if near else "name on the cover"
        base = 0.9 if near else 0.8 if self._is_first else 0.4
        self.people += _named(names, role, line, base=base, rule=rule, order=order)
        self.places += [Institution(tidy_place(one), line, marks, 0.7, order) for one, marks in rests]
        return True

    def _is_of_place(self, order: int) -> bool:
        """Whether words that may be a name stand among institutions, or as a town over the date: "Porto Alegre"."""
        line = self._lines[order]
        around = [one for one in self._lines[max(0, order - 1) : order + 2] if one.block == line.block]
        if len(around) == 3 and all(INSTITUTION.search(fold(one.text)) for one in (around[0], around[2])):
            return True
        after = fold(self._lines[order + 1].text) if order + 1 < len(self._lines) else ""
        dated = re.match(r"^\W*(?:[a-z]+ (?:de |of )?)?(?:19|20)\d\d\W*$", after)
        return bool(dated and (self.people or ADDRESS.search(fold(line.text))))

    def _take_places(self, order: int, text: str, *, is_labelled: bool) -> None:
        """Take over the institutions of a line that names nobody."""
        if self._is_first and self.people:
            self.places += [Institution(part, self._lines[order], (), 0.6, order) for part in acronyms(text)]
        if not is_labelled and self._is_place(order, text):
            self._add_place(order, text)

    def _is_place(self, order: int, text: str) -> bool:
        folded = fold(plain(self._lines[order].text.strip()))
        return bool(
            len(folded) < 120
            and INSTITUTION.search(folded)
            and not NO_PLACE_LABEL.match(folded)
            and not re.search(r"\b(?:19|20)\d\d\b", folded)  # an event
            and not _is_prose(self._lines, order)
            and not is_sentence(text)
        )

    def _add_place(self, order: int, text: str) -> None:
        last = self.places[-1] if self.places else None
        if last and last.order == order - 1 and re.search(r"\b(?:de|da|do|of|la|del|y|e|and)$", last.text):
            last.text = tidy_place(f"{last.text} {text}")
        else:
            score = 0.85 if self._is_first else 0.7
            self.places.append(Institution(tidy_place(text), self._lines[order], (), score, order))


#: An institution that stands by itself; a second one after it is another.
_WHOLE = table_pattern("whole")


_DETAILS = table_pattern("details")


def read_details(lines: list[Line]) -> list[Institution]:
    """The institutions under a heading "Author details", as some journals print them at the end."""
    for nth, line in enumerate(lines):
        if _DETAILS.match(fold(plain(line.text)).strip()):
            below = [plain(one.text) for one in lines[nth + 1 : nth + 12]]
            end = next(
                (n for n, text in enumerate(below) if n and len(text) < 35 and not re.search(r"\d|\.$", text)), 12
            )
            text = re.sub(r"(?<=[.,;] )(?=\d{1,2}[A-Z])|^(?=\d{1,2}[A-Z])", " ", join_lines(below[:end]))
            parts = re.split(r"(?:^|(?<=[.,;\s]))(\d{1,2})\s*(?=[A-Z])", text)
            pairs = zip(parts[1::2], parts[2::2], strict=False)
            return [
                Institution(tidy_place(part), line, (mark,), 0.75, 0)
                for mark, part in pairs
                if INSTITUTION.search(fold(part))
            ]
    return []


def _is_name(text: str) -> bool:
    """Whether a line is one name or several, of which one is surely a name."""
    names, _ = names_and_places(text)
    return len(names) > 1 or bool(names) and name_score(names[0][0]) > 0.7


def _is_below(line: Line, above: Line) -> bool:
    """Whether a line is printed just below another."""
    if line.box is None or above.box is None or line.page != above.page:
        return False
    beside = line.box.left < above.box.right and above.box.left < line.box.right
    return beside and 0 < line.box.top - above.box.bottom < 3 * max(line.size, above.size)


def _leading_mark(text: str) -> tuple[tuple[str, ...], str]:
    found = re.match(
        rf"^\s*{RAISED}?\s*(\(?(?:\d{{1,2}}|[a-z]|[IVX]{{1,4}}|[*†‡§¶∗]+)\)?){RAISED}?[.\s]*(?=[^\W\d_]{{2,}})", text
    )
    if found and (RAISED in text[: found.end()] or not found[1].isalpha()):
        return (found[1].strip("()"),), text[found.end() :]
    return (), text


def _marked_parts(text: str) -> list[tuple[tuple[str, ...], str]]:
    """The institutions of one line, each after its mark: "1 University of A 2 University of B"."""
    parts = re.split(
        rf"(?:(?:^|(?<=[\s,;.])){RAISED}?\s*(?=\d|[†‡§¶∗*])|{RAISED}\s*(?=[a-z]\s?[A-Z]))(\d{{1,2}}|[a-z]|[†‡§¶∗*])\s*(?=[A-ZÁÉÍÓÚ][A-Za-zé])",
        text,
    )
    if len(parts) < 3:
        behind = re.findall(rf"([^{RAISED}]{{3,}}?){RAISED}\s?(\d{{1,2}})(?:[,;\s]+(?:and\s)?|$)", text)
        return [((mark,), part) for part, mark in behind] if len(behind) > 1 and text[-1:].isdigit() else []
    found: list[tuple[tuple[str, ...], str]] = [
        ((mark,), part.strip(" ,;")) for mark, part in zip(parts[1::2], parts[2::2], strict=True) if part.strip()
    ]
    return [((), parts[0].strip(" ,;")), *found] if parts[0].strip() else found


def _goes_on(line: Line, above: Line) -> bool:
    """Whether a line of an institution belongs to the one above it."""
    return line.block == above.block and abs(line.size - above.size) < 0.6


_INSTITUTION_NAME = re.compile(
    r"\b(?:Universi(?:dade?|ty|tat|té)|Instituto|Institute|Facultad|Faculdade|Escuela|Escola)"
    r"(?:\s+(?:de|do|da|dos|das|del|of|the|la|las|los|e|y|and|for)\b|\s+[A-ZÁÉÍÓÚÂÊÔÃÕÇÑ][\w'’-]+)+"
)


def _in_prose(lines: list[Line]) -> list[Institution]:
    """Institutions within a sentence: "presented to the Federal University of X as a requirement"."""
    text = join_lines([plain(line.text) for line in lines])
    found = dict.fromkeys(
        re.sub(r"(?:\s+(?:de|do|da|dos|das|del|of|the|la|las|los|e|y|and|for))+$", "", match[0])
        for match in _INSTITUTION_NAME.finditer(text)
    )
    return [Institution(name, lines[0], (), 0.6, 0) for name in found if " " in name][:3]


def _is_label_below(lines: list[Line], order: int) -> bool:
    """Whether a line that is only a label speaks of the name above it, and not of names below it."""
    if order == 0:
        return False
    line, above = lines[order], lines[order - 1]
    below = lines[order + 1] if order + 1 < len(lines) else None
    named = above.block == line.block and bool(names_and_places(above.text)[0])
    follows = below is not None and below.block == line.block and bool(names_and_places(below.text)[0])
    return named and not follows and ":" not in line.text


def _is_prose(lines: list[Line], order: int) -> bool:
    """Whether a line is of a running sentence: "… presented to the University of X as …"."""
    text = lines[order].text
    above = lines[order - 1].text if order and lines[order - 1].block == lines[order].block else ""
    return (
        text[:1].islower()
        or above.endswith("-")
        or bool(re.search(r"\b(?:de|da|do|of|the|la|el|en|em|ao|a|para)$", fold(above)))
    )


def _name_part(rest: str) -> str:
    """A name without the institution after it: "Ana Pérez (Universidad de X)", "Ana Pérez, Universidad de X"."""
    found = re.match(r"^([^(,]+)(?:\(([^)]*)\)?|,\s*(.*))$", rest)
    if found and INSTITUTION.search(fold(found[2] or found[3] or "")):
        return found[1].strip()
    return rest
