"""The four scopes (T6): what a set of seeds opens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.judge.admission.rules import Kind, Scope
from lycosa.urls import host_of


def admits(kind: Kind, seeds: list[str], url: str) -> bool:
    return Scope(kind, seeds).admits(url, host_of(url)).ok


def test_free_admits_every_host() -> None:
    """A free crawl has no border."""
    assert admits("free", ["http://a.example/"], "https://elsewhere.test/x")


def test_the_seed_domain_set_drops_hosts_below_others() -> None:
    """Of three seeds the one above the other two makes the set, and what lies below any of them is in."""
    names = ("foo1.domain.com", "foo2.foo1.domain.com", "foo3.foo1.domain.com")
    scope = Scope("domain", [f"http://{name}/index.html" for name in names])
    assert scope.hosts == {"foo1.domain.com"}
    for host in (*names, "foo4.foo1.domain.com", "a.b.foo1.domain.com"):
        assert scope.admits(f"https://{host}/x", host).ok
    for host in ("domain.com", "foo2.domain.com", "xfoo1.domain.com", "com"):
        verdict = scope.admits(f"http://{host}/", host)
        assert (verdict.ok, verdict.reason) == (False, "scope")
        assert "foo1.domain.com" in verdict.detail


def test_addresses_lie_below_nothing() -> None:
    """An IP address is a host of its own: the dots in it make no domains."""
    assert not admits("domain", ["http://0.0.1/", "http://2.3.4.example/"], "http://1.0.0.1/")
    assert not admits("domain", ["http://[::1]/"], "http://[::2]/")
    assert admits("domain", ["http://[::1]/"], "https://[::1]/x")
    assert not admits("domain", ["http://[::1]/"], "http://[::1]:8080/x")


def test_host_admits_the_seeds_hosts_alone() -> None:
    """Neither subdomains nor parents."""
    seeds = ["http://www.sample.com/a/", "http://other.test/"]
    assert admits("host", seeds, "http://www.sample.com/b")
    assert admits("host", seeds, "https://other.test/")
    assert not admits("host", seeds, "http://sample.com/")
    assert not admits("host", seeds, "http://a.www.sample.com/")


@pytest.mark.parametrize("kind", ["domain", "host", "path"])
def test_another_port_is_another_place(kind: Kind) -> None:
    """A site that moves to https stays in its scope; what answers at another port of its host is something else."""
    seeds = ["http://www.sample.com/a/", "http://other.test:8080/a/"]
    inside = ("https://www.sample.com/a/b", "http://www.sample.com:443/a/b", "https://other.test:8080/a/b")
    outside = (
        "https://www.sample.com:8443/a/b",
        "http://other.test/a/b",
        "http://other.test:80/a/",
        "http://x.test/a/",
    )
    for url in inside:
        assert admits(kind, seeds, url), url
    for url in outside:
        assert not admits(kind, seeds, url), url
    assert "port 8443 of www.sample.com" in Scope(kind, seeds).admits(outside[0], "www.sample.com").detail
    assert admits(kind, [*seeds, "https://www.sample.com:8443/a/"], outside[0])  # a seed there opens it
    anywhere = Scope(kind, seeds, ports="any")
    assert [anywhere.admits(url, host_of(url)).ok for url in outside] == [True, True, True, False]
    scope = Scope(kind, seeds)
    assert scope.widen(["http://www.sample.com:8443/a/"])  # a seed has moved there
    assert scope.admits(outside[0], "www.sample.com").ok
    assert admits("free", seeds, outside[0])


def test_hosts_below_have_the_usual_ports_and_the_seeds() -> None:
    """A seed at another port opens the ordinary sites of its domain as well."""
    seeds = ["http://sample.com:8080/"]
    assert admits("domain", seeds, "http://www.sample.com/")
    assert admits("domain", seeds, "http://www.sample.com:8080/")
    assert not admits("domain", seeds, "http://www.sample.com:9090/")
    assert not admits("domain", seeds, "http://sample.com/")


@pytest.mark.parametrize(
    ("seed", "inside", "outside"),
    [
        ("/index.html", ["/", "/x", "/path/y"], []),
        ("/", ["/", "/path/y?q"], []),
        ("", ["/", "/path/y"], []),
        (
            "/path/index.html",
            ["/path/", "/path/x", "/path/a/b?c/d"],
            ["/", "/path", "/paths/", "/other/path/", "/?/path/"],
        ),
        ("/path/", ["/path/", "/path/x"], ["/path", "/pathological"]),
        ("/path", ["/", "/other"], []),
        ("/a/b/c?x=/y/", ["/a/b/", "/a/b/z"], ["/a/", "/a/c", "/y/"]),
    ],
)
def test_path_admits_what_lies_below_the_seeds_folder(seed: str, inside: list[str], outside: list[str]) -> None:
    """A seed of depth 1 opens its whole host; a deeper one the folder that it lies in."""
    seeds = [f"http://www.sample.com{seed}"]
    for path in inside:
        assert admits("path", seeds, f"http://www.sample.com{path}")
        assert not admits("path", seeds, f"http://sub.www.sample.com{path}")
    for path in outside:
        assert not admits("path", seeds, f"http://www.sample.com{path}")


def test_path_counts_every_seed_of_a_host() -> None:
    """Two seeds on one host open two folders, and the refusal names them."""
    scope = Scope("path", ["http://a.example/x/1.html", "http://a.example/y/", "http://b.example/"])
    assert scope.admits("http://a.example/x/2", "a.example").ok
    assert scope.admits("http://a.example/y/2", "a.example").ok
    assert scope.admits("http://b.example/z", "b.example").ok
    refusal = scope.admits("http://a.example/z", "a.example")
    assert refusal.reason == "scope"
    assert "/x/, /y/" in refusal.detail


@pytest.mark.parametrize("kind", ["domain", "host", "path"])
def test_a_scope_is_widened_by_what_it_does_not_admit(kind: Kind) -> None:
    """A seed that moved opens its place as if it had been named first; one inside opens nothing."""
    scope = Scope(kind, ["http://a.test/x/"])
    assert not scope.admits("http://b.test/y/1", "b.test").ok
    assert not scope.widen(["http://a.test/x/2"])
    assert scope.widen(["http://a.test/x/2", "http://b.test/y/"])
    assert scope.admits("http://b.test/y/1", "b.test").ok and scope.admits("http://a.test/x/1", "a.test").ok
    assert not scope.admits("http://c.test/", "c.test").ok


def test_a_scope_stays_small() -> None:
    """However many foreign hosts are asked about, only so many are remembered."""
    scope = Scope("host", ["http://a.example/"])
    for n in range(100_050):
        scope.admits("", f"h{n}.test")
    assert len(scope._known) <= 100_000


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join), min_size=1, max_size=6))
def test_every_seed_is_in_its_own_scope(hosts: list[str]) -> None:
    """Whatever hosts the seeds have, no scope shuts one out, and the set has no member below another."""
    seeds = [f"http://{host}/p/" for host in hosts]
    for kind in ("domain", "host", "path"):
        assert all(admits(kind, seeds, seed) for seed in seeds)
    members = Scope("domain", seeds).hosts
    assert not [(a, b) for a in members for b in members if a.endswith("." + b)]
