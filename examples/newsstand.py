"""A small web of two newspapers, a record shop and a hardware shop, for trying the records mission on your own machine.

    python3 examples/newsstand.py 8767               serves it on 127.0.0.1:8767 until Ctrl-C
    lycosa crawl examples/press.toml

`curl -X POST http://127.0.0.1:8767/next-edition` lets a day pass: articles appear, one is corrected, prices change, an
album is sold out; views, quotes of the day and teasers change with every request. Needs nothing but Python.
"""

from __future__ import annotations

import itertools
import json
import sys
import tomllib
from datetime import date, timedelta
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

FIRST_DAY = date(2026, 3, 2)
MONTHS = ("enero", "febrero", "marzo")
TEASERS = ("Ten recipes for rainy days", "The best shoes of the season", "You will not believe these gardens")
PER_LIST = 3


class Article(NamedTuple):
    """An article of a newspaper, with the edition that brings it and what a later edition adds."""

    paper: str
    section: str
    name: str  # the last part of its address
    day: int
    title: str
    authors: list[str]
    place: str
    summary: str
    paragraphs: list[str]
    correction: str = ""


class Album(NamedTuple):
    """An album of the record shop, one line of a list; the second price is that of the second edition."""

    artist: str
    title: str
    year: int
    prices: list[str]
    tracks: list[str]


class Tool(NamedTuple):
    """A thing of the hardware shop."""

    number: str
    name: str
    prices: list[str]
    stock: list[str]


STOCK = tomllib.loads((Path(__file__).with_suffix("") / "stock.toml").read_text(encoding="utf-8"))
ARTICLES = [Article(**one) for one in STOCK["articles"]]
ALBUMS = [Album(**one) for one in STOCK["albums"]]
TOOLS = [Tool(**one) for one in STOCK["tools"]]
TITLES = {"faro": "El Faro", "herald": "The Herald", "discos": "Discos Lycosa", "tools": "Spider Tools"}
SUFFIX = ".newsstand.test"


class Newsstand:
    """The pages of the four hosts in an edition."""

    def __init__(self) -> None:
        self.edition = 0
        self.visits = itertools.count(1)

    def page(self, host: str, path: str) -> str | None:
        """The page at an address; None where there is none."""
        path, _, query = path.partition("?")
        site = host.removesuffix(SUFFIX)
        if site in ("faro", "herald"):
            return self._newspaper(site, path, query)
        if site == "discos":
            return self._albums(path)
        return self._tools(path) if site == "tools" else None

    def _newspaper(self, paper: str, path: str, query: str) -> str | None:
        articles = [one for one in ARTICLES if one.paper == paper and one.day <= self.edition]
        articles.sort(key=lambda one: -one.day)
        sections = list(dict.fromkeys(one.section for one in ARTICLES if one.paper == paper))
        parts = [part for part in path.split("/") if part]
        if not parts:
            return self._frame(paper, _links(articles[:4]) + _menu(sections))
        if len(parts) == 1 and parts[0] in sections:
            within = [one for one in articles if one.section == parts[0]]
            start = (int(query.removeprefix("page=")) - 1 if query[5:].isdecimal() else 0) * PER_LIST
            more = start + PER_LIST < len(within)
            following = f'<a rel="next" href="?page={start // PER_LIST + 2}">more</a>' if more else ""
            return self._frame(paper, _links(within[start : start + PER_LIST]) + following + _menu(sections))
        for one in articles:
            if path == _address(one):
                return self._frame(paper, self._article(one) + _menu(sections), head=_json_ld(one), title=one.title)
        return None

    def _article(self, one: Article) -> str:
        day = FIRST_DAY + timedelta(days=one.day)
        paragraphs = [*one.paragraphs, *([one.correction] if one.correction and self.edition else [])]
        text = "".join(f"<p>{escape(part)}</p>\n" for part in paragraphs)
        if one.paper == "faro":
            written = f"{day.day} de {MONTHS[day.month - 1]} de {day.year}"
            return (
                f'<article><h1 class="titular">{escape(one.title)}</h1>\n'
                f'<p class="entradilla">{escape(one.summary)}</p>\n'
                f'<div class="firma">{escape(", ".join(one.authors))} | {escape(one.place)} | {written}</div>\n'
                f'<div class="texto">{text}<div class="anuncio">{next(self.visits)} visitas</div></div></article>\n'
            )
        return (
            f"<main><h2>{escape(one.title)}</h2><p class=standfirst>{escape(one.summary)}</p>\n"
            f"<div class=story>{text}</div><p class=byline>By {escape(' and '.join(one.authors))},"
            f" {escape(one.place)}</p></main>\n"
        )

    def _albums(self, path: str) -> str | None:
        if path != "/":
            return None
        rows = []
        for one in ALBUMS:
            price = one.prices[min(self.edition, 1)]
            if price:
                tracks = "".join(f"<li>{escape(track)}</li>" for track in one.tracks)
                rows.append(
                    f"<tr class=album><td><b>{escape(one.artist)}</b><br><i>{escape(one.title)}</i> ({one.year})</td>"
                    f"<td>Precio: <span>{price}</span></td><td><ol>{tracks}</ol></td></tr>\n"
                )
        return self._frame("discos", f"<table>{''.join(rows)}</table><p>{next(self.visits)} visitas hoy</p>")

    def _tools(self, path: str) -> str | None:
        number = path.strip("/")
        if not number:
            listed = "".join(f'<li><a href="/{one.number}">{escape(one.name)}</a></li>' for one in TOOLS)
            return self._frame("tools", f"<ul>{listed}</ul>")
        for one in TOOLS:
            if one.number == number:
                now = min(self.edition, 1)
                return self._frame(
                    "tools",
                    f'<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">{escape(one.name)}</h1>'
                    f'<p>Number: <span itemprop="sku">{one.number}</span></p>'
                    f'<p class="price">{one.prices[now]}</p><p class="stock">{one.stock[now]}</p></div>'
                    f"<p>{next(self.visits)} people look at this</p>",
                    title=one.name,
                )
        return None

    def _frame(self, site: str, body: str, *, head: str = "", title: str = "") -> str:
        name = f"{escape(title)} - {TITLES[site]}" if title else TITLES[site]
        teaser = TEASERS[next(self.visits) % len(TEASERS)]
        return (
            f"<!DOCTYPE html><html lang={'es' if site in ('faro', 'discos') else 'en'}><head><meta charset=utf-8>"
            f"<title>{name}</title>{head}</head><body><header><a href=/>{TITLES[site]}</a></header>\n{body}"
            f"<aside><p>{teaser}</p></aside><footer>{TITLES[site]}, {FIRST_DAY + timedelta(days=self.edition)}</footer>"
            "</body></html>"
        )


def _address(one: Article) -> str:
    return f"/{one.section}/{FIRST_DAY + timedelta(days=one.day):%Y/%m/%d}/{one.name}"


def _links(articles: list[Article]) -> str:
    listed = "".join(f'<li><a href="{_address(one)}">{escape(one.title)}</a></li>\n' for one in articles)
    return f"<ul class=list>{listed}</ul>"


def _menu(sections: list[str]) -> str:
    return "<nav>" + " ".join(f'<a href="/{section}/">{section.title()}</a>' for section in sections) + "</nav>"


def _json_ld(one: Article) -> str:
    """What The Herald tells programs; El Faro tells them nothing."""
    if one.paper != "herald":
        return ""
    data = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": one.title,
        "datePublished": f"{FIRST_DAY + timedelta(days=one.day):%Y-%m-%d}",
        "author": [{"@type": "Person", "name": name} for name in one.authors],
    }
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def make_server(port: int) -> ThreadingHTTPServer:
    """The server of all four hosts; port 0 is any that is free."""
    newsstand = Newsstand()

    class Handler(BaseHTTPRequestHandler):
        """Answers for every host."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers.get("Host", "").partition(":")[0]
            page = newsstand.page(host, self.path)
            self._answer(404 if page is None else 200, "Nothing here." if page is None else page)

        def do_POST(self) -> None:
            if self.path != "/next-edition":
                return self._answer(404, "Nothing here.")
            newsstand.edition += 1
            return self._answer(200, f"Edition {newsstand.edition + 1}.\n")

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    port = sys.argv[1] if len(sys.argv) > 1 else "8767"
    try:
        server = make_server(int(port))
    except (OSError, ValueError, OverflowError) as problem:
        sys.exit(f"newsstand: cannot listen on port {port}: {problem}")
    address = f"http://127.0.0.1:{server.server_port}/"
    print(f"{address} is faro, herald, discos and tools{SUFFIX}; Ctrl-C ends it", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
