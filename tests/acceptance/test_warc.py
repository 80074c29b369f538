"""Archive files of other tools, good and bad, and the names of the naughty strings list."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from lycosa.archive.reader import iter_records, read_record
from lycosa.export.mirror import write_mirror

pytestmark = pytest.mark.acceptance


def test_archive_files_of_other_tools(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file that warcio reads gives as many records; the others give what is there; nothing raises."""
    folder = shared / "data" / "conformance" / "warc"
    known = json.loads((folder.parent / "baselines.json").read_text())["warcio record counts"]
    same = beyond = records = sought = 0
    for name, expected in sorted(known.items()):
        found = [record for record in iter_records(folder / name) if record.kind != "unreadable"]
        records += len(found)
        if isinstance(expected, int):
            assert len(found) == expected, name
            same += 1
        else:
            assert found, name
            beyond += 1
        for record in found:
            if record.length:
                again = read_record(folder / name, record.offset, length=record.length)
                assert (again.url, again.head, again.body_raw) == (record.url, record.head, record.body_raw), name
                sought += 1
    readable = sum(isinstance(count, int) for count in known.values())
    with capsys.disabled():
        print(f"\nwarc files: {same}/{readable} with warcio's record counts, {beyond} more that warcio gives up on")
        print(f"warc records: {records} read, {sought} of them found again by their offset")
    assert (same, same + beyond) == (readable, len(known))


def test_cut_archive_files(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cut at any of twenty places, or with a byte changed there, a file is read to its end without an error."""
    folder = shared / "data" / "conformance" / "warc"
    whole = damaged = 0
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        for at in range(1, len(data), len(data) // 20 + 1):
            for mutant in (data[:at], data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :]):
                (tmp_path / path.name).write_bytes(mutant)
                found = list(iter_records(tmp_path / path.name))
                whole += sum(not record.problem for record in found)
                damaged += sum(bool(record.problem) for record in found)
    with capsys.disabled():
        print(f"\ndamaged warc files: {whole} records read whole, {damaged} with a problem, 0 errors")
    assert whole


def test_mirror_names(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every naughty string, as it is and percent-encoded, in path and query, has a file of its own inside."""
    strings = json.loads((shared / "data" / "conformance" / "names" / "blns.json").read_text())["cases"]
    texts = [case if isinstance(case, str) else str(case) for case in strings]
    forms = ("{raw}", "{quoted}", "{quoted}/x", "q?{quoted}", "q?{raw}", "{quoted}.html")
    urls = dict.fromkeys(
        "https://example.org/" + form.format(raw=text, quoted=quote(text, safe="")) for text in texts for form in forms
    )
    root = tmp_path / "deep" / "mirror"
    count = write_mirror(((url, "text/html", url.encode("utf-8", "replace")) for url in urls), root)
    files = [path for path in (tmp_path / "deep").rglob("*") if path.is_file() and path.name != "~urls.tsv"]
    assert {path.parts[len(root.parts)] for path in files} == {"example.org"}
    contents = {path.read_bytes() for path in files}
    assert contents == {url.encode("utf-8", "replace") for url in urls}
    folded = {str(path).casefold() for path in files}
    with capsys.disabled():
        print(
            f"\nmirror names: {len(files)}/{len(urls)} pages with their own file, {count.moved} of them with a suffix"
        )
    assert len(files) == len(folded) == len(urls) == count.files
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
