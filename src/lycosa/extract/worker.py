"""Extract worker: a process that receives jobs over a socket and sends back the records of each document.

It may die at any job. A cell of shared memory holds the key of the job, so that the document is known; its successor
does again what it has not sent yet.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from socket import socket
from typing import Any, cast

import msgspec

from lycosa.extract.messages import ExtractedRecord, ExtractJob, ExtractResult, Setup, decode_jobs
from lycosa.extract.quarry_loader import describe_error
from lycosa.model import Record
from lycosa.process.frames import Frames, frame
from lycosa.process.limits import MEMORY_CODE, arm, confine, disarm, resident_bytes

#: Gives the records of one document; raises Unreadable when it cannot be read.
Extract = Callable[[ExtractJob], Iterable[Record]]

SEND_S = 0.05
SEND_BYTES = 256 << 10
RECORDS_MAX = 100_000  # of one document
RECORD_BYTES = 64 << 20  # all records of one document together
_to_json = msgspec.json.Encoder().encode


class Unreadable(Exception):
    """The archive does not hold the document; the text says why."""


def serve(channel: socket, setup: Setup, *, extract: Extract, cell: memoryview) -> None:
    """Work until the channel is closed, or until it is time for a fresh process."""
    confine(setup.limits)
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    frames, count = Frames(), 0
    while data := channel.recv(1 << 18):
        for message in frames.feed(data):
            jobs = decode_jobs(message)[: setup.recycle - count]
            _work(jobs, channel, setup, extract=extract, cell=cell)
            count += len(jobs)
            if count >= setup.recycle:
                return  # what is left of the batch goes to the successor


def _work(jobs: list[ExtractJob], channel: socket, setup: Setup, *, extract: Extract, cell: memoryview) -> None:
    results: list[ExtractResult] = []
    limits, size, sent_at = setup.limits, 0, time.monotonic()
    for nth, job in enumerate(jobs):
        cell[0] = job.key
        arm(limits)
        try:
            result = extract_document(job, extract)
        except MemoryError:
            os._exit(MEMORY_CODE)
        disarm()
        results.append(result)
        size += sum(len(item.json) for item in result.items)
        now = time.monotonic()
        if now - sent_at >= SEND_S or size >= SEND_BYTES or nth + 1 == len(jobs):
            cell[0] = 0
            channel.sendall(frame(results))
            results, size, sent_at = [], 0, now
            if resident_bytes() > setup.memory_bytes // 2:
                os._exit(0)  # something leaks: a fresh process goes on, and nobody is to blame


def extract_document(job: ExtractJob, extract: Extract) -> ExtractResult:
    """The records of one document, or what went wrong; raises nothing but MemoryError."""
    told: list[object] = []
    try:
        items = _gather(_listen(extract(job), told))
        return ExtractResult(job.key, "done", _plain(str(told[0] or ""))[:200] if told and not items else "", items)
    except MemoryError:
        raise
    except Unreadable as problem:
        return ExtractResult(job.key, "unreadable", str(problem))
    except BaseException as error:  # sys.exit() in a quarry is a mistake like any other
        return ExtractResult(job.key, "error", describe_error(error))


def _listen(records: Iterable[Record], told: list[object]) -> Iterator[Record]:
    """The records of a document; what a generator of them returns at its end is put into `told`."""
    told.append((yield from cast("Generator[Record, None, object]", records)))


def _gather(records: Iterable[Record]) -> list[ExtractedRecord]:
    items: list[ExtractedRecord] = []
    size = 0
    for record in records:
        if not isinstance(record, Record):
            raise TypeError(f"extract gave a {type(record).__name__}, not a Record")
        text = _write(record.data)
        size += len(text)
        items.append(ExtractedRecord(_plain(str(record.kind))[:200], text))
        if len(items) > RECORDS_MAX or size > RECORD_BYTES:
            raise ValueError(f"more than {RECORDS_MAX:,} records or {RECORD_BYTES >> 20} MiB from one document")
    return items


def _write(data: object) -> str:
    if not isinstance(data, dict):
        raise TypeError(f"a record's data is a {type(data).__name__}, not a dict")
    try:
        return _to_json(data).decode()
    except UnicodeEncodeError:  # half a character, as broken pages have them
        return _to_json(_clean(msgspec.to_builtins(data))).decode()


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(text: str) -> str:
    return text.encode(errors="replace").decode()
