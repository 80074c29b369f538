"""Addresses: one representation each, resolved alike on the fast and the slow way, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.config.settings import UrlSettings
from lycosa.urls import (
    MAX_CHARS,
    Cleaner,
    Resolver,
    file_name,
    host_of,
    host_pattern,
    normalise,
    origin_of,
    parse,
    registered_domain,
    strip_session,
    url_id,
)

# Pieces that addresses go wrong on, to build strings that are nearly addresses.
PIECES = [
    *("http://", "https://", "HTTP://", "http:", "ftp://", "//", "/", "/", "\\", "..", "../", "./", ".", "?", "#", "&"),
    *(
        "=",
        "%20",
        "%2e",
        "%2E",
        "%41",
        "%7e",
        "%",
        "%zz",
        "%2F",
        "%2f",
        "%%34%31",
        " ",
        "\t",
        "\n",
        "é",
        "例え",
        "xn--",
    ),
    *(
        "www.",
        "example",
        ".com",
        ".org",
        "EXAMPLE",
        "a",
        "b",
        "x.html",
        "a-b",
        "_",
        "~",
        "1",
        "0x7f",
        "127.0.0.1",
        "1.2",
    ),
    *(
        ":80",
        ":443",
        ":8080",
        ":0",
        ":65536",
        ":60001",
        "@",
        "user:pw@",
        "[::1]",
        "[",
        "]",
        "|",
        "^",
        "{",
        '"',
        "'",
        "<",
    ),
    *("`", "!", "$", ";", "*", "+", ",", "(", ")", "mailto:", "javascript:", "data:", "\x00", "\x1f", "\x7f", "\ud800"),
]
NEARLY = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
BASES = st.sampled_from(
    [
        "http://example.com/",
        "http://example.com/a/b/c.html?q=1/2",
        "https://h.org:8080/x//y/",
        "http://EXAMPLE.com./%7ea/%2fb",
        "ftp://f/a/b",
        "http://[::1]/a/",
        "http://1.2.3.4/q?x",
        "http://u:p@h.com/d/e",
        "mailto:x",
        "",
    ]
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:8080/a", "http://example.com:8080/a"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/%7euser/%41%2fb", "http://example.com/~user/A%2Fb"),
        ("http://example.com/a%2eb", "http://example.com/a.b"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/?q=%3d%41", "http://example.com/?q=%3DA"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com.:81/", "http://example.com:81/"),
        ("http://127.0.0.1../", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://bücher.example/ü?ß", "http://xn--bcher-kva.example/%C3%BC?%C3%9F"),
        ("  http://example.com/\n", "http://example.com/"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
        ("ftp://example.com:21/x", "ftp://example.com/x"),
    ],
)
def test_spellings_of_one_address_become_one(written: str, meant: str) -> None:
    """Case, ports, dots, escapes, fragments and international names have one written form."""
    assert normalise(written) == meant


@pytest.mark.parametrize(
    "text",
    ["", "example.com", "/a", "mailto:a@example.com", "javascript:void(0)", "data:text/html,x", "file:///etc/passwd"]
    + ["http://", "http://./", "http://a b/", "http://exa\ud800mple/", "http://a:99999/", "http://[::1", "ws://a/"],
)
def test_what_is_no_web_address_is_none(text: str) -> None:
    """Other schemes, relative references and broken strings give None, not an exception."""
    assert normalise(text) is None


def test_credentials_never_stay_in_an_address() -> None:
    """User name and password are dropped, also when the base has them."""
    assert normalise("https://ana:secret@example.com/x") == "https://example.com/x"
    assert normalise("y", "https://ana:secret@example.com/x") == "https://example.com/y"
    assert Resolver().resolve("y", "https://ana:s%40cret@example.com/x") == "https://example.com/y"


def test_credentials_that_disguise_the_host_make_no_address() -> None:
    """Where parsers disagree on which host is meant, none is; an e-mail address as a user name is harmless."""
    for text in ("http://127.0.0.1%2f@example.com/", "http://a.test%5C@b.test/", "http://a.test%23@b.test:80/x"):
        assert normalise(text) is None
        assert Resolver().resolve(text, "http://a.test/") is None
    assert normalise("http://ana%40mail.test:x@example.com/") == "http://example.com/"


def test_stray_percent_signs_do_not_turn_into_escapes() -> None:
    """An escape behind a stray % stays as it is; decoded, the two would say something new."""
    assert normalise("http://example.com/%%34%31") == "http://example.com/%%34%31"
    assert normalise("http://example.com/%4%31") == "http://example.com/%4%31"
    assert normalise("http://example.com/%zz%41") == "http://example.com/%zzA"


def test_huge_strings_are_no_addresses() -> None:
    """Megabytes end at once, whether in the path, the host or a run of dots."""
    for text in ("http://a/" + "x" * 3_000_000, "http://" + "a." * 1_000_000, "http://a/" + "../" * 1_000_000):
        assert normalise(text) is None
        assert Resolver().resolve(text, "http://a/") is None
    assert normalise("http://a/" + "é" * (MAX_CHARS // 2)) is None
    assert normalise("http://" + "a." * 126 + "b/") is not None
    assert normalise("http://" + "a." * 130 + "b/") is None
    assert Resolver().resolve("data:image/png;base64," + "A" * 3_000_000, "http://a/") is None


@settings(max_examples=500, deadline=None)
@given(NEARLY | st.text())
@example("http://a./b")
def test_normalising_is_idempotent_and_never_raises(text: str) -> None:
    """What comes out is ASCII, parses to itself, and normalises to itself."""
    url = normalise(text)
    if url is not None:
        assert url.isascii()
        assert parse(url) == url
        assert normalise(url) == url
        assert host_of(url)
        assert origin_of(url).startswith(url.partition("://")[0])
        registered_domain(host_of(url))
        file_name(url)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NEARLY | st.text(max_size=20), BASES), min_size=1, max_size=30))
def test_the_resolver_agrees_with_the_standard(links: list[tuple[str, str]]) -> None:
    """Remembered, concatenated or parsed, a link resolves to what the WHATWG parse of it against its base gives."""
    resolver = Resolver(entries=20)
    for href, base in links + links:
        trimmed = href.strip("".join(map(chr, range(33))))
        expected = None if not trimmed or trimmed[0] == "#" else normalise(href, normalise(base))
        if (parsed := parse(href.partition("#")[0])) and normalise(base) is None:
            expected = normalise(parsed)
        assert resolver.resolve(href, base) == expected


@settings(max_examples=500, deadline=None)
@given(
    st.from_regex(
        r"(https?://[a-z0-9_\-]{1,5}\.[a-z0-9\-]{1,5}(:[0-9]{1,6})?)?(/|\.\./|\./)?[!-~]{0,20}", fullmatch=True
    )
)
def test_plain_addresses_need_no_parser(href: str) -> None:
    """Printable ASCII, the common case, takes the short way only where that gives the parser's answer."""
    base = "http://example.com/a/b/c?d"
    expected = None if not href or href[0] == "#" else normalise(parse(href, base) or "")
    assert Resolver().resolve(href, base) == expected


@pytest.mark.parametrize(
    ("href", "meant"),
    [
        ("", None),
        ("#top", None),
        (" #top", None),
        ("?page=2", "http://example.com/a/b/c.html?page=2"),
        (" ?page=2", "http://example.com/a/b/c.html?page=2"),
        ("d.html#x", "http://example.com/a/b/d.html"),
        ("../d.html", "http://example.com/a/d.html"),
        ("../../../../d.html", "http://example.com/d.html"),
        ("./", "http://example.com/a/b/"),
        ("..", "http://example.com/a/"),
        ("/d", "http://example.com/d"),
        ("//other.example/d", "http://other.example/d"),
        ("http:e", "http://example.com/a/b/e"),
        ("JavaScript:void(0)", None),
        ("tel:+123", None),
        ("https://Other.example", "https://other.example/"),
    ],
)
def test_links_of_a_page(href: str, meant: str | None) -> None:
    """Every form of link resolves, the first time and from memory; fragments of the page itself are left out."""
    resolver = Resolver()
    for _ in range(2):
        assert resolver.resolve(href, "http://example.com/a/b/c.html?x=1") == meant


def test_links_that_depend_on_the_page_are_not_remembered_for_the_folder() -> None:
    """`?x` and its odd spellings mean another address on each page of a folder."""
    resolver = Resolver()
    for href in ("?x", " ?x", "http:?x", "h\nttp:?x", "HTTP:?x"):
        assert resolver.resolve(href, "http://a.example/d/one") == "http://a.example/d/one?x"
        assert resolver.resolve(href, "http://a.example/d/two") == "http://a.example/d/two?x"


def test_the_resolver_forgets_before_it_grows() -> None:
    """However many links and folders it meets, it remembers no more than it was told to, and no long ones."""
    resolver = Resolver(entries=100)

    def held() -> int:
        memos = [resolver._absolute, *resolver._roots.values(), *resolver._folders.values()]
        return sum(map(len, memos)) + len(memos)

    for n in range(1000):
        for href in (f"/{n}", f"{n}", f"http://h{n}.example/", "x" * 10_000 + str(n)):
            assert resolver.resolve(href, f"http://a.example/{n}/")
            assert held() <= 105


def test_identity_is_a_signed_number_of_64_bits() -> None:
    """Equal addresses have equal ids, and every id fits a database integer."""
    ids = {url_id(f"http://example.com/{n}") for n in range(2000)}
    assert len(ids) == 2000
    assert min(ids) < 0 < max(ids)
    assert all(-(1 << 63) <= number < 1 << 63 for number in ids)


def test_parts_of_an_address() -> None:
    """Host without port and brackets, origin with its port, file name with the index rule."""
    assert host_of("http://example.com:8080/a") == "example.com"
    assert host_of("http://[::1]:8080/a") == "::1"
    assert host_of("https://[::1]/") == "::1"
    assert origin_of("http://example.com/a:1/") == "http://example.com:80"
    assert origin_of("https://example.com/") == "https://example.com:443"
    assert origin_of("http://[::1]/") == "http://[::1]:80"
    assert origin_of("http://[::1]:81/") == "http://[::1]:81"
    names = {"/": "index.html", "/a/": "index.html", "/a": "index.html", "/a.pdf": "a.pdf", "/a.b/c": "index.html"}
    names |= {"/x.php?f=y.pdf": "x.php", "/a?b/c.d": "index.html", "/.hidden": "index.html", "/a.": "index.html"}
    for path, name in names.items():
        assert file_name("http://example.com" + path) == name


def test_registered_domains() -> None:
    """The public suffix list decides; addresses and suffixes have no registered domain."""
    assert registered_domain("a.b.example.co.uk") == "example.co.uk"
    assert registered_domain("example.com") == "example.com"
    for host in ("com", "co.uk", "localhost", "127.0.0.1", "::1", "2001:db8::1.2.3.4"):
        assert registered_domain(host) is None


@pytest.mark.parametrize(
    ("written", "cleaned"),
    [
        ("/a;jsessionid=1A2B?x=1", "/a?x=1"),
        ("/a;JSESSIONID=1A2B/b", "/a/b"),
        ("/..;jsessionid=1/b", "/b"),
        ("/(S(abcdefghijklmnopqrstuvwx))/page.aspx", "/page.aspx"),
        ("/a?PHPSESSID=0a1b&x=1", "/a?x=1"),
        ("/a?x=1&ASPSESSIONIDQABC=0a", "/a?x=1"),
        ("/a?CFID=1&CFTOKEN=2", "/a"),
        ("/a?sid=0a0b0c0d", "/a"),
        ("/article?sid=1234", "/article?sid=1234"),
        ("/a?s=0123456789abcdef0123456789abcdef", "/a"),
        ("/a?s=shoes", "/a?s=shoes"),
        ("/a?x=1;jsessionid=AB&y=2", "/a?x=1&y=2"),
        ("/a?session=3", "/a?session=3"),
        ("/a?x&&y", "/a?x&&y"),
    ],
)
def test_session_ids_are_dropped(written: str, cleaned: str) -> None:
    """By the names that servers use, and short names only with the value of a token."""
    url = "http://example.com" + written
    assert Cleaner(UrlSettings(drop_session=True)).clean(normalise(url) or "") == "http://example.com" + cleaned
    if written == cleaned:
        assert strip_session(url) is url


def test_tracking_and_named_parameters_are_dropped() -> None:
    """Names match whatever their case; the question mark goes with the last parameter."""
    clean = Cleaner(UrlSettings(drop_tracking=True, drop=("Ref",))).clean
    assert clean("http://a.example/?utm_source=x&b=2&fbclid=y&UTM_medium=z&ref=q&a=1") == "http://a.example/?b=2&a=1"
    assert clean("http://a.example/?gclid=1") == "http://a.example/"
    assert clean("http://a.example/?preference=1") == "http://a.example/?preference=1"


def test_parameters_are_sorted_by_name() -> None:
    """Values under one name keep their order; empty parameters go."""
    assert (
        Cleaner(UrlSettings(sort_query=True)).clean("http://a.example/?b=1&&a=2&a=1&")
        == "http://a.example/?a=2&a=1&b=1"
    )


def test_without_settings_nothing_is_cleaned() -> None:
    """The default mission keeps every parameter."""
    url = "http://a.example/;jsessionid=1?utm_source=x&b&&a"
    assert Cleaner(UrlSettings()).clean(url) is url
    assert Cleaner(UrlSettings()).idle
    assert not Cleaner(UrlSettings(drop=("x",))).idle


def test_the_resolver_cleans() -> None:
    """A cleaner given to the resolver acts on every form of link."""
    resolver = Resolver(Cleaner(UrlSettings(drop_session=True)))
    base = "http://a.example/d/p"
    for href in ("http://a.example/d/q;jsessionid=1", "/d/q?sid=0a0b0c0d", "q?sid=0a0b0c0e", "q?PHPSESSID=1"):
        assert resolver.resolve(href, base) == "http://a.example/d/q"
    assert resolver.resolve("?sid=0a0b0c0d", base) == base


NOISY = st.lists(
    st.sampled_from(
        [
            ";jsessionid=",
            ";sid=",
            "sid=",
            "PHPSESSID=",
            "&",
            "&",
            "?",
            "=",
            "/",
            "/..",
            ";",
            "utm_x=",
            "fbclid",
            "a",
            "b",
        ]
        + ["0a0b0c0d", "/(S(abcdefghijklmnopqrstuvwx))", "%2F", "1", "s=", "session=", "cfid", "."]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=500, deadline=None)
@given(NOISY, st.booleans(), st.booleans(), st.booleans())
def test_cleaning_is_idempotent(tail: str, session: bool, tracking: bool, sort: bool) -> None:
    """A cleaned address is normalised, and cleaning it again changes nothing."""
    clean = Cleaner(UrlSettings(drop_session=session, drop_tracking=tracking, sort_query=sort, drop=("b",))).clean
    url = normalise("http://a.example/" + tail)
    assert url is not None
    cleaned = clean(url)
    assert normalise(cleaned) == cleaned
    assert clean(cleaned) == cleaned


def test_patterns_of_hosts() -> None:
    """Parts of a name that are not ASCII get their xn-- form; patterns and what is no name stay, in lower case."""
    assert host_pattern("*.Bücher.test") == "*.xn--bcher-kva.test"
    for text in ("", "*", "*.a.test", "a?.test", "[ab].test", "b*ü.test", "\ufffd.test", "::1", "127.0.0.1"):
        assert host_pattern(text.upper()) == text
