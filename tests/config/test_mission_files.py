"""Missions: TOML, layers, origins, errors, secrets, and the way back into a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.config.fields import all_fields, dotted, env_name, host_fields, split
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.setting_docs import meanings, table
from lycosa.config.settings import LimitSettings, Mission
from lycosa.config.toml import find_lines
from lycosa.config.value_parsers import (
    ConnectTo,
    Wrong,
    check_hint,
    check_term,
    parse_connect_to,
    parse_duration,
    parse_size,
)
from lycosa.errors import UsageError
from lycosa.missions import registry

ROOT = Path(__file__).resolve().parents[2]

GOOD = r"""
seeds = ["http://www.example.org/", "example.com"]
scope = "host-scope"
accept = ['\.html$']

[limits]
pages = 100
time_s = "1h30m"
html_bytes = "2 MB"

[fetch]
delay_s = 0
connect_to = ["*=127.0.0.1:8080"]
allow_private = ["10.1.2.3/8", "::1"]

[hosts."WWW.Example.org"]
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


def test_without_a_file_every_setting_is_a_default() -> None:
    """Nothing given: the defaults, and that is what the origins say."""
    settled = load()
    assert settled.mission == Mission()
    assert set(settled.origin.values()) == {"default"}


def test_a_toml_mission_is_read(tmp_path: Path) -> None:
    """Values arrive typed, units are understood, older names are known, hosts are normalised."""
    mission = load(write(tmp_path, GOOD)).mission
    assert mission.seeds == ("http://www.example.org/", "example.com")
    assert mission.scope == "host"
    assert mission.accept == (r"\.html$",)
    assert mission.limits == LimitSettings(pages=100, time_s=5400.0, html_bytes=2_000_000)
    assert mission.fetch.delay_s == 0.0
    assert mission.fetch.allow_private == ("10.0.0.0/8", "::1/128")
    rule = mission.hosts["www.example.org"]
    assert (rule.robots, rule.user, rule.password, rule.cookies) == ("ignore", "ana", "hush", {"sid": "42"})


@pytest.mark.parametrize(
    ("text", "line", "found", "allowed"),
    [
        ("\n[limits]\npages = 'many'", 3, '"many"', "a whole number"),
        ("[limits]\npages = true", 2, "true", "a whole number"),
        ("[limits]\npages = 1.5", 2, "1.5", "a whole number"),
        ("[limits]\npages = 99999999999999999999", 2, "9999", "a whole number"),
        ("[limits]\ntime_s = 'soon'", 2, '"soon"', "1h30m"),
        ("[limits]\nbody_bytes = '10 MX'", 2, '"10 MX"', "10 MB"),
        ("[fetch]\ndelay_s = nan", 2, "nan", "0 or more"),
        ("[fetch]\ndelay_s = -1", 2, "-1", "0 or more"),
        ("[fetch]\nper_host = 0", 2, "0", "from 1 to 10000"),
        ("[fetch]\nidle_timeout_s = 0", 2, "0", "greater than 0"),
        ("[fetch]\nverify = 'yes'", 2, '"yes"', "true or false"),
        ("[fetch]\nconnect_to = ['a=b']", 2, '"a=b"', "HOST[:PORT]=ADDRESS:PORT"),
        ("[fetch]\nallow_private = ['10.0.0']", 2, '"10.0.0"', "10.0.0.0/8"),
        ("[fetch]\nca = '/no/such/file'", 2, "/no/such/file", "there is none"),
        ("[fetch]\nproxy = 'ftp://x'", 2, "ftp://x", "socks5"),
        ("[log]\nlevel = 3", 2, "3", "from 0 to 2"),
        ("[agent]\nname = 'my bot'", 2, '"my bot"', "letters"),
        ("[agent]\ncontact = 'nobody'", 2, '"nobody"', "e-mail"),
        ('[agent]\nheader = "a\\r\\nb"', 2, "a", "one line"),
        ("[keep]\ncollection = ''", 2, '""', "a folder"),
        ("scope = 'hots'", 1, '"hots"', "did you mean host?"),
        ("scope = 3", 1, "3", "free, domain, host, path"),
        ("seeds = ['http://a.org/',\n\n'mailto:x@y.org']", 3, "•••@y.org", "http://"),
        ("seeds = 7", 1, "7", "a list of texts"),
        ("accept = [\n'ok',\n'(',\n]", 3, '"("', "missing )"),
        ("accept = ['*.pdf']", 1, '"*.pdf"', r".*\.pdf"),
        ("reject = ['a(?=b)']", 1, "a(?=b)", "no look-around"),
        ("reject = [1]", 1, "1", "a text in quotes"),
        ('["hosts"."a.org"]\nrobots = "obye"', 2, '"obye"', "obey, ignore"),
        ('[hosts."a.org:80"]\nrobots = "obey"', 2, "obey", "without scheme, port or path"),
        ('[hosts."a.org"]\nheaders = { "X y" = "1" }', 2, "1", "a name of letters"),
        ("limits = 3", 1, "limits", "[limits]"),
        ("seeds = [\n'a.org'\n", 2, "", "not valid TOML"),
        ("a = 1\na = 2\n", 2, "a = 2", "not valid TOML"),
        ('accept = ["\\.html"]', 1, "html", "single quotes"),
        ("[limits]\nlife = 1979-05-27", 2, "life", "pages, time_s"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(tmp_path: Path, text: str, line: int, found: str, allowed: str) -> None:
    """File, line, what was found, what is allowed: each stands in the error."""
    said = complaint(tmp_path, text)
    assert said.startswith(f"mission.toml:{line}: "), said
    assert found in said
    assert allowed in said


@pytest.mark.parametrize(
    ("text", "line", "meant"),
    [
        ("scop = 'host'", 1, "scope"),
        ("\n[limits]\npage = 3", 3, "limits.pages"),
        ("[limits]\ntime = 3", 2, "limits.time_s"),
        ("pages = 3", 1, "limits.pages"),
        ("limts.pages = 3", 1, "limits"),
        ("include = ['x']", 1, "accept"),
        ('[hosts."a.org"]\npasword = "x"', 2, 'hosts."a.org".password'),
    ],
)
def test_a_mistyped_key_is_named_with_the_nearest(tmp_path: Path, text: str, line: int, meant: str) -> None:
    """The key that was meant is suggested, and the allowed ones are listed."""
    said = complaint(tmp_path, text)
    assert said.startswith(f"mission.toml:{line}: unknown setting ")
    assert f"(did you mean {meant}" in said
    assert "; allowed" in said


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("scope = 'host'\n\n[limit]\n# so many\npages = 3", 3, "unknown setting limit (did you mean limits"),
        ("\n[a.b.c]\nd = 3", 2, "unknown setting a; allowed"),
        ("a.b.c = 3", 1, "unknown setting a; allowed"),
        ('\n[hosts."A.test:80"]\nrobots = "maybe"', 3, '"A.test:80" in hosts."A.test:80".robots = "maybe" cannot be'),
        ('[hosts."a.org"]\nheaders = { "X y" = "1" }', 2, '"X y" in hosts."a.org".headers."X y" = "1" cannot'),
        ('[hosts."*"]\nuser = "u"', 2, '"*" in hosts."*".user = "u" cannot be; allowed: credentials for named'),
    ],
)
def test_what_is_wrong_about_a_key_is_named(tmp_path: Path, text: str, line: int, told: str) -> None:
    """An unknown section with the line of its header, and of a wrong name in a key that name."""
    said = complaint(tmp_path, text)
    assert said.startswith(f"mission.toml:{line}: {told}"), said


def test_a_table_of_any_names_says_so() -> None:
    """Who gives a value to the headers of a host is shown how one of them is written."""
    with pytest.raises(UsageError, match=r'hosts\."a\.test"\.headers is a section; allowed: .*\.headers\.NAME$'):
        load(sets=["hosts.a.test.headers=x"])


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Ten problems are shown and the rest counted, so that one run is enough to mend a file."""
    said = complaint(tmp_path, "workers = -1\naccept = [\n" + "'(',\n" * 12 + "]\n")
    assert len(said.splitlines()) == 11
    assert "mission.toml:12: accept" not in said
    assert said.endswith("… and 3 more")


def test_lines_are_found_in_any_layout() -> None:
    """Multi-line strings, inline tables, dotted keys, quoted keys and comments do not confuse the count."""
    text = '''# [not] = a table
a."b c".d = """
x = 1
""" # text
[t] # [u]
"k\\u0031" = [
  'one', # ]
  [ 2,
    3 ],
  { x = { y = 1 }, z = "}" },
]
[[rows]]
v = 1.5
[[rows]]
v = [{ w = 1 },
  { w = 2 }]
[rows.inner]
x = 1
'''
    lines = find_lines(text)
    assert lines["a", "b c", "d"] == 2
    assert lines[("t",)] == 5
    assert lines["t", "k1"] == 6
    assert [lines["t", "k1", n] for n in range(3)] == [7, 8, 10]
    assert lines["t", "k1", 1, 1] == 9
    assert lines["t", "k1", 2, "x", "y"] == 10
    assert lines[("rows",)] == lines["rows", 0] == 12
    assert lines["rows", 0, "v"] == 13
    assert lines["rows", 1, "v", 1, "w"] == 16
    assert lines["rows", 1, "inner", "x"] == 18


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfes\x00", "UTF-16"),
        (b"scope\x00 = 1", ":1: found a NUL byte"),
        (b"name = 'a'\nscope = '\xe4'", ":2: found the byte e4"),
        (b"x = " + b"[" * 5000, "nested too deeply"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    """Garbage ends in a sentence."""
    path = tmp_path / "m.toml"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        load(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file, a folder and a collection's folder are told apart."""
    with pytest.raises(UsageError, match="no such file.*did you mean mirror"):
        load(Path("miror"))
    with pytest.raises(UsageError, match="is a folder"):
        load(tmp_path)
    write(tmp_path, "", "lycosa.toml")
    with pytest.raises(UsageError, match="its mission is .*lycosa.toml"):
        load(tmp_path)


def test_missions_are_found_by_name() -> None:
    """A built-in mission is called by its name; an address is no mission."""
    assert load(Path("mirror")).mission.keep.mirror == "mirror"
    assert load(find_mission("mirror")).origin["keep.mirror"].startswith("mirror.toml:")
    assert find_mission("http://example.org/a.toml") is None
    assert find_mission("example.org") is None
    assert find_mission("own.toml") == Path("own.toml")
    assert find_mission("\0") is None
    for path in (Path(str(mission.defaults)) for mission in registry.ours()):
        load(path)


def test_the_examples_load() -> None:
    """Every example is a mission that loads, but for the readers of one."""
    missions = [path for path in (ROOT / "examples").glob("*.toml") if path.name != "readers.toml"]
    found = [*missions, ROOT / "examples" / "Crawler.conf"]
    assert len(found) > 2
    for path in found:
        assert load(path).mission.seeds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("250ms", 0.25),
        ("2d", 172800),
        ("1:30", 5400),
        ("1:30:05", 5405),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Durations as people write them."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("10 MB", 10**7), ("10MiB", 10 << 20), ("1.5k", 1500), ("2 GiB", 2 << 30), ("1 tb", 10**12)],
)
def test_sizes(text: str, size: int) -> None:
    """MB is a million bytes, MiB is 2^20."""
    assert parse_size(text) == size


def test_connect_to() -> None:
    """HOST[:PORT]=ADDRESS:PORT with stars and IPv6."""
    assert parse_connect_to("*=127.0.0.1:80") == ConnectTo("*", 0, "127.0.0.1", 80)
    assert parse_connect_to("A.org:443=[::1]:8443") == ConnectTo("a.org", 443, "::1", 8443)
    assert parse_connect_to("[::2]:80=backend:81") == ConnectTo("::2", 80, "backend", 81)
    for bad in (
        "",
        "a",
        "a=",
        "a=b",
        "=b:1",
        "a=b:0",
        "a=b:99999",
        "a:99999=b:1",
        "http://a=b:1",
        "a=::1:80",
        "a=b:1=c:2",
    ):
        with pytest.raises(Wrong):
            parse_connect_to(bad)


def test_hosts_on_the_way_have_the_form_of_the_network() -> None:
    """International names in connect-to and of proxies, of all hosts and of one, are written as they are looked up."""
    assert parse_connect_to("Bücher.test=größe.test:81") == ConnectTo("xn--bcher-kva.test", 0, "xn--gre-6ka8i.test", 81)
    for bad in ("a\ufffd.test=127.0.0.1:1", "a.test=\ufffd:1"):
        with pytest.raises(Wrong, match="the name of a host"):
            parse_connect_to(bad)
    proxy = "socks5h://zoë:pä%20ss@Bücher.test:1080"
    sent = "socks5h://zo%C3%AB:p%C3%A4%20ss@xn--bcher-kva.test:1080"
    mission = load(overrides={"fetch.proxy": proxy, 'hosts."a.test".proxy': "bücher.test"}).mission
    assert (mission.fetch.proxy, mission.hosts["a.test"].proxy) == (sent, "xn--bcher-kva.test")
    assert load(overrides={"fetch.proxy": "http://Proxy.test:8080/"}).mission.fetch.proxy == "http://Proxy.test:8080/"
    with pytest.raises(UsageError, match="the name of a host"):
        load(overrides={"fetch.proxy": "http://a\ufffd.test:1"})


def test_terms_and_hints() -> None:
    """Several words or one, and after = how often they count."""
    for good in ("web services", "capabilities=10", "wms-c", "a=.5", "mapas = 2", "login=-2", "a=1e3"):
        assert check_term(good) == good
    for hint in ("geoportal", "χάρτες", " gis=2"):
        assert check_hint(hint) == hint
    for bad in ("", " ", "=3", "ab=", "ab=b", "ab=1=2", "ab=nan", "ab=inf"):
        with pytest.raises(Wrong):
            check_term(bad)
        with pytest.raises(Wrong, match="a single word"):
            check_hint(bad)
    for several in ("web services", "wms-c=2", "x"):
        with pytest.raises(Wrong):
            check_hint(several)


def test_dotted_keys_split_as_they_join() -> None:
    """`split` undoes `dotted`, and guesses a host's name where the quotes are missing."""
    for path in [("limits", "pages"), ("hosts", "a.org", "robots"), ("hosts", "*.a.org", "headers", "X-Y")]:
        assert split(dotted(path)) == path
    assert split("hosts.a.org.headers.X.Y") == ("hosts", "a.org", "headers", "X.Y")
    assert split("hosts.a.org.delay_s") == ("hosts", "a.org", "delay_s")


def test_every_setting_has_a_meaning_and_a_variable_of_its_own() -> None:
    """No setting without a docstring; no two settings share an environment variable."""
    known = meanings()
    for path in all_fields():
        assert known[dotted(path)]
    for name in [*host_fields(), "headers", "cookies"]:
        assert known[f"hosts.{name}"]
    assert len({env_name(path) for path in all_fields()}) == len(all_fields())


def test_every_setting_is_documented() -> None:
    """docs/settings.md holds the table that the settings themselves make."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert table() in text, (
        "docs/settings.md is out of date: python -m lycosa.config.setting_docs prints the new tables"
    )
