"""Rights: the licences and copyright lines that a document states."""

from __future__ import annotations

import re

from lycosa.missions.documents.model import Evidence, Finding
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import join_lines, plain
from lycosa.text.fold import fold

_CC_ADDRESS = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-(?:nc|nd|sa)){0,2})|publicdomain/(zero|mark))(?:/(\d\.\d))?"
)
_CC_SHORT = re.compile(r"\bcc[ -]?(by(?:[ -](?:nc|nd|sa)){0,2}|0)\b(?:[ -]?(\d\.\d))?")
_CC_WORDS = re.compile(
    r"creative commons[\s:,–-]*(?:de |license|licencia|licenca|public license|attribution|reconocimiento|"
    r"atribucion|atribuicao|[\s:,–-])*"
    r"([^.;©]{0,90}?)(\d\.\d)?(?=[.;©,)]|\s(?:internacional|international|espana|unported|license|licen[cs]a|"
    r"argentina)|$)"
)
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
    for key in ("licence", "rights"):
        if said := metadata.get(key, ""):
            value = licence_of(said) or said[:200]
            evidence = Evidence(source="metadata", rule=f"embedded {key}", quote=said[:200])
            found.setdefault(value, Finding(value=value, confidence=0.9, evidence=(evidence,)))
    for nth, line in enumerate(lines):
        if licence := _licence_at(lines, nth):
            _add(found, licence, 0.9, line, "Creative Commons")
        text = plain(line.text)
        notice = _COPYRIGHT.search(text)
        if notice and re.search(r"(?:19|20)\d\d|©", notice[0]):
            _add(found, notice[0].strip(" .,")[:160], 0.7, line, "copyright line")
        elif _RESERVED.search(text):
            _add(found, "All rights reserved", 0.7, line, "rights reserved")
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


def _add(found: dict[str, Finding], value: str, confidence: float, line: Line, rule: str) -> None:
    evidence = Evidence(source="text", rule=rule, page=line.page, box=line.box, quote=plain(line.text)[:200])
    found.setdefault(value, Finding(value=value, confidence=confidence, evidence=(evidence,)))
