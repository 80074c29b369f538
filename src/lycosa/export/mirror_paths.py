"""Preferred paths of URLs in a mirror: each as in its URL, as far as every file system can hold it.

    http://www.ics.forth.gr/            www.ics.forth.gr/index.html
    https://example.org:8443/a/B.html   example.org_8443/a/B.html
    https://example.org/list?page=2     example.org/list@page=2
    https://example.org/a%20b/caf%C3%A9 example.org/a b/café
    https://example.org/CON/.htaccess   example.org/%43ON/%2Ehtaccess

Percent-encodings are undone where the character is harmless in a file name and spelled `%XX` where it is not: control
and invisible characters, `< > : " / \\ | ? *`, dots and spaces at an end, the first letter of a name that Windows
reserves. Several URLs may prefer one path; `mirror.py` then gives all but one a suffix that no preferred path can have.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from unicodedata import normalize
from urllib.parse import unquote_to_bytes

from lycosa.export.file_types import type_of

#: Bytes of one name: file systems allow 255, encrypting ones 143 characters, and a suffix must fit.
MAX_NAME = 200
#: Bytes of a whole path: macOS allows 1,024, with the folder in front.
MAX_PATH = 800

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_UNSAFE = frozenset('<>:"/\\|?*')
_HOST_UNSAFE = re.compile(r"[^a-z0-9._-]")
_PLAIN = re.compile(r"[A-Za-z0-9_@=&+,;!()-][A-Za-z0-9._@=&+,;!()-]*(?<!\.)")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)", re.I)
#: How our suffixes look, and how Windows shortens long names (`LONGNA~1.HTM`): no preferred path may look like either.
_SUFFIXED = re.compile(r"~(?=[a-z2-7]{16}(?:\.|$)|\d{1,6}(?:\.|$))", re.I)
#: The ending by which programs tell what a file is: `.html`, and both of what is compressed, `.tar.gz`.
_EXTENSION = re.compile(r"(?<=.)(?:(?:\.[A-Za-z][A-Za-z0-9]{0,7})?\.(?:gz|bz2|xz|zst)|\.[A-Za-z0-9]{1,8})$", re.I)


def path_of(url: str, mime: str) -> str:
    """The path that a page prefers in the mirror's folder, with `/` between its parts; it never leaves the folder."""
    plain = url if url.isascii() else url.encode("utf-8", "backslashreplace").decode()
    scheme, host, path, query = _split(plain)
    folders = [_safe(segment) or "_" for segment in path.split("/")[1:]]
    name = folders.pop() if folders else "_"
    if name == "_" and (path.endswith("/") or not path):
        kind = type_of(mime, "")
        name = f"index.{kind}" if kind.isalnum() else "index.html"
    if query is not None:
        name = _safe_text(f"{name}@{_decoded(query)}")
    return _fit([_host_name(host, scheme), *folders, name], url)


def add_suffix(path: str, url: str) -> str:
    """A path like `path` that only this URL has: `a/b~k5cq2rxh7vdm3tzn.html`."""
    folder, slash, name = path.rpartition("/")
    found = _EXTENSION.search(name)
    extension = found[0] if found else ""
    stem = name.removesuffix(extension) if extension else name
    mark = "~" + _mark(url)
    return f"{folder}{slash}{_cut(stem, MAX_NAME - len(mark) - len(extension))}{mark}{extension}"


def fold(path: str) -> str:
    """The key that two paths share when some file system takes them for one: case and composition do not count."""
    return normalize("NFC", normalize("NFC", path).casefold())


def _split(url: str) -> tuple[str, str, str, str | None]:
    """Scheme, host with port, path and query of a normalised URL; anything else is split somehow."""
    scheme, _, rest = url.partition("://")
    rest, _, _ = rest.partition("#")
    rest, question, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    # A name and password never become part of a file name.
    return scheme.lower(), host.rpartition("@")[2].lower(), slash + path, query if question else None


def _host_name(host: str, scheme: str) -> str:
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name, port = host, ""
    name = _HOST_UNSAFE.sub(lambda bad: _escape(bad[0]), name.strip("[]")) or "_"
    name = _escape_special(name)
    return f"{name}_{port}" if port and port != _DEFAULT_PORTS.get(scheme) else name


def _safe(segment: str) -> str:
    """A segment of a URL's path as a name that every file system holds."""
    if _PLAIN.fullmatch(segment) and _DEVICE.match(segment) is None:
        return segment
    return _safe_text(_decoded(segment))


def _decoded(text: str) -> str:
    """The text with percent-encodings undone where they are UTF-8; other bytes stay encoded."""
    if "%" not in text:
        return text
    return unquote_to_bytes(text).decode("utf-8", "surrogateescape")


def _safe_text(text: str) -> str:
    safe = [c if c.isprintable() and c not in _UNSAFE else _escape(c) for c in normalize("NFC", text)]
    return _escape_special("".join(safe))


def _escape_special(name: str) -> str:
    """Escape characters that are harmful only by their position in a name, or by how the whole name looks."""
    if name[:1] in (".", " "):  # hidden, or obeyed by a server: .htaccess, .git
        name = _escape(name[0]) + name[1:]
    if name[-1:] in (".", " "):
        name = name[:-1] + _escape(name[-1])
    if _DEVICE.match(name):
        name = _escape(name[0]) + name[1:]
    return _SUFFIXED.sub("%7E", name)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))


def _fit(parts: list[str], url: str) -> str:
    """Shorten names and paths that are too long; a shortened one carries the suffix of its URL."""
    whole = "/".join(parts)
    if len(whole) <= MAX_NAME // 4:
        return whole
    *folders, name = parts
    shortened = any(len(part.encode()) > MAX_NAME for part in parts)
    if shortened:  # the name itself is cut where it gets its suffix, so that it keeps its extension
        folders = [_cut(folder, MAX_NAME) for folder in folders]
    if sum(len(folder.encode()) + 1 for folder in folders) + min(len(name.encode()), MAX_NAME) > MAX_PATH:
        shortened = True
        room = MAX_PATH - MAX_NAME - 2
        for count, folder in enumerate(folders):
            room -= len(folder.encode()) + 1
            if room < 0:
                del folders[count:]
                break
    whole = "/".join([*folders, name])
    return add_suffix(whole, url) if shortened else whole


def _cut(name: str, size: int) -> str:
    """The first characters of a name, at most `size` bytes of UTF-8; what the cut leaves is safe again."""
    data = name.encode()
    if len(data) <= size:
        return name
    return _escape_special(data[:size].decode("utf-8", "ignore").rstrip(". ").replace("~", "_"))


def _mark(url: str) -> str:
    return b32encode(hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()[:10]).decode().lower()
