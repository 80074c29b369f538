"""The records quarry: articles of sites that nobody described, or what a description takes of its ranges."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from lycosa.content.article import read_article
from lycosa.missions.records.schema import FoundRecord, Schema
from lycosa.missions.records.site_description import SiteDescription, is_described, read_description
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry

#: Characters from which on a text is taken for an article.
_LEAST_CHARS = 300
_NO_HTML = "no HTML"


class Records(Quarry):
    """The quarry of records where no site is described: pages with a text of their own and a title are articles."""

    name = "records"
    version = "2"

    def configured(self, settings: Mapping[str, Any]) -> Quarry:
        """The quarry of a description, where the settings have one."""
        return DescribedPages(read_description(settings)) if is_described(settings) else self

    def extract(self, doc: Doc) -> Generator[Record, None, str]:
        """The article that a page shows, as one record."""
        return (yield from _read_article(doc))


class DescribedPages(Quarry):
    """The quarry of described sites: the ranges say where to go, the schemas of their categories what to take."""

    name = "records"

    def __init__(self, description: SiteDescription) -> None:
        self._description = description
        self._navigation = description.navigation
        self.version = description.version

    def recognise(self, doc: Doc) -> str | None:
        """The category of a leaf page."""
        found = self._navigation.find(doc.url) if doc.tree is not None else None
        return found.category if found is not None and found.is_leaf else None

    def chosen_links(self, doc: Doc) -> list[Link] | None:
        return self._navigation.choose_links(doc)

    def refuses(self, url: str) -> str:
        navigation = self._navigation
        return "" if not navigation.ranges or navigation.find(url) is not None else self._description.explain(url)

    def describe_url(self, url: str) -> str:
        return self._description.explain(url)

    def extract(self, doc: Doc) -> Generator[Record, None, str]:
        """The records of a leaf page, each with the range and the category that it was found in."""
        if doc.tree is None:
            return _NO_HTML
        found = self._navigation.find(doc.url)
        origin = {} if found is None else {"@category": found.category, "@range": found.name}
        if found is not None and found.is_leaf and not self._navigation.category_of(found).schema:
            return (yield from _read_article(doc, **origin))
        schemas = self._description.schemas_for(doc.url)
        for schema in schemas:
            for record in schema.extract(doc):
                yield Record(schema.name, _as_data(schema, record) | origin)
        return "its rules find nothing, or not what is required" if schemas else "in no range that is extracted"


def _read_article(doc: Doc, **origin: str) -> Generator[Record, None, str]:
    """The article that a page shows; returns why there is none."""
    if doc.tree is None:
        return _NO_HTML
    found = read_article(doc.tree, url=doc.url, language=doc.language)
    if len(found.text) < _LEAST_CHARS:
        return f"a text below {_LEAST_CHARS} characters"
    if found.is_list and not origin:
        return "a list of other pages"
    if not found.title:
        return "no title"
    if not (found.date or found.authors):
        return "neither day nor author"
    fields = ("title", "authors", "date", "language", "text")
    yield Record("article", {name: getattr(found, name) for name in fields} | origin)
    return ""


def _as_data(schema: Schema, record: FoundRecord) -> dict[str, Any]:
    """A record as it is stored: its fields, and the numbers of the rules that gave them where it was not the first."""
    data = record.as_dict()
    if schema.key:
        data["@key"] = [data.get(name) for name in schema.key]
    numbers = {
        field.name: number
        for field in schema.fields
        if (values := record.values.get(field.name))
        and (number := next((n for n, rule in enumerate(field.rules) if rule.source == values[0].rule), 0))
    }
    return data | {"@rules": numbers} if numbers else data
