"""Naughty strings as titles, types and bodies, on every page that shows what a collection holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import serving

from lycosa.frontier.sqlite import schema

pytestmark = [pytest.mark.acceptance, needs_browser]


def test_naughty_titles_run_nothing(shared: Path, tmp_path: Path) -> None:
    """No script runs, no policy is breached, nothing leaves the machine."""
    cases = json.loads((shared / "data" / "conformance" / "names" / "blns.json").read_text())["cases"]
    texts = [str(text) for text in cases]
    pages = [(f"https://example.org/?{nth}", "text/html", text.encode()) for nth, text in enumerate(texts)]
    folder = make_collection(tmp_path / "served" / "all", pages)
    db = schema.connect(folder / "crawl.db")
    for n, text in enumerate(texts, 1):
        clean = text.encode(errors="replace").decode()
        db.execute("UPDATE page SET title = ?, language = ?, kind = ? WHERE n = ?", (clean, clean[:20], clean, n))
        db.execute("UPDATE url SET reason = ?, anchor = ?, via = ? WHERE n = ?", (clean, clean, clean[:50], n))
    db.close()
    first = "https%3A%2F%2Fexample.org%2F%3F"
    paths = [
        "pages?limit=1000", "urls?limit=1000&columns=url,reason,anchor,via", "host?name=example.org",
        "graph?by=page&host=example.org&limit=1000", "query?text=SELECT+title,kind+FROM+pages",
        "query?text=SELECT+title,kind+FROM+pages&shape=graph", "query?text=SELECT+title,size+FROM+pages&shape=bars",
        *(f"page?url={first}{n}&show={part}" for n in range(0, len(texts), 25) for part in ("facts", "archived")),
    ]  # fmt: skip
    with serving(tmp_path / "served") as client, browsing() as browser, viewing(browser) as view:
        for path in paths:
            page = view.open(f"{client.address}/c/all/{path}")
            assert page.locator("h1").count() == 1, path
            view.problems[:] = [said for said in view.problems if "sandboxed" not in said]
            view.check()
