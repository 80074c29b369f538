"""The inventory of a small synthetic web after `lycosa crawl geo`, killed on its way and continued, and the truth."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.synthetic_web import SyntheticWeb

from lycosa import Collection
from lycosa.missions.geo.inventory.identity import endpoint_key, service_key
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry, ServiceInventory

pytestmark = pytest.mark.acceptance

#: Crawl-delays of a second are for another test.
HASTY = (
    "--delay", "0.01", "--set", "fetch.retry_delay_s=0.2", "--set", "fetch.crawl_delay_max_s=0.02",
    "--set", "keep.sync_s=0", "--contact", "mailto:test@lycosa.test",
)  # fmt: skip
#: What the truth calls a defect of a service that does not answer, and the state that it is listed with.
STATES = {"dead": "dead", "unborn": "dead", "died": "dead", "error500": "error"}

#: Kinds whose documents in this world name nothing that they offer.
SILENT = ("CSW", "WCTS", "OGCAPI")

Key = tuple[str, str]


@dataclass
class Atlas:
    """What a crawl found, and what there is."""

    truth: dict[str, Any]
    early: dict[Key, int]  # services of the inventory when the crawl was killed, with their layers
    entries: dict[Key, ServiceEntry]
    layers: dict[str, list[Layer]]
    seconds: float


@pytest.fixture(scope="module")
def atlas(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Atlas]:
    """Forty hosts with 71 good services and 20 bad ones: crawled, killed when the first services are in, continued."""
    world = SyntheticWeb(shared / "world", seed=37, hosts=40, pages=1200)
    try:
        yield explore(world, tmp_path_factory.mktemp("geo") / "c")
    finally:
        world.close()


def explore(world: SyntheticWeb, folder: Path) -> Atlas:
    """Crawl in two runs, the first of which is killed."""
    # Who backs off for a minute has no service here, and is for other tests.
    serving = {urlsplit(row["url"]).hostname for row in world.truth["geo"]["relevant"]}
    slow = [name for name, host in world.hosts.items() if host["behaviour"] != "plain" and name not in serving]
    command = [
        sys.executable, "-m", "lycosa", "crawl", "geo", "--collection", str(folder), "--connect-to", world.connect_to,
        *HASTY, *(f"--exclude=^http://{name.replace('.', '[.]')}/" for name in slow), *world.truth["geo"]["seeds"],
    ]  # fmt: skip
    began = time.monotonic()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while count_services(folder) < 10 and running.poll() is None and time.monotonic() < began + 60:
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    early = {key: entry.service.items for key, entry in read_stock(folder)[0].items() if entry.sources}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    entries, layers = read_stock(folder)
    return Atlas(world.truth["geo"], early, entries, layers, time.monotonic() - began)


def count_services(folder: Path) -> int:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM record WHERE kind = 'service'").fetchone()[0])
    return 0


def read_stock(folder: Path) -> tuple[dict[Key, ServiceEntry], dict[str, list[Layer]]]:
    """Services by type and endpoint, layers by service."""
    layers: dict[str, list[Layer]] = {}
    with Collection(folder) as collection, collection.snapshot():
        inventory = ServiceInventory(collection)
        for layer in inventory.layers():
            layers.setdefault(layer.entry.id, []).append(layer)
    entries = {}
    for entry in reversed(inventory.entries):
        for endpoint in entry.endpoints:
            entries[entry.service.type, endpoint_key(endpoint)] = entry
    return entries, layers


def test_every_service_is_in_the_inventory(atlas: Atlas, capsys: pytest.CaptureFixture[str]) -> None:
    """Each once, live, with the title, the provider, the layers and the box that it states."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    missing = []
    for row in atlas.truth["relevant"]:
        entry = atlas.entries.get((row["type"], endpoint_key(row["endpoint"])))
        if entry is None or not entry.sources:
            missing.append(row["url"])
            continue
        service, layers = entry.service, atlas.layers.get(entry.id, [])
        checks = {
            "state": entry.state == "live",
            "title": service.title == row["title"],
            "version": service.version in (row["version"], *row["versions"]) or row["type"] in ("ATOM", "OGCAPI"),
            "boxes": boxes_agree(row, layers),
        }
        if row["type"] not in SILENT:
            checks |= {"layers": len(layers) == row["layers"], "names": names_agree(row, layers)}
        for name, holds in checks.items():
            total[name] += 1
            right[name] += holds
    # Directories of ArcGIS describe themselves too; the truth counts what is in them.
    found = {entry.id for entry in atlas.entries.values() if entry.sources and entry.service.type != "ARCGIS"}
    with capsys.disabled():
        said = ", ".join(f"{name} {right[name]}/{total[name]}" for name in total)
        print(
            f"\ngeo inventory: {len(atlas.truth['relevant']) - len(missing)}/{len(atlas.truth['relevant'])} services in"
            f" {atlas.seconds:.0f} s, {sum(map(len, atlas.layers.values())):,} layers; {said}"
        )
    assert missing == []
    assert len(found) == len(atlas.truth["relevant"])
    assert all(right[name] >= 0.97 * total[name] for name in total)


def names_agree(row: dict[str, Any], layers: list[Layer]) -> bool:
    """Whether the layers that the truth names are there; it names the first twenty."""
    if row["type"] == "ATOM":
        return True  # its entries have titles
    return set(row["layer_names"]) <= {
        name for layer in layers for name in (layer.item.name, layer.item.name.rpartition(":")[2])
    }


def boxes_agree(row: dict[str, Any], layers: list[Layer]) -> bool:
    """Whether no layer lies outside of what the service covers."""
    west, south, east, north = row["bbox"] or (-180, -90, 180, 90)
    boxes = [layer.item.box for layer in layers if layer.item.box]
    return all(
        west - 0.01 <= box[0] <= box[2] <= east + 0.01 and south - 0.01 <= box[1] <= box[3] <= north + 0.01
        for box in boxes
    )


def test_what_does_not_answer_is_reported_as_such(atlas: Atlas, capsys: pytest.CaptureFixture[str]) -> None:
    """Dead services are listed as dead, broken ones as broken, those that complain as exceptions; none as live."""
    met = set(atlas.truth["reachable"])
    wanted = {row["url"]: STATES.get(row["why"], "dead") for row in atlas.truth["dead"] if row["url"] in met}
    wanted |= dict.fromkeys(met & set(atlas.truth["not_services"]), "exception")
    told = {service_key(url, kind): entry for (kind, _), entry in atlas.entries.items() for url in entry.addresses}
    states: Counter[str] = Counter()
    wrong = {}
    for url, state in wanted.items():
        kind = next(
            (kind for kind in ("WMTS", "WMS", "WFS", "WCS", "WPS", "CSW", "SOS", "WCTS") if f"={kind}&" in url), ""
        )
        entry = told.get(service_key(url, kind)) or told.get(service_key(url, ""))
        if entry is None or entry.guess:
            states[f"{state} unheard of"] += 1
            continue
        states[f"{state} {'reported' if entry.state == state else 'wrong'}"] += 1
        if entry.state != state:
            wrong[url] = (state, entry.state, entry.reason)
    with capsys.disabled():
        print(f"\ngeo, not answering: {dict(sorted(states.items()))}")
    assert wrong == {}
    reported = sum(count for name, count in states.items() if name.endswith("reported"))
    assert reported >= 0.8 * len(wanted)


def test_a_killed_crawl_keeps_its_inventory(atlas: Atlas, capsys: pytest.CaptureFixture[str]) -> None:
    """What was in the inventory when the crawl was killed is in it at the end, with the same layers."""
    with capsys.disabled():
        print(f"\ngeo, killed: {len(atlas.early)} services then, all of them at the end")
    assert len(atlas.early) > 0
    assert {key: atlas.entries[key].service.items for key in atlas.early} == atlas.early
