"""Classifier of pages: a linear model over hashed words and phrases, trained in a second from a few examples.

Logistic regression with ridge, in its dual form: examples are few, words many. Words count by how rare they are among
all pages at hand. Pages that nobody marked take part: what the model believes of them teaches it in turn, with less
weight, and their scores say how frequent the topic is. A relevance is a probability: scores of wanted and of unwanted
pages are taken for two normal distributions, learned from the scores that marked pages get when they are left out
(Allen's shortcut, without training again) and from the scores of the others. Nothing in it is random.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from lycosa.extras import need
from lycosa.missions.topic.page_words import BITS, PageWords

need("numpy", extra="topic", what="The topic mission")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

# Chosen on tests/bench/topic_classifier.py by draws other than those reported; a factor of three changes little.
RIDGE = 0.1
UNMARKED = 0.2  # what a page counts that nobody marked, of one that somebody did
ROUNDS = 2  # of teaching itself
RARITY = 0.5  # power of a word's rarity
FIRM = 8.0  # marked pages for which the spread of each class is taken to be that of both
MOST_MARKED, MOST_UNMARKED = 800, 400
_COLUMNS = 8192  # features that are multiplied at once
_PRIOR = 1.0  # pages of each class that count beside those seen, where it is said how frequent the topic is
_MOST_LOGIT = 12.0
_SIZE = 1 << BITS

Vector = NDArray[np.float64]


class Calibration(Struct, frozen=True):
    """How scores are distributed: mean and variance of wanted and of unwanted pages, and the share of wanted ones."""

    wanted: tuple[float, float]
    unwanted: tuple[float, float]
    share: float = 0.5

    def logit(self, scores: Vector) -> Vector:
        """The log-odds of scores, which never fall as scores rise."""
        (m1, v1), (m0, v0) = self.wanted, self.unwanted
        if abs(curve := 1 / v0 - 1 / v1) > 1e-9:  # a parabola: beyond its vertex stays what is there
            vertex = (m0 / v0 - m1 / v1) / curve
            scores = np.maximum(scores, vertex) if curve > 0 else np.minimum(scores, vertex)
        ratio = ((scores - m0) ** 2 / v0 - (scores - m1) ** 2 / v1 + math.log(v0 / v1)) / 2
        odds = math.log(self.share / (1 - self.share))
        return np.clip(ratio + odds, -_MOST_LOGIT, _MOST_LOGIT)


class TopicModel(Struct, frozen=True):
    """What was learned: features with rarity and weight, the bias, and what scores mean."""

    places: bytes  # a bit for each feature: whether it is known; compressed, as are the counts
    counts: bytes  # of those known, int16: on how many pages they stand
    weights: bytes  # of those known, float16
    pages: int
    bias: float
    calibration: Calibration
    marked: tuple[int, int]  # how many wanted and unwanted pages it learned from
    unmarked: int = 0

    def spread(self) -> SpreadModel:
        """The model as it is asked."""
        return SpreadModel(self)

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes) -> TopicModel:
        """ValueError, where it is none."""
        model = msgspec.msgpack.decode(data, type=TopicModel)
        model.spread()
        return model


class SpreadModel:
    """A model with an entry for every feature."""

    def __init__(self, model: TopicModel) -> None:
        known = np.unpackbits(np.frombuffer(_inflate(model.places, _SIZE // 8), np.uint8))
        features = np.flatnonzero(known)
        counts = np.frombuffer(_inflate(model.counts, 2 * _SIZE), np.int16)
        self._rarities = np.zeros(_SIZE, np.float32)
        self._rarities[features] = _rarity(counts.astype(np.float64), model.pages)
        self._weights = np.zeros(_SIZE, np.float32)
        self._weights[features] = np.frombuffer(model.weights, np.float16)
        self._bias, self._calibration = model.bias, model.calibration

    def logit(self, page: PageWords) -> float:
        """The log-odds that a page is wanted."""
        values = self._rarities[page.features] * page.counts
        length = math.sqrt(float(values @ values)) or 1.0
        score = float(self._weights[page.features] @ values) / length + self._bias
        return float(self._calibration.logit(np.array([score]))[0])

    def weigh(self, feature: int) -> float:
        """What a feature says, for or against, where it stands once."""
        return float(self._weights[feature] * self._rarities[feature])


def train(marked: Sequence[tuple[PageWords, bool]], unmarked: Sequence[PageWords] = ()) -> TopicModel:
    """Learn from marked pages, and from pages at hand that nobody marked."""
    marked, unmarked = marked[-MOST_MARKED:], unmarked[-MOST_UNMARKED:]
    given = np.array([float(wanted) for _, wanted in marked])
    pages = [*(page for page, _ in marked), *unmarked]
    # A page without words is none of the topic, nor is one of which no word is known.
    pages.insert(0, PageWords(np.empty(0, np.int32), np.empty(0, np.float32)))
    given = np.insert(given, 0, 0.0)
    features, counts = _count_words(pages)
    rarities = _rarity(counts.astype(np.float64), len(pages))
    rows = [_row(page, features, rarities) for page in pages]
    kernel = _multiply(rows, len(features))
    n = len(given)
    dual, bias, left_out = _fit(kernel[:n, :n], given, np.ones(n))
    calibration = _calibrate(left_out, given, kernel[n:, :n] @ dual + bias)
    for _ in range(ROUNDS if unmarked else 0):
        others = kernel[n:] @ np.append(dual, np.zeros(len(pages) - len(dual))) + bias
        believed = 1 / (1 + np.exp(-calibration.logit(others)))
        trust = np.append(np.ones(n), np.full(len(unmarked), UNMARKED))
        dual, bias, left_out = _fit(kernel, np.append(given, believed), trust)
        calibration = _calibrate(left_out[:n], given, kernel[n:] @ dual + bias)
    weights = np.zeros(len(features))
    for share, (at, values) in zip(dual, rows, strict=False):
        weights[at] += share * values
    known = np.zeros(_SIZE, bool)
    known[features] = True
    return TopicModel(
        places=zlib.compress(np.packbits(known).tobytes()),
        counts=zlib.compress(counts.astype(np.int16).tobytes()),
        weights=weights.astype(np.float16).tobytes(),
        pages=len(pages),
        bias=bias,
        calibration=calibration,
        marked=(int(given.sum()), len(marked) - int(given.sum())),
        unmarked=len(unmarked),
    )


def _inflate(data: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, most)
    except zlib.error as problem:
        raise ValueError(f"this is no model of a topic: {problem}") from None


def _rarity(pages: Vector, of: int) -> Vector:
    """How much a word counts that stands on so many pages of all."""
    rarity: Vector = np.maximum(np.log((of + 1) / (pages + 0.5)), 0.01) ** RARITY
    return rarity


def _count_words(pages: Sequence[PageWords]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The features that stand on more than one page, and on how many."""
    count = np.zeros(_SIZE, np.int32)
    for page in pages:
        count[page.features] += 1
    features = np.flatnonzero(count > 1)
    return features, count[features]


def _row(page: PageWords, features: NDArray[np.int64], rarities: Vector) -> tuple[NDArray[np.int64], Vector]:
    """A page as a vector of length 1: the places of its features among those that count, and their values."""
    at = np.searchsorted(features, page.features)
    at[at == len(features)] = 0
    known = features[at] == page.features if len(features) else np.zeros(len(at), bool)
    at = at[known]
    values = rarities[at] * page.counts[known]
    return at, values / (math.sqrt(float(values @ values)) or 1.0)


def _multiply(rows: Sequence[tuple[NDArray[np.int64], Vector]], width: int) -> Vector:
    """The products of all pages with each other, some columns at a time: all at once would take too much memory."""
    product = np.zeros((len(rows), len(rows)))
    for start in range(0, width, _COLUMNS):
        block = np.zeros((len(rows), _COLUMNS), np.float32)
        for row, (at, values) in zip(block, rows, strict=True):
            low, high = np.searchsorted(at, (start, start + _COLUMNS))
            row[at[low:high] - start] = values[low:high]
        product += block @ block.T
    return product


def _fit(kernel: Vector, wanted: Vector, trust: Vector) -> tuple[Vector, float, Vector]:
    """Logistic regression by Newton's method: dual weights, bias, and the score of each page had it been left out."""
    n = len(wanted)
    dual, bias = np.zeros(n), 0.0
    system = np.ones((n + 1, n + 1))
    system[n, n] = 0.0
    for _ in range(12):
        scores = np.clip(kernel @ dual + bias, -30, 30)
        share = 1 / (1 + np.exp(-scores))
        steep = np.maximum(trust * share * (1 - share), 1e-6)
        target = scores + trust * (wanted - share) / steep
        system[:n, :n] = kernel + np.diag(RIDGE / steep)
        solved = np.linalg.solve(system, np.append(target, 0.0))
        moved = float(np.abs(solved[:n] - dual).max())
        dual, bias = solved[:n], float(solved[n])
        if moved < 1e-4:
            break
    inverse = np.linalg.inv(system).diagonal()[:n]
    return dual, bias, target - dual / inverse


def _calibrate(left_out: Vector, wanted: Vector, others: Vector) -> Calibration:
    """What scores mean: two normal distributions, by marked pages, and by the others as far as they fit (EM)."""
    good, bad = left_out[wanted > 0], left_out[wanted == 0]
    if not len(good):
        good = np.array([float(left_out.max()) + 1.0])
    m1, m0 = float(good.mean()), float(bad.mean())
    both = float(((good - m1) ** 2).sum() + ((bad - m0) ** 2).sum() + 1e-3) / len(left_out)
    m1 = max(m1, m0 + 0.1 * math.sqrt(both))
    v1 = v0 = both
    share = 0.5
    for _ in range(60 if len(others) else 0):
        believed = 1 / (1 + np.exp(-Calibration((m1, v1), (m0, v0), share).logit(others)))
        share = float(believed.sum() + _PRIOR) / (len(others) + 2 * _PRIOR)
        (m1, v1), (m0, v0) = (
            _fit_normal(own, others, weights, both)
            for own, weights in ((good, UNMARKED * believed), (bad, UNMARKED * (1 - believed)))
        )
        m1 = max(m1, m0 + 1e-3)
    return Calibration((m1, v1), (m0, v0), min(max(share, 1e-3), 1 - 1e-3))


def _fit_normal(own: Vector, others: Vector, weights: Vector, both: float) -> tuple[float, float]:
    total = len(own) + float(weights.sum())
    mean = (float(own.sum()) + float(weights @ others)) / total
    spread = float(((own - mean) ** 2).sum()) + float(weights @ (others - mean) ** 2)
    return mean, (spread + FIRM * both) / (total + FIRM)
