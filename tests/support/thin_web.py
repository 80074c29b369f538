"""A web of universities with its topic spread thin: many hosts with few pages, and half of all addresses dead.

Everything follows from the seed: 2,000 hosts that answer, 12,000 pages, as many addresses that lead nowhere (a missing
page, a host that is gone). One page in twenty is wanted, a course among staff, students, projects
and the rest; two or three stand together. What is wanted is linked from what is near to it, mostly: lists of courses,
who teaches, other courses. Link texts tell half of the time, old courses that are gone have the same texts, and lists
of favourite places lead to hosts that are gone.
"""

from __future__ import annotations

import random
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lycosa.model import Link
from lycosa.parse import Doc
from lycosa.quarry import Quarry

UNIVERSITIES, HOSTS, PAGES = 178, 2000, 12_000
MARK = "<!--wanted-->"
TERMS = ("course", "courses", "class", "classes", "lecture", "lectures", "homework", "syllabus", "teaching", "exam")
ADDRESS_TERMS = ("course", "class", "teach", "lecture")
_SUBJECTS = (
    "operating systems", "algorithms", "compilers", "databases", "computer graphics", "networks", "logic", "robotics",
    "programming languages", "computer architecture", "discrete mathematics", "artificial intelligence",
)  # fmt: skip
_WORDS = (
    "research", "group", "system", "information", "university", "science", "department", "project", "paper", "work",
    "design", "analysis", "software", "interest", "student", "member", "office", "phone", "program", "technical",
    "report", "parallel", "model", "theory", "user", "interface", "data", "language", "performance", "distributed",
    "machine", "learning", "vision", "image", "simulation", "conference", "journal", "music", "travel", "photo",
    "sport", "hiking", "friend", "family", "weather", "picture", "news", "game", "movie", "club", "radio", "city",
    "map", "guide", "library", "archive",
)  # fmt: skip
_PLAIN = ("here", "home page", "more", "this page", "info", "new", "click here", "http")
_TEACHING = ("course home page", "class notes", "homework and lectures", "syllabus", "courses", "course information")
_TERMS_OF_YEAR = ("Spring 1996", "Fall 1995", "Fall 96", "Winter 1997")
_SYLLABLES = (
    "ar", "bel", "cor", "dan", "el", "fir", "gro", "hol", "in", "ker", "lun", "mor", "nor", "os", "pra", "quin",
    "ros", "sta", "tor", "ul", "ver", "wes",
)  # fmt: skip
_ENDINGS = (".html", ".html", ".htm", "/", "")


@dataclass(slots=True)
class ThinPage:
    """A page; `kind` is one of home, list, courses, staff, student, project, course, other."""

    url: str
    host: str
    kind: str
    name: str
    links: list[tuple[str, str]] = field(default_factory=list)  # address, text


class ThinWeb:
    """The web of one seed: `pages` by address, `seeds`, the hosts of each kind."""

    def __init__(self, seed: int, *, hosts: int = HOSTS, pages: int = PAGES, universities: int = UNIVERSITIES) -> None:
        self._random = random.Random(seed)
        self._names: set[str] = set()
        self.pages: dict[str, ThinPage] = {}
        self._by_host: dict[str, list[ThinPage]] = {}
        self._found: set[str] = set()  # pages that something leads to
        self.missing: set[str] = set()
        self.gone: list[str] = []  # hosts that do not answer
        self._universities = [self._name() for _ in range(universities)]
        self._plan(hosts, pages)
        self._link()
        self._add_dead(pages)
        self.seeds = [f"http://www.cs.{name}.test/" for name in self._universities]

    @property
    def hosts(self) -> list[str]:
        return list(self._by_host)

    @property
    def wanted(self) -> set[str]:
        return {page.url for page in self.pages.values() if page.kind == "course"}

    def body(self, page: ThinPage) -> bytes:
        """The page as it is served."""
        rng = random.Random(page.url)
        words = rng.choices(_WORDS, k=rng.randint(30, 160))
        for _ in range(_count_terms(page.kind, rng)):
            words.insert(rng.randrange(len(words)), rng.choice(TERMS))
        parts, at, share = [], 0, max(2, len(words) // (len(page.links) + 1))
        for address, text in page.links:
            parts.append(f'{" ".join(words[at : at + share])} <a href="{address}">{text}</a>')
            at += share
        parts.append(" ".join(words[at:]))
        mark = MARK if page.kind == "course" else ""
        head = f"<html>{mark}<head><title>{page.name}</title></head><body><h1>{page.name}</h1>"
        return (head + "<p>".join(parts) + "</body></html>").encode()

    def connect_to(self, port: int, *, gone_answer: bool = False) -> list[str]:
        """Where hosts are: those that answer at the server, all others at a port where nobody listens, or there too."""
        if gone_answer:
            return [f"*=127.0.0.1:{port}"]
        return [*(f"{host}=127.0.0.1:{port}" for host in self.hosts), "*=127.0.0.1:1"]

    # Hosts and pages

    def _word(self) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=4))

    def _name(self) -> str:
        """A word that was not used as a name of a host before."""
        while (name := self._word()) in self._names:
            pass
        self._names.add(name)
        return name

    def _name_other(self) -> str:
        """A host of a university that is not its department."""
        rng = self._random
        first = rng.choice(("www.ee", "www.math", "lab", f"www-{self._name()}", self._name()))
        return f"{first}.{rng.choice(self._universities)}.test"

    def _plan(self, hosts: int, pages: int) -> None:
        rng = self._random
        departments = [f"www.cs.{name}.test" for name in self._universities]
        others = sorted({self._name_other() for _ in range(hosts // 2)})
        far = [f"www.{self._name()}.test" for _ in range(hosts - len(departments) - len(others))]
        weights = [
            *(rng.paretovariate(1.5) * 10 for _ in departments),
            *(rng.paretovariate(1.2) for _ in others),
            *(rng.paretovariate(1.5) * 0.7 for _ in far),
        ]
        scale = (pages - hosts) / sum(weights)
        kinds = ["department"] * len(departments) + ["university"] * len(others) + ["far"] * len(far)
        for host, place, weight in zip([*departments, *others, *far], kinds, weights, strict=True):
            count = 1 + int(weight * scale + rng.random())
            self._by_host[host] = []
            rich, poor = rng.choice((0.0, 0.02, 0.05)), rng.choice((0.0, 0.0, 0.0, 0.05, 0.2))
            richness = {"department": rich, "university": poor, "far": 0.0}[place]  # the part that is wanted
            self._add_page(host, "home")
            if place == "department":
                for kind in ("courses", "list", "list"):
                    if rng.random() < 0.4 and count > 4:
                        self._add_page(host, kind)
            while len(self._by_host[host]) < count:
                if rng.random() < richness:
                    kind = "course"
                elif place == "far":
                    kind = "other"
                else:
                    kind = rng.choice(("staff", "student", "student", "project", "other", "other"))
                self._add_page(host, kind)

    def _add_page(self, host: str, kind: str) -> None:
        url = self._address(host, kind)
        page = ThinPage(url, host, kind, self._title(kind))
        self.pages[url] = page
        self._by_host[host].append(page)

    def _address(self, host: str, kind: str) -> str:
        rng = self._random
        while True:
            n, name, end = rng.randint(100, 699), self._word(), rng.choice(_ENDINGS)
            if kind == "home":
                path = ""
            elif kind == "course":
                short = (f"courses/cs{n}", f"~{name}/cs{n}", f"class/{n}/{name}", f"cs{n}/{name}", f"~{name}/{name}")
                path = rng.choice((*short, f"info/{name}")) + end
            elif kind in ("list", "courses"):
                path = rng.choice((f"{kind}{end}", f"info/{kind}{end}", f"{name}{end}"))
            elif kind in ("staff", "student"):
                path = rng.choice((f"~{name}/", f"people/{name}{end}", f"~{name}/{name}{end}", f"{kind}/{name}{end}"))
            elif kind == "project":
                path = rng.choice((f"projects/{name}{end}", f"research/{name}{end}", f"{name}{end}"))
            else:
                path = rng.choice(
                    (f"{name}{end}", f"info/{name}{end}", f"~{name}/{n}{end}", f"class-of-{n}/{name}{end}")
                )
            url = f"http://{host}/{path}"
            if url not in self.pages and url not in self.missing:
                return url
            kind = "other"

    def _title(self, kind: str) -> str:
        rng = self._random
        if kind == "course" and rng.random() < 0.8:
            return f"CS {rng.randint(100, 699)}: {rng.choice(_SUBJECTS)}"
        if kind == "courses":
            return "Courses"
        return " ".join(rng.choices(_WORDS, k=3))

    # Links

    def _text(self, kind: str, name: str) -> str:
        """What a link says of a page of a kind, half of the time."""
        rng = self._random
        luck = rng.random()
        if luck < 0.3:
            return rng.choice((*_PLAIN, *_TERMS_OF_YEAR))
        if kind == "course":
            if luck < 0.5:
                return rng.choice(_TEACHING)
            return f"CS {rng.randint(100, 699)}" if luck < 0.75 else name.partition(": ")[2] or name
        if kind == "courses":
            return rng.choice(("Courses", "Teaching", "Graduate courses", "Academics"))
        if luck > 0.93:
            return rng.choice(("class of 96", "crash course", "exam week", "lecture series", rng.choice(_SUBJECTS)))
        return " ".join(rng.choices(_WORDS, k=rng.randint(1, 3)))

    def _join(self, page: ThinPage, other: ThinPage) -> None:
        page.links.append((other.url, self._text(other.kind, other.name)))
        self._found.add(other.url)

    def _link(self) -> None:
        rng = self._random
        courses = [page for page in self.pages.values() if page.kind == "course"]
        by_university: dict[str, list[ThinPage]] = {}
        for page in self.pages.values():
            by_university.setdefault(page.host.split(".")[-2], []).append(page)
        homes = [pages[0] for pages in self._by_host.values()]
        everything = list(self.pages.values())
        for host, own in self._by_host.items():
            around = by_university[host.split(".")[-2]]
            taught = [page for page in around if page.kind == "course"]
            for page in own:
                if page is not own[0] and rng.random() < 0.7:
                    page.links.append((own[0].url, "home"))
                for other in self._neighbours(page, own, around, taught, rng):
                    self._join(page, other)
                if (page.kind == "course" and rng.random() < 0.4) or rng.random() < 0.02:
                    self._join(page, rng.choice(courses))
                if page.kind in ("student", "other", "home", "list"):
                    for _ in range(rng.randint(0, 2)):
                        self._join(page, rng.choice(homes if rng.random() < 0.8 else everything))
        self._connect(by_university, everything)

    def _neighbours(
        self, page: ThinPage, own: list[ThinPage], around: list[ThinPage], taught: list[ThinPage], rng: random.Random
    ) -> Iterator[ThinPage]:
        near = own if rng.random() < 0.8 else around
        if page.kind == "home":
            yield from (other for other in own if other.kind in ("list", "courses"))
            yield from rng.sample(near, min(len(near), rng.randint(1, 6)))
        elif page.kind == "courses":
            yield from (other for other in taught if rng.random() < 0.6)
        elif page.kind == "list":
            people = [other for other in near if other.kind in ("staff", "student", "project")]
            yield from rng.sample(people, min(len(people), rng.randint(5, 25)))
        elif page.kind == "staff":
            yield from rng.sample(taught, min(len(taught), rng.randint(0, 2)))
            yield from rng.sample(near, min(len(near), rng.randint(0, 4)))
        elif page.kind == "course":
            yield from rng.sample(taught, min(len(taught), rng.randint(0, 2)))
            yield from rng.sample(near, min(len(near), rng.randint(0, 2)))
        else:
            yield from rng.sample(near, min(len(near), rng.randint(0, 5)))

    def _connect(self, by_university: dict[str, list[ThinPage]], everything: list[ThinPage]) -> None:
        """Let something that can be reached lead to every page."""
        rng = self._random
        reached, waiting = set[str](), [f"http://www.cs.{name}.test/" for name in self._universities]
        order = list(self.pages)
        rng.shuffle(order)
        while True:
            while waiting:
                url = waiting.pop()
                if url not in reached:
                    reached.add(url)
                    waiting += [link for link, _ in self.pages[url].links if link not in reached]
            while order and order[-1] in reached:
                order.pop()
            if not order:
                return
            lost = self.pages[order.pop()]
            wished = [page for page in self._by_host[lost.host] if page.url in reached]
            wished = wished or [page for page in by_university[lost.host.split(".")[-2]] if page.url in reached]
            if lost.kind == "course":
                wished = [page for page in wished if page.kind in ("course", "courses", "staff")] or wished
            while not wished:
                wished = [page for page in rng.choices(everything, k=50) if page.url in reached]
            self._join(rng.choice(wished), lost)
            waiting.append(lost.url)

    def _add_dead(self, count: int) -> None:
        """Add links to addresses that lead nowhere: six in ten missing pages, the others on hosts that are gone."""
        rng = self._random
        pages = list(self.pages.values())
        weight = {"student": 3.0, "other": 2.0, "courses": 12.0, "staff": 2.0, "list": 6.0, "course": 2.0, "home": 1.5}
        sources = rng.choices(pages, [weight.get(page.kind, 1.0) for page in pages], k=count)
        gone = self.gone
        for page in sources:
            likely = {"courses": 0.9, "staff": 0.3, "course": 0.4, "home": 0.15}.get(page.kind, 0.1)
            kind = "course" if rng.random() < likely else rng.choice(("student", "project", "other", "staff"))
            if rng.random() < (0.85 if page.kind in ("courses", "staff", "course", "list") else 0.45):
                url = self._address(page.host, kind)
            else:
                if not gone or rng.random() < 0.45:
                    host = (
                        f"www.{self._name()}.test"
                        if rng.random() < 0.7
                        else f"{self._name()}.{rng.choice(self._universities)}.test"
                    )
                    gone.append(host)
                host = gone[-1] if rng.random() < 0.6 else rng.choice(gone)
                url = self._address(host, kind if rng.random() < 0.7 else "home")
            if url in self.missing:
                continue
            self.missing.add(url)
            text = self._text(kind, self._title(kind))
            for other in {
                page.url: page,
                **{p.url: p for p in rng.sample(self._by_host[page.host], 1) if rng.random() < 0.3},
            }.values():
                other.links.insert(rng.randint(0, len(other.links)), (url, text))
        while len(self.missing) < count:
            page = rng.choice(pages)
            url = self._address(page.host, "other")
            self.missing.add(url)
            page.links.append((url, self._text("other", "")))


def _count_terms(kind: str, rng: random.Random) -> int:
    if kind == "course":
        return rng.randint(3, 10) if rng.random() < 0.85 else rng.randint(0, 1)
    if kind == "courses":
        return rng.randint(3, 8)
    if kind == "staff":
        return rng.randint(0, 3)
    return rng.randint(1, 3) if rng.random() < 0.2 else 0


class Courses(Quarry):
    """Knows what is wanted by its mark: what a policy can make of finds does not depend on how they are recognised."""

    def recognise(self, doc: Doc) -> str | None:
        return "course" if MARK.encode() in doc.body[:200] else None

    def links(self, doc: Doc) -> Iterator[Link]:
        return iter(())


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server: ThinServer = self.server  # type: ignore[assignment]
        while line := self.rfile.readline():
            target, host = line.decode("latin-1").split(" ")[1], ""
            while header := self.rfile.readline().strip():
                if header[:5].lower() == b"host:":
                    host = header[5:].strip().decode("latin-1")
            page = server.web.pages.get(f"http://{host}{target}")
            status, body = ("200 OK", server.web.body(page)) if page else ("404 Not Found", b"<html>Not found</html>")
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)


class ThinServer(socketserver.ThreadingTCPServer):
    """Serves all hosts of a web on one port of the loopback; `close` ends it."""

    daemon_threads, allow_reuse_address, request_queue_size = True, True, 512

    def __init__(self, web: ThinWeb) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.web = web
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


def write_mission(web: ThinWeb, folder: Path, *, port: int, gone_answer: bool = False) -> Path:
    """A mission that hunts what is wanted in a web that is served."""
    listed = ", ".join(f'"{rule}"' for rule in web.connect_to(port, gone_answer=gone_answer))
    seeds = ", ".join(f'"{seed}"' for seed in web.seeds)
    terms, addresses = (", ".join(f'"{term}"' for term in group) for group in (TERMS, ADDRESS_TERMS))
    file = folder / "thin.toml"
    quarry = f"{Path(__file__).resolve()}:Courses"
    file.write_text(
        f'name = "thin"\nscope = "free"\norder = "best"\nquarry = "{quarry}"\nseeds = [{seeds}]\n'
        f"[policy]\nanchor_terms = [{terms}]\nurl_terms = [{addresses}]\n[fetch]\nconnect_to = [{listed}]\n"
    )
    return file
