"""Validation: whether a document is valid by the schema that was collected with it, and why not.

Nothing is fetched: what a schema includes comes from the collection or is missing. It runs in worker processes with
limits of time and memory: a schema can be made to take any amount of either.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from lxml import etree
from msgspec import Struct

from lycosa import urls
from lycosa.analysis.analyzer import DocumentSource
from lycosa.missions.xml.kinds import RELAXNG, XSD
from lycosa.missions.xml.repair import repair

#: Schemas that a worker keeps compiled; each may take tens of megabytes.
KEPT = 24
_MAX_ERROR = 500
_RNG_LINKS = (f"{{{RELAXNG}}}include", f"{{{RELAXNG}}}externalRef")
#: A file that is never there: libxml2 passes over an import that it cannot load, as the recommendation allows.
_NOWHERE = os.path.join(os.devnull, "missing")

#: The address of the comment that makes room, and its size: DTDs may then expand to five times as much.
_ROOM = "lycosa:room"
_ROOM_BYTES = 8_000_000
_CROWDED = "amplification"

_NO_ROOT = "No matching global declaration available for the validation root"
#: libxml2 says so of its own failure, where a field of xs:unique, xs:key or xs:keyref is nil.
_UNCOMPUTED = "No precomputed value available"
#: What version 1.1 of XML Schema has and 1.0 has not.
_VERSION_11 = re.compile(
    rb"""<(?:[\w.-]+:)?(?:override|assert|assertion|alternative|openContent|defaultOpenContent)\b"""
    rb"""|:minVersion\s*=\s*["']1\.1"""
)
_UNLOADED = re.compile(r"could not load|[Ff]ailed to load|Failed to locate")

#: Says what is wrong with a document; empty: nothing.
Check = Callable[[bytes, str], str]


class Grammar(Struct, frozen=True):
    """A grammar that documents are checked against: schemas of one language."""

    kind: str  # xsd, rng, dtd; own: the declarations in each document itself
    roots: tuple[int, ...]  # numbers of the documents that it begins with


class Unusable(Exception):
    """A schema that cannot be compiled, and why."""


class _Resolver(etree.Resolver):  # type: ignore[misc]  # lxml has no types
    """The resolver that gives libxml2 collected documents alone; with `room`, the first takes in a large comment.

    Parameter entities may expand to five times the bytes read before: large modular DTDs such as DITA's, honest as
    they are, go beyond that, and a limit in megabytes is one as well.
    """

    def __init__(self, documents: DocumentSource, *, room: int = 0) -> None:
        self._documents = documents
        self._room = room
        self.missing: list[str] = []
        self.made: dict[str, bytes] = {}  # schemas of our own that hold others together

    def resolve(self, system_url: str, _public_id: str, context: Any) -> Any:
        if system_url in self.made:
            return self.resolve_string(self.made[system_url], context, base_url=system_url)
        if system_url == _ROOM and self._room:
            self._room, size = 0, self._room
            return self.resolve_string(b"<!--%s-->" % (b" " * size), context)
        document = find_document(self._documents, system_url)
        source = None if document is None else read_source(self._documents, document)
        if document is None or source is None:
            self.missing.append(system_url)
            return self.resolve_filename(_NOWHERE, context)
        # Behind a redirect or a catalog, links are relative to where the document really is.
        address = next(self._documents.rows("SELECT url FROM document WHERE id = ?", (document,)))[0]
        return self.resolve_string(_make_room(source) if self._room else source, context, base_url=str(address))


def _make_room(source: bytes) -> bytes:
    """A DTD that reads the comment first; in encodings without ASCII it stays as it is."""
    start = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    if b"\0" in source[:4]:
        return source
    if source[start : start + 5] == b"<?xml":
        start = source.find(b"?>", start) + 2
    return source[:start] + f'<!ENTITY % lycosa-room SYSTEM "{_ROOM}">%lycosa-room;'.encode() + source[start:]


def find_document(documents: DocumentSource, address: str) -> int | None:
    """The collected document at an address, or that the address was found to lead to."""
    url = urls.normalise(address) or address
    for sql in (
        "SELECT min(id) FROM document WHERE url = ? AND kind NOT IN ('', 'html')",
        "SELECT min(found) FROM link WHERE strong AND target = ?",
    ):
        row = next(documents.rows(sql, (url,)), None)
        if row is not None and row[0] is not None:
            return int(str(row[0]))
    return None


def read_source(documents: DocumentSource, document: int) -> bytes | None:
    """The bytes of a document, repaired if need be."""
    doc = documents.read(document)
    if doc is None:
        return None
    row = next(documents.rows("SELECT root FROM document WHERE id = ?", (document,)), None)
    if row is not None and not row[0]:  # no document with tags: a DTD, a text
        return doc.body
    repaired = repair(doc.body)
    return doc.body if repaired is None else repaired.data


class Validator:
    """The validator of a worker; keeps the schemas that were used last compiled."""

    def __init__(self, documents: DocumentSource) -> None:
        self._documents = documents
        self._kept: OrderedDict[Grammar, Check] = OrderedDict()

    def prepare(self, grammar: Grammar) -> Check:
        """The function that checks documents; raises Unusable."""
        if grammar in self._kept:
            self._kept.move_to_end(grammar)
            return self._kept[grammar]
        make = {"xsd": self._compile_xsd, "rng": self._compile_rng, "dtd": self._compile_dtd, "own": self._compile_own}
        try:
            check = make[grammar.kind](grammar)
        except (etree.LxmlError, ValueError) as error:
            raise Unusable(" ".join(str(error).split())[:_MAX_ERROR] or type(error).__name__) from None
        self._kept[grammar] = check
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return check

    def check(self, grammar: Grammar, document: int) -> tuple[str, str]:
        """Whether a document is valid, and what is wrong with it."""
        doc = self._documents.read(document)
        if doc is None:
            return "unknown", "its bytes cannot be read"
        check = self.prepare(grammar)
        try:
            error = check(doc.body, doc.url)
        except (etree.LxmlError, ValueError) as problem:  # too deep, or more entities than libxml2 expands
            return "unknown", " ".join(str(problem).split())[:_MAX_ERROR]
        if _NO_ROOT in error and not self._covers_root(grammar, document):
            return "unknown", "no schema for the namespace of its root was collected"
        return ("invalid", error[:_MAX_ERROR]) if error else ("valid", "")

    def _covers_root(self, grammar: Grammar, document: int) -> bool:
        """Whether one of the schemas is for the namespace of a document's root."""
        ids = ", ".join(map(str, grammar.roots))
        sql = f"""SELECT 1 FROM document AS root JOIN document AS checked ON root.target_namespace = checked.namespace
                  WHERE checked.id = ? AND root.id IN ({ids})"""
        return next(self._documents.rows(sql, (document,)), None) is not None

    # One language each

    def _compile_xsd(self, grammar: Grammar) -> Check:
        parser, resolver = _open_parser(self._documents)
        if len(grammar.roots) == 1:
            source, address = self._source(grammar.roots[0])
        else:
            source, address = self._write_driver(grammar.roots, resolver), ""
        try:
            schema = etree.XMLSchema(etree.ElementTree(etree.fromstring(source, parser, base_url=address or None)))
        except etree.XMLSchemaParseError as error:
            newer = any(_VERSION_11.search(self._source(root)[0]) for root in grammar.roots)
            reason = _explain(error.error_log, resolver.missing)
            if newer:
                reason = f"it is XML Schema 1.1, and 1.0 is what is known here: {reason}"
            raise Unusable(reason) from None

        def check(body: bytes, url: str) -> str:
            tree = _parse(body, url)
            error = "" if schema.validate(tree) else _first_error(schema.error_log)
            if _UNCOMPUTED in error:
                raise ValueError(error)
            return error

        return check

    def _write_driver(self, roots: tuple[int, ...], resolver: _Resolver) -> bytes:
        """A schema that takes in several; of one namespace libxml2 imports one, which then includes the others."""
        spaces: dict[str, list[str]] = {}
        for document in roots:
            sql = "SELECT url, target_namespace FROM document WHERE id = ?"
            address, namespace = next(self._documents.rows(sql, (document,)))
            spaces.setdefault(str(namespace or ""), []).append(str(address))
        driver = etree.Element(f"{{{XSD}}}schema", nsmap={"xs": XSD})
        for namespace, addresses in spaces.items():
            if not namespace:
                _add_schemas(driver, "include", addresses)
            elif len(addresses) == 1:
                _add_schemas(driver, "import", addresses, namespace=namespace)
            else:
                whole = etree.Element(f"{{{XSD}}}schema", nsmap={"xs": XSD}, targetNamespace=namespace)
                _add_schemas(whole, "include", addresses)
                name = f"lycosa:schema{len(resolver.made)}"
                resolver.made[name] = bytes(etree.tostring(whole))
                _add_schemas(driver, "import", [name], namespace=namespace)
        return bytes(etree.tostring(driver))

    def _compile_rng(self, grammar: Grammar) -> Check:
        """libxml2 asks nobody for what a RELAX NG schema includes, so it is laid out in a folder, all of it."""
        folder = tempfile.mkdtemp(prefix="lycosa-rng-")
        try:
            missing = self._lay_out(grammar.roots[0], folder)
            try:
                schema = etree.RelaxNG(file=os.path.join(folder, f"{grammar.roots[0]}.rng"))
            except etree.RelaxNGParseError as error:
                raise Unusable(self._name_files(_explain(error.error_log, missing), folder)) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

        def check(body: bytes, url: str) -> str:
            tree = _parse(body, url)
            return "" if schema.validate(tree) else _first_error(schema.error_log)

        return check

    def _name_files(self, text: str, folder: str) -> str:
        """A message of libxml2 with addresses in place of the files that were laid out."""
        name = re.escape(folder) + r"/([0-9]+)\.rng"
        return re.sub(name, lambda found: self._source(int(found[1]))[1], text).replace(f"{folder}/", "")

    def _lay_out(self, root: int, folder: str) -> list[str]:
        """Write a schema and what it includes, by number; returns the addresses that were not collected."""
        queue, seen, missing = [root], {root}, []
        while queue:
            document = queue.pop()
            source, address = self._source(document)
            tree = _parse(source, address)
            for element in tree.iter(*_RNG_LINKS):
                target = urls.normalise(element.get("href", ""), urls.normalise(element.base or "") or address) or ""
                found = find_document(self._documents, target) if target else None
                if found is None:
                    missing.append(target or element.get("href", ""))
                    element.set("href", "missing.rng")
                else:
                    element.set("href", f"{found}.rng")
                    if found not in seen:
                        seen.add(found)
                        queue.append(found)
            for element in tree.iter():
                element.attrib.pop("{http://www.w3.org/XML/1998/namespace}base", None)
            with open(os.path.join(folder, f"{document}.rng"), "wb") as file:
                file.write(etree.tostring(tree.getroottree(), encoding="utf-8"))
        return missing

    def _compile_dtd(self, grammar: Grammar) -> Check:
        _, address = self._source(grammar.roots[0])
        options: dict[str, Any] = {"load_dtd": True, "resolve_entities": True}
        frame = f'<!DOCTYPE x SYSTEM "{address.replace(chr(34), "%22").replace("&", "&amp;")}"><x/>'.encode()
        dtd = self._load_dtd(frame, address, options)

        def check(body: bytes, url: str) -> str:
            if b"<!ENTITY" in body or b"[" in body[: body.find(b"<!DOCTYPE") + 2000] or _has_entities(body):
                return self._check_whole(body, url, options)
            tree = _parse(body, url)
            root, named = etree.QName(tree).localname, tree.getroottree().docinfo.internalDTD
            root = f"{tree.prefix}:{root}" if tree.prefix else root  # DTDs know names as they are written
            if tree.getroottree().docinfo.standalone:
                return self._check_whole(body, url, options)  # it promises to need no default of its DTD
            if named is not None and root != named.name:
                return f"line {tree.sourceline}: The root is {root}, but the document type says {named.name}"
            return "" if dtd.validate(tree) else _first_error(dtd.error_log)

        return check

    def _compile_own(self, _grammar: Grammar) -> Check:
        options: dict[str, Any] = {"load_dtd": True, "resolve_entities": True}
        return lambda body, url: self._check_whole(body, url, options)

    def _load_dtd(self, frame: bytes, address: str, options: dict[str, Any]) -> Any:
        tree, log, missing = self._read_with_dtd(frame, address, options)
        dtd = None if tree is None else tree.getroottree().docinfo.externalDTD
        if dtd is None or missing:
            raise Unusable(_explain(log, missing))
        return dtd

    def _check_whole(self, body: bytes, url: str, options: dict[str, Any]) -> str:
        """Read a document with its DTD, where its own declarations or entities count as well."""
        tree, log, missing = self._read_with_dtd(body, url, {"dtd_validation": True, **options})
        if tree is None and missing:
            raise ValueError(_explain([], missing))
        return "" if tree is not None else _first_error(log) or "it cannot be read"

    def _read_with_dtd(self, body: bytes, url: str, options: dict[str, Any]) -> tuple[Any, Any, list[str]]:
        """The tree of a document, or None; what libxml2 says of it; and what was not collected."""
        room, recover = 0, False
        while True:
            parser, resolver = _open_parser(self._documents, room=room, recover=recover, **options)
            try:
                tree = etree.fromstring(body, parser, base_url=url)
            except etree.XMLSyntaxError:
                tree = None
            wrong = [entry for entry in parser.error_log if entry.level_name != "WARNING"]
            # A colon in the name of an instruction is a fault of namespaces, of which DTDs know nothing.
            good = tree is not None and all(entry.domain_name == "NAMESPACE" for entry in wrong)
            if not good and not room and any(_CROWDED in entry.message for entry in wrong):
                room = _ROOM_BYTES
            elif not good and not recover and wrong and all(entry.domain_name == "NAMESPACE" for entry in wrong):
                recover = True
            else:
                return tree if good else None, wrong, resolver.missing

    def _source(self, document: int) -> tuple[bytes, str]:
        source = read_source(self._documents, document)
        row = next(self._documents.rows("SELECT url FROM document WHERE id = ?", (document,)), None)
        if source is None or row is None:
            raise Unusable("its bytes cannot be read")
        return source, str(row[0])


def _add_schemas(schema: Any, how: str, addresses: list[str], **attributes: str) -> None:
    for address in addresses:
        etree.SubElement(schema, f"{{{XSD}}}{how}", schemaLocation=address, **attributes)


def _open_parser(documents: DocumentSource, *, room: int = 0, **options: Any) -> tuple[etree.XMLParser, _Resolver]:
    """A parser that reads from the collection alone, and keeps libxml2's own limits."""
    parser = etree.XMLParser(**{"no_network": True, "resolve_entities": "internal", "huge_tree": False, **options})
    resolver = _Resolver(documents, room=room)
    parser.resolvers.add(resolver)
    return parser, resolver


class _Nothing(etree.Resolver):  # type: ignore[misc]  # lxml has no types
    """The resolver for documents, which are read without anything beside them."""

    def resolve(self, _system_url: str, _public_id: str, context: Any) -> Any:
        return self.resolve_empty(context)


def _parse(body: bytes, url: str) -> Any:
    parser = etree.XMLParser(
        no_network=True, resolve_entities="internal", load_dtd=False, huge_tree=b"<!ENTITY" not in body
    )
    parser.resolvers.add(_Nothing())
    return etree.fromstring(body.lstrip(), parser, base_url=url)


def _has_entities(body: bytes) -> bool:
    text = body.replace(b"&amp;", b"").replace(b"&lt;", b"").replace(b"&gt;", b"").replace(b"&quot;", b"")
    return b"&" in text.replace(b"&apos;", b"").replace(b"&#", b"")


def _first_error(log: Any) -> str:
    """The first error of a log."""
    first = next((entry for entry in log if entry.level_name != "WARNING"), None)
    if first is None:
        return ""
    return f"line {first.line}: {' '.join(first.message.split())}"[:_MAX_ERROR]


def _explain(log: Any, missing: list[str]) -> str:
    """Why a schema cannot be used: what is wrong with it, and what of it was not collected."""
    own = [entry for entry in log if entry.domain_name != "IO" and not _UNLOADED.search(entry.message)]
    parts = [_first_error(own)] if _first_error(own) else []
    if missing:
        addresses = dict.fromkeys(urls.normalise(address) or address for address in missing)
        parts.append(f"not collected: {', '.join(list(addresses)[:5])}{', …' if len(addresses) > 5 else ''}")
    return "; ".join(parts) or "it declares nothing"


def time_check(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The facts of a check, with the processor time that it took."""
    began = time.process_time()
    facts = work()
    return {**facts, "seconds": time.process_time() - began}
