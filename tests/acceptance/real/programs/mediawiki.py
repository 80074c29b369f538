"""MediaWiki with a hundred articles, on SQLite and the web server of PHP."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_articles
from acceptance.real.site import Absent, Site, Truth, find_program, free_port, running

NAME = "mediawiki"
FOLDER = Path("/usr/share/mediawiki")
ARTICLES = 100
CATEGORIES = 4


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every article and every category."""
    php = find_program("php", package="php-cli")
    if not (FOLDER / "index.php").is_file():
        raise Absent(f"no {FOLDER} (Debian package mediawiki)")
    server = f"http://127.0.0.1:{(port := free_port())}"
    settings = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
    maintain(
        php, "install.php", "--dbtype=sqlite", f"--dbpath={folder}", f"--confpath={folder}", f"--server={server}",
        "--scriptpath=", "--pass=not-a-secret-14", "Parts", "Admin",
    )  # fmt: skip
    texts = folder / "texts"
    texts.mkdir()
    articles = make_articles(ARTICLES)
    names = [title.replace(" ", "_") for title in articles]
    for n, (title, (text, links)) in enumerate(articles.items()):
        body = f"{text}\n\n" + "".join(f"* [[{link}]]\n" for link in links) + f"\n[[Category:Shelf {n % CATEGORIES}]]\n"
        (texts / title.replace(" ", "_")).write_text(body)
    for n in range(CATEGORIES):
        (texts / f"Category:Shelf_{n}").write_text(f"What lies on shelf {n}.\n")
    (texts / "Main_Page").write_text(f"Parts. See [[{next(iter(articles))}]].\n")
    files = [str(path) for path in sorted(texts.iterdir())]
    maintain(php, "importTextFiles.php", "--overwrite", *files, environment=settings)
    base = f"{server}/index.php"
    pages = {f"{base}/Main_Page", *(f"{base}/{name}" for name in names)}
    pages |= {f"{base}/Category:Shelf_{n}" for n in range(CATEGORIES)}
    command = [php, "-S", f"127.0.0.1:{port}", "-t", FOLDER]
    with running(
        command, url=f"{base}/Main_Page", folder=folder, environment={**settings, "PHP_CLI_SERVER_WORKERS": "4"}
    ):
        yield Site(url=f"{base}/Main_Page", truth=Truth(pages=frozenset(pages)))


def maintain(php: str, script: str, *words: str, environment: dict[str, str] | None = None) -> None:
    """Run one of MediaWiki's maintenance scripts."""
    done = subprocess.run(
        [php, FOLDER / "maintenance" / script, *words],
        capture_output=True, text=True, env={**os.environ, **(environment or {})},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{script}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
