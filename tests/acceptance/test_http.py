"""Heads, dates and codings against the published suites."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection
from lycosa.fetch.decode import decode
from lycosa.fetch.headers import parse_date, parse_head

pytestmark = pytest.mark.acceptance


def load(shared: Path, name: str) -> list[dict[str, Any]]:
    return [case for case in json.loads((shared / "data/conformance" / name).read_text())["cases"] if case]


def expected_fields(case: dict[str, Any]) -> dict[str, str]:
    """The fields that the suite's parser reports: names in lower case, values with single blanks."""
    fields: dict[str, list[str]] = {}
    values = re.findall(r'span\[header_value\]="(.*)"$|(off=\d+ header_value complete)', case["log"], re.MULTILINE)
    names, text = iter(case["header_fields"]), ""
    for value, complete in values:
        if complete:
            fields.setdefault(next(names).lower(), []).append(" ".join(text.replace("\\t", " ").split()))
            text = ""
        else:
            text += value
    return {name: ", ".join(found) for name, found in fields.items()}


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
            right += found.fields == expected_fields(case) and found.status > 0
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


CONF = """
daemon off; worker_processes 1; pid {folder}/pid; user root;
events {{ worker_connections 256; }}
http {{ types {{ text/html html; }} access_log {folder}/access.log; gzip on;
  server {{ listen 127.0.0.1:{port} ssl http2; root {folder}/www;
    ssl_certificate {keys}; ssl_certificate_key {keys}; }} }}
"""


def test_pages_over_http2(tmp_path: Path) -> None:
    """A site that speaks HTTP/2 is fetched so, many pages over one connection, and its archive is one of HTTP/1.1."""
    if not (nginx := shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")):
        pytest.skip("needs nginx")
    keys = Path(__file__).parents[1] / "support/tls"
    (tmp_path / "www").mkdir()
    links = "".join(f'<a href="/{n}.html">{n}</a>' for n in range(60))
    for name in ("index", *map(str, range(60))):
        (tmp_path / f"www/{name}.html").write_text(f"<title>{name}</title>{links}{'text ' * 500}")
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    conf = CONF.format(folder=tmp_path, port=port, keys=keys / "server.pem")
    (tmp_path / "nginx.conf").write_text(conf)
    server = subprocess.Popen([nginx, "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error.log")])
    try:
        time.sleep(1)
        options = [
            "--ca",
            str(keys / "ca.pem"),
            "--connect-to",
            f"*=127.0.0.1:{port}",
            "--delay",
            "0",
            "--workers",
            "1",
        ]
        command = [sys.executable, "-m", "lycosa", "crawl", "https://secure.test/", "--collection", str(tmp_path / "c")]
        done = subprocess.run([*command, *options, "--workers", "1"], capture_output=True, text=True, timeout=60)
    finally:
        server.terminate()
        server.wait(10)
    assert done.returncode == 0, done.stderr
    with Collection(tmp_path / "c") as collection:
        pages = list(collection.pages())
        assert len(pages) == 61 and all(page.body.startswith(b"<title>") for page in pages)
    spoken = re.findall(r'" HTTP/[0-9.]+"|HTTP/[0-9.]+"', (tmp_path / "access.log").read_text())
    assert set(spoken) == {'HTTP/2.0"'}
    (archive,) = (tmp_path / "c/archive").glob("*.warc.gz")
    with archive.open("rb") as file:
        heads = [
            record.http_headers.get_statuscode() for record in ArchiveIterator(file) if record.rec_type == "response"
        ]
    assert heads.count("200") == 61
