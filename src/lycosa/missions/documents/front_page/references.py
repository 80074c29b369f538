"""The bibliography: its entries, with title, authors, year and DOI where they can be told."""

from __future__ import annotations

import re

from lycosa.missions.documents.front_page.vocabulary import REFERENCES
from lycosa.missions.documents.model import CitedWork
from lycosa.missions.documents.reading.letters import join_lines, plain
from lycosa.text.fold import fold

ENTRIES_MAX = 600
ENTRY_CHARS_MAX = 900
DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>,;)\]]+[^\s\"<>,;.)\]]")
_YEAR = re.compile(r"\(?\b((?:19|20)\d\d)[a-z]?\b\)?")
_NUMBERED = re.compile(r"^\s*(?:\[(\w{1,12}\+?\d{0,4})\]|\((\d{1,3})\)|(\d{1,3})\.)\s+\S")
_AUTHOR_START = re.compile(
    r"^(?:[A-ZÁÉÍÓÚÑÇ][\w'’´.-]+(?:\s(?:de|da|do|van|von|del|la)\b)*(?:\s[A-ZÁÉÍÓÚÑÇ][\w'’-]+){0,2},\s[A-ZÁÉÍÓÚ]|"
    r"[A-Z]\.\s?(?:[A-Z]\.\s?)*[A-Z][\w'’-]+(?:,|\sand\s|\sy\s))"
)
_NOTICE = re.compile(r"^\W*(?:©|copyright|\(c\) (?:19|20)|licensed under|this work is licensed|esta obra)", re.I)
_ENDS = re.compile(
    r"^(?:appendix|apendice|anexos?|annex|about the authors?|author biograph\w*|acknowledg\w+|agradecimientos)\b"
)
_QUOTED = re.compile(r"[“\"«]([^”\"»]{8,300})[”\"»]")


def find_references(text: str) -> tuple[CitedWork, ...]:
    """The entries after the last heading of a bibliography."""
    lines = [line.strip() for line in text.replace("\f", "\n").split("\n")]
    start = max((nth for nth, line in enumerate(lines) if len(line) < 45 and REFERENCES.match(fold(line))), default=-1)
    if start < 0:
        return ()
    body: list[str] = []
    for line in lines[start + 1 :]:
        if _ENDS.match(fold(line)) and len(line) < 40:
            break
        if line and not _NOTICE.match(line) and not re.fullmatch(r"[-–—\d\s]{1,8}", line):
            body.append(plain(line))
    return tuple(read_reference(entry) for entry in _entries(body)[:ENTRIES_MAX])


def _entries(lines: list[str]) -> list[str]:
    numbered = sum(1 for line in lines if _NUMBERED.match(line)) >= max(2, len(lines) // 12)
    groups: list[list[str]] = []
    for line in lines:
        begins = _NUMBERED.match(line) if numbered else _AUTHOR_START.match(line)
        if not groups or begins and (numbered or _is_whole(groups[-1])):
            groups.append([line])
        else:
            groups[-1].append(line)
    entries = [join_lines(group)[:ENTRY_CHARS_MAX] for group in groups]
    return [entry for entry in entries if len(entry) > 25 and (_YEAR.search(entry) or numbered)]


def _is_whole(lines: list[str]) -> bool:
    """Whether an entry ends as one does: behind a full stop or an address, with a year in it."""
    ends = lines[-1].endswith((".", "]", ")")) or re.search(r"https?:\S+$", lines[-1])
    return bool(ends and _YEAR.search(" ".join(lines)))


def read_reference(text: str) -> CitedWork:
    """One entry, with what can be told of it."""
    doi = DOI.search(text)
    body = _NUMBERED.sub(lambda found: found[0][-1], text)
    years = list(_YEAR.finditer(body))
    title, people = "", body
    quoted = _QUOTED.search(body)
    early = next((year for year in years if year.start() < 0.6 * len(body)), None)
    if quoted:
        title, people = quoted[1], body[: quoted.start()]
    elif early is not None and body[early.end() : early.end() + 2].strip(".,:) ") == "":
        people = body[: early.start()]
        rest = body[early.end() :].lstrip(" .,:;)")
        title = re.split(r"(?<=[^\W\d_]{3})[.?]\s|\.\s(?=[A-Z])", rest, maxsplit=1)[0]
    else:
        parts = re.split(r"(?<=[^\W\d_]{2})\.\s+", body, maxsplit=2)
        if len(parts) > 1:
            people, title = parts[0], parts[1]
    return CitedWork(
        text=text,
        title=title.strip(' .,“”"')[:300],
        authors=tuple(_authors(people)),
        year=years[-1][1] if years and not early else early[1] if early else "",
        doi=doi[0] if doi else "",
    )


def _authors(text: str) -> list[str]:
    text = re.sub(r"\(?\b(?:eds?|coords?|comps?|et al)\b\.?\)?|[()]", "", text).strip(" .,:;")
    if not text or len(text) > 400:
        return []
    parts = [part.strip(" .") for part in re.split(r";\s*|\s+(?:and|y|e|&)\s+|&", text)]
    out: list[str] = []
    for part in parts:
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        while pieces:
            if (
                len(pieces) > 1
                and re.fullmatch(r"(?:[A-ZÁÉÍÓÚ]\.?[\s-]?){1,4}|[A-ZÁÉÍÓÚ][a-zà-ü]+(?:\s[A-Z]\.)*", pieces[1])
                and " " not in pieces[0]
            ):
                out.append(f"{pieces[1]} {pieces[0]}")
                pieces = pieces[2:]
            else:
                out.append(pieces.pop(0))
    return [name for name in out if 3 < len(name) < 60 and not any(letter.isdigit() for letter in name)][:30]
