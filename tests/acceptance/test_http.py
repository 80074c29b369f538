"""Heads, types, dates and codings against the published suites."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lycosa.fetch.decode import decode
from lycosa.fetch.headers import content_type, parse_date, parse_head

pytestmark = pytest.mark.acceptance


def load(shared: Path, name: str) -> list[dict[str, Any]]:
    return [case for case in json.loads((shared / "data/conformance" / name).read_text())["cases"] if case]


def test_heads(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every response of the suites has a head that can be read; those of sound ones have the fields they should."""
    sound = right = 0
    responses = load(shared, "http/llhttp_responses.json")
    for case in responses:
        raw = case["input_latin1"].encode("latin-1")
        found = parse_head(raw)
        once = raw.count(b"HTTP/") == 1 and b"\n\r\n" in raw
        if case["error"] is None and once and "lenient" not in case["name"]:
            sound += 1
            right += [name for name, _ in found.lines] == case["header_fields"] and found.status > 0
    others = [base64.b64decode(case["response_b64"]) for case in load(shared, "http/wpt_h1_parsing.json")]
    others += [b"HTTP/1.1 200 OK\r\n" + case["input"].encode() for case in load(shared, "http/content_length.json")]
    for raw in others:
        assert parse_head(raw).status in range(1000)
    with capsys.disabled():
        print(f"\nheads read: {len(responses) + len(others)}; fields of sound responses: {right}/{sound}")
    assert right == sound


def test_content_codings(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Encoded bodies are decoded to the same bytes by every coding; a frame with too large a window is refused."""
    right = 0
    bodies: dict[str, bytes] = {}
    encoded = load(shared, "http/content_encoding.json")
    for case in encoded:
        found = decode(base64.b64decode(case["body_b64"]), case["encoding"], limit=50 << 20)
        if "window" in case["file"]:
            right += found.problem == "corrupt"
        else:
            same = bodies.setdefault(Path(case["file"]).stem, found.body)
            right += found == (same, "") and len(same) > 0
    with capsys.disabled():
        print(f"\ncontent codings: {right}/{len(encoded)}")
    assert right == len(encoded)


def test_cookie_dates(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dates in the forms that cookies have; we differ in honouring an offset from Greenwich."""
    right = 0
    dates = load(shared, "cookies/dates.json")
    for case in dates:
        stamp = parse_date(case["test"])
        text = None if stamp is None else datetime.fromtimestamp(stamp, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        right += text == case["expected"]
    with capsys.disabled():
        print(f"\ncookie dates: {right}/{len(dates)}")
    assert right >= 65


def serialise(value: str) -> str | None:
    mime, params = content_type(value)
    parts = [mime]
    for name, text in params.items():
        plain = re.fullmatch(r"[!#-'*+.^_`|~0-9A-Za-z-]+", text)
        parts.append(f"{name}={text}" if plain else '{}="{}"'.format(name, re.sub(r'(["\\])', r"\\\1", text)))
    return ";".join(parts) if mime else None


def test_content_types(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MIME types, and Content-Type headers that several were joined in, are read as browsers read them."""
    pairs = [(case["input"], case["output"]) for case in load(shared, "mime/mime_types.json") if "output" in case]
    pairs += [(case["input"], case["output"]) for case in load(shared, "mime/generated_mime_types.json")]
    pairs = [pair for pair in pairs if "," not in pair[0]]  # as a header, that would be two types
    joined = load(shared, "mime/content_type_headers.json")
    pairs += [(", ".join(case["contentType"]), case["mimeType"]) for case in joined]
    right = sum(serialise(text) == expected for text, expected in pairs)
    with capsys.disabled():
        print(f"\ncontent types: {right}/{len(pairs)}")
    assert right == len(pairs)
