"""Folders that only repeat themselves are left; those that bring something new never are."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5

import pytest

from lycosa.config.settings import Mission, TrapSettings
from lycosa.judge.admission.repetition import CODE, Repetition, keys_of
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.model import Discovery, Target

HOST = "a.test"
BOUND = 100
FRAME = (
    "Home News Sport Culture Contact Imprint\nWelcome to the portal of the town of Sample\n"
    + "All rights reserved " * 30
)


@dataclass
class Page:
    """What a crawl knows of a page."""

    text: str
    title: str = "Page"
    links: list[str] = field(default_factory=list)
    tree: object = "HTML"
    canonical: str = ""

    @property
    def body(self) -> bytes:
        return f"{self.title}{self.text}{self.links}".encode()


def words(seed: object, count: int = 60) -> str:
    chance = random.Random(str(seed))
    return " ".join("".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(count))


def short(*parts: object) -> str:
    return md5(repr(parts).encode()).hexdigest()[:10]


def make_target(path: str, n: int, parent: int) -> Target:
    return Target(n, n, f"http://{HOST}{path}", HOST, parent=parent)


def make_discovery(path: str) -> Discovery:
    return Discovery(0, f"http://{HOST}{path}", HOST)


def crawl(start: str, answer: Callable[[str], Page], *, most: int = 3000, bound: int = BOUND) -> list[str]:
    """The addresses that a crawl asks for, breadth first, with no other bound than these."""
    novelty, queue, seen, asked = (
        Repetition(bound, Tallies(), calendar=BOUND),
        deque([make_target(start, 1, 0)]),
        {start},
        [],
    )
    while queue and len(asked) < most:
        target = queue.popleft()
        if not novelty.judge(target.url, HOST).ok:
            continue
        path = target.url.removeprefix(f"http://{HOST}")
        asked.append(path)
        page = answer(path)
        fresh = [link for link in dict.fromkeys(page.links) if link not in seen]
        novelty.observe(target, page, repeated=False, found=[make_discovery(link) for link in fresh])
        for link in fresh:
            seen.add(link)
            queue.append(make_target(link, len(seen), target.row))
    return asked


def repeat(novelty: Repetition, form: str, times: int) -> None:
    """Pages of identical bytes, each found on the one before."""
    for n in range(1, times + 2):  # the first was found elsewhere, and does not count
        target, found = make_target(form.format(n), n, n - 1), [make_discovery(form.format(n + 1))]
        novelty.observe(target, Page("x", links=["y"]), repeated=True, found=found)


TRAPS: dict[str, Callable[[str], Page]] = {
    "counter": lambda p: Page(f"{words('c')} visits {short(p)}", links=[f"/n/{short(p, 1)}"]),
    "calendar": lambda p: Page(
        f"{FRAME}\nNo events in {('May', 'June', 'July')[len(p) % 3]} {len(p)}", links=[f"/c/{short(p)}"]
    ),
    "session in the path": lambda p: Page(words("s"), links=[f"/s/sid-{short(p, i)}/item{i}" for i in range(4)]),
    "any query": lambda p: Page(words("q"), links=[f"/q?x={short(p, i)}" for i in range(4)]),
    "facets": lambda p: Page("red blue green round square large small", links=[f"{p}&f{i}=1" for i in range(9)]),
    "soft 404": lambda p: Page(f"{FRAME}\nSorry, {p} is not here", links=[f"/x/{short(p, i)}" for i in range(3)]),
    "ever deeper": lambda p: Page("Deeper", links=[f"{p}x/"]),
    "advertisements": lambda p: Page(
        f"{words('a', 200)}\nBuy {('shoes', 'hats', 'gloves')[int(short(p), 16) % 3]} now", links=[f"/a/{short(p)}"]
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_endless_sites_end(name: str) -> None:
    """Whatever the addresses look like, a site that says nothing new is left after some hundred pages; one that says
    new numbers, after a thousand.
    """
    asked = crawl("/list?" if name == "facets" else "/", TRAPS[name])
    assert len(asked) <= {"ever deeper": 6, "counter": 11}.get(name, 2) * BOUND


def article(path: str) -> Page:
    """A long article, in the frame of its site."""
    return Page(f"{FRAME}\n{words(path, 100)}", title=words(path, 4))


def product(path: str) -> Page:
    """Much frame, a name and a line, under one title for all."""
    return Page(f"{FRAME * 3}\n{words(path, 3)}\n{words((path, 1), 25)}\nPrice: 12.90 EUR", title="Shop")


def gallery(path: str) -> Page:
    """Nothing of its own but a name in the title."""
    return Page(FRAME, title=f"Photo: {words(path, 2)}")


def listing(path: str) -> Page:
    """One page of a long list: the same title and frame, other items."""
    return Page(FRAME + "".join(f"\n{words((path, i), 4)}" for i in range(10)), title="Results, page " + path[-3:])


def thread(path: str) -> Page:
    """A short question in a forum."""
    return Page(f"{FRAME}\n{words(path, 12)}\nReply Quote Report", title="Forum")


@pytest.mark.parametrize("answer", [article, product, gallery, listing, thread])
@pytest.mark.parametrize("form", ["/p/{}.html", "/p/{}/", "/p?id={}", "/{}/x"])
def test_honest_sites_lose_nothing(answer: Callable[[str], Page], form: str) -> None:
    """Hundreds of pages of one kind in one folder, all of the same build, are all fetched."""
    paths = [form.format(number) for number in range(400)]
    pages = {path: answer(path) for path in paths} | {"/": Page(words("home"), links=paths)}
    assert len(crawl("/", lambda path: pages[path])) == 401


def numbered(path: str) -> Page:
    """Nothing but its number."""
    return Page(f"Page {path}", title=f"Page {path}", links=["/"])


def test_pages_that_a_page_of_substance_links_to_are_all_fetched() -> None:
    """A list of five hundred pages that differ in a number is meant as it is."""
    paths = [f"/n/{number}" for number in range(500)]
    asked = crawl("/", lambda path: Page(words("list"), links=paths) if path == "/" else numbered(path))
    assert len(asked) == 501


def part(path: str) -> Page:
    """A row of a table: numbers alone, and nothing that leads on."""
    return Page(f"{FRAME}\nid {path[3:]}\nweight {short(path, 1)}\nprice {short(path, 2)}", title="Parts")


def bare(path: str) -> Page:
    """A thin page that says no more than its address does, at one of nine prices."""
    return Page(f"{FRAME}\nArticle {path[3:]}\nPrice: {len(path) % 9}.90 EUR", title=f"Article {path[3:]}")


@pytest.mark.parametrize("answer", [part, bare])
@pytest.mark.parametrize("form", ["/p/{}", "/p?id={}"])
def test_pages_of_numbers_that_lists_of_numbers_link_to_are_all_fetched(
    answer: Callable[[str], Page], form: str
) -> None:
    """A table of 1,500 rows, twenty on a page, each list found on the one before; nothing has a word of its own."""

    def table(path: str) -> Page:
        if not path.startswith("/list"):
            return answer(path)
        n = int(path.partition("=")[2] or 0)
        rows = [form.format(n * 20 + k) for k in range(20)]
        text = FRAME + "".join(f"\nArticle {row[3:]} {short(row, 1)}" for row in rows)
        return Page(text, "Articles", [*rows, f"/list?page={n + 1}"] if n < 74 else rows)

    assert len(crawl("/list", table)) == 75 + 1500


def test_alike_pages_that_name_each_other_are_all_fetched() -> None:
    """A shop of 1,500 pages of numbers, each with four others of its kind: it ceases to grow."""

    def answer(path: str) -> Page:
        page = part(path)
        page.links = [f"/p/{number}" for number in random.Random(path).sample(range(1500), 4)]
        return page

    assert len(crawl("/p/1", answer)) > 1400


def test_lists_of_numbers_without_pages_of_their_own_are_all_fetched() -> None:
    """Eight hundred pages of a table, one after the other."""

    def answer(path: str) -> Page:
        n = int(path.partition("=")[2])
        text = FRAME + "".join(f"\nrow {n * 20 + k} value {short(n, k)}" for k in range(20))
        return Page(text, "Table", [f"/t?page={n + 1}"] if n < 800 else [])

    assert len(crawl("/t?page=1", answer)) == 800


def test_a_sample_of_what_is_refused_opens_a_folder_again() -> None:
    """The first, second, fourth… address of a spent folder is fetched; one that says something new opens it."""
    novelty = Repetition(BOUND, Tallies())
    repeat(novelty, "/m/{}", BOUND)
    first = f"http://{HOST}/m/x0"
    assert [novelty.judge(f"http://{HOST}/m/x{n}", HOST).ok for n in range(9)] == [n in (0, 1, 3, 7) for n in range(9)]
    assert novelty.judge(first, HOST).ok  # also when its turn has come
    for n in (0, 1):  # nothing to compare them with yet
        novelty.observe(make_target(f"/m/x{n}", 1000 + n, 1), article(f"{n}"), repeated=False)
        assert not novelty.drain_reopened()
    novelty.observe(make_target("/m/x3", 1003, 1), article("3"), repeated=False)
    assert novelty.drain_reopened() == {HOST}
    assert novelty.judge(f"http://{HOST}/m/x4", HOST).ok and dict(novelty.explain(first, HOST))[CODE].ok


def documents(path: str) -> Page:
    """Lists that say nothing but the numbers of the documents they lead to, page after page."""
    if not path.startswith("/list"):
        return Page("", tree=None)
    n = int(path.partition("=")[2])
    links = [f"/files/{n}-{k}.pdf" for k in range(10)]
    return Page(FRAME + f"Resolution {n} " * 10, "Resolutions", [*links, f"/list?page={n + 1}"] if n < 400 else links)


def test_lists_that_lead_to_new_documents_are_no_repetitions() -> None:
    """However alike they are: each of them brings something."""
    asked = crawl("/list?page=1", documents, most=9999)
    assert len(asked) == 400 * 11


def test_a_trap_does_not_take_its_neighbours_with_it() -> None:
    """What lies in other folders, and below the same one, is still fetched; so is what was found before the trap."""

    def answer(path: str) -> Page:
        if path.startswith("/cal/"):
            return Page(f"{FRAME}\nNo events", links=[f"/cal/{short(path)}", f"/news/{short(path)}.html"])
        return article(path)

    asked = crawl("/cal/", answer, most=5000)
    assert sum(path.startswith("/cal/") for path in asked) < BOUND + 50
    assert sum(path.startswith("/news/") for path in asked) >= BOUND


DAYS = [f"{year}-{month:02}-{day:02}" for year in (2020, 2021, 2022) for month in range(1, 13) for day in range(1, 29)]
DATED = {
    "days": "/events/{}",
    "folders": "/matches/{}/",
    "weeks": "/weekly/{}",
    "queries": "/timetable?year={}",
    "dates": "/show?date={}",
}


def date_of(name: str, n: int) -> str:
    """The n-th address of a dated site."""
    day = DAYS[n]
    if name == "queries":
        return DATED[name].format(f"{1980 + n // 50}&week={n % 50 + 1}")
    return DATED[name].format(day.replace("-", "/") if name == "folders" else day)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("name", DATED)
def test_dates_with_something_to_say_are_all_fetched(name: str, listed: bool) -> None:
    """A thousand pages under dates, which a list names, or each the next one."""
    paths = [date_of(name, n) for n in range(1000)]

    def answer(path: str) -> Page:
        if path == "/":
            return Page(words("home"), links=paths if listed else paths[:1])
        n = paths.index(path)
        return Page(f"{FRAME}\n{words(path, 25)}", "Programme", [] if listed else paths[n + 1 : n + 2])

    assert len(crawl("/", answer)) == 1001


def test_dates_that_a_list_names_are_all_fetched_though_they_say_nothing() -> None:
    """Five hundred days without an event, of which each page also leads to the days around it."""
    paths = [date_of("days", n) for n in range(500)]

    def answer(path: str) -> Page:
        if path == "/":
            return Page(words("home"), links=paths)
        n = paths.index(path)
        return Page(f"{FRAME}\nNo events", "Programme", paths[max(0, n - 1) : n + 2])

    assert len(crawl("/", answer)) == 501


def month_grid(path: str) -> list[str]:
    """A calendar in the query: the months around, the next year, each day, and each day's week."""
    query = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
    year, month = int(query["y"]), int(query["m"])
    months = [(year * 12 + month - 1 + step) for step in (-1, 1, 12)]
    links = [f"/planner?y={n // 12}&m={n % 12 + 1}" for n in months]
    links += [f"/planner?y={year}&m={month}&d={day}" for day in range(1, 29)]
    return links + ([f"/planner?y={year}&m={month}&d={query['d']}&view=week"] if "d" in query else [])


def month_folders(path: str) -> list[str]:
    """A calendar in the path: the months around and each day."""
    year, month, *_ = map(int, path.strip("/").split("/")[1:])
    months = [(year * 12 + month - 1 + step) for step in (-1, 1)]
    links = [f"/agenda/{n // 12}/{n % 12 + 1:02}/" for n in months]
    return links + [f"/agenda/{year}/{month:02}/{day}/" for day in range(1, 29)]


def two_calendars(path: str) -> list[str]:
    """Each day leads to its bookings, and only these to the next day."""
    name, _, day = path.strip("/").partition("/")
    year, month = map(int, day.split("-"))
    later = f"{year + month // 12}-{month % 12 + 1:02}"
    return [f"/bookings/{later}"] if name == "days" else [f"/days/{day}"]


@pytest.mark.parametrize(
    ("start", "links"),
    [("/planner?y=2000&m=1", month_grid), ("/agenda/2024/03/", month_folders), ("/days/1980-01", two_calendars)],
    ids=["query", "path", "two"],
)
def test_an_endless_calendar_costs_little(start: str, links: Callable[[str], list[str]]) -> None:
    """Months, days and views of one calendar share one bound; only a sample follows."""
    months = [words(("month", n), 1) for n in range(12)]

    def answer(path: str) -> Page:
        return Page(f"{FRAME}\nNo events in {months[len(links(path)[0]) % 12]}", f"Agenda {path}", links(path))

    bound = 0 if start != "/days/1980-01" else BOUND
    asked = crawl(start, answer, bound=bound)
    assert 50 < len(asked) < (2 if "days" not in start else 3) * BOUND


def test_a_refusal_for_a_date_tells_count_and_setting() -> None:
    """And the bound of what shows nothing but a date is wider."""
    rules = Rules(Mission(scope="free", traps=TrapSettings(calendar=2, near_duplicates=0)), [])
    for n in range(1, 40):
        for path in (f"/cal/2024-{n % 12 + 1}-{n}", f"/x/2024-{n % 12 + 1}-{n}"):
            row = n * 2 + ("x" in path)
            found = [make_discovery("/cal/2025-01-01"), make_discovery("/x/2025-01-01")]
            rules.repetition.observe(make_target(path, row, row - 2), Page("x"), repeated=True, found=found)
    told = {
        "/cal/2030-01-01": "a.test/cal/*: 2 pages one after the other brought nothing new; allowed: traps.calendar = 2",
        "/x/2030-01-01": "a.test/x/*: 20 pages one after the other brought nothing new; allowed: 10 times, as only the"
        " date says that this is a calendar, traps.calendar = 2",
    }
    for path, detail in told.items():
        rows = dict(rules.explain(f"http://{HOST}{path}", depth=1, host=HOST))
        assert (rows["trap:calendar"].reason, rows["trap:calendar"].detail) == ("trap:calendar", detail)


def test_pages_met_under_other_addresses_do_not_count_as_new() -> None:
    """Under a session id that no rule knows, a whole site is fetched a few times over, not for ever."""
    pages = {f"/{name}": article(name) for name in (f"art{words(i, 1)}" for i in range(40))}

    def answer(path: str) -> Page:
        page = pages.get(path.partition("?")[0]) or article("home")
        links = [f"{name}?zz={short(path)}" for name in random.Random(path).sample(list(pages), 20)]
        return Page(page.text, page.title, links)

    asked = crawl("/", answer, most=20_000)
    assert len({path.partition("?")[0] for path in asked}) == 41
    assert len(asked) < 2500


def test_equal_bytes_count_without_being_read() -> None:
    """The caller knows of identical content; nothing of the page is looked at."""
    novelty = Repetition(BOUND, Tallies())
    repeat(novelty, "/m/{}", BOUND - 1)
    assert novelty.judge(f"http://{HOST}/m/new", HOST).ok
    repeat(novelty, "/m/{}", 1)
    verdict = dict(novelty.explain(f"http://{HOST}/m/new", HOST))[CODE]
    assert (verdict.ok, verdict.reason) == (False, CODE)
    assert novelty.judge(f"http://{HOST}/m/below/x", HOST).ok
    assert novelty.judge(f"http://{HOST}/other", HOST).ok
    assert novelty.judge("http://b.test/m/new", "b.test").ok


def test_what_only_repeats_itself_goes_last() -> None:
    """From a quarter of the bound on, until something new comes."""
    novelty = Repetition(BOUND, Tallies())
    repeat(novelty, "/m/{}", BOUND // 4 - 1)
    assert not novelty.is_dull(f"http://{HOST}/m/x", HOST)
    repeat(novelty, "/m/{}", 1)
    assert novelty.is_dull(f"http://{HOST}/m/x", HOST)
    assert not novelty.is_dull(f"http://{HOST}/n/x", HOST)
    for n in (997, 998, 999):  # the first have nothing to be compared with
        novelty.observe(make_target(f"/m/{n}", n, 1), article(f"news {n}"), repeated=False)
    assert not novelty.is_dull(f"http://{HOST}/m/x", HOST)


def test_spent_folders_survive_a_restart() -> None:
    """They are tallies, handed over with the next commit and read again; a higher bound opens them."""
    tallies = Tallies()
    novelty = Repetition(BOUND, tallies, stored=False)
    repeat(novelty, "/m/{}", BOUND)
    assert novelty.drain_news()
    stored = {key: count for (_, key), count in tallies.drain().items()}
    assert stored == {"near:/m/": BOUND}

    def judge(bound: int, *, spent: bool = True) -> bool:
        rules = Rules(
            Mission(scope="free", traps=TrapSettings(near_duplicates=bound)),
            [],
            tallies=Tallies(lambda _: stored),
            spent=spent,
        )
        return dict(rules.repetition.explain(f"http://{HOST}/m/x", HOST))[CODE].ok

    assert (judge(BOUND), judge(2 * BOUND), judge(0), judge(BOUND, spent=False)) == (False, True, True, True)


def test_the_rule_explains_itself() -> None:
    """`explain` names the folder, what was counted and the setting."""
    rules = Rules(Mission(scope="free", traps=TrapSettings(copies=0)), [])
    url = f"http://{HOST}/list?page=9"
    assert dict(rules.explain(url, depth=1, host=HOST))[CODE].ok
    repeat(rules.repetition, "/list?page={}", BOUND // 4)
    verdict = dict(rules.explain(url, depth=1, host=HOST))[CODE]
    assert not verdict.ok
    found = "a.test/list?: 25 pages one after the other brought nothing new"
    assert verdict.detail == f"{found}; allowed: a quarter of traps.near_duplicates = 100"
    judged = [rules.judge(f"{url}{n}", depth=1, host=HOST).reason for n in range(3)]
    assert judged == ["", "", CODE]  # the sample, then the rest
    assert rules.judge(f"http://{HOST}/list", depth=1, host=HOST).ok


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/", ["/", "/**"]),
        ("/a", ["/", "/**"]),
        ("/a/", ["/", "/**"]),
        ("/a/b.html", ["/a/", "/a/**", "/**"]),
        ("/2024/03/", ["/*/", "/*/**", "/**"]),
        ("/a/s-12ab/c/", ["/a/*/", "/a/*/**", "/a/**", "/**"]),
        ("/a/list?x=/1/2", ["/a/list?", "/a/**", "/**"]),
        ("/a/7?x", ["/a/*?", "/a/**", "/**"]),
        ("/?", ["/?", "/**"]),
    ],
)
def test_addresses_belong_to_folders(path: str, keys: list[str]) -> None:
    """A page lies in the folder above it, with or without a slash at its end; numbered parts are one."""
    assert keys_of(f"http://{HOST}{path}") == keys


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders, shapes and remembered text stay within their bounds however large the crawl."""
    from lycosa.judge.admission import repetition as module

    for name, value in (("_FOLDERS", 200), ("_SHAPES", 100), ("_RUNS", 300), ("_ALL_RUNS", 2000)):
        monkeypatch.setattr(module, name, value)
    novelty = Repetition(BOUND, Tallies())
    for number in range(1500):
        target = make_target(f"/f{words(number % 50, 1)}/x/{number}.html", number, number - 1)
        novelty.observe(target, Page(f"{FRAME}\n{words(number)}", links=["y"]), repeated=False)
    assert len(novelty._folders) <= 210
    assert len(novelty._shapes) + len(novelty._former) <= 200
    held = [folder.runs for folder in set(novelty._folders.values()) if folder.runs]
    assert sum(map(len, held)) <= novelty._runs <= 2100
