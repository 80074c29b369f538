"""The documents quarry: what the core asks the documents mission of each answer and link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lycosa.missions.documents import text_similarity as text_similarity  # the extra, before processes have limits
from lycosa.missions.documents.formats import format_by_suffix, format_of
from lycosa.missions.documents.model import PageFacts
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.parse.link_lists import LINKSETS
from lycosa.quarry import Quarry
from lycosa.text.fold import fold_words

#: The parts of a score: documents first, then pages whose links speak of them.
DOCUMENT_SUFFIX = 0.6
TELLING_WORDS = 0.3

#: Words of links and addresses that lead to documents or to those who wrote them.
_TELLING = frozenset(
    {
        "apuntes", "notas", "practica", "practicas", "ejercicios", "problemas", "examen", "examenes", "tesis", "tfg",
        "tfm", "publicaciones", "articulos", "docencia", "asignatura", "asignaturas", "material", "materiales",
        "investigacion", "profesores", "personal", "docentes", "departamento", "docente", "equipo", "notes",
        "lecture", "lectures", "slides", "exercises", "exams", "exam", "thesis", "theses", "dissertation",
        "publications", "papers", "research", "teaching", "course", "courses", "staff", "people", "faculty",
        "department", "materials", "preprints", "pubs", "download", "artigos", "publicacoes", "disciplinas", "aulas",
        "listas", "provas", "teses", "dissertacoes", "professores", "pesquisa",
    }
)  # fmt: skip


class Documents(Quarry):
    """The quarry of documents: files that a repository would keep; pages are read for who stands behind them."""

    name = "documents"
    _harvests = False  # the records of repositories, by OAI-PMH
    version = "2"

    def recognise(self, doc: Doc) -> str | None:
        """The format of a document ("pdf", "docx"…)."""
        return format_of(doc) or None

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is, by its suffix and its words."""
        return sum(self.explain(link, doc).values())

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts of that score."""
        words = {*_split(link.text), *_split(link.href)}
        return {
            "suffix of a document": DOCUMENT_SUFFIX if format_by_suffix(link.href) else 0.0,
            "words about documents or people": TELLING_WORDS if words & _TELLING else 0.0,
        }

    def links(self, doc: Doc) -> Iterable[Link]:
        """Files that landing pages name in their head alone, and what repositories list by OAI-PMH."""
        if doc.kind == "xml":
            from lycosa.missions.documents.pages import oai_answers

            return oai_answers.links_of(doc) if oai_answers.is_answer(doc) else ()
        from lycosa.missions.documents.pages.landing import links_to_files, links_to_records

        return (*links_to_files(doc), *(links_to_records(doc) if self._harvests else ()))

    def configured(self, settings: Mapping[str, Any]) -> Quarry:
        """The quarry of a mission that may harvest repositories."""
        made = Documents()
        made._harvests = bool(settings.get("oai"))
        return made

    def extract(self, doc: Doc) -> Iterable[Record]:
        """What a document, or a page, says: one record."""
        if found := format_of(doc):
            from lycosa.missions.documents.front_page.reading import read_facts

            yield Record("document", msgspec.to_builtins(read_facts(doc.body, format=found)))
        elif doc.tree is not None:
            from lycosa.missions.documents.pages.reading import read_page

            facts = msgspec.to_builtins(read_page(doc))
            if facts:
                yield Record("page", facts)
        elif doc.kind == "xml":
            from lycosa.missions.documents.pages import oai_answers

            for harvested in oai_answers.read_works(doc) if oai_answers.is_answer(doc) else ():
                yield Record("harvested", msgspec.to_builtins(harvested))
        elif doc.announced in LINKSETS:
            from lycosa.missions.documents.pages.landing import read_landing

            if work := read_landing(doc):
                yield Record("page", msgspec.to_builtins(PageFacts(work=work)))


def _split(text: str) -> list[str]:
    return fold_words(text[:500]).split()
