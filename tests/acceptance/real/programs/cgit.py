"""cgit over a repository of a hundred commits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real import cgi_server
from acceptance.real.git_history import make_history
from acceptance.real.site import Absent, Site, Truth, free_port, running

NAME = "cgit"
PROGRAM = Path("/usr/lib/cgit/cgit.cgi")
PAGE = 50  # commits on a page of the log, cgit's default


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: the summary, the log, every commit, and the tree with every file.

    The same repository is there at every commit too, file by file and path by path: addresses without number of which a
    crawl need not have any.
    """
    if not PROGRAM.is_file():
        raise Absent("no cgit.cgi (Debian package cgit)")
    history = make_history(folder)
    (folder / "cgitrc").write_text(f"virtual-root=/\nrepo.url=demo\nrepo.path={history.repository}\n")
    base = f"http://127.0.0.1:{(port := free_port())}"
    demo = f"{base}/demo"
    pages = {f"{base}/", f"{demo}/", f"{demo}/log/", f"{demo}/refs/", f"{demo}/tree/"}
    pages |= {f"{demo}/log/?ofs={first}" for first in range(PAGE, len(history.commits), PAGE)}
    pages |= {f"{demo}/commit/?id={commit}" for commit in history.commits}
    pages |= {f"{demo}/tree/{path}" for path in history.files + history.folders}
    command = [sys.executable, cgi_server.__file__, str(port), str(PROGRAM)]
    with running(command, url=f"{base}/", folder=folder, environment={"CGIT_CONFIG": str(folder / "cgitrc")}):
        yield Site(url=f"{base}/", truth=Truth(pages=frozenset(pages)), options=("--set", "fetch.nofollow=ignore"))
