"""What the inventory and its exports cost: time and memory, over a collection made for it.

python tests/bench/inventory.py --services 5000 --layers 20 --urls 1000000
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lycosa import Collection
from lycosa.frontier.sqlite import schema
from lycosa.missions.geo.export import geojson, iso, stac
from lycosa.missions.geo.export.map_page import write_map
from lycosa.missions.geo.inventory.inventory import ServiceInventory
from lycosa.missions.geo.inventory.listing import SERVICES, ServiceFilter, layer_rows, list_layers, service_rows
from lycosa.missions.geo.model import LayerItem, Service

KINDS = ("WMS", "WFS", "WCS", "WMTS")


def fill(folder: Path, *, services: int, layers: int, urls: int) -> None:
    """Make a collection: services of four kinds, one layer in ten offered by two, a twentieth of other URLs failed."""
    folder.mkdir()
    schema.create(folder / "crawl.db", mission_toml="", now=0.0)
    database = apsw.Connection(str(folder / "crawl.db"))
    with database:
        database.execute("INSERT INTO host (host, name) VALUES (1, 'www.example.org')")
        database.executemany(
            "INSERT INTO url (n, host, url, state, reason, via, digest) VALUES (?, 1, ?, ?, ?, 'a', ?)",
            _urls(services, urls),
        )
        database.executemany(
            "INSERT INTO page (n, round, fetched_at, digest) VALUES (?, 1, 1.7e9, ?)",
            ((n, _digest(n)) for n in range(1, services + 1)),
        )
        database.executemany(
            "INSERT INTO extracted (n, round, quarry, version, outcome, records) VALUES (?, 1, 'geo', '3', 'done', 1)",
            ((n,) for n in range(1, services + 1)),
        )
        database.executemany(
            "INSERT INTO record (n, round, quarry, mission, kind, json) VALUES (?, 1, 'geo', 'geo', ?, ?)",
            _records(services, layers),
        )
    database.close()


def _digest(n: int) -> bytes:
    return n.to_bytes(20, "big")


def _urls(services: int, urls: int) -> Iterator[tuple[int, str, int, str, bytes]]:
    for n in range(1, services + 1):
        kind = KINDS[n % 4]
        yield n, f"http://h{n}.example.org/ows?service={kind}&request=GetCapabilities", 1, "", _digest(n)
    for n in range(services + 1, services + urls + 1):
        failed = n % 20 == 0
        yield n, f"http://www.example.org/some/page/{n}.html", 6 if failed else 1, "http-404" if failed else "", b""


def _records(services: int, layers: int) -> Iterator[tuple[int, str, str]]:
    for n in range(1, services + 1):
        kind = KINDS[n % 4]
        endpoint = f"http://h{n}.example.org/ows"
        service = Service(kind, "1.0.0", f"ogc:{kind.lower()}/1.0.0", endpoint, title=f"Service {n}", items=layers)
        service.abstract, service.box = "What it offers, in a few words. " * 10, (0.0, 40.0, 5.0, 45.0)
        yield n, "service", msgspec.json.encode(service).decode()
        for m in range(layers):
            same = n // 2 if m % 10 == 0 else n
            box = (m % 350 - 180.0, same % 170 - 85.0, m % 350 - 178.0, same % 170 - 84.0)
            item = LayerItem(
                "layer", f"l{same}_{m}", f"Layer {m} of {same}", "Abstract. " * 20, box=box, box_from="own"
            )
            item.crs = ("EPSG:4326", "EPSG:3857")
            yield n, "layer", msgspec.json.encode(item).decode()


def measure(name: str, work: Callable[[], Any]) -> Any:
    """Do it and print what it cost."""
    began = time.process_time()
    found = work()
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:34} {seconds:7.2f} s   peak {peak:6.0f} MB   {found if isinstance(found, int) else ''}", flush=True)
    return found


def drain(parts: Iterable[Any]) -> int:
    """How many there are."""
    return sum(1 for _ in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--services", 5_000), ("--layers", 20), ("--urls", 1_000_000)):
        parser.add_argument(name, type=int, default=default)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        fill(path, services=chosen.services, layers=chosen.layers, urls=chosen.urls)
        size = (path / "crawl.db").stat().st_size / 1e6
        layers = chosen.services * chosen.layers
        print(f"{chosen.services:,} services, {layers:,} layers, {chosen.urls:,} URLs, {size:.0f} MB")
        with Collection(path) as collection, collection.snapshot():
            inventory: ServiceInventory = measure("inventory", lambda: ServiceInventory(collection))
            assert len(inventory.live) == chosen.services and len(SERVICES) == len(next(service_rows(inventory.live)))
            shared = measure(
                "layers, and who else offers them", lambda: sum(len(x.offers) > 1 for x in inventory.layers())
            )
            assert shared or chosen.services < 4
            every = ServiceFilter()
            measure("layers as rows", lambda: drain(layer_rows(list_layers(inventory, every))))
            features = lambda: geojson.write_geojson(geojson.layer_features(list_layers(inventory, every)))  # noqa: E731
            measure("footprints", lambda: drain(features()))
            measure("stac", lambda: drain(stac.list_files(inventory.live, list_layers(inventory, every))))
            measure(
                "iso", lambda: drain(iso.write_files(iso.list_records(inventory.live, list_layers(inventory, every))))
            )
            measure(
                "map (characters)", lambda: sum(map(len, write_map(inventory.entries, list_layers(inventory, every))))
            )


if __name__ == "__main__":
    sys.exit(main())
