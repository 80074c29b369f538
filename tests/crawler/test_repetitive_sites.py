"""Sites whose pages are alike, crawled: honest ones are fetched whole, endless ones are left, and that is told."""

from __future__ import annotations

import random
from pathlib import Path

from support.crawl_runs import crawl, states
from support.loopback import Reply, Web, html

FRAME = "All prices include tax. Delivery within three days to all our customers. " * 5
BOUND = ("--set", "traps.near_duplicates=5", "--workers", "1")


def test_a_shop_of_thin_pages_is_fetched_whole(web: Web, tmp_path: Path) -> None:
    """Lists and pages in which nothing but numbers is new are no repetitions: a folder of 240, where 5 are allowed."""

    def answer(address: str) -> Reply | None:
        path = address.removeprefix("a.test")
        if path.startswith("/article/"):
            n = int(path.rpartition("/")[2])
            return html("/", text=f"{FRAME} Article {n}. Price: {n * 7919 % 10007 / 100:.2f} EUR", title="Shop")
        if path == "/" or path.startswith("/?page="):
            n = int(path.partition("=")[2] or 1)
            items = [f"/article/{n * 20 + k}" for k in range(20)]
            text = FRAME + " ".join(f"{item} {n * 7919 % 10007}" for item in items)
            return html(*items, *([f"/?page={n + 1}"] if n < 12 else []), text=text, title="Articles")
        return None

    web.make = answer
    said = crawl(web, tmp_path / "c", "http://a.test/", *BOUND)
    found = [state for url, state in states(tmp_path / "c").items() if "/article/" in url]
    assert found == ["fetched"] * 240
    assert "NOT FETCHED" not in said


def diary(address: str, *, quiet: int, last: int = 10_000) -> Reply | None:
    """A page for each day, which leads to the next ten; so many of them say nothing."""
    if not address.startswith("a.test/diary/"):
        return None
    day = int(address.rpartition("/")[2])
    news = "".join("abcdefghij"[int(digit)] for digit in str(day * day * 7919 + 13))
    later = [f"/diary/{day + n}" for n in range(1, 11) if day + n <= last]
    return html(*later, title="Diary", text=f"{FRAME} {'Nothing' if day < quiet else news} today")


def test_what_is_refused_is_told(web: Web, tmp_path: Path) -> None:
    """One line: how many, one of them, and the setting that lifts the bound."""
    web["a.test/"] = html("/diary/1", text="start")
    web.make = lambda address: diary(address, quiet=10_000)
    said = crawl(web, tmp_path / "c", "http://a.test/", *BOUND)
    told = [line for line in said.splitlines() if "NOT FETCHED" in line]
    refused = [url for url, state in states(tmp_path / "c").items() if state == "rejected trap:near-duplicates"]
    assert len(web.paths()) < 100 and refused
    assert len(told) == 1 and "--set traps.near_duplicates=0 fetches them" in told[0]
    assert f"{len(refused)} address" in told[0] and refused[0] in told[0]


def test_a_folder_that_brings_something_new_after_all_is_opened_again(web: Web, tmp_path: Path) -> None:
    """A sample of what is refused is looked at, and what was refused comes back."""
    web["a.test/"] = html("/diary/1", text="start")
    web.make = lambda address: diary(address, quiet=20, last=120)
    crawl(web, tmp_path / "c", "http://a.test/", *BOUND)
    assert sum(state == "fetched" for state in states(tmp_path / "c").values()) == 121


def test_every_bound_tells_what_it_refused(web: Web, tmp_path: Path) -> None:
    """How many, one of them, and what lifts it; then the end does not say that nothing is left."""
    refused = {
        "traps.queries_per_path": ["/q?x=4"],
        "traps.repeats": ["/x/x/x/x"],
        "traps.path_depth": ["/1/2/3/4/5/6/7"],
        "traps.url_length": ["/" + "y" * 300],
        "traps.sessions": ["/p?sid=0123456789abcdee"],
        "--depth": ["/far"],
    }
    shown = [f"/q?x={n}" for n in (1, 2, 3)] + ["/p?sid=0123456789abcdef"]
    links = [*shown, *(path for paths in refused.values() for path in paths if path != "/far")]
    web["a.test/"] = html(*links, "/near", text="start")
    web["a.test/near"] = html("/far", text="near")
    web.make = lambda address: html(text=f"text of {address}")
    bounds = {"queries_per_path": 3, "path_depth": 5, "url_length": 200, "sessions": 1}
    options = [word for name, bound in bounds.items() for word in ("--set", f"traps.{name}={bound}")]
    said = crawl(web, tmp_path / "c", "http://a.test/", *options, "--depth", "1")
    assert "Nothing is left" not in said and "What is left was refused by bounds" in said
    for setting, paths in refused.items():
        (line,) = [
            line for line in said.splitlines() if f"{setting}=0 fetches them" in line or f"{setting} fetc" in line
        ]
        assert "1 address was NOT FETCHED" in line and "what lies behind is unknown" in line and paths[0] in line
    lift = [word for name in (*bounds, "repeats") for word in ("--set", f"traps.{name}=0")]
    said = crawl(web, tmp_path / "c", "http://a.test/", *lift, "--depth", "9")
    assert "NOT FETCHED" not in said and "Nothing is left to fetch." in said
    assert set(states(tmp_path / "c").values()) == {"fetched"}


def test_a_long_chain_of_dates_is_fetched_whole(web: Web, tmp_path: Path) -> None:
    """Each day leads to the next one alone, and has something to say; the calendar beside it has not, and ends."""
    days = [f"{2001 + n // 240}-{n // 20 % 12 + 1:02}-{n % 20 + 1:02}" for n in range(1200)]

    def answer(address: str) -> Reply | None:
        if address.count("/") < 2:
            return None
        _, kind, day = address.split("/")
        n = days.index(day)
        later = [f"/{kind}/{days[n + 1]}"] if n < 1199 else []
        own = " ".join("".join("abcdefghij"[int(digit)] for digit in str((n + 7) ** k)) for k in range(3, 9))
        return html(*later, title="Events", text=f"{FRAME} {own if kind == 'events' else 'No events'}")

    web["a.test/"] = html(f"/events/{days[0]}", f"/calendar/{days[0]}", text="start")
    web.make = answer
    said = crawl(web, tmp_path / "c", "http://a.test/", "--set", "traps.calendar=30")
    found = states(tmp_path / "c")
    assert sum("/events/" in url and state == "fetched" for url, state in found.items()) == 1200
    assert 30 <= sum("/calendar/" in url and state == "fetched" for url, state in found.items()) < 50
    assert "1 address was NOT FETCHED, as dates that led to each other brought nothing new" in said


def test_copies_are_asked_by_sample_and_told(web: Web, tmp_path: Path) -> None:
    """Sixty posts with six answers each: the forms are copies that name their posts; nothing of the posts is lost."""

    def answer(address: str) -> Reply | None:
        path, _, query = address.removeprefix("a.test").partition("?")
        if not path.startswith("/post/"):
            return None
        chance = random.Random(path)
        own = " ".join("".join(chance.choices("abcdefghij", k=6)) for _ in range(60))
        form = "Cancel reply" if query else ""
        links = [f"{path}?replytocom={n}" for n in range(6)]
        return html(*links, title=f"Post {own[:30]}", head=f'<link rel=canonical href="{path}">', text=f"{own}{form}")

    web["a.test/"] = html(*(f"/post/{n}" for n in range(60)), text="start")
    web.make = answer
    said = crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    found = states(tmp_path / "c")
    assert all(found[f"http://a.test/post/{n}"] == "fetched" for n in range(60))
    assert len(web.paths()) <= 1.5 * 61
    refused = sum(state == "rejected trap:copies" for state in found.values())
    assert f"{refused} addresses were NOT FETCHED, as others with the same parameters were copies" in said
    assert "--set traps.copies=0 fetches them" in said
