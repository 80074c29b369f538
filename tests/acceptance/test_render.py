"""Pages that need a browser, in a real one: what scripts make is collected, and nothing passes the crawl by."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.loopback import Reply, Web, html
from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection
from lycosa.config.settings import RenderSettings
from lycosa.render.browser_processes import find_browser
from lycosa.render.messages import PageContent, Resource
from lycosa.render.page_session import RenderLimits
from lycosa.render.process_tree import find_below

MISSING = find_browser().missing
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no browser: {MISSING}")

SCRIPT = {"Content-Type": "text/javascript"}
JSON = {"Content-Type": "application/json"}
PAGE = {"Content-Type": "text/html; charset=utf-8"}
FAST = ("--delay", "0.02", "--per-host", "2", "--contact", "mailto:test@lycosa.test", "--workers", "2")


def shell(script: str = "", *, src: str = "", head: str = "") -> Reply:
    """A page that is empty until its script runs."""
    code = f'<script src="{src}"></script>' if src else f"<script>{script}</script>"
    text = f'<!DOCTYPE html><html><head><title>shell</title>{head}</head><body><div id="app"></div>{code}</body></html>'
    return Reply(text.encode(), headers=PAGE)


def add(href: str, text: str = "") -> str:
    """Script that puts a link on the page."""
    return f"document.getElementById('app').insertAdjacentHTML('beforeend','<a href=\"{href}\">{text or href}</a>');"


APP = """
const show = async () => {
  const data = await (await fetch('/api' + location.pathname)).json();
  const { draw } = await import('/draw.js');
  document.title = data.title;
  draw(document.getElementById('app'), data);
};
show();
"""
DRAW = """export const draw = (root, data) => {
  root.innerHTML = '<h1>' + data.title + '</h1><img src="/pixel.png">';
  for (const link of data.links) setTimeout(() => {
    const a = document.createElement('a'); a.href = link; a.textContent = 'to ' + link; root.append(a, ' ');
  }, 2000);
};"""


def plant_app(web: Web, host: str, count: int) -> None:
    """A site whose every page is the same shell; text and links come by fetch(), a lazy module and a timer."""
    style = '<link rel="stylesheet" href="/style.css">'
    page = shell(src="/app.js", head=style)
    for n in range(count):
        path = "/" if n == 0 else f"/{n}"
        links = [f"/{m}" for m in (2 * n + 1, 2 * n + 2) if m < count]
        web[f"{host}{path}"] = page
        web[f"{host}/api{path}"] = Reply(json.dumps({"title": f"page {n}", "links": links}).encode(), headers=JSON)
    web[f"{host}/app.js"] = Reply(APP.encode(), headers=SCRIPT)
    web[f"{host}/draw.js"] = Reply(DRAW.encode(), headers=SCRIPT)


def crawl(web: Web, folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(command(web, folder, *arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


def command(web: Web, folder: Path, *arguments: str) -> list[str]:
    return [
        sys.executable, "-P", "-m", "lycosa", "crawl", "--collection", str(folder), "--connect-to", web.connect_to,
        *FAST, *arguments,
    ]  # fmt: skip


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def fates(folder: Path) -> dict[str, str]:
    """State and reason of each URL, by what follows the host."""
    found = rows(folder, "SELECT url, state, reason FROM urls")
    return {url.partition("://")[2]: f"{state} {reason or ''}".strip() for url, state, reason in found}


def browser_processes() -> set[int]:
    """Every process of a browser, or of what drives one, on this machine."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if b"lycosa-browser-" in line or b"playwright/driver" in line:
                found.add(int(name))
    return found


def wait_for(test: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (good := test()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(good)


def test_what_scripts_make_is_collected(web: Web, tmp_path: Path) -> None:
    """Links, titles and text come from the page as its scripts made it; the archive holds both, and every request."""
    before = browser_processes()
    plant_app(web, "app.test", 7)
    folder = tmp_path / "c"
    began = time.monotonic()
    crawl(web, folder, "http://app.test/")
    print(f"7 pages in {time.monotonic() - began:.1f} s")
    assert fates(folder) == {f"app.test/{n or ''}": "fetched rendered" for n in range(7)}
    assert sorted(rows(folder, "SELECT title FROM pages")) == [(f"page {n}",) for n in range(7)]
    # Each page, script and answer once; style sheets and pictures never.
    assert sorted(web.paths()) == sorted(
        [f"app.test{prefix}/{n or ''}" for n in range(7) for prefix in ("", "/api")]
        + ["app.test/app.js", "app.test/draw.js"]
    )
    with Collection(folder) as collection:
        page = collection.page("http://app.test/1")
        assert page is not None
        assert page.text.split() == ["page", "1", "to", "/3", "to", "/4"]
        assert [link.url for link in page.links] == ["http://app.test/3", "http://app.test/4"]
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.rendered
    assert not browser_processes() - before
    check_archive(folder)


def test_the_next_round_renders_again(web: Web, tmp_path: Path) -> None:
    """An unchanged shell says nothing: what its scripts make decides whether the page has changed."""
    plant_app(web, "app.test", 3)
    for page in [reply for path, reply in web.pages.items() if "/api" not in path]:
        page.headers["ETag"] = '"same"'
        page.headers["Last-Modified"] = "Mon, 01 Jan 2024 00:00:00 GMT"
    folder = tmp_path / "c"
    crawl(web, folder, "http://app.test/")
    web["app.test/api/1"] = Reply(json.dumps({"title": "new title", "links": ["/new"]}).encode(), headers=JSON)
    web["app.test/new"] = html(title="plain")
    crawl(web, folder, "--recrawl")
    assert fates(folder) == {
        "app.test/": "not modified", "app.test/1": "fetched rendered", "app.test/2": "not modified",
        "app.test/new": "fetched",
    }  # fmt: skip
    found = dict(rows(folder, "SELECT url, title FROM pages"))
    assert found["http://app.test/1"] == "new title"
    assert not any("if-none-match" in one.headers or "if-modified-since" in one.headers for one in web.asked)
    with Collection(folder) as collection:
        same = collection.page("http://app.test/2")
        assert same is not None
        assert same.rendered
        assert "page 2" in same.text


def check_archive(folder: Path) -> None:
    """Each conversion refers to a record of the same address that is there; plain shells stand once."""
    records = []
    for path in (folder / "archive").iterdir():
        with open(path, "rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                records.append(record.rec_headers)
    kinds = [(head["WARC-Type"], head["WARC-Target-URI"]) for head in records]
    plain = {
        head["WARC-Record-ID"]: head["WARC-Target-URI"]
        for head in records
        if head["WARC-Type"] in ("response", "revisit")
    }
    made = [head for head in records if head["WARC-Type"] == "conversion"]
    assert len(made) == 7
    assert all(plain[head["WARC-Refers-To"]] == head["WARC-Target-URI"] for head in made)
    assert sum(kind == "revisit" for kind, _ in kinds) == 6
    assert ("response", "http://app.test/app.js") in kinds
    assert len({head["WARC-Record-ID"] for head in records}) == len(records)


def test_plain_pages_need_no_browser(web: Web, tmp_path: Path) -> None:
    """An ordinary page is not rendered, nor anything where the user says never; `always` means every HTML page."""
    web["a.test/"] = html(
        "/b", head="<script>document.title='made'</script>", text="Words enough for anybody.", title="as sent"
    )
    web["a.test/b"] = html("/", text="more", title="b")
    crawl(web, tmp_path / "auto", "http://a.test/")
    assert set(fates(tmp_path / "auto").values()) == {"fetched"}
    crawl(web, tmp_path / "always", "http://a.test/", "--render", "always")
    assert set(fates(tmp_path / "always").values()) == {"fetched rendered"}
    assert ("made",) in rows(tmp_path / "always", "SELECT title FROM pages")
    web["a.test/"] = shell(add("/b"))
    crawl(web, tmp_path / "never", "http://a.test/", "--set", "hosts.a.test.render=never")
    assert fates(tmp_path / "never") == {"a.test/": "fetched"}


HOSTILE = {
    "endless": "while (true) {}",
    "growing": add("/found-growing") + "for (let n = 0; ; n++) document.body.append(String(n).repeat(100000));",
    "dialogs": "for (let i = 0; i < 5; i++) { alert(i); confirm(i); prompt(i); }" + add("/found-dialogs"),
    "moving": "location.href = '/moved-to';",
    "reloading": "location.reload();" + add("/found-reloading"),
    "opening": "window.open('/opened');" + add("/found-opening"),
    "downloading": "const a = document.createElement('a'); a.href = '/file.zip'; a.download = 'x';"
    "document.body.append(a); a.click(); location.href = 'data:application/zip,xx';" + add("/found-downloading"),
    "framing": "document.body.append(Object.assign(document.createElement('iframe'), {src: '/framed'}));",
    "posting": "fetch('/post', {method: 'POST', body: 'x'}); navigator.sendBeacon('/beacon', 'x');"
    "const f = document.createElement('form'); f.method = 'POST'; f.action = '/form'; document.body.append(f);"
    "f.submit();" + add("/found-posting"),
    "listening": "new EventSource('/events');" + add("/found-listening"),
    "forbidden": "fetch('/secret/data').then(() => {" + add("/wrong") + "}, () => {" + add("/found-forbidden") + "});",
    "polling": "const go = () => fetch('/poll?' + Math.random()).then(go, go); go();" + add("/found-polling"),
    "serving": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js');" + add("/found-serving"),
    "shadows": "customElements.define('x-y', class extends HTMLElement { connectedCallback() {"
    "this.attachShadow({mode: 'open'}).innerHTML = '<a href=\"/found-shadows\">in the shadow</a>'; } });"
    "document.body.append(document.createElement('x-y'));",
    "clobbering": "document.body.insertAdjacentHTML('beforeend', '<form name=documentElement></form>"
    "<form name=getElementsByTagName><input name=shadowRoot></form>');" + add("/found-clobbering"),
    "redirected": "fetch('/hop').then(r => r.text()).then(t => {" + add("/found-redirected") + "});",
}


def test_hostile_pages_are_bounded_and_recorded(web: Web, tmp_path: Path) -> None:
    """Endless scripts, growth, dialogs, windows, downloads: each ends in time, the rest is collected."""
    web["h.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /secret/\n", headers={"Content-Type": "text/plain"})
    web["h.test/"] = html(*(f"/{name}" for name in HOSTILE))
    for name, script in HOSTILE.items():
        web[f"h.test/{name}"] = shell(script)
    web["h.test/hop"] = Reply(b"", 302, {"Location": "http://other.test/data"})
    web["other.test/data"] = Reply(b"data", headers={"Access-Control-Allow-Origin": "*"})
    web.make = lambda address: html() if "/found-" in address or address.endswith(("/moved-to", "/opened")) else None
    folder = tmp_path / "c"
    began = time.monotonic()
    crawl(
        web, folder, "http://h.test/", "--set", "render.timeout_s=2", "--set", "render.requests=10", "--scope", "host"
    )
    print(f"{len(HOSTILE)} hostile pages in {time.monotonic() - began:.1f} s")
    fate = fates(folder)
    assert fate["h.test/endless"] in ("fetched render-timeout", "fetched rendered-partly")
    assert fate["h.test/growing"] in ("fetched render-timeout", "fetched render-memory", "fetched rendered-partly")
    assert fate["h.test/polling"] in ("fetched rendered", "fetched rendered-partly")
    quiet = HOSTILE.keys() - {"endless", "growing", "polling"}
    assert {name: fate[f"h.test/{name}"] for name in quiet} == dict.fromkeys(quiet, "fetched rendered")
    wanted = HOSTILE.keys() - {"endless", "growing", "moving", "framing"}
    assert {f"h.test/found-{name}" for name in wanted} <= fate.keys()
    assert {"h.test/moved-to", "h.test/opened", "h.test/framed"} <= fate.keys()
    asked = web.paths()
    for never in ("post", "beacon", "form", "events", "secret/data", "worker.js", "wrong"):
        assert f"h.test/{never}" not in asked
    assert sum("/poll?" in path for path in asked) <= 10
    # What the crawl follows as links is asked for once, by the crawl, and not by the page.
    assert [asked.count(f"h.test/{name}") for name in ("moved-to", "opened", "framed")] == [1, 1, 1]
    assert all("lycosa" in one.headers["user-agent"] and "cookie" not in one.headers for one in web.asked)


def test_nothing_passes_the_gate_by(web: Web, tmp_path: Path) -> None:
    """Sockets, calls, private addresses and other ports: no packet leaves the browser, whatever a page tries."""
    with closing(socket.socket()) as tcp, closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", 0))
        port, call = tcp.getsockname()[1], udp.getsockname()[1]
        web["g.test/"] = shell(
            f"""
            const go = (f) => {{ try {{ f(); }} catch (e) {{}} }};
            for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '2130706433']) {{
              go(() => new WebSocket('ws://' + host + ':{port}/'));
              go(() => fetch('http://' + host + ':{port}/direct', {{mode: 'no-cors'}}));
              go(() => {{ new Image().src = 'http://' + host + ':{port}/image'; }});
              for (const rel of ['dns-prefetch', 'preconnect', 'prefetch', 'prerender', 'preload', 'modulepreload'])
                go(() => document.head.append(Object.assign(document.createElement('link'),
                  {{rel, as: 'script', href: 'http://' + host + ':{port}/' + rel}})));
            }}
            go(() => {{
              const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{call}'}}]}});
              peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o));
            }});
            go(() => new WebTransport('https://127.0.0.1:{call}/'));
            go(() => new Worker(URL.createObjectURL(new Blob([
              `new WebSocket('ws://127.0.0.1:{port}/'); new WebTransport('https://127.0.0.1:{call}/');
               fetch('http://127.0.0.1:{port}/worker', {{mode: 'no-cors'}})`]))));
            go(() => new SharedWorker('http://g.test/shared.js'));
            go(() => {{ location.href = 'file:///etc/passwd'; }});
            go(() => window.open('http://127.0.0.1:{port}/window'));
            fetch('file:///etc/passwd').catch(() => 0);
            {add("/found")}
            """
        )
        web["g.test/found"] = html()
        folder = tmp_path / "c"
        # The test's own port is named for this one host alone: everything else on loopback is private.
        only = f"g.test=127.0.0.1:{web.port}"
        done = subprocess.run(
            [sys.executable, "-P", "-m", "lycosa", "crawl", "-c", str(folder), "--connect-to", only, *FAST, "http://g.test/"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert fates(folder)["g.test/"] == "fetched rendered"
        assert "g.test/found" in web.paths()
        tcp.settimeout(0.2)
        udp.settimeout(0.2)
        with pytest.raises(TimeoutError):
            tcp.accept()
        with pytest.raises(TimeoutError):
            udp.recv(10)
        log = (folder / "logs/crawl.log").read_text()
        assert f"http://127.0.0.1:{port}/direct 0 render - refused address" in log


def test_credentials_are_for_their_own_pages(web: Web, tmp_path: Path) -> None:
    """A page gets what the user's password opens on its own host; of another page's wish nothing is asked."""
    mission = tmp_path / "m.toml"
    mission.write_text('[hosts."mine.test"]\nuser = "ana"\npassword = "hush"\n')
    web["mine.test/"] = shell("fetch('/data').then(() => {" + add("/found") + "});")
    web["mine.test/data"] = Reply(b"{}", headers={**JSON, "Access-Control-Allow-Origin": "*"})
    web["evil.test/"] = shell("fetch('http://mine.test/data?evil').then(() => 0, () => {" + add("/refused") + "});")
    crawl(web, tmp_path / "c", str(mission), "http://mine.test/", "http://evil.test/")
    assert {"mine.test/found", "evil.test/refused"} <= fates(tmp_path / "c").keys()
    assert "mine.test/data?evil" not in web.paths()
    assert all("authorization" in one.headers for one in web.asked if one.host == "mine.test" and one.path == "/data")
    assert not any("authorization" in one.headers for one in web.asked if one.host == "evil.test")


def test_hosts_are_asked_in_turn(web: Web, tmp_path: Path) -> None:
    """What pages ask for keeps each host's delay, also of another worker's host, and of several pages at once."""
    for name in ("one", "two", "three"):
        web[f"{name}.test/"] = shell(
            f"for (const n of [1, 2, 3]) fetch('http://shared.test/{name}' + n).catch(() => 0); fetch('/own');"
            + add("/x")
        )
    delay = 0.15
    seeds = [f"http://{name}.test/" for name in ("one", "two", "three")]
    crawl(web, tmp_path / "c", *seeds, "--delay", str(delay), "--per-host", "1")
    for host in ("one.test", "two.test", "three.test", "shared.test"):
        asked = sorted((one for one in web.asked if one.host == host), key=lambda one: one.began)
        rests = [later.began - earlier.ended for earlier, later in zip(asked, asked[1:], strict=False)]
        assert min(rests) >= delay - 0.01, (host, rests)
    assert sum(one.host == "shared.test" for one in web.asked) == 10  # robots.txt and three for each page
    assert next(one.path for one in web.asked if one.host == "shared.test") == "/robots.txt"


@pytest.mark.parametrize("victim", ["supervisor", "group", "interrupt"])
def test_no_browser_stays_behind(web: Web, tmp_path: Path, victim: str) -> None:
    """Killed in the middle of a page, a crawl leaves no process; continued, it fetches and renders that page again."""
    before = browser_processes()
    web["k.test/"] = shell("fetch('/slow').then(() => {" + add("/found") + "});")
    web["k.test/slow"] = Reply(b"{}", headers=JSON, delay_s=2.0)
    web["k.test/found"] = html()
    folder = tmp_path / "c"
    started = subprocess.Popen(
        command(web, folder, "http://k.test/"),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert wait_for(lambda: "k.test/slow" in web.paths(), 30)
    assert browser_processes() - before
    if victim == "group":
        os.killpg(started.pid, signal.SIGKILL)
    else:
        started.send_signal(signal.SIGINT if victim == "interrupt" else signal.SIGKILL)
    code = started.wait(30)
    assert wait_for(lambda: not browser_processes() - before, 10), [
        Path(f"/proc/{pid}/cmdline").read_bytes()[:200] for pid in browser_processes() - before
    ]
    if victim == "interrupt":  # what had begun is finished
        assert code == 130
        assert fates(folder)["k.test/"] == "fetched rendered"
        return
    assert wait_for(lambda: not any(fates(folder).get("k.test/", "x").startswith("fetched") for _ in [0]), 1)
    web["k.test/slow"] = Reply(b"{}", headers=JSON)
    assert wait_for(lambda: crawls_again(web, folder), 15)
    assert fates(folder) == {"k.test/": "fetched rendered", "k.test/found": "fetched"}
    assert web.paths().count("k.test/") == 2


def crawls_again(web: Web, folder: Path) -> bool:
    """The workers that outlive their supervisor for a moment hold the collection until they end."""
    return subprocess.run(command(web, folder), capture_output=True, timeout=60).returncode == 0


def find_victims(victim: str, browsers: set[int], crawl: int) -> list[int]:
    """The main process of the browser; the parent of Playwright; the children of the crawl that have no session."""
    if victim == "browser":
        return [pid for pid in browsers if b"--type=" not in (line := command_of(pid)) and b"lycosa-browser-" in line]
    if victim == "broker":
        drivers = [pid for pid in browsers if b"playwright/driver" in command_of(pid)]
        return [int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in drivers]
    children = Path(f"/proc/{crawl}/task/{crawl}/children").read_text().split()
    return [int(pid) for pid in children if os.getsid(int(pid)) != int(pid)]


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.parametrize("victim", ["browser", "broker", "worker"])
def test_who_dies_is_replaced(web: Web, tmp_path: Path, victim: str) -> None:
    """A page during which the browser, what drives it, or a worker is killed is rendered by the next one."""
    before = browser_processes()
    web["d.test/"] = shell("fetch('/slow').then(() => {" + add("/found") + "});")
    web["d.test/slow"] = Reply(b"{}", headers=JSON, delay_s=1.0)
    web["d.test/found"] = html()
    started = subprocess.Popen(command(web, tmp_path / "c", "http://d.test/"), stderr=subprocess.PIPE, text=True)
    assert wait_for(lambda: "d.test/slow" in web.paths(), 30)
    for pid in find_victims(victim, browser_processes() - before, started.pid):
        os.kill(pid, signal.SIGKILL)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 0, said
    assert fates(tmp_path / "c") == {"d.test/": "fetched rendered", "d.test/found": "fetched"}
    assert web.paths().count("d.test/") == 1 + (victim == "worker")
    assert not browser_processes() - before


def test_without_a_browser_pages_are_kept_and_it_is_said(web: Web, tmp_path: Path) -> None:
    """One that is not there, or does not start: a note, once; once there is one, the page is rendered after all."""
    web["n.test/"] = shell(add("/found"))
    said = crawl(web, tmp_path / "c", "http://n.test/", "--set", "render.browser=/nowhere/chromium")
    assert said.count("empty until scripts run") == 1
    assert fates(tmp_path / "c") == {"n.test/": "fetched needs-browser"}
    said = crawl(web, tmp_path / "c", "http://n.test/", "--set", "render.browser=")  # it was installed meanwhile
    assert "for want of it, 1 page is fetched again" in said
    assert fates(tmp_path / "c") == {"n.test/": "fetched rendered", "n.test/found": "gone http-404"}
    said = crawl(web, tmp_path / "e", "http://n.test/", "--set", "render.browser=/bin/false")
    assert "kept as they came" in said
    assert fates(tmp_path / "e") == {"n.test/": "fetched needs-browser"}


def test_a_browser_without_work_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is given back after a while; the next page starts another."""
    from lycosa.render import browser_pool

    monkeypatch.setattr(browser_pool, "IDLE_S", 0.2)
    limits = RenderLimits(RenderSettings(), 1 << 20, "lycosa")
    content = PageContent(1, 200, PAGE, b"<title>x</title><script>document.title = 'made'</script>")

    async def supply(url: str, headers: tuple[str, ...], max_bytes: int) -> Resource:
        return Resource(0, 404)

    async def try_it() -> list[bytes]:
        before = set(find_below(os.getpid()))
        pool = browser_pool.BrowserPool(find_browser().path, limits, folder=str(tmp_path))
        watching = asyncio.create_task(pool.watch())
        pages = []
        for _ in range(2):
            result = await pool.render("http://shell.test/", content, supply)
            pages.append(result.html)
            while not before.issuperset(find_below(os.getpid())):
                await asyncio.sleep(0.05)
        watching.cancel()
        await pool.close()
        return pages

    pages = asyncio.run(asyncio.wait_for(try_it(), 60))
    assert all(b"<title>made</title>" in page for page in pages)
