"""The words and figures of an evaluation, for people and for programs."""

from __future__ import annotations

import sys

import msgspec

from lycosa.missions.documents.evaluation import FIELDS, Evaluation, FieldTally
from lycosa.output.plain import printable
from lycosa.output.table import write
from lycosa.output.wording import counted


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
