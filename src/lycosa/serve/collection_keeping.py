"""Keeping of collections: tags, another name, a copy, the end of one; none of it while something works there.

What the folder says about a collection (its tags, its schedule) stands in `.lycosa` and follows it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path

import msgspec
from starlette.responses import RedirectResponse, Response

from lycosa.collection.status import running_crawl
from lycosa.disk import make_fault, mark_file, replace_text
from lycosa.errors import CollectionError, UsageError
from lycosa.output.plain import printable
from lycosa.serve.background_work import is_held, list_work
from lycosa.serve.collection_folders import DEPTH, MOST_FOLDERS, is_collection, name_of
from lycosa.serve.crawl_form import check_new_name
from lycosa.serve.page_request import PageRequest, collection_link
from lycosa.serve.schedules import changing, move_schedule
from lycosa.serve.state_folder import STATE_FOLDER

_MOST_TAGS = 20
_TAGS = f"{STATE_FOLDER}/tags.json"


def read_tags(root: Path) -> dict[str, list[str]]:
    """The tags of the collections of a folder, by their names in addresses."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((root / _TAGS).read_bytes(), type=dict[str, list[str]])
    return {}


def change_tags(request: PageRequest) -> Response:
    """Give a collection other tags: words between commas."""
    found = [tag for word in request.form.get("tags", "").split(",") if (tag := " ".join(word.split())[:50])]
    with changing(request.settings.folder):
        _keep_tags(request.settings.folder, name_of(request.settings.folder, request.folder), found[:_MOST_TAGS])
    return RedirectResponse("/", 303)


def rename(request: PageRequest) -> Response:
    """Give a collection another name, in the folder where it is."""
    folder, root = request.folder, request.settings.folder
    new = _check_free(request, folder)
    with changing(root):
        _refuse_busy(folder, root)
        try:
            folder.rename(new)
        except OSError as problem:
            raise make_fault(problem, str(folder)) from None
        _follow(root, folder, new)
    request.server_state.folders.look_again()
    return RedirectResponse(collection_link(name_of(root, new)), 303)


def copy(request: PageRequest) -> Response:
    """Copy a collection in the background; the copy appears when it is whole."""
    folder, root = request.folder, request.settings.folder
    new = _check_free(request, folder)
    _refuse_busy(folder, root)
    threading.Thread(target=copy_whole, args=(folder, new), name="copy", daemon=True).start()
    return RedirectResponse("/", 303)


def copy_whole(folder: Path, new: Path) -> None:
    """Copy a collection under a name that nobody lists, which it changes when it is whole; or leave nothing."""
    part = new.parent / f".copy-{secrets.token_hex(8)}"
    before = _mark(folder)
    try:
        part.mkdir()
        with open(part / "lock", "xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # which tells another server that it is no leftover
            left_out = shutil.ignore_patterns("lock", "*.lock", "work")
            shutil.copytree(folder, part, symlinks=True, ignore=left_out, dirs_exist_ok=True)
            if running_crawl(folder) or _mark(folder) != before:
                raise OSError("a crawl has changed the collection meanwhile")
            os.rename(part, new)
    except OSError as problem:
        shutil.rmtree(part, ignore_errors=True)
        print(printable(f"lycosa: {new.name} was not copied: {problem}"), file=sys.stderr)


def _mark(folder: Path) -> tuple[str, int]:
    """By what a database is recognised as unchanged."""
    journal = folder / "crawl.db-wal"
    return mark_file(folder / "crawl.db"), journal.stat().st_size if journal.exists() else 0


def delete(request: PageRequest) -> Response:
    """Delete a collection whose name was typed."""
    folder, root = request.folder, request.settings.folder
    if request.form.get("typed", "").strip() != request.label:
        raise UsageError(f"Nothing was deleted: to delete this collection, type its name, {request.label}.")
    gone = folder.parent / f".deleted-{secrets.token_hex(8)}"
    with changing(root):
        _refuse_busy(folder, root)
        try:
            folder.rename(gone)  # at once or not at all, however long the rest takes
        except OSError as problem:
            raise make_fault(problem, str(folder)) from None
        _follow(root, folder, None)
    request.server_state.folders.look_again()
    threading.Thread(target=shutil.rmtree, args=(gone,), kwargs={"ignore_errors": True}, daemon=True).start()
    return RedirectResponse("/", 303)


def remove_leftovers(root: Path) -> None:
    """Remove what a server that was ended left of deleted collections, and of copies that were not whole."""
    looked = 0
    for place, names, _ in os.walk(root):
        folder = Path(place)
        for part in (folder / name for name in names if re.fullmatch(r"\.(?:copy|deleted)-[0-9a-f]{16}", name)):
            is_made = part.name.startswith(".copy-") and is_held(part / "lock")
            if not is_made and not part.is_symlink():
                shutil.rmtree(part, ignore_errors=True)
        looked += len(names)
        is_last = looked > MOST_FOLDERS or len(folder.relative_to(root).parts) >= DEPTH - 1
        names[:] = [] if is_last else [name for name in names if name[0] != "." and not is_collection(folder / name)]


def _check_free(request: PageRequest, folder: Path) -> Path:
    """The place beside a collection for one of the name that was typed."""
    name = request.form.get("to", "").strip()
    check_new_name(name, request.server_state.folders, request.translate)
    if os.path.lexists(folder.parent / name):
        raise UsageError(f"There is already something called {name} beside the collection.")
    return folder.parent / name


def _refuse_busy(folder: Path, root: Path) -> None:
    if folder == root:
        raise UsageError("The collection is the served folder itself: that is renamed and deleted at the command line.")
    if process := running_crawl(folder):
        raise CollectionError(f"A crawl already runs there (process {process}): stop it, or wait for it to end.")
    if any(work.is_running for work in list_work(folder)):
        raise CollectionError("Something works on this collection in the background: stop it, or wait for it to end.")


def _follow(root: Path, folder: Path, new: Path | None) -> None:
    """Let tags and schedule follow a collection, or end with it."""
    move_schedule(root, folder, new)
    tags = read_tags(root).get(name_of(root, folder), [])
    _keep_tags(root, name_of(root, folder), [])
    if new is not None:
        _keep_tags(root, name_of(root, new), tags)


def _keep_tags(root: Path, name: str, tags: list[str]) -> None:
    known = read_tags(root)
    if tags != known.get(name, []):
        kept = {key: value for key, value in {**known, name: tags}.items() if value}
        replace_text(root / _TAGS, msgspec.json.encode(kept).decode())
