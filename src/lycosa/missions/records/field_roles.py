"""Roles of a record's fields: which one is the title, the text, the day, whoever named the fields, and however."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from lycosa.missions.records.calendar_words import find_date, make_date
from lycosa.text.terms import fold

#: Names of fields by what they mean, the surest first; names are compared folded, without dashes.
_TITLE = ("title", "headline", "name", "titulo", "titular", "titre", "titel", "titolo", "nombre", "nazev", "heading")
_TEXT = ("text", "body", "articlebody", "content", "texto", "cuerpo", "contenido", "story")
_LEAD = ("abstract", "description", "summary", "lead", "subtitle", "standfirst", "entradilla", "resumen", "subtitulo")
_DAY = (
    "date", "datepublished", "published", "publicationdate", "pubdate", "fecha", "datum", "data", "day", "datecreated",
    "created", "time", "updated",
)  # fmt: skip
_PEOPLE = (
    "authors", "author", "byline", "creator", "creators", "autor", "autores", "artist", "artists", "byartist",
    "composer", "director", "brand", "writer", "interpreter", "artista", "marca", "performer",
)  # fmt: skip
_SECTION = ("section", "articlesection", "seccion", "category", "categoria", "rubric", "genre", "topic")
_LANGUAGE = ("language", "lang", "inlanguage", "idioma", "sprache")
_PLACE = ("place", "location", "contentlocation", "lugar", "dateline", "city")
_ISO_DAY = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)(?!\d)")
#: Text in scripts that write words without blanks between them.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
#: Words from which on a text tells a story; a record with less is a thing with fields.
LEAST_WORDS = 40
_MAX_NAME = 200


class Roles(Struct, frozen=True):
    """What a record says, by meaning; empty where it says nothing of the kind."""

    title: str = ""
    text: str = ""
    lead: str = ""
    day: datetime.date | None = None
    people: tuple[str, ...] = ()
    section: str = ""
    language: str = ""
    place: str = ""

    @property
    def tells_story(self) -> bool:
        """Whether there is enough text to compare; two characters count as a word where words stand together."""
        words = len(self.text.split(None, LEAST_WORDS))
        if words < LEAST_WORDS and not self.text.isascii():
            words += sum(len(run) for run in UNSPACED.findall(self.text[:1000])) // 2
        return words >= LEAST_WORDS


def read_roles(data: Mapping[str, Any], *, guess_text: bool = True) -> Roles:
    """The roles of the fields of a record; by a guess, the longest text is the text where no name says so."""
    fields = {_plain_name(name): value for name, value in data.items() if not name.startswith("@")}
    text = _first(fields, _TEXT)
    if not text and guess_text:
        other = (value for name, value in fields.items() if isinstance(value, str) and name not in (*_LEAD, *_TITLE))
        text = max(other, key=len, default="")
    language = _first(fields, _LANGUAGE)[:16].replace("_", "-").partition("-")[0].strip().lower()
    return Roles(
        title=_first(fields, _TITLE)[:1000],
        text=text,
        lead=_first(fields, _LEAD),
        day=_read_day(fields),
        people=tuple(_people(fields)),
        section=_first(fields, _SECTION)[:_MAX_NAME],
        language=language if language.isalpha() else "",
        place=_first(fields, _PLACE)[:_MAX_NAME],
    )


def find_role_fields(data: Mapping[str, Any]) -> set[str]:
    """The fields that give title, text, lead, day, people, section and language."""
    fields = {_plain_name(name): name for name in reversed(list(data)) if not name.startswith("@")}
    roles = (_TITLE, _TEXT, _LEAD, _DAY, _PEOPLE, _SECTION, _LANGUAGE)
    found = (next((name for name in names if as_texts(data.get(fields.get(name, "")))), "") for names in roles)
    return {fields[name] for name in found if name}


def as_texts(value: object) -> list[str]:
    """The texts in a value: itself, or those of a list; of a nested record, its name."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, Mapping):
        return as_texts(value.get("name") or value.get("title") or "")
    if isinstance(value, Sequence):
        return [text for each in value[:50] for text in as_texts(each)]
    return []


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", fold(name))


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    for name in names:
        if texts := as_texts(fields.get(name)):
            return "\n".join(texts)
    return ""


def _people(fields: Mapping[str, Any]) -> Iterable[str]:
    for name in _PEOPLE:
        if texts := as_texts(fields.get(name)):
            return [text[:_MAX_NAME] for text in texts]
    return ()


def _read_day(fields: Mapping[str, Any]) -> datetime.date | None:
    for name in _DAY:
        for text in as_texts(fields.get(name)):
            if day := read_day(text):
                return day
    return None


def read_day(text: str) -> datetime.date | None:
    """The day that a text names, in ISO 8601 or in words."""
    if found := _ISO_DAY.match(text):
        return make_date(int(found[1]), int(found[2]), int(found[3]))
    return find_date(text[:_MAX_NAME])
