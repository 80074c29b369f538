"""How well documents are read, each by itself: floors over the shared documents, printed by field and by kind."""

from __future__ import annotations

import importlib.util
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lycosa.missions.documents.front_page.reading import read_facts
from lycosa.missions.documents.model import DocumentFacts
from lycosa.text.fold import fold

pytestmark = pytest.mark.acceptance

#: Precision and recall that the shared documents must reach.
FLOORS = {
    "title": (0.95, 0.95),
    "title of theses": (0.93, 0.93),
    "authors": (0.96, 0.96),
    "authors of theses": (0.90, 0.95),
    "affiliations": (0.95, 0.90),
    "emails": (0.98, 0.98),
    "language": (0.99, 0.99),
    "category": (0.95, 0.95),
}
#: What a value must have for being told.
SURE = 0.3


class Read(NamedTuple):
    """One document of the gold with what was read of it, and the milliseconds that it took."""

    gold: dict[str, Any]
    facts: DocumentFacts
    cpu_ms: float


@pytest.fixture(scope="module")
def scorer(shared: Path) -> Any:
    spec = importlib.util.spec_from_file_location("score", shared / "data/documents/score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def documents(shared: Path) -> list[Read]:
    """The shared documents, read once."""
    folder = shared / "data/documents"
    golds = json.loads((folder / "gold.json").read_text(encoding="utf-8"))
    read_facts((folder / golds[0]["file"]).read_bytes())  # models are loaded
    more = json.loads((folder / "more/gold.json").read_text(encoding="utf-8"))
    golds += [gold | {"file": f"more/pdf/{gold['file']}", "emails": gold["emails_printed"]} for gold in more]
    out = []
    for gold in golds:
        body = (folder / gold["file"]).read_bytes()
        began = time.process_time()
        facts = read_facts(body)
        out.append(Read(gold, facts, 1000 * (time.process_time() - began)))
    return out


def predict(facts: DocumentFacts) -> dict[str, Any]:
    """Facts as the scorer takes them."""
    return {
        "title": facts.titles[0].value if facts.titles else "",
        "authors": [one.name for one in facts.people if one.role == "author" and one.confidence >= SURE],
        "affiliations": [one.value for one in facts.affiliations if one.confidence >= SURE],
        "emails": [one.value for one in facts.emails if one.confidence >= SURE],
        "keywords": [one.value for one in facts.keywords if one.confidence >= 0.5],
        "language": facts.language.value if facts.language else "",
        "category": facts.kind.value,
    }


def count_hits(gold: dict[str, Any], told: dict[str, Any], scorer: Any) -> dict[str, tuple[int, int, int]]:
    """For each field that the gold knows: right, told and wanted ones; an author with a star may be told or not."""
    contains = gold.get("title_match") == "contains"
    titles = gold.get("titles") or [gold["title"]]
    right = any(scorer.title_match(told["title"], title, contains) for title in titles)
    out = {"title": (int(right), int(bool(told["title"])), 1)}
    for field in ("language", "category"):
        if gold.get(field):
            out[field] = (int(told[field] in gold[field].split("/")), int(bool(told[field])), 1)
    for field, match in scorer.LISTS.items():
        if gold.get(field) is None:
            continue
        rest = [[one] if isinstance(one, str) else one for one in gold[field]]
        wanted = [one for one in rest if not one[0].startswith("*")]
        free = 0
        for value in told[field]:
            hit = next((one for one in rest if any(_is_same(value, name, match) for name in one)), None)
            if hit is not None:
                rest.remove(hit)
                free += hit not in wanted
        missed = sum(one in wanted for one in rest)
        out[field] = (len(wanted) - missed, len(told[field]) - free, len(wanted))
    if gold["category"] == "thesis":
        out |= {f"{field} of theses": out[field] for field in ("title", "authors") if field in out}
    return out


def _is_same(value: str, wanted: str, match: Callable[[str, str], bool]) -> bool:
    """Whether a value is the wanted one; the scorer knows Latin letters only."""
    return match(value, wanted.lstrip("*")) or sorted(fold(value).split()) == sorted(fold(wanted).split())


def test_fields_reach_their_floors(documents: list[Read], scorer: Any, say: Callable[[str], None]) -> None:
    """Title, authors, institutions, addresses, language and kind, over the shared documents, printed by kind."""
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    by_kind: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for read in documents:
        for field, counts in count_hits(read.gold, predict(read.facts), scorer).items():
            for nth, number in enumerate(counts):
                total[field][nth] += number
                by_kind[field, read.gold["category"]][nth] += number
    rows = [f"{field:16} {_rates(total[field])}" for field in total]
    rows += [f"  {field:14} {kind:10} {_rates(counts)}" for (field, kind), counts in sorted(by_kind.items())]
    say("\n".join(rows))
    for field, (precision, recall) in FLOORS.items():
        right, told, wanted = total[field]
        assert right >= precision * told, f"precision of {field}"
        assert right >= recall * wanted, f"recall of {field}"


def _rates(counts: list[int]) -> str:
    right, told, wanted = counts
    return f"P {right / max(1, told):.3f}  R {right / max(1, wanted):.3f}  of {wanted}"


def test_wrong_values_are_less_sure(documents: list[Read], scorer: Any, say: Callable[[str], None]) -> None:
    """Sure values are right: of titles and authors told with 0.9 or more, at most one in twenty is wrong."""
    sure: list[bool] = []
    for read in documents:
        told = predict(read.facts)
        told["authors"] = [one.name for one in read.facts.people if one.role == "author" and one.confidence >= 0.9]
        hits = count_hits(read.gold, told, scorer)
        if read.facts.titles and read.facts.titles[0].confidence >= 0.9:
            sure.append(bool(hits["title"][0]))
        if "authors" in hits:
            right, said, _ = hits["authors"]
            sure += [True] * right + [False] * (said - right)
    say(f"{sum(sure)} of {len(sure)} sure titles and authors are right")
    assert sum(sure) >= 0.95 * len(sure)


def test_a_document_is_read_in_tens_of_milliseconds(documents: list[Read], say: Callable[[str], None]) -> None:
    """The figure is told, not judged: the machine is shared."""
    times = sorted(read.cpu_ms for read in documents)
    say(f"CPU ms of a document: median {statistics.median(times):.0f}, worst {times[-1]:.0f}")


def test_broken_files_are_survived(shared: Path, say: Callable[[str], None]) -> None:
    """Each of the broken PDFs gives facts, and a reason where nothing can be read."""
    files = sorted(path for path in (shared / "data/conformance/pdf").rglob("*") if path.is_file())
    read = [read_facts(path.read_bytes()) for path in files]
    assert len(read) >= 129
    assert all(facts.problem for facts in read if not facts.head)
    say(f"{len(read)} broken PDFs, {sum(bool(facts.problem) for facts in read)} with a reason")
