"""Pages of missions in the browser: what a view of a mission is asked, and what it answers.

    def show_feeds(request: WebRequest) -> View:
        return View("feeds.html", FeedList(...))

`WebPage.view` names such a function. Beside its module stand the folders `templates` (Jinja; the core's `base.html` can
be extended), `static` (files for browsers) and `locale/es` (TOML: "English" = "Spanish"). `View.data` also goes out as
JSON, so it holds values, and the template makes words of them. A page that is a list names it in `View.rows`: the same
address with .csv, .jsonl or .parquet behind it then gives all of it, as `rows_at_once` tells the view. A view runs in
a thread of its own and has thirty seconds; a `LycosaError` becomes a page for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from lycosa.errors import CollectionError

if TYPE_CHECKING:
    from starlette.responses import Response
    from turbohtml import Document, Element

    from lycosa.collection.collection import Collection

#: Rows of a list in a file, so that one request cannot take all memory.
MOST_FILE_ROWS = 200_000


class NotFound(CollectionError):
    """An address that leads to nothing."""


class View(NamedTuple):
    """What a page shows: a template, and the data that it and the JSON twin give."""

    template: str
    data: Any  # a struct or a dictionary that msgspec can encode
    status: int = 200
    images: str = ""  # another origin whose pictures the page may show: "https://tiles.example"
    rows: str = ""  # the field of `data` with the list that leaves as a file; empty: the page has none
    row: type[Struct] | None = None  # what that list holds: its fields are the columns


class Work(Struct, frozen=True):
    """A verb of lycosa that works, or worked, on a collection beside the server."""

    number: int
    label: str  # what it does, as people read it
    words: list[str]  # the verb
    began: float  # Unix time
    process: int = 0
    product: str = ""  # the file or the folder below the collection that it makes
    by: str = ""  # who started it
    ended: float = 0.0  # 0: it is under way
    code: int | None = None  # the exit code; None: nobody saw it end
    said: str = ""  # the end of what it told people
    is_running: bool = False


def mark(text: str) -> str:
    """Mark a text that is translated later, where it is shown."""
    return text


class Pointed(NamedTuple):
    """A text of an archived page that can be pointed at: where a click leads, and what it was taken for."""

    address: str
    label: str = ""


#: Makes of a page what tells of each of its elements whether the text right in it can be pointed at.
PointMaker = Callable[["Document"], Callable[["Element"], Pointed | None]]


class QueryValues(Protocol):
    """What stands behind the question mark of an address, or in a form; a name may be there more than once."""

    def get(self, name: str, default: str = "", /) -> str: ...
    def getlist(self, name: str, /) -> list[str]: ...
    def multi_items(self) -> list[tuple[str, str]]: ...
    def __contains__(self, name: object, /) -> bool: ...


class SpokenLanguage(Protocol):
    """The language of who asks."""

    @property
    def language(self) -> str: ...
    def __call__(self, text: str, **values: Any) -> str: ...
    def count(self, number: int, one: str, many: str) -> str: ...
    def number(self, value: float, digits: int = 0) -> str: ...


class WebRequest(Protocol):
    """A request for a page of a mission."""

    @property
    def collection(self) -> Collection:
        """The collection in the address, open for reading; it is closed when the page is made."""

    @property
    def folder(self) -> Path:
        """Its folder."""

    @property
    def name(self) -> str:
        """Its name in addresses."""

    @property
    def label(self) -> str:
        """Its name for people."""

    @property
    def query(self) -> QueryValues: ...
    @property
    def form(self) -> QueryValues:
        """What a POST brought; its token was checked, unless the page only reads."""

    @property
    def translate(self) -> SpokenLanguage: ...
    @property
    def as_json(self) -> bool:
        """Whether a program asks: what only the page draws may be left out."""

    @property
    def file_type(self) -> str:
        """ "csv", "jsonl" or "parquet" where the list of the page leaves as a file; empty for a page."""

    @property
    def origin(self) -> str:
        """The beginning of the server's addresses, as who asks knows it: "http://127.0.0.1:8420"."""

    @property
    def tiles(self) -> str:
        """The address of map tiles that the user gave, with {z}, {x} and {y}; empty: none."""

    def replay(self, url: str, point: PointMaker) -> Response:
        """An archived page for a frame, without anything that runs, in which texts can be pointed at."""

    def start_work(self, words: Sequence[str], *, label: str, product: str = "", given: Iterable[str] = ()) -> str:
        """Start a verb of lycosa on the collection, which outlives the server: ["export", "dspace", "--output=…"].

        It reads what is `given`, line by line; who deletes the work deletes the `product` below the collection. Returns
        the address of its page.
        """

    def new_product(self, name: str, ending: str = "") -> str:
        """A file or folder below the collection that such work may make, as "exports/NAME-…": its `product`."""

    def list_work(self) -> Sequence[Work]:
        """All such work on the collection, the newest first."""

    def link(self, page: str = "", /, **query: object) -> str:
        """The address of a page of the core about the same collection: link("page", url=…)."""

    def mission_link(self, page: str = "", /, **query: object) -> str:
        """The address of a page of the same mission."""

    def here(self, **changed: object) -> str:
        """The address of this page with a part of its query changed; None removes a value."""


def rows_at_once(request: WebRequest, usual: int) -> int:
    """How many rows of a list are asked for: a page of it, or all where it leaves as a file."""
    return MOST_FILE_ROWS if request.file_type else usual


def read_number(values: QueryValues, name: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
    """A number of a query within bounds; what is none counts as the default."""
    text = values.get(name, "")
    return min(max(int(text), least), most) if text.isdecimal() and len(text) < 12 else default
