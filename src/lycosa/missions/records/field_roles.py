"""Roles of a record's fields, whoever named the fields, and however: the title, the text, the day; and values as people
read them: prices, lists, nested records, in one line of bounded length.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from lycosa.content.converters import find_date, make_date
from lycosa.text.fold import fold

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


#: Items of a list and fields of a nested record that are shown, and characters of the whole.
_MAX_ITEMS = 20
MAX_VALUE = 400
_MAX_TITLE = 300
#: Longer items of a list are paragraphs of a text.
_LONG_ITEM = 60
#: Control characters, halves of characters, and those that turn the direction of the text around them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def show_value(value: Any, most: int = MAX_VALUE) -> str:
    """A value in one line; empty where there is none."""
    if isinstance(value, dict):
        if {"amount", "currency"} >= value.keys() and "amount" in value:
            return f"{_show_number(value['amount'])} {value.get('currency') or ''}".strip()
        if len(value) == 1:
            return show_value(next(iter(value.values())), most)
        fields = [f"{name}: {show_value(inner, most)}" for name, inner in list(value.items())[:_MAX_ITEMS]]
        return cut_line("; ".join(fields), most)
    if isinstance(value, list | tuple):
        items = [show_value(inner, most) for inner in value[:_MAX_ITEMS]]
        return cut_line((" " if any(len(item) > _LONG_ITEM for item in items) else ", ").join(items), most)
    return "" if value is None else cut_line(str(value), most)


def _show_number(amount: object) -> str:
    """An amount of money as it is written: with two places, or none."""
    if not isinstance(amount, float) or round(amount, 2) != amount:
        return str(amount)
    return f"{amount:.0f}" if amount.is_integer() else f"{amount:.2f}"


def name_record(data: dict[str, Any], *, key: str = "", url: str = "") -> str:
    """What a record is called: its title or name, else its key, its first short text, its address."""
    fields = {name: value for name, value in data.items() if not name.startswith("@")}
    short = (value for value in fields.values() if isinstance(value, str) and 0 < len(value.strip()) <= 120)
    return cut_line(read_roles(fields).title or key or next(short, "") or url, _MAX_TITLE) or url


def clean_text(text: str) -> str:
    """The text without characters that are not seen and could deceive or that XML does not allow."""
    return _UNSEEN.sub("", text)


def cut_line(text: str, most: int) -> str:
    """One line of at most so many characters, cut between words, without what is not seen."""
    line = " ".join(clean_text(text[: 4 * most]).split())
    if len(line) <= most:
        return line
    head, _, tail = line[: most - 1].rpartition(" ")
    return f"{head if head and len(tail) < 30 else line[: most - 1]}…"
