"""Words by which the parts of a document are known, in many languages; their tables stand in `words.toml`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from lycosa.missions.documents.names import given_names, join_table

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def _pattern(name: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(join_table(TABLES[name]), flags)


def _words(name: str) -> frozenset[str]:
    return frozenset(Path(__file__).with_name(name).read_text(encoding="ascii").split())


INSTITUTION = _pattern("institution")
COMPANY = _pattern("company")
ADDRESS = _pattern("address")
ABSTRACT = _pattern("abstract")
KEYWORDS = _pattern("keywords")
OTHER_TERMS = _pattern("other_terms")
REFERENCES = _pattern("references")
SECTION = _pattern("section")
DEGREE = _pattern("degree")
NOT_NAMES = _pattern("not_names")
HONORIFIC = _pattern("honorific", re.I)
MONTH = join_table(TABLES["month"])
TEACHER = _pattern("teacher")
LIFE = _pattern("life")
GIVEN_NAMES = given_names()
PARTICLES = _words("particles.txt")
STOP_WORDS = _words("stop_words.txt")
