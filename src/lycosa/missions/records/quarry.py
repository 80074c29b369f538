"""The records quarry: articles of sites that nobody described, without any rule."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.missions.records.article import read_article
from lycosa.model import Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry

#: Characters from which on a text is taken for an article.
_LEAST_CHARS = 300


class Articles(Quarry):
    """The quarry of articles: pages with a text of their own and a title."""

    name = "records"
    version = "1"

    def extract(self, doc: Doc) -> Iterable[Record]:
        """The article that a page shows, as one record."""
        if doc.tree is None:
            return
        found = read_article(doc.tree, url=doc.url, language=doc.language)
        if len(found.text) >= _LEAST_CHARS and found.title and (found.date or found.authors):
            yield Record(
                "article",
                {
                    "title": found.title,
                    "authors": found.authors,
                    "date": found.date,
                    "language": found.language,
                    "text": found.text,
                },
            )
