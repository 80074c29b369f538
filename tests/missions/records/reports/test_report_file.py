"""Reports by templates over queries: what users may write, and what keeps them in bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.record_stores import NASTY, filled_store, make_article

from lycosa.errors import UsageError
from lycosa.missions.records.database import NewRecord
from lycosa.missions.records.reports import report_file
from lycosa.missions.records.reports.report_file import load_report
from lycosa.missions.records.reports.template_engine import escape_markdown, render, render_apart, web_address

ALBUM = NewRecord(
    kind="album",
    url="https://shop.example/1",
    data={"name": "Kind of Blue", "price": {"amount": 12.5, "currency": "EUR"}},
)
PRICES = """
name = "Prices"
[queries]
cheap = "SELECT data ->> '$.name' AS name, data ->> '$.price.amount' AS price FROM records WHERE price < 20"
[selection]
kind = "article"
terms = ["río"]
[templates]
html = "prices.html"
markdown = '''
# {{ report.name }}
{% for row in cheap %}
- {{ row.name }}: {{ row.price }}
{% endfor %}
{% for item in selected %}
- {{ item.title|markdown_link(item.url) }}
{% endfor %}
'''
"""


def test_a_report_of_a_user_is_written(tmp_path: Path) -> None:
    """Its queries and its selection fill its templates, which may stand in files and build on ours."""
    with filled_store(tmp_path / "c", ALBUM, make_article(1, NASTY), make_article(2, "Other")):
        pass
    (tmp_path / "prices.toml").write_text(PRICES)
    (tmp_path / "prices.html").write_text(
        '{% extends "page.html" %}{% block main %}{{ bars(cheap, "name", "price", "Prices") }}'
        "{% for item in selected %}<p>{{ item.title }}</p>{% endfor %}{% endblock %}"
    )
    words = ("report", "records", "--template", str(tmp_path / "prices.toml"), "-c", str(tmp_path / "c"))
    said = run(*words, "--format", "markdown")
    assert said.code == 0
    assert "# Prices" in said.output and "- Kind of Blue: 12.5" in said.output
    assert r"- [\<script\>" in said.output and "](https://news.example/1)" in said.output
    page = tmp_path / "prices.page.html"
    said = run(*words, "-o", str(page))
    assert said.code == 0, said.output
    html = page.read_text()
    assert "<svg" in html and "<p>&lt;script&gt;" in html and "<script" not in html


def test_statistics_count_by_medium_section_and_day(tmp_path: Path) -> None:
    """With charts in HTML, as tables in Markdown; a date of the year 9999 counts as the day of the crawl."""
    records = [
        make_article(1, "A", section="Local"),
        make_article(2, "B", section="Local", host="other.example"),
        make_article(3, "C", date="9999-12-31"),
    ]
    with filled_store(tmp_path / "c", *records):
        pass
    said = run("report", "records", "--template", "statistics", "-c", str(tmp_path / "c"), "--format", "markdown")
    assert said.code == 0, said.output
    for row in (
        "| news.example | 2 | 0 | 0 | 2026-09-21 | 2026-09-21 |",
        "| Local | 2 | 2 |",
        "| 2026-09-20 | 2 |",
        "| 2026-09-21 | 1 |",
    ):
        assert row in said.output
    page = tmp_path / "s.html"
    assert run("report", "records", "--template", "statistics", "-c", str(tmp_path / "c"), "-o", str(page)).code == 0
    assert page.read_text().count("<svg") == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "allowed: a table [templates] with one of html, markdown, text"),
        ("[templates]\npdf = 'x'", ":2: templates.pdf: there is no such setting"),
        ("[templates]\nhtml = 'none.html'", ":2: templates.html: "),
        ("[template]\nhtml = '{{ 1 }}'", "did you mean templates?"),
        ("[queries]\nitems = 'SELECT 1'\n[templates]\nhtml = '{{ 1 }}'", ":2: queries.items: allowed: a name"),
        ("[queries]\nx = 3\n[templates]\nhtml = '{{ 1 }}'", ":2: queries.x: found 3"),
        ("[selection]\nterm = 'x'\n[templates]\nhtml = '{{ 1 }}'", ":2: selection.term: there is no such setting"),
        ("limit = 0\n[templates]\nhtml = '{{ 1 }}'", ":1: limit: found 0"),
    ],
)
def test_what_is_wrong_with_a_report_is_said(tmp_path: Path, text: str, said: str) -> None:
    """With file and line."""
    path = tmp_path / "report.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_report(str(path))
    assert said in str(caught.value)


def test_a_report_that_is_not_there_is_named() -> None:
    """With those that are built in."""
    with pytest.raises(UsageError, match="name a FILE.toml, or one of those built in: digest, statistics"):
        load_report("statistic")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM record", "can only read"),
        ("ATTACH '/tmp/x.db' AS x", "can only read"),
        ("SELECT 1; DELETE FROM record", "can only read"),
        ("SELECT x FROM nowhere", "no such table: nowhere; views are records"),
        ("PRAGMA writable_schema = 1", "can only read"),
        ("SELECT load_extension('x')", "cannot be run"),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n", "longer than 0.3 s"),
    ],
)
def test_queries_can_only_read_for_a_short_time(tmp_path: Path, sql: str, said: str) -> None:
    """Whatever a report file says."""
    with filled_store(tmp_path / "c", ALBUM) as store:
        with pytest.raises(UsageError, match=said):
            report_file.run_query(store.path, sql, {}, seconds=0.3)
        assert [record.kind for record in store.records()] == ["album"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ x", "line 1: unexpected end of template"),
        ("a\n{{ ''.__class__.__mro__[1].__subclasses__() }}", "line 2: access to attribute '__class__'"),
        ("{{ report.update(a=1) }}", "access to attribute 'update'"),
        ("\n\n{{ 1 / 0 }}", "line 3: division by zero"),
        ("{% include '/etc/passwd' %}", "/etc/passwd"),
        ("{% include '../report_file.py' %}", "report_file.py"),
        ("{% for i in range(999999999) %}x{% endfor %}", "Range too big"),
        ("{{ 'x' * 99999999999 }}", "memory"),
        ("{{ nothing.at.all }}{{ missing() }}", "'missing' is undefined"),
    ],
)
def test_templates_stay_in_the_sandbox(template: str, said: str) -> None:
    """No file, no attribute that leads out, no endless loop; the complaint has the line."""
    with pytest.raises(UsageError) as caught:
        render_apart(template, {"report": {}}, "html")
    assert said in str(caught.value)


def test_a_template_that_does_not_end_is_ended() -> None:
    """By the kernel, after its share of processor time."""
    loop = "{% for a in text %}{% for b in text %}{% for c in text %}{% endfor %}{% endfor %}{% endfor %}"
    with pytest.raises(UsageError, match=r"not done after [13] s"):
        render_apart(loop, {"text": "x" * 100_000}, "text", cpu_s=1.0)


@pytest.mark.parametrize("value", ["*a* [b](c) <b> # x", "1. list\n- other\n+ x\n# y", "a|b `c` ~~d~~ ![i](u) &amp;"])
def test_markdown_shows_values_as_they_are(value: str) -> None:
    """Nothing of a record becomes a link, a list, a heading, markup or HTML."""
    marks = set("*[]<`#|~!&_")
    escaped: Any = escape_markdown(value)
    for at, mark in enumerate(escaped):
        assert mark not in marks or escaped[at - 1] == "\\"
    assert all(line.lstrip()[:1] not in ("-", "+") for line in escaped.split("\n"))


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://a.example/x?y=1", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//a.example/", False),
        ("http://[", False),
        ("https://a.example/\u202e", False),
        ("", False),
    ],
)
def test_only_addresses_of_the_web_become_links(url: str, good: bool) -> None:
    """Others could run something, or deceive."""
    assert web_address(url) == (url if good else "")
    link = render("{{ 'x'|markdown_link(url) }}", {"url": url}, "markdown")
    assert link == (f"[x]({url})" if good else "x")
