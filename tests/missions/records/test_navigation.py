"""Navigation: which range takes an address, and which links of its pages are followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.config.setting_docs import own_table
from lycosa.missions.records.site_description import SiteDescription, check_description, read_description
from lycosa.parse import Doc, read

RANGES: list[dict[str, Any]] = [
    {"match": r"^http://a\.test/\d+$", "islands": ["/13$"], "mode": "leaf", "category": "story"},
    {"name": "lists", "match": ["/list/$", "^http://a.test/$"], "mode": ["seed", "intermediate"], "category": "list"},
    {"match": r"^http://a\.test/1\d$", "mode": ["leaf", "intermediate"], "category": "story"},
]
PAGE = (
    b'<head><link rel=canonical href="/me"></head><nav><a href="/about">About</a></nav>'
    b'<main><a href="/1">One</a> <p>Two: <a href="/2">Two</a></p></main><a rel=next href="?page=2">next</a>'
    b'<a href="/1">One again</a>'
)


def describe(**tables: Any) -> SiteDescription:
    return read_description({"ranges": RANGES} | tables)


def page(url: str) -> Doc:
    return read(url, {"content-type": "text/html"}, PAGE)


def links(description: SiteDescription, url: str) -> list[str] | None:
    chosen = description.navigation.choose_links(page(url))
    return None if chosen is None else [link.href for link in chosen]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.test/7", "story"),
        ("http://a.test/12", "story"),
        ("http://a.test/13", "story 2"),
        ("http://a.test/", "lists"),
        ("http://b.test/list/", "lists"),
        ("http://b.test/7", ""),
        ("http://a.test/list/?page=2", ""),
    ],
)
def test_the_first_range_takes_an_address(url: str, name: str) -> None:
    """Unless one of its islands has it; ranges without a name have that of their category."""
    found = describe().navigation.find(url)
    assert (found.name if found is not None else "") == name


@pytest.mark.parametrize(
    "url",
    ["http://a.test/list/?page=2", "http://a.test/list/page/3/", "http://a.test/list/2", "http://a.test/?p=2"],
)
def test_a_list_goes_on_at_other_addresses(url: str) -> None:
    """Where its category has paging: they differ in a query, or in a number at the end."""
    description = describe(categories={"list": {"paging": "css:a[rel=next]"}})
    found = description.navigation.find(url)
    assert found is not None and found.name == "lists"
    assert description.navigation.find("http://a.test/other/2") is None


@pytest.mark.parametrize(
    "rule", ["css:main", "css:main a", "xpath://main", 'algebra:elem("main")', "xpath://main//a/@href"]
)
def test_links_are_taken_from_a_part_of_the_page(rule: str) -> None:
    """Whatever language says which; what the page calls itself is always followed, and so is paging."""
    description = describe(categories={"list": {"links": rule, "paging": "css:a[rel=next]"}})
    assert links(description, "http://a.test/") == ["/me", "/1", "/2", "?page=2"]


def test_leaf_pages_lead_nowhere() -> None:
    """Those that are intermediate as well, lists without a rule, and pages in no range lead everywhere."""
    description = describe()
    assert links(description, "http://a.test/7") == ["/me"]
    assert links(description, "http://a.test/13") is None
    assert links(description, "http://a.test/") is None
    assert links(description, "http://b.test/7") is None


def test_what_is_said_of_an_address() -> None:
    """The range with its modes, its category and its schema; islands that leave it out; or that there is none."""
    description = describe(categories={"story": {"schema": "article"}})
    assert description.explain("http://a.test/7") == (
        'the range "story" takes it: leaf, category story, schema article'
    )
    assert description.explain("http://a.test/13") == (
        'the range "story 2" takes it: intermediate, leaf, category story, schema article; '
        "the island '/13$' leaves it out of \"story\""
    )
    assert description.explain("http://b.test/7") == "none of the 3 ranges matches"


def test_patterns_have_bounds() -> None:
    """A thousand ranges, a hundred patterns each, no count in braces that explodes."""
    many = [{"match": "x", "category": "y"}] * 1001
    assert "up to 1,000 tables" in check_description({"ranges": many})[0][1]
    assert "up to 100" in check_description({"ranges": [{"match": ["x"] * 101, "category": "y"}]})[0][1]
    huge = {"match": ["(((a{30}){30}){30}){30}"], "category": "y"}
    assert check_description({"ranges": [huge]})


def test_the_version_follows_the_tables() -> None:
    """Any change of a rule makes another one, so that pages are extracted again."""
    version = describe().version
    assert len(version) == 12
    assert describe().version == version
    assert describe(categories={"list": {"links": "css:p"}}).version != version


@pytest.mark.parametrize("wrong", [3, "x", ["x"], {"a": 3}, [{"match": 3, "category": []}], [3]])
def test_nonsense_is_told_and_never_raised(wrong: Any) -> None:
    """As any table of a mission file may hold it."""
    for key in ("ranges", "categories", "schemas"):
        problems = check_description({key: wrong})
        assert all(isinstance(said, str) and place[0] == key for place, said in problems)
        assert problems or (key, wrong) == ("ranges", {"a": 3})


def test_the_settings_are_documented() -> None:
    """The table of docs/records.md is the one that the struct makes."""
    root = Path(__file__).resolve().parents[3]
    assert own_table("records") in (root / "docs/records.md").read_text(encoding="utf-8")


plain = st.recursive(
    st.text(max_size=10) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
keys = st.sampled_from(["match", "islands", "mode", "category", "name", "links", "paging", "schema", "fields", "rule"])
tables = st.dictionaries(keys, plain | st.dictionaries(keys, plain, max_size=3), max_size=4)


@given(st.lists(tables, max_size=3), st.dictionaries(st.text(max_size=4), tables, max_size=2), st.text(max_size=40))
def test_any_tables_are_read_or_refused(ranges: list[Any], others: dict[str, Any], url: str) -> None:
    """Nothing that a file can hold raises; what has no mistake can be asked for any address."""
    settings = {"ranges": ranges, "categories": others, "schemas": others}
    if not check_description(settings):
        description = read_description(settings)
        assert description.explain(url)
