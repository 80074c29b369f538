"""Tarpits: endless generated text is left after a few hundred pages and told; deep sites that end are fetched whole."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.crawl_runs import crawl, states
from support.loopback import Reply, Web

HOST = "pit.test"
WORDS = ["".join(random.Random(n).choices("aeioubcdfglmnprst", k=3 + n % 7)) for n in range(900)]


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


def prose(draw: random.Random, count: int) -> str:
    return " ".join(draw.choices(WORDS, k=count)).capitalize() + "."


def page(title: str, body: str) -> Reply:
    text = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"
    return Reply(text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def anchors(links: list[str], draw: random.Random) -> str:
    return "".join(f'<p>{prose(draw, 20)} <a href="{link}">{prose(draw, 2)}</a></p>' for link in links)


def nepenthes(path: str) -> Reply | None:
    """Text and links drawn from the address alone; every address below the folder answers."""
    if not path.startswith("/help/"):
        return None
    draw = random.Random(path)
    links = [f"/help/{'/'.join(draw.choices(WORDS, k=draw.randint(1, 5)))}" for _ in range(8)]
    return page(prose(draw, 3), f"<p>{prose(draw, 120)}</p>" + anchors(links, draw))


def iocaine(path: str) -> Reply | None:
    """The whole host, each page one folder deeper, with a way up."""
    draw = random.Random(path)
    links = [f"{'-'.join(draw.choices(WORDS, k=2))}/" for _ in range(5)]
    return page(prose(draw, 4), f"<p>{prose(draw, 150)}</p><a href='../'>up</a><ul>{anchors(links, draw)}</ul>")


def labyrinth(path: str) -> Reply | None:
    """Pages side by side that are called what their links say, below the menu of the site."""
    if not path.startswith("/notes/"):
        return None
    draw = random.Random(path)
    menu = "<nav><a href='/'>Home</a> <a href='/p/1'>About</a> <a href='/p/2'>Contact</a></nav>"
    links = ["-".join(draw.choices(WORDS, k=4)) for _ in range(4)]
    read = "".join(f'<li><a href="/notes/{link}">{link.replace("-", " ")}</a></li>' for link in links)
    title = path.rpartition("/")[2].replace("-", " ")
    return page(title, f"{menu}<p>{prose(draw, 90)}</p><p>{prose(draw, 80)}</p><ul>{read}</ul>")


def honest(path: str, *, entrance: str) -> Reply | None:
    """Forty pages with a menu, each with a hidden link into the maze."""
    number = path.removeprefix("/p/") if path != "/" else "0"
    if not number.isdigit() or int(number) >= 40:
        return None
    draw = random.Random(f"honest {number}")
    menu = "".join(f'<li><a href="/p/{n}">{n}</a></li>' for n in range(40))
    return page(f"Page {number}", f"<ul>{menu}</ul><p>{prose(draw, 60)}</p><a href='{entrance}/{number}'></a>")


@pytest.mark.parametrize("make", [nepenthes, iocaine, labyrinth], ids=lambda make: make.__name__)
def test_a_tarpit_is_left_and_told(make: Callable[[str], Reply | None], web: Web, tmp_path: Path) -> None:
    """Its pages end before three hundred, and those of the site around it are all fetched."""
    entrance = {"nepenthes": "/help", "labyrinth": "/notes"}.get(make.__name__, "")

    def answer(address: str) -> Reply | None:
        path = address.removeprefix(HOST)
        return (honest(path, entrance=entrance) if entrance else None) or make(path)

    web.make = answer
    said = crawl(web, tmp_path / "c", f"http://{HOST}/", "--workers", "2", "--limit", "3000")
    found = states(tmp_path / "c")
    fetched = [url for url, state in found.items() if state == "fetched"]
    assert 50 <= sum("/p/" not in url for url in fetched) <= 300, len(fetched)
    if entrance:
        assert sum("/p/" in url for url in fetched) == 40 - 1 + ("http://pit.test/p/0" in fetched)
    assert "traps.tarpits=0" in said
    assert "as their folders are generated without end" in said
    assert any(state == "rejected trap:tarpit" for state in found.values())
    before = len(web.asked)
    crawl(web, tmp_path / "c", f"http://{HOST}/", "--workers", "2", "--limit", "3000")
    assert len(web.asked) - before <= 60, "it is known in the next run"


def test_a_deep_site_without_a_way_back_is_fetched_whole(web: Web, tmp_path: Path) -> None:
    """Every page names three others that nobody else names, until the last ones end."""
    count = 1093

    def answer(address: str) -> Reply | None:
        path = address.removeprefix(HOST)
        number = int(path.removeprefix("/tree/") or 0) if path.removeprefix("/tree/").isdigit() else 0
        if path not in ("/", f"/tree/{number}"):
            return None
        draw = random.Random(f"tree {number}")
        children = [f"/tree/{n}" for n in range(3 * number + 1, 3 * number + 4) if n < count]
        return page(prose(draw, 3), f"<p>{prose(draw, 80)}</p>" + anchors(children, draw))

    web.make = answer
    crawl(web, tmp_path / "c", f"http://{HOST}/", "--set", "keep.sync_s=0")
    assert sum(state == "fetched" for state in states(tmp_path / "c").values()) == count
