"""Broken PDFs and other tools' archives through the extract pool: every document ends in an outcome."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from support.extract_jobs import run, write_archive

from lycosa.config.settings import Mission
from lycosa.extract.job_runner import FORK_SERVER
from lycosa.extract.messages import Setup
from lycosa.extract.pool import Pool
from lycosa.extract.run import ExtractOptions, extract_files

pytestmark = pytest.mark.acceptance

TEXTS = """
from lycosa.model import Record
from lycosa.quarry import Quarry

class Texts(Quarry):
    def extract(self, doc):
        text = doc.text
        yield Record(doc.kind, {"chars": len(text), "pages": doc.pdf.count if doc.pdf else 0, "problem": doc.problem})
"""


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "texts.py"
    path.write_text(TEXTS)
    yield f"{path}:Texts"


def test_broken_pdfs_are_survived(shared: Path, tmp_path: Path, texts: str) -> None:
    """Each gives its text or its problem within 30 s of processor time and 1 GiB, or its process is killed."""
    files = sorted((shared / "data/conformance/pdf").iterdir())
    jobs = write_archive(tmp_path / "archive", [file.read_bytes() for file in files], mime="application/pdf")
    pool = Pool(FORK_SERVER, Setup(texts, cpu_s=30, timeout_s=60, memory_bytes=1 << 30), workers=2)
    try:
        results = run(pool, jobs, limit_s=600)
    finally:
        pool.close()
    killed = [result for result in results.values() if result.outcome != "done"]
    problems = [json.loads(item.json)["problem"] for result in results.values() for item in result.items]
    failed = sum(1 for problem in problems if problem)
    print(
        f"\nbroken PDFs: {len(results)}/{len(files)} survived "
        f"(ok {len(problems) - failed}, error {failed}, killed {len(killed)})"
    )
    assert len(results) == len(files) == 129
    assert {result.outcome for result in killed} <= {"timeout", "cpu", "memory", "crash"}
    assert len(problems) + len(killed) == 129


def test_whole_pdfs_have_their_text(shared: Path, tmp_path: Path, texts: str) -> None:
    """Those of the documents corpus are read without a problem, and nearly all of them have text."""
    files = sorted((shared / "data/documents").rglob("*.pdf"))[:25]
    jobs = write_archive(tmp_path / "archive", [file.read_bytes() for file in files], mime="application/pdf")
    pool = Pool(FORK_SERVER, Setup(texts), workers=2)
    try:
        results = run(pool, jobs, limit_s=600)
    finally:
        pool.close()
    found = [json.loads(item.json) for result in results.values() for item in result.items]
    with_text = sum(1 for one in found if one["chars"] > 100)
    print(f"\nwhole PDFs: {with_text}/{len(files)} with text, {sum(one['pages'] for one in found)} pages")
    assert [one["problem"] for one in found if one["problem"]] == []
    assert with_text >= 0.9 * len(files) > 0


def test_archives_of_other_tools_are_extracted_from(shared: Path, texts: str) -> None:
    """The conformance archives, broken ones among them: documents come out, and no error stops the rest."""
    files = [str(file) for file in sorted((shared / "data/conformance/warc").iterdir())]
    out = StringIO()
    (tally,) = extract_files(files, Mission(quarry=texts), ExtractOptions(workers=2, quiet=True), out=out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    kinds = Counter(line["kind"] for line in lines)
    print(f"\nother tools' archives: {tally.documents} documents of {len(files)} files, {dict(kinds)}")
    assert len(lines) == tally.records == tally.documents
    assert set(tally.outcomes) == {"done"}
    assert tally.documents >= 15
