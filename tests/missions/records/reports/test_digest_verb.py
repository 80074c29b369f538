"""The verb `digest` and the option `--readers` of a crawl: shown, written, mailed, counted once."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import feedparser
import pytest
from support.command_line import run
from support.mail_servers import mail_server
from support.record_stores import AT, NASTY, filled_store, make_article

from lycosa import Collection
from lycosa.missions.records.delivery import Outbox
from lycosa.missions.records.reports.digest_output import after_round


def write_readers(folder: Path, port: int = 1, *, more: str = "", report: str = "digest") -> str:
    path = folder / "readers.toml"
    path.write_text(
        f"""
        [mail]
        host = "127.0.0.1"
        port = {port}
        sender = "lycosa@example.org"
        timeout_s = 5
        [[readers]]
        name = "Ana Núñez"
        mail = "ana@example.org"
        report = "{report}"
        interests = [{{ name = "Ríos", terms = ["río"] }}]
        {more}
        """,
        encoding="utf-8",
    )
    return str(path)


def parts_of(mail: EmailMessage) -> dict[str, str]:
    return {part.get_content_type(): part.get_content() for part in mail.walk() if not part.is_multipart()}


def test_a_digest_is_shown_and_not_counted(tmp_path: Path) -> None:
    """Twice the same; the verb says that it was not delivered, and how to."""
    with filled_store(tmp_path / "c", make_article(1, "El río sube"), make_article(2, "Otra cosa")):
        pass
    readers = write_readers(tmp_path)
    for _ in range(2):
        said = run("digest", readers, "-c", str(tmp_path / "c"))
        assert said.code == 0, said.output
        assert "## Ríos" in said.output and "[El río sube](https://news.example/1)" in said.output
        assert "Because of “río” in title" in said.output and "Otra cosa" not in said.output
        assert "lycosa: 1 record for 1 reader, not counted as delivered (--send mails them" in said.output


def test_a_digest_reaches_a_mail_server_once(tmp_path: Path) -> None:
    """As text with an HTML alternative and an encoded subject; the next one has only what is new."""
    with filled_store(tmp_path / "c", make_article(1, f"El río crece: {NASTY}\r\nBcc: x@evil.example")):
        pass
    with mail_server() as (mailbox, port):
        readers = write_readers(tmp_path, port)
        command = ("digest", readers, "-c", str(tmp_path / "c"), "--send")
        said = run(*command)
        assert said.code == 0, said.output
        assert "1 digest delivered, 1 message sent" in said.output
        assert "0 digests delivered, 0 messages sent" in run(*command).output
        with filled_store(tmp_path / "c", make_article(2, "Otro río"), at=AT + 60):
            pass
        assert "1 digest delivered, 1 message sent" in run(*command).output
        first, second = mailbox.mails
    assert first["To"] == "ana@example.org" and first["Bcc"] is None
    assert str(first["Subject"]).startswith("1 record for Ana Núñez: El río crece: <script>")
    assert first.get_content_type() == "multipart/alternative"
    parts = parts_of(first)
    assert "* El río crece" in parts["text/plain"] and "https://news.example/1" in parts["text/plain"]
    assert "&lt;script&gt;" in parts["text/html"] and "<script" not in parts["text/html"]
    assert "Otro río" in parts_of(second)["text/plain"] and "crece" not in parts_of(second)["text/plain"]


def test_a_mail_that_cannot_be_sent_waits(tmp_path: Path) -> None:
    """The digest is in the outbox and comes when the server is there again, without being told twice."""
    with filled_store(tmp_path / "c", make_article(1, "El río")):
        pass
    said = run("digest", write_readers(tmp_path, 1), "-c", str(tmp_path / "c"), "--send")
    assert said.code == 0 and "1 digest queued, 0 messages sent" in said.output
    assert "1 message waits in the outbox" in said.output
    with mail_server() as (mailbox, port):
        readers = Path(write_readers(tmp_path, port))
        assert run("digest", str(readers), "-c", str(tmp_path / "c")).output.startswith("# News")
        with Collection(tmp_path / "c") as collection, filled_store(tmp_path / "c") as store:
            Outbox(store).retry()
            after_round(collection, readers, False)
        assert ["El río" in parts_of(mail)["text/plain"] for mail in mailbox.mails] == [True]


def test_files_of_each_reader_are_written(tmp_path: Path) -> None:
    """HTML, Markdown and a feed in a folder of each; other formats when asked for."""
    with filled_store(tmp_path / "c", make_article(1, "El río")):
        pass
    readers = write_readers(tmp_path, more='[[readers]]\nname = "Ana Nunez"\n')
    out = tmp_path / "out"
    assert run("digest", readers, "-c", str(tmp_path / "c"), "-o", str(out)).code == 0
    names = {path.relative_to(out).as_posix() for path in out.rglob("digest.*")}
    assert names == {
        f"{name}/digest.{ending}" for name in ("ana-nunez", "ana-nunez-2") for ending in ("atom", "html", "md")
    }
    assert feedparser.parse((out / "ana-nunez/digest.atom").read_bytes()).entries[0].title == "El río"
    words = ("digest", readers, "-c", str(tmp_path / "c"), "-o", str(out), "--format", "mail", "--reader", "Ana Núñez")
    assert run(*words).code == 0
    assert (out / "ana-nunez/digest.eml").read_bytes().startswith(b"Subject: ")
    assert not (out / "ana-nunez/digest.html").exists() and (out / "ana-nunez-2/digest.html").exists()


def test_a_reader_without_mail_is_told_of(tmp_path: Path) -> None:
    """Only files count as delivered for such a reader."""
    with filled_store(tmp_path / "c", make_article(1, "El río")):
        pass
    readers = write_readers(tmp_path, more='[[readers]]\nname = "Bo"\n')
    words = ("digest", readers, "-c", str(tmp_path / "c"), "--reader", "Bo", "--send")
    assert "Bo has no mail, and the digest is not counted" in run(*words).output
    assert "1 digest delivered" in run(*words, "-o", str(tmp_path / "out")).output
    assert "0 digests delivered" in run(*words, "-o", str(tmp_path / "out")).output


def test_a_report_of_a_user_can_be_the_digest(tmp_path: Path) -> None:
    """Its queries know the reader and the time of the last digest."""
    with filled_store(tmp_path / "c", make_article(1, "El río"), make_article(2, "Otra cosa")):
        pass
    (tmp_path / "mine.toml").write_text(
        """
        [queries]
        counts = "SELECT host, count(*) AS records, :reader AS who FROM records WHERE changed_at > :since GROUP BY host"
        [templates]
        markdown = '''{% for row in counts %}{{ row.who }}: {{ row.records }} of {{ row.host }}, {{ total }} for you
        {% endfor %}'''
        """
    )
    readers = write_readers(tmp_path, report="mine.toml")
    assert "Ana Núñez: 2 of news.example, 1 for you" in run("digest", readers, "-c", str(tmp_path / "c")).output
    said = run("digest", readers, "-c", str(tmp_path / "c"), "--format", "html")
    assert said.code == 2 and "has no template for html; it has markdown" in said.output


def test_after_a_round_digests_are_mailed(tmp_path: Path) -> None:
    """What `lycosa crawl --readers` does: only readers with mail, only what is new."""
    with filled_store(tmp_path / "c", make_article(1, "El río")):
        pass
    with mail_server() as (mailbox, port), Collection(tmp_path / "c") as collection:
        readers = Path(write_readers(tmp_path, port, more='[[readers]]\nname = "Bo"\n'))
        assert after_round(collection, readers, False) == ["1 digest queued, 1 message sent"]
        assert after_round(collection, readers, False) == []
        assert len(mailbox.mails) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "yesterday"), "--since: found 'yesterday'; allowed: a date such as"),
        (("--reader", "Ana"), "did you mean Ana Núñez?"),
        (("--format", "html", "--format", "atom"), "Several formats are files: name a folder"),
        (("-c", "nowhere"), "There is no collection at nowhere"),
        (("-o", "x.html"), "x.html ends in .html"),
    ],
)
def test_wrong_words_are_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """In a sentence, before anything is written."""
    with filled_store(tmp_path / "c"):
        pass
    result = run("digest", write_readers(tmp_path), "-c", str(tmp_path / "c"), *words)
    assert result.code == 2 and said in result.output
