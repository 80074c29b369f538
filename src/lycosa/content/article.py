"""An article of an unknown site: its text, title, authors, day and language, without any rule.

Each field is asked of several witnesses, the most reliable first: structured data, <meta>, the elements that sites name
alike, the address, at last what stands around the heading.
"""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import re2
from msgspec import Struct, field
from turbohtml import Document, Element

from lycosa import urls
from lycosa.content import main_text
from lycosa.content.converters import find_date, make_date
from lycosa.content.structured import StructuredItem, read_json_ld, read_meta, walk_items

_FIRST_DAY = datetime.date(1994, 1, 1)
#: Hours by which the clocks of the world differ from UTC, at most.
_ZONES = (-12, 14)
_MAX_NAME = 80
_MAX_AUTHORS = 20
_MAX_BYLINE = 120
_MAX_ENTRIES = 1000
#: So many lines at the start of a text may be its byline.
_BYLINES = 6
#: So many characters of an entry tell it from others.
_TELLING = 60


class Article(Struct):
    """What could be read of an article; fields that the page does not tell are empty."""

    text: str = ""
    title: str = ""
    authors: list[str] = field(default_factory=list)
    date: str = ""  # ISO 8601, the day
    language: str = ""
    element: Element | None = None  # where the text stands
    is_list: bool = False  # the page leads to others, and says little itself
    found: main_text.MainText | None = None  # its blocks


def read_article(tree: Document, *, url: str = "", language: str = "", today: datetime.date | None = None) -> Article:
    """Read a page as an article; days after `today` are mistakes."""
    page = _Page(tree, url=url, language=language, today=today)
    found = main_text.read_main_text(tree, is_live=page.is_live)
    text = found.text
    said = max(page.texts("articleBody"), key=len, default="")
    if len(said) > 2 * len(text) and len(said) > 500 and len(plain := _as_plain_text(said)) > max(2 * len(text), 500):
        text = plain
    known = _key(text) if page.updates else ""
    text = "\n".join([text, *(said for said in page.updates if _key(said[:_TELLING]) not in known)])
    return Article(
        text=page.leave_out_byline(text),
        title=page.find_title(),
        authors=page.find_authors(text),
        date=page.find_date(found.element),
        language=page.language,
        element=found.element,
        is_list=found.is_list and page.kind != "article",
        found=found,
    )


def _as_plain_text(said: str) -> str:
    """A text of structured data without the markup and the references to characters that some sites leave in it."""
    for _ in range(2):  # what was escaped twice, too
        if _REFERENCE.search(said):
            said = html.unescape(said)
    said = _TAG.sub("", _BREAK.sub("\n", said))
    return "\n".join(line for part in said.split("\n") if (line := " ".join(part.split())))


#: Fields without rules, by the names that rules call them.
BUILT_IN: dict[str, Callable[[Article], list[str]]] = {
    "main-text": lambda article: [article.text] if article.text else [],
    "title": lambda article: [article.title] if article.title else [],
    "authors": lambda article: article.authors,
    "date": lambda article: [article.date] if article.date else [],
    "language": lambda article: [article.language] if article.language else [],
}

_ARTICLE = re.compile(
    r"Article|Posting|Report|^WebPage$|NewsMediaObject|^Recipe$|^Product$|Review|^Question$|CreativeWork"
)
#: Properties that name other things than the page's own.
_OTHERS = frozenset(
    {"citation", "comment", "review", "hasPart", "isPartOf", "itemListElement", "liveBlogUpdate", "mentions"}
    | {"suggestedAnswer"}
)
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#x[\da-fA-F]{1,6}|[A-Za-z]{2,10});")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,1000}>")
_BREAK = re.compile(
    r"<(script|style)\b[^<>]{0,1000}>[^<]{0,20000}</\1>|</?(?:p|div|br|h[1-6]|li|[ou]l|tr|table|blockquote|figure|section)\b[^<>]{0,1000}>",
    re.IGNORECASE,
)
_DATE_META = (
    "article:published_time", "og:published_time", "og:article:published_time", "article:published", "published_time",
    "datepublished", "date_published", "publication_date", "publish_date", "publishdate", "publish-date", "pubdate",
    "pub_date", "date.published", "cxenseparse:recs:publishtime", "cxenseparse:publishtime", "sailthru.date",
    "parsely-pub-date", "article.published", "article_date_original", "article:post_date", "originalpublicationdate",
    "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date.created", "dcterms.date", "dc.date", "dc:date",
    "citation_publication_date", "citation_date", "citation_online_date", "gentime", "rnews:datepublished",
    "bt:pubdate", "ptime", "created", "date", "displaydate", "creation_date", "news_date",
    "og:pubdate", "prism.publicationdate", "vr:published_time", "timestamp", "datecreated", "release_date",
)  # fmt: skip
_CHANGE_META = (
    "article:modified_time", "og:updated_time", "lastmod", "last-modified", "datemodified", "dcterms.modified",
    "dc.date.modified", "revised", "modified", "updated", "article:modified", "last_modified",
)  # fmt: skip
_AUTHOR_META = (
    "author", "parsely-author", "sailthru.author", "article:author", "og:article:author", "dc.creator",
    "dcterms.creator", "dc:creator", "citation_author", "byl", "authors", "rbauthors", "cxenseparse:author",
    "vr:author", "article:author_name", "og:author",
)  # fmt: skip
_DATE_NAMES = (
    '[itemprop~="datePublished"], [property~="datePublished"], [property="schema:datePublished"], time[pubdate],'
    ' [itemprop~="dateCreated"], abbr.published, .dt-published'
)
_TIMES = "time[datetime], time, [data-datetime], [data-timestamp], relative-time[datetime]"
_DATED = re.compile(
    r"(?:^|[\s_-])(?:(?:pub|publish|published|publication|post|posted|entry|article|news|story|create|created|release)?"
    r"[-_]?(?:date|datum|fecha|data|time|timestamp|dateline|datetime|published|pubdate|posted|day|meta|byline|info|when)"
    r"(?:[-_]?(?:published|time|line|stamp|box|container|wrapper|header))?)(?=$|[\s_-])|date|datum|fecha|publish",
    re.IGNORECASE,
)
#: Where names of authors stand, the surest first; all but the first are asked more of (`_is_name`).
_AUTHOR_PLACES = (
    '[itemprop~="author"], [rel~="author"], [property~="author"], .p-author',
    """.author-name, .authorname, .byline-name, .byline__name, .author__name, .article-author, .post-author,
    .entry-author, .vcard .fn, .author, .byline, .by-line, .authors, .story-byline, .autor, .auteur, .autore,
    [class*="author-name"], [class*="author_name"], [class*="AuthorName"], [data-testid*="author" i]""",
    """[class*="byline" i], [id*="byline" i], [class*="author" i], [id*="author" i], [class*="autor" i],
    [class*="auteur" i], [class*="signature" i], [class*="writer" i], [class*="journalist" i], a[href*="/author/"],
    a[href*="/autor/"], a[href*="/auteur/"], a[href*="/authors/"], a[href*="/profile/"]""",
)
_ELSEWHERE = 'aside, footer, nav, [class*="comment" i], [id*="comment" i], [class*="related" i], [class*="sidebar" i]'
#: RE2, whose cost is linear: it runs over megabytes that others wrote.
_SCRIPT_DAY = re2.compile(
    r"""(?i)["']?(?:date_?published|published_?(?:at|date|time|on)?|publish_?(?:date|time)|pub_?date|publication_?date|first_?published\w*"""
    r"""|created_?at|date_?created|creation_?date)["']?\s*[:=]\s*["']([^"']{8,40})["']""",
)
_LONG_DAY = re.compile(r"(?<!\d)\w?(20[012]\d)([01]\d)([0-3]\d)(?=\d{4,})")
_URL_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[/_.-]?(\d\d)[/_.-]?(\d\d)(?!\d)")
_BY = re.compile(
    r"^\W*(?:(?:words|written|posted|reported|story|text|photos?|article|published|report|reporting)\s+by|by|von|vom|por|par|de|"
    r"di|da|door|av|af|tekst|text|autor(?:in)?|autore|auteur|author|yazan|oleh|автор|текст|from|redaktion)\b\s*:?\s*",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"^[ \t*-]{0,4}(?:by|von|por|par|door|written by|posted by|auteur|autor(?:in)?(?:/autor)?|autore|автор|author)"
    r"(?:[ \t]*:[ \t]*|[ \t]+)"
    r"([^\W\d_][^\n\d:!?]{3,60}?)[ \t]*(?:$|[|·•\d])",
    re.IGNORECASE | re.MULTILINE,
)
_BETWEEN = re.compile(
    r"\s*(?:,|;|\||/|&|\n|·|•|\band\b|\bund\b|\by\b|\bet\b|\be\b|\boch\b|\bog\b|\bi\b|\ben\b|\bи\b)\s*"
)
_NO_NAME = re.compile(
    r"\d{3}|https?:|www\.|@|\b(?:minutes?|ago|read|updated?|published|follow|share|subscribe|more|view|posts?|comments?|editor"
    r" in chief|contact|about|privacy|click|email|twitter|facebook|copyright|rights|reserved|"
    r"publiziert|veröffentlicht|artikel|auteurs?|autoren|mehr|minuten|uhr|publicado|publié|badges?|reputation|profile)\b",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\s*[,|(–-]\s*(?:(?:[\w.-]+\s+){0,3}(?:reporter|correspondent|editor|writer|staff|journalist|redakteur\w*|contributor|columnist"
    r"|producer|author|press|news|times|post|bbc|cnn|reuters|ap|afp|dpa)\b).*$",
    re.IGNORECASE,
)


_LISTED = re.compile(r"[;|\n]|, |\band\b|\bund\b")
#: Where the family name stands first, before a comma.
_TURNED = frozenset({"citation_author", "dc.creator", "dcterms.creator", "dc:creator"})
_PARTICLES = frozenset(("de", "del", "della", "di", "da", "dos", "das", "du", "van", "von", "der", "den", "el", "la"))
_CONTAINERS = frozenset(
    {"html", "body", "main", "article", "ul", "ol", "table", "form", "nav", "script", "meta", "link", "input", "img"}
)


class _Page:
    """The witnesses of a page."""

    def __init__(self, tree: Document, *, url: str, language: str, today: datetime.date | None) -> None:
        self._tree = tree
        self._url = url
        self._today = today or datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
        things = list(walk_items(read_json_ld(tree), without=_OTHERS))
        self._things = [item for item in things if any(_ARTICLE.search(kind) for kind in item.types)]
        # A page about a page says less of it than an article does.
        self._things.sort(
            key=lambda item: (
                ("WebPage" in item.types)
                + 2 * ("articleBody" not in item.properties and "headline" not in item.properties)
            )
        )
        lives = [item for item in self._things if "LiveBlogPosting" in item.types]
        self.is_live = bool(lives) or tree.select_one('[itemtype*="LiveBlogPosting"]') is not None
        self.updates = _read_updates(lives)
        self._sites = {
            item.text("name")
            for item in things
            if {"WebSite", "Organization", "NewsMediaOrganization"} & set(item.types)
        }
        self._meta: dict[str, list[str]] = {}
        for item in read_meta(tree):
            for name, values in item.properties.items():
                self._meta.setdefault(name, []).extend(value for value in values if isinstance(value, str))
        self._sites |= set(self._meta.get("og:site_name", ()))
        self.kind = next(iter(self._meta.get("og:type", ())), "")
        self.language = (language or self._find_language())[:35]
        self._heading = self._find_heading()

    def texts(self, *names: str) -> list[str]:
        """The values of properties of the articles that JSON-LD describes."""
        return [text for item in self._things for text in item.texts(*names)]

    def _find_language(self) -> str:
        root = self._tree.root
        said = root.attr("lang") or root.attr("xml:lang") if root is not None else ""
        return str(said or next(iter(self._meta.get("og:locale", self._meta.get("content-language", []))), "")).replace(
            "_", "-"
        )

    # title

    def _find_heading(self) -> Element | None:
        """The heading of the page: of several, the one that most resembles its title."""
        headings = [e for e in self._tree.select("h1")[:20] if e.text.strip()]
        if len(headings) == 1:
            return headings[0]
        if not headings:
            others = self._tree.select('h2, h3, [class*="title" i], [class*="headline" i], [class*="titul" i]')[:40]
            title = _key(self._page_title())
            return next(
                (e for e in others if len(e.text) < 500 and len(_key(e.text)) > 8 and title.startswith(_key(e.text))),
                None,
            )
        wanted = _key(self._page_title() + " " + " ".join(self._meta.get("og:title", ())[:1]))
        fitting = [e for e in headings if _key(e.text) in wanted and len(_key(e.text)) > 8]
        return max(fitting, key=lambda e: len(e.text)) if fitting else headings[0]

    def _page_title(self) -> str:
        e = self._tree.select_one("head title") or self._tree.select_one("title")
        return " ".join(html.unescape(e.text[:2000]).split()) if e is not None else ""

    def find_title(self) -> str:
        """The heading where the page's own title confirms it, else what is said of it without the name of the site."""
        page = self._page_title()
        metas = (
            *self.texts("headline")[:1],
            *self._meta.get("og:title", ())[:1],
            *self._meta.get("twitter:title", ())[:1],
        )
        said = [" ".join(html.unescape(text[:2000]).split()) for text in metas if text.strip()]
        heading = self._heading
        shown = " ".join(heading.to_text().split()) if heading is not None and len(heading.text) < 2000 else ""
        witnesses = [self._without_site(text) for text in (*said, page) if text]
        if len(_key(shown)) > 3 and not self._is_site(shown) and (not witnesses or _confirms(witnesses, shown)):
            return shown
        return next((text for text in witnesses if text), shown)

    def _without_site(self, title: str) -> str:
        parts = re.split(r"(\s+[|\u2013\u2014\u00b7\u00bb«:-]+\s+|\s*[|\u00bb]\s*)", title)
        while len(parts) > 2 and self._is_site(parts[-1]):
            parts = parts[:-2]
        while len(parts) > 2 and self._is_site(parts[0]):
            parts = parts[2:]
        last = parts[-1]
        if len(parts) > 2 and len("".join(parts)) == len(title) and len(last) < 0.4 * len(title) and len(parts[0]) > 15:
            parts = parts[:-2]
        return "".join(parts).strip()

    # authors

    def find_authors(self, text: str) -> list[str]:
        """The names of who wrote it; the site's own name where no other is found."""
        spare: list[str] = []
        for item in self._things:
            names = _names(_persons(item), split=False)
            if own := self._without_sites_name(names):
                return own
            spare = spare or names or _names(item.texts("author", "creator"), split=False)
        for key in _AUTHOR_META:
            names = _names(self._meta.get(key, ()), split=True, turned=key in _TURNED)
            if own := self._without_sites_name(names):
                return own
            spare = spare or names
        return self._find_shown_authors() or self._find_signature(text) or spare

    def _without_sites_name(self, names: list[str]) -> list[str]:
        return [name for name in names if not self._is_site(name)]

    def _find_shown_authors(self) -> list[str]:
        """The names in the places where pages show their authors, the surest places first."""
        for tier, places in enumerate(_AUTHOR_PLACES):
            found: dict[str, str] = {}
            first = byline = None
            for e in self._tree.select(places)[:40]:
                if first is not None and (
                    _kind_of(e) != _kind_of(first) or all(above is not byline for above in e.ancestors)
                ):
                    continue
                names = self._without_sites_name(_names(_shown_names(e), split=True))
                own = [name for name in names if tier == 0 or _is_name(name, tier)]
                if own and (first is not None or self._belongs(e)):
                    first, byline = first or e, byline or _find_byline(e)
                    for name in self._part_names(own):
                        if not any(_key(name) in key for key in found):
                            found[_key(name)] = name
            if found:
                return list(found.values())
        return []

    def _part_names(self, names: list[str]) -> list[str]:
        """Names, of which one may be several: elements of their own, with nothing but a blank between them."""
        parts: list[str] = []
        for name in names:
            rest, own = _key(name), []
            for e in self._tree.select("a, span, li, strong") if len(name.split()) > 2 else ():
                said = " ".join(e.text[:_MAX_NAME].split())
                if _is_name(said, 2) and len(said) < len(name) and rest.startswith(_key(said)):
                    rest = rest.removeprefix(_key(said))
                    own.append(said)
            parts += own if own and not rest else [name]
        return parts

    def _belongs(self, e: Element) -> bool:
        """Whether an element stands beside the heading, and not among comments or other articles."""
        away = e.closest(_ELSEWHERE)
        if away is not None and away.tag == "footer" and (whole := away.closest("article")) is not None:
            return self._heading is not None and whole in self._heading.ancestors
        if away is None or away.tag in ("html", "body", "main", "article"):
            return True
        return self._heading is not None and self._heading.closest(_ELSEWHERE) == away

    def _find_signature(self, text: str) -> list[str]:
        """The name after a word such as "by" that begins a line at the start of the text, or anywhere on the page."""
        body = self._tree.select_one("body")
        shown = body.to_text() if body is not None and len(body.text) < 500_000 else ""
        for place in ("\n".join(text.split("\n")[:_BYLINES]), shown):
            for match in islice(_SIGNED.finditer(place), 5):
                names = [part for name in _names([match[1]], split=True) for part in self._part_names([name])]
                if names := [name for name in names if _is_name(name, 2)]:
                    return names
        return []

    def leave_out_byline(self, text: str) -> str:
        """A text without the lines at its start that only say who wrote it, or when."""
        lines = text.split("\n")
        start = [
            line
            for line in lines[:_BYLINES]
            if len(line) > _MAX_BYLINE
            or line.endswith((".", "!", "?", "…", "。"))
            or not (_SIGNED.match(line) or find_date(line, language=self.language))
        ]
        return "\n".join(start + lines[_BYLINES:])

    def _is_site(self, name: str) -> bool:
        key = _key(name)
        return key in {_key(site) for site in self._sites} or (len(key) > 3 and key in _key(urls.host_of(self._url)))

    # date

    def find_date(self, text: Element | None) -> str:
        """The day of publication, in ISO form."""
        for day in self._days(text):
            if day is not None and _FIRST_DAY <= day <= self._today:
                return (self._find_local_day(day) or day).isoformat()
        return ""

    def _find_local_day(self, day: datetime.date) -> datetime.date | None:
        """The day in the address, where it is that of a moment of `day` in the site's own time zone."""
        local = self._find_url_day(_URL_DAY)
        if local is None or local > self._today or abs(local - day) != datetime.timedelta(days=1):
            return None
        for said in (*self.texts("datePublished"), *(text for name in _DATE_META for text in self._meta.get(name, ()))):
            try:
                moment = datetime.datetime.fromisoformat(said.strip())
            except ValueError:
                continue
            utc = moment.astimezone(datetime.UTC) if moment.tzinfo else moment
            first, last = ((utc + datetime.timedelta(hours=hours)).date() for hours in _ZONES)
            if moment.date() == day and ":" in said and first <= local <= last:
                return local
        return None

    def _find_url_day(self, pattern: re.Pattern[str]) -> datetime.date | None:
        match = pattern.search(self._url)
        return make_date(int(match[1]), int(match[2]), int(match[3])) if match else None

    def _days(self, text: Element | None) -> Iterator[datetime.date | None]:
        for name in ("datePublished", "dateCreated", "uploadDate"):
            yield from map(self._read_day, self.texts(name))
        for name in _DATE_META:
            yield from map(self._read_day, self._meta.get(name, ()))
        for e in self._tree.select(_DATE_NAMES)[:10]:
            yield self._read_element(e)
        yield self._find_url_day(_URL_DAY)
        for script in self._tree.select("script:not([src])")[:30]:
            yield from (self._read_day(match[1]) for match in islice(_SCRIPT_DAY.finditer(script.text[:200_000]), 3))
        yield from self._shown_days(text)
        yield self._find_url_day(_LONG_DAY)
        for name in _CHANGE_META:
            yield from map(self._read_day, self._meta.get(name, ()))
        yield from map(self._read_day, self.texts("dateModified"))

    def _shown_days(self, text: Element | None) -> Iterator[datetime.date | None]:
        """Days that the page shows: in <time>, in elements named for it, around the heading."""
        for e in self._tree.select(_TIMES)[:8]:
            yield self._read_element(e)
        named = [
            e
            for e in self._tree.select("[class], [id]")[:5000]
            if e.tag not in _CONTAINERS and _DATED.search(_names_of(e))
        ]
        for e in named[:60]:
            if len(shown := e.text) < 300:
                yield find_date(shown, language=self.language)
        near = self._heading.parent if self._heading is not None else None
        for place in (near, text, getattr(near, "parent", None), getattr(text, "parent", None)):
            if isinstance(place, Element) and place.tag not in ("html", "body") and len(place.text) < 200_000:
                yield find_date(place.to_text()[:1500], language=self.language)
        body = self._tree.select_one("body")
        if body is not None and len(body.text) < 500_000:
            shown = body.to_text()
            for start in range(0, min(len(shown), 30_000), 1900):
                yield find_date(shown[start : start + 2000], language=self.language)

    def _read_element(self, e: Element) -> datetime.date | None:
        for name in ("datetime", "content", "data-datetime", "title", "data-timestamp", "data-time"):
            said = e.attr(name)
            if said and (day := self._read_day(said)) is not None:
                return day
        return find_date(e.text[:300], language=self.language)

    def _read_day(self, text: str) -> datetime.date | None:
        """A day as machines write it; seconds of the epoch too."""
        text = text.strip()
        if re.fullmatch(r"1\d{9}(?:\d{3})?", text):
            return datetime.datetime.fromtimestamp(int(text[:10]), datetime.UTC).date()
        return find_date(text[:200], language=self.language)


def _read_updates(lives: list[StructuredItem]) -> list[str]:
    """The entries of a text told live, as structured data has them."""
    entries = [entry for item in lives for entry in item.properties.get("liveBlogUpdate", ())]
    return [
        _as_plain_text("\n".join((*entry.texts("headline")[:1], body)))
        for entry in entries[:_MAX_ENTRIES]
        if isinstance(entry, StructuredItem) and (body := entry.text("articleBody"))
    ]


def _persons(item: StructuredItem) -> list[str]:
    """The authors of a thing that are no organisations."""
    values = item.properties.get("author") or item.properties.get("creator") or []
    found = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif not any("Organization" in kind for kind in value.types):
            found += value.texts("name")[:1]
    return found


def _kind_of(e: Element) -> tuple[object, ...]:
    return e.tag, e.attr("class"), e.attr("itemprop"), e.attr("rel")


def _find_byline(e: Element) -> Element:
    """The short element around an author's name in which others may stand."""
    around = e
    for _ in range(2):
        if isinstance(around.parent, Element) and len(around.parent.text) <= _MAX_BYLINE:
            around = around.parent
    return around


def _shown_names(e: Element) -> list[str]:
    """The names in an element: those of the elements of one kind that are named so, else all that it says."""
    named = e.select('[itemprop~="name"], a[rel~="author"], .fn, [class*="name"]')[:_MAX_AUTHORS] or [e]
    shown = [each for each in named if _kind_of(each) == _kind_of(named[0])]
    return [each.attr("content") or (each.to_text() if len(each.text) < 300 else "") for each in shown]


def _is_name(name: str, tier: int) -> bool:
    """Whether a text in an element named for authors looks like a person's name."""
    words = [word for word in name.split() if word.lower() not in _PARTICLES]
    if any(c.isdigit() for c in name) or len(words) > 4 or not words:
        return False
    return all(not word[0].islower() for word in words) and (len(words) > 1 or not name.isascii() or tier == 1)


def _confirms(witnesses: list[str], heading: str) -> bool:
    """Whether a title says what a heading says: one has the other in it, or half of its words."""
    key, words = _key(heading), set(heading.casefold().split())
    for text in witnesses:
        other = _key(text)
        if other and (key in other or other in key or 2 * len(words & set(text.casefold().split())) >= len(words)):
            return True
    return False


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _names_of(e: Element) -> str:
    names = e.attr("class"), e.attr("id")
    return " ".join(name if isinstance(name, str) else " ".join(name) for name in names if name)


def _names(texts: Iterable[str], *, split: bool, turned: bool = False) -> list[str]:
    """Names out of bylines, without the words around them."""
    found: dict[str, str] = {}
    for text in list(texts)[:_MAX_AUTHORS]:
        if "://" in text:
            continue
        text = _BY.sub("", _ROLE.sub("", html.unescape(text[:500])).strip())
        if turned and text.count(",") == 1:
            last, _, first = text.partition(",")
            text = f"{first.strip()} {last.strip()}"
        for part in _BETWEEN.split(text) if split or _LISTED.search(text) else [text]:
            name = _BY.sub("", " ".join(part.split())).strip(" .,:;|-–\u2022*")
            if 1 < len(name) <= _MAX_NAME and not _NO_NAME.search(name) and len(name.split()) <= 6:
                found.setdefault(_key(name), name)
    return list(found.values())[:_MAX_AUTHORS]
