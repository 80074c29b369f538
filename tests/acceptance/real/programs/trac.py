"""Trac with wiki pages and tickets beside its own manual."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_articles
from acceptance.real.site import Site, Truth, environment_of, free_port, running

NAME = "trac"
ARTICLES = 40
TICKETS = 40
#: Runs in Trac's own environment: there is no command that makes tickets.
MAKE_TICKETS = """
import sys
from trac.env import Environment
from trac.ticket import Ticket
environment = Environment(sys.argv[1])
for n in range(1, int(sys.argv[2]) + 1):
    ticket = Ticket(environment)
    ticket.populate({"summary": f"Part {n} is missing", "reporter": "ada", "description": f"Shelf {n % 7}, part {n}."})
    ticket["status"] = "new"
    ticket.insert()
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every wiki page of ours, every ticket."""
    programs = environment_of(NAME, "setuptools<81", "Trac")
    project = folder / "parts"
    run([programs / "trac-admin", project, "initenv", "Parts", "sqlite:db/trac.db"])
    articles = make_articles(ARTICLES)
    names = {title: f"Part{title.title().replace(' ', '')}" for title in articles}
    pages = folder / "pages"
    pages.mkdir()
    for title, (text, links) in articles.items():
        (pages / names[title]).write_text(
            f"= {title} =\n{text}\n" + "".join(f" * [wiki:{names[link]}]\n" for link in links)
        )
    (pages / "WikiStart").write_text(f"= Parts =\nSee [wiki:{next(iter(names.values()))}] and {{1}}.\n")
    run([programs / "trac-admin", project, "wiki", "load", pages])
    run([programs / "python", "-c", MAKE_TICKETS, project, str(TICKETS)])
    base = f"http://127.0.0.1:{(port := free_port())}"
    known = {f"{base}/wiki", *(f"{base}/wiki/{name}" for name in names.values())}
    known |= {f"{base}/ticket/{n}" for n in range(1, TICKETS + 1)}
    command = [programs / "tracd", "--single-env", "--hostname", "127.0.0.1", "--port", str(port), project]
    with running(command, url=f"{base}/wiki", folder=folder):
        yield Site(url=f"{base}/wiki", truth=Truth(pages=frozenset(known)), options=("--set", "fetch.nofollow=ignore"))


def run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
