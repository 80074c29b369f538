"""Evaluation of documents against a gold file: precision, recall and F by field, by kind, by source of evidence.

A gold file is CSV or JSON with the columns of `lycosa export documents`, so that a corrected export is a gold. A field
that is missing, or null, is not known and not scored; one that is there and empty is known to have no value. The
conventions: where nothing was answered, precision does not apply; where there is nothing to find and nothing was
found, recall is empty (or 1, as asked for); where there is nothing to find and something was found, both are 0.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.errors import UsageError
from lycosa.missions.documents.names import same_person
from lycosa.missions.documents.text_similarity import fuzz
from lycosa.output.plain import counted, printable
from lycosa.output.table import write
from lycosa.text.fold import fold_words

SINGLE = ("title", "language", "category", "subcategory")
SEVERAL = ("authors", "affiliations", "emails", "keywords")
FIELDS = (*SINGLE[:1], *SEVERAL, *SINGLE[1:])
_MAX_BYTES = 64 << 20


class FieldTally(Struct):
    """Counts of one field: values that are right, that were answered, that are in the gold; and documents judged."""

    right: int = 0
    answered: int = 0
    wanted: int = 0
    documents: int = 0
    empty: int = 0  # documents with nothing to find and nothing found

    def add(self, right: int, answered: int, wanted: int) -> None:
        self.right += right
        self.answered += answered
        self.wanted += wanted
        self.documents += 1
        self.empty += not answered and not wanted

    @property
    def precision(self) -> float | None:
        """None: nothing was answered."""
        return self.right / self.answered if self.answered else None

    @property
    def recall(self) -> float | None:
        """None: there was nothing to find, and nothing was found."""
        if self.wanted:
            return self.right / self.wanted
        return 0.0 if self.answered else None

    @property
    def f(self) -> float | None:
        """The harmonic mean of both."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class Mistake(Struct, frozen=True):
    """A document with a field that is not as the gold has it."""

    url: str
    field: str
    found: tuple[str, ...]
    wanted: tuple[str, ...]


class Evaluation(Struct):
    """The result of an evaluation."""

    fields: dict[str, FieldTally]
    by_kind: dict[str, dict[str, FieldTally]]
    by_source: dict[str, dict[str, FieldTally]]  # source → field: of the values with such evidence, how many are right
    mistakes: list[Mistake]
    missing: list[str]  # of the gold that the collection does not have
    judged: int = 0

    def worst(self, count: int) -> list[tuple[str, list[Mistake]]]:
        """The documents with the most mistakes."""
        grouped: dict[str, list[Mistake]] = defaultdict(list)
        for mistake in self.mistakes:
            grouped[mistake.url].append(mistake)
        return sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))[:count]


def read_gold(path: Path) -> list[dict[str, Any]]:
    """The rows of a gold file: CSV, JSON (a list, or an object with `documents`), or JSON lines."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the file cannot be read ({error.strerror}).") from None
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_BYTES >> 20} MiB, which is no gold file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: the text is not in UTF-8.") from None
    rows = _read_csv(text) if path.suffix.lower() in (".csv", ".tsv") else _read_json(text, path)
    for nth, row in enumerate(rows, 1):
        if not any(isinstance(row.get(key), str) and row[key] for key in ("url", "path", "file")):
            raise UsageError(
                f"{path}: row {nth} names no document; allowed: a column url (or path, the end of an address)."
            )
    if not rows:
        raise UsageError(f"{path}: there are no rows in it.")
    return rows


def _read_csv(text: str) -> list[dict[str, Any]]:
    first = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in first and "," not in first else ",")
    rows = []
    for row in reader:
        kept: dict[str, Any] = {}
        for name, cell in row.items():
            if name is None or cell is None:
                continue
            value = cell.removeprefix("'") if cell[1:2] in "=+-@" and cell.startswith("'") else cell
            kept[name] = [part.strip() for part in value.split(";") if part.strip()] if name in SEVERAL else value
        rows.append(kept)
    return rows


def _read_json(text: str, path: Path) -> list[dict[str, Any]]:
    try:
        lines = [line for line in text.splitlines() if line.strip()]
        if (
            len(lines) > 1
            and all(line.lstrip().startswith("{") for line in lines[:2])
            and lines[0].rstrip().endswith("}")
        ):
            data: Any = [msgspec.json.decode(line) for line in lines]
        else:
            data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON ({error}).") from None
    if isinstance(data, dict):
        data = data.get("documents", [data])
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise UsageError(f"{path}: found no list of documents; allowed: a list of objects, or one object a line.")
    return data


def evaluate(gold: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> Evaluation:
    """Compare rows, as an export has them, with a gold."""
    by_url = {str(row["url"]): row for row in rows}
    result = Evaluation(fields={}, by_kind={}, by_source={}, mistakes=[], missing=[])
    for wanted in gold:
        row = _find(wanted, by_url)
        if row is None:
            result.missing.append(str(wanted.get("url") or wanted.get("path") or wanted.get("file")))
            row = {"url": str(wanted.get("url") or wanted.get("path") or wanted.get("file"))}
        result.judged += 1
        for field in FIELDS:
            if wanted.get(field) is not None:
                _judge(result, field, wanted, row)
    return result


def _find(wanted: Mapping[str, Any], by_url: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    name = str(wanted.get("url") or wanted.get("path") or wanted.get("file"))
    normal = urls.normalise(name) if "://" in name else None
    if normal is not None:
        return by_url.get(normal) or by_url.get(name)
    ends = [row for url, row in by_url.items() if url.endswith("/" + name.lstrip("/"))]
    if not ends and "/" in name:
        ends = [row for url, row in by_url.items() if url.endswith("/" + name.rpartition("/")[2])]
    return ends[0] if len(ends) == 1 else None


def _judge(result: Evaluation, field: str, wanted: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    expected = [str(value) for value in _as_list(wanted[field]) if value]
    found = [str(value) for value in _as_list(row.get(field)) if value]
    match = _MATCHES[field]
    if field == "title" and wanted.get("title_match") == "contains":
        match = _contains_title
    rest, right = list(expected), []
    for value in found:
        hit = next((other for other in rest if match(value, other)), None)
        if hit is not None:
            rest.remove(hit)
            right.append(value)
    kind = str(wanted.get("category") or row.get("category") or "unknown")
    for tallies in (result.fields, result.by_kind.setdefault(kind, {})):
        tallies.setdefault(field, FieldTally()).add(len(right), len(found), len(expected))
    if rest or len(right) < len(found):
        result.mistakes.append(Mistake(str(row.get("url")), field, tuple(found), tuple(expected)))
    for value in found:
        for source in _sources_of(field, value, row):
            result.by_source.setdefault(source, {}).setdefault(field, FieldTally()).add(value in right, 1, 0)


def _sources_of(field: str, value: str, row: Mapping[str, Any]) -> set[str]:
    """Where a value of a document was read."""
    name = {"authors": "author", "emails": "email", "affiliations": "affiliation"}.get(field, field)
    evidence = (each for each in row.get("evidence", ()) if each["field"] == name and each["value"] == value[:120])
    return {str(each["source"]) for each in evidence}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def same_title(left: str, right: str) -> bool:
    """Whether two titles are one, but for slips and a subtitle."""
    a, b = fold_words(left).replace(" ", ""), fold_words(right).replace(" ", "")
    if not a or not b:
        return False
    return fuzz.ratio(a, b) >= 90 or (len(b) >= 10 and b in a and len(a) <= 1.6 * len(b))


def _contains_title(left: str, right: str) -> bool:
    a, b = fold_words(left).replace(" ", ""), fold_words(right).replace(" ", "")
    return same_title(left, right) or (bool(b) and b in a and len(a) < 90)


def same_affiliation(left: str, right: str) -> bool:
    """Whether one affiliation stands in the other, but for slips."""
    return fuzz.partial_ratio(fold_words(left), fold_words(right)) >= 88


_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "title": same_title,
    "authors": lambda left, right: same_person(left, right) >= 0.7,
    "affiliations": same_affiliation,
    "emails": lambda left, right: left.strip().lower() == right.strip().lower(),
    "keywords": lambda left, right: fold_words(left) == fold_words(right),
    "language": lambda left, right: left.lower()[:2] == right.lower()[:2],
    "category": lambda left, right: fold_words(left) == fold_words(right),
    "subcategory": lambda left, right: fold_words(left) == fold_words(right),
}


def print_evaluation(result: Evaluation, *, worst: int) -> None:
    """Print the tables of an evaluation."""
    print(
        f"{counted(result.judged, 'document')} of the gold; {len(result.missing)} of them are not in the collection.\n"
    )
    _print_fields("field", [(name, result.fields[name]) for name in FIELDS if name in result.fields])
    for title, groups in (("kind", result.by_kind), ("source", result.by_source)):
        rows = [
            (f"{group}: {name}", tallies[name])
            for group, tallies in sorted(groups.items())
            for name in FIELDS
            if name in tallies
        ]
        if rows:
            print()
            _print_fields(title, rows, with_recall=title == "kind")
    for url, mistakes in result.worst(worst):
        print(f"\n{printable(url)}")
        for mistake in mistakes:
            found = "; ".join(mistake.found) or "nothing"
            print(f"  {mistake.field}: found {printable(found)[:150]}")
            print(f"  {'':{len(mistake.field)}}  wanted {printable('; '.join(mistake.wanted) or 'nothing')[:150]}")


def _print_fields(title: str, rows: list[tuple[str, FieldTally]], *, with_recall: bool = True) -> None:
    columns = (title, "precision", "recall", "F", "right", "found", "gold", "documents")
    cells = [
        (
            name,
            _share(tally.precision),
            _share(tally.recall) if with_recall else "",
            _share(tally.f) if with_recall else "",
            tally.right,
            tally.answered,
            tally.wanted if with_recall else "",
            tally.documents,
        )
        for name, tally in rows
    ]
    write(cells, columns, sys.stdout, form="table")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def figures(result: Evaluation) -> str:
    """The figures as JSON."""

    def tally(each: FieldTally) -> dict[str, float | int | None]:
        return {
            "precision": each.precision,
            "recall": each.recall,
            "f": each.f,
            "right": each.right,
            "found": each.answered,
            "gold": each.wanted,
            "documents": each.documents,
        }

    return msgspec.json.encode(
        {
            "documents": result.judged,
            "missing": result.missing,
            "fields": {name: tally(each) for name, each in result.fields.items()},
            "kinds": {
                kind: {name: tally(each) for name, each in group.items()} for kind, group in result.by_kind.items()
            },
            "sources": {
                source: {name: tally(each) for name, each in group.items()}
                for source, group in result.by_source.items()
            },
        }
    ).decode()
