"""OAI-PMH 2.0 over the documents of a collection: a request's arguments in, the XML of the answer out.

Identifiers are `oai:HOST:MD5`, sets are categories, the only metadata format is `oai_dc`. Lists come in pages; a
resumption token holds the request and the place, so that no state is kept between requests.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice

import msgspec
from msgspec import Struct

from lycosa import clock, urls
from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.export.dublin_core import write_dc
from lycosa.missions.documents.graph import key_of
from lycosa.missions.documents.model import DocumentDescription
from lycosa.output.plain import fit_xml

PAGE_SIZE = 100
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/'
    ' http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd">\n'
)
_ALLOWED = {
    "Identify": (set(), set()),
    "ListMetadataFormats": (set(), {"identifier"}),
    "ListSets": (set(), {"resumptionToken"}),
    "GetRecord": ({"identifier", "metadataPrefix"}, set()),
    "ListIdentifiers": ({"metadataPrefix"}, {"from", "until", "set", "resumptionToken"}),
    "ListRecords": ({"metadataPrefix"}, {"from", "until", "set", "resumptionToken"}),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SECOND = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_SET = re.compile(r"[^A-Za-z0-9\-_.!~*'()]+")


class OaiError(Exception):
    """An error of the protocol, by its code."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Token(Struct, frozen=True, array_like=True):
    """What a resumption token holds."""

    verb: str
    start: int
    since: str = ""
    until: str = ""
    set: str = ""


class Repository:
    """The documents that are offered, in a fixed order."""

    def __init__(self, documents: list[DocumentDescription], *, name: str, contact: str) -> None:
        self._documents = documents
        self._by_identifier = {identifier_of(document): document for document in documents}
        self._name = name
        address = contact.removeprefix("mailto:")
        self._contact = address if re.fullmatch(r"[^\s@]+@[^\s@]+\.[^\s@.]+", address) else "unknown@localhost.invalid"

    def answer(self, arguments: list[tuple[str, str]], *, base: str) -> bytes:
        """The answer to a request with these arguments, at the address `base`."""
        given: dict[str, str] = {}
        try:
            for name, value in arguments:
                if name in given:
                    raise OaiError("badArgument", f"The argument {name} is given twice.")
                given[name] = value
            body = self._run(given, base)
            shown = given
        except OaiError as error:
            body = f'<error code="{error.code}">{fit_xml(str(error))}</error>\n'
            shown = {} if error.code in ("badVerb", "badArgument") else given
        attributes = "".join(f' {name}="{fit_xml(value)}"' for name, value in shown.items())
        now = iso_time(clock.now())
        request = f"<request{attributes}>{fit_xml(base)}</request>"
        return f"{_HEAD}<responseDate>{now}</responseDate>\n{request}\n{body}</OAI-PMH>\n".encode()

    def _run(self, given: Mapping[str, str], base: str) -> str:
        verb = given.get("verb", "")
        if verb not in _ALLOWED:
            raise OaiError("badVerb", f"The verb {verb!r} is none of OAI-PMH's." if verb else "There is no verb.")
        required, optional = _ALLOWED[verb]
        names = set(given) - {"verb"}
        if "resumptionToken" in names and "resumptionToken" in optional:
            if names != {"resumptionToken"}:
                raise OaiError("badArgument", "resumptionToken goes with no other argument.")
            required = set()
        if unknown := names - required - optional:
            raise OaiError("badArgument", f"{verb} has no argument {sorted(unknown)[0]}.")
        if lacking := required - names:
            raise OaiError("badArgument", f"{verb} needs the argument {sorted(lacking)[0]}.")
        if given.get("metadataPrefix", "oai_dc") != "oai_dc":
            raise OaiError("cannotDisseminateFormat", "The only metadata format is oai_dc.")
        if verb == "Identify":
            return self._identify(base)
        if verb == "ListMetadataFormats":
            return self._list_formats(given)
        if verb == "ListSets":
            return self._list_sets(given)
        if verb == "GetRecord":
            document = self._find(given["identifier"])
            return f"<GetRecord>{_record(document)}</GetRecord>\n"
        return self._list(verb, given)

    def _find(self, identifier: str) -> DocumentDescription:
        document = self._by_identifier.get(identifier)
        if document is None:
            raise OaiError("idDoesNotExist", f"There is no record {identifier}.")
        return document

    def _identify(self, base: str) -> str:
        earliest = min((_stamp(document) for document in self._documents), default="1970-01-01T00:00:00Z")
        return (
            f"<Identify><repositoryName>{fit_xml(self._name)}</repositoryName><baseURL>{fit_xml(base)}</baseURL>"
            f"<protocolVersion>2.0</protocolVersion><adminEmail>{fit_xml(self._contact)}</adminEmail>"
            f"<earliestDatestamp>{earliest}</earliestDatestamp><deletedRecord>no</deletedRecord>"
            "<granularity>YYYY-MM-DDThh:mm:ssZ</granularity></Identify>\n"
        )

    def _list_formats(self, given: Mapping[str, str]) -> str:
        if "identifier" in given:
            self._find(given["identifier"])
        return (
            "<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix>"
            "<schema>http://www.openarchives.org/OAI/2.0/oai_dc.xsd</schema>"
            "<metadataNamespace>http://www.openarchives.org/OAI/2.0/oai_dc/</metadataNamespace>"
            "</metadataFormat></ListMetadataFormats>\n"
        )

    def _list_sets(self, given: Mapping[str, str]) -> str:
        if "resumptionToken" in given:
            raise OaiError("badResumptionToken", "The list of sets has one page.")
        names = sorted({document.category for document in self._documents})
        if not names:
            raise OaiError("noSetHierarchy", "There are no documents, and so no sets.")
        sets = "".join(
            f"<set><setSpec>{_spec(name)}</setSpec><setName>{fit_xml(name)}</setName></set>" for name in names
        )
        return f"<ListSets>{sets}</ListSets>\n"

    def _list(self, verb: str, given: Mapping[str, str]) -> str:
        token = _read_token(given["resumptionToken"], verb) if "resumptionToken" in given else _first(verb, given)
        chosen = list(self._select(token))
        if not chosen:
            raise OaiError("noRecordsMatch", "No record is in this range.")
        if token.start >= len(chosen):
            raise OaiError("badResumptionToken", "The list ends before this token.")
        page = list(islice(chosen, token.start, token.start + PAGE_SIZE))
        parts = [_record(document) if verb == "ListRecords" else _header(document) for document in page]
        following = token.start + len(page)
        if following < len(chosen) or token.start:
            more = following < len(chosen)
            text = _write_token(msgspec.structs.replace(token, start=following)) if more else ""
            parts.append(
                f'<resumptionToken completeListSize="{len(chosen)}" cursor="{token.start}">{text}</resumptionToken>'
            )
        return f"<{verb}>{''.join(parts)}</{verb}>\n"

    def _select(self, token: _Token) -> Iterator[DocumentDescription]:
        for document in self._documents:
            stamp = _stamp(document)
            since_fits = not token.since or stamp >= _asiso_time(token.since, end=False)
            until_fits = not token.until or stamp <= _asiso_time(token.until, end=True)
            if since_fits and until_fits and (not token.set or _spec(document.category) == token.set):
                yield document


def identifier_of(document: DocumentDescription) -> str:
    """The identifier of a document's record."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", urls.host_of(document.url)) or "localhost"
    name = host if host[:1].isalpha() else f"h{host}"
    return f"oai:{name}:{key_of(document.url)}"


def _first(verb: str, given: Mapping[str, str]) -> _Token:
    since, until = given.get("from", ""), given.get("until", "")
    for text in filter(None, (since, until)):
        _checkiso_time(text)
    if since and until:
        if len(since) != len(until):
            raise OaiError("badArgument", "from and until have different granularities.")
        if since > until:
            raise OaiError("badArgument", "from is later than until.")
    return _Token(verb, 0, since, until, given.get("set", ""))


def _checkiso_time(text: str) -> None:
    try:
        if not _DAY.fullmatch(text) and not _SECOND.fullmatch(text):
            raise ValueError
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise OaiError("badArgument", f"{text!r} is no date; allowed: YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ.") from None


def _asiso_time(text: str, *, end: bool) -> str:
    return text if "T" in text else f"{text}T23:59:59Z" if end else f"{text}T00:00:00Z"


def _write_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _read_token(text: str, verb: str) -> _Token:
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text[:2_000].encode()), type=_Token)
    except (ValueError, msgspec.DecodeError):
        raise OaiError("badResumptionToken", "The token is none of ours.") from None
    if token.verb != verb or token.start < 0:
        raise OaiError("badResumptionToken", "The token belongs to another request.")
    return token


def _header(document: DocumentDescription) -> str:
    return (
        f"<header><identifier>{fit_xml(identifier_of(document))}</identifier><datestamp>{_stamp(document)}</datestamp>"
        f"<setSpec>{_spec(document.category)}</setSpec></header>"
    )


def _record(document: DocumentDescription) -> str:
    return f"<record>{_header(document)}<metadata>\n{write_dc(document)}</metadata></record>\n"


def _spec(category: str) -> str:
    return _SET.sub("-", category) or "other"


def _stamp(document: DocumentDescription) -> str:
    try:
        return iso_time(datetime.fromisoformat(document.fetched).astimezone(UTC).timestamp())
    except ValueError:
        return "1970-01-01T00:00:00Z"


def offer_documents(collection: Collection, wanted: Iterable[DocumentDescription], *, only_granted: bool) -> Repository:
    """Documents as harvesters get them: all that are wanted, or those that were granted."""
    answers = permissions(collection.path)
    documents = [document for document in wanted if not only_granted or answers.get(document.url) == "granted"]
    name = f"{collection.mission.name} of {', '.join(collection.seeds()[:1])}"
    return Repository(documents, name=name, contact=collection.mission.agent.contact)
