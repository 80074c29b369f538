"""gitweb, which is slow, over a repository of eight commits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real import cgi_server
from acceptance.real.git_history import make_history
from acceptance.real.site import Absent, Site, Truth, free_port, running

NAME = "gitweb"
COMMITS = 8
FOLDER = Path("/usr/share/gitweb")


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: the summary, every commit and what it changed; not every file at every commit."""
    if not (FOLDER / "gitweb.cgi").is_file():
        raise Absent("no gitweb.cgi (Debian package gitweb)")
    history = make_history(folder, commits=COMMITS)
    (folder / "gitweb.conf").write_text(f'$projectroot = "{folder}";\n')
    base = f"http://127.0.0.1:{(port := free_port())}/gitweb.cgi"
    pages = {base, f"{base}?p=demo.git;a=summary", f"{base}?p=demo.git;a=tree", f"{base}?p=demo.git;a=shortlog"}
    for commit in history.commits:
        pages |= {f"{base}?p=demo.git;a={page};h={commit}" for page in ("commit", "commitdiff")}
    program = str(FOLDER / "gitweb.cgi")
    command = [sys.executable, cgi_server.__file__, str(port), program, "--at", "/gitweb.cgi", "--files", FOLDER]
    with running(command, url=base, folder=folder, environment={"GITWEB_CONFIG": str(folder / "gitweb.conf")}):
        yield Site(url=base, truth=Truth(pages=frozenset(pages)), options=("--set", "fetch.nofollow=ignore"))
