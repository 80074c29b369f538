"""What a robots.txt permits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.fetch.robots import MAX_BYTES, MAX_LINE, Robots, condense, robots_from_answer

SITE = "https://example.org"


def allows(body: str | bytes, path: str, agent: str = "lycosa") -> bool:
    raw = body.encode() if isinstance(body, str) else body
    return Robots.parse(raw).allows(SITE + path, agent)


def group(*rules: str) -> str:
    return "User-agent: *\n" + "\n".join(rules)


def test_longest_rule_decides_and_allow_wins_a_tie() -> None:
    """The rule with the longest pattern decides; of two equally long ones, the one that allows."""
    body = group("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c", "Allow: /t", "Disallow: /t")
    assert [allows(body, path) for path in ("/x", "/a", "/a/b", "/a/b/c/d", "/t")] == [True, False, True, False, True]


def test_stars_count_for_the_length() -> None:
    """Length is that of the pattern as written, stars included, wherever they stand."""
    assert not allows(group("Disallow: /a***", "Allow: /ab"), "/abc")
    assert allows(group("Disallow: /a***", "Allow: /abcd"), "/abcd")
    assert not allows(group("Allow: /page", "Disallow: /*.html"), "/page.html")


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("/fish", ["/fish", "/fish.html", "/fish/a", "/fishes?x"], ["/Fish", "/a/fish", "/", "/fis"]),
        ("/fish*", ["/fish", "/fishes"], ["/cat"]),
        ("/fish/", ["/fish/", "/fish/?q"], ["/fish", "/fish.html"]),
        ("/*.php", ["/a.php", "/a/b.php5?x"], ["/php", "/a.PHP"]),
        ("/*.php$", ["/a.php", "/.php.php"], ["/a.php?x", "/a.php/"]),
        ("/fish*.php", ["/fish.php", "/fishes/a.php?x"], ["/Fish.php", "/fish.ph"]),
        ("/only$", ["/only"], ["/only/", "/a/only", "/onl"]),
        ("/a$b", ["/a$b", "/a$bc"], ["/a", "/ab"]),
        ("/a$*", ["/a$", "/a$b"], ["/a", "/ab"]),
        ("/x*a$*", ["/xa$", "/x.a$b"], ["/xa", "/x.a"]),
        ("/a*$", ["/a", "/abc"], ["/b"]),
        ("*x", ["/x", "/a/xb"], ["/a"]),
        ("/*ab*ba$", ["/abba", "/xabyba"], ["/aba", "/ab", "/abbab"]),
        ("fish", [], ["/fish", "/"]),
        ("$", [], ["/", "/a"]),
    ],
)
def test_patterns(pattern: str, hits: list[str], misses: list[str]) -> None:
    """A pattern is bound to the start of the path; * stands for anything, $ for the end if it comes last."""
    body = group(f"Disallow: {pattern}")
    assert [path for path in hits if allows(body, path)] == []
    assert [path for path in misses if not allows(body, path)] == []


def test_empty_disallow_allows_everything() -> None:
    """A Disallow without a pattern is no rule, but its group counts."""
    assert allows("User-agent: *\nDisallow: /\n\nUser-agent: lycosa\nDisallow:\n", "/a")


def test_own_group_comes_before_the_general_one() -> None:
    """Rules for * are ignored when the file has a group for the agent, wherever it stands."""
    body = "User-agent: lycosa\nDisallow: /mine\n\nUser-agent: *\nDisallow: /\n"
    assert allows(body, "/a") and not allows(body, "/mine") and not allows(body, "/a", "other")


def test_groups_for_one_agent_are_merged() -> None:
    """Several groups for one agent are one group, and one group may be for several agents."""
    body = (
        "User-agent: lycosa\nDisallow: /a\nUser-agent: x\nUser-agent: Lycosa\nDisallow: /b\nUser-agent: y\nDisallow: /c"
    )
    assert [allows(body, path) for path in ("/a", "/b", "/c")] == [False, False, True]
    assert [allows(body, path, "X") for path in ("/a", "/b", "/c")] == [True, False, True]


def test_other_lines_do_not_close_a_group() -> None:
    """Crawl-delay, Sitemap and unknown lines between User-agent lines leave the group open; blank lines do too."""
    body = "User-agent: a\nCrawl-delay: 5\n\nSitemap: /s.xml\nHost: x\nUser-agent: lycosa\nDisallow: /x\n"
    assert not allows(body, "/x") and not allows(body, "/x", "a")


def test_rules_before_any_agent_are_ignored() -> None:
    """A rule that no User-agent line precedes binds nobody."""
    assert allows("Disallow: /\n\nUser-agent: x\nDisallow: /", "/a")


@pytest.mark.parametrize("agent", ["lycosa", "LYCOSA", "Lycosa/1.0", "lycosa/0.1 (+https://example.org/bot)"])
def test_agent_is_its_product_token(agent: str) -> None:
    """Version, comment and case of an agent do not matter, in the file or in the question."""
    for line in ("lycosa", "Lycosa/2.1", "LYCOSA (comment)", "lycosa bot"):
        assert not allows(f"User-agent: {line}\nDisallow: /", "/", agent)
    for line in ("lyco", "lycosabot", "lycosa-news", "bot lycosa"):
        assert allows(f"User-agent: {line}\nDisallow: /", "/", agent)


def test_agents_with_digits_are_told_apart() -> None:
    """A name with digits is no product token of RFC 9309, but its whole word still finds its group."""
    body = "User-agent: bot1\nDisallow: /a\n\nUser-agent: bot2\nDisallow: /b\n"
    assert [allows(body, "/a", "bot1"), allows(body, "/b", "bot1"), allows(body, "/a", "bot2/3")] == [False, True, True]


def test_star_followed_by_words_is_the_general_group() -> None:
    """`User-agent: * # all` and `* everyone` are for all, `*bot` is for nobody."""
    assert not allows("User-agent: * everyone\nDisallow: /", "/")
    assert allows("User-agent: *bot\nDisallow: /", "/")


@pytest.mark.parametrize(
    "line",
    ["Disallow:/x", "disallow : /x", "DISALLOW /x", "dissallow: /x", "dissalow: /x", "disalow: /x", "diasllow: /x",
     "disallaw: /x", "Disallowed: /x", "\tDisallow:\t/x  # why", "Disallow: /x\0y"],
)  # fmt: skip
@pytest.mark.parametrize("agent", ["User-agent: *", "useragent: *", "user agent: *", "USER-AGENT *", "User-agents:*"])
def test_misspellings_count(line: str, agent: str) -> None:
    """Frequent misspellings, missing colons, odd spaces and comments are understood."""
    assert not allows(f"{agent}\n{line}\n", "/x/1")


@pytest.mark.parametrize(
    "line", ["Disallow", "Disallow /x y", ": /x", "No-disallow: /x", "#Disallow: /x", "\0Disallow: /x"]
)
def test_what_is_no_rule_is_skipped(line: str) -> None:
    """Lines that cannot be understood say nothing."""
    assert allows(f"User-agent: *\n{line}\n", "/x")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b"\n\r", b"\r\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_line_ends_and_byte_order_marks(end: bytes, mark: bytes) -> None:
    """Every line end and even a damaged byte order mark is read."""
    assert not allows(mark + b"User-agent: *" + end + b"Disallow: /x", "/x")


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_when_it_says_so(coding: str) -> None:
    """A UTF-16 file with a byte order mark is understood, one without has no rules."""
    body = ("\ufeff" if coding != "utf-16" else "") + group("Disallow: /x")
    assert not allows(body.encode(coding), "/x")
    assert allows(group("Disallow: /x").encode("utf-16-le"), "/x")


def test_escapes_are_compared_alike() -> None:
    """Case of escapes and raw UTF-8 do not matter; an escaped reserved character stays apart from the bare one."""
    assert not allows(group("Disallow: /caf%c3%a9"), "/caf%C3%A9")
    assert not allows(group("Disallow: /café"), "/caf%c3%a9/x")
    assert not allows(group("Disallow: /caf%C3%A9"), "/café")
    assert not allows(b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9")
    assert allows(group("Disallow: /a%2Fb"), "/a/b")
    assert not allows(group("Disallow: /a%2fb"), "/a%2Fb")


def test_needless_escapes_in_disallow_are_undone() -> None:
    """RFC 9309, 2.2.2: an escaped unreserved character is the character. Never to open what seems closed."""
    assert not allows(group("Disallow: /%7Ejoe/"), "/~joe/a")
    assert not allows(group("Disallow: /%7Ejoe/"), "/%7ejoe/a")
    assert not allows(group("Disallow: /", "Allow: /%7Ejoe/"), "/~joe/a")
    assert allows(group("Disallow: /%2A"), "/a")


def test_rules_with_blanks_and_brackets_bind_what_addresses_write_for_them() -> None:
    """Nobody asks for an address with a blank in it."""
    assert not allows(group("Disallow: /my folder/"), "/my%20folder/x.html")
    assert not allows(group("Disallow: /{{x"), "/%7B%7Bx%7D%7D")


def test_allowed_index_page_opens_its_folder() -> None:
    """`Allow: /a/index.html` also allows /a/, and nothing else below it."""
    body = group("Disallow: /", "Allow: /a/index.html")
    assert [allows(body, path) for path in ("/a/", "/a/index.html", "/a/b", "/")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://h", "/$"),
        ("http://h/", "/$"),
        ("http://h?q", "/?q$"),
        ("http://h/a#f", "/a$"),
        ("http://h#/a", "/$"),
        ("http://h;p", "/;p$"),
        ("http://u@h:8/a;p?q#f", "/a;p?q$"),
        ("http://h/a?u=http://x/y", "/a?u=http://x/y$"),
        ("//h/a", "/a$"),
        ("h/a://b", "/a://b$"),
        ("", "/$"),
        ("http://h/\ud800", "/%ED%A0%80$"),
    ],
)
def test_any_url_has_a_path(url: str, path: str) -> None:
    """Path and query are found in URLs of any form, without the fragment."""
    robots = Robots.parse(group("Disallow: /", f"Allow: {path}").encode())
    assert robots.allows(url, "lycosa"), robots.explain(url, "lycosa")


def test_robots_txt_itself_is_always_allowed() -> None:
    """No rule can close /robots.txt."""
    assert allows(group("Disallow: /"), "/robots.txt") and not allows(group("Disallow: /"), "/robots.txt.bak")
    assert Robots.nothing().allows(SITE + "/robots.txt", "lycosa")


def test_crawl_delay() -> None:
    """The delay is that of the agent's group, the largest if there are several, and bounded."""
    body = (
        "User-agent: *\nCrawl-delay: 7\nDisallow:\n\nUser-agent: a\nCrawl-delay: 1.5\nCrawl-delay: 2.5 s\nAllow: /\n"
        "\nUser-agent: b\nDisallow:\n\nUser-agent: c\ncrawl-delay: 99999999999999999999999\nDisallow: /\n"
        "User-agent: d\nCrawl-delay: -3\nCrawl-delay: soon\nCrawl-delay: nan\nCrawl-delay:\n"
    )
    robots = Robots.parse(body.encode())
    assert [robots.crawl_delay(agent) for agent in ("x", "a", "b", "c", "d")] == [7.0, 2.5, None, 1e9, None]
    assert Robots.everything().crawl_delay("x") is None


def test_sitemaps_anywhere_each_once() -> None:
    """Sitemap lines are collected wherever they stand, in order, without repetition."""
    body = b"Sitemap: http://h/1.xml\nUser-agent: x\nsite-map: /2.xml\nDisallow: /\nSITEMAP /3.xml\n"
    body += b"Sitemap:\nSitemap: http://h/1.xml\nSitemap: /\xff.xml"
    assert Robots.parse(body).sitemaps == ("http://h/1.xml", "/2.xml", "/3.xml", "/\ufffd.xml")


def test_only_the_first_500_kib_count() -> None:
    """Rules within the limit hold; a line that the limit cuts is dropped, because its start may forbid more."""
    filler = b"# " + b"x" * (MAX_BYTES - 60) + b"\n"
    body = b"User-agent: *\nDisallow: /a\n" + filler
    cut = b"Disallow: /" + b"b" * 100 + b"\nDisallow: /c\n"
    assert not allows(body + cut, "/a") and allows(body + cut, "/b") and allows(body + cut, "/c")
    assert allows(b"Disallow: /" * MAX_BYTES, "/")


def test_rules_behind_thousands_of_sitemaps_count() -> None:
    """What no rule needs makes room for the rules; their lines keep their numbers."""
    body = b"# note\n" * 20_000 + b"Sitemap: http://a.test/sitemap.xml\n" * 30_000 + b"User-agent: *\nDisallow: /x\n"
    assert len(body) > 2 * MAX_BYTES
    robots = Robots.parse(condense(body))
    assert not robots.allows("http://a.test/x", "lycosa")
    assert "line 50002" in robots.explain("http://a.test/x", "lycosa")
    assert robots.sitemaps == ("http://a.test/sitemap.xml",)
    assert condense(b"# kept\n") == b"# kept\n"


def test_long_lines_are_cut() -> None:
    """What a line has beyond the limit is ignored."""
    body = b"User-agent: *\nDisallow: /" + b"a" * MAX_LINE * 2 + b"\nDisallow: /b"
    assert not allows(body, "/" + "a" * MAX_LINE) and not allows(body, "/b") and allows(body, "/aa")


@pytest.mark.parametrize(
    ("status", "allowed", "temporary"),
    [(200, False, False), (204, False, False), (301, True, False), (401, True, False), (403, True, False),
     (404, True, False), (410, True, False), (429, False, True), (500, False, True), (503, False, True),
     (0, False, True), (100, False, True), (999, False, True)],
)  # fmt: skip
def test_status_decides_when_there_is_no_file(status: int, allowed: bool, temporary: bool) -> None:
    """RFC 9309, 2.3.1: 4xx and endless redirects allow all, 429, 5xx and silence forbid all for now."""
    robots = robots_from_answer(status, b"User-agent: *\nDisallow: /x")
    assert (robots.allows(SITE + "/x", "lycosa"), robots.temporary) == (allowed, temporary)
    assert bool(robots.reason) == (status not in (200, 204))


def test_explain_names_line_and_rule() -> None:
    """The explanation says what was decided, by which line of the file, for which group."""
    robots = Robots.parse(b"# hello\r\nUser-agent: *\r\n\r\nDisallow: /p\x1b\r\nDisallow: /a\r\nAllow: /a/b\r\n")
    told = [robots.explain(SITE + path, "Lycosa/1") for path in ("/a", "/a/b", "/c", "/robots.txt", "/p\x1b")]
    assert told == [
        "disallowed by line 5 of robots.txt, Disallow: /a (group *)",
        "allowed by line 6 of robots.txt, Allow: /a/b (group *)",
        "allowed: no rule of the group for * matches",
        "allowed: robots.txt itself always is",
        "disallowed by line 4 of robots.txt, Disallow: /p\\x1b (group *)",
    ]
    assert Robots.parse(b"").explain(SITE, "x\x1b") == "allowed: robots.txt has no group for x\\x1b or *"
    assert (
        robots_from_answer(503).explain(SITE, "x")
        == "disallowed: robots.txt answered 503, so nothing is fetched for now"
    )


def test_many_wildcards_stay_cheap() -> None:
    """A file made to cost time is refused for long addresses and read for short ones, with the reason told."""
    rules = b"".join(b"Disallow: *%s%d\n" % (b"a" * 60, number) for number in range(6000))
    robots = Robots.parse(b"User-agent: *\n" + rules)
    url = SITE + "/" + "a" * 2000
    assert robots.allows(SITE + "/b", "lycosa") and not robots.allows(url, "lycosa")
    assert robots.explain(url, "lycosa").startswith("disallowed: robots.txt has too many rules with *")


def test_five_thousand_stars() -> None:
    """A pattern that stops a backtracking matcher is answered."""
    body = group("Disallow: /" + "a*" * 5000 + "b$", "Disallow: /private/")
    assert allows(body, "/" + "a" * 6000) and not allows(body, "/private/x")


def matches(pattern: str, path: str) -> bool:
    """The matcher as the definition has it: all places of the path that the pattern's beginnings reach."""
    places = {0}
    for index, sign in enumerate(pattern):
        if sign == "$" and index == len(pattern) - 1:
            return len(path) in places
        if sign == "*":
            places = set(range(min(places), len(path) + 1)) if places else places
        else:
            places = {place + 1 for place in places if path[place : place + 1] == sign}
    return bool(places)


@settings(max_examples=400, deadline=None)
@given(
    rules=st.lists(st.tuples(st.booleans(), st.text("/ab*$", max_size=6)), max_size=12),
    tails=st.lists(st.text("/ab$", max_size=7), min_size=1, max_size=8),
)
def test_compiled_rules_decide_as_the_definition_does(rules: list[tuple[bool, str]], tails: list[str]) -> None:
    """For any rules and paths the compiled group, the explanation and the plain definition agree."""
    robots = Robots.parse(group(*(f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules)).encode())
    for tail in tails:
        path = "/" + tail
        found = [(len(rule), allow) for allow, rule in rules if rule and matches(rule, path)]
        expected = max(found, default=(0, True))[1]
        assert robots.allows(SITE + path, "lycosa") == expected
        assert robots.explain(SITE + path, "lycosa").startswith("allowed" if expected else "disallowed")


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=300), url=st.text(max_size=40), agent=st.text(max_size=10))
def test_nothing_raises(body: bytes, url: str, agent: str) -> None:
    """Whatever the bytes, the address and the name, there is an answer."""
    robots = Robots.parse(body)
    assert robots.explain(url, agent).startswith("allowed" if robots.allows(url, agent) else "disallowed")
    assert isinstance(robots.sitemaps, tuple)
    assert (robots.crawl_delay(agent) or 0.0) >= 0.0
