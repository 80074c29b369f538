"""Collections of missions as large as `tests/bench/serve.py` asks for, and the pages that it asks of them.

Each is made once, in a folder of its own, by the generators of the other benchmarks, and brought up to date as a look
at it would: 100,000 records in two versions, 10,000 documents with authors, 20,000 services with as many layers and two
rounds of checks, 10,000 documents and schemas of XML that were analysed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import analyse
import apsw
import documents
import inventory
from support.make_collection import AT, make_collection

from lycosa import Collection
from lycosa.analysis.run import AnalysisOptions, analyse_collection
from lycosa.derived.store import bring_up_to_date
from lycosa.frontier.sqlite.extraction_store import ExtractedDocument, ExtractionStore, Label
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.decisions import STATES, correct, decide
from lycosa.missions.geo.check.check_history import CheckHistory, CheckResult
from lycosa.missions.geo.inventory.inventory import ServiceInventory
from lycosa.missions.geo.web.known_services import SERVICES
from lycosa.missions.records.alerts.alert_log import AlertItem, AlertLog
from lycosa.missions.records.database.store import open_store
from lycosa.missions.records.reports.digest import DigestStore
from lycosa.missions.records.web.current_store import keep_lists
from lycosa.missions.xml.analysis import XmlAnalyzer

READERS = """
[mail]
host = "127.0.0.1"
port = 25
sender = "lycosa@example.org"
[[alerts]]
name = "prices"
kind = "product"
fields = ["price"]
readers = ["Ana"]
[[readers]]
name = "Ana"
mail = "ana@example.org"
interests = [ { name = "The river", terms = ["river"] }, { name = "Products", kind = "product" } ]
"""
OUTCOMES = ("alive", "alive", "alive", "empty", "dead")


def make_records(folder: Path, count: int) -> None:
    """Records of three kinds and two ranges on 500 hosts; a tenth of them changed, some are gone, readers had half."""
    mission = 'missions = ["records"]\nseeds = ["https://h0.example/"]\n'
    pages = ((f"https://h{n % 500}.example/{n}", "text/html", b"<p>%d" % n) for n in range(count))
    make_collection(folder, pages, mission=mission)
    (folder / "lycosa.toml").write_text(mission)
    (folder / "readers.toml").write_text(READERS)
    for version in (1, 2):
        _extract(folder, version)
        with open_store(folder):
            pass
    with open_store(folder) as store:
        keep_lists(store)
        log = AlertLog(store)
        DigestStore(store).feed_id("Ana")
        with store.transaction():
            connection = store.connection
            connection.execute(
                "INSERT INTO digest_delivered SELECT 'Ana', id, 1, 1, first_at, changed_at, '[]' FROM record"
            )
            last = store.last_change() - 200
            connection.execute("UPDATE digest_reader SET issue = 1, at = ?, last_change = ?", (AT + 3, last))
            for n in range(5000):
                url = f"https://h1.example/{n}"
                log.add(AlertItem(alert="prices", key=f"k{n}", at=AT + n, what="changed", url=url, title=f"Title {n}"))


def _extract(folder: Path, version: int) -> None:
    store = ExtractionStore(folder / "crawl.db", Label("records", str(version)))
    chance = random.Random(7)
    words = [f"word{n}" for n in range(20_000)] + ["river"] * 20
    rows = []
    for due in store.due(after=0, limit=1 << 40):
        n = due.row
        kind = ("article", "article", "product", "event")[n % 4]
        chance.seed(n)
        data = {
            "@range": ("news", "shop")[n % 2],
            "title": f"Title {n}",
            "author": f"Author {n % 20_000}",
            "price": n % 1000 + (version == 2 and n % 10 == 0),
            "tags": [words[n % 2000], words[n % 1999]],
            "text": " ".join(chance.choices(words, k=150)),
        }
        found = () if version == 2 and n % 50 == 0 else ((kind, json.dumps(data)),)
        rows.append(ExtractedDocument(due, "done", records=found))
    store.commit(rows, now=AT + version)
    store.close()


def make_documents(folder: Path, count: int) -> None:
    """A site of documents with authors; some values were corrected, some authors answered."""
    documents.make_site(folder, count)
    (folder / "lycosa.toml").write_text('missions = ["documents"]\n')
    with Collection(folder) as collection, open_catalogue(collection) as catalogue:
        chosen = [document for nth, document in enumerate(catalogue.documents(unwanted=True)) if nth % 20 == 1]
    for nth, document in enumerate(chosen):
        correct(folder, document.url, "title", [f"A better title {nth}"])
        if document.authors:
            decide(folder, document.url, document.authors[0].name, STATES[nth % 3])


def make_geo(folder: Path, count: int) -> None:
    """Services with a layer each, and two rounds of checks."""
    inventory.fill(folder, services=count, layers=1, urls=10_000)
    (folder / "lycosa.toml").write_text('missions = ["geo"]\n')
    with closing(apsw.Connection(str(folder / "crawl.db"))) as database:  # which has no mission
        database.execute("UPDATE meta SET value = ? WHERE key = 'mission'", ('missions = ["geo"]\n',))
    with Collection(folder) as collection:
        entries = ServiceInventory(collection).entries
    chance = random.Random(7)
    with closing(CheckHistory(folder, write=True)) as history:
        for at in (AT, AT + 1e6):
            number, _ = history.begin(now=at, anew=True, wanted="")
            history.add(
                number,
                (
                    CheckResult(
                        id=entry.id,
                        type=entry.service.type,
                        endpoint=entry.service.endpoint,
                        title=entry.service.title,
                        outcome=chance.choice(OUTCOMES),
                        described=True,
                        items=1,
                        at=at,
                    )
                    for entry in entries
                ),
            )
            history.end(number, now=at + 1000)
    with Collection(folder) as collection:
        bring_up_to_date(SERVICES, collection).close()


def make_xml(folder: Path, count: int) -> None:
    """Schemas in parts, documents that are checked against them, stylesheets, broken ones; all analysed."""
    mission = 'missions = ["xml"]\n'
    make_collection(folder, analyse.copies(list(analyse.make_fixtures()), count), mission=mission)
    (folder / "lycosa.toml").write_text(mission)
    analyse_collection(folder, XmlAnalyzer(), AnalysisOptions(workers=1, quiet=True))


#: By the name of the collection: what makes it, how large, and the pages that are asked for. `{key}` stands for the
#: first item of the list that `FIRST` names.
MAKERS: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "records": (make_records, 100_000),
    "documents": (make_documents, 10_000),
    "geo": (make_geo, 20_000),
    "xml": (make_xml, 10_000),
}
FIRST: dict[str, tuple[str, Callable[[Any], object]]] = {
    "records": ("m/records/index.json", lambda found: found["records"][0]["id"]),
    "documents": ("m/documents/index.json?category=article", lambda found: found["documents"][0]["url"]),
    "geo": ("m/geo/services.json", lambda found: found["services"][0]["id"]),
    "xml": ("m/xml/schemas.json", lambda found: found["schemas"][0]["id"]),
}
PATHS = {
    "records": (
        "", "?sort=url", "?sort=-first", "?sort=fetched", "?sort=title", "?sort=-price", "?page=1000",
        "?sort=-changed&page=1000", "?kind=product", "?kind=product&host=h3.example", "?host=h3.example&sort=url",
        "?state=gone", "?state=there&range=shop&sort=-first", "?kind=article&kind=event&range=news&page=300",
        "?q=river", "?q=nowhere", "?q=title+77&kind=event", "?columns=price&sort=-price&kind=product",
        "record?id={key}", "stories", "health", "readers", "digest?reader=Ana", "alerts", "alerts?alert=prices",
        "outbox",
    ),
    "documents": (
        "", "?category=article", "?sort=title", "?sort=-confidence&page=100", "?q=estudio+77", "?permission=granted",
        "?language=none&host=www.uni.test&sort=authors", "document?url={key}", "contacts", "contacts?all=1",
        "contacts?q=garcia&all=1", "contacts?page=15", "oai?verb=Identify",
        "oai?verb=ListIdentifiers&metadataPrefix=oai_dc", "oai?verb=ListRecords&metadataPrefix=oai_dc",
        "oai/granted?verb=ListRecords&metadataPrefix=oai_dc",
    ),
    "geo": (
        "", "?what=layers", "?kind=WMS", "?q=77", "?what=layers&q=77", "?box=0,0,40,40", "services",
        "services?kind=WFS&state=live", "services?outcome=dead", "services?q=77", "services?host=h7*&page=5",
        "service?id={key}", "layers", "layers?q=layer+77", "layers?kind=WMS&page=30", "layers?service={key}", "checks",
    ),
    "xml": (
        "", "documents", "documents?kind=xml&validity=invalid", "documents?host=h7.test", "documents?q=doc1",
        "documents?uses=urn:a", "documents?page=90", "documents?closure=complete", "document?id={key}", "schemas",
        "schemas?kind=xsd", "groups",
    ),
}  # fmt: skip


def make_all(folder: Path) -> None:
    """Make what is not there yet."""
    for name, (make, count) in MAKERS.items():
        if not (folder / name).exists():
            make(folder / name, count)
