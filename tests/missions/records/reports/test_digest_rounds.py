"""Crawls with `--readers`: after each round readers get what is new to them."""

from __future__ import annotations

import random
from pathlib import Path

from support.command_line import run
from support.crawl_runs import FAST
from support.loopback import Reply, Web
from support.mail_servers import mail_server

READERS = """
[mail]
host = "127.0.0.1"
port = {port}
sender = "lycosa@example.org"
[[readers]]
name = "Ana"
mail = "ana@example.org"
interests = [{{ name = "Bridges", terms = ["bridge", "puente"] }}]
[[readers]]
name = "Bo"
mail = "bo@example.org"
report = "none"
"""

WORDS = (
    "mayor", "council", "road", "stone", "winter", "harvest", "market", "engineer", "school", "voters", "library",
    "farmers", "rain", "water", "train", "budget", "forest", "museum", "teacher", "hospital", "ferry", "island",
    "theatre", "concert", "wheat", "cattle", "doctor", "lawyer", "prize", "garden",
)  # fmt: skip


def article(title: str, first: str) -> Reply:
    pick = random.Random(title)
    lines = (" ".join(pick.choices(WORDS, k=12)) for _ in range(8))
    more = "".join(f"<p>{line.capitalize()}.</p>" for line in lines)
    page = f"""<!DOCTYPE html><html lang=en><head><title>{title}</title>
        <meta property="article:published_time" content="2026-11-17"><meta name=author content="Eva Marín"></head>
        <body><nav><a href="/">Front</a></nav><article><h1>{title}</h1><p>{first}</p>{more}</article></body></html>"""
    return Reply(page.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def front(*paths: str) -> Reply:
    links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    return Reply(f"<!DOCTYPE html><title>Front</title><ul>{links}</ul>".encode())


def crawl(web: Web, folder: Path, *words: str) -> str:
    done = run(
        "crawl", "records", *FAST, "--collection", str(folder / "c"), "--connect-to", web.connect_to,
        "--workers", "1", "--readers", str(folder / "readers.toml"), "http://valley.test/", *words,
    )  # fmt: skip
    assert done.code == 0, done.output
    return done.output


def test_each_round_mails_what_is_new(web: Web, tmp_path: Path) -> None:
    """Round by round: the first articles, nothing, one that changed and one that is new."""
    web["valley.test/"] = front("/1", "/2")
    web["valley.test/1"] = article("Bridge closed", "The old bridge was closed on Monday after the flood.")
    web["valley.test/2"] = article("Fair opened", "The fair was opened on Monday.")
    with mail_server() as (mailbox, port):
        (tmp_path / "readers.toml").write_text(READERS.format(port=port))
        assert "1 digest queued, 1 message sent" in crawl(web, tmp_path)
        crawl(web, tmp_path, "--recrawl", "--full")
        assert len(mailbox.mails) == 1
        web["valley.test/"] = front("/1", "/2", "/3")
        web["valley.test/1"] = article("Bridge open again", "The old bridge was opened on Friday.")
        web["valley.test/3"] = article("New bridge planned", "A second bridge is planned for 2028.")
        crawl(web, tmp_path, "--recrawl", "--full")
        texts = [mail.get_body(("plain",)).get_content() for mail in mailbox.mails]  # type: ignore[union-attr]
    assert mailbox.recipients == ["ana@example.org"] * 2
    assert "* Bridge closed" in texts[0] and "Fair" not in texts[0] and "Eva Marín" in texts[0]
    assert "* New bridge planned" in texts[1] and "* Bridge open again (changed)" in texts[1]
    assert "Bridge closed -> Bridge open again" in texts[1]


def test_a_wrong_readers_file_is_refused_before_the_crawl(web: Web, tmp_path: Path) -> None:
    """Nothing is fetched, nothing written."""
    (tmp_path / "readers.toml").write_text('[[readers]]\nname = "Ana"\nmial = "x"\n')
    words = ("crawl", "records", *FAST, "--collection", str(tmp_path / "c"), "--connect-to", web.connect_to)
    done = run(*words, "--readers", str(tmp_path / "readers.toml"), "http://valley.test/")
    assert done.code == 2 and "did you mean mail?" in done.output
    assert not (tmp_path / "c").exists()
