"""Schema guesses: addresses where a schema may be that is missing at its own.

Schemas move with their folder or are copied beside others: so the guesses are the folders above, the usual names of
folders for them, and the folders in which others were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from lycosa import urls

#: Addresses that are tried for one that is missing: each is a request to somebody.
MOST = 5
#: Folders in which sites keep what others refer to, most frequent first.
_USUAL = {
    "xsd": ("schemas", "xsd"),
    "dtd": ("dtd", "dtds"),
    "mod": ("dtd",),
    "ent": ("dtd",),
    "xsl": ("xsl", "xslt"),
    "xslt": ("xslt", "xsl"),
    "rng": ("rng", "schemas"),
    "rnc": ("rng", "schemas"),
}
#: The kinds of documents that are looked for, and by which folders are known.
SUFFIXED = frozenset({"xsd", "dtd", "xslt", "rng", "rnc"})
#: Schemas in one folder from which on it counts as a repository.
_REPOSITORY = 5
_MAX_FOLDERS = 10_000
#: Guesses about one host that may all be wrong.
_MAX_GUESSES = 25
_MAX_PROPOSED = 100_000


class GuessHistory:
    """What guesses depend on: the folders in which schemas were found, and the guesses made so far per host.

    It bounds the requests that guesses cost: no address twice, and no more on a host where all of them were wrong.
    """

    def __init__(self) -> None:
        self._folders: Counter[str] = Counter()  # schemas found in each
        self._guessed: Counter[str] = Counter()  # guesses on each host since the last that held
        self._proposed: set[str] = set()

    def note_schema(self, url: str) -> None:
        """A schema was found at an address."""
        if url in self._proposed:
            self._guessed[urls.host_of(url)] = 0  # guesses are worth their requests there
        if len(self._folders) > _MAX_FOLDERS:
            self._folders = Counter(dict(self._folders.most_common(_MAX_FOLDERS // 2)))
        self._folders[url[: url.rfind("/") + 1]] += 1

    def guess(self, url: str) -> Iterator[str]:
        """Where else the document of an address may be, without what was guessed before."""
        host = urls.host_of(url)
        if self._guessed[host] >= _MAX_GUESSES or len(self._guessed) > _MAX_FOLDERS:
            return
        repositories = [folder for folder, count in self._folders.most_common(2) if count >= _REPOSITORY]
        for address in guess(url, repositories):
            if address not in self._proposed and len(self._proposed) < _MAX_PROPOSED:
                self._proposed.add(address)
                self._guessed[host] += 1
                yield address


def guess(url: str, folders: Iterable[str]) -> list[str]:
    """Where else a document may be, the likeliest first; `folders` are those in which others were found."""
    parts = urlsplit(url)
    *above, name = parts.path.split("/")[1:]
    suffix = name.rpartition(".")[2].lower()
    if suffix not in _USUAL:
        return []
    origin = f"{parts.scheme}://{parts.netloc}"
    found = [f"{origin}/{'/'.join([*above[:depth], name])}" for depth in range(len(above) - 1, -1, -1)][:2]
    found += [folder + name for folder in folders]
    found += [f"{origin}/{folder}/{name}" for folder in _USUAL[suffix]]
    return list(dict.fromkeys(address for address in found if address != url))[:MOST]
