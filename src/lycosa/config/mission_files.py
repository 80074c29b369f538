"""Mission files: the values that a file gives, found by its path or by the name of a built-in mission.

The content of a file tells which of the two forms it has. Missions that are installed are called by their names, also
several at once, with commas between them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from lycosa.config import crawler_conf, mission_table, toml
from lycosa.config.fields import GivenValue, Problem, nearest
from lycosa.config.mission_table import split_names
from lycosa.config.mission_union import unite
from lycosa.config.value_parsers import anchor_quarry
from lycosa.errors import UsageError

#: A mission is written by people. Lists of a million addresses belong into a file of their own (--seeds).
MAX_BYTES = 32 << 20


def find_mission(word: str) -> Path | None:
    """The mission that a word on the command line names: its name, or its file; None when it is rather an address."""
    path = Path(word)
    if split_names(word):
        return path
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        return None
    if not is_file and (path.suffix not in (".toml", ".conf") or "://" in word):
        return None
    return path.absolute() if split_names(str(path)) else path  # ./NAME is a file, also where NAME is a mission


def find_own(folder: Path) -> Path | None:
    """The mission that a collection is continued with where no other is named: that of its last crawl."""
    file = folder / "lycosa.toml"
    return file if os.path.isfile(file) else None


def read_file(file: Path) -> tuple[list[GivenValue], list[Problem]]:
    """The values that a mission file gives, and what is wrong with it; UsageError when it cannot be read at all."""
    if names := split_names(str(file)):
        found = [_read_named(name) for name in names]
        given = found[0][0] if len(found) == 1 else unite([given for given, _ in found])
        return given, [problem for _, problems in found for problem in problems]
    text = _decode(_load(file), file)
    source = str(file)
    if text.lstrip()[:1] == "<" and (own := mission_table.read_settings(text)) is not None:
        return toml.flatten(own, source, {})
    _refuse_other(text, file)
    if crawler_conf.looks_like_conf(text):
        return crawler_conf.read(text, source)
    given, problems = toml.read(text, source)
    given = [_anchored(item, file.parent) for item in given]
    return crawler_conf.read(text, source) if problems and file.suffix.lower() == ".conf" else (given, problems)


def _read_named(name: str) -> tuple[list[GivenValue], list[Problem]]:
    """The settings that a mission brings; one without any has its name, and hunts what it hunts."""
    file = mission_table.defaults(name)
    if file is None:
        hunted = [name] if mission_table.quarry(name) else []
        return [GivenValue(("name",), name, name), GivenValue(("missions",), hunted, name)], []
    return toml.read(_decode(file.read_bytes(), Path(file.name)), file.name)


def _refuse_other(text: str, file: Path) -> None:
    """Refuse a file that is no mission and say what it is: a list of seeds, or a page."""
    lines = (line.strip() for line in text.split("\n", 1000)[:1000])
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if re.match(r"(?i)https?://\S+$|https?://\S+\s+#", first):
        raise UsageError(f"{file}: this is a list of addresses, and no mission; for a list: --seeds {file}")
    if re.match(r"(?i)<!doctype html|<html|<\?xml", first):
        raise UsageError(
            f"{file}: this is a document, and no mission. Documents are fetched from a server:"
            f" python3 -m http.server --directory {file.parent}, then lycosa crawl http://localhost:8000/{file.name};"
            " a sitemap with seeds is named with --seeds"
        )


def _anchored(item: GivenValue, folder: Path) -> GivenValue:
    """The value with a quarry's file looked up from the mission's folder, where it lies beside the mission."""
    if item.path != ("quarry",) or not isinstance(item.value, str):
        return item
    return replace(item, value=anchor_quarry(item.value, folder))


def _load(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        names = mission_table.names()
        meant = nearest(str(file), names)
        raise UsageError(
            f"{file}: there is no such file, nor a mission of that name"
            + (f" (did you mean {meant}?)" if meant else "")
            + f"; allowed: a mission file, or one of {', '.join(names)}"
        ) from None
    except IsADirectoryError:
        hint = f"; its mission is {file / 'lycosa.toml'}" if (file / "lycosa.toml").is_file() else ""
        raise UsageError(
            f"{file}: this is a folder; allowed: a mission file, in TOML or as Crawler.conf{hint}"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{file}: the file cannot be read ({reason})") from None
    if len(data) > MAX_BYTES:
        limit = f"{MAX_BYTES >> 20} MiB"
        raise UsageError(f"{file}: larger than {limit}; allowed: a mission of up to {limit} (long lists: --seeds FILE)")
    return data


def _decode(data: bytes, file: Path) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{file}:1: the text is in UTF-16; allowed: UTF-8")
    if (zero := data.find(b"\0")) >= 0:
        raise UsageError(f"{file}:{_line(data, zero)}: found a NUL byte; allowed: text, in TOML or as Crawler.conf")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        if not crawler_conf.looks_like_conf(text):  # the older form is older than UTF-8's victory
            found = data[error.start : error.start + 1].hex()
            raise UsageError(f"{file}:{_line(data, error.start)}: found the byte {found}; allowed: UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
