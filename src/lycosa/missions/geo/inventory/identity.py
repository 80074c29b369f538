"""Identity of services and layers: which descriptions belong to one service, and which items are one layer.

*The same service.* Two descriptions belong to one service if they are of one type and their endpoints are spelled
alike: without scheme, default port, case of the host and of parameter names, the parameters of the request and of
sessions, the order of the rest and a slash at the end. Under different endpoints they still do if they say the same of
themselves (title, provider and the names of their items, of which there is at least one) and either state the same
public address, or stand at the same path on hosts of one registered domain, or are equal byte by byte and state no
address or stand on hosts of one registered domain, or are a WMTS on one host, which describes itself in answer to a
request and in a file; or if they are equal byte by byte and state the same public address.
Atom feeds and STAC documents belong to the one that names them.

*The same layer.* Items of different services are one layer if their titles are equal (letters and digits, whatever
their case), their boxes agree within a fiftieth of their size, and one more thing says so: the same name (without its
name space; numbers are no names), a metadata record that both refer to, or, where one of them has no real name, hosts
of one registered domain. Boxes that are absent or hold the whole world prove nothing: then name and registered domain
must agree.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from urllib.parse import unquote

import xxhash
from msgspec import Struct

from lycosa import urls
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.model import DIRECTORY, LayerItem, Service
from lycosa.missions.geo.recognise.endpoint_inference import (
    find_endpoint,
    is_private,
    strip_request,
    unify_case,
)
from lycosa.missions.geo.vocabulary import SESSIONS

#: How far apart the sides of two boxes may be: in degrees, and as a part of the larger box.
_SLACK_DEGREES = 0.01
_SLACK_PART = 0.02
#: Square degrees, of 64,800, from which a box counts as the whole world.
_WORLD = 55_000
#: Groups of one title and one trait that an item is compared with: those that are sorted next to it.
_MAX_GROUPS = 20
_PLAIN = re.compile(r"[\W_]+")
_SESSION_PATH = re.compile(r";(?:jsessionid|sid)=[^/?;]*", re.IGNORECASE)


@lru_cache(maxsize=16_384)
def endpoint_key(endpoint: str) -> str:
    """An endpoint in one spelling, for comparing: `maps.example.org/cgi-bin/mapserv?map=/srv/a.map`."""
    normal = unify_case(urls.normalise(endpoint) or endpoint)
    head, _, query = normal.partition("?")
    rest = _SESSION_PATH.sub("", head).partition("://")[2]
    host, _, path = rest.partition("/")
    if host.endswith((":80", ":443")):
        host = host.rpartition(":")[0]
    pairs = []
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        name = unquote(name).lower()
        if pair and not name.startswith(SESSIONS):
            pairs.append(f"{name}{equals}{unquote(value)}")
    path = unquote(path).rstrip("/")
    return f"{host.lower()}/{path}" + (f"?{'&'.join(sorted(pairs))}" if pairs else "")


def service_key(url: str, kind: str) -> tuple[str, str]:
    """Type and endpoint, spelled for comparing, of the service that describes itself at an address."""
    return kind, endpoint_key(find_endpoint(url, kind))


def make_id(*parts: str) -> str:
    """A short name that is the same in every export of every collection."""
    return xxhash.xxh3_64_hexdigest("\n".join(parts).encode("utf-8", "replace"))


def plain(text: str) -> str:
    """Letters and digits of a text, whatever their case."""
    return _PLAIN.sub("", text.casefold())


def local_name(name: str) -> str:
    """The name of an item without its name space; "" for a number, which names nothing elsewhere."""
    found = plain(re.split(r":|__", name)[-1])
    return "" if found.isdigit() else found


class Likeness(Struct, frozen=True):
    """What a description says of a service, as far as it shows which services are mirrors of each other."""

    type: str
    title: str
    provider: str
    names: int  # hash of the names of its items

    @classmethod
    def of(cls, service: Service, names: Iterable[str]) -> Likeness | None:
        """The likeness of a service; None where its description says too little to recognise it by."""
        listed = sorted({name for name in names if name})
        if not listed or not plain(service.title):
            return None
        digest = xxhash.xxh3_64_intdigest("\n".join(listed).encode("utf-8", "replace"))
        return cls(service.type, plain(service.title), plain(service.provider), digest)


def mirror_keys(service: Service, likeness: Likeness | None, digest: str) -> list[Hashable]:
    """Keys of a service that hold under another endpoint, too: two services that share one are the same."""
    host, _, path = endpoint_key(service.endpoint).partition("/")
    domain = urls.registered_domain(host.partition(":")[0]) or host
    keys: list[Hashable] = []
    stated = endpoint_key(strip_request(service.advertised)) if service.advertised.startswith("http") else ""
    if stated and not is_private(stated.partition("/")[0]):
        keys.append((service.type, likeness or digest, "stated", stated))
    if likeness and service.type == "WMTS":
        keys.append((likeness, "host", host))
    if likeness:
        keys += [(likeness, "bytes", digest, domain if service.advertised else ""), (likeness, "path", domain, path)]
    return keys


class SameService:
    """A union-find of descriptions: those that share a key are one service."""

    def __init__(self) -> None:
        self._above: list[int] = []
        self._keys: dict[Hashable, int] = {}

    def add(self, keys: Sequence[Hashable]) -> int:
        """A new member with these keys; returns its number."""
        number = len(self._above)
        self._above.append(number)
        for key in keys:
            if key in self._keys:
                self._above[self.find(number)] = self.find(self._keys[key])
            else:
                self._keys[key] = number
        return number

    def find(self, number: int) -> int:
        """The number that represents the whole set of a member."""
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number


class Trait(Struct, frozen=True, gc=False):
    """What identifies an item, small enough to hold a million of them."""

    name: int  # hashes; 0 for none
    box: Box | None
    record: int
    domain: int
    service: int  # number of the service


def find_trait(item: LayerItem, service: int, endpoint: str) -> tuple[int, Trait] | None:
    """The hash of an item's title and its traits; None for an item that cannot be recognised elsewhere."""
    title = plain(item.title)
    if len(title) < 3 or (item.group and not item.name) or item.type in DIRECTORY:
        return None
    host = endpoint_key(endpoint).partition("/")[0].partition(":")[0]
    record = next((reference.url for reference in item.metadata if reference.url), "")
    trait = Trait(
        _hash(local_name(item.name)),
        item.box,
        _hash(record),
        _hash(urls.registered_domain(host) or host),
        service,
    )
    return _hash(title), trait


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")) if text else 0


def is_world(box: Box) -> bool:
    """Whether a box holds nearly the whole world."""
    width = box[2] - box[0] if box[2] >= box[0] else 360 + box[2] - box[0]
    return width * (box[3] - box[1]) >= _WORLD


def agree(one: Box, other: Box) -> bool:
    """Whether two boxes are the same but for rounding and the rims that servers add."""
    for low, high in ((0, 2), (1, 3)):
        slack = max(_SLACK_DEGREES, _SLACK_PART * max(abs(one[high] - one[low]), abs(other[high] - other[low])))
        if abs(one[low] - other[low]) > slack or abs(one[high] - other[high]) > slack:
            return False
    return True


def is_same(one: Trait, other: Trait) -> bool:
    """Whether two items of equal titles are one layer."""
    boxed = one.box is not None and other.box is not None
    if boxed and one.box and other.box and not agree(one.box, other.box):
        return False
    if one.record and one.record == other.record:
        return True
    named = one.name != 0 and one.name == other.name
    proven = boxed and one.box is not None and not is_world(one.box)
    if not proven:
        return named and one.domain == other.domain
    return named or (one.domain == other.domain and 0 in (one.name, other.name))


def group(traits: Sequence[tuple[int, Trait]]) -> list[list[int]]:
    """Items of one title, as (number, trait), in groups of the same layer; the order does not matter."""
    groups: list[list[int]] = []
    heads: list[Trait] = []
    groups_by: dict[tuple[str, int], list[int]] = {}  # groups by the traits of their heads
    for number, trait in sorted(traits, key=lambda pair: (pair[1].name, pair[1].box or (), pair[0])):
        near = (at for key in _list_keys(trait) for at in groups_by.get(key, ())[-_MAX_GROUPS:])
        at = next((at for at in near if is_same(heads[at], trait)), None)
        if at is None:
            at = len(groups)
            groups.append([])
            heads.append(trait)
            for key in _list_keys(trait):
                groups_by.setdefault(key, []).append(at)
        groups[at].append(number)
    return groups


def _list_keys(trait: Trait) -> list[tuple[str, int]]:
    """The keys of an item: two items that share none of them cannot be the same layer."""
    found = [("name", trait.name), ("record", trait.record), ("domain", trait.domain)]
    return [key for key in found if key[1]]
