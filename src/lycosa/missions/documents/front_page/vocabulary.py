"""Words by which the parts of a document are known, in many languages; their tables stand in `words.toml`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from lycosa.missions.documents.names import given_names, join_table

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def table_pattern(name: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The pattern of a table."""
    return re.compile(join_table(TABLES[name]), flags)


def _words(name: str) -> frozenset[str]:
    return frozenset(Path(__file__).with_name(name).read_text(encoding="ascii").split())


INSTITUTION = table_pattern("institution")
COMPANY = table_pattern("company")
ADDRESS = table_pattern("address")
ABSTRACT = table_pattern("abstract")
KEYWORDS = table_pattern("keywords")
OTHER_TERMS = table_pattern("other_terms")
REFERENCES = table_pattern("references")
SECTION = table_pattern("section")
DEGREE = table_pattern("degree")
NOT_NAMES = table_pattern("not_names")
HONORIFIC = table_pattern("honorific", re.I)
MONTH = join_table(TABLES["month"])
TEACHER = table_pattern("teacher")
LIFE = table_pattern("life")
GIVEN_NAMES = given_names()
PARTICLES = _words("particles.txt")
STOP_WORDS = _words("stop_words.txt")
