"""The report of a collection in a real browser: from a file, without the network, sortable, in both faces."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.make_collection import make_collection

from lycosa.cli.main import program
from lycosa.render.browser_processes import find_browser

BROWSER = find_browser()
pytestmark = pytest.mark.skipif(bool(BROWSER.missing), reason=f"no browser: {BROWSER.missing}")

EVIL = "<a xmlns='urn:&lt;img src=x onerror=\"document.title=1\"&gt;'>&undeclared;<b></a>"


def test_the_report_opens_in_a_browser(shared: Path, tmp_path: Path) -> None:
    """Every section is there, a click sorts, the face changes; nothing is asked for, no stranger's script runs."""
    from playwright.sync_api import sync_playwright

    files = sorted((shared / "data/xml/files").iterdir())
    pages = [(f"http://files.test/{path.name}", "application/octet-stream", path.read_bytes()) for path in files]
    pages.append(("http://evil.test/%3Cscript%3Ealert(1)%3C/script%3E.xml", "text/xml", EVIL.encode()))
    folder = make_collection(tmp_path / "c", pages)
    report = tmp_path / "report.html"
    for arguments in (("analyse", "xml", str(folder), "-q"), ("report", "xml", "-c", str(folder), "-o", str(report))):
        result = CliRunner().invoke(program, list(arguments))
        assert result.exit_code == 0, (result.output, result.exception)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER.path, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light")
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(report.as_uri())
        assert page.title() == "XML in c"
        names = page.locator("h2").all_inner_texts()
        sections = "Overview Kinds Namespaces Structure Validity Closure Corrections Links Hosts".split()  # noqa: SIM905
        assert names == sections
        assert page.locator("svg.chart rect").count() > 50
        _check_figures(page.locator("#s1 tbody tr").all_inner_texts(), folder)
        head = page.locator("#s1 th button").nth(2)  # bytes
        head.click()
        cells = [
            int(cell)
            for cell in page.locator("#s1 tbody td:nth-child(3)").evaluate_all("all => all.map(c => c.dataset.v)")
        ]
        assert cells == sorted(cells, reverse=True)
        head.click()
        assert page.locator("#s1 th").nth(2).get_attribute("aria-sort") == "ascending"
        bright = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#face")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != bright
        page.set_viewport_size({"width": 400, "height": 800})  # a phone: tables scroll by themselves
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert asked == [report.as_uri()] and wrong == []
        print(f"report of {len(pages)} documents: {report.stat().st_size / 1000:.0f} kB, {len(names)} sections")
        browser.close()


def _check_figures(rows: list[str], folder: Path) -> None:
    db = sqlite3.connect(folder / "analysis.db")
    counts = dict(db.execute("SELECT kind, count(*) FROM document WHERE kind NOT IN ('html', 'archive') GROUP BY kind"))
    db.close()
    shown = {cells[0]: int(cells[1].replace(",", "")) for row in rows if (cells := row.split("\t"))}
    assert shown == counts
