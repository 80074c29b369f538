"""The export `corpus`: the pages of a collection through the workers, and what is worth keeping into files."""

from __future__ import annotations

import fnmatch
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec

from lycosa.analysis.collectors import read_condition
from lycosa.collection.collection import Collection, Page
from lycosa.content.page_kind import KINDS
from lycosa.errors import UsageError
from lycosa.export.definition import Written
from lycosa.extract.job_runner import FORK_SERVER, Tally, run_jobs
from lycosa.extract.messages import ExtractJob, ExtractResult, Setup
from lycosa.extract.pool import Pool
from lycosa.extract.quarry_loader import find_name
from lycosa.missions.records.corpus.forms import (
    ENDINGS,
    FILES,
    CorpusFigures,
    name_page,
    write_datasheet,
    write_documents,
    write_file,
)
from lycosa.missions.records.corpus.ledger import Ledger
from lycosa.missions.records.corpus.options import CorpusForm, CorpusOptions
from lycosa.missions.records.corpus.page_reader import CorpusPages, ReadPage, judge
from lycosa.missions.records.corpus.personal_data import Masker
from lycosa.missions.records.corpus.scratch import CorpusDocument, Scratch
from lycosa.missions.records.corpus.text_quality import read_bounds
from lycosa.output.destination import opened_bytes
from lycosa.output.export_folder import ExportFolder, list_as, open_export_folder
from lycosa.output.plain import counted
from lycosa.output.progress import ProgressLine
from lycosa.text.fingerprint import make_fingerprint

LEAST_WORDS = 50
_PORTIONS = ("train", "valid", "test")
_TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
#: Records that are a text of a page, in the order of their contents.
_RECORDS = """
    SELECT digest, data FROM records
    WHERE current AND json_type(data, '$.text') = 'text' AND digest <> '' ORDER BY records.n, records.id"""
_FIELDS = "SELECT DISTINCT key FROM records, json_each(data) WHERE current ORDER BY key"
_decode_page = msgspec.json.Decoder(ReadPage).decode


def write_corpus(collection: Collection, target: str, options: CorpusOptions) -> Written:
    """Write the corpus to a file, a folder or the pipe."""
    form = _choose_form(target, options)
    shares = _read_portions(options.portions)
    suffix = os.path.splitext(target)[1].removeprefix(".").lower()
    one_file = target == "-" or (suffix in _SUFFIXES and not os.path.isdir(target))
    if one_file and (form in FILES or shares or options.split not in (None, "none")):
        what = f"--format {form}" if form in FILES else "--portions" if shares else f"--split {options.split}"
        raise UsageError(f"{what} makes several files: name a folder with -o.")
    bounds = read_bounds(options.quality or "none", options.bounds)
    masker = Masker(options.mask)
    if options.previous and target == "-":
        raise UsageError("--previous makes a list beside the corpus: name a file or a folder with -o.")
    with tempfile.TemporaryDirectory(prefix="lycosa-corpus-") as folder:
        figures = CorpusFigures(masked=masker.counts)
        least = LEAST_WORDS if options.least_words is None else options.least_words
        with closing(Scratch(Path(folder), keep_duplicates=options.keep_duplicates, least_words=least)) as scratch:
            ledger = Ledger(Path(folder), collection, options)
            _CorpusReader(collection, scratch, options, figures, ledger).run(bounds)
            scratch.compare()
            if shares:
                scratch.divide(shares)

            def tell() -> str:
                _close_figures(figures, scratch)
                given = {**msgspec.structs.asdict(options), "format": form, "least_words": least}
                settings = {name.replace("_", " "): str(value) for name, value in {**given, **bounds}.items() if value}
                return write_datasheet(figures, source=collection.path.name, settings=settings)

            counted_documents = _count(scratch.documents(split=options.split or "none"), figures, ledger, masker)
            if one_file:
                with opened_bytes(target) as out:
                    write_documents((document for _, document in counted_documents), out, form)
                _close_figures(figures, scratch)
                ledger.write_beside(target)
            else:
                with open_export_folder(Path(target), list_as("corpus")) as export:
                    export.commit(_write_files(export, counted_documents, form, tell, ledger))
    said = f"{counted(figures.documents, 'document')}, {counted(figures.words, 'word')}, in "
    said += counted(len(figures.languages.keys() - {"unknown"}), "language")
    if left_out := sum(figures.dropped.values()):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in figures.dropped.most_common())
        said += f"; {counted(left_out, 'page')} left out ({reasons})"
    if masker:
        said += "; masked: " + ", ".join(f"{name} {count:,}" for name, count in masker.counts.items())
    return Written(said + ledger.summary)


#: Endings that name one file of a form.
_SUFFIXES: dict[str, CorpusForm] = {"jsonl": "jsonl", "parquet": "parquet"}


def _choose_form(target: str, options: CorpusOptions) -> CorpusForm:
    suffix = os.path.splitext(target)[1].removeprefix(".").lower()
    promised = _SUFFIXES.get(suffix) if not os.path.isdir(target) else None
    if options.format and promised and promised != options.format:
        raise UsageError(
            f"{target} ends in .{suffix}, and --format is {options.format}: name another, or leave it out."
        )
    return options.format or promised or "jsonl"


def _read_portions(text: str) -> dict[str, float]:
    if not text:
        return {}
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(_PORTIONS) or not all(0 <= share <= 100 for share in shares) or abs(sum(shares) - 100) > 0.01:
        raise UsageError(
            f"--portions is {text[:40]!r}; allowed: three shares of 100 for train, valid and test, such as 90,5,5."
        )
    return dict(zip(_PORTIONS, shares, strict=True))


def _read_languages(text: str) -> frozenset[str]:
    codes = frozenset(part.strip().lower() for part in text.split(",") if part.strip())
    wrong = next((code for code in sorted(codes) if not (code.isalpha() and len(code) in (2, 3))), "")
    if wrong:
        raise UsageError(f"--language has {wrong[:20]!r}; allowed: codes of two or three letters, such as es,en.")
    return codes


def _read_kinds(text: str) -> frozenset[str]:
    """The kinds of page that names, or patterns, between commas take."""
    names = [part.strip().lower() for part in text.split(",") if part.strip()]
    for name in names:
        if not fnmatch.filter(KINDS, name):
            raise UsageError(f"--kind has {name[:20]!r}; allowed: {', '.join(KINDS)}.")
    return frozenset(kind for name in names for kind in fnmatch.filter(KINDS, name))


def find_contents(collection: Collection, condition: str) -> Iterator[str]:
    """The digests of contents with a record of which a condition holds, as the analyses read it: FACT >= VALUE."""
    names = [str(name) for (name,) in collection.rows(_FIELDS) if str(name).isidentifier()]
    columns = {"kind": "TEXT", "mission": "TEXT"} | {name: "" for name in names if name not in ("kind", "mission")}
    wanted = read_condition(condition, columns, None)
    used = [name for name in columns if f'document."{name}"' in wanted.sql]
    facts = [name if columns[name] else f"data ->> '{name}' AS \"{name}\"" for name in used]
    source = f"SELECT {', '.join(['digest', *facts])} FROM records WHERE current AND digest <> ''"
    for (digest,) in collection.rows(f"SELECT digest FROM ({source}) AS document WHERE {wanted.sql}", wanted.values):
        yield str(digest)


class _CorpusReader:
    """Gives the pages of a collection to the workers, and what they read to the scratch; a queue of jobs."""

    def __init__(
        self,
        collection: Collection,
        scratch: Scratch,
        options: CorpusOptions,
        figures: CorpusFigures,
        ledger: Ledger,
    ) -> None:
        self._ledger = ledger
        self._collection = collection
        self._scratch = scratch
        self._figures = figures
        self._languages = _read_languages(options.language)
        self._kinds = _read_kinds(options.kind)
        self._select = options.select.strip()
        self._pages = self._find_pages(options.host)
        self._asked: dict[int, Page] = {}
        self._n = 0

    def run(self, bounds: dict[str, float]) -> None:
        self._bounds = bounds
        for digest, data in self._collection.rows(_RECORDS):
            self._scratch.add_record(digest, msgspec.json.decode(data))
        if self._select:
            for digest in find_contents(self._collection, self._select):
                self._scratch.choose(digest)
        progress = ProgressLine(sys.stderr, quiet=not sys.stderr.isatty())
        pool = Pool(FORK_SERVER, Setup(quarry=find_name(CorpusPages), settings=bounds), workers=os.cpu_count() or 1)
        try:
            tally = Tally(left=len(self._collection))
            run_jobs(pool, self, tally=tally, order=lambda: "finish", report=lambda tally: progress.show(tally.line))
        finally:
            pool.close()
            progress.clear()

    def _find_pages(self, host: str) -> Iterator[Page]:
        for page in self._collection.pages(host=host):
            if not 200 <= page.status < 300 or page.mime not in _TYPES:
                continue
            self._figures.pages += 1
            if self._select and not self._scratch.is_chosen(page.digest):
                self._scratch.dropped["no record chosen"] += 1
                continue
            if not self._scratch.is_new(page.digest):
                self._scratch.dropped["exact duplicate"] += 1
                continue
            self._ledger.begin(page)
            yield page

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        return [self._make_job(page) for page in islice(self._pages, limit)]

    def _make_job(self, page: Page) -> ExtractJob:
        self._n += 1
        self._asked[self._n] = page
        file, offset, length = page.holder or page.place
        return ExtractJob(self._n, str(self._collection.archive / file), offset, length, page.url)

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        for result in results:
            if result.outcome == "strike":
                continue
            asked = self._asked.pop(result.key)
            tally.count(asked.url, result.outcome, result.error, [item.kind for item in result.items])
            if result.outcome != "done":
                self._scratch.dropped["unreadable"] += 1
            elif not result.items:
                self._scratch.dropped["no text"] += 1
            else:
                self._take(result.key, asked, _decode_page(result.items[0].json))

    def _take(self, n: int, asked: Page, page: ReadPage) -> None:
        record = self._scratch.record(asked.digest)
        if record is not None:
            page = _merge(page, record)
            page.fault = judge(page, self._bounds)
        elif page.kind == "error":
            self._scratch.dropped["error page"] += 1
            return
        elif page.is_list and self._kinds.isdisjoint(("listing", "collection")):
            self._scratch.dropped["list page"] += 1
            return
        if self._kinds and page.kind not in self._kinds:
            self._scratch.dropped["other kind"] += 1
            return
        if self._languages and page.language not in self._languages:
            self._scratch.dropped["other language"] += 1
            return
        if not self._ledger.allows(asked.url, page.wishes):
            self._scratch.dropped[f"{' '.join(self._ledger.uses)} forbidden"] += 1
            return
        if page.fault:
            self._scratch.dropped[page.fault] += 1
            self._ledger.leave(asked.url, page.fault)
            return
        self._scratch.add(n, asked.url, page, fetched=asked.fetched.timestamp(), digest=asked.digest)


def _merge(page: ReadPage, record: dict[str, Any]) -> ReadPage:
    """A page with the values of its record, which the user's rules found; what they did not find stays."""
    text = "\n".join(line for part in record["text"].split("\n") if (line := " ".join(part.split())))
    if text and text != page.text:
        page.text, page.markdown, page.runs = text, "", list(make_fingerprint(text))
    for name in ("title", "date"):
        if isinstance(value := record.get(name), str) and value:
            setattr(page, name, value)
    authors = record.get("authors") or record.get("author") or ()
    names = [authors] if isinstance(authors, str) else [each for each in authors if isinstance(each, str)]
    page.authors = names or page.authors
    return page


def _count(
    documents: Iterator[tuple[str, CorpusDocument]], figures: CorpusFigures, ledger: Ledger, masker: Masker
) -> Iterator[tuple[str, CorpusDocument]]:
    for name, document in documents:
        document = _mask(document, masker) if masker else document
        figures.count(document)
        ledger.take(document.url)
        yield name, document


def _mask(document: CorpusDocument, masker: Masker) -> CorpusDocument:
    return msgspec.structs.replace(
        document,
        title=masker.mask(document.title, count=False),
        text=masker.mask(document.text),
        markdown=masker.mask(document.markdown, count=False),
    )


def _write_files(
    export: ExportFolder,
    documents: Iterator[tuple[str, CorpusDocument]],
    form: CorpusForm,
    tell: Callable[[], str],
    ledger: Ledger,
) -> Iterator[tuple[int, str, str]]:
    """Write the files of a folder, one after the other, at last what tells of them; gives each part with its name."""
    for (portion, name), group in groupby(documents, key=lambda item: (item[1].portion, item[0])):
        if form in FILES:
            for _, document in group:
                path = "/".join(part for part in (portion, name, name_page(document.url, ENDINGS[form])) if part)
                yield export.add(write_file(document, form)), path, f"{path}\n"
            continue
        path = "/".join(part for part in (portion, name) if part) or "corpus"
        path = f"{path}.{ENDINGS[form]}"
        part = export.new()
        with open(export.at(part), "wb") as out:
            write_documents((document for _, document in group), out, form)
        yield part, path, f"{path}\n"
    for name, lines in ledger.files():
        part = export.new()
        with open(export.at(part), "wb") as out:
            out.writelines(lines)
        yield part, name, f"{name}\n"
    yield export.add(tell().encode()), "README.md", "README.md\n"


def _close_figures(figures: CorpusFigures, scratch: Scratch) -> None:
    figures.dropped = scratch.dropped
    figures.paragraphs = scratch.paragraphs
