"""What stands around a text: abstract, keywords, bibliography and rights.

What the document prints under their headings comes first; keywords may also be the commonest words.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from lycosa.missions.documents.front_page.kinds import identify_language
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    KEYWORDS,
    OTHER_TERMS,
    REFERENCES,
    SECTION,
    STOP_WORDS,
    table_pattern,
)
from lycosa.missions.documents.model import CitedWork, Evidence, Finding
from lycosa.missions.documents.reading.layout import Line, join_lines, plain
from lycosa.text.fold import fold, fold_in_place

ABSTRACT_LINES_MAX = 70
ABSTRACT_CHARS_MAX = 5000
KEYWORDS_MAX = 15
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}|[ivx]{1,4})\.?\s{1,3}[a-z]")


def _ends(folded: str) -> bool:
    return bool(
        KEYWORDS.match(folded)
        or OTHER_TERMS.match(folded)
        or SECTION.match(folded)
        or REFERENCES.match(folded)
        or ABSTRACT.match(folded)
        or len(folded) < 60
        and _SECTION_NUMBER.match(folded)
        or re.match(r"^(?:permission to make|copyright|©|received|recibido|doi:)", folded)
    )


def find_abstract(lines: list[Line], *, language: str, chances: dict[int, dict[str, float]]) -> Finding | None:
    """The abstract in the document's language where there are several; without a heading, what the line model says."""
    found: list[tuple[float, str, Line]] = []
    for nth, line in enumerate(lines):
        rest = _behind_heading(line)
        if rest is None:
            continue
        abstract = join_lines(_abstract_below(line, rest, lines[nth + 1 : nth + 1 + ABSTRACT_LINES_MAX]))
        abstract = abstract[:ABSTRACT_CHARS_MAX]
        if len(abstract) > 80:
            own, _ = identify_language(abstract)
            found.append((0.9 if own == language else 0.6, abstract, line))
    if found:
        confidence, abstract, line = max(found, key=lambda one: one[0])
        evidence = line.evidence("heading of the abstract", abstract[:120])
        return Finding(value=abstract, confidence=confidence, evidence=evidence)
    run = [line for line in lines if chances.get(id(line), {}).get("abstract", 0.0) > 0.7]
    if 3 <= len(run) <= ABSTRACT_LINES_MAX:
        abstract = join_lines([plain(line.text) for line in run])[:ABSTRACT_CHARS_MAX]
        if len(abstract) > 150:
            return Finding(value=abstract, confidence=0.5, evidence=run[0].evidence("line model", abstract[:120]))
    return None


def _behind_heading(line: Line) -> str | None:
    """What stands on the line of an abstract's heading behind it; None where it is none: "Summary of results"."""
    text = plain(line.text).strip()
    heading = ABSTRACT.match(fold_in_place(text))
    if not heading:
        return None
    rest = text[heading.end() :]
    is_heading = not rest or re.search(r"[:.—–\-(]\s*$", heading[0]) or text.isupper() or rest[:1].isupper()
    return rest if is_heading else None


def _abstract_below(heading: Line, rest: str, lines: list[Line]) -> list[str]:
    """The words of an abstract: up to the next heading, the end of its column, or that of its page."""
    body = [rest] if rest else []
    for line in lines:
        if _ends(fold(plain(line.text).strip())) or (line.page != heading.page and len(body) > 8):
            break
        beside = line.page == heading.page and line.column != heading.column
        if beside and body and heading.size and line.size:
            break
        body.append(plain(line.text))
    return body


def find_keywords(lines: list[Line], *, language: str, text: str, embedded: str) -> tuple[Finding, ...]:
    """Keywords: printed ones in the document's language, else those embedded, else the commonest words of the text."""
    printed = _printed(lines, language=language)
    if printed:
        return printed
    if embedded:
        words = [word.strip() for word in re.split(r"[,;]", embedded) if 2 < len(word.strip()) < 60]
        evidence = (Evidence(source="metadata", rule="embedded keywords"),)
        if words:
            return tuple(Finding(value=word, confidence=0.7, evidence=evidence) for word in words[:KEYWORDS_MAX])
    evidence = (Evidence(source="text", rule="commonest words"),)
    return tuple(Finding(value=word, confidence=0.3, evidence=evidence) for word in common_words(text))


def _printed(lines: list[Line], *, language: str) -> tuple[Finding, ...]:
    best: tuple[int, list[str], Line] | None = None
    for nth, line in enumerate(lines):
        text = plain(line.text).strip()
        heading = KEYWORDS.match(fold_in_place(text))
        if not heading:
            continue
        rest = text[heading.end() :].strip()
        if rest and not re.search(r"[:.—–-]\s*$", heading[0]) and not rest[:1].isupper() and "," not in rest:
            continue
        words = split_keywords(join_lines(_keywords_below(line, rest, lines[nth + 1 : nth + 6])))
        score = 2 * _speaks(fold(heading[0]), language) + (len(words) > 1)
        if words and (best is None or score > best[0]):
            best = (score, words, line)
    if best is None:
        return ()
    _, words, line = best
    evidence = line.evidence("heading of the keywords")
    return tuple(Finding(value=word, confidence=0.92, evidence=evidence) for word in words)


def _keywords_below(heading: Line, rest: str, lines: list[Line]) -> list[str]:
    """The lines of a list of keywords: up to a full stop, a heading, or the end of the block."""
    body = [rest] if rest else []
    for line in lines:
        apart = line.block != heading.block or line.page != heading.page
        if _ends(fold(plain(line.text).strip())) or body and (body[-1].endswith(".") or apart):
            break
        body.append(plain(line.text))
    return body


def _speaks(heading: str, language: str) -> bool:
    spoken = (
        "es"
        if heading.startswith(("palabra", "descriptores", "termino"))
        else "pt"
        if "palavra" in heading or heading.startswith("descritores")
        else "en"
    )
    return spoken == language


def split_keywords(text: str) -> list[str]:
    """A printed list of keywords taken apart."""
    text = re.sub(r"\s+", " ", text).strip(" .:")
    parts = re.split(r"\s*[;•·|]\s*|\s[–—-]\s", text)
    if len(parts) < 2:
        parts = re.split(r"\s*,\s*", text)
    if len(parts) < 2:
        parts = re.split(r"\.\s+", text)
    words = [re.sub(r"^(?:and|y|e)\s+", "", part.strip(" .,:")) for part in parts]
    return [word for word in words if 1 < len(word) < 70][:KEYWORDS_MAX]


def common_words(text: str, count: int = 6) -> list[str]:
    """The pairs and words that a text uses most; those of a pair are not told again."""
    words = re.findall(r"[^\W\d_]{3,}|[.;:()]", text[:60_000].lower())
    telling = [word if len(word) > 3 and fold(word) not in STOP_WORDS else "" for word in words]
    single = Counter(word for word in telling if len(word) > 4)
    pairs = Counter(f"{one} {two}" for one, two in pairwise(telling) if one and two)
    chosen: list[str] = [pair for pair, times in pairs.most_common(count // 2) if times >= 4]
    used = " ".join(chosen).split()
    chosen += [word for word, times in single.most_common(3 * count) if times >= 4 and word not in used]
    return chosen[:count]


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


_CC_ADDRESS = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-(?:nc|nd|sa)){0,2})|publicdomain/(zero|mark))(?:/(\d\.\d))?"
)
_CC_SHORT = re.compile(r"\bcc[ -]?(by(?:[ -](?:nc|nd|sa)){0,2}|0)\b(?:[ -]?(\d\.\d))?")
_CC_WORDS = table_pattern("cc_words")
_PARTS = (
    ("nc", r"no ?-?comercial|non ?-?commercial|nao ?-?comercial|\bnc\b"),
    ("nd", r"sin ?obra|no ?deriv|sem ?deriv|\bnd\b"),
    ("sa", r"compartir ?igual|share ?-?alike|compartilha ?igual|\bsa\b"),
)
_COPYRIGHT = re.compile(r"(?:©|\(c\)|copyright)\s*(?:©|\(c\))?\s*(?:by\s)?.{0,100}", re.I)
_RESERVED = re.compile(r"(?:todos (?:los|os) direitos|todos los derechos|all rights) reserv\w+", re.I)


def licence_of(text: str) -> str:
    """The Creative Commons licence that a text names, as "CC BY-NC 4.0"; empty where it names none."""
    folded = fold(text)
    found = _CC_ADDRESS.search(folded)
    if found:
        if found[2]:
            return "CC0 1.0" if found[2] == "zero" else "Public Domain Mark 1.0"
        return f"CC {found[1].upper()} {found[3] or ''}".strip()
    found = _CC_SHORT.search(folded)
    if found:
        return "CC0" if found[1] == "0" else f"CC {found[1].replace(' ', '-').upper()} {found[2] or ''}".strip()
    found = _CC_WORDS.search(folded)
    if found:
        words = found[0]
        parts = [name for name, pattern in _PARTS if re.search(pattern, words)]
        version = re.search(r"\d\.\d", words)
        return f"CC {'-'.join(['BY', *(part.upper() for part in parts)])} {version[0] if version else ''}".strip()
    return ""


def find_rights(lines: list[Line], metadata: dict[str, str]) -> tuple[Finding, ...]:
    """Licences first, then copyright lines, each once."""
    found: dict[str, Finding] = {}

    def add(value: str, confidence: float, line: Line, rule: str) -> None:
        found.setdefault(value, Finding(value=value, confidence=confidence, evidence=line.evidence(rule)))

    for key in ("licence", "rights"):
        if said := metadata.get(key, ""):
            value = licence_of(said) or said[:200]
            evidence = Evidence(source="metadata", rule=f"embedded {key}", quote=said[:200])
            found.setdefault(value, Finding(value=value, confidence=0.9, evidence=(evidence,)))
    for nth, line in enumerate(lines):
        if licence := _licence_at(lines, nth):
            add(licence, 0.9, line, "Creative Commons")
        text = plain(line.text)
        notice = _COPYRIGHT.search(text)
        if notice and re.search(r"(?:19|20)\d\d|©", notice[0]):
            add(notice[0].strip(" .,")[:160], 0.7, line, "copyright line")
        elif _RESERVED.search(text):
            add("All rights reserved", 0.7, line, "rights reserved")
    return tuple(list(found.values())[:6])


def _licence_at(lines: list[Line], nth: int) -> str:
    """The licence that a line names; one in words may go over the lines around."""
    line = lines[nth]
    folded = fold(plain(line.text))
    if _CC_SHORT.search(folded) or _CC_ADDRESS.search(folded):
        return licence_of(folded)
    if "commons" not in folded:
        return ""
    return licence_of(
        join_lines([plain(one.text) for one in lines[max(0, nth - 1) : nth + 3] if one.page == line.page])
    )
