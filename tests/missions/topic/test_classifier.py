"""The classifier of pages: few examples, any language, probabilities that hold, a model that is small and the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from missions.topic.topic_pages import write_page

from lycosa.missions.topic.classifier import Calibration, TopicModel, train
from lycosa.missions.topic.page_words import choose_text, list_terms, read_words


def relevance(model: TopicModel, topic: str, seed: int) -> float:
    return 1 / (1 + math.exp(-model.spread().logit(read_words(write_page(topic, seed)))))


def learn(good: int, bad: int, others: int = 0) -> TopicModel:
    marked = [(read_words(write_page("orchids", n)), True) for n in range(good)]
    marked += [(read_words(write_page("roses", n)), False) for n in range(bad)]
    rest = [write_page(topic, 500 + n) for n in range(others) for topic in ("orchids", "roses", "trains", "trains")]
    return train(marked, [read_words(page) for page in rest])


@pytest.mark.parametrize(("good", "bad", "others"), [(5, 5, 0), (5, 5, 10), (5, 0, 10), (30, 30, 10)])
def test_few_examples_tell_a_topic_from_one_that_is_near(good: int, bad: int, others: int) -> None:
    """Five pages are enough; where nobody said what is no page of the topic, the other pages at hand say it."""
    model = learn(good, bad, others)
    found = [relevance(model, "orchids", n) > 0.5 for n in range(100, 130)]
    near = ("roses", "trains") if others else ("roses",)
    wrong = [relevance(model, topic, n) > 0.5 for n in range(100, 130) for topic in near]
    assert sum(found) >= 28
    assert sum(wrong) <= 3


def test_a_model_is_the_same_each_time_and_survives_being_kept() -> None:
    """Nothing in it is random; what a file holds judges as what was learned, and the empty page is none."""
    model = learn(5, 5, 5)
    assert model.encode() == learn(5, 5, 5).encode()
    assert TopicModel.decode(model.encode()) == model
    empty = read_words(choose_text("", "", ""))
    assert model.spread().logit(empty) < 0
    for damaged in (b"", b"junk", model.encode()[:-9], model.encode().replace(b"x\x9c", b"x\x9d")):
        with pytest.raises(ValueError, match="model of a topic|truncated|size|buffer|expected|Expected|decode"):
            TopicModel.decode(damaged)


def test_relevance_never_falls_as_the_score_rises() -> None:
    """Two normal distributions of different width would say so far out."""
    for wide, narrow in ((4.0, 0.1), (0.1, 4.0)):
        logits = Calibration((1.0, wide), (-1.0, narrow), 0.3).logit(np.linspace(-30, 30, 500))
        assert (np.diff(logits) >= -1e-9).all()


def test_words_have_their_names_in_every_script() -> None:
    """What counts for a page can be told: words, pairs of words, words of the address; of Chinese, pairs of letters."""
    page = choose_text("http://a.test/flu-news", "Größe", "埃博拉病毒疫情在西非爆发后世界卫生组织发出警告。" * 12)
    terms = dict(list_terms(page))
    assert {"größe", "埃博", "博拉", "埃博 博拉", "url:flu", "url:news"} <= terms.keys()
    assert set(terms.values()) == set(read_words(page).features.tolist())


def test_menus_and_footers_do_not_count() -> None:
    """Short lines are no sentences, where there are sentences."""
    page = write_page("roses", 1)
    assert "Contact us" not in page.text
    assert choose_text("", "", "Home\nContact us").text == "Home\nContact us"
