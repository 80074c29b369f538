"""How many documents a minute `lycosa analyse xml` looks at, in how much memory, and which phase takes how much of it.

    python tests/bench/analyse.py [--documents 60000] [--fixtures ../shared/data/xml] [--runs 1]

Makes a collection in a temporary folder: copies of the fixtures on hosts of their own, each a little different so that
no two have the same content, with their links between them. Without a folder of fixtures, small ones of its own. Then
analyses it, on two processors and on one, with a worker for each. The machine may have other things to do: beside the
rate stands how much of its processors the analysis got, and the ratio is told by the clock, and as it would be if it
had got them whole: what cannot be shared out (relate, sort) counted fully, everything else divided by the processors.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.make_collection import make_collection  # noqa: E402
from support.processes import descendants  # noqa: E402

from lycosa.analysis.run import AnalysisOptions, AnalysisTally, analyse_collection  # noqa: E402
from lycosa.missions.xml.analysis import XmlAnalyzer  # noqa: E402

XSD = "http://www.w3.org/2001/XMLSchema"
XSLT = "http://www.w3.org/1999/XSL/Transform"
XSI = "http://www.w3.org/2001/XMLSchema-instance"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--fixtures", type=Path, help="a folder with files/ and trees/; default: small ones of our own")
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--keep", type=Path, help="make the collection here, and leave it")
    options = parser.parse_args()
    fixtures = list(read_fixtures(options.fixtures) if options.fixtures else make_fixtures())
    size = sum(len(body) for _, body in fixtures) / len(fixtures)
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = options.keep or Path(name) / "collection"
        began = time.monotonic()
        if not folder.exists():
            make_collection(folder, copies(fixtures, options.documents))
        print(
            f"{options.documents:,} documents from {len(fixtures)} fixtures of {size / 1000:.1f} kB on average;",
            end=" ",
        )
        print(f"{os.cpu_count()} processors; made in {time.monotonic() - began:.0f} s", flush=True)
        results = {cores: measure(folder, cores) for cores in options.cores}
    if 1 in results and 2 in results:
        print(f"\ntwo processors : one = {results[2][0] / results[1][0]:.2f} by the clock,", end=" ")
        print(f"{results[2][1] / results[1][1]:.2f} if it had got them whole")


def measure(folder: Path, cores: int) -> tuple[float, float]:
    """Documents a minute: by the clock, and if nobody else had used the processors."""
    for path in folder.glob("analysis.db*"):
        path.unlink()
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:cores])
    used = cpu_s()
    watch = Watch()
    began = time.monotonic()
    progress = analyse_collection(folder, XmlAnalyzer(), AnalysisOptions(workers=cores, quiet=True))
    seconds = time.monotonic() - began
    peak = watch.stop()
    os.sched_setaffinity(0, every)
    ours, theirs = (after - before for before, after in zip(used, cpu_s(), strict=True))
    rate = progress.documents / seconds * 60
    share = (ours + theirs) / seconds / cores
    print(f"\n{cores} processor{'s' if cores > 1 else ''}: {rate:,.0f} documents a minute ({seconds:.1f} s);", end=" ")
    print(
        f"processor time {theirs:.1f} s in the workers, {ours:.1f} s in the parent: {share:.0%} of the whole;", end=" "
    )
    print(f"peak memory: parent {peak[0]:.0f} MB, largest worker {peak[1]:.0f} MB")
    tell_phases(progress)
    alone = progress.phases["relate"] + progress.phases["sort"]
    return rate, progress.documents / (alone + (ours + theirs - alone) / cores) * 60


def tell_phases(progress: AnalysisTally) -> None:
    spent = sum(progress.phases.values())
    for phase, seconds in progress.phases.items():
        print(f"  {phase:8} {seconds:8.1f} s {seconds / spent:6.1%}")


class Watch(threading.Thread):
    """Looks at the memory of this process and of its descendants while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._ours = self._theirs = 0
        self.start()

    def run(self) -> None:
        while not self._over.wait(0.5):
            self._ours = max(self._ours, resident(os.getpid()))
            for pid in descendants(os.getpid()):
                self._theirs = max(self._theirs, resident(pid))

    def stop(self) -> tuple[float, float]:
        """Peaks in megabytes: of this process, of the largest other."""
        self._over.set()
        self.join()
        return self._ours / 1e6, self._theirs / 1e6


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def cpu_s() -> tuple[float, float]:
    """Processor time of this process and of those that it started and that have ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime


def copies(fixtures: list[tuple[str, bytes]], count: int) -> Iterator[tuple[str, str, bytes]]:
    """The fixtures again and again, on one host each time, none like another."""
    for n in range(count):
        round_, at = divmod(n, len(fixtures))
        path, body = fixtures[at]
        yield f"http://h{round_}.test/{path}", "application/octet-stream", body + mark(path, body, n)


def mark(path: str, body: bytes, n: int) -> bytes:
    """A comment that makes a copy differ from the others."""
    if b"\0" in body[:100]:
        return b""  # in an encoding of its own: these are equal to their copies
    if path.endswith(".rnc"):
        return b"\n# %d\n" % n
    if path.endswith((".xq", ".xqm")):
        return b"\n(: %d :)\n" % n
    return b"\n<!-- %d -->\n" % n


def read_fixtures(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted((folder / "files").iterdir()):
        if path.suffix not in (".zip", ".gz"):
            yield path.name, path.read_bytes()
    for path in sorted((folder / "trees").rglob("*")):
        if path.is_file() and not path.name.endswith(".gold.json"):
            yield str(path.relative_to(folder / "trees")), path.read_bytes()


def make_fixtures() -> Iterator[tuple[str, bytes]]:
    """A schema in parts with its documents, a DTD with one, a stylesheet, RDF, SVG, and a broken document."""
    names = [f"part{n}" for n in range(8)]
    includes = "".join(f'<xs:include schemaLocation="{name}.xsd"/>' for name in names)
    elements = "".join(f'<xs:element ref="{name}" minOccurs="0" maxOccurs="unbounded"/>' for name in names)
    whole = (
        f'<xs:element name="all"><xs:complexType><xs:sequence>{elements}</xs:sequence></xs:complexType></xs:element>'
    )
    head = f'<xs:schema xmlns:xs="{XSD}" targetNamespace="urn:a" xmlns="urn:a" elementFormDefault="qualified">'
    yield "all.xsd", f"{head}{includes}{whole}</xs:schema>".encode()
    for name in names:
        field = '<xs:element name="{}" type="xs:string" minOccurs="0"/>'
        fields = "".join(field.format(f"field{n}") for n in range(30))
        kind = f"<xs:complexType><xs:sequence>{fields}</xs:sequence></xs:complexType>"
        yield f"{name}.xsd", f'{head}<xs:element name="{name}">{kind}</xs:element></xs:schema>'.encode()
    text = "Nothing to see here, and every word of it true. " * 3
    for n in range(20):
        fields = "".join(f"<field{m}>{text}</field{m}>" for m in range(n % 30))
        parts = "".join(f"<{name}>{fields}</{name}>" for name in names)
        wrong = "<wrong/>" if n % 10 == 0 else ""
        yield (
            f"doc{n}.xml",
            (f'<all xmlns="urn:a" xmlns:xsi="{XSI}" xsi:schemaLocation="urn:a all.xsd">{parts}{wrong}</all>'.encode()),
        )
    yield "d.dtd", b"<!ELEMENT d (e*)><!ELEMENT e (#PCDATA|e)*>"
    yield "d.xml", b'<!DOCTYPE d SYSTEM "d.dtd"><d>' + b"<e>a<e>b</e>c</e>" * 300 + b"</d>"
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    about = "".join(
        f'<rdf:Description rdf:about="urn:x:{n}"><t xmlns="urn:t">{text}</t></rdf:Description>' for n in range(40)
    )
    yield "x.rdf", f'<rdf:RDF xmlns:rdf="{rdf}">{about}</rdf:RDF>'.encode()
    yield (
        "x.svg",
        b'<svg xmlns="http://www.w3.org/2000/svg">'
        + b"<g>" * 20
        + b'<path d="M0 0"/>' * 200
        + b"</g>" * 20
        + b"</svg>",
    )
    include = '<x:include href="y.xsl"/>'
    yield "x.xsl", f'<x:stylesheet version="1.0" xmlns:x="{XSLT}">{include}</x:stylesheet>'.encode()
    yield "broken.xml", b"<a><b>&nbsp;& <c>" * 50


if __name__ == "__main__":
    main()
