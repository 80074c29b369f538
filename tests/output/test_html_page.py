"""A report is one page of HTML that holds what strangers wrote without becoming it."""

from __future__ import annotations

from lycosa.output.charts import Bar, draw_bars, draw_histogram, list_ticks
from lycosa.output.html_page import Section, TableLink, table, text, tiles, unfolding, write_page


def test_ticks_are_round_whole_numbers() -> None:
    """From nothing to the largest number, a few of them."""
    assert [list_ticks(most) for most in (0, 1, 3, 533, 1000, 12_345)] == [
        [1, 2], [1, 2], [1, 2, 3], [200, 400, 600], [200, 400, 600, 800, 1000], [5000, 10000, 15000],
    ]  # fmt: skip


EVIL = "</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b\u202e"


def test_text_of_strangers_is_escaped_everywhere() -> None:
    """In titles, paragraphs, cells, links, tiles, labels of charts."""
    parts = [
        text(EVIL),
        tiles([(EVIL, EVIL)]),
        table(
            (EVIL, "n"),
            [(EVIL, 1), (TableLink("http://x.test/" + EVIL), 2), (TableLink("javascript:alert(1)"), 3)],
            caption=EVIL,
        ),
        unfolding(EVIL, text(EVIL)),
        draw_bars([Bar(EVIL, (1, 2), EVIL)], series=(EVIL, EVIL), title=EVIL),
        draw_histogram([(EVIL, 3)], title=EVIL, axis=EVIL),
    ]
    page = "".join(write_page(EVIL, EVIL, [Section(EVIL, parts)]))
    assert page.count("<script>") == 1 and "<img" not in page and "onerror=alert(1)&gt;" in page
    assert "\x1b" not in page and "\u202e" not in page
    assert 'href="javascript' not in page and "javascript:alert(1)" in page


def test_the_page_asks_the_network_for_nothing() -> None:
    """Its own policy forbids it."""
    page = "".join(write_page("t", "s", [Section("a", [text("b")])]))
    assert "default-src 'none'" in page and "src=" not in page.replace("default-src", "").replace("script-src", "")
    assert "@import" not in page and "url(" not in page


def test_bars_are_in_proportion() -> None:
    """The longest has all the room; nothing is drawn for nothing."""
    drawn = draw_bars([Bar("a", (10,)), Bar("b", (5,)), Bar("c", (0,))], title="t")
    widths = [float(piece.split('"')[0]) for piece in drawn.split(' width="')[1:]]
    assert len(widths) == 2 and abs(widths[0] - 2 * widths[1]) < 0.2
    assert draw_bars([], title="t") and draw_histogram([], title="t", axis="x")
    assert table(("a",), []) == "" == unfolding("x", "")
