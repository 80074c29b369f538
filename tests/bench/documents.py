"""Benchmark of the documents mission: CPU per PDF, and the fusion of many documents of one site.

    python3 tests/bench/documents.py [FOLDER WITH PDFS]

Prints CPU milliseconds per PDF (median, worst), and for one site of 1,000 and 10,000 documents the seconds and the
peak memory that the catalogue takes.
"""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import apsw
import msgspec
from support.make_collection import make_collection

from lycosa import Collection
from lycosa.frontier import link_codec
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.front_page.reading import read_facts
from lycosa.missions.documents.model import DocumentFacts, DocumentLink, Evidence, Finding, PageFacts, Person

_GIVEN = [
    "Ana",
    "Luis",
    "Marta",
    "Juan",
    "Elena",
    "Pedro",
    "Lucía",
    "Carlos",
    "Sofía",
    "Miguel",
    "Irene",
    "Jorge",
    "Laura",
    "Diego",
    "Nuria",
    "Pablo",
]
_SURNAMES = [
    "García",
    "López",
    "Casali",
    "Gil",
    "Ruiz",
    "Romero",
    "Sanz",
    "Ortega",
    "Navarro",
    "Molina",
    "Castro",
    "Vidal",
    "Soler",
    "Prieto",
    "Lara",
    "Rey",
    "Blanco",
    "Ibáñez",
    "Vega",
    "Duarte",
]


def time_documents(folder: Path) -> None:
    """Print the CPU that reading the PDFs of a folder takes."""
    spent = []
    for file in sorted(folder.rglob("*.pdf")):
        body = file.read_bytes()
        began = time.process_time()
        read_facts(body)
        spent.append((1000 * (time.process_time() - began), file.name))
    if spent:
        worst, name = max(spent)
        print(
            f"{len(spent)} PDFs: median {statistics.median(each for each, _ in spent):.0f} CPU ms,"
            f" worst {worst:.0f} ({name})"
        )


def make_site(folder: Path, count: int) -> None:
    """A site of so many documents: courses with twenty sheets each, a staff of one person per ten documents."""
    rnd = random.Random(7)
    people = [
        f"{rnd.choice(_GIVEN)} {rnd.choice(_SURNAMES)} {rnd.choice(_SURNAMES)}" for _ in range(max(10, count // 10))
    ]
    site = "http://www.uni.test"
    courses = [f"{site}/c{n}/" for n in range(max(1, count // 20))]
    staff = [f"{site}/staff/{n}.html" for n in range(len(people) // 50 + 1)]
    documents = [f"{courses[n % len(courses)]}{n}.pdf" for n in range(count)]
    pages = [(url, "text/html", url.encode()) for url in (f"{site}/", *staff, *courses)]
    make_collection(
        folder,
        [*pages, *((url, "application/pdf", url.encode()) for url in documents)],
        mission='missions = ["documents"]',
    )
    facts: dict[str, tuple[str, object]] = {}
    teachers = {course: rnd.sample(people, 2) for course in courses}
    for url in staff:
        listed = people[staff.index(url) * 50 : staff.index(url) * 50 + 50]
        members = tuple(
            Person(name=name, confidence=0.95, role="member", emails=(f"p{people.index(name)}@uni.test",))
            for name in listed
        )
        facts[url] = ("page", PageFacts(title="Personal", people=members))
    for course in courses:
        team = tuple(Person(name=name, confidence=0.95, role="teacher") for name in teachers[course])
        links = tuple(DocumentLink(url=url, anchor="Práctica") for url in documents if url.startswith(course))[:50]
        facts[course] = ("page", PageFacts(title="Curso", people=team, documents=links))
    for n, url in enumerate(documents):
        authors = rnd.sample(people, rnd.randint(1, 3)) if n % 2 else []
        evidence = (Evidence(source="text", rule="line model", page=1),)
        head = (
            f"Un estudio de {n}\n{', '.join(authors)}\nUniversidad de Prueba\n"
            + "palabras de un texto cualquiera " * 180
        )
        facts[url] = (
            "document",
            DocumentFacts(
                format="pdf",
                kind=Finding("article" if authors else "exercises", 0.8),
                titles=(Finding(f"Un estudio de {n}", 0.9, evidence),),
                people=tuple(Person(name=name, confidence=0.9, evidence=evidence) for name in authors),
                affiliations=(Finding("Universidad de Prueba", 0.9, evidence),),
                head=head,
            ),
        )
    database = apsw.Connection(str(folder / "crawl.db"))
    numbers = {url: n for n, url in database.execute("SELECT n, url FROM url")}
    with database:
        for url, (kind, data) in facts.items():
            n, encoded = numbers[url], msgspec.json.encode(data).decode()
            database.execute(
                "INSERT INTO record (n, round, quarry, mission, kind, json)"
                " SELECT n, round, 'documents', 'documents', ?, ? FROM page WHERE n = ?",
                (kind, encoded, n),
            )
            database.execute(
                "INSERT INTO extracted SELECT n, round, 'documents', '1', 'done', '', 0, 1, 0 FROM page WHERE n = ?",
                (n,),
            )
        for source in (f"{site}/", *staff, *courses):
            targets = (
                [*courses, *staff]
                if source == f"{site}/"
                else [f"{site}/", *staff, *(url for url in documents if url.startswith(source))]
            )
            packed = link_codec.pack([(target, "to", True) for target in targets])
            database.execute(
                "INSERT INTO link (key, links) SELECT n << 20 | round, ? FROM page WHERE n = ?",
                (packed, numbers[source]),
            )
    database.close()


def time_fusion(count: int) -> None:
    """Print what the catalogue of a site takes, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        make_site(Path(scratch) / "c", count)
        done = subprocess.run(
            [sys.executable, __file__, "--fuse", str(Path(scratch) / "c")], capture_output=True, text=True, check=True
        )
        print(f"{count:,} documents: {done.stdout.strip()}")


def fuse(folder: str) -> None:
    began = time.process_time()
    with Collection(folder) as collection, open_catalogue(collection) as catalogue:
        count = catalogue.count(unwanted=True)
        addressed = sum(any(author.addresses for author in document.authors) for document in catalogue.documents())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} fused, {addressed:,} with an address, {time.process_time() - began:.1f} CPU s,"
        f" {peak:.0f} MiB at most"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fuse"]:
        fuse(sys.argv[2])
    else:
        if len(sys.argv) > 1:
            time_documents(Path(sys.argv[1]))
        for number in (1_000, 10_000):
            time_fusion(number)
