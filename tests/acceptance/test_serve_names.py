"""Naughty strings on the page in the browser: as names, missions, seeds, hosts, types and lines of logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import serving

from lycosa.config.fields import quoted
from lycosa.serve.page_request import collection_link

pytestmark = [pytest.mark.acceptance, needs_browser]


def test_naughty_strings_run_nothing(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every page is shown, no script runs, no policy is breached, nothing leaves the machine."""
    cases = json.loads((shared / "data" / "conformance" / "names" / "blns.json").read_text())["cases"]
    texts = [str(text) for text in cases]
    served = tmp_path / "served"
    everything = make_collection(
        served / "all", [(f"https://example.org/?{nth}", text, text.encode()) for nth, text in enumerate(texts)]
    )
    named = 0
    for text in texts:
        name = text.replace("/", "_").strip(".\0 ")
        try:
            make_collection(served / name, [(f"https://example.org/{named}", text[:100], text.encode())])
        except (OSError, ValueError):  # no file system takes it
            continue
        named += 1
    lines = [" ".join(text.splitlines()) for text in texts]
    (everything / "logs").mkdir()
    for file in ("crawl.log", "console.log"):
        (everything / "logs" / file).write_text("\n".join(lines) + "\n", errors="replace")
    words = ", ".join(quoted(text) for text in texts)
    (everything / "lycosa.toml").write_text(f"missions = [{words}]\nseeds = [{words}]\n")
    with serving(served) as client, browsing() as browser, viewing(browser) as view:
        paths = [f"/?page={page}" for page in range(1, client.get("/index.json").json["last_page"] + 1)]
        paths += ["/c/all/", "/c/all/crawl"]
        names = [one["name"] for one in client.get("/index.json").json["collections"]]
        paths += [collection_link(name, "crawl") for name in names[:40]]
        for path in paths:
            page = view.open(client.address + path)
            page.wait_for_timeout(100)
            assert page.locator("h1").count() == 1, path
            view.check()
    with capsys.disabled():
        print(
            f"\npage in the browser: {len(texts)} strings, {named} names of collections, {len(paths)} pages, 0 breaches"
        )
