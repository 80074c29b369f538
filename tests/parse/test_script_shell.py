"""Empty shells: told from pages that merely have little on them."""

from __future__ import annotations

import pytest

from lycosa.parse import read
from lycosa.parse.script_shell import is_script_shell

SCRIPT = '<script src="/app.js"></script>'


def hollow(page: str) -> bool:
    return is_script_shell(read("http://a.test/", {"content-type": "text/html"}, page.encode()))


@pytest.mark.parametrize(
    "page",
    [
        f'<!DOCTYPE html><html><body><div id="root"></div>{SCRIPT}</body></html>',
        f'<body><noscript>You need to enable JavaScript to run this app.</noscript><div id="main"></div>{SCRIPT}',
        f'<body><noscript>Bitte <a href="https://a.test/js">JavaScript</a> einschalten.</noscript><p>Laden</p>{SCRIPT}',
        '<head><script type="module" src="/assets/index.js"></script></head><body><div id="app"></div></body>',
        '<body><div id="__next"></div><script type="application/json">{"a":1}</script><script>go()</script></body>',
        f"<body><app-root></app-root>{SCRIPT}</body>",
        f'<body ng-app="x"><div ng-view></div>{SCRIPT}</body>',
        f'<body><div id="app"><p>Loading, please wait…</p><a href="/imprint">Imprint</a></div>{SCRIPT}</body>',
        f'<head><link rel="canonical" href="/"><link rel="alternate" href="/de"></head><div id="q-app"></div>{SCRIPT}',
        '<html><head><script>location.href = "/new";</script></head><body></body></html>',
        "<body><script>document.write('all of it')</script></body>",
        f"<body>Loading…{SCRIPT}</body>",
        f'<HTML><BODY><DIV ID="root"></DIV>{SCRIPT.upper()}</BODY></HTML>',
    ],
)
def test_shells(page: str) -> None:
    """An empty root, a plea for JavaScript, or nothing at all, and scripts that would fill it."""
    assert hollow(page)


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<p>Moved.</p>",
        f"<p>Hello.</p>{SCRIPT}",
        '<body><div id="root"></div></body>',  # no script
        f"<p>It works! This is the default web page for this server.</p>{SCRIPT}",
        f'<body><div id="app"><p>{"A page made on the server. " * 20}</p></div>{SCRIPT}</body>',
        f'<body><div id="app">{"".join(f"<a href=/{n}>{n}</a>" for n in range(4))}</div>{SCRIPT}</body>',
        f'<body><img src="splash.jpg">{SCRIPT}</body>',
        f'<body><form action="/search"><input name="q"></form>{SCRIPT}</body>',
        f'<frameset cols="20%,80%"><frame src="a.html"><frame src="b.html"></frameset>{SCRIPT}',
        f'<head><meta http-equiv="refresh" content="0; url=/new"></head><body>{SCRIPT}</body>',
        '<body><script type="application/ld+json">{"@type": "Thing"}</script></body>',
        f"<body>{'<p></p>' * 1000}<div id=root></div>{SCRIPT}</body>",
        f"<body><h1>404</h1><p>Nothing here. <a href='/'>Home</a></p>{SCRIPT}</body>",
        f"<body><pre>{'x' * 400}</pre>{SCRIPT}</body>",
    ],
)
def test_ordinary_pages(page: str) -> None:
    """Words, links, pictures or forms of its own make a page, however small it is."""
    assert not hollow(page)


def test_other_kinds_are_no_shells() -> None:
    """Only HTML has scripts."""
    for kind, body in (("application/json", b"{}"), ("text/plain", b"<script></script>"), ("image/png", b"\x89PNG")):
        assert not is_script_shell(read("http://a.test/", {"content-type": kind}, body))


def test_deep_and_wide_pages_end_the_search_early() -> None:
    """What a page may cost is bounded by its elements, not by its depth."""
    assert not hollow("<div>" * 50_000 + SCRIPT)
    assert hollow("<body><div id=app></div>" + SCRIPT + " " * 100_000)
    assert not hollow(f"<body><div id=app></div><script>{'x' * (3 << 20)}")
