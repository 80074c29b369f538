"""How long the page in the browser works on a large collection, and how much memory it takes.

    .venv/bin/python tests/bench/serve.py FOLDER [--urls 1000000] [--pages 100000]

Makes a collection in FOLDER, if there is none: URLs of 5,000 hosts in all states, pages with text, links between them.
Then it brings the index up to date, asks a server of its own for every list, facet and page of detail, and prints the
processor time that each took there, with the largest memory.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import random
import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))

import serve_missions
from support.serve_client import ServeClient, serving

from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.collection import Collection
from lycosa.derived.store import bring_up_to_date
from lycosa.frontier import link_codec
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.model import Answer, Target
from lycosa.serve.indexing import LISTS_INDEX, WORDS_INDEX
from lycosa.urls import url_id

HOSTS = 5000
AT = 1_700_000_000.0
WORDS = (
    "river", "lake", "map", "service", "record", "crawl", "page", "archive", "valley", "mountain", "layer", "station",
    "water", "forest", "road", "data",
)  # fmt: skip
MIMES = ("text/html", "text/html", "text/html", "application/pdf", "text/xml", "text/plain")
REFUSED = ("scope", "robots", "depth", "trap", "exclude", "page-limit", "media-type", "host-limit")


def make(folder: Path, *, urls: int, pages: int) -> None:
    """Make the collection: `pages` of the URLs are stored, the others wait, failed or were refused."""
    random.seed(7)
    (folder / "archive").mkdir(parents=True)
    schema.create(folder / "crawl.db", mission_toml='seeds = ["https://h0.example/"]\n', now=AT)
    db = schema.connect(folder / "crawl.db")
    names = [f"h{at}.example" for at in range(HOSTS)]
    keys = [host_key(name) for name in names]
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO host (host, name, pages, errors, delay_s) VALUES (?, ?, ?, ?, ?)",
        (
            (key, name, random.randrange(40), int(random.random() < 0.05), 1.0)
            for key, name in zip(keys, names, strict=True)
        ),
    )
    with ArchiveWriter(folder / "archive", prefix="bench-00", max_bytes=0, software="bench", info={}) as archive:
        db.executemany(
            "INSERT INTO url (n, host, id, url, state, reason, score, depth, parent, seed, via, http, fetched_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            _urls(names, keys, urls, pages),
        )
        db.execute("INSERT INTO known SELECT host, id, n FROM url WHERE 1 ORDER BY host, id")
        db.execute("UPDATE moved SET upto = (SELECT max(n) FROM url) WHERE name = 'url'")
        for n, url in db.execute("SELECT n, url FROM url WHERE n <= ?", (pages,)).fetchall():
            _store_page(db, archive, n, url, pages)
        archive.flush()
    db.execute("INSERT INTO stat SELECT state, coalesce(reason, ''), count(*) FROM url GROUP BY 1, 2")
    db.execute("INSERT INTO figure SELECT 'pages', '', count(*) FROM page")
    db.execute("INSERT INTO figure SELECT 'type', mime, count(*) FROM page GROUP BY mime")
    db.execute("COMMIT")
    db.close()


def _urls(names: list[str], keys: list[int], urls: int, pages: int) -> Iterator[tuple[object, ...]]:
    for n in range(1, urls + 1):
        at = min(int(random.expovariate(1 / 400)), HOSTS - 1) if n > HOSTS else n - 1
        url = f"https://{names[at]}/{random.choice(WORDS)}/{random.choice(WORDS)}-{n}.html"
        stored = n <= pages
        state = 1 if stored else random.choices((0, 3, 4, 6, 7, 8), (40, 5, 5, 5, 5, 40))[0]
        reason = random.choice(REFUSED) if state == 8 else "timeout" if state == 7 else ""
        http = 200 if state in (1, 3) else {4: 302, 6: 404}.get(state, 0)
        parent = random.randrange(1, n) if n > 1 else 0
        fetched = AT + n if state in (1, 3, 4, 6, 7) else None
        yield (
            n, keys[at], url_id(url), url, state, reason, random.random(), min(random.randrange(12), n - 1), parent,
            int(n == 1), random.choice(("a", "a", "a", "link", "listed")), http, fetched,
        )  # fmt: skip


def _store_page(db: object, archive: ArchiveWriter, n: int, url: str, pages: int) -> None:
    text = " ".join(random.choices(WORDS, k=120))
    title = f"{random.choice(WORDS)} {random.choice(WORDS)} {n}"
    body = f"<html><title>{title}</title><body><h1>{title}</h1><p>{text} word{n}</p></body></html>".encode()
    digest = hashlib.sha1(body).digest()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    headers = {"content-type": "text/html"}
    answer = Answer(
        Target(n, url_id(url), url, ""), 200, head=head, headers=headers, body=body, size=len(body), began=AT
    )
    warc, offset, length = archive.add(answer, digest=digest, mime="text/html")
    mime = random.choice(MIMES)
    row = (n, 1, AT + n, 200, mime, "utf-8", title, random.choice(("en", "es", "")), "", len(body) + n % 5000, digest)
    sql = "INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', ?, ?, ?, 0)"
    db.execute(sql, (*row, warc, offset, length))  # type: ignore[attr-defined]
    db.execute("INSERT INTO content VALUES (?, ?, ?, 1)", (n, digest, n))  # type: ignore[attr-defined]
    found = [random.randrange(1, pages) for _ in range(8)]
    rows = db.execute(  # type: ignore[attr-defined]
        f"SELECT url, '', 1 FROM url WHERE n IN ({', '.join('?' * len(found))})", found
    ).fetchall()
    packed = link_codec.pack([(target, random.choice(WORDS), True) for target, _, _ in rows])
    db.execute("INSERT INTO link (key, links) VALUES (?, ?)", (n << 20 | 1, packed))  # type: ignore[attr-defined]


def core_paths(client: ServeClient, base: str) -> list[str]:
    """The pages of the core about the large collection."""
    found = client.get(f"{base}/pages.json?limit=1").json
    address = found["rows"][0][found["columns"].index("url")]
    return [
        "/urls", "/urls?sort=url", "/urls?sort=-score", "/urls?sort=-fetched", "/urls?sort=depth",
        "/urls?host=h3.example", "/urls?host=h3.example&sort=url", "/urls?host=h3.example&sort=-score",
        "/urls?state=rejected", "/urls?state=rejected&sort=url", "/urls?state=rejected&sort=-fetched",
        "/urls?state=rejected&reason=robots&depth=3&sort=-score", "/urls?http=404&via=listed&sort=url",
        "/urls?q=river+lake", "/urls?q=nowhere", "/urls?state=gone&q=valley", "/urls?host=h3.example&q=valley",
        "/pages", "/pages?sort=-size", "/pages?sort=title", "/pages?mime=application/pdf&language=es&sort=-size",
        "/pages?host=h3.example", "/pages?q=water", "/hosts", "/hosts?sort=-pages", "/hosts?q=h44",
        "/records", f"/page?url={address}", f"/page?show=links&url={address}", f"/url?url={address}",
        "/host?name=h3.example", "/search?q=river", "/search?q=river+lake+-forest", "/search?q=word77",
        "/search?q=nothing", "/", "/crawl", "/graph?by=host", "/graph?by=domain", "/graph?by=page&host=h3.example",
    ]  # fmt: skip


#: Graphs of the most nodes that are drawn, whose bound is another one: the layout is a part of it.
GRAPHS = (
    "/graph.json?by=page&limit=5000", "/graph.json?by=host&limit=5000", "/graph.json?by=domain&limit=5000",
    "/graph.json?by=host&start=h3.example&limit=5000",
)  # fmt: skip


def ask(client: ServeClient, base: str, paths: Iterable[str], *, bound_ms: float = 150) -> list[float]:
    """Ask for pages, and print what each cost: the least of three, as other work on the machine adds to it."""
    spent = []
    for path in paths:
        client.get(base + path)  # what is compiled or cached at its first use
        each = []
        for _ in range(3):
            began = time.process_time()
            answer = client.get(base + path)
            each.append((time.process_time() - began) * 1000)
        spent.append(min(each))
        mark = " " if spent[-1] < bound_ms and answer.status == 200 else "!"
        print(f"{mark} {spent[-1]:7.1f} ms  {answer.status}  {len(answer.body):>9,} bytes  {path}", flush=True)
    return spent


def ask_all(client: ServeClient, folder: Path) -> None:
    """Ask for every page of every collection in a folder."""
    figures: dict[str, list[float]] = {}
    if (folder / "large").exists():
        base = "/c/large"
        figures["large"] = ask(client, base, core_paths(client, base))
        tell_memory()
        figures["graphs"] = ask(client, base, GRAPHS, bound_ms=3000)
        tell_memory()
        cursor, steps, began_at = "", 0, time.process_time()
        while steps < 100:
            answer = client.get(f"{base}/urls.json?sort=url&limit=500&after={cursor}")
            cursor, steps = answer.json["next"], steps + 1
        print(f"  {(time.process_time() - began_at) * 10:7.1f} ms  each of 100 pages of 500 URLs by address")
    for name, paths in serve_missions.PATHS.items():
        if (folder / name).exists():
            listing, read_key = serve_missions.FIRST[name]
            key = quote(str(read_key(client.get(f"/c/{name}/{listing}").json)), safe="")
            print(name)
            figures[name] = ask(client, f"/c/{name}/m/{name}/", (path.replace("{key}", key) for path in paths))
            tell_memory()
    for name, spent in figures.items():
        over = sum(each >= 150 for each in spent)
        print(f"{name}: {len(spent)} pages, {min(spent):.1f} to {max(spent):.1f} ms, {over} of 150 ms or more")


def tell_memory() -> None:
    """Print the most memory that this process, the server, ever took; `ru_maxrss` has that of its parent in it."""
    status = Path("/proc/self/status").read_text()
    print(f"  at most {int(status.split('VmHWM:')[1].split()[0]) / 1024:,.0f} MB of memory so far")


def index(folder: Path) -> None:
    """Bring the index of the large collection up to date, twice, and print what that costs."""
    for what in ("index", "index again"):
        wall, cpu = time.monotonic(), time.process_time()
        with Collection(folder) as collection:
            for derived in (LISTS_INDEX, WORDS_INDEX):
                bring_up_to_date(derived, collection).close()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{what}: {time.monotonic() - wall:,.1f} s, {time.process_time() - cpu:,.1f} s of processor here,"
            f" {children.ru_utime + children.ru_stime:,.1f} s in workers so far"
        )
    for name in ("crawl.db", "serve.db", "search.db"):
        print(f"{name}: {(folder / name).stat().st_size / 1e6:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--as-made", action="store_true", help="make nothing, and ask for what is there")
    options = parser.parse_args()
    folder = options.folder / "large"
    if not options.as_made:
        began = time.monotonic()
        if not (folder / "crawl.db").exists():
            make(folder, urls=options.urls, pages=options.pages)
        serve_missions.make_all(options.folder)
        print(f"made in {time.monotonic() - began:,.0f} s")
        index(folder)
    sys.stdout.flush()
    # A process of its own, whose memory is that of the server.
    server = multiprocessing.get_context("spawn").Process(target=serve_and_ask, args=(options.folder,))
    server.start()
    server.join()


def serve_and_ask(folder: Path) -> None:
    """Serve a folder, ask for everything, and tell how much memory that took."""
    with serving(folder) as client:
        ask_all(client, folder)
        print(f"  {threading.active_count()} threads")


if __name__ == "__main__":
    main()
