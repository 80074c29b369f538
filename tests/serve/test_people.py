"""People: what each role may do, by session, token and proxy; every change is written down."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_client import PageAnswer, ServeClient, serving

from lycosa.errors import UsageError
from lycosa.serve.application import ROUTES
from lycosa.serve.passwords import PasswordGate, hash_password
from lycosa.serve.people import People
from lycosa.serve.server_state import ServeSettings

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")
WORDS = {"rita": "rita's password", "eda": "eda's password", "olga": "olga's password"}
ROLES = {"rita": "reader", "eda": "editor", "olga": "owner"}
PROXY = ServeSettings(folder=Path(), user_header="X-User", proxies=("127.0.0.1",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("people")
    make_collection(root / "news", [PAGE])
    people = People(root)
    for name in reversed(ROLES):
        people.keep(name, role=ROLES[name], password=WORDS[name])
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder, ServeSettings(folder=folder, password=hash_password("the one password"))) as client:
        yield client


def basic(name: str, word: str = "") -> dict[str, str]:
    pair = base64.b64encode(f"{name}:{word or WORDS[name]}".encode()).decode()
    return {"authorization": f"Basic {pair}"}


def send(client: ServeClient, who: dict[str, str], path: str, **fields: str) -> PageAnswer:
    """Send a form as somebody, with the token that their pages have."""
    found = re.search(r'name="token" value="(\w+)"', client.request("GET", "/people", headers=who).text)
    body = "&".join(f"{key}={text}" for key, text in {**fields, "token": found[1] if found else ""}.items())
    form = {"content-type": "application/x-www-form-urlencoded", "origin": client.address, **who}
    return client.request("POST", path, headers=form, body=body.encode())


def post_routes() -> list[tuple[str, str]]:
    return [
        (line.path.replace("{name}", "news"), line.needed_role({"mission": "xml", "page": ""}))
        for line in ROUTES
        if line.method == "POST" and line.needed_role({"mission": "xml", "page": ""})
    ]


@pytest.mark.parametrize(("path", "needed"), post_routes())
def test_each_change_needs_its_role(client: ServeClient, path: str, needed: str) -> None:
    """A role that is not enough is refused before anything is looked at; one that is gets further."""
    order = list(ROLES.values())
    for name, role in ROLES.items():
        if order.index(role) >= order.index(needed):
            continue
        answer = send(client, basic(name), path)
        assert answer.status == 403 and f"It needs the role {needed}." in answer.text, (name, path)
    assert client.request("GET", "/", headers=basic("rita")).status == 200


def test_an_account_logs_in_by_name_and_its_end_counts_at_once(client: ServeClient, folder: Path) -> None:
    """As does another role; the one password is an owner's, and nobody is told whether a name exists."""
    People(folder).keep("temp", role="reader", password="a short stay")
    page = client.get("/login")
    assert 'name="person"' in page.text
    words = {"cookie": page.headers["set-cookie"].partition(";")[0]}
    for name, word in (("temp", "wrong password"), ("nobody", "a short stay"), ("temp", "the one password")):
        assert send_login(client, words, name, word).status == 401, name
    cookie = {"cookie": send_login(client, {}, "temp", "a short stay").headers["set-cookie"].partition(";")[0]}
    assert client.request("GET", "/", headers=cookie).status == 200
    assert client.request("GET", "/log", headers=cookie).status == 403
    People(folder).keep("temp", role="owner")
    assert client.request("GET", "/log", headers=cookie).status == 200
    People(folder).keep("temp", role="owner", password="another password")
    assert client.request("GET", "/index.json", headers=cookie).status == 401
    cookie = {"cookie": send_login(client, {}, "temp", "another password").headers["set-cookie"].partition(";")[0]}
    assert client.request("GET", "/log", headers=cookie).status == 200
    People(folder).remove("temp")
    assert client.request("GET", "/index.json", headers=cookie).status == 401
    assert client.request("GET", "/log", headers=basic("lycosa", "the one password")).status == 200


def send_login(client: ServeClient, headers: dict[str, str], name: str, word: str) -> PageAnswer:
    return client.post("/login", {"person": name, "password": word}, page="/login", headers=headers)


def test_a_token_does_what_its_role_allows(client: ServeClient, folder: Path) -> None:
    """It is shown once, kept as a hash, never more than its person, and dropped by its person."""
    assert send(client, basic("eda"), "/people/token", label="too-much", role="owner").status == 422
    made = send(client, basic("eda"), "/people/token", label="backup", role="reader")
    token = re.search(r"lycosa_[\w-]{40,}", made.text)
    assert token and token[0] not in (folder / ".lycosa/people.json").read_text()
    program = {"authorization": f"Bearer {token[0]}"}
    assert client.request("GET", "/c/news/index.json", headers=program).status == 200
    assert send(client, program, "/c/news/crawl/stop").status == 403
    assert send(client, program, "/people/token", label="more", role="editor").status == 422
    assert token[0] not in client.request("GET", "/people", headers=basic("olga")).text
    assert send(client, basic("eda"), "/people/token/delete", label="backup").status == 303
    assert client.request("GET", "/index.json", headers=program).status == 401


def test_every_change_is_written_down(client: ServeClient, folder: Path) -> None:
    """Who, in which role, from where, what, and how it went; no passwords."""
    assert send(client, basic("eda"), "/c/news/crawl/stop").status == 303
    found = client.request("GET", "/log.json", headers=basic("olga")).json["changes"][0]
    assert {key: found[key] for key in ("user", "role", "client", "path", "status")} == {
        "user": "eda", "role": "editor", "client": "127.0.0.1", "path": "/c/news/crawl/stop", "status": 303,
    }  # fmt: skip
    text = (folder / ".lycosa/log.jsonl").read_text()
    assert not any(word in text for word in WORDS.values())
    assert (folder / ".lycosa/people.json").stat().st_mode & 0o077 == 0


def test_a_proxy_says_who_asks_from_its_address_alone(folder: Path) -> None:
    """Whoever has no account does not come in; forms of each have tokens of their own."""
    with serving(folder, PROXY) as client:
        assert client.request("GET", "/people", headers={"x-user": "rita"}).status == 200
        assert client.request("GET", "/index.json", headers={"x-user": "mallory"}).status == 401
        assert client.request("GET", "/index.json").status == 401
        assert send(client, {"x-user": "eda"}, "/c/news/crawl/stop").status == 303
        token = re.search(
            r'name="token" value="(\w+)"', client.request("GET", "/people", headers={"x-user": "rita"}).text
        )
        form = {"content-type": "application/x-www-form-urlencoded", "x-user": "olga"}
        body = f"token={token[1] if token else ''}&person=rita".encode()
        assert client.request("POST", "/people/delete", headers=form, body=body).status == 403
    far = ServeSettings(folder=folder, user_header="X-User", proxies=("192.0.2.1",))
    with serving(folder, far) as client:
        assert client.request("GET", "/index.json", headers={"x-user": "olga"}).status == 401


def test_an_owner_is_always_left(tmp_path: Path) -> None:
    """The first account is one, and the last is not removed; what cannot be read lets nobody in."""
    people = People(tmp_path)
    with pytest.raises(UsageError, match="first account"):
        people.keep("rita", role="reader", password="a long password")
    people.keep("olga", role="owner", password="a long password")
    with pytest.raises(UsageError, match="first account|owner must be left"):
        people.keep("olga", role="reader")
    people.keep("rita", role="reader", password="a long password")
    with pytest.raises(UsageError, match="owner must be left"):
        people.remove("olga")
    with serving(tmp_path) as client:
        assert client.get("/index.json").status == 401
        file = tmp_path / ".lycosa/people.json"
        good = json.loads(file.read_text())
        odd = [{**good[0], "role": "king"}, {**good[0], "password": "scrypt$x"}]
        for text in (json.dumps({"not": "a list"}), "", *(json.dumps([one]) for one in odd), None):
            file.unlink()
            if text is not None:
                file.write_text(text)
            for path in ("/", "/login", "/index.json", "/static/app.css"):
                answer = client.request("GET", path, headers=basic("olga", "a long password"))
                assert answer.status == 503, (path, text)
                assert "nobody is let in" in answer.text and "people.json" in answer.text
                assert str(tmp_path) not in answer.text
        file.write_text(json.dumps(good))
        assert client.request("GET", "/index.json", headers=basic("olga", "a long password")).status == 200


def test_the_only_account_is_not_removed(tmp_path: Path) -> None:
    """A server without a password would be open to everybody again."""
    people = People(tmp_path)
    people.keep("olga", role="owner", password="a long password")
    with pytest.raises(UsageError, match="owner must be left"):
        people.remove("olga")
    assert "olga" in people.all()


def test_whose_account_ends_while_it_logs_in_is_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not who has the one password."""
    people = People(tmp_path)
    for name in ("olga", "rita"):
        people.keep(name, role=ROLES[name], password=WORDS[name])
    right = PasswordGate.try_password

    def slowly(gate: PasswordGate, *given: str, **more: str) -> bool:
        found = right(gate, *given, **more)
        people.remove("rita")
        return found

    monkeypatch.setattr(PasswordGate, "try_password", slowly)
    with serving(tmp_path) as client:
        cookie = {"cookie": send_login(client, {}, "rita", WORDS["rita"]).headers["set-cookie"].partition(";")[0]}
        assert client.request("GET", "/index.json", headers=cookie).status == 401
