"""Pages of two topics, made from few words, and of a third that is near to the first."""

from __future__ import annotations

import random

from lycosa.missions.topic.page_words import PageText, choose_text

_WORDS = {
    "": "the of and to in that is was for on with as by at from it an be this which or are not had",
    "orchids": "orchid petal bloom epiphyte greenhouse pollen sepal stem root moss humid vanilla dendrobium",
    "roses": "rose petal bloom thorn garden pruning hedge scent stem root shrub bouquet floribunda",
    "trains": "train rail platform ticket engine carriage signal timetable station track brake coach",
}
_WORDS_OF = {topic: words.split() for topic, words in _WORDS.items()}


def write_text(topic: str, seed: int, *, words: int = 90) -> str:
    rng = random.Random(f"{topic} {seed}")
    sentences = []
    for _ in range(words // 12):
        sentences.append(" ".join(rng.choice(_WORDS_OF[topic if rng.random() < 0.3 else ""]) for _ in range(12)))
    return "\n".join(["Home", "Contact us", *sentences, "Orchids, roses and trains"])


def write_page(topic: str, seed: int) -> PageText:
    return choose_text(f"http://{topic}{seed}.test/", f"Page {seed}", write_text(topic, seed))


def html(topic: str, seed: int, *links: str) -> str:
    body = "".join(f"<p>{line}</p>" for line in write_text(topic, seed).split("\n"))
    return f"<title>Page {seed}</title>{body}{''.join(f'<a href={link}>{link[1:]}</a> ' for link in links)}"
