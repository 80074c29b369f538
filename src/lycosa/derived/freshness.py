"""Freshness: marks that are another text when what something was made from has changed, and values kept by them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from lycosa.collection.reading_source import mark_source
from lycosa.disk import mark_file

V = TypeVar("V")


def mark_of(folder: Path, files: Iterable[str] = ()) -> str:
    """The mark of a collection: of what was crawled, of its mission, and of further files of its folder."""
    return f"{mark_source(folder)} {mark_files(folder, ('lycosa.toml', *files))}"


def mark_files(folder: Path, names: Iterable[str]) -> str:
    """The mark of some files of a folder."""
    return " ".join(mark_file(folder / name) for name in names)


class KeptValues(Generic[V]):
    """The last few values of something, each kept until its mark is another one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[object, V]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, mark: object, make: Callable[[], V]) -> V:
        """The value that was made for a key at this mark, made now if there is none."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None and found[0] == mark:
                self._kept[key] = found
                return found[1]
        value = make()
        with self._lock:
            self._kept.pop(key, None)
            while len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = mark, value
        return value
