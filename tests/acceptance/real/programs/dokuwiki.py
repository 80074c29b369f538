"""DokuWiki with a hundred pages, on the web server of PHP."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_articles
from acceptance.real.site import Absent, Site, Truth, find_program, free_port, running

NAME = "dokuwiki"
FOLDER = Path("/usr/share/dokuwiki")
ARTICLES = 100
STORES = ("attic", "cache", "index", "locks", "media", "media_attic", "media_meta", "meta", "pages/parts", "tmp", "log")


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: the start page and every page of the name space `parts`."""
    php = find_program("php", package="php-cli")
    if not (FOLDER / "doku.php").is_file():
        raise Absent(f"no {FOLDER} (Debian package dokuwiki)")
    for store in STORES:
        (folder / "data" / store).mkdir(parents=True)
    (folder / "conf").mkdir()
    for path in Path("/etc/dokuwiki").iterdir():
        if path.is_file() and not path.is_symlink():
            shutil.copy(path, folder / "conf" / path.name)
    (folder / "conf/local.php").write_text(
        f"<?php $conf['savedir'] = '{folder}/data'; $conf['useacl'] = 0; $conf['indexdelay'] = 0;\n"
    )
    (folder / "before.php").write_text(f"<?php define('DOKU_CONF', '{folder}/conf/');\n")
    articles = make_articles(ARTICLES)
    names = {title: title.lower().replace(" ", "_") for title in articles}
    for title, (text, links) in articles.items():
        body = f"====== {title} ======\n\n{text}\n\n" + "".join(f"  * [[{names[link]}]]\n" for link in links)
        (folder / f"data/pages/parts/{names[title]}.txt").write_text(body)
    first = names[next(iter(articles))]
    (folder / "data/pages/start.txt").write_text(f"====== Parts ======\n\nSee [[parts:{first}]].\n")
    base = f"http://127.0.0.1:{(port := free_port())}"
    pages = {f"{base}/doku.php?id=start", *(f"{base}/doku.php?id=parts:{name}" for name in names.values())}
    prepared = f"auto_prepend_file={folder}/before.php"
    command = [php, "-d", prepared, "-S", f"127.0.0.1:{port}", "-t", FOLDER]
    with running(command, url=f"{base}/doku.php", folder=folder, environment={"PHP_CLI_SERVER_WORKERS": "4"}):
        yield Site(url=f"{base}/doku.php?id=start", truth=Truth(pages=frozenset(pages)))
