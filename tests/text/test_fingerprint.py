"""Fingerprints: alike for texts that are alike, whatever has a digit in it apart."""

from __future__ import annotations

import random

import pytest

from lycosa.text.fingerprint import (
    SIZE,
    SLOTS,
    Content,
    cut_runs,
    find_frame,
    make_fingerprint,
    read_lines,
    read_numbers,
)

WORDS = ["wolf", "spider", "hunts", "at", "night", "jumps", "far", "sees", "well", "lives", "in", "burrows", "young"]


def write(seed: int, words: int = 300) -> str:
    """A text of its own: sentences of eleven words, five to a line."""
    chance = random.Random(seed)
    text = [chance.choice(WORDS) + chance.choice(("", "s", "ing", "ed", "er")) for _ in range(words)]
    return "\n".join(" ".join(text[at : at + 55]) for at in range(0, words, 55))


def alike(one: str, other: str) -> float:
    return Content(make_fingerprint(one)).compare(Content(make_fingerprint(other)))


def test_lines_are_read_without_numbers() -> None:
    """Case, blanks, empty lines, dates, counters, ids and addresses do not count."""
    text = "  The  Wolf\n\n12 March 2024, visit no. 4711\nsid=0a1b2c see http://a.test/x or and/or\t!"
    assert read_lines(text) == ["the wolf", "march visit no.", "see or !"]


@pytest.mark.parametrize(
    ("change", "least"),
    [
        (lambda text: text.replace("\n", " seen 17 times\n", 1), 0.97),
        (lambda text: text + "\nPrinted on 2024-03-04 for session 8f14e45f", 0.97),
        (lambda text: "Buy our new shoes today\n" + text, 0.95),
        (str.upper, 1.0),
        (lambda text: text.replace("\n", "\n\n   "), 1.0),
    ],
)
def test_texts_that_differ_in_a_detail_are_alike(change: object, least: float) -> None:
    """A counter, a date, a session id, an advertisement, another layout."""
    assert callable(change)
    assert alike(write(1), change(write(1))) >= least


def test_different_texts_are_not_alike() -> None:
    """Even of the same few words."""
    assert max(alike(write(0), write(seed)) for seed in range(1, 30)) < 0.1


def test_similarity_follows_what_is_shared() -> None:
    """Half of the text replaced: about half is shared, also where only the smallest hashes are kept."""
    for words in (300, 3000):
        one, other = write(1, words).splitlines(), write(2, words).splitlines()
        mixed = "\n".join(one[: len(one) // 2] + other[len(other) // 2 :])
        assert 0.35 < alike(write(1, words), mixed) < 0.65
        assert len(make_fingerprint(mixed)) == min(SIZE, len(make_fingerprint(mixed)))


def test_the_frame_of_a_site_is_left_out() -> None:
    """Pages that share most of their text with all others of their site are judged by the rest."""
    frame = write(99, 600)
    pages = [make_fingerprint(f"{frame}\n{write(seed, 60)}") for seed in range(20)]
    assert Content(pages[0]).compare(Content(pages[1])) > 0.8
    found = find_frame(pages)
    assert Content(pages[0], found).compare(Content(pages[1], found)) < 0.3
    assert not Content(pages[0], found).bare


def test_a_page_of_nothing_but_frame_is_compared_whole() -> None:
    """Pages of an endless calendar are their own frame."""
    pages = [make_fingerprint(f"{write(1, 200)}\n{day} March") for day in range(20)]
    frame = find_frame(pages)
    one, other = Content(pages[0], frame), Content(pages[1], frame)
    assert one.bare and other.bare
    assert one.compare(other) == 1.0
    assert find_frame(pages[:3]) == frozenset()


def test_sketches_of_like_texts_agree() -> None:
    """Most of the 64 bytes for like texts, hardly any for others; few runs fill all slots."""
    one, near, far = (Content(make_fingerprint(text)) for text in (write(1), write(1) + "\nmore of it", write(2)))
    assert len(one.sketch) == SLOTS
    assert sum(a == b for a, b in zip(one.sketch, near.sketch, strict=True)) > SLOTS * 0.8
    assert sum(a == b for a, b in zip(one.sketch, far.sketch, strict=True)) < SLOTS * 0.2
    assert len(Content(make_fingerprint("a single line of text")).sketch) == SLOTS


def test_scripts_without_blanks_are_cut_by_characters() -> None:
    """A sentence of Japanese with a word inserted still shares most of its runs."""
    text = "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ何でも薄暗いじめじめした所で"
    assert alike(text, text[:20] + "大変に" + text[20:]) > 0.6
    assert len(list(cut_runs([text]))) == len(text) - 7


@pytest.mark.parametrize("text", ["", "   \n\t", "12 34\n5/6", "\ud800 \udfff", "x" * 3_000_000, "a/" * 2_000_000])
def test_any_text_has_a_fingerprint(text: str) -> None:
    """Nothing, numbers alone, broken characters, megabytes without a blank: no error, no long wait."""
    content = Content(make_fingerprint(text))
    assert content.compare(content) in (0.0, 1.0)


def test_numbers_that_the_address_has_are_no_news() -> None:
    """Nor are those of its neighbours, to which it links; leading zeros make no difference."""
    text = "Article P-017 costs 12.90, see 16 and 19; order 2024/0017 or 17.5"
    assert read_numbers(text, without="http://a.test/p/17") == {"12.90,", "2024/0017", "17.5"}
    assert read_numbers("July 2031, next: August 2031", without="http://a.test/?y=2031&m=7") == frozenset()
