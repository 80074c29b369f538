"""Parameters under which a site shows what it shows elsewhere: asked by sample, and never a page lost."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lycosa.config.settings import Mission, TrapSettings
from lycosa.judge.admission.repetition import COPIED, Repetition
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.model import Discovery, Target

BOUND = 10
HOST = "a.test"


@dataclass
class Page:
    """What a crawl knows of a page."""

    text: str
    title: str
    links: list[str] = field(default_factory=list)
    canonical: str = ""
    tree: object = "HTML"

    @property
    def body(self) -> bytes:
        return f"{self.title}{self.text}{self.links}".encode()


Answer = Callable[[str], Page]


def words(seed: object, count: int) -> str:
    chance = random.Random(str(seed))
    return " ".join("".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(count))


FRAME = words("frame", 60)


def make_target(path: str, n: int, parent: int) -> Target:
    return Target(n, n, f"http://{HOST}{path}", HOST, parent=parent)


def make_discovery(path: str) -> Discovery:
    return Discovery(0, f"http://{HOST}{path}", HOST)


def crawl(answer: Answer, tallies: Tallies | None = None) -> list[str]:
    """The addresses that a crawl asks for, breadth first; what is opened again comes back."""
    rule = Repetition(100, tallies or Tallies(), copies=BOUND)
    queue, seen, asked, refused = deque([make_target("/", 1, 0)]), {"/"}, [], []
    while queue:
        target = queue.popleft()
        if not rule.judge(target.url, HOST).ok:
            refused.append(target)
            continue
        path = target.url.removeprefix(f"http://{HOST}")
        asked.append(path)
        page = answer(path)
        fresh = [link for link in dict.fromkeys(page.links) if link not in seen]
        rule.observe(target, page, repeated=False, found=[make_discovery(link) for link in fresh])
        if rule.drain_reopened():
            queue.extend(refused)
            refused = []
        for link in fresh:
            seen.add(link)
            queue.append(make_target(link, len(seen), target.row))
    return asked


def of(path: str) -> str:
    return f"http://{HOST}{path}"


def forum(path: str) -> Page:
    """A thousand topics, each also sorted, printed, answered and highlighted; nothing names its original."""
    plain, _, query = path.partition("?")
    if plain == "/":
        return Page(words("home", 60), "Forum", [f"/viewtopic.php?t={n}" for n in range(1000)])
    values = dict(pair.split("=") for pair in query.split("&"))
    n = values["t"]
    own = f"{FRAME}\n{words(('topic', n), 30)}\n{words(('reply', n), 30)}"
    if "view" in values:
        own = own.partition("\n")[2]
    more = ("&sort=asc", "&sort=desc", "&view=print", f"&highlight={n}", "&sid=1")
    return Page(own, f"Topic {words(n, 2)}", [f"/viewtopic.php?t={n}{one}" for one in more])


def languages(path: str) -> Page:
    """Two hundred pages in three languages, each with links to itself in each language, and its own address in all."""
    plain, _, query = path.partition("?")
    if plain == "/":
        return Page(words("home", 60), "Home", [f"/{lang}/{n}" for n in range(200) for lang in ("en", "de", "fr")])
    _, lang, n = plain.split("/")
    lang = query.partition("=")[2] or lang
    links = [f"{plain}?lang={one}" for one in ("en", "de", "fr")]
    return Page(f"{FRAME}\n{words((lang, n), 40)}", words((lang, n), 3), links, canonical=of(f"/{lang}/{n}"))


def shop(path: str) -> Page:
    """A cart that is the same whatever is put in, under an address that nobody links to without a product."""
    if path == "/":
        return Page(words("home", 60), "Shop", [f"/p/{n}" for n in range(600)])
    if path.startswith("/cart"):
        return Page(f"{FRAME}\nYour cart is empty", "Cart")
    return Page(f"{FRAME}\n{words(path, 20)}", words(path, 2), [f"/cart?add={path[3:]}"])


def blog(path: str) -> Page:
    """Posts with comments, each of which can be answered; the form says whom, and the page names its original."""
    plain, _, query = path.partition("?")
    if plain == "/":
        return Page(words("home", 60), "Blog", [f"/post-{words(n, 1)}/" for n in range(300)])
    own = "\n".join(words((plain, line), 12) for line in range(30))
    links = [f"{plain}?replytocom={plain[6:9]}{n}" for n in range(8)]
    form = f"\nLeave a reply to {words(query, 1)}\nCancel reply" if query else ""
    return Page(f"{FRAME}\n{own}{form}", words(plain, 3), links, canonical=of(plain))


@pytest.mark.parametrize(("answer", "distinct"), [(forum, 1001), (languages, 601), (shop, 602), (blog, 301)])
def test_copies_cost_little_and_pages_nothing(answer: Answer, distinct: int) -> None:
    """Every distinct page is fetched, with at most one and a half requests for each."""
    asked = crawl(answer)
    contents = {(page.title, page.canonical or page.text.rpartition("\n")[2]) for page in map(answer, asked)}
    assert len(contents) == distinct
    assert len(asked) <= 1.5 * distinct


def test_a_wrong_canonical_loses_nothing() -> None:
    """Pages that all call themselves the home page, or the first page of their list, are pages of their own."""

    def answer(path: str) -> Page:
        links = [f"/item?id={n}" for n in range(300)] + [f"/list?page={n}" for n in range(100)]
        own = words("home", 60) if path == "/" else f"{FRAME}\n{words(path, 3)}"
        return Page(own, "Shop", links, canonical=of("/"))

    assert len(crawl(answer)) == 401


def test_pages_that_are_seldom_new_are_found_by_the_sample() -> None:
    """A language in which the first pages are not translated is opened again, and nothing of it is lost."""

    def answer(path: str) -> Page:
        plain, _, query = path.partition("?")
        if plain == "/":
            return Page(words("home", 60), "Home", [f"/{n}" for n in range(400)])
        translated = query and int(plain[1:]) >= 60
        return Page(f"{FRAME}\n{words((plain, bool(translated)), 30)}", words(plain, 2), [f"{plain}?lang=fr"])

    assert len({answer(path).text for path in crawl(answer)}) == 401 + 340


def test_an_original_that_comes_late_is_the_original() -> None:
    """Where sorted lists are met before the lists themselves, it is the parameter that makes the copy."""

    def answer(path: str) -> Page:
        plain = path.partition("?")[0]
        if plain == "/":
            return Page(
                words("home", 60), "Home", [f"/{n}?sort=up" for n in range(200)] + [f"/{n}" for n in range(200)]
            )
        return Page(f"{FRAME}\n{words(plain, 30)}", words(plain, 2), [f"{plain}?sort=down", f"{plain}?sort=none"])

    asked = crawl(answer)
    assert {path.partition("?")[0] for path in asked} == {"/", *(f"/{n}" for n in range(200))}
    assert len(asked) < 2.5 * 200


def test_what_is_learned_survives_a_restart_and_is_explained() -> None:
    """It is a tally; `explain` names the pattern and the setting."""
    tallies = Tallies()
    crawl(shop, tallies)
    stored = {key: count for (_, key), count in tallies.drain().items()}
    assert stored["near:copies:?add"] == BOUND
    rules = Rules(Mission(scope="free"), [], tallies=Tallies(lambda _: stored))
    verdict = dict(rules.explain(of("/cart?add=9"), depth=1, host=HOST))[COPIED]
    assert (verdict.reason, "a.test?add" in verdict.detail, "traps.copies = 10" in verdict.detail) == (
        COPIED,
        True,
        True,
    )
    lifted = Rules(Mission(scope="free", traps=TrapSettings(copies=0)), [], tallies=Tallies(lambda _: stored))
    assert lifted.judge(of("/cart?add=9"), depth=1, host=HOST).ok
