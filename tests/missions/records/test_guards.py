"""Paths that would take minutes on a page are refused before they begin."""

from __future__ import annotations

import pytest
import turbohtml

from lycosa.missions.records.guards import WideStep, XPathGuard, XPathRefused, find_wide_steps
from lycosa.missions.records.schema import load_schema
from lycosa.parse import read

DEEP = "<body>" + "<div class=a>" * 400 + "x" + "</div>" * 400
WIDE = "<body>" + "<div>x</div>" * 3000


@pytest.mark.parametrize(
    ("expression", "steps"),
    [
        ("//h1/text()", []),
        ("//td/following-sibling::td[1]", []),
        ("//td/following-sibling::td", [WideStep("//td", to_siblings=True)]),
        ("//a|//b[@x='|']/preceding::c", [WideStep("//b[@x='|']", to_siblings=False)]),
        ("//a[b/following::c]/d", [WideStep("//a", to_siblings=False)]),
        ("count(//a/following::b)", [WideStep("//a", to_siblings=False)]),
        ("//a[.='following::b']", []),
        ("following::b", [WideStep("", to_siblings=False)]),
    ],
)
def test_wide_steps_are_found_with_their_start(expression: str, steps: list[WideStep]) -> None:
    """But for those that a number narrows, and what stands in quotes."""
    assert find_wide_steps(expression) == steps


@pytest.mark.parametrize(
    ("page", "expression", "told"),
    [
        (DEEP, "//div[contains(., 'x')]//div[contains(., 'x')]", "200 elements deep"),
        (DEEP, "//div/preceding::div//div", "200 elements deep"),
        (WIDE, "//div/following::div", "500,000 nodes"),
        (WIDE, "//div/following-sibling::div", "500,000 nodes"),
        (WIDE, "//div[preceding::div]", "500,000 nodes"),
    ],
)
def test_slow_paths_are_refused(page: str, expression: str, told: str) -> None:
    """With what to do instead."""
    tree = turbohtml.parse(page)
    with pytest.raises(XPathRefused, match=told):
        XPathGuard(expression).check(tree, tree, {})


@pytest.mark.parametrize(
    "expression",
    ["//div", "//div[1]/following-sibling::div", "//div/following-sibling::div[1]", "//div[3000]/preceding::text()"],
)
def test_quick_paths_are_not(expression: str) -> None:
    """On a large page, too."""
    tree = turbohtml.parse(WIDE)
    XPathGuard(expression).check(tree, tree, {})


def test_a_refused_path_is_a_problem_of_the_record() -> None:
    """The next rule of the field has its turn."""
    schema = load_schema(
        '[schema]\nname = "x"\n[fields.a]\n'
        "rule = [\"xpath://div[contains(., 'x')]//div[contains(., 'x')]\", 'css:div.a']\n"
    )
    (record,) = schema.extract(read("http://a.test/", {"content-type": "text/html"}, DEEP.encode()))
    assert record.as_dict() == {"a": "x"}
    assert "200 elements deep" in record.problems[0]
