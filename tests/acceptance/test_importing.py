"""Archives of other tools become collections: good files whole, bad ones as far as they go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lycosa import Collection, urls
from lycosa.archive.reader import iter_records
from lycosa.cli.main import main

pytestmark = pytest.mark.acceptance

#: Pages, and what they need to be shown, in each file that is whole; of the others why something is missing.
GOOD = {
    "example-bad.warc.gz.bad": 1, "example-url-agnostic-orig.warc.gz": 1, "example-wget-1-14.warc.gz": 1,
    "example-wpull.warc.gz": 1, "example.arc": 1, "example.arc.gz": 1, "example.warc.gz": 1, "example2.warc.gz": 1,
    "httpbin-resource.warc.gz": 1, "iana.warc.gz": 39, "missing-status-text.warc": 0, "post-test.warc.gz": 0,
    "valid_example_1.wacz": 1,
}  # fmt: skip
BAD = {
    "bad.arc": "cannot be read", "dupes.warc.gz": "refer to a body", "example-extra.warc": "without an answer of HTTP",
    "example-url-agnostic-revisit.warc.gz": "refers to a body", "example.warc": "cannot be read",
    "invalid_example_1.wacz": "holds no archive file",
}  # fmt: skip


def test_archives_of_other_tools(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], say: Callable[[str], None]
) -> None:
    """Every file ends as it must, and its collection is in order."""
    files = [path for kind in ("warcs", "waczs") for path in sorted((shared / "data/archives" / kind).iterdir())]
    for path in files:
        folder = tmp_path / path.name
        code = main(["import", str(path), "-c", str(folder), "--format", "text"])
        said = capsys.readouterr().out
        assert code == (0 if path.name in GOOD else 7), path.name
        assert path.name in GOOD or BAD[path.name] in said
        assert main(["verify", "-c", str(folder)]) == 0
        with Collection(folder) as collection:
            pages = {page.url: page for page in collection}
            parts = sum(1 for _ in collection.requisites())
        assert path.name not in GOOD or len(pages) + parts == GOOD[path.name]
        for record in iter_records(path):
            page = pages.get(urls.normalise(record.url) or "")
            if page is not None and record.kind == "response" and record.status == 200 and not record.problem:
                assert page.body or not record.body_raw
    say(f"{len(files)} archives imported: {len(GOOD)} whole, {len(BAD)} in part")


def test_all_at_once(shared: Path, tmp_path: Path) -> None:
    """One collection of all files of a folder: the bodies that some refer to stand in others."""
    assert main(["import", str(shared / "data/archives/warcs"), "-c", str(tmp_path / "c"), "-q"]) == 7
    assert main(["verify", "-c", str(tmp_path / "c")]) == 0
    with Collection(tmp_path / "c") as collection:
        parts = sum(1 for _ in collection.requisites())
        assert parts + sum(1 for page in collection if page.body) >= 40
