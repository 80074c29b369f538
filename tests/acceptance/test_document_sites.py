"""Documents of whole sites: two real ones served here, and the universities of a synthetic web, with the figures."""

from __future__ import annotations

import functools
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.synthetic_web import SyntheticWeb

from lycosa import Collection, crawl
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.evaluation import Evaluation, evaluate
from lycosa.missions.documents.export.rows import row_of

pytestmark = pytest.mark.acceptance

SITES = ("ebaro-ucm", "azhenley")
#: The passes of the seed's experiment: what counts beside the document itself.
PASSES = {
    "document alone": "[]",
    "with pages": '["pages"]',
    "with other documents": '["documents"]',
    "all": '["pages", "documents"]',
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def rows_of(folder: Path) -> list[dict[str, Any]]:
    with Collection(folder) as collection, open_catalogue(collection) as catalogue:
        return [row_of(document) for document in catalogue.documents(unwanted=True)]


@pytest.fixture(scope="module")
def sites(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The two sites, served and crawled from their first page."""
    found = {}
    for name in SITES:
        root = shared / f"data/documents/sites/{name}/www"
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(root)))
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        folder = tmp_path_factory.mktemp(name) / "c"
        seed = f"http://127.0.0.1:{server.server_port}/index.html"
        crawl(
            seed, mission="documents", collection=folder, delay=0.0, workers=1, contact="mailto:t@lycosa.test"
        ).close()
        server.shutdown()
        server.server_close()
        found[name] = folder
    yield found


def gold_of(shared: Path, name: str) -> dict[str, Any]:
    gold: dict[str, Any] = json.loads((shared / f"data/documents/sites/{name}/gold.json").read_text())
    for document in gold["documents"]:
        printed, current = document.get("emails_printed"), document.get("emails_from_site") or []
        document["emails"] = None if printed is None else list(dict.fromkeys([*printed, *current]))
    return gold


@pytest.mark.parametrize("name", SITES)
def test_a_site_is_read_to_the_end(shared: Path, sites: dict[str, Path], name: str, say: Callable[[str], None]) -> None:
    """Every document is found, the owner's current address is on nine of ten of theirs, and no stranger's on any."""
    gold = gold_of(shared, name)
    rows = {row["url"]: row for row in rows_of(sites[name])}
    owner = gold["persons"][0]["emails"][0]
    found = owned = reached = strange = 0
    for document in gold["documents"]:
        row = next((row for url, row in rows.items() if url.endswith(f"/{document['path']}")), None)
        found += row is not None
        if row is None:
            continue
        if owner in (document.get("emails_from_site") or []):
            owned += 1
            reached += owner in row["emails"]
        if document["emails"] is not None:
            strange += len(set(row["emails"]) - {email.lower() for email in document["emails"]})
    say(
        f"{name}: {found} of {len(gold['documents'])} documents, owner's address on {reached} of {owned},"
        f" {strange} of strangers"
    )
    assert found == len(gold["documents"])
    assert reached >= 0.9 * owned
    assert strange == 0


def test_what_each_pass_adds(shared: Path, sites: dict[str, Path], tmp_path: Path, say: Callable[[str], None]) -> None:
    """The ablation: the document alone, plus pages, plus other documents, and their union."""
    lines = [f"{'pass':22} {'field':10} precision recall"]
    recalls = {}
    for title, passes in PASSES.items():
        total: dict[str, list[int]] = {}
        for name in SITES:
            folder = tmp_path / f"{name}-{len(recalls)}"
            shutil.copytree(sites[name], folder)
            file = folder / "lycosa.toml"
            file.write_text(f"{file.read_text()}\n[documents]\npasses = {passes}\n")
            result: Evaluation = evaluate(gold_of(shared, name)["documents"], rows_of(folder))
            for field, tally in result.fields.items():
                sums = total.setdefault(field, [0, 0, 0])
                sums[0] += tally.right
                sums[1] += tally.answered
                sums[2] += tally.wanted
        for field in ("title", "authors", "emails", "category"):
            right, answered, wanted = total[field]
            lines.append(f"{title:22} {field:10} {right / max(1, answered):9.3f} {right / max(1, wanted):6.3f}")
        recalls[title] = total["emails"][0] / total["emails"][2], total["authors"][0] / total["authors"][2]
    say("\n".join(lines))
    assert recalls["with pages"] > recalls["document alone"]
    assert recalls["all"] >= recalls["with pages"]
    assert recalls["all"][0] >= 0.9 and recalls["all"][1] >= 0.92


def test_the_universities_of_a_synthetic_web(shared: Path, tmp_path: Path, say: Callable[[str], None]) -> None:
    """Nearly all documents, unwanted ones told apart, authors' addresses from neighbouring pages."""
    world = SyntheticWeb(shared / "world", seed=33, hosts=40, pages=1500)
    try:
        truth = world.truth["documents"]
        settings: dict[str, Any] = {"fetch": {"retry_delay_s": 0.2, "crawl_delay_max_s": 0.02}}
        crawl(
            truth["seeds"], mission="documents", collection=tmp_path / "c", delay=0.01, per_host=8, workers=1,
            connect_to=[world.connect_to], contact="mailto:t@lycosa.test", **settings,
        ).close()  # fmt: skip
    finally:
        world.close()
    rows = {row["url"]: row for row in rows_of(tmp_path / "c")}
    wanted = [each for each in truth["relevant"] if each["reachable"]]
    unwanted = [each for each in truth["unwanted"] if each["url"] in rows]
    found = [each for each in wanted if each["url"] in rows]
    told = sum(not rows[each["url"]]["wanted"] for each in unwanted)
    right = answered = expected = 0
    for each in found:
        near = {email["value"] for email in each["emails"] if email["where"] != "document"}
        if near:
            inside = {email["value"] for email in each["emails"]} - near
            given = set(rows[each["url"]]["emails"]) - inside
            right += len(given & near)
            answered += len(given)
            expected += len(near)
    say(
        f"synthetic universities: {len(found)} of {len(wanted)} documents, {told} of {len(unwanted)} unwanted told,"
        f" e-mails from neighbours {right / answered:.3f}/{right / expected:.3f}"
    )
    assert len(found) >= 0.99 * len(wanted)
    assert told >= 0.95 * len(unwanted)
    assert sum(rows[each["url"]]["wanted"] for each in found) >= 0.95 * len(found)
    assert right >= 0.95 * answered and right >= 0.9 * expected
