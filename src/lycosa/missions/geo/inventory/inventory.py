"""The service inventory: all services of a collection, each once, with their state and their layers.

Records of descriptions and the outcome of every hypothesis flow in. Nothing is stored but the records of extraction:
the inventory is made anew each time, so it holds what the collection holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.missions.geo.bounds import unite
from lycosa.missions.geo.check.check_history import last_outcomes
from lycosa.missions.geo.inventory import service_state
from lycosa.missions.geo.inventory.identity import (
    Likeness,
    SameService,
    Trait,
    endpoint_key,
    find_trait,
    group,
    make_id,
    mirror_keys,
    service_key,
)
from lycosa.missions.geo.model import DIRECTORY, MAX_LIST, LayerItem, Service
from lycosa.missions.geo.recognise.answers import ExceptionReport
from lycosa.missions.geo.recognise.endpoint_inference import find_endpoint, is_unreachable, strip_request
from lycosa.model import State

QUARRY = "geo"

_SOURCES = f"""
    SELECT n, round, url, data, at, digest FROM records
    WHERE quarry = '{QUARRY}' AND kind = 'service' AND current ORDER BY n, round, id"""
_EXCEPTIONS = f"SELECT digest, data FROM records WHERE quarry = '{QUARRY}' AND kind = 'exception' AND current"
_LAYERS = f"SELECT json FROM record WHERE n = ? AND round = ? AND quarry = '{QUARRY}' AND kind = 'layer' ORDER BY id"
_NAMES = _LAYERS.replace("json FROM", "json ->> 'name' FROM")
_DETAILS = f"SELECT url, data FROM records WHERE quarry = '{QUARRY}' AND kind = 'detail' AND current ORDER BY n, round"
#: Kinds that describe themselves in a tree of documents, each naming those below it.
_TREES = ("ATOM", "STAC")
#: Kinds of which each document lists a part of what the service offers.
_IN_PARTS = (*_TREES, "OGCAPI")
#: One pass over all addresses: those with the content of a description, those that were hypotheses, and those that may
#: have been one by their looks.
_ADDRESSES = f"""
    SELECT url.url, url.state, url.reason, url.via, url.redirect, lower(hex(url.digest)), url.fetched_at, parent.url
    FROM url LEFT JOIN url AS parent ON parent.n = url.parent
    WHERE url.via GLOB 'geo: *'
    OR (url.digest <> x'' AND url.digest IN (
        SELECT page.digest FROM record JOIN page USING (n, round)
        WHERE quarry = '{QUARRY}' AND record.kind IN ('service', 'exception')))
    OR url.state IN (4, 5, 6, 7) OR (url.state = 8 AND url.reason GLOB 'robots*')
    OR (url.state IN (0, 8, 9) AND url.url LIKE '%capabilities%')
    ORDER BY url.n"""
_MAX_HOPS = 10
#: Kinds of documents that describe one data set of a service.
_OF_ONE = ("stac:collection", "ogcapi:collection")
#: Kinds that tell of some items in documents of their own.
_DETAILED = ("WCS", "TMS")

_read_service = msgspec.json.Decoder(Service).decode
_read_item = msgspec.json.Decoder(LayerItem).decode
_read_exception = msgspec.json.Decoder(ExceptionReport).decode


class _ItemAddresses(Struct):
    """The addresses of an item, which show what is below a document."""

    address: str = ""
    addresses: tuple[str, ...] = ()


_read_addresses = msgspec.json.Decoder(_ItemAddresses).decode


def date_of(at: float | None) -> str:
    """A time as people and programs read it; empty where there is none."""
    return iso_time(at) if at else ""


class DescriptionSource(Struct):
    """A document that describes a service, or a part of it."""

    n: int
    round: int
    url: str
    service: Service
    at: float | None
    digest: str
    pages: dict[str, tuple[int, str]]  # every address that brought it, with state and reason
    part: bool = False  # another document of the service names it
    tried: bool = True  # nobody named it: it was looked for beside another service

    @property
    def rank(self) -> tuple[bool, int, str, int, float, str]:
        """The fullest description of a service comes last; of the pages of a list, the first one."""
        service = self.service
        whole = not self.part and not service.kind.startswith("arcgis:layer")
        paged = len(self.url) if service.type in _IN_PARTS else 0
        return whole, service.items, service.version, -paged, self.at or 0.0, self.url


class ServiceEntry(Struct):
    """A service of the inventory: one that described itself, or one that was searched for."""

    id: str
    service: Service  # what all descriptions say together; of a hypothesis, type and endpoint
    state: str = "live"  # a word of service_state.STATES
    reason: str = ""  # why it is not live: a reason code, or what an exception says
    endpoints: tuple[str, ...] = ()  # at which it answers, the preferred one first
    addresses: tuple[str, ...] = ()  # that were asked
    versions: tuple[str, ...] = ()  # of the descriptions
    sources: list[DescriptionSource] = []  # the fullest first
    rule: str = ""  # how a hypothesis came about
    guess: bool = False  # nobody said that there is a service
    found_on: str = ""  # a page that told of it
    at: float | None = None
    outcome: str = ""  # of the last check, a word of check_outcome.OUTCOMES; empty: it was never checked
    checked_at: float | None = None

    @property
    def checked(self) -> str:
        """When it was last checked."""
        return date_of(self.checked_at)

    @property
    def fetched(self) -> str:
        """When its description was last fetched, or when it was last tried."""
        return date_of(self.at)

    @property
    def host(self) -> str:
        """The host of the preferred endpoint."""
        return endpoint_key(self.service.endpoint).partition("/")[0].partition(":")[0]


class Layer(Struct):
    """An item of a service, and the services that offer the same."""

    id: str
    entry: ServiceEntry
    item: LayerItem
    dataset: str  # the same for all that are one layer
    offers: tuple[str, ...]  # the services that offer it, by their ids, its own among them


class ServiceInventory:
    """The services of a collection and what they offer; reads one instant of it, until it is closed."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._redirects: dict[str, str] = {}
        self._details = self._read_details()
        sources, failures = self._assign_addresses(self._read_sources())
        self.entries = self._merge(sources)
        for entry in self.entries:
            if len(entry.sources) > 1:
                self._add_up(entry)
            if self._details and entry.service.type in _DETAILED:
                self._place(entry)
        self.entries += self._find_failures(failures)
        outcomes = last_outcomes(collection.path)
        for entry in self.entries if outcomes else ():
            entry.outcome, entry.checked_at = outcomes.get(entry.id, ("", None))
        self._groups: dict[int, tuple[int, tuple[str, ...]]] | None = None

    @property
    def live(self) -> list[ServiceEntry]:
        """The services that described themselves, whether they still do or not."""
        return [entry for entry in self.entries if entry.sources]

    def layers(self) -> Iterator[Layer]:
        """What the services offer, service by service; each item once, without groups that only hold others."""
        if self._groups is None:
            self._groups = self._group()
        groups = self._groups
        entries = {entry.id: entry for entry in self.entries}
        for number, (entry, item, repeats) in enumerate(self._items()):
            name = item.name or "\0".join((*item.path, item.title))
            own = make_id(entry.id, item.type, name, *((str(repeats),) if repeats else ()))
            head, offers = groups.get(number, (number, (entry.id,)))
            dataset = own if len(offers) == 1 else make_id("dataset", str(head), *offers)
            yield Layer(own, entries[entry.id], item, dataset, offers)

    def _items(self) -> Iterator[tuple[ServiceEntry, LayerItem, int]]:
        """The items, and how many before each are called the same without having a name to ask for."""
        return ((entry, item, repeats) for entry in self.live for item, repeats in self._items_of(entry))

    def _items_of(self, entry: ServiceEntry) -> Iterator[tuple[LayerItem, int]]:
        seen: dict[tuple[str, ...], int] = {}
        below = {endpoint_key(url) for source in entry.sources if source.part for url in source.pages}
        for source in entry.sources:
            if source.part and source.service.type == "ATOM":
                continue  # the feed above names the data set; here are the files that it comes in
            for (data,) in self.collection.rows(_LAYERS, [source.n, source.round]):
                item = _read_item(data)
                if item.type in DIRECTORY or (item.group and not item.name):  # a heading, which cannot be asked for
                    continue
                if below and not item.name and endpoint_key(_resolve(item.address, source.url)) in below:
                    continue  # it describes itself
                key = (item.type, item.name) if item.name else (item.type, "", *item.path, item.title)
                repeats = seen.get(key, 0)
                if repeats and (item.name or len(entry.sources) > 1):
                    continue
                seen[key] = repeats + 1
                if self._details and entry.service.type in _DETAILED:
                    self._complete_item(item, entry, source.url)
                yield item, repeats

    def _add_up(self, entry: ServiceEntry) -> None:
        """Count what a service offers in all its descriptions; sum up what it lists page by page, or by document."""
        service, parts = entry.service, [source.service for source in entry.sources]
        service.items = sum(1 for _ in self._items_of(entry))
        if service.type not in _IN_PARTS:
            return
        service.box = unite([part.box for part in parts if part.box])
        service.crs = tuple(dict.fromkeys(crs for part in parts for crs in part.crs))[:MAX_LIST]
        service.formats = tuple(dict.fromkeys(form for part in parts for form in part.formats))[:MAX_LIST]

    def _read_details(self) -> dict[tuple[str, str], LayerItem]:
        """What documents of their own tell of items: of coverages by endpoint and name, of tile maps by address."""
        found: dict[tuple[str, str], LayerItem] = {}
        for url, data in self.collection.rows(_DETAILS):
            item = _read_item(data)
            place = endpoint_key(find_endpoint(url, "WCS")) if item.name else endpoint_key(url)
            found[place, item.name] = item
        return found

    def _complete_item(self, item: LayerItem, entry: ServiceEntry, base: str) -> None:
        """Fill in what the description leaves out of an item, and a document of its own tells."""
        if entry.service.type == "TMS":
            keys = [(endpoint_key(_resolve(item.address, base)), "")]
        else:
            keys = [(endpoint_key(endpoint), item.name) for endpoint in entry.endpoints]
        detail = next(filter(None, map(self._details.get, keys)), None)
        if detail is None:
            return
        for name in ("title", "abstract", "keywords"):
            if not getattr(item, name):
                setattr(item, name, getattr(detail, name))
        if item.box is None and (detail.box or detail.extents):
            item.box, item.box_from, item.extents = detail.box, detail.box_from, detail.extents
        if not item.crs:
            item.crs, item.crs_count = detail.crs, detail.crs_count

    def _place(self, entry: ServiceEntry) -> None:
        """The box and the systems of a service whose items tell theirs elsewhere."""
        service, items = entry.service, [item for item, _ in self._items_of(entry)]
        service.box = service.box or unite([item.box for item in items if item.box])
        service.crs = service.crs or tuple(dict.fromkeys(crs for item in items for crs in item.crs))[:MAX_LIST]

    def _group(self) -> dict[int, tuple[int, tuple[str, ...]]]:
        """By the number of an item, the group that it shares with items of other services."""
        titles: dict[int, list[tuple[int, Trait]]] = {}
        owners: list[int] = []
        numbers = {entry.id: number for number, entry in enumerate(self.entries)}
        for number, (entry, item, _) in enumerate(self._items()):
            service = numbers[entry.id]
            owners.append(service)
            if found := find_trait(item, service, entry.service.endpoint):
                titles.setdefault(found[0], []).append((number, found[1]))
        shared: dict[int, tuple[int, tuple[str, ...]]] = {}
        for traits in titles.values():
            if len({owners[number] for number, _ in traits}) < 2:
                continue
            for members in group(traits):
                services = sorted({self.entries[owners[number]].id for number in members})
                if len(services) > 1:
                    shared |= dict.fromkeys(members, (min(members), tuple(services)))
        return shared

    def _read_sources(self) -> list[DescriptionSource]:
        return [
            DescriptionSource(n=n, round=round_, url=url, service=_read_service(data), at=at, digest=digest, pages={})
            for n, round_, url, data, at, digest in self.collection.rows(_SOURCES)
        ]

    def _assign_addresses(
        self, found: list[DescriptionSource]
    ) -> tuple[list[DescriptionSource], list[tuple[service_state.Hypothesis, ServiceEntry]]]:
        """One source per endpoint that brought a document, with its addresses; and the addresses that brought none.

        Extraction reads equal bytes once. At another endpoint they are a description, too, perhaps of another service:
        many servers conform to the same list.
        """
        by_digest = {source.digest: source for source in found}
        sources = {(source.digest, service_key(source.url, source.service.type)): source for source in found}
        exceptions = {digest: _read_exception(data) for digest, data in self.collection.rows(_EXCEPTIONS)}
        failures = []
        for url, state, reason, via, redirect, digest, at, parent in self.collection.rows(_ADDRESSES):
            via, reason = via or "", reason or ""
            report = exceptions.get(digest)
            if state in (State.MOVED, State.MOVED_FOR_GOOD):
                self._redirects[url] = redirect
            elif (source := by_digest.get(digest)) is not None:
                key = (digest, service_key(url, source.service.type))
                if key not in sources:
                    sources[key] = _copy(source, url, at)
                sources[key].pages[url] = (state, reason)
                sources[key].tried &= service_state.is_tried(via)
            elif parent and is_unreachable(url, parent):
                continue
            elif hypothesis := service_state.find_hypothesis(url, via, state, refused=bool(report and report.refuses)):
                entry = _make_failure(hypothesis, url, (state, reason), report)
                entry.found_on, entry.at = parent or "", at
                failures.append((hypothesis, entry))
        for source in sources.values():
            source.tried &= bool(source.pages)
            source.pages = source.pages or {source.url: (State.FETCHED, "")}  # a guest is in no frontier
        return list(sources.values()), failures

    def _merge(self, sources: list[DescriptionSource]) -> list[ServiceEntry]:
        """One entry per service, in the order of their first descriptions."""
        same_service = SameService()
        names = self._find_mirrors(sources)
        roots = self._find_roots(sources)
        for number, source in enumerate(sources):
            addresses = (source.url, self._follow(source.url))
            keys = [service_key(url, source.service.type) for url in addresses]
            same_service.add([*keys, ("root", roots[number]), *names.get(number, ())])
        members: dict[int, dict[str, DescriptionSource]] = {}
        for number, source in enumerate(sources):
            same = members.setdefault(same_service.find(number), {}).setdefault(source.digest, source)
            same.pages |= source.pages
            same.part |= source.part
            same.tried &= source.tried
        redirects_to: dict[str, list[str]] = {}
        for url in self._redirects:
            redirects_to.setdefault(self._follow(url), []).append(url)
        return [_make_entry(list(group.values()), redirects_to) for group in members.values()]

    def _find_mirrors(self, sources: list[DescriptionSource]) -> dict[int, list[Hashable]]:
        """Further keys of descriptions that say the same as others, by their numbers."""
        alike: dict[tuple[str, ...], list[int]] = {}
        for number, source in enumerate(sources):
            service = source.service
            alike.setdefault((service.type, service.title, service.provider), []).append(number)
        keys: dict[int, list[Hashable]] = {}
        for numbers in alike.values():
            if len(numbers) < 2:
                continue
            for number in numbers:
                source = sources[number]
                rows = self.collection.rows(_NAMES, [source.n, source.round])
                likeness = Likeness.of(source.service, (name for (name,) in rows))
                keys[number] = mirror_keys(source.service, likeness, source.digest)
        return keys

    def _find_roots(self, sources: list[DescriptionSource]) -> list[int]:
        """The root of each description: itself, but in trees of feeds and catalogues the one above all others."""
        above = list(range(len(sources)))
        trees = [number for number, source in enumerate(sources) if source.service.type in _TREES]
        known = {(sources[at].service.type, endpoint_key(url)): at for at in trees for url in sources[at].pages}
        for at in trees:
            source = sources[at]
            for (data,) in self.collection.rows(_LAYERS, [source.n, source.round]):
                found = _read_addresses(data)
                for address in (found.address, *found.addresses):
                    child = known.get((source.service.type, endpoint_key(_resolve(address, source.url))), at)
                    if above[child] == child and _climb(above, at) != child:  # no document is above itself
                        above[child] = at
                        sources[child].part = child != at
        return [_climb(above, at) for at in range(len(sources))]

    def _follow(self, url: str) -> str:
        for _ in range(_MAX_HOPS):
            if url not in self._redirects:
                break
            url = self._redirects[url]
        return url

    def _find_failures(self, failures: list[tuple[service_state.Hypothesis, ServiceEntry]]) -> list[ServiceEntry]:
        """One entry per service that was searched for and not found, with the best that is known of it."""
        alive = {
            service_key(url, entry.service.type)
            for entry in self.entries
            for url in (*entry.endpoints, *entry.addresses)
        }
        answering = {endpoint for _, endpoint in alive}
        found: dict[tuple[str, str], ServiceEntry] = {}
        for hypothesis, entry in failures:
            place = endpoint_key(hypothesis.endpoint)
            key = (hypothesis.type, place)
            if key in alive or (not hypothesis.type and place in answering):
                continue
            entry.rule = hypothesis.rule
            itself = bool(entry.found_on) and endpoint_key(entry.found_on) == place
            entry.guess = service_state.is_guess(hypothesis, entry.state, elsewhere=place in answering, itself=itself)
            known = found.get(key)
            if known is None:
                entry.id = make_id(*key)
                found[key] = entry
                continue
            known.addresses = (*known.addresses, *entry.addresses)
            if known.guess and not entry.guess:
                known.guess, known.rule, known.found_on = False, entry.rule, entry.found_on
            if service_state.RANK[entry.state] < service_state.RANK[known.state]:
                known.state, known.reason, known.at = entry.state, entry.reason, entry.at
        # Where somebody named an endpoint and no kind, the kinds that were tried there say no more.
        named = {place for (kind, place), entry in found.items() if not kind and not entry.guess}
        return [entry for (kind, place), entry in found.items() if not (kind and entry.guess and place in named)]


def _copy(source: DescriptionSource, url: str, at: float | None) -> DescriptionSource:
    """A source that was brought from another endpoint, too."""
    service = msgspec.structs.replace(source.service, endpoint=find_endpoint(url, source.service.type))
    return msgspec.structs.replace(source, url=url, service=service, at=at or source.at, pages={})


def _resolve(address: str, base: str) -> str:
    return (address and urls.normalise(address, base)) or ""


def _climb(above: list[int], at: int) -> int:
    """The root above a document; the way there is shortened, so that a deep tree is climbed once."""
    while above[at] != at:
        above[at] = above[above[at]]
        at = above[at]
    return at


def _make_failure(
    hypothesis: service_state.Hypothesis, url: str, fate: tuple[int, str], report: ExceptionReport | None
) -> ServiceEntry:
    """The entry of an address that brought no description, with what became of the request."""
    state, reason = fate
    refused = report is not None and report.refuses
    return ServiceEntry(
        id="",
        service=Service(hypothesis.type, endpoint=hypothesis.endpoint),
        state=service_state.state_of(state, reason, exception=report is not None, refused=refused),
        reason=str(report) if report else reason,
        endpoints=(hypothesis.endpoint,),
        addresses=(url,),
    )


def _make_entry(sources: list[DescriptionSource], redirects_to: dict[str, list[str]]) -> ServiceEntry:
    """The entry of a service from all that describes it."""
    sources = sorted(sources, key=lambda source: source.rank, reverse=True)
    service = _merge_descriptions(sources)
    own = [source for source in sources if not source.part] or sources
    pages = {url: state for source in own for url, state in source.pages.items()}
    parts = [url for source in sources if source not in own for url in source.pages]
    redirected = [url for page in pages for url in redirects_to.get(page, ())]
    endpoints = {endpoint_key(service.endpoint): service.endpoint}
    for endpoint in (find_endpoint(url, service.type) for url in (*pages, *redirected)):
        endpoints.setdefault(endpoint_key(endpoint), endpoint)
    # The address that the service states is the better one, if it answered there.
    service.endpoint = endpoints.get(endpoint_key(strip_request(service.advertised)), service.endpoint)
    state, reason = _judge(pages)
    if state == "live" and all(source.service.empty for source in sources):
        state = "empty"
    return ServiceEntry(
        id=make_id(service.type, min(endpoints)),
        service=service,
        state=state,
        reason=reason,
        endpoints=tuple(dict.fromkeys((service.endpoint, *endpoints.values()))),
        addresses=(*pages, *redirected, *parts),
        versions=tuple(dict.fromkeys(filter(None, (source.service.version for source in sources)))),
        sources=sources,
        guess=state == "empty" and all(source.tried for source in sources),
        at=max(filter(None, (source.at for source in sources)), default=None),
    )


def _merge_descriptions(sources: list[DescriptionSource]) -> Service:
    """A service from its descriptions, the best first: each tells what the ones before it leave out."""
    service = msgspec.structs.replace(sources[0].service)
    first_page = next((source.service for source in sources if source.service.kind == "ogcapi:landing"), None)
    if first_page is not None:
        for name in ("title", "abstract", "keywords", "advertised"):
            setattr(service, name, getattr(first_page, name) or getattr(service, name))
    for source in sources[1:]:
        # A data set says only of itself what it is, whose it is and who may use it.
        if not source.part and source.service.kind.partition("/")[0] not in _OF_ONE:
            _complete(service, source.service)
    return service


def _complete(service: Service, other: Service) -> None:
    """Take from another description of a service what the fuller one leaves out."""
    for name in Service.__struct_fields__:
        if name not in ("kind", "version", "items", "boxes", "problem") and not getattr(service, name):
            setattr(service, name, getattr(other, name))


def _judge(pages: dict[str, tuple[int, str]]) -> tuple[str, str]:
    """The state of a service that described itself once: live, unless all its addresses have failed since."""
    words = []
    for state, reason in pages.values():
        word = service_state.state_of(state, reason)
        if word in ("other", "unvisited"):  # it brought the description, or is to be visited again
            return "live", ""
        words.append((service_state.RANK[word], word, reason))
    _, word, reason = min(words)
    return word, reason
