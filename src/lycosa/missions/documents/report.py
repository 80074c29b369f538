"""Report on a site's documents: what there is, who wrote it, how sure that is, what is missing; the story of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.api import Report
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.contacts import ContactSheet, contact_sheets
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.model import DocumentDescription, Evidence, ToldValue, text_of, values_of
from lycosa.output.charts import Bar, draw_bars
from lycosa.output.html_page import Section, TableLink, table, text, tiles, unfolding
from lycosa.output.plain import counted, fit_html, printable

#: Rows of a table; what is more stands in the exports.
_ROWS = 2_000
_STORIES = 200
#: Values below it are worth a look.
_UNSURE = 0.6


def make_report(collection: Collection) -> Report:
    """The page about the documents of a collection."""
    with open_catalogue(collection) as catalogue:
        documents = list(catalogue.documents(unwanted=True))
        sheets = contact_sheets(catalogue, everything=True)
    states = permissions(collection.path)
    seeds = ", ".join(collection.seeds()[:3])
    return Report(
        title=f"Documents of {seeds or collection.path.name}",
        sections=list(_sections(documents, sheets, dict(states))),
        subtitle=f"{counted(len(documents), 'document')}. Made by lycosa.",
    )


def _sections(
    documents: list[DocumentDescription], sheets: list[ContactSheet], states: dict[str, str]
) -> Iterator[Section]:
    wanted = [document for document in documents if document.wanted]
    yield _overview(documents, wanted, sheets)
    yield _kinds(documents)
    yield _list_documents(wanted, states)
    yield _people(sheets)
    yield _missing(wanted)
    yield _evidence(wanted)
    unwanted = [document for document in documents if not document.wanted]
    if unwanted:
        rows = [
            (TableLink(each.url), each.category, text_of(each.title), each.kind.confidence) for each in unwanted[:_ROWS]
        ]
        yield Section(
            "Not wanted",
            [
                text("Kinds that are left out unless they are asked for (documents.unwanted)."),
                table(("document", "kind", "title", "confidence"), rows),
            ],
        )


def _overview(
    documents: list[DocumentDescription], wanted: list[DocumentDescription], sheets: list[ContactSheet]
) -> Section:
    reachable = [sheet for sheet in sheets if sheet.address is not None]
    unsure = [each for each in wanted if each.confidence < _UNSURE]
    figures = [
        ("documents", f"{len(documents):,}"),
        ("wanted", f"{len(wanted):,}"),
        ("with title", _share(sum(each.title is not None for each in wanted), len(wanted))),
        ("with authors", _share(sum(bool(each.authors) for each in wanted), len(wanted))),
        ("with an address", _share(sum(any(a.addresses for a in each.authors) for each in wanted), len(wanted))),
        ("people", f"{len(sheets):,}"),
        ("that can be reached", _share(len(reachable), len(sheets))),
        ("worth a look", f"{len(unsure):,}"),
    ]
    return Section("Overview", [tiles(figures)])


def _kinds(documents: list[DocumentDescription]) -> Section:
    kinds = Counter(document.category for document in documents).most_common(20)
    tongues = Counter(text_of(document.language) or "unknown" for document in documents).most_common(10)
    return Section(
        "Kinds and languages",
        [
            draw_bars([Bar(name, [count]) for name, count in kinds], title="Documents by kind"),
            draw_bars([Bar(name, [count]) for name, count in tongues], title="Documents by language"),
        ],
    )


def _list_documents(wanted: list[DocumentDescription], states: dict[str, str]) -> Section:
    rows = [
        (
            TableLink(each.url, text_of(each.title) or each.url.rpartition("/")[2]),
            each.category,
            "; ".join(author.name for author in each.authors),
            "; ".join(dict.fromkeys(address.email for author in each.authors for address in author.addresses)),
            text_of(each.language),
            each.confidence,
            states.get(each.url, ""),
        )
        for each in wanted[:_ROWS]
    ]
    columns = ("title", "kind", "authors", "addresses", "language", "confidence", "permission")
    return Section("Documents", [table(columns, rows), *_more(len(wanted))])


def _people(sheets: list[ContactSheet]) -> Section:
    rows = [
        (
            sheet.name,
            sheet.address.email if sheet.address else "",
            sheet.address.confidence if sheet.address else None,
            "; ".join(dict.fromkeys(each.value for each in sheet.person.affiliations[:3])),
            len(sheet.documents),
            sheet.permission,
        )
        for sheet in sheets[:_ROWS]
    ]
    return Section(
        "People",
        [
            table(("name", "address", "confidence", "affiliations", "documents", "permission"), rows),
            *_more(len(sheets)),
        ],
    )


def _missing(wanted: list[DocumentDescription]) -> Section:
    rows = []
    for each in wanted:
        lacks = [
            name
            for name, has in (("title", each.title), ("authors", each.authors), ("language", each.language))
            if not has
        ]
        if each.authors and not any(author.addresses for author in each.authors):
            lacks.append("address")
        if not lacks and each.confidence < _UNSURE:
            lacks.append("certainty")
        if lacks or each.problem:
            rows.append((TableLink(each.url, text_of(each.title)), ", ".join(lacks), each.confidence, each.problem))
    if not rows:
        return Section("What is missing", [text("Nothing: every document has a title, authors and an address.")])
    said = f"{counted(len(rows), 'document')} with a gap; lycosa correct fills it."
    return Section("What is missing", [text(said), table(("document", "lacks", "confidence", "problem"), rows[:_ROWS])])


def _evidence(wanted: list[DocumentDescription]) -> Section:
    parts = [text("Each value with how sure it is, and where it comes from.")]
    for each in wanted[:_STORIES]:
        inner = "<pre>" + "\n".join(fit_html(line) for line in story_lines(each)) + "</pre>"
        parts.append(unfolding(text_of(each.title) or each.url, inner))
    return Section("Evidence", [*parts, *_more(len(wanted), _STORIES)])


def _more(count: int, shown: int = _ROWS) -> list[str]:
    return [text(f"The first {shown:,} of {count:,}; lycosa export documents has them all.")] if count > shown else []


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


# The story of one document: each value with how sure it is and where it comes from


def tell_document(collection: Collection, url: str) -> None:
    """Print everything that is known of one document."""
    with open_catalogue(collection) as catalogue:
        document = catalogue.document(url)
    if document is None:
        raise UsageError(
            f"{url} is no document of this collection; lycosa documents lists them, lycosa why tells of a URL."
        )
    state = permissions(collection.path).get(document.url, "")
    for line in story_lines(document, permission=state):
        print(printable(line))


#: What stands before a value, where it is neither its field nor the role of a person.
_NAMES = {
    "authors": "author",
    "affiliations": "affiliation",
    "category": "kind",
    "now": "  now",
    "printed": "  printed",
}


def story_lines(document: DocumentDescription, *, permission: str = "") -> list[str]:
    """The story line by line."""
    lines = [document.url, f"  {document.format}, {counted(document.pages, 'page')}, fetched {document.fetched}"]
    if document.problem:
        lines.append(f"  problem: {document.problem}")
    for told in sorted(values_of(document), key=lambda told: told.field != "category"):
        name = _NAMES.get(told.note, _NAMES.get(told.field, told.note or told.field))
        if told.field not in ("keywords", "emails"):
            lines += _value(name, told)
    if document.keywords:
        lines.append(f"  {'keywords':12} {', '.join(each.value for each in document.keywords)}")
    if permission:
        lines.append(f"  {'permission':12} {permission}")
    lines += [f"  {'linked from':12} {url}" for url in document.linked_from[:5]]
    return lines


def _value(name: str, told: ToldValue) -> list[str]:
    sure = "" if told.confidence is None else f"  ({told.confidence:.2f})"
    return [f"  {name:12} {told.value[:200]}{sure}", *(f"  {'':12}   {_place(each)}" for each in told.evidence[:3])]


def _place(evidence: Evidence) -> str:
    where = evidence.url or (f"page {evidence.page}" if evidence.page else "the document")
    links = f", {evidence.distance} links away" if evidence.distance > 1 else ""
    quote = f': "{evidence.quote[:80]}"' if evidence.quote else ""
    return f"{evidence.source}, {evidence.rule}, {where}{links}{quote}"
