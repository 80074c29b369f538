"""lycosa: a focused web-collection system.

from lycosa import crawl, Collection

for page in crawl("https://example.org/", collection="example", limit=100):
    print(page.url, page.title)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lycosa.version import __version__

if TYPE_CHECKING:
    from lycosa.api import Collection as Collection
    from lycosa.api import crawl as crawl

__all__ = ["Collection", "__version__", "crawl"]


def __getattr__(name: str) -> object:
    """Load the public names when they are first used, so that `import lycosa` costs nothing."""
    if name in ("Collection", "crawl"):
        from lycosa import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
