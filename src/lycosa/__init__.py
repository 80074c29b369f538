"""lycosa: a focused web-collection system.

from lycosa import crawl, Collection

for page in crawl("https://example.org/", collection="example", limit=100):
    print(page.url, page.title)
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lycosa.api import crawl as crawl
    from lycosa.collection.collection import Collection as Collection

__version__ = "0.1.0"
__all__ = ["Collection", "__version__", "crawl"]


class _Package(ModuleType):
    """Loads the public names when they are first used, so that `import lycosa` costs nothing.

    `crawl` is a property because a sub-package has the same name, which importing it would put in the function's place.
    """

    @property
    def crawl(self) -> object:
        from lycosa.api import crawl

        return crawl

    @crawl.setter
    def crawl(self, package: ModuleType) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        if name == "Collection":
            from lycosa.collection.collection import Collection

            return Collection
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Package
