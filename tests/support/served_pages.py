"""Every sort of page of the server, and a folder of collections on which each has something to show."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

from support.crawl_runs import crawl
from support.looked_at_web import make_looked_at
from support.loopback import Reply, Web, html
from support.make_collection import make_collection
from support.mission_webs import FACULTY, make_atlas, make_faculty, make_library, make_newsstand

from lycosa.collection.collection import Collection
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.said_by_people import keep_correction, keep_decision

_SITE = quote("http://site.example/", safe="")
_ABOUT = quote("http://site.example/about", safe="")
_ARTICLE = quote("http://faro.newsstand.test/sociedad/2026/03/02/crecida-ebro", safe="")
_PAPER = quote(f"{FACULTY}/~acasali/caudales.pdf", safe="")
_SCHEMA = quote("http://xml.test/schemas/library.xsd", safe="")
_BY_TYPE = quote("SELECT mime, count(*) AS pages FROM pages GROUP BY mime ORDER BY 2 DESC")
_BY_DEPTH = quote("SELECT depth, count(*) AS addresses FROM urls GROUP BY depth ORDER BY depth")
_LINKS = quote("SELECT source, target FROM links LIMIT 12")
_CYPHER = quote("MATCH (a:Page)-[:Links]->(b:Page) RETURN a.url, b.url LIMIT 20")
_SPARQL = quote(
    "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> SELECT ?concept ?label "
    "WHERE { ?concept skos:prefLabel ?label } LIMIT 20"
)

#: Pages of the core: a name, and the address.
CORE_PAGES = {
    "home": "/",
    "home-filtered": "/?q=nothing",
    "people": "/people",
    "log": "/log",
    "new": "/new?mission=documents",
    "settings": "/c/newspaper/settings",
    "schedule": "/c/newspaper/schedule",
    "work": "/c/newspaper/work",
    "collection": "/c/newspaper/",
    "collection-empty": "/c/empty/",
    "crawl-ended": "/c/newspaper/crawl",
    "crawl-limit": "/c/library/crawl",
    "damaged": "/c/atlas/",
    "missing": "/c/nothing/",
    "no-page": "/nothing",
    "about": "/about",
    "pages": "/c/newspaper/pages?limit=16",
    "pages-nothing": "/c/newspaper/pages?q=zebra",
    "urls": "/c/newspaper/urls?limit=16",
    "urls-gone": "/c/newspaper/urls?state=gone&columns=url&columns=state&columns=reason&columns=http",
    "hosts": "/c/newspaper/hosts",
    "records": "/c/site/records",
    "exports": "/c/site/exports?export=pages",
    "pages-empty": "/c/empty/pages",
    "search-start": "/c/newspaper/search",
    "search": "/c/newspaper/search?q=river+bridge",
    "search-nothing": "/c/newspaper/search?q=zebra",
    "page": f"/c/site/page?url={_SITE}",
    "page-archived": f"/c/site/page?url={_SITE}&show=archived",
    "page-text": f"/c/site/page?url={_SITE}&show=text",
    "page-source": f"/c/site/page?url={_SITE}&show=source",
    "page-links": f"/c/site/page?url={_SITE}&show=links",
    "page-records": f"/c/press/page?url={_ARTICLE}&show=records",
    "page-copies": f"/c/site/page?url={_ABOUT}&show=copies&with=1",
    "page-unknown": "/c/site/page?url=http%3A%2F%2Fnone.example%2F",
    "url-start": "/c/site/url",
    "url": f"/c/site/url?url={_ABOUT}",
    "url-gone": "/c/site/url?url=http%3A%2F%2Fsite.example%2Fgone",
    "url-unknown": "/c/site/url?url=http%3A%2F%2Felsewhere.example%2Fx",
    "host": "/c/site/host?name=site.example",
    "host-unknown": "/c/site/host?name=none.example",
    "graph-hosts": "/c/newspaper/graph?by=host",
    "graph-domains": "/c/newspaper/graph?by=domain",
    "graph-pages": "/c/newspaper/graph?by=page&limit=40",
    "graph-documents": "/c/faculty/graph?by=mission",
    "graph-xml": "/c/schemas/graph?by=mission",
    "graph-empty": "/c/empty/graph",
    "query-start": "/c/newspaper/query",
    "query-table": f"/c/newspaper/query?text={_BY_TYPE}",
    "query-bars": f"/c/newspaper/query?text={_BY_TYPE}&shape=bars",
    "query-line": f"/c/newspaper/query?text={_BY_DEPTH}&shape=line",
    "query-graph": f"/c/newspaper/query?text={_LINKS}&shape=graph",
    "query-cypher": f"/c/newspaper/query?language=cypher&text={_CYPHER}",
    "query-sparql": f"/c/schemas/query?language=sparql&text={_SPARQL}",
    "query-refused": "/c/newspaper/query?text=DELETE+FROM+pages",
}
#: Pages of missions, likewise.
MISSION_PAGES = {
    "records-reader": "/c/press/m/records/reader?name=Ana",
    "records-alert": "/c/press/m/records/alert?name=prices",
    "records-teach-start": "/c/press/m/records/teach",
    "records-teach": f"/c/press/m/records/teach?schema=article&url={_ARTICLE}",
    "records-matches": "/c/press/m/records/matches?terms=Ebro",
    "xml-plan": "/c/schemas/m/xml/plan",
    "geo-map": "/c/services/m/geo/?what=layers&box=-40,-25,200,72",
    "geo-services": "/c/services/m/geo/services?limit=16",
    "geo-service": "/c/services/m/geo/service?id=5a60ae918665f4cf",
    "geo-layers": "/c/services/m/geo/layers",
    "geo-layers-nothing": "/c/services/m/geo/layers?q=zebra",
    "geo-liveness": "/c/services/m/geo/checks",
    "xml-report": "/c/schemas/m/xml/",
    "xml-documents": "/c/schemas/m/xml/documents?limit=16",
    "xml-schemas": "/c/schemas/m/xml/schemas",
    "xml-collections": "/c/schemas/m/xml/groups",
    "xml-schema": f"/c/schemas/m/xml/document?url={_SCHEMA}",
    "documents-list": "/c/faculty/m/documents/",
    "documents-chosen": "/c/faculty/m/documents/?category=exercises&category=article&sort=-title",
    "documents-unknown": "/c/faculty/m/documents/document?url=nothing",
    "documents-nothing": "/c/faculty/m/documents/?q=zebra",
    "documents-document": f"/c/faculty/m/documents/document?url={_PAPER}&field=authors",
    "documents-broken": f"/c/faculty/m/documents/document?url={quote(FACULTY + '/hidrologia/roto.pdf', safe='')}",
    "documents-contacts": "/c/faculty/m/documents/contacts?all=1",
    "records-list": "/c/press/m/records/",
    "records-filtered": "/c/press/m/records/?host=faro.newsstand.test&columns=title&columns=text",
    "records-record": "/c/press/m/records/record?id=1",
    "records-versions": "/c/shop/m/records/record?id=2",
    "records-stories": "/c/press/m/records/stories",
    "records-story": "/c/press/m/records/story?id=1",
    "records-health": "/c/press/m/records/health",
    "records-readers": "/c/press/m/records/readers",
    "records-digest": "/c/press/m/records/digest?reader=Ana",
    "records-alerts": "/c/shop/m/records/alerts",
    "records-alerts-none": "/c/press/m/records/alerts",
    "records-outbox": "/c/shop/m/records/outbox",
    "records-missing": "/c/press/m/records/record?id=x",
}
WORDS = ("river", "bridge", "archive", "garden", "harbour", "market", "letter", "council", "winter", "summer")


def make_busy_web() -> Web:
    """A few sites with thousands of pages, one of which asks for patience."""
    web = Web()

    def answer(address: str) -> Reply | None:
        host, _, path = address.partition("/")
        if host.startswith("busy."):
            return Reply(b"", 503, {"Retry-After": "900"})
        if path == "robots.txt" or path.startswith("old/"):
            return None
        chance = random.Random(address)
        links = [f"/{chance.choice(WORDS)}/{chance.randrange(400)}" for _ in range(8)]
        links += [f"/old/{chance.randrange(400)}", "http://busy.museum.example/", "mailto:someone@example.org"]
        reply = html(*links, title=f"{chance.choice(WORDS)} {path}", text=" ".join(chance.choices(WORDS, k=60)))
        if path and chance.random() < 0.1:
            reply.headers["Content-Type"] = "application/xml"
            reply.body = b"<list><item/></list>" + path.encode()
        reply.delay_s = 0.01 + 0.05 * chance.random()
        return reply

    web.make = answer
    return web


def make_served(folder: Path, web: Web) -> Path:
    """The collections that need not run: plain ones, one that is damaged, an empty one, and those of missions."""
    folder.mkdir(parents=True, exist_ok=True)
    crawl(web, folder / "newspaper", "http://newspaper.example/", "--scope", "host", "--depth", "2")
    crawl(web, folder / "newspaper", "--recrawl", "--full")
    crawl(web, folder / "library", "http://library.example/", "--scope", "host", "--limit", "150", code=5)
    crawl(web, folder / "atlas", "http://atlas.example/", "--limit", "5", code=5)
    (folder / "atlas" / "crawl.db").write_bytes(b"not a database" * 1000)
    make_collection(folder / "empty", [])
    make_looked_at(folder / "site")
    make_atlas(folder / "services", hostile=False)
    make_library(folder / "schemas", hostile=False)
    make_newsstand(folder)
    with Collection(make_faculty(folder / "faculty")) as collection, open_catalogue(collection) as catalogue:
        paper = f"{FACULTY}/~acasali/caudales.pdf"
        keep_correction(catalogue, paper, "year", ["2019"])
        keep_decision(catalogue, [paper], "Luis Gil", "granted", "by telephone")
    return folder
