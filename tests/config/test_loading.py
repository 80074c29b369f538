"""Layers of settings: environment, command line, origins, secrets, and the way back into a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.config.fields import all_fields, dotted, env_name
from lycosa.config.host_rules import MASK, without_secrets
from lycosa.config.loading import OPTIONS, LoadedMission, load
from lycosa.config.setting_docs import describe
from lycosa.config.settings import (
    AgentSettings,
    ExtractSettings,
    FetchSettings,
    HostRule,
    KeepSettings,
    LimitSettings,
    LogSettings,
    Mission,
    RecrawlSettings,
    TrapSettings,
    UrlSettings,
)
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError

SECRETIVE = r"""
seeds = ["http://www.example.org/"]

[limits]
pages = 100

[fetch]
proxy = "ana:hush@proxy.example.org:3128"

[hosts."www.example.org"]
robots = "ignore"
user = "ana"
password = "hush"
headers = { "X-Team" = "red", Authorization = "Bearer abc" }
cookies.sid = "42"
proxy = "http://ana:hush@proxy.example.org:3128"
"""


def write(folder: Path, text: str, name: str = "mission.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(folder: Path, text: str, name: str = "mission.toml") -> str:
    with pytest.raises(UsageError) as caught:
        load(write(folder, text, name))
    return str(caught.value).replace(f"{folder}/", "")


def test_every_layer_wins_over_the_one_before(tmp_path: Path) -> None:
    """Defaults < file < environment < --set < options, and each value knows where it came from."""
    file = write(tmp_path, 'scope = "host"\n\n[limits]\npages = 1\ndepth = 1\nhost_pages = 1\n')
    settled = load(
        file,
        environ={"LYCOSA_LIMITS_DEPTH": "2", "LYCOSA_LIMITS_HOST_PAGES": "2", "LYCOSA_SHARED": "/x", "HOME": "/"},
        sets=["limits.host_pages=3", "workers=2"],
        overrides={"workers": 4, "order": None},
    )
    mission = settled.mission
    assert (mission.scope, mission.order, mission.workers) == ("host", "bfs", 4)
    assert mission.limits == LimitSettings(pages=1, depth=2, host_pages=3)
    assert settled.origin["limits.pages"] == f"{file}:4"
    assert settled.origin["limits.depth"] == "LYCOSA_LIMITS_DEPTH"
    assert settled.origin["limits.host_pages"] == "--set"
    assert settled.origin["workers"] == "--workers"
    assert settled.origin["order"] == "default"


def test_environment_variables(tmp_path: Path) -> None:
    """Typed by the setting; empty ones count as not set; lists and hosts have a form; unknown ones are named."""
    mission = load(
        environ={
            "LYCOSA_FETCH_VERIFY": "no",
            "LYCOSA_FETCH_DELAY_S": "250ms",
            "LYCOSA_SEEDS": "a.org http://b.org/?x=1,2",
            "LYCOSA_ACCEPT": "[0-9]{1,3}[a-z]",
            "LYCOSA_URLS_DROP": "ref,lang",
            "LYCOSA_SCOPE": "",
            "LYCOSA_HOSTS": '{ "a.org" = { password = "x" } }',
        }
    ).mission
    assert mission.fetch == FetchSettings(verify=False, delay_s=0.25)
    assert mission.seeds == ("a.org", "http://b.org/?x=1,2")
    assert mission.accept == ("[0-9]{1,3}[a-z]",)
    assert mission.urls.drop == ("ref", "lang")
    assert mission.hosts["a.org"].password == "x"
    with pytest.raises(UsageError, match=r"LYCOSA_LIMIT_PAGES.*did you mean LYCOSA_LIMITS_PAGES"):
        load(environ={"LYCOSA_LIMIT_PAGES": "3"})
    with pytest.raises(UsageError, match=r'LYCOSA_SCOPE: scope is "x"; allowed: free'):
        load(environ={"LYCOSA_SCOPE": "x"})
    with pytest.raises(UsageError) as caught:
        load(environ={"LYCOSA_HOSTS": '{ "a.org" = { password = "x" '})
    assert '"x"' not in str(caught.value)


def test_set_on_the_command_line() -> None:
    """Dotted keys, typed; a list grows by repeating, or is a TOML array; a host needs no quotes."""
    mission = load(
        sets=[
            "limits.body_bytes=1 GiB",
            "accept=a{1,2}",
            r"accept=\.html$",
            'reject=["x", "y"]',
            "fetch.allow_private=10.0.0.0/8,127.0.0.1",
            "hosts.www.example.org.robots=ignore",
            'hosts."*.example.org".headers.X-Team=a=b',
        ]
    ).mission
    assert mission.limits.body_bytes == 1 << 30
    assert mission.accept == ("a{1,2}", r"\.html$")
    assert mission.reject == ("x", "y")
    assert mission.fetch.allow_private == ("10.0.0.0/8", "127.0.0.1/32")
    assert mission.hosts == {
        "www.example.org": HostRule(robots="ignore"),
        "*.example.org": HostRule(headers={"X-Team": "a=b"}),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pages", "allowed: KEY=VALUE"),
        ("=1", "no key"),
        ("limit.pages=1", r"did you mean limits\.pages"),
        ("limits=1", "is a section"),
        ("hosts.a.org.robot=obey", r"did you mean hosts\.\"a\.org\"\.robots"),
        ("fetch.verify=maybe", "true or false"),
        ("keep.mirror=\udc80", "UTF-8"),
    ],
)
def test_set_with_a_mistake(text: str, said: str) -> None:
    """A mistake after --set is told as one in a file is."""
    with pytest.raises(UsageError, match=f"--set: .*{said}"):
        load(sets=[text])


def test_options_are_named_as_people_typed_them() -> None:
    """An option's value is checked like any other; the error and the origin name the option."""
    settled = load(overrides={"limits.pages": 5, "accept": ["a,b", "c"], "fetch.ca": None, "keep.mirror": Path("m")})
    assert settled.mission.accept == ("a,b", "c")
    assert settled.mission.keep.mirror == "m"
    assert (settled.origin["limits.pages"], settled.origin["accept"]) == ("--limit", "--include")
    with pytest.raises(UsageError, match=r'--max-time: limits.time_s is "later"'):
        load(overrides={"limits.time_s": "later"})
    with pytest.raises(UsageError, match="unknown setting limits.page"):
        load(overrides={"limits.page": 1})
    assert set(OPTIONS) <= {dotted(path) for path in all_fields()}


def test_a_program_gives_tables() -> None:
    """Sections and rules of hosts may be given as mappings, and are checked as in a file."""
    rule = {"robots": "ignore", "headers": {"X-Team": "red"}}
    mission = load(
        overrides={"limits": {"pages": 3}, "hosts": {"A.org": rule}, 'hosts."b.org".cookies': {"c": "d"}}
    ).mission
    assert mission.limits.pages == 3
    assert mission.hosts == {
        "a.org": HostRule(robots="ignore", headers={"X-Team": "red"}),
        "b.org": HostRule(cookies={"c": "d"}),
    }
    with pytest.raises(UsageError, match=r"limits: unknown setting limits.page \(did you mean"):
        load(overrides={"limits": {"page": 3}})


def test_credentials_are_for_named_hosts(tmp_path: Path) -> None:
    """A header may go to every host; a password, a cookie or a token may not."""
    file = write(tmp_path, '[hosts."*"]\nheaders = { "Accept-Language" = "de" }\ndelay_s = 2')
    assert load(file).mission.hosts["*"].headers == {"Accept-Language": "de"}
    for line in ('user = "a"', 'password = "a"', 'cookies = { a = "b" }', 'headers = { Authorization = "x" }'):
        assert "named hosts only" in complaint(tmp_path, f'[hosts."*"]\n{line}')


def test_describe_masks_secrets(tmp_path: Path) -> None:
    """`lycosa check` shows key, value, origin and meaning of everything, and no secret."""
    file = write(tmp_path, SECRETIVE)
    rows = {row.key: row for row in describe(load(file))}
    assert set(rows) >= {dotted(path) for path in all_fields()}
    assert (rows["limits.pages"].value, rows["limits.pages"].origin) == ("100", f"{file}:5")
    assert rows["limits.pages"].meaning.startswith("pages stored")
    assert rows["limits.depth"].origin == "default"
    host = 'hosts."www.example.org"'
    assert rows[f"{host}.headers.X-Team"].value == '"red"'
    for secret in (f"{host}.password", f"{host}.cookies.sid", f"{host}.headers.Authorization"):
        assert rows[secret].value == MASK
    assert rows[f"{host}.proxy"].value == f'"http://{MASK}@proxy.example.org:3128"'
    assert "hush" not in str(rows.values())
    assert all(row.meaning for row in rows.values())


def test_errors_do_not_show_secrets(tmp_path: Path) -> None:
    """A wrong password is not printed, neither as a value nor in a line that is no TOML."""
    assert "hush" not in complaint(tmp_path, '[hosts."a.org"]\npassword = "hush\\n"')
    assert "hush" not in complaint(tmp_path, '[hosts."a.org"]\npassword = "hush')
    assert "hush" not in complaint(tmp_path, '[hosts."a.org"]\ncookies = { a = "hush;" }')


def test_secrets_are_not_written_down(tmp_path: Path) -> None:
    """The file in a collection holds everything but secrets, and says so."""
    mission = load(write(tmp_path, SECRETIVE)).mission
    text = to_toml(mission)
    assert "hush" not in text and "Bearer" not in text and "42" not in text
    assert "# left out: password, cookies.sid, headers.Authorization, user and password of proxy" in text
    again = load(write(tmp_path, text, "again.toml")).mission
    assert again == without_secrets(mission)
    assert again.hosts["www.example.org"].headers == {"X-Team": "red"}


_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_items = st.lists(_text.filter(str.strip), max_size=4).map(tuple)
_patterns = st.lists(st.sampled_from([r"\.html$", "a|b", "[^/]+\"'\\\\", "é"]), max_size=3).map(tuple)
_whole = st.integers(-(2**53), 2**53)
_span = st.floats(0, 2**53).map(float)
_rules = st.builds(
    HostRule,
    robots=st.sampled_from([None, "obey", "ignore"]),
    delay_s=st.none() | _span,
    per_host=st.none() | st.integers(1, 10_000),
    user=st.sampled_from(["", "ana", "é"]),
    headers=st.dictionaries(st.sampled_from(["X-A", "X.B", "x!"]), st.sampled_from(["", "a", '"\\']), max_size=2),
    proxy=st.sampled_from([None, "", "socks5://a.org:1"]),
)
_missions = st.builds(
    Mission,
    name=st.sampled_from(["mirror", "x-1"]),
    seeds=st.lists(st.sampled_from(["a.org", "https://b.org/?q=é"]), max_size=3).map(tuple),
    scope=st.sampled_from(["free", "domain", "host", "path"]),
    order=st.sampled_from(["bfs", "dfs", "best"]),
    accept=_patterns,
    reject=_patterns,
    quarry=st.sampled_from(["", "/a b/q.py:Q", "/q.py", "package.module:Q"]),
    workers=st.integers(0, 256),
    limits=st.builds(
        LimitSettings, pages=_whole, time_s=st.floats(-(2**53), 2**53), depth=_whole, html_bytes=st.integers(1, 2**53)
    ),
    agent=st.builds(AgentSettings, name=st.just("bot"), contact=st.sampled_from(["", "a@b.org"])),
    fetch=st.builds(FetchSettings, delay_s=_span, connect_to=st.just(("*=[::1]:80",)), robots=st.just("ignore")),
    urls=st.builds(UrlSettings, drop_session=st.booleans(), drop=_items),
    traps=st.builds(TrapSettings, calendar=st.integers(0, 2**53)),
    keep=st.builds(KeepSettings, collection=_text.filter(str.strip), mirror=_text, index=_text),
    log=st.builds(LogSettings, file=_text, level=st.integers(0, 2)),
    extract=st.builds(ExtractSettings, workers=st.integers(0, 256), timeout_s=st.floats(0.1, 1e6)),
    recrawl=st.builds(RecrawlSettings, period_h=_span),
    hosts=st.dictionaries(st.sampled_from(["a.org", "*.b.org", "::1", "localhost"]), _rules, max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(_missions)
def test_a_mission_written_down_loads_as_itself(tmp_path_factory: pytest.TempPathFactory, mission: Mission) -> None:
    """What `to_toml` writes, `load` reads back, whatever the values are."""
    path = tmp_path_factory.getbasetemp() / "round.toml"
    path.write_text(to_toml(mission), encoding="utf-8", newline="")
    assert load(path).mission == mission


_pieces = st.sampled_from(
    [
        "[limits]\n",
        "pages",
        " = ",
        "1",
        '"',
        "'''",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "#",
        "hosts.a.b",
        "seeds",
        "\\",
        "=",
        "é",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.lists(_pieces, max_size=20).map("".join))
def test_arbitrary_text_never_breaks_the_loader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A file either loads or is refused with a sentence."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert isinstance(load(path), LoadedMission)
    except UsageError as error:
        assert str(error)


_values = st.recursive(
    st.text(max_size=5) | st.integers() | st.booleans() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(all_fields())), _values)
def test_arbitrary_values_are_settled_or_refused(path: tuple[str, ...], value: object) -> None:
    """Any value for any setting: a mission that holds it, or a sentence that names the setting."""
    try:
        load(overrides={dotted(path): value})
    except UsageError as error:
        assert dotted(path) in str(error)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(all_fields())), st.text(max_size=12))
def test_arbitrary_environment_is_settled_or_refused(path: tuple[str, ...], text: str) -> None:
    """Any text in any variable of ours: a mission, or a sentence that names the variable."""
    try:
        load(environ={env_name(path): text})
    except UsageError as error:
        assert str(error).startswith(env_name(path))


def test_a_quarry_is_looked_up_from_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a mission file from its folder, on the command line from the one we work in; a module is left as it is."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = write(tmp_path, 'quarry = "q.py:Q"\n')
    assert load(file).mission.quarry == f"{tmp_path}/q.py:Q"
    assert load(file, sets=["quarry=../r.py"]).mission.quarry == f"{tmp_path}/r.py"
    monkeypatch.chdir(tmp_path)
    # The collection stores it, and is opened from anywhere.
    assert load(Path(file.name)).mission.quarry == f"{tmp_path}/q.py:Q"
    assert load(file, sets=["quarry=r.py:Q"]).mission.quarry == f"{tmp_path}/r.py:Q"
    assert load(write(tmp_path, 'quarry = "package.q:Q"')).mission.quarry == "package.q:Q"
    for wrong in ("q", "a b:Q", "q.py:1", ":Q"):
        assert "quarry is" in complaint(tmp_path, f'quarry = "{wrong}"')
