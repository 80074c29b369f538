"""Rules by pointing: values on two or three stored pages, named by a person, from which `lycosa learn` makes a schema.

What was pointed at stands in `taught/NAME.jsonl` of the collection, the examples that the command line reads as well;
the rules in `taught/NAME.toml`. An element is told by its number in the order of its page.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import RedirectResponse, Response
from turbohtml import Document, Element

from lycosa.collection.collection import Collection
from lycosa.collection.folder import keep_mission
from lycosa.collection.status import running_crawl
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.missions.records.learning.learner import MAX_LINE, ExampleLine
from lycosa.missions.records.learning.places import MAX_VALUE, one_line
from lycosa.missions.records.schema import Schema, load_schema
from lycosa.missions.records.site_description import as_own_table
from lycosa.missions.web import NotFound, Pointed, View, WebRequest, Work, read_number
from lycosa.output.atomic_file import whole_file

PLACE = "taught"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_FIELD = re.compile(r"[^\W\d]\w{0,39}")
_MOST_PAGES = 200
_MOST_BYTES = 1 << 20  # of learned rules
_OFFERED = 20
_ENOUGH = 3  # pages to point on
_TRIED = 30
_TRIED_S = 8.0
_LOOKED_AT = 2_000
_CHARS = 200
_HTML = "SELECT url FROM pages WHERE mime IN ('text/html', 'application/xhtml+xml') ORDER BY url LIMIT ?"
_UNTAUGHT = frozenset({"script", "style", "noscript", "template", "textarea", "option", "button", "select", "title"})


class TaughtField(Struct, frozen=True):
    """A field that was named: its values on the page that is shown, and on how many pages it was pointed at."""

    name: str
    values: list[str]
    pages: int


class RuleOutcome(Struct, frozen=True):
    """What the rules give on another page."""

    url: str
    found: dict[str, list[str]]
    lacking: list[str]


class TeachPage(Struct, kw_only=True):
    """What the page of a schema shows."""

    schema: str
    schemas: list[str] = []  # of which something was pointed at
    url: str = ""  # of the page that is shown
    at: int = -1  # the element that was pointed at, and what it says
    value: str = ""
    fields: list[TaughtField] = []
    pages: list[str] = []  # on which something was pointed at
    others: list[str] = []  # like these
    rules: str = ""
    tried: list[RuleOutcome] = []
    counts: dict[str, int] = {}  # by field, on how many of the tried pages it was found
    is_learning: bool = False
    said: str = ""  # why nothing was learned


def show_teaching(request: WebRequest) -> View:
    """Point at values: ?schema=NAME&url=…, &at= the element that was clicked."""
    folder, query = request.folder, request.query
    name = query.get("schema", "")
    known = sorted(path.stem for path in (folder / PLACE).glob("*.jsonl") if _NAME.fullmatch(path.stem))
    if not name:
        return View("teach.html", TeachPage(schema="", schemas=known, others=_list_pages(request.collection, [])))
    page = TeachPage(schema=_check_name(name), schemas=known, url=query.get("url", ""))
    examples = _read(folder, name)
    page.pages = list(examples)
    names = dict.fromkeys(field for values in examples.values() for field in values)
    here = examples.get(page.url, {})
    page.fields = [
        TaughtField(field, here.get(field, []), sum(field in values for values in examples.values())) for field in names
    ]
    page.others = _list_pages(request.collection, [*examples, *([page.url] if page.url else [])])[:_OFFERED]
    if page.url and (at := read_number(query, "at", -1)) >= 0:
        page.at, page.value = at, _read_value(request.collection, page.url, at)
    work = next((each for each in request.list_work() if _is_learning(each, name)), None)
    page.is_learning = work is not None and work.is_running
    if work is not None and not work.is_running and work.code:
        page.said = work.said
    _try_rules(request.collection, folder / PLACE / f"{name}.toml", page)
    return View("teach.html", page)


def show_pointing(request: WebRequest) -> Response:
    """The stored page in which values are pointed at, for its frame."""
    name, url = _check_name(request.query.get("schema", "")), request.query.get("url", "")
    taken = {value: field for field, values in _read(request.folder, name).get(url, {}).items() for value in values}

    def make(tree: Document) -> Callable[[Element], Pointed | None]:
        numbers = {element: number for number, element in _elements(tree)}

        def point(element: Element) -> Pointed | None:
            number = numbers.get(element, -1)
            if number < 0 or element.tag in _UNTAUGHT:
                return None
            address = request.mission_link("teach", schema=name, url=url, at=number)
            return Pointed(address, taken.get(one_line(element.text[:MAX_VALUE]), ""))

        return point

    return request.replay(url, make)


def change_teaching(request: WebRequest) -> Response:
    """Keep or forget a value, learn the rules, or save them as a schema of the collection."""
    form, folder = request.form, request.folder
    name = _check_name(form.get("schema", ""))
    url, field = form.get("url", ""), form.get("known", "") or form.get("field", "").strip()
    action = "keep" if "known" in form else form.get("action", "")
    if action in ("keep", "remove"):
        examples = _read(folder, name)
        if action == "remove":
            examples.get(url, {}).pop(field, None)
        else:
            if not _FIELD.fullmatch(field):
                raise UsageError(f"The field is called {field[:60]!r}; allowed: a word of letters, digits and _.")
            value = _read_value(request.collection, url, read_number(form, "at", -1))
            values = examples.setdefault(url, {}).setdefault(field, [])
            if value not in values:
                values.append(value)
        _write(folder, name, examples)
        if action == "keep":
            url = _choose_next(request.collection, examples, url)
    elif action == "learn":
        if not _read(folder, name):
            raise UsageError("Point at a value first.")
        place = _place(folder)
        words = ["learn", str(place / f"{name}.jsonl"), f"--name={name}", f"--output={place / f'{name}.toml'}"]
        request.start_work(words, label=_label(name))
    elif action == "save":
        _save(request, name)
        return RedirectResponse(request.start_work(["extract"], label=f"extract {name}"), 303)
    else:
        raise UsageError(f"The action is {action[:40]!r}; allowed: keep, remove, learn, save.")
    return RedirectResponse(request.mission_link("teach", schema=name, url=url if action != "learn" else ""), 303)


def _choose_next(collection: Collection, examples: dict[str, dict[str, list[str]]], url: str) -> str:
    """The page to point on next: this one, until it has every field that others have; then another like it."""
    known = {field for page, values in examples.items() if page != url for field in values}
    if not known or known - examples[url].keys() or len(examples) >= _ENOUGH:
        return url
    return next(iter(_list_pages(collection, list(examples))), url)


def _label(name: str) -> str:
    return f"learn {name}"


def _is_learning(work: Work, name: str) -> bool:
    return work.words == ["learn"] and work.label == _label(name)


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"The schema is called {name[:60]!r}; allowed: small letters, digits, - and _, a letter first."
        )
    return name


def _place(folder: Path) -> Path:
    """The folder of what was taught; a link in its place is refused."""
    place = folder / PLACE
    if place.is_symlink():
        raise CollectionError(f"{place} is a link: what is taught is kept in the collection alone.")
    return place


def _read(folder: Path, name: str) -> dict[str, dict[str, list[str]]]:
    """The values that were pointed at, by page and field."""
    path = _place(folder) / f"{name}.jsonl"
    found: dict[str, dict[str, list[str]]] = {}
    try:
        with open(path, "rb") as file:
            while line := file.readline(MAX_LINE):
                example = msgspec.json.decode(line, type=ExampleLine)
                found[example.page] = example.values
                if len(found) > _MOST_PAGES:
                    raise CollectionError(f"{path} has more than {_MOST_PAGES} pages: two or three are enough.")
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as problem:
        raise CollectionError(f"{path} cannot be read: {problem}.") from None
    return {page: values for page, values in found.items() if values}


def _write(folder: Path, name: str, examples: dict[str, dict[str, list[str]]]) -> None:
    if len(examples) > _MOST_PAGES:
        raise UsageError(f"{name} has more than {_MOST_PAGES} pages: two or three are enough.")
    lines = [msgspec.json.encode(ExampleLine(page, values)) for page, values in examples.items() if values]
    if any(len(line) >= MAX_LINE for line in lines):
        raise UsageError("So many values of one page are not kept: two or three of each field are enough.")
    place = _place(folder)
    try:
        place.mkdir(exist_ok=True)
        with whole_file(place / f"{name}.jsonl") as part:
            Path(part).write_bytes(b"".join(line + b"\n" for line in lines))
    except OSError as problem:
        raise CollectionError(f"{place} cannot be written to: {problem.strerror or problem}.") from None


def _elements(tree: Document) -> Iterator[tuple[int, Element]]:
    return enumerate(node for node in tree.descendants if isinstance(node, Element))


def _read_value(collection: Collection, url: str, at: int) -> str:
    """What an element of a stored page says."""
    page = collection.page(url)
    tree = page.doc.tree if page is not None else None
    if tree is None:
        raise NotFound(f"There is no page {url[:500]} of HTML in this collection.")
    element = next((element for number, element in _elements(tree) if number == at), None)
    value = one_line(element.text[: 8 * MAX_VALUE]) if element is not None else ""
    if not value or len(value) > MAX_VALUE:
        raise UsageError("What was pointed at says nothing, or too much: choose a smaller part of the page.")
    return value


def _list_pages(collection: Collection, like: list[str]) -> list[str]:
    """Stored pages of HTML, those whose addresses are most like some others first."""
    urls = [url for (url,) in collection.query(_HTML, [_LOOKED_AT]) if url not in like]
    shapes = [_shape(url) for url in like]
    return sorted(urls, key=lambda url: -max((_likeness(_shape(url), shape) for shape in shapes), default=0))[:50]


def _shape(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    return (parts.netloc, *parts.path.split("/")[1:])


def _likeness(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    same = sum(a == b for a, b in zip(one[:-1], other[:-1], strict=False))
    return same * 2 + (3 if len(one) == len(other) else 0)


def _try_rules(collection: Collection, path: Path, page: TeachPage) -> None:
    """Show what the learned rules give on pages that did not teach."""
    try:
        if path.is_symlink() or not path.is_file():
            return
        if path.stat().st_size > _MOST_BYTES:
            raise CollectionError(f"{path} has more than {_MOST_BYTES:,} bytes, so it holds no learned rules.")
        page.rules = path.read_text(encoding="utf-8")
        schema = load_schema(path)
    except (LycosaError, OSError, ValueError) as problem:
        page.said = str(problem)
        return
    page.counts = {field.name: 0 for field in schema.fields}
    ends_at = time.monotonic() + _TRIED_S
    for url in _list_pages(collection, page.pages)[:_TRIED]:
        if time.monotonic() > ends_at:
            break
        found = _extract(schema, collection, url)
        lacking = [field.name for field in schema.fields if field.name not in found]
        page.tried.append(RuleOutcome(url, found, lacking))
        for field in found:
            page.counts[field] += 1


def _extract(schema: Schema, collection: Collection, url: str) -> dict[str, list[str]]:
    stored = collection.page(url)
    if stored is None or stored.problem:
        return {}
    records = schema.extract(stored.doc, incomplete=True)
    values = records[0].values if records else {}
    return {field: [str(each.value)[:_CHARS] for each in found[:5]] for field, found in values.items() if found}


def _save(request: WebRequest, name: str) -> None:
    """Put the learned rules into the collection's settings, as a schema that its pages are read by."""
    path = _place(request.folder) / f"{name}.toml"
    if path.is_symlink() or not path.is_file():
        raise UsageError("There are no rules yet: point at values, then have them learned.")
    if running_crawl(request.folder):
        raise CollectionError("A crawl runs here: save the schema when it has ended.")
    _, table = as_own_table(path.read_text(encoding="utf-8"), where=str(path))
    examples = _read(request.folder, name)
    for field, rules in table["fields"].items():
        if all(field in values for values in examples.values()):  # a page without it is none of this kind
            rules["required"] = True
    mission = request.collection.mission
    own = dict(mission.own.get("records", {}))
    own["schemas"] = {**own.get("schemas", {}), name: table}
    missions = mission.missions if "records" in mission.missions else (*mission.missions, "records")
    keep_mission(request.folder, replace(mission, missions=missions, own={**mission.own, "records": own}))
