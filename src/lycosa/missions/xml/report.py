"""The XML report: a page about an analysed collection, its kinds, structure, validity and closures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import apsw

from lycosa.analysis.store import open_readonly
from lycosa.collection.collection import Collection
from lycosa.missions.api import Report
from lycosa.missions.xml.closure import UNCHECKED, quote
from lycosa.missions.xml.repair import CODES
from lycosa.output.charts import Bar, draw_bars, draw_histogram
from lycosa.output.html_page import Section, TableLink, table, text, tiles, unfolding
from lycosa.output.plain import counted, show_size

_TOP = 15  # bars
_ROWS = 200  # of a table
#: Not what the core sees in other files, but texts, which documents include; a plan may have kinds of its own.
FAMILY = """kind NOT IN
    ('', 'html', 'archive', 'image', 'audio', 'video', 'font', 'document', 'pdf', 'json', 'binary')"""
_SIZES = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
_SIZE_NAMES = ["<100", "100", "300", "1k", "3k", "10k", "30k", "100k", "300k", "1M", "3M", "≥10M"]
_DEEPEST = 30
#: With its colour.
_VALIDITY = {"valid": 4, "invalid": 2, "unknown": 6, "usable": 1, "unusable": 5, "no schema": 3, "not checked": 7}
_CLOSURE = {"complete": 4, "guessed": 6, "incomplete": 2}


class XmlReport:
    """The report on one analysis database."""

    def __init__(self, db: apsw.Connection, name: str) -> None:
        self._db = db
        self.title = f"XML in {name}"

    @property
    def subtitle(self) -> str:
        """When it was analysed."""
        at = self._value("SELECT value FROM meta WHERE key = 'analysed'")
        when = datetime.fromtimestamp(float(at), UTC).strftime("%Y-%m-%d %H:%M UTC") if at else "not to its end"
        return f"Analysed {when}. Made by lycosa."

    def sections(self) -> Iterator[Section]:
        """The page from top to bottom."""
        yield self._overview()
        yield self._kinds()
        yield self._namespaces()
        yield self._structure()
        yield self._validity()
        yield self._closure()
        yield self._corrections()
        yield self._links()
        yield self._hosts()
        yield from self._clusters()

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._db.execute(sql))

    def _value(self, sql: str) -> Any:
        return self._db.execute(sql).get

    def _overview(self) -> Section:
        sql = f"""SELECT count(*), total(bytes), count(DISTINCT host), count(DISTINCT kind), total(well_formed),
                  count(well_formed), total(elements), total(validity = 'valid'), total(validity = 'invalid'),
                  total(closure = 'complete'), total(closure <> ''), total(changes > 0), total(member <> '')
                  FROM document WHERE {FAMILY}"""
        found = [int(value or 0) for value in self._rows(sql)[0]]
        documents, size, hosts, kinds, good, judged, elements, valid, invalid, complete, closed, repaired, inner = found
        figures = [
            ("documents", f"{documents:,}"),
            ("kinds", f"{kinds}"),
            ("bytes", show_size(size)),
            ("hosts", f"{hosts:,}"),
            ("elements", f"{elements:,}"),
            ("well-formed", _share(good, judged)),
            ("valid, of those checked", _share(valid, valid + invalid)),
            ("complete closures", _share(complete, closed)),
            ("put right", f"{repaired:,}"),
            ("inside archives", f"{inner:,}"),
        ]
        other = self._value(f"SELECT count(*) FROM document WHERE NOT ({FAMILY})")
        parts = [tiles(figures)]
        if other:
            parts.append(text(f"{other:,} other documents of the collection are not of the XML family."))
        return Section("Overview", parts)

    def _kinds(self) -> Section:
        rows = self._rows(
            f"""SELECT kind, count(*), total(bytes), max(bytes), avg(nullif(depth, 0)), max(depth), avg(elements),
                count(DISTINCT host) FROM document WHERE {FAMILY} GROUP BY kind ORDER BY count(*) DESC"""
        )
        bars = [Bar(row[0], (row[1],), f"{row[1]:,} · {show_size(row[2])}") for row in rows]
        head = ("kind", "documents", "bytes", "largest", "mean depth", "deepest", "mean elements", "hosts")
        cells = [(*row[:2], int(row[2]), row[3], row[4] or 0.0, row[5], row[6] or 0.0, row[7]) for row in rows]
        return Section("Kinds", [draw_bars(bars, title="Documents by kind"), table(head, cells)])

    def _namespaces(self) -> Section:
        rows = self._rows(
            f"""SELECT value, count(*), total(count) FROM facet WHERE name = 'uses'
                GROUP BY value ORDER BY count(*) DESC, value LIMIT {_ROWS}"""
        )
        total = self._value("SELECT count(DISTINCT value) FROM facet WHERE name = 'uses'")
        bars = [Bar(row[0], (row[1],)) for row in rows[:_TOP]]
        cells = [(TableLink(row[0]), row[1], int(row[2])) for row in rows]
        shown = _title_of(len(rows), total, "namespaces")
        return Section(
            "Namespaces",
            [
                draw_bars(bars, title="Documents by namespace"),
                unfolding(shown, table(("namespace", "documents", "elements"), cells)),
            ],
        )

    def _structure(self) -> Section:
        depths = dict(self._rows(f"SELECT min(depth, {_DEEPEST}), count(*) FROM document WHERE depth > 0 GROUP BY 1"))
        last = max(depths, default=1)
        names = [f"≥{_DEEPEST}" if depth == _DEEPEST else str(depth) for depth in range(1, last + 1)]
        bins = [(name, depths.get(nth + 1, 0)) for nth, name in enumerate(names)]
        cases = " ".join(f"WHEN bytes < {limit} THEN {nth}" for nth, limit in enumerate(_SIZES))
        sql = f"SELECT CASE {cases} ELSE {len(_SIZES)} END, count(*) FROM document WHERE {FAMILY} GROUP BY 1"
        sizes = dict(self._rows(sql))
        rows = self._rows(
            """SELECT kind, count(*), avg(elements), avg(attributes), avg(depth), max(fanout), avg(mean_fanout),
               avg(recursion > 0), avg(mixed > 0), avg(text_share), avg(namespaces), avg(dtd <> ''),
               avg(schema_use <> '')
               FROM document WHERE depth > 0 GROUP BY kind ORDER BY count(*) DESC"""
        )
        head = (
            "kind", "documents", "elements", "attributes", "depth", "most children", "mean fan-out", "recursive",
            "mixed", "text", "namespaces", "with DTD", "name a schema",
        )  # fmt: skip
        deep = self._rows(
            f"""SELECT url, kind, depth, elements, fanout, bytes FROM document WHERE {FAMILY}
                ORDER BY depth DESC, bytes DESC LIMIT 50"""
        )
        large = self._rows(
            f"SELECT url, kind, bytes, elements, depth FROM document WHERE {FAMILY} ORDER BY bytes DESC LIMIT 50"
        )
        return Section(
            "Structure",
            [
                draw_histogram(bins, title="Documents by depth", axis="levels of elements"),
                draw_histogram(
                    [(name, sizes.get(nth, 0)) for nth, name in enumerate(_SIZE_NAMES)],
                    title="Documents by size",
                    axis="bytes, from",
                ),
                table(
                    head,
                    [[value or 0.0 if nth else value for nth, value in enumerate(row)] for row in rows],
                    caption="Means by kind; shares from 0 to 1",
                ),
                unfolding(
                    "The deepest documents",
                    table(("url", "kind", "depth", "elements", "most children", "bytes"), _linked(deep)),
                ),
                unfolding(
                    "The largest documents", table(("url", "kind", "bytes", "elements", "depth"), _linked(large))
                ),
            ],
        )

    def _validity(self) -> Section:
        rows = self._rows(
            f"""SELECT kind, coalesce(nullif(validity, ''),
                    iif(kind IN ({quote(UNCHECKED)}), 'not checked', 'no schema')), count(*) FROM document
                WHERE {FAMILY} GROUP BY 1, 2"""
        )
        kinds: dict[str, dict[str, int]] = {}
        for kind, validity, count in rows:
            kinds.setdefault(kind, {})[validity] = count
        ranked = sorted(kinds.items(), key=lambda item: -sum(item[1].values()))
        bars = [Bar(kind, tuple(counts.get(name, 0) for name in _VALIDITY)) for kind, counts in ranked]
        wrong = self._rows(
            f"""SELECT url, kind, validity, validity_error FROM document
                WHERE validity IN ('invalid', 'unusable', 'unknown')
                ORDER BY validity, kind, url LIMIT {_ROWS}"""
        )
        total = self._value("SELECT count(*) FROM document WHERE validity IN ('invalid', 'unusable', 'unknown')")
        broken = self._rows(
            f"SELECT url, kind, fault, fault_line FROM document WHERE well_formed = 0 ORDER BY kind, url LIMIT {_ROWS}"
        )
        count = self._value("SELECT count(*) FROM document WHERE well_formed = 0")
        return Section(
            "Validity",
            [
                text(
                    "Documents are checked against the schema that they name, if it was collected; schemas that are"
                    " part of no other are compiled with all that they include. Not checked: schemas that are part of"
                    " another, and languages that no validator here knows."
                ),
                draw_bars(bars, series=tuple(_VALIDITY), colours=tuple(_VALIDITY.values()), title="Validity by kind"),
                unfolding(
                    f"What is wrong: {_shown_of(len(wrong), total, 'documents')}",
                    table(("url", "kind", "validity", "error"), _linked(wrong)),
                ),
                unfolding(
                    f"Not well-formed: {_shown_of(len(broken), count, 'documents')}",
                    table(("url", "kind", "fault", "line"), _linked(broken)),
                ),
            ],
        )

    def _closure(self) -> Section:
        rows = self._rows(
            f"""SELECT kind, {", ".join(f"total(closure = '{word}')" for word in _CLOSURE)} FROM document
                WHERE closure <> '' GROUP BY kind ORDER BY count(*) DESC"""
        )
        bars = [Bar(row[0], row[1:], f"{int(sum(row[1:])):,}") for row in rows]
        wanted = self._rows(
            f"""SELECT coalesce(nullif(target, ''), href) AS address, group_concat(DISTINCT kind),
                count(DISTINCT document) FROM link WHERE strong AND found IS NULL AND how = ''
                GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {_ROWS}"""
        )
        large = self._rows(
            """SELECT url, kind, closure, closure_size, missing FROM document WHERE closure <> ''
               ORDER BY closure_size DESC, url LIMIT 100"""
        )
        return Section(
            "Closure",
            [
                text(
                    "A closure is all that a document needs, directly or through others: complete, or with gaps."
                    " Guessed: something was missing at its address, and one of its name was found elsewhere."
                ),
                draw_bars(bars, series=tuple(_CLOSURE), colours=tuple(_CLOSURE.values()), title="Closures by kind"),
                unfolding(
                    "The largest closures", table(("url", "kind", "closure", "documents", "missing"), _linked(large))
                ),
                unfolding(
                    "What is missing most", table(("address", "links", "documents that need it"), _linked(wanted))
                ),
            ],
        )

    def _corrections(self) -> Section:
        rows = self._rows(
            "SELECT what, count(DISTINCT document), sum(count) FROM change GROUP BY what ORDER BY 2 DESC, what"
        )
        bars = [Bar(row[0], (row[1],)) for row in rows]
        cells = [(row[0], row[1], row[2], CODES.get(row[0], "")) for row in rows]
        if not rows:
            return Section("Corrections", [text("Nothing had to be put right.")])
        return Section(
            "Corrections",
            [
                draw_bars(bars, title="Documents by what was put right"),
                table(("what", "documents", "times", "meaning"), cells),
            ],
        )

    def _links(self) -> Section:
        rows = self._rows(
            """SELECT kind, count(*), total(found IS NOT NULL), total(found IS NULL AND how = ''),
               total(how = 'refused') FROM link WHERE strong
               GROUP BY kind ORDER BY count(*) DESC"""
        )
        bars = [Bar(row[0], row[2:5], f"{row[1]:,}") for row in rows]
        return Section(
            "Links",
            [draw_bars(bars, series=("collected", "missing", "not wanted"), colours=(1, 2, 7), title="Links by kind")],
        )

    def _hosts(self) -> Section:
        rows = self._rows(
            f"""SELECT host, count(*), total(bytes), count(DISTINCT kind), total(well_formed = 0),
                total(validity = 'invalid') FROM document WHERE {FAMILY} GROUP BY host ORDER BY count(*) DESC, host
                LIMIT {_ROWS}"""
        )
        total = self._value(f"SELECT count(DISTINCT host) FROM document WHERE {FAMILY}")
        bars = [Bar(row[0], (row[1],)) for row in rows[:_TOP]]
        cells = [(row[0], row[1], int(row[2]), row[3], int(row[4]), int(row[5])) for row in rows]
        head = ("host", "documents", "bytes", "kinds", "not well-formed", "invalid")
        return Section(
            "Hosts",
            [
                draw_bars(bars, title="Documents by host"),
                unfolding(_title_of(len(rows), total, "hosts"), table(head, cells)),
            ],
        )

    def _clusters(self) -> Iterator[Section]:
        """Those of the user's plan; what lycosa sorts by itself has sections of its own."""
        own = ("kind", "validity", "closure", "namespace", "host")
        rows = self._rows(
            """SELECT cluster, collection, count(*), total(bytes) FROM membership
               JOIN document ON document.id = membership.document GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"""
        )
        for cluster in dict.fromkeys(row[0] for row in rows if row[0] not in own):
            here = [row for row in rows if row[0] == cluster]
            bars = [Bar(str(row[1]), (row[2],), f"{row[2]:,} · {show_size(row[3])}") for row in here[:_TOP]]
            more = table(("group", "documents", "bytes"), [(str(row[1]), row[2], int(row[3])) for row in here])
            title = f"Cluster {cluster}"
            yield Section(
                title, [draw_bars(bars, title=title), unfolding(f"All of {counted(len(here), 'group')}", more)]
            )


def _linked(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows whose first cell is an address."""
    return [(TableLink(row[0]), *row[1:]) for row in rows]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def _shown_of(shown: int, total: int, what: str) -> str:
    return f"{total:,} {what}" if total <= shown else f"{shown:,} of {total:,} {what}"


def _title_of(shown: int, total: int, what: str) -> str:
    return f"All {total:,} {what}" if total <= shown else f"The first {shown:,} of {total:,} {what}"


def make_report(collection: Collection) -> Report:
    """The page of a collection that was analysed."""
    with closing(open_readonly(collection.path)) as db:
        report = XmlReport(db, collection.path.resolve().name)
        return Report(report.title, list(report.sections()), report.subtitle)
