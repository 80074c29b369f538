"""A download that was cut goes on where it ended, and the archive gets what one request would have given."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.crawl_runs import FAST, rows, states

from lycosa import urls
from lycosa.config.settings import Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import SPOOL_BYTES, Client
from lycosa.model import Answer, Target

SMALL = random.Random(1).randbytes(300_000)
LARGE = random.Random(2).randbytes(SPOOL_BYTES + 1_500_000)


class Cutter:
    """A server that cuts the first answers to each address; `mode` says how it goes on."""

    def __init__(self, mode: str, body: bytes, cuts: list[int]) -> None:
        self.asked: list[dict[str, str]] = []
        cutter = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/robots.txt":
                    self.send_error(404)
                    return
                cutter.asked.append({name.lower(): value for name, value in self.headers.items()})
                cutter.answer(self, mode, body, cuts)
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, mode: str, body: bytes, cuts: list[int]) -> None:
        number = len(self.asked) - 1
        wanted = re.fullmatch(r"bytes=(\d+)-", self.asked[number].get("range", ""))
        etag = '"two"' if mode == "changed" and number else '"one"'
        if mode == "changed" and number:
            body = body[::-1]
        start = 0
        if wanted and mode != "ignores" and self.asked[number]["if-range"] in (etag, "Mon, 01 Jan 2024 00:00:00 GMT"):
            start = int(wanted[1])
        if mode == "lies" and wanted:
            start = int(wanted[1]) - 7
        refused = mode == "refuses" and wanted is not None
        handler.send_response(416 if refused else 206 if start else 200)
        if refused:
            body, start = b"", 0
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if mode == "date":
            handler.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        elif mode != "unknown":
            handler.send_header("ETag", etag)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        end = cuts[number] if number < len(cuts) and not refused else len(body)
        handler.wfile.write(body[start:end])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def make_cutter() -> Iterator[Callable[..., Cutter]]:
    made: list[Cutter] = []

    def make(mode: str = "", *, body: bytes = SMALL, cuts: list[int] | None = None) -> Cutter:
        made.append(Cutter(mode, body, [150_000] if cuts is None else cuts))
        return made[-1]

    yield make
    for cutter in made:
        cutter.close()


def fetch_until_whole(cutter: Cutter, folder: Path, *, tries: int = 5) -> list[Answer]:
    """The answers of each try, until one is whole."""
    client = Client(Mission(), AddressGuard(connect_to=(f"*=127.0.0.1:{cutter.port}",)), spool_folder=str(folder))
    url, answers = "http://a.test/file", []
    target = Target(1, urls.url_id(url), url, "a.test")
    for retry in range(tries):
        assert client.start(msgspec.structs.replace(target, retries=retry)) is None
        while client.in_flight:
            answers += client.poll(0.1)
        if not answers[-1].failure:
            break
    client.close()
    return answers


def content_of(answer: Answer) -> bytes:
    return Path(answer.spool).read_bytes() if answer.spool else answer.body


@pytest.mark.parametrize("mode", ["", "date"])
@pytest.mark.parametrize(
    ("body", "cuts"),
    [
        (SMALL, [150_000]),
        (SMALL, [100_000, 200_000, 250_000]),
        (LARGE, [150_000]),
        (LARGE, [SPOOL_BYTES + 99, 3_000_000]),
    ],
    ids=["once", "often", "large", "large twice"],
)
def test_a_cut_download_goes_on(
    mode: str, body: bytes, cuts: list[int], make_cutter: Callable[..., Cutter], tmp_path: Path
) -> None:
    """The rest alone is asked for; the answer is that of one request, and nothing stays in the folder beside it."""
    cutter = make_cutter(mode, body=body, cuts=cuts)
    answers = fetch_until_whole(cutter, tmp_path)
    last = answers[-1]
    assert [answer.failure for answer in answers] == ["cut-short"] * len(cuts) + [""]
    assert (last.status, last.size, content_of(last) == body) == (200, len(body), True)
    assert last.head.startswith(b"HTTP/1.1 200") and last.headers["content-length"] == str(len(body))
    assert b"Range" not in last.request
    assert [asked.get("range") for asked in cutter.asked] == [None, *(f"bytes={cut}-" for cut in cuts)]
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {Path(answer.spool).name for answer in answers if answer.spool}


@pytest.mark.parametrize("mode", ["ignores", "changed", "lies", "refuses", "unknown"])
def test_what_is_not_the_rest_is_not_joined(mode: str, make_cutter: Callable[..., Cutter], tmp_path: Path) -> None:
    """A server without ranges, another content, another range, no range and no validator: it begins anew."""
    cutter = make_cutter(mode)
    answers = fetch_until_whole(cutter, tmp_path)
    assert content_of(answers[-1]) == (SMALL[::-1] if mode == "changed" else SMALL)
    assert answers[-1].status == 200
    assert len(answers) == (3 if mode in ("lies", "refuses") else 2)
    assert ("range" in cutter.asked[1]) == (mode != "unknown")


def test_the_archive_has_one_whole_record(make_cutter: Callable[..., Cutter], tmp_path: Path) -> None:
    """A crawl stores the joined content, and its file passes the checks."""
    cutter = make_cutter(cuts=[100_000, 200_000])
    words = [sys.executable, "-m", "lycosa", "crawl", "--collection", str(tmp_path / "c"), *FAST]
    words += ["--connect-to", f"*=127.0.0.1:{cutter.port}", "http://a.test/file", "--workers", "1"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert states(tmp_path / "c") == {"http://a.test/file": "fetched"}
    assert rows(tmp_path / "c", "SELECT size FROM pages") == [(len(SMALL),)]
    assert [asked.get("range") for asked in cutter.asked] == [None, "bytes=100000-", "bytes=200000-"]
    checked = subprocess.run(
        [sys.executable, "-m", "lycosa", "verify", "--collection", str(tmp_path / "c")], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
