"""Quarries: names of earlier versions, and several of them as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lycosa.intake.guidance import GuardedQuarry
from lycosa.model import Link, Record
from lycosa.parse import Doc, read
from lycosa.quarry import Quarry, QuarryUnion, has_extract, overrides, parts_of, url_judge

DOC = read("http://a.test/", {"content-type": "text/html"}, b"<p>soup and stew")


class Soup(Quarry):
    """Written before methods had the names of now."""

    name = "soup"
    vouched = frozenset({"spoon"})

    def recognise(self, doc: Doc) -> str | None:
        return "soup" if b"soup" in doc.body else None

    def refused(self, doc: Doc, status: int) -> Iterable[Link]:
        return [Link(f"/soup/{status}")]

    def same(self, url: str) -> str:
        return "soup" if "soup" in url else ""

    def score(self, link: Link, doc: Doc) -> float:
        return 0.3

    def explain(self, link: Link, doc: Doc) -> dict[str, float]:
        return {"heat": 0.3}


class Stew(Quarry):
    """Written now."""

    name = "stew"
    trusted_kinds = frozenset({"fork"})

    def recognise(self, doc: Doc) -> str | None:
        return "stew" if b"stew" in doc.body else None

    def links(self, doc: Doc) -> Iterable[Link]:
        yield Link("/stew")

    def identity(self, url: str) -> str:
        return "stew" if "stew" in url else ""

    def score(self, link: Link, doc: Doc) -> float:
        return 0.7 if "stew" in link.href else 0.1

    def extract(self, doc: Doc) -> Iterable[Record]:
        yield Record("stew", {})


class Burnt(Quarry):
    """Raises whatever it is asked."""

    name = "burnt"

    def recognise(self, doc: Doc) -> str | None:
        raise ValueError("burnt")

    def links(self, doc: Doc) -> Iterable[Link]:
        yield Link("/before")
        raise ValueError("burnt")

    def score(self, link: Link, doc: Doc) -> float:
        return float("nan")

    def identity(self, url: str) -> str:
        raise SystemExit(1)


class Broth(Soup):
    def refused(self, doc: Doc, status: int) -> Iterable[Link]:
        return []


def test_a_quarry_with_names_of_earlier_versions_is_asked() -> None:
    """As are classes that inherit from it."""
    quarry = Soup()
    assert [link.href for link in quarry.links_of_error(DOC, 404)] == ["/soup/404"]
    assert (quarry.identity("/soup"), quarry.trusted_kinds) == ("soup", {"spoon"})
    assert overrides(quarry, "links_of_error") and overrides(quarry, "identity")
    assert list(Broth().links_of_error(DOC, 404)) == [] and Broth().identity("/soup") == "soup"


def test_a_union_asks_each() -> None:
    """Kinds and links of all, the best score, the first identity; what explains the score under each one's name."""
    union = QuarryUnion([Soup(), Stew()])
    assert union.recognise(DOC) == "soup, stew"
    assert union.recognise(read("http://a.test/", {}, b"<p>bread")) is None
    assert [link.href for link in union.links(DOC)] == ["/stew"]
    assert [link.href for link in union.links_of_error(DOC, 404)] == ["/soup/404"]
    assert (union.score(Link("/stew"), DOC), union.score(Link("/"), DOC)) == (0.7, 0.3)
    assert union.explain(Link("/"), DOC) == {"soup: heat": 0.3}
    assert (union.identity("/stew"), union.identity("/")) == ("stew", "")
    assert union.trusted_kinds == {"spoon", "fork"}
    assert overrides(union, "score") and has_extract(union) and not has_extract(Soup())
    assert [type(part) for part in parts_of(union)] == [Soup, Stew]


def test_one_that_fails_costs_the_others_nothing(tmp_path: Path) -> None:
    """In a crawl: what it raises is counted and written down, the others' answers count; elsewhere it is raised."""
    with pytest.raises(ValueError, match="burnt"):
        QuarryUnion([Burnt(), Stew()]).recognise(DOC)
    guarded = GuardedQuarry(QuarryUnion([Burnt(), Stew()]), log=tmp_path / "logs/errors.log", max_links=10)
    assert guarded.recognise(DOC) == "stew"
    assert [link.href for link in guarded.links(DOC)] == ["/before", "/stew"]
    assert guarded.identity("/stew") == "stew"
    assert guarded.score(Link("/stew"), DOC) == 0.7
    assert guarded.errors == 3
    assert (tmp_path / "logs/errors.log").read_text().count("ValueError: burnt") == 2


class Fenced(Quarry):
    """Goes only where its letter is."""

    letter = "a"

    def configured(self, settings: Mapping[str, Any]) -> Quarry:
        fenced = Fenced()
        fenced.letter = str(settings["letter"])
        return fenced

    def chosen_links(self, doc: Doc) -> list[Link]:
        return [Link(f"/{self.letter}")]

    def refuses(self, url: str) -> str:
        return "" if self.letter in url else f"no {self.letter}"

    def describe_url(self, url: str) -> str:
        return f"it has {url.count(self.letter)}"


def test_a_union_goes_where_any_of_them_goes() -> None:
    """An address is refused where all refuse it; links are followed that one of them chooses."""
    union = QuarryUnion([Fenced(), Fenced().configured({"letter": "b"})])
    assert (union.refuses("/a"), union.refuses("/b"), union.refuses("/c")) == ("", "", "no a; no b")
    assert [link.href for link in union.chosen_links(DOC) or ()] == ["/a", "/b"]
    assert union.describe_url("/a") == "Fenced: it has 1; Fenced: it has 0"
    assert url_judge(union) is union
    wider = QuarryUnion([Fenced(), Stew()])
    assert wider.refuses("/c") == ""
    assert wider.chosen_links(DOC) is None
    assert url_judge(Stew()) is None


def test_what_says_where_to_go_is_guarded(tmp_path: Path) -> None:
    """One that raises refuses nothing and chooses everything, and only those that have ranges are asked."""
    guarded = GuardedQuarry(Fenced().configured({"letter": "a"}), log=tmp_path / "errors.log", max_links=10)
    assert guarded.url_judge is guarded
    assert guarded.refuses("/b") == "no a"
    guarded.quarry.letter = None  # type: ignore[attr-defined]
    assert (guarded.refuses("/b"), guarded.describe_url("/b"), guarded.errors) == ("", "", 2)
    assert GuardedQuarry(Stew(), log=tmp_path / "errors.log", max_links=10).url_judge is None
