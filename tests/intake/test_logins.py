"""Sites behind a log-in: the form is found and filled in, sessions are renewed, and no secret is kept anywhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from support.crawl_runs import crawl, states
from support.loopback import Asked, Reply, Web

from lycosa.errors import UsageError
from lycosa.intake.logins import is_log_out, read_cookie_file

PAGES, LASTS = 30, 8
SECRET = "open-sesame-7"


class Members(Web):
    """Pages for members alone, with a token in the form, sessions that end, and a link that logs out on each page."""

    def __init__(self) -> None:
        super().__init__()
        self.session, self.left, self.made, self.ended_by_link = "", 0, 0, 0
        self.wrong = ""  # what the site does wrong
        self.secrets = {SECRET}

    def answer(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
        if asked.path == "/robots.txt":
            return Reply(b"", 404)
        cookie = f"sid={self.session}" in asked.headers.get("cookie", "") and self.session != ""
        if asked.path == "/logout":
            self.ended_by_link += 1
            self.session = ""
            return redirect("/login")
        if asked.path == "/login":
            return self.log_in(asked)
        if not cookie or self.left <= 0:
            return redirect("/login")
        self.left -= 1
        number = int(asked.path.strip("/p") or 0)
        links = "".join(f"<a href=/p{n}>{n}</a> " for n in (2 * number + 1, 2 * number + 2) if n < PAGES)
        return page(f"<h1>Page {number}</h1><p>For members.</p>{links}<a href=/logout>Sign out</a>")

    def log_in(self, asked: Asked) -> Reply:
        given = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        form = (
            f"<form method=post action=/login><input type=hidden name=token value=t{self.made}>"
            "<input name=mail><input type=password name=word><button name=go value=1>Sign in</button></form>"
        )
        if not given:
            return page(f"<h1>Sign in</h1>{form}")
        right = given == {"token": f"t{self.made}", "mail": "me", "word": SECRET, "go": "1"}
        if not right or self.wrong:
            return page(f"<h1>Sign in</h1><p>That was wrong.</p>{form}")
        self.made += 1
        self.session, self.left = f"session-{self.made}-secret", LASTS
        self.secrets.add(self.session)
        reply = redirect("/p0")
        reply.headers["Set-Cookie"] = f"sid={self.session}; Path=/; HttpOnly"
        return reply


def page(body: str) -> Reply:
    return Reply(f"<html><title>Club</title><body>{body}</body></html>".encode(), headers={"Content-Type": "text/html"})


def redirect(path: str) -> Reply:
    return Reply(b"", 302, {"Location": path})


@pytest.fixture
def web() -> Iterator[Members]:
    server = Members()
    yield server
    server.close()


def mission(folder: Path, password: str) -> str:
    file = folder / "club.toml"
    file.write_text(
        'seeds = ["http://club.test/p0"]\n[hosts."club.test"]\nlogin_url = "http://club.test/login"\nuser = "me"\n'
        f'password = "{password}"\n'
    )
    return str(file)


def test_all_pages_of_members_are_fetched_through_sessions_that_end(web: Members, tmp_path: Path) -> None:
    """Links that log out are not followed, and neither password nor session stands in any file."""
    (tmp_path / "word.txt").write_text(f"{SECRET}\n")
    told = crawl(web, tmp_path / "c", mission(tmp_path, f"file:{tmp_path / 'word.txt'}"), "--workers", "1")
    found = states(tmp_path / "c")
    assert {f"http://club.test/p{n}" for n in range(PAGES)} <= {
        url for url, state in found.items() if state == "fetched"
    }
    assert found["http://club.test/logout"] == "rejected log-out"
    assert web.ended_by_link == 0
    assert web.made >= PAGES // LASTS
    for file in (tmp_path / "c").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not any(secret.encode() in content for secret in web.secrets), file
    assert not any(secret in told for secret in web.secrets)


def test_a_log_in_that_fails_is_told_once_and_nothing_is_fetched(web: Members, tmp_path: Path) -> None:
    """Also where the answer to it is 200."""
    told = crawl(web, tmp_path / "c", mission(tmp_path, "nonsense"), "--set", "fetch.retries=0", code=4)
    assert states(tmp_path / "c")["http://club.test/p0"] == "failed login-failed"
    assert told.count("logging in did not work") >= 1
    assert "are user and password right?" in told
    assert "nonsense" not in told


@pytest.mark.parametrize("password", ["env:LYCOSA_TEST_IS_NOT_SET", "file:/no/such/file"])
@pytest.mark.parametrize("form", [True, False])
def test_a_password_that_cannot_be_read_is_refused_at_once(
    web: Members, tmp_path: Path, password: str, form: bool
) -> None:
    """For the form and for basic authentication: in one sentence, before anything is asked."""
    file = Path(mission(tmp_path, password))
    if not form:
        file.write_text(file.read_text().replace('login_url = "http://club.test/login"\n', ""))
    told = crawl(web, tmp_path / "c", str(file), code=2)
    assert 'The password in [hosts."club.test"]' in told
    assert "cannot be read" in told
    assert web.asked == []


def test_a_broken_cookie_file_is_refused_at_once(web: Members, tmp_path: Path) -> None:
    (tmp_path / "cookies.txt").write_text("club.test FALSE / FALSE 0 sid x\n")
    cookies = f"fetch.cookie_file={tmp_path}/cookies.txt"
    told = crawl(web, tmp_path / "c", "http://club.test/p0", "--set", cookies, code=2)
    assert "line 1, has 1 of 7 fields between tabs" in told
    assert web.asked == []


def test_cookies_of_a_browser_are_where_a_crawl_begins(web: Members, tmp_path: Path) -> None:
    web.session, web.left = "from-the-browser", 10**6
    line = "club.test\tFALSE\t/\tFALSE\t0\tsid\tfrom-the-browser"
    (tmp_path / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\n\n{line}\n")
    crawl(
        web,
        tmp_path / "c",
        "http://club.test/p0",
        "--exclude",
        "logout",
        "--set",
        f"fetch.cookie_file={tmp_path}/cookies.txt",
    )
    assert states(tmp_path / "c")[f"http://club.test/p{PAGES - 1}"] == "fetched"


def test_cookie_files_are_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "cookies.txt").write_text("club.test FALSE / FALSE 0 sid x\n")
    with pytest.raises(UsageError, match="line 1, has 1 of 7 fields between tabs"):
        read_cookie_file(str(tmp_path / "cookies.txt"))
    database = sqlite3.connect(tmp_path / "cookies.sqlite")
    database.execute("CREATE TABLE moz_cookies (host, path, isSecure, expiry, name, value)")
    database.execute("INSERT INTO moz_cookies VALUES ('.club.test', '/', 1, 99, 'sid', 'x')")
    database.commit()
    database.close()
    assert read_cookie_file(str(tmp_path / "cookies.sqlite")) == [".club.test\tTRUE\t/\tTRUE\t99\tsid\tx"]
    (tmp_path / "bad.sqlite").write_bytes(b"x" * 100)
    with pytest.raises(UsageError, match="holds no cookies of Firefox"):
        read_cookie_file(str(tmp_path / "bad.sqlite"))


@pytest.mark.parametrize(
    "url, text, leaves",
    [
        ("http://x.test/logout", "", True),
        ("http://x.test/account?action=signout", "", True),
        ("http://x.test/a", "Abmelden", True),
        ("http://x.test/a", "Cerrar sesión", True),
        ("http://x.test/logoutput.html", "Outputs", False),
        ("http://x.test/news", "Parliament votes on leaving: the log out of the harbour was found by the mayor", False),
    ],
)
def test_links_that_log_out_are_known(url: str, text: str, leaves: bool) -> None:
    assert is_log_out(url, text) is leaves
