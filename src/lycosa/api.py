"""Public API: `crawl`, a crawl from Python, and `Collection`, what it made, ready to be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from lycosa.collection import collection as stored
from lycosa.config.fields import field_at, is_table, nearest
from lycosa.config.loading import OPTIONS, load
from lycosa.config.mission_files import find_mission, find_own
from lycosa.config.mission_table import hunting
from lycosa.config.seeds import settle_seeds
from lycosa.config.settings import CrawlKeywords, Mission
from lycosa.errors import LycosaError, NothingFetched, UsageError
from lycosa.export.files import write_requested_exports
from lycosa.extract.quarry_loader import find_name, loading
from lycosa.missions import registry as registry  # the missions that can be named
from lycosa.output.plain import printable
from lycosa.quarry import Quarry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lycosa.crawler.summary import CrawlReport
    from lycosa.derived.near_duplicates import NearDuplicate
    from lycosa.explain.why import Why
    from lycosa.output.rows import Rows

#: Short names of settings: those of the command line's options.
SHORT = {option.removeprefix("--").replace("-", "_"): key for key, option in OPTIONS.items()}


class Collection(stored.Collection):
    """A collection on disk: its pages, URLs and links, and what is known of each. Close it, or use it in a `with`."""

    def why(self, url: str, *, links: bool = False, quarry: Quarry | None = None) -> Why:
        """Everything that is known of an address, seen or never seen, and on which grounds; UsageError if it is none.

        `links` also looks for the pages that link to it; `quarry` tells the parts of a score that it gave, by default
        that of the mission.
        """
        from lycosa.explain.why import explain

        return explain(self, url, links=links, quarry=quarry)

    def list(
        self,
        name: str,
        *,
        facets: Mapping[str, str | Sequence[str]] | None = None,
        words: str = "",
        sort: str = "",
        columns: Sequence[str] = (),
    ) -> Rows:
        """The rows of a list as the page in the browser has it: "pages", "urls", "hosts", "records", "geo/services"…

        The first call after a crawl brings its index up to date.
        """
        from lycosa.missions.lists import find_list, list_rows

        return list_rows(self, find_list(name), facets=facets or {}, words=words, sort=sort, columns=columns)

    def near_duplicates(self, *, host: str = "", tell: Callable[[str], None] | None = None) -> Iterator[NearDuplicate]:
        """The pages that say nearly the same, cluster by cluster, the largest first; with `host`, those that it is in.

        The first call reads the text of every page; later ones that of new pages. `tell` hears how far that got.
        """
        from lycosa.derived.near_duplicates import find_near_duplicates

        return find_near_duplicates(self, host=host, tell=tell)


def crawl(
    seeds: str | Iterable[str] = (),
    *,
    collection: str | os.PathLike[str] = "collection",
    mission: str | os.PathLike[str] | None = None,
    recrawl: bool = False,
    retry: bool = False,
    full: bool = False,
    rounds: int = 0,
    quarry: str | Quarry | type[Quarry] | None = None,
    quiet: bool = True,
    **settings: Unpack[CrawlKeywords],
) -> Collection:
    """Crawl until nothing is left or a limit is reached, and open the collection; called again, it continues.

    Without seeds and `mission`, a collection that exists is continued with its own mission, as `lycosa crawl` does it.
    Settings are those of a mission: `scope="host"`, sections as `limits={"pages": 100}`, and the names of the command
    line's options (`limit=100`, `delay=0.5`). `mission` names a mission file, or a built-in mission, below them.
    `recrawl` begins the next round of a collection that exists, `full` lets it visit every page, due or not; `retry`
    tries again what failed. With a period it goes on for so many `rounds`; 0: until it is interrupted.
    Ctrl-C lets what is under way finish, then raises KeyboardInterrupt; the same call continues.
    `quarry` is what is hunted: a class at the top of a module, or its name; worker processes load it from there.
    """
    if loading:
        raise UsageError(
            f"crawl() was called while the quarry {loading[-1]} was being loaded: put the call under"
            ' `if __name__ == "__main__":`, because worker processes load the same file.'
        )
    from lycosa.crawler.run import CrawlOptions, run

    if not (
        quarry is None or isinstance(quarry, str | Quarry) or isinstance(quarry, type) and issubclass(quarry, Quarry)
    ):
        raise UsageError(
            f"quarry is {quarry!r}; allowed: a class that inherits from lycosa.quarry.Quarry, or its name."
        )
    overrides = _flatten(dict(settings)) | {"keep.collection": os.fspath(collection)}
    if quarry is not None:
        overrides |= hunting(quarry if isinstance(quarry, str) else find_name(quarry))
    instance = None
    if isinstance(quarry, type):
        instance = quarry()
    elif not isinstance(quarry, str):
        instance = quarry
    words = _check_seeds(seeds)
    file = None if words else find_own(Path(collection))
    if mission is not None:
        file = find_mission(os.fspath(mission)) or Path(mission)
    loaded = load(file, environ=os.environ, overrides=overrides).mission
    seeded, written = settle_seeds(loaded, words)
    seeded, sentences = registry.settle(seeded, {})
    for sentence in () if quiet else sentences:
        print(f"lycosa: {printable(sentence)}", file=sys.stderr)
    options = CrawlOptions(
        recrawl=recrawl, retry=retry, full=full, rounds=rounds, quiet=quiet, quarry=instance, written=written
    )
    registry.refresh(loaded, collection)
    report = run(seeded, options, after=lambda report: _finish_round(seeded, report))
    if report.ended_by == "interrupt":
        raise KeyboardInterrupt  # the calling program is to end as well
    if report.exit_code == 4:
        raise NothingFetched(
            "No seed could be fetched: " + "; ".join(f"{url}: {why}" for url, why in report.seeds.items())
        )
    if report.exit_code == 1 and report.extracted:
        raise LycosaError("\n".join(report.extracted))
    return Collection(collection)


def _check_seeds(seeds: str | Iterable[str]) -> list[str]:
    """The seeds as a list; UsageError if one of them is no text."""
    words: list[object] = [seeds] if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable) else list(seeds)
    for word in words:
        if not isinstance(word, str):
            raise UsageError(
                f"A seed is {word!r}, of the type {type(word).__name__}; allowed: texts, one for each URL."
            )
    return [word for word in words if isinstance(word, str)]


def _finish_round(mission: Mission, report: CrawlReport) -> None:
    if report.exit_code in (0, 5):
        registry.refresh(mission, mission.keep.collection)
    if report.exit_code in (0, 5) and (mission.keep.mirror or mission.keep.index):
        write_requested_exports(mission)


def _flatten(settings: dict[str, Any]) -> dict[str, object]:
    """Settings by their dotted keys."""
    flat: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and name not in ("hosts", "own"):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        elif isinstance(value, dict) and name == "hosts":
            flat |= {f'hosts."{host}".{key}': item for host, rule in value.items() for key, item in rule.items()}
        else:
            flat[name if name == "own" else _key(name)] = value
    return flat


def _key(name: str) -> str:
    """The dotted key of a setting that is given by a short name, or by its own."""
    key = SHORT.get(name, name)
    if "." not in key and field_at((key,)) is None and not is_table((key,)) and (meant := nearest(name, SHORT)):
        raise UsageError(f"crawl() has no setting {name} (did you mean {meant}?).")
    return key
