"""Schemas that are missing at their address: the address flows in, addresses where they may be flow out.

Schemas move with their folder or are copied beside others: so the folders above, the usual names of folders for them,
and the folders in which others were found.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

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
