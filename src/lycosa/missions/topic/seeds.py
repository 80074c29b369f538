"""Settings and seeds of a hunt, from what the command line says: examples are read, archives give seeds.

Of an archive (WARC, a collection) those pages become seeds that are of the topic, the best first; of an index (CDX),
which holds no pages, those addresses that have words of the topic. Without any of these, and without seeds, the
addresses of good examples are the seeds.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lycosa import urls
from lycosa.archive.reader import iter_records
from lycosa.collection.collection import Collection
from lycosa.config.mission_table import read_own
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.fetch.decode import decode
from lycosa.missions.topic.classifier import TopicModel
from lycosa.missions.topic.examples import MarkedPage, learn, pack, unpack
from lycosa.missions.topic.given_examples import read_examples
from lycosa.missions.topic.page_words import PageText, choose_text, read_page
from lycosa.missions.topic.settings import TopicSettings, split_words
from lycosa.missions.topic.topic import Topic, choose_terms
from lycosa.output.plain import counted
from lycosa.parse import read

MOST_SEEDS = 200
_MOST_PAGES, _MOST_BYTES = 100_000, 10 << 20
_HINTS = 40  # words of good examples that links are scored by at first


def settle(mission: Mission, given: Mapping[str, Sequence[str]]) -> tuple[Mission, list[str]]:
    """The mission for what is to be hunted, with its seeds; and what people should know."""
    settings, examples, notes = hear(read_own(mission, "topic", TopicSettings), mission, given)
    model = learn(examples)
    topic = Topic(settings, model)
    terms = choose_terms(model, [each.page for each in examples if each.is_wanted], most=_HINTS) if model else {}
    hints = dict.fromkeys((*mission.policy.hint_terms, *settings.about, *(word for word in terms if " " not in word)))
    anchors = tuple(dict.fromkeys((*mission.policy.anchor_terms, *settings.about)))
    seeds = mission.seeds
    if given.get("from-archive"):
        found = propose_seeds(given["from-archive"], topic, [*settings.about, *terms])
        notes.append(f"{counted(len(found), 'seed')} from {', '.join(given['from-archive'])}.")
        seeds = (*seeds, *found)
    elif not seeds:
        seeds = tuple(each.url for each in examples if each.is_wanted and each.url.startswith("http"))
        notes += [f"{counted(len(seeds), 'seed')} from the examples."] if seeds else []
    own = {**mission.own, "topic": msgspec.to_builtins(settings)}
    policy = replace(mission.policy, hint_terms=tuple(hints), anchor_terms=anchors)
    return replace(mission, own=own, policy=policy, seeds=tuple(dict.fromkeys(seeds))), notes


def hear(
    settings: TopicSettings, mission: Mission, given: Mapping[str, Sequence[str]]
) -> tuple[TopicSettings, list[MarkedPage], list[str]]:
    """The settings with what the command line says of the topic, its examples, and what people should know."""
    texts = {name: tuple(given[name]) for name in ("like", "unlike", "pattern") if given.get(name)}
    if given.get("about"):
        texts["about"] = tuple(phrase for text in given["about"] for phrase in split_words(text))
    settings = replace(settings, **texts)
    notes: list[str] = []
    examples = unpack(settings.examples)
    if texts.keys() & {"like", "unlike"} or (not examples and (settings.like or settings.unlike)):
        good, problems = read_examples(settings.like, mission, is_wanted=True)
        bad, more = read_examples(settings.unlike, mission, is_wanted=False)
        notes += [f"{problem}; this example is left out" for problem in (*problems, *more)]
        if settings.like and not good:
            raise UsageError("None of the pages that --like names could be read: name files, or addresses that answer.")
        examples = [*good, *bad]
        settings = replace(settings, examples=pack(examples))
    if not (
        settings.about
        or settings.pattern
        or settings.thesaurus
        or mission.thesaurus
        or any(each.is_wanted for each in examples)
    ):
        raise UsageError("Nothing says what the topic is: --about WORDS, --like EXAMPLES, --pattern or --thesaurus.")
    return replace(settings, thesaurus=settings.thesaurus or mission.thesaurus), examples, notes


def propose_seeds(names: Iterable[str], topic: Topic, words: Sequence[str]) -> list[str]:
    """The addresses of archives that are worth beginning with, the best first."""
    best: dict[str, float] = {}
    for name in names:
        for url, weight in _weigh_archive(name, topic, words):
            best[url] = max(weight, best.get(url, 0.0))
    return sorted(best, key=lambda url: (-best[url], url))[:MOST_SEEDS]


def _weigh_archive(name: str, topic: Topic, words: Sequence[str]) -> Iterator[tuple[str, float]]:
    if name.lower().endswith((".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz")):
        yield from _weigh_index(name, words)
        return
    for page, language in islice(_read_archive(name), _MOST_PAGES):
        if page.url.startswith("http") and topic.accepts(relevance := topic.weigh(page, language)):
            yield page.url, relevance


def _weigh_index(name: str, words: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Addresses of an index, by how many words of the topic they have."""
    terms = [term.lower().replace(" ", "-") for term in words if len(term) > 2]
    try:
        with gzip.open(name, "rb") if name.endswith(".gz") else open(name, "rb") as lines:
            for line in iter(lambda: lines.readline(_MOST_BYTES), b""):
                text = line.decode("utf-8", "replace")
                at = text.find("http")
                url = urls.normalise(text[at:].split('"')[0].split()[0]) if at >= 0 else None
                if url is not None and (hits := sum(term in url.lower() for term in terms)):
                    yield url, float(hits)
    except (OSError, EOFError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}.") from None


def _read_archive(name: str) -> Iterator[tuple[PageText, str]]:
    """The pages of a WARC file, or of a collection, with their languages."""
    if os.path.exists(os.path.join(name, "crawl.db")):
        with Collection(name) as collection:
            for page in collection.pages():
                if not page.problem and page.mime in ("text/html", "application/xhtml+xml"):
                    yield read_page(page.doc), page.language
        return
    if not os.path.isfile(name):
        raise UsageError(f"--from-archive is {name}; allowed: a WARC, a CDX, or the folder of a collection.")
    for record in iter_records(Path(name)):
        if record.kind == "response" and record.status == 200 and (url := urls.normalise(record.url)) is not None:
            body = decode(record.body_raw, record.headers.get("content-encoding", ""), limit=_MOST_BYTES).body
            doc = read(url, record.headers, body)
            if doc.tree is not None:
                yield choose_text(url, doc.title, doc.text), doc.language


def propose_queries(model: TopicModel, examples: Sequence[MarkedPage], *, most: int = 8) -> list[str]:
    """Queries for a search engine, of the words that speak most for the topic."""
    terms = list(choose_terms(model, [each.page for each in examples if each.is_wanted], most=24))
    phrases = [f'"{term}"' for term in terms if " " in term]
    single = [term for term in terms if " " not in term]
    pairs = [f"{one} {two}" for one, two in zip(single, single[1:], strict=False)]
    return [*phrases[: most // 2], *pairs][:most]
