"""Memento and the CDX server: programs find every answer of the archive by address and date."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from support.serve_client import ServeClient, serving

from lycosa.archive.writer import ArchiveWriter
from lycosa.cli.main import main
from lycosa.model import Answer, Target
from lycosa.urls import host_of, url_id

DAYS = {"2024-01-01": "one", "2024-06-01": "two", "2025-01-01": "three"}
PAGE = "http://a.test/page?q=1"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    """A collection with three answers to one address, a redirect and a page of another host."""
    folder = tmp_path_factory.mktemp("memento")
    with ArchiveWriter(folder, prefix="x", max_bytes=0, software="other", info={}) as writer:
        for day, text in DAYS.items():
            _add(writer, PAGE, day, f"<title>{text}</title><script>evil()</script>")
        _add(writer, "http://a.test/moved", "2024-02-02", "", status=301)
        _add(writer, "http://sub.a.test/x.txt", "2024-03-03", "text", mime="text/plain")
    assert main(["import", str(next(folder.glob("x-*"))), "-c", str(folder / "served/c"), "-q"]) == 0
    with serving(folder / "served") as served:
        yield served


def _add(writer: ArchiveWriter, url: str, day: str, text: str, *, status: int = 200, mime: str = "text/html") -> None:
    from datetime import datetime

    body = text.encode()
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {mime}\r\nLocation: /\r\n\r\n".encode()
    at = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
    target = Target(0, url_id(url), url, host_of(url))
    writer.add(Answer(target, status, head=head, body=body, size=len(body), began=at), digest=bytes(20), mime="")


def test_a_timegate_leads_to_the_nearest_answer(client: ServeClient) -> None:
    """By Accept-Datetime, else to the newest; with the links that RFC 7089 wants."""
    for asked, text in (
        ("Mon, 20 May 2024 00:00:00 GMT", "two"),
        ("", "three"),
        ("Sat, 01 Jan 2000 00:00:00 GMT", "one"),
    ):
        found = client.get(f"/c/c/timegate/{PAGE}", **({"accept_datetime": asked} if asked else {}))
        assert found.status == 302 and found.headers["vary"] == "accept-datetime"
        assert f'<{PAGE}>; rel="original"' in found.headers["link"] and 'rel="timegate"' in found.headers["link"]
        place = found.headers["location"].removeprefix(client.address)
        memento = client.get(place)
        assert memento.text.startswith(f"<title>{text}</title>")
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} 12:00:00 GMT", memento.headers["memento-datetime"])
        assert "memento" in memento.headers["link"]
        assert memento.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert client.get(f"/c/c/timegate/{PAGE}", accept_datetime="yesterday").status == 400
    assert client.get("/c/c/timegate/http://a.test/nothing").status == 404
    assert client.get("/c/c/timegate/nonsense").status == 400


def test_timemaps(client: ServeClient) -> None:
    """All mementos of an address, as links and as JSON; what is none is not among them."""
    text = client.get(f"/c/c/timemap/link/{PAGE}").text
    assert text.count('rel="memento"') == 3 and 'rel="self"; type="application/link-format"' in text
    found = client.get(f"/c/c/timemap/json/{PAGE}").json
    assert [each["datetime"] for each in found["mementos"]["list"]] == [f"{day}T12:00:00Z" for day in DAYS]
    assert found["original_uri"] == PAGE
    assert client.get("/c/c/timemap/link/http://a.test/moved").status == 404
    assert client.get(f"/c/c/timemap/xml/{PAGE}").status == 404


def cdx(client: ServeClient, query: str) -> list[dict[str, str]]:
    answer = client.get(f"/c/c/cdx?{query}&output=json")
    assert answer.status == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_cdx_server(client: ServeClient) -> None:
    """The parameters of pywb's server."""
    page = "url=http%3A//a.test/page%3Fq=1"
    assert [line["timestamp"][:8] for line in cdx(client, page)] == ["20240101", "20240601", "20250101"]
    assert [line["timestamp"][:6] for line in cdx(client, f"{page}&sort=reverse&limit=1")] == ["202501"]
    assert [line["timestamp"][:6] for line in cdx(client, f"{page}&from=2024&to=2024")] == ["202401", "202406"]
    assert [line["timestamp"][:6] for line in cdx(client, f"{page}&from=202402&to=202406")] == ["202406"]
    assert len(cdx(client, "url=a.test/&matchType=prefix")) == 4
    assert len(cdx(client, "url=a.test&matchType=host")) == 4
    assert len(cdx(client, "url=a.test&matchType=domain")) == 5 == len(cdx(client, "url=*.a.test"))
    assert [line["status"] for line in cdx(client, "url=a.test/*&filter=!=status:200")] == ["301"]
    assert len(cdx(client, "url=*.a.test&filter=~mime:text/p.*")) == 1
    assert cdx(client, f"{page}&fl=urlkey,timestamp&limit=1") == [
        {"urlkey": "test,a)/page?q=1", "timestamp": "20240101120000"}
    ]
    first = client.get(f"/c/c/cdx?{page}&limit=1").text
    assert first.startswith('test,a)/page?q=1 20240101120000 {"url":"http://a.test/page?q=1"')
    for wrong in (
        "",
        "url=a.test&matchType=x",
        "url=a.test&from=x",
        "url=a.test&limit=-1",
        f"url=a.test&limit={'9' * 5000}",
        "url=a.test&filter=(",
        "url=a.test&filter=~url:(",
    ):
        assert client.get(f"/c/c/cdx?{wrong}").status == 400, wrong
