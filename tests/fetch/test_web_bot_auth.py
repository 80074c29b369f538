"""Signed requests: what is signed can be verified by the published key, and nothing else can."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawl_runs import crawl, states
from support.loopback import Web, html

from lycosa.cli.identity import identity
from lycosa.errors import UsageError
from lycosa.fetch import web_bot_auth
from lycosa.fetch.web_bot_auth import Signer, check_card, make_identity, read_agents, thumbprint, verify


@pytest.fixture
def made(tmp_path: Path) -> Path:
    make_identity(tmp_path / "bot", agent="https://bot.test/", name="spider", contact="me@bot.test")
    return tmp_path / "bot"


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def keys(folder: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((folder / web_bot_auth.DIRECTORY).read_text())["keys"]
    return found


def fields(lines: tuple[str, ...]) -> dict[str, str]:
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def test_an_identity_is_a_secret_key_and_what_a_site_publishes(made: Path) -> None:
    assert stat.S_IMODE((made / "key.json").stat().st_mode) == 0o600
    secret = json.loads((made / "key.json").read_text())
    assert secret["d"] not in (made / web_bot_auth.DIRECTORY).read_text() + (made / "card.json").read_text()
    assert keys(made)[0]["kid"] == thumbprint(secret)
    assert check_card(json.loads((made / "card.json").read_text()), "https://bot.test/card.json") == ""
    with pytest.raises(UsageError, match="is not overwritten"):
        make_identity(made, agent="https://bot.test", name="spider", contact="me@bot.test")
    with pytest.raises(UsageError, match="must be a site of yours"):
        make_identity(made / "x", agent="http://bot.test", name="spider", contact="me@bot.test")


def test_a_signature_holds_for_its_host_its_time_and_its_key(made: Path, tmp_path: Path) -> None:
    sent = fields(Signer(str(made)).headers("https://sand.test:8443/a?b", 1000.0))
    assert read_agents(sent["signature-agent"])[0].uri == "https://bot.test"
    assert verify(sent, "sand.test:8443", keys(made), 1100.0) == ""
    assert "does not fit" in verify(sent, "other.test", keys(made), 1100.0)
    assert "holds from" in verify(sent, "sand.test:8443", keys(made), 2000.0)
    forged = {**sent, "signature-agent": sent["signature-agent"].replace("bot.test", "evil.test")}
    assert "does not fit" in verify(forged, "sand.test:8443", keys(made), 1100.0)
    make_identity(tmp_path / "other", agent="https://bot.test", name="spider", contact="me@bot.test")
    assert "no key has" in verify(sent, "sand.test:8443", keys(tmp_path / "other"), 1100.0)


@pytest.mark.parametrize(
    "given", ["", "x", 'sig1=("@method");tag="web-bot-auth"', 'sig1=("@authority");tag="other"', "a=(" * 9999]
)
def test_what_is_no_signature_is_told_and_raises_nothing(given: str) -> None:
    assert verify({"signature-input": given, "signature": "sig1=:AA==:"}, "sand.test", [], 1.0)


def test_a_crawl_signs_each_request_once_it_has_an_identity(web: Web, made: Path, tmp_path: Path) -> None:
    """robots.txt and pages alike; the archive holds no signature, and without an identity nothing is sent."""
    web["sand.test/"] = html("/a")
    web["sand.test/a"] = html(text="a")
    crawl(web, tmp_path / "plain", "http://sand.test/")
    assert not any("signature" in asked.headers or "from" in asked.headers for asked in web.asked)
    web.asked.clear()
    crawl(web, tmp_path / "signed", "http://sand.test/", "--set", f"fetch.identity={made}")
    assert set(states(tmp_path / "signed").values()) == {"fetched"}
    assert len(web.asked) == 3
    for asked in web.asked:
        at = int(asked.headers["signature-input"].partition("created=")[2].partition(";")[0])
        assert verify(asked.headers, "sand.test", keys(made), at) == ""
        assert asked.headers["from"] == "test@lycosa.test"


def test_a_folder_without_a_key_is_refused_before_anything_is_asked(web: Web, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = crawl(web, tmp_path / "c", "http://sand.test/", "--set", f"fetch.identity={tmp_path / 'empty'}", code=2)
    assert "lycosa identity DIR makes one" in told
    assert web.asked == []


def test_the_verb_makes_and_checks(made: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    words = [str(tmp_path / "new"), "--agent", "https://bot.test", "--contact", "me@bot.test"]
    done = run(identity, words, standalone_mode=False)
    assert "give it to nobody" in done.output
    sent = fields(Signer(str(made)).headers("https://sand.test/", 1000.0))
    row = {name.replace("-", "_"): value for name, value in sent.items()}
    row |= {"target_url": "https://sand.test/", "created_ms": 1000_000, "key": keys(made)[0]}
    (tmp_path / "requests.json").write_text(json.dumps([row, {**row, "target_url": "https://x.test/"}]))
    done = run(identity, ["--check", str(tmp_path / "requests.json")], standalone_mode=False)
    assert done.return_value == 1
    assert done.output.splitlines() == [
        "https://sand.test/: the signature holds",
        "https://x.test/: the signature does not fit the request and the key",
    ]
