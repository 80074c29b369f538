"""Templates: Jinja with autoescape, the few functions that all of them use, and sentences in another language.

`locale/es/sentences.toml` of the page and of each mission holds the sentences: "It is gone ({code}): {said}." A value
in braces stays as it is; one whose name begins with `said` is a sentence or a word of its own, and must be known as
well. An unknown sentence is marked English.
"""

from __future__ import annotations

import calendar
import re
import shlex
import time
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from lycosa import reasons
from lycosa.missions import registry
from lycosa.output.plain import printable
from lycosa.serve.collection_folders import decode_name
from lycosa.serve.collection_summaries import STATES
from lycosa.serve.mission_pages import package_of, pages_of
from lycosa.serve.page_request import PageRequest, collection_link, twin_path, with_query
from lycosa.serve.translations import LANGUAGES, Translator, catalogue, read_sentences
from lycosa.version import __version__

_CHARACTERS = 2000  # of a sentence that is looked for
_DEPTH = 4
_VALUE = re.compile(r"\{(\w+)\}")
#: With more values in a sentence, the search for them would take long on hostile texts.
MOST_VALUES = 4


class SentenceForm(NamedTuple):
    """A sentence with places for values, as a pattern, and its form in another language."""

    pattern: re.Pattern[str]
    told: str


class SentenceBook(NamedTuple):
    """The sentences of a language."""

    whole: dict[str, str]
    forms: list[SentenceForm]


@lru_cache(maxsize=2000)
def tell(text: str, language: str) -> str | None:
    """A sentence in a language; None where it is not known there. English is what sentences are written in."""
    if language == LANGUAGES[0]:
        return text
    return _tell(text, _open_book(language), _DEPTH) if len(text) <= _CHARACTERS else None


def _tell(text: str, book: SentenceBook, depth: int) -> str | None:
    if text in book.whole:
        return book.whole[text]
    lower = text[:1].lower() + text[1:]
    if lower in book.whole:  # the beginning of a sentence
        found = book.whole[lower]
        return found[:1].upper() + found[1:]
    for form in book.forms if depth else ():
        if (match := form.pattern.fullmatch(text)) is not None:
            values = {
                name: _tell(value, book, depth - 1) if name.startswith("said") else value
                for name, value in match.groupdict().items()
            }
            if None not in values.values():
                return form.told.format(**values)
    return None


@cache
def _open_book(language: str) -> SentenceBook:
    known = read_sentences(language, "lycosa.serve")
    for mission in registry.names():
        for package in dict.fromkeys(package_of(page) for page in pages_of(mission)):
            known |= read_sentences(language, package)
    forms = [SentenceForm(_compile(text), told) for text, told in known.items() if _VALUE.search(text)]
    return SentenceBook(catalogue(language) | known, forms)


def _compile(text: str) -> re.Pattern[str]:
    """A pattern of a sentence: its values may be anything, as short as they can."""
    parts = _VALUE.split(text)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if nth % 2 else re.escape(part) for nth, part in enumerate(parts)), re.DOTALL
    )


#: What sentences of the core quote for people to type.
_COMMAND = re.compile(r"`([^`\n]{1,200})`")


@cache
def environment() -> Environment:
    """The one environment of all templates."""
    made = Environment(
        loader=PackageLoader("lycosa.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"number": _number, "size": _size, "when": _when, "duration": _duration, "moment": _moment}
    made.filters |= {"local": _local}
    made.filters |= {"shown": _shown, "lines": _lines, "told": _told, "choices": _choices, "shell": shlex.quote}
    made.globals |= {
        "version": __version__,
        "now": time.time,
        "zone": lambda: time.strftime("%Z"),
        "meaning_of": meaning_of,
        "collection_link": collection_link,
        "decode_name": decode_name,
        "with_query": with_query,
        "states": STATES,
    }
    return made


@cache
def mission_environment(package: str) -> Environment:
    """The environment of a mission's templates: its own, and ours."""
    ours = environment()
    try:
        theirs = PackageLoader(package)
    except ValueError:  # it has none of its own
        return ours
    assert ours.loader is not None
    return ours.overlay(loader=ChoiceLoader([theirs, ours.loader]))


def render(template: str, data: Any, request: PageRequest, **more: Any) -> str:
    """The page that a template makes of data.

    A template sees `data`, `request`, `_` (translates), `n_` (counts), `link` (a page of the same collection) and
    `here` (this page with another query); one of a mission also `mission_link` (a page of the same mission) and
    `static` (the address of a file in its folder of that name).
    """
    chosen = mission_environment(request.package) if request.package else environment()
    return chosen.get_template(template).render(
        data=data,
        request=request,
        _=request.translate,
        n_=request.translate.count,
        link=request.link,
        here=request.here,
        mission_link=request.mission_link,
        static=lambda file: f"/static/m/{request.mission}/{quote(file)}",
        twin=with_query(
            quote(twin_path(request.address), safe="/~"), {key: request.query.getlist(key) for key in request.query}
        ),
        **more,
    )  # fmt: skip


def _words(context: Context) -> Translator:
    words = context["_"]
    assert isinstance(words, Translator)
    return words


def _shown(text: str, most: int = 500) -> str:
    """A text of the network as one line: without control and direction characters, and not without end."""
    return printable(text if len(text) <= most else f"{text[: most - 1]}…")


@pass_context
def _told(context: Context, text: str, most: int = 500) -> Markup:
    """A sentence of the core in the language of the page; marked as English where it is not known there."""
    language = _words(context).language
    told = tell(text, language)
    if told is not None or " " not in text:  # a code is of no language
        return _mark_commands(_shown(text if told is None else told, most))
    return Markup('<span lang="en">{}</span>').format(_mark_commands(_shown(text, most)))


def _mark_commands(text: str) -> Markup:
    """A sentence in which `commands` stand as code, without their quotes."""
    parts = _COMMAND.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if nth % 2 else part for nth, part in enumerate(parts)
    )


def _choices(values: Iterable[Any]) -> list[tuple[str, int, bool]]:
    """The values of a facet, each with how many have it and whether it is chosen."""
    return [one if isinstance(one, tuple) else (one.value, one.count, one.chosen) for one in values]


def _lines(text: str) -> str:
    """A text of the network line by line, without control and direction characters."""
    return "\n".join(printable(line) for line in text.splitlines())


@pass_context
def _number(context: Context, value: float, digits: int = 0) -> str:
    return _words(context).number(value, digits)


@pass_context
def _size(context: Context, value: float) -> str:
    return _words(context).size(value)


def _when(at: float) -> str:
    """A Unix time as people read it, in the time of the machine; empty where it is 0."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""


def _local(text: str) -> str:
    """A time of a list, which is UTC, as `when` shows the others."""
    try:
        return _when(calendar.timegm(time.strptime(text[:19], "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return _shown(text, 40)


def meaning_of(code: str) -> str:
    """What the code of a reason means; empty where it is none."""
    meaning = reasons.explain(code).meaning
    return meaning if meaning != code else ""


def _moment(at: float) -> str:
    """A Unix time of today, with its seconds; with its day where it is another one."""
    then, now = time.localtime(at), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


@pass_context
def _duration(context: Context, seconds: float) -> str:
    if seconds < 60:
        return f"{_words(context).number(seconds, 1 if seconds < 10 else 0)} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
