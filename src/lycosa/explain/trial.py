"""Trial of addresses: what the rules of a mission say of each of them before anything is fetched.

`lycosa check FILE URL` and the form of the browser ask it. What robots.txt says is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from lycosa import urls
from lycosa.config.seeds import read_seeds
from lycosa.config.settings import Mission
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.admission.rules import Rules
from lycosa.model import Verdict
from lycosa.quarry import url_judge


class TriedAddress(Struct, frozen=True):
    """An address as it would be fetched, and every rule with its verdict, in their order."""

    url: str
    rules: Sequence[tuple[str, Verdict]]

    @property
    def refused_by(self) -> list[str]:
        return [rule for rule, verdict in self.rules if not verdict.ok]


def try_addresses(mission: Mission, seeds: Iterable[str], words: Sequence[str]) -> Iterator[TriedAddress]:
    """What the rules say of each address that these words name."""
    seeds = read_seeds(list(seeds)).urls
    quarry = load_quarry(mission) if any(mission.own.get(name) for name in mission.missions) else None
    rules, cleaner = Rules(mission, seeds, url_judge=url_judge(quarry)), urls.Cleaner(mission.urls)
    for word in read_seeds(words).urls:
        url = cleaner.clean(word)
        # The distance of a URL from the seeds is not known here; all but the seeds have a depth of at least 1.
        steps = rules.explain(url, depth=int(url not in seeds), host=urls.host_of(url), seed=url in seeds)
        yield TriedAddress(url, tuple(steps))
