"""Whatever words a page has, facts come of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.documents.front_page.reading import facts_of
from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import RAISED, Layout, Line

PIECES = [
    *("Ana", "Ruiz", "de", "la", "Universidad", "University of", "Director:", "Tesis", "Abstract", "Palabras clave:"),
    *("y", "and", "@", "ana@", "uni.es", "{", "}", "[at]", "(", ")", "1", "2010", RAISED, "*", ",", ";", ".", "-"),
    *("References", "[1]", "©", "creative commons", "10.1234/x", "0000-0002-1825-0097", "Título:", "\u0301", "´"),
    *("\0", "ﬁ", "Ñ", "ß", "\u4e2d\u6587", "\u202e"),
]
words = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=14).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(words, min_size=1, max_size=40), sizes=st.lists(st.sampled_from([0.0, 7.0, 10.0, 20.0]), min_size=1)
)
def test_no_words_break_the_reading(texts: list[str], sizes: list[float]) -> None:
    """Names, labels, marks and signs in any order and any letters."""
    lines = []
    for nth, text in enumerate(texts):
        size = sizes[nth % len(sizes)]
        box = Box(72, 20.0 * nth, 300, 20.0 * nth + size) if size else None
        lines.append(Line(text=text, page=1 + nth // 15, box=box, size=size, bold=nth % 3 == 0, block=nth // 4))
    layout = Layout(
        format="pdf",
        page_count=3,
        page_width=595,
        page_height=842,
        lines=lines,
        text="\n".join(texts),
        metadata={"author": texts[0], "title": texts[-1], "keywords": texts[0]},
    )
    facts = facts_of(layout)
    assert 0 <= facts.kind.confidence <= 1
    assert all(0 <= one.confidence <= 1 for one in (*facts.titles, *facts.people, *facts.affiliations, *facts.emails))
