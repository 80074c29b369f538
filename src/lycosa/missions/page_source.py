"""Pages by name: a file, a page that a collection has stored, or a URL that is fetched once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.fetch.address_guard import AddressGuard
from lycosa.parse import Doc, read
from lycosa.politeness.single_requests import Reply, SingleRequests
from lycosa.reasons import explain

MAX_BYTES = 64 << 20
_MAX_LINE = 1 << 20
#: Pages that are asked for together.
_BATCH = 50


class ListedPage(NamedTuple):
    """A page of a list: the name that it was given by, its file, its address."""

    name: str
    path: Path
    url: str

    @property
    def is_address(self) -> bool:
        """Whether it is looked for in the collection or on the network, and not among files."""
        return "://" in self.name and urls.normalise(self.name) is not None


class _ListLine(Struct):
    """A line of a list of pages."""

    page: Annotated[str, Meta(min_length=1)]
    url: str | None = None


class PageSource:
    """Reads pages; what a page could not be read for is a sentence in `problems`, by its name."""

    def __init__(self, mission: Mission, *, folders: Iterable[Path] = (Path(),)) -> None:
        """Files are looked for in `folders`, in this order."""
        self._mission = mission
        self._folders = tuple(folders)
        self.problems: dict[str, str] = {}

    def read(self, names: Iterable[str]) -> dict[str, Doc]:
        """The pages that could be read, by their names."""
        found: dict[str, Doc] = {}
        wanted: list[str] = []
        for name in dict.fromkeys(names):
            if urls.normalise(name) is not None and "://" in name:
                wanted.append(name)
            elif doc := self._read_file(name):
                found[name] = doc
        if wanted:
            found |= self._read_stored(wanted)
            if missing := [name for name in wanted if name not in found]:
                found |= self._fetch(missing)
        return found

    def _read_file(self, name: str) -> Doc | None:
        path = next((folder / name for folder in self._folders if (folder / name).is_file()), None)
        try:
            if path is None:
                raise FileNotFoundError("there is no such file")
            return read_page_file(path)
        except OSError as problem:
            self.problems[name] = f"{name}: {problem.strerror or problem}"
            return None

    def _read_stored(self, names: list[str]) -> dict[str, Doc]:
        folder = self._mission.keep.collection
        if not os.path.isdir(folder):
            return {}
        with Collection(folder) as collection:
            stored = {name: collection.page(name) for name in names}
            return {name: page.doc for name, page in stored.items() if page is not None and not page.problem}

    def _fetch(self, names: list[str]) -> dict[str, Doc]:
        found: dict[str, Doc] = {}

        def receive(tag: object, reply: Reply) -> None:
            name = str(tag)
            if reply.reason or reply.status != 200:
                self.problems[name] = f"{name}: {explain(reply.reason).meaning if reply.reason else reply.status}"
            else:
                found[name] = read(reply.url, reply.headers, reply.body)

        guard = AddressGuard(
            allow_private=self._mission.fetch.allow_private,
            connect_to=self._mission.fetch.connect_to,
            seed_hosts={urls.host_of(urls.normalise(name) or "") for name in names},
        )
        with tempfile.TemporaryDirectory(prefix="lycosa-pages-") as spool:
            requests = SingleRequests(self._mission, guard, spool_folder=spool, robots=lambda origin: None)
            try:
                for name in names:
                    requests.ask(name, name, max_bytes=MAX_BYTES)
                requests.run(receive)
            finally:
                requests.close()
        return found


def read_pages(pages: Iterable[ListedPage], mission: Mission) -> Iterator[tuple[ListedPage, Doc | str]]:
    """Each page with what it holds, or with a sentence on why it could not be read; in the order of the pages."""
    waiting = iter(pages)
    while batch := list(islice(waiting, _BATCH)):
        source = PageSource(mission)
        fetched = source.read(page.name for page in batch if page.is_address)
        for page in batch:
            if page.is_address:
                yield page, fetched.get(page.name) or source.problems.get(page.name, f"{page.name}: no answer")
                continue
            try:
                yield page, read_page_file(page.path, url=page.url)
            except OSError as error:
                yield page, f"{page.name}: {error.strerror or error}"


def read_list(name: str) -> Iterator[ListedPage]:
    """The pages of a list; a file is looked for from here, then from where the list is."""
    try:
        with open(name, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), ""), 1):
                if not line.strip():
                    continue
                try:
                    entry = msgspec.json.decode(line, type=_ListLine)
                except msgspec.DecodeError:
                    said = f'{name}, line {number}: found no page; allowed: {{"page": FILE, "url": URL}}.'
                    raise UsageError(said) from None
                path = Path(entry.page)
                yield ListedPage(entry.page, path if path.exists() else Path(name).parent / path, entry.url or "")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}.") from None


def read_page_file(path: Path, *, url: str = "") -> Doc:
    """A page in a file, which is named HTML where its name says so; OSError says why it cannot be read."""
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
    except ValueError as error:  # a name with a zero in it
        raise OSError(str(error)) from None
    if len(body) > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES:,} bytes")
    is_named = path.suffix.lower() in (".html", ".htm")
    return read(url or path.absolute().as_uri(), {"content-type": "text/html"} if is_named else {}, body)


def explain_no_html(doc: Doc) -> str:
    """Why a page without a tree has none, for people; empty where it has one."""
    return "" if doc.tree is not None else f"this is no HTML ({doc.problem or doc.mime})"
