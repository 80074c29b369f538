"""Page request: what a view is asked, with the links that lead on from it; and the line of the routing table.

    def show_hosts(request: PageRequest) -> View:
        return View("hosts.html", HostList(...))

A view is such a function. It runs in a thread of its own, may open the request's collection, and raises a `LycosaError`
for what a person must know, which becomes a page as well. The template escapes everything that the view hands out; the
JSON twin gives the same data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import apsw
from starlette.datastructures import QueryParams
from starlette.responses import Response

from lycosa.collection.collection import Collection
from lycosa.collection.database import find_odd_value
from lycosa.errors import CollectionError, LycosaError
from lycosa.missions.web import NotFound, PointMaker, View, Work
from lycosa.serve.background_work import list_work, new_product, start_work
from lycosa.serve.collection_folders import decode_name, refuse_strange_files
from lycosa.serve.server_state import ServerState, ServeSettings
from lycosa.serve.translations import Translator

__all__ = [
    "NotFound",
    "PageRequest",
    "PageRoute",
    "View",
    "ViewFunction",
    "collection_link",
    "require_folder",
    "twin_path",
    "with_query",
]


class PageRequest:
    """A request as views see it. `close` closes the collection, if one was opened."""

    def __init__(
        self,
        *,
        server_state: ServerState,
        address: str,
        path: Mapping[str, str],
        query: QueryParams,
        form: QueryParams,
        translate: Translator,
        session: str = "",
        user: str = "",
        role: str = "owner",
        cookie: str = "",
        client: str = "",
        as_json: bool = False,
        origin: str = "",
        headers: Mapping[str, str] | None = None,
        target: str = "",
    ) -> None:
        self.server_state = server_state
        self.address = address  # the path without the query, and without .json
        self.path = path
        self.query = query
        self.form = form  # what a POST brought
        self.translate = translate
        self.session = session  # the cookie of who is logged in
        self.user = user  # who asks, by name; empty: who has the one password, or none is asked for
        self.role = role  # a key of people.ROLES; empty: who may see but the open pages
        self.cookie = cookie  # whatever was sent as one
        self.new_cookie = ""  # to be sent with the answer
        self.client = client  # the address that asks
        self.as_json = as_json
        self.origin = origin  # by which the server was asked: "http://127.0.0.1:8420"
        self.headers = headers or {}  # by lower-case names
        self.target = target  # path and query as they were written
        self.has_twin = True  # whether the page has one for programs
        self.file_type = ""  # of a list that leaves as a file: "csv"
        self.mission = ""  # whose page it is; empty: a page of the core
        self.package = ""  # in which that mission keeps its templates
        self._folder: Path | None = None
        self._collection: Collection | None = None

    @property
    def settings(self) -> ServeSettings:
        return self.server_state.settings

    @property
    def token(self) -> str:
        """What a form of ours carries."""
        return self.server_state.tokens.token(self.session or self.user)

    @property
    def language(self) -> str:
        return self.translate.language

    @property
    def name(self) -> str:
        """The name of the collection in the address; empty where it has none."""
        return self.path.get("name", "")

    @property
    def folder(self) -> Path:
        """The folder of the collection in the address."""
        if self._folder is None:
            self._folder = self.server_state.folders.find(self.name) if self.name else None
            if self._folder is None:
                raise NotFound(f"There is no collection called {self.label!r} below the folder that is served.")
            refuse_strange_files(self._folder)
        return self._folder

    @property
    def collection(self) -> Collection:
        """The collection in the address, open for reading."""
        if self._collection is None:
            self._collection = Collection(self.folder)
        return self._collection

    @property
    def can_open(self) -> bool:
        """Whether the collection in the address can be opened, whatever else is wrong."""
        try:
            summary = self.server_state.summaries.read(self.name, self.folder)
        except LycosaError:
            return False
        return summary.state not in ("damaged", "unreadable")

    @property
    def label(self) -> str:
        """The name of the collection as people read it: its path below the served folder."""
        return decode_name(self.name)

    def place(self, page: str) -> str:
        """The path of a page of the same collection, as `address` has it."""
        return f"/c/{self.name}/{page}"

    def link(self, page: str = "", /, **query: object) -> str:
        """The address of a page of the same collection; values that are None or empty are left out."""
        return collection_link(self.name, page, **query)

    def mission_link(self, page: str = "", /, **query: object) -> str:
        """The address of a page of the same mission."""
        return self.link(f"m/{self.mission}/{page}", **query)

    def replay(self, url: str, point: PointMaker) -> Response:
        """An archived page for a frame, without anything that runs, in which texts can be pointed at."""
        return self.server_state.replay(self.collection, url, point)

    def start_work(self, words: Sequence[str], *, label: str, product: str = "", given: Iterable[str] = ()) -> str:
        """Start a verb of lycosa on the collection, and return the address of its page."""
        at = words.index("--") if "--" in words else len(words)
        words = [*words[:at], f"--collection={self.folder}", *words[at:]]
        work = start_work(self.folder, words, label=label, product=product, by=self.user, given=given)
        return self.link(f"work/{work.number}")

    def new_product(self, name: str, ending: str = "") -> str:
        return new_product(self.folder, name, ending)

    def list_work(self) -> Sequence[Work]:
        return list_work(self.folder)

    @property
    def tiles(self) -> str:
        return self.settings.tiles

    def here(self, **changed: object) -> str:
        """The address of this page with a part of its query changed; None removes a value."""
        values: dict[str, object] = {key: self.query.getlist(key) for key in self.query} | changed
        return with_query(quote(self.address, safe="/~"), values)

    def file_link(self, ending: str) -> str:
        """The address of all that the list of this page holds, as a file."""
        address = f"{self.address}index" if self.address.endswith("/") else self.address
        values: dict[str, object] = {key: self.query.getlist(key) for key in self.query if key != "page"}
        return with_query(quote(f"{address}.{ending}", safe="/~"), values)

    def close(self) -> None:
        if self._collection is not None:
            self._collection.close()
            self._collection = None

    def find_odd_value(self) -> str:
        """A column of the collection's database with values that no lycosa wrote; empty where there is none."""
        with suppress(LycosaError, apsw.Error):
            return find_odd_value(self.collection.database) if self.name else ""
        return ""

    def interrupt(self) -> None:
        """End the statement that the collection's database is busy with; another thread may call this."""
        with suppress(CollectionError):  # it was closed just now
            if self._collection is not None:
                self._collection.database.interrupt()


ViewFunction = Callable[[PageRequest], "View | Response"]


class PageRoute(NamedTuple):
    """A line of the table of routes: an address, and the view that answers it."""

    path: str  # "/c/{name}/hosts"
    view: ViewFunction
    label: str = ""  # in the navigation of a collection; empty: it is not there
    method: str = "GET"
    has_twin: bool = True  # whether it has a JSON twin, if it is a GET
    only_reads: Callable[[Mapping[str, str]], bool] = lambda path: False  # whether a POST to a path needs no token
    role: str | None = None  # that it needs; None: what its method does

    def needed_role(self, path: Mapping[str, str]) -> str:
        """The role that a request needs; empty: none at all."""
        if self.role is not None or self.path in ("/login", "/about"):
            return self.role or ""
        return "reader" if self.method == "GET" or self.only_reads(path) else "editor"


def collection_link(name: str, page: str = "", /, **query: object) -> str:
    """The address of a page of a collection."""
    return with_query(f"/c/{quote(name, safe='~')}/{page}", query)


def with_query(path: str, values: Mapping[str, object]) -> str:
    """A path with a query; values that are None or empty are left out."""
    pairs = [
        (key, item)
        for key, value in values.items()
        for item in (value if isinstance(value, list | tuple) else [value])
        if item is not None and item != ""
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def twin_path(path: str) -> str:
    """The path of the JSON twin of a page."""
    return f"{path}index.json" if path.endswith("/") else f"{path}.json"


def require_folder(request: PageRequest) -> None:
    """Refuse where the served folder is gone: it is neither empty nor made anew, as its disk may be missing."""
    folder = request.settings.folder
    if not folder.is_dir():
        raise NotFound(f"The folder {folder} is gone: it was moved or deleted, or its disk is missing.")
