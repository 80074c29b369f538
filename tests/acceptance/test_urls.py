"""Addresses against the published suites: the URL standard, RFC 3986, the public suffix list, other normalisers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ada_url
import pytest

from lycosa.config.settings import UrlSettings
from lycosa.urls import Cleaner, Resolver, normalise, parse, registered_domain

pytestmark = pytest.mark.acceptance

Case = dict[str, Any]
Check = Callable[[Case], bool]


def _parses(case: Case) -> bool:
    return parse(case["input"], case.get("base")) == (None if case.get("failure") else case["href"])


def _names(case: Case) -> bool:
    host = case["output"]
    # The suites ask for the host alone; without one there is no URL to ask.
    return not case["input"] or parse(f"https://{case['input']}/x") == (None if host is None else f"https://{host}/x")


def _sets(case: Case) -> bool:
    # Not a part of ours: it shows that the parser below is the one the standard describes.
    url = ada_url.URL(case["href"])
    try:
        setattr(url, case["setter"], case["new_value"])
    except ValueError:
        pass
    return all(getattr(url, name) == value for name, value in case["expected"].items())


def _encodes(case: Case) -> bool:
    output = case["output"]["utf-8"]
    return parse(f"http://a.invalid/?{case['input']}#{case['input']}") == f"http://a.invalid/?{output}#{output}"


def _follows_rfc(case: Case) -> bool:
    if case["kind"] == "resolve":
        return (parse(case["ref"], case["base"]) or "").rstrip("/") == case["expect"].rstrip("/")
    one, other = (normalise(case[side]) or case[side] for side in "ab")
    return (one == other) == (case["kind"] == "same")


def _commons(case: Case) -> bool:
    url = normalise(case["input"])
    return url is not None and Cleaner(UrlSettings(drop_session=True, sort_query=True)).clean(url) == case["expect"]


def _w3lib(case: Case) -> bool:
    url, expected = normalise(case["args"][0]), normalise(case["expect"] or "")
    if url is not None and case["fn"] == "canonicalize_url":
        url = Cleaner(UrlSettings(sort_query=True)).clean(url)
    return url == expected


def _urlcanon(case: Case) -> bool:
    text, expected = case.get("input"), case.get("expect")
    if case["suite"] == "path_dots":
        start = "http://h" if case["sub"] == "special" else "other://h"
        return parse(start + text) == start + expected
    if case["suite"] == "funky_ipv4":
        return normalise(f"http://{text}/") == (f"http://{expected}/" if expected else None)
    url = normalise(text)
    if case["suite"] == "idempotence":
        return url is None or normalise(url) == url
    return parse(text) == expected


#: File, what is asked, and the least share of right answers. Below 1 where a suite wants what the standards forbid or
#: leave open: escapes settled under unknown schemes (RFC 3986), slashes merged, | and ^ encoded, an empty query dropped
#: (crawler-commons), reserved characters decoded and blank values dropped (w3lib), Latin-1 input, hosts that are none
#: (urlcanon).
SUITES: list[tuple[str, Check, float]] = [
    ("urltestdata", _parses, 1.0),
    ("toascii", _names, 1.0),
    ("idna_v2", _names, 1.0),
    ("setters", _sets, 1.0),
    ("percent_encoding", _encodes, 1.0),
    ("rfc3986", _follows_rfc, 0.98),
    ("normalise_crawler_commons", _commons, 0.70),
    ("w3lib", _w3lib, 0.85),
    ("urlcanon", _urlcanon, 0.80),
]


@pytest.mark.parametrize(("name", "check", "floor"), SUITES, ids=[name for name, _, _ in SUITES])
def test_suite(shared: Path, capsys: pytest.CaptureFixture[str], name: str, check: Check, floor: float) -> None:
    """Our parse and our normal form give the suite's answers."""
    cases = json.loads((shared / f"data/conformance/url/{name}.json").read_text())["cases"]
    if name == "urlcanon":  # its other suites ask for the parts of its own parser, and for SURT keys
        wanted = ("semantic_precise", "supplemental_whatwg", "path_dots", "funky_ipv4", "idempotence")
        cases = [case for case in cases if case["suite"] in wanted]
    kinds = Counter(str(case.get("suite") or case.get("fn") or case.get("kind") or "") for case in cases)
    right = Counter(str(case.get("suite") or case.get("fn") or case.get("kind") or "") for case in filter(check, cases))
    with capsys.disabled():
        parts = ", ".join(f"{kind} {right[kind]}/{count}" for kind, count in kinds.items() if kind)
        print(f"\nurl conformance, {name}: {right.total()}/{len(cases)}{' (' + parts + ')' if parts else ''}")
    assert right.total() >= floor * len(cases)


def test_the_short_way_agrees(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Resolver and parser give the same answer for every input of the standard's suite on every kind of base."""
    cases = json.loads((shared / "data/conformance/url/urltestdata.json").read_text())["cases"]
    bases = ["http://example.org/foo/bar", "https://h.example:8080/a/b/c?d", "http://[::1]/", "http://1.2.3.4/x;y/z"]
    inputs = [case["input"] for case in cases] + [case["href"] for case in cases if "href" in case]
    asked = differ = 0
    resolver = Resolver()
    for base in bases + bases:
        for href in inputs:
            trimmed = href.strip("".join(map(chr, range(33))))
            expected = None if trimmed[:1] in "#" else normalise(parse(href.partition("#")[0], base) or "")
            asked += 1
            differ += resolver.resolve(href, base) != expected
    with capsys.disabled():
        print(f"\nurl resolver against parser: {asked - differ}/{asked}")
    assert not differ


def test_public_suffixes(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Registered domains are those of the public suffix list's own tests."""
    cases = json.loads((shared / "data/conformance/psl/tests.json").read_text())["cases"]
    right = sum((registered_domain(case["host"]) if case["host"] else None) == case["registrable"] for case in cases)
    with capsys.disabled():
        print(f"\npublic suffix conformance: {right}/{len(cases)}")
    assert right == len(cases)
