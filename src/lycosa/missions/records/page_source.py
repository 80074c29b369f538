"""Pages by name: a file, a page that a collection has stored, or a URL that is fetched once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.parse import Doc, read
from lycosa.politeness.single_requests import Reply, SingleRequests
from lycosa.reasons import explain

#: So much of a page is read.
MAX_BYTES = 50 << 20


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
            with open(path, "rb") as file:
                body = file.read(MAX_BYTES)
        except (OSError, ValueError) as problem:
            self.problems[name] = f"{name}: {getattr(problem, 'strerror', None) or problem}"
            return None
        return read(path.absolute().as_uri(), {}, body)

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
