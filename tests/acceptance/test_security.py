"""The suites of attacks: addresses inside, patterns that never end, names that no file may have."""

from __future__ import annotations

import html
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support.isolated_network import INTERNAL, PUBLIC, PUBLIC_6, on_isolated_network

from lycosa import urls
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.export.files import IndexEntry, read_index, write_index
from lycosa.export.mirror import MANIFEST, write_mirror
from lycosa.judge.admission.rules import Rules

pytestmark = pytest.mark.acceptance

NAMES = {
    "example.com": [[PUBLIC, PUBLIC_6]],
    "public.test": [[PUBLIC]],
    "a.localhost": [["127.0.0.1"]],
    "rebind.test": [[PUBLIC], [INTERNAL]],
    "rebind6.test": [[PUBLIC_6], ["::1"]],
    "mixed.test": [[PUBLIC, INTERNAL]],
    "inside.test": [["10.1.2.3"]],
}
OPEN = {f"{PUBLIC} 80", f"{PUBLIC_6} 80", f"{PUBLIC_6} 443"}


def read_cases(shared: Path, name: str) -> list[Any]:
    return list(json.loads((shared / "data" / "conformance" / name).read_text())["cases"])


def islet(task: dict[str, Any]) -> Any:
    result = on_isolated_network({"names": NAMES, **task})
    if result is None:
        pytest.skip("this system gives nobody a network of their own: unshare(1), ip(8)")
    return result


def test_addresses_inside_are_refused(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where every address answers, the client connects to the public ones alone, however the others are written."""
    cases = read_cases(shared, "security/ssrf_urls.json")
    rows = islet({"ask": [case["url"] for case in cases]})["asked"]
    answered = ("", "tls", "no-tls", "handshake")
    right = [
        row["failure"] in answered if case["allow"] else bool(row["failure"])
        for case, row in zip(cases, rows, strict=True)
    ]
    reached = {hit for row in rows for hit in row["hits"]}
    with capsys.disabled():
        print(f"\nssrf: {sum(right)}/{len(cases)} right; connected to {sorted(reached)}")
    assert [row for row, ok in zip(rows, right, strict=True) if not ok] == []
    assert f"{PUBLIC} 80" in reached and f"{PUBLIC_6} 443" in reached and reached <= OPEN


def test_links_and_redirects_lead_to_no_address_inside(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole crawl of a public page that links to all of them and redirects to all of them connects to none."""
    cases = [case["url"] for case in read_cases(shared, "security/ssrf_urls.json")]
    hrefs = [*cases, *(f"/r/{i}" for i in range(len(cases))), "http://inside.test/", "http://mixed.test:81/"]
    links = "".join(f'<a href="{html.escape(href)}">x</a>' for href in hrefs)
    pages: dict[str, Any] = {"public.test/": (200, {}, links)}
    pages |= {f"public.test/r/{i}": (302, {"Location": case}, "") for i, case in enumerate(cases)}
    done = islet({"ask": [], "pages": pages, "crawl": "http://public.test/"})["crawl"]
    states = {url: (state, reason) for url, state, reason in done["urls"]}
    asked = [states[f"http://public.test/r/{i}"] for i in range(len(cases))]
    refused = [url for url, (_, reason) in states.items() if reason == "address"]
    with capsys.disabled():
        print(
            f"\nssrf, crawled: {len(cases)} links, {len(asked)} redirects, {len(states)} addresses met,"
            f" {len(refused)} refused at the socket; connected to {sorted(set(done['hits']))}"
        )
    assert done["code"] == 0, done["said"]
    assert set(asked) == {("redirected for now", ""), ("failed", "bad-redirect")}
    assert set(done["hits"]) <= OPEN
    assert states["http://inside.test/"] == ("failed", "address")
    assert states["http://mixed.test:81/"][0] == "failed"


def test_a_name_that_changes_its_address_gains_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is public when it is first asked for and internal the next time is refused then, seed or not."""
    twice = [f"http://{name}/{i}" for name in ("rebind.test", "rebind6.test") for i in (1, 2, 3)]
    tasks = [{"ask": twice}, {"ask": twice[:3], "seeds": ["rebind.test"]}, {"ask": ["http://mixed.test:81/"]}]
    open_, seeds, mixed = [islet(task)["asked"] for task in tasks]
    with capsys.disabled():
        print(f"\nrebinding: {[row['failure'] or row['status'] for row in (*open_, *seeds, *mixed)]}")
    for rows in (open_[:3], open_[3:], seeds):
        assert [row["failure"] for row in rows] == ["", "address", "address"]
        assert not any(row["hits"] for row in rows[1:])
    assert mixed[0]["failure"] in ("address", "connect") and mixed[0]["hits"] == []  # as the order of its addresses is


def test_no_pattern_of_a_user_hangs(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each pattern, in the accept and in the reject list, is refused with a message or decides within a second."""
    cases = read_cases(shared, "security/redos.json")
    worst, refused = 0.0, 0
    for case in cases:
        for setting in ("accept", "reject"):
            began = time.process_time()
            try:
                rules = Rules(Mission(**{setting: (case["pattern"],)}), ["http://a.test/"])
                patterns = rules.accept or rules.reject
                assert patterns is not None
                patterns.find(case["text"].encode())
                address = urls.normalise("http://a.test/" + quote(case["text"])[:2000])
                assert address is not None
                rules.judge(address, depth=1, host="a.test")
            except UsageError as error:
                assert str(error).startswith(f"{setting}: the regular expression "), error
                refused += setting == "accept"
            took_s = time.process_time() - began
            worst = max(worst, took_s)
            assert took_s < 1, case["pattern"][:100]
    with capsys.disabled():
        print(f"\nredos: {len(cases)}/{len(cases)} under 1 s, the slowest {worst * 1000:.0f} ms, {refused} refused")


def test_mirror_names_are_safe(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every address made of a naughty string has a file of its own inside the mirror, and comes back from the index."""
    texts = [str(text) for text in read_cases(shared, "names/blns.json")]
    forms = (
        "https://example.org/{}", "https://example.org/{}/", "https://example.org/{}/x", "https://example.org/x/{}.html",
        "https://example.org/q?{}", "https://example.org/q?a={}&b", "https://example.org/%2e%2e/{}",
        "https://{}/", "https://{}.example.org/x",
    )  # fmt: skip
    spelled = [form.format(text) for raw in texts for text in (raw, quote(raw, safe="")) for form in forms]
    made = [urls.normalise(text) for text in spelled]
    addresses = list(dict.fromkeys(url for url in made if url is not None))
    root = tmp_path / "deep" / "mirror"
    count = write_mirror(((url, "text/html", url.encode()) for url in addresses), root)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MANIFEST]
    outside = [path for path in files if not path.resolve().is_relative_to(root)]
    rows = [line.split("\t") for line in (root / MANIFEST).read_text(encoding="utf-8").splitlines()]
    back = dict(rows)
    hosts = {urls.host_of(url) for url in addresses}
    with capsys.disabled():
        print(
            f"\nmirror names: {len(texts)} strings, {len(addresses)} addresses on {len(hosts)} hosts,"
            f" {len(files)} files, {len(outside)} outside, {count.moved} with a suffix"
        )
    assert outside == [] and not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert len({str(path).casefold() for path in files}) == len(files) == len(addresses) == count.files
    for path in files:
        assert back[str(path.relative_to(root))].encode() == path.read_bytes()
    assert len(back) == len(rows) == len(addresses)

    entries = [
        IndexEntry(url, text, title=text, links=[(url, text)])
        for text, url in zip(spelled, made, strict=True)
        if url is not None
    ]
    write_index(entries, tmp_path / "index")
    assert list(read_index(tmp_path / "index")) == entries
