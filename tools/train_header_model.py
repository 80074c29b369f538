"""Trains the line model of the documents mission: python tools/train_header_model.py DATA… [--evaluate]

DATA are folders with GROBID's header corpus (grobid-header.tar.xz, CC BY 4.0) and SciELO's front matter (scielo.jsonl,
of which only articles under CC BY are taken). Pages in Spanish, English and Portuguese that this script composes are
added to them: the corpus has none in Spanish or Portuguese. With --evaluate, a tenth of the corpus is held out and
measured, and so are the lines of Cora (cora.jsonl.gz), which may be measured with but not learned from.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import re
import tarfile
from collections import Counter
from pathlib import Path

import pycrfsuite
from lxml import etree

from lycosa.missions.documents.front_page.line_model import LINES_MAX, MODEL_FILE, features, label_lines
from lycosa.missions.documents.reading.layout import RAISED, Line

Page = list[tuple[Line, str]]

TEI_LABELS = {
    "titlePart": "title",
    "docAuthor": "author",
    "affiliation": "affiliation",
    "address": "affiliation",
    "email": "email",
    "keyword": "keyword",
    "keywords": "keyword",
    "date": "date",
}


def read_grobid(path: Path) -> list[Page]:
    """The headers of GROBID's corpus: labels and lines from the TEI, size and weight from the features beside it."""
    tei: dict[str, bytes] = {}
    raw: dict[str, list[list[str]]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            handle = archive.extractfile(member) if member.isfile() else None
            if handle is None or "/corpus/" not in member.name:
                continue
            name = Path(member.name).name
            stem = re.sub(r"\.training|\.header|\.tei|\.xml", "", name)
            if "/tei/" in member.name:
                tei[stem] = handle.read()
            else:
                text = handle.read().decode("utf-8", "replace")
                raw[stem] = [row.split(" ") for row in text.splitlines() if row.strip()]
    return [page for stem in sorted(tei) if (page := _grobid_page(tei[stem], raw.get(stem, [])))]


def _grobid_page(tei: bytes, raw: list[list[str]]) -> Page:
    root = etree.fromstring(tei, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    front = root.find(".//front") if root is not None else None
    if front is None:
        return []
    lines: list[tuple[str, str]] = []
    text, labels = "", Counter()

    def add(piece: str | None, label: str) -> None:
        nonlocal text
        piece = re.sub(r"\s+", " ", piece or "")
        text += piece
        labels[label] += len(piece.strip())

    def close() -> None:
        nonlocal text, labels
        if text.strip():
            lines.append((text.strip(), labels.most_common(1)[0][0]))
        text, labels = "", Counter()

    def walk(node: etree._Element, label: str) -> None:
        own = TEI_LABELS.get(str(node.tag), label)
        if node.tag == "div" and node.get("type") == "abstract":
            own = "abstract"
        if node.tag == "lb":
            close()
        else:
            add(node.text, own)
            for child in node:
                walk(child, own)
                add(child.tail, own)

    walk(front, "note")
    close()
    return _with_layout(lines, raw)


def _with_layout(lines: list[tuple[str, str]], raw: list[list[str]]) -> Page:
    starts: dict[int, list[str]] = {}
    at = 0
    for row in raw:
        starts[at] = row
        at += len(row[0])
    page: Page = []
    at, size, block = 0, 10.0, 0
    for text, label in lines:
        row = next((starts[n] for n in range(at, at + 4) if n in starts), [])
        at += len(re.sub(r"\s+", "", text))
        bold = italic = False
        if len(row) > 17:
            block += row[10] == "BLOCKSTART"
            size *= {"HIGHERFONT": 1.2, "LOWERFONT": 1 / 1.2}.get(row[14], 1.0)
            bold, italic = row[15] == "1", row[16] == "1"
        page.append((Line(text=text, page=1, size=size, bold=bold, italic=italic, block=block), label))
    return page


GIVEN = {
    "es": "María José Antonio Ana Carmen Manuel Francisco Luis Laura Javier Pablo Lucía Sofía Martín Andrés Alejandra "
    "Cecilia Juan Diego Silvina Gustavo Verónica Agustín Itziar Jordi",
    "pt": "João Maria Ana Pedro Luiz Carlos Fernanda Juliana Rafael Gabriela Paulo Beatriz Tiago Marcelo Camila Renata "
    "Eduardo Letícia Thiago Rodrigo Denise",
    "en": "John Mary Robert Linda Wei Sarah David Emily Michael Anna Peter Laura Thomas Priya Ahmed Yuki Stefan Kevin "
    "Rachel Daniel Chris Olga",
}
SURNAMES = {
    "es": "García Rodríguez González Fernández López Martínez Sánchez Pérez Gómez Ruiz Casali Deco Bender Motz Álvarez "
    "Romero Navarro Torres Domínguez Vázquez Ibáñez Etxeberria Puig Baro Muñoz",
    "pt": "Silva Santos Oliveira Souza Pereira Ferreira Costa Rodrigues Almeida Carvalho Gomes Ribeiro Martins Rocha "
    "Barbosa Camata Figueiredo Teixeira Moura Nogueira",
    "en": "Smith Johnson Brown Lee Wang Müller Garcia Kumar Taylor Anderson Chen Kim Rossi Nguyen Patel Wilson Novak "
    "Schmidt Tanaka Dubois Cohen Fader",
}
TOPICS = {
    "es": (
        (
            "Análisis de|Introducción a|Una aproximación a|Desarrollo de|Diseño e implementación de|Evaluación de|"
            "Estudio sobre|Modelado de|Hacia|Optimización de|Clasificación de|El papel de|Aportes a|"
            "Caracterización de"
        ),
        (
            "algoritmos evolutivos|redes neuronales|la gestión del agua|sistemas distribuidos|políticas educativas|"
            "la sintaxis del español|modelos estocásticos|suelos agrícolas|repositorios institucionales|"
            "estructuras algebraicas|la memoria histórica|imágenes médicas|la calidad del aire|un compilador|"
            "cerámicas prehispánicas|metadatos"
        ),
        (
            "en entornos rurales|para la toma de decisiones|mediante aprendizaje automático|"
            "en la Argentina contemporánea|aplicados a la medicina|en la educación superior|: un estudio de caso|"
            "con restricciones|en el siglo XIX|desde una perspectiva de género|||"
        ),
    ),
    "pt": (
        (
            "Análise de|Introdução a|Uma abordagem para|Desenvolvimento de|Avaliação da|Estudo sobre|Modelagem de|"
            "Fatores associados a|Prevalência de|O impacto da|Caracterização de"
        ),
        (
            "algoritmos genéticos|redes de sensores|saúde pública|sistemas distribuídos|políticas educacionais|"
            "crianças em idade escolar|modelos matemáticos|solos tropicais|recursos computacionais|espécies nativas|"
            "qualidade de vida|um compilador"
        ),
        (
            "no Brasil|em ambientes urbanos|para apoio à decisão|na Amazônia|em adolescentes|: um estudo de caso|"
            "com aprendizado de máquina|na educação superior|||"
        ),
    ),
    "en": (
        (
            "Analysis of|Towards|An Approach to|Learning|A Survey of|On the|Efficient|Automating|Understanding|"
            "Measuring|Modeling|The Role of|Fast"
        ),
        (
            "Distributed Systems|Neural Networks|Program Repair|Definable Groups|Water Resources|Spanish Clitics|"
            "Query Optimization|Developer Productivity|Homotopy Theory|Soil Erosion|Medical Images|Random Graphs"
        ),
        (
            "in Practice|for Large-Scale Data|using Machine Learning|: A Case Study|with Constraints|over Streams|"
            "in o-minimal structures|from Examples|||"
        ),
    ),
}
PLACES = {
    "es": (
        (
            "Universidad Nacional de Rosario|Universidad de Granada|Universidad Complutense de Madrid|"
            "Universidad de Buenos Aires|Universidad Autónoma de México|Universitat Politècnica de València|"
            "Universidad de Concepción|Pontificia Universidad Católica de Chile"
        ),
        (
            "Facultad de Ciencias Exactas, Ingeniería y Agrimensura|Facultad de Filosofía y Letras|"
            "Escuela Técnica Superior de Ingeniería Informática|Facultad de Matemáticas|Facultad de Ingeniería"
        ),
        (
            "Departamento de Álgebra|Departamento de Ciencias de la Computación|Instituto de Lingüística|"
            "Departamento de Lenguajes y Sistemas|Carrera de Informática|Departamento de Física"
        ),
        "Rosario, Argentina|Granada, España|28040 Madrid, España|Buenos Aires|Ciudad de México|Santiago, Chile",
    ),
    "pt": (
        (
            "Universidade de São Paulo|Universidade Federal do Rio de Janeiro|Universidade do Porto|"
            "Universidade Estadual do Norte Fluminense Darcy Ribeiro|Universidade Federal de Minas Gerais|"
            "Fundação Oswaldo Cruz"
        ),
        (
            "Faculdade de Medicina|Escola Nacional de Saúde Pública|Instituto de Informática|Faculdade de Engenharia|"
            "Centro de Ciências Exatas"
        ),
        (
            "Departamento de Epidemiologia|Laboratório de Ciências Matemáticas|Departamento de Ciência da Computação|"
            "Programa de Pós-Graduação em Saúde Coletiva"
        ),
        "São Paulo, SP, Brasil|Rio de Janeiro, RJ, Brasil|Porto, Portugal|Belo Horizonte, MG, Brasil",
    ),
    "en": (
        (
            "University of Washington|Carnegie Mellon University|Oxford University|Australian National University|"
            "Microsoft Research|Oak Ridge National Laboratory|Stanford University|ETH Zürich|"
            "Technische Universität Berlin"
        ),
        "School of Computer Science|Faculty of Science|College of Engineering|Faculty of Medicine",
        (
            "Department of Computer Science|Department of Mathematics|Department of Surgery|Institute of Physics|"
            "Division of Epidemiology"
        ),
        "Seattle, WA, USA|Pittsburgh, PA 15213|Oxford, UK|Canberra, Australia|Berlin, Germany",
    ),
}
WORDS = {
    "es": ("Resumen", "Palabras clave", "Introducción", "y", "Revista de|Actas de las Jornadas de|Anuario de"),
    "pt": ("Resumo", "Palavras-chave", "Introdução", "e", "Revista Brasileira de|Anais do Simpósio de|Cadernos de"),
    "en": ("Abstract", "Keywords", "Introduction", "and", "Journal of|Proceedings of the Conference on|Annals of"),
}
PROSE = {
    "es": "en este trabajo se presenta un método que permite estudiar los resultados obtenidos a partir de los datos y "
    "se discuten sus consecuencias para la teoría y la práctica además mostramos que el modelo propuesto mejora "
    "las soluciones conocidas cuando el número de casos es grande",
    "pt": "este trabalho apresenta um método que permite estudar os resultados obtidos a partir dos dados e discute "
    "suas consequências para a teoria e a prática além disso mostramos que o modelo proposto melhora as soluções "
    "conhecidas quando o número de casos é grande",
    "en": "in this paper we present a method that allows us to study the results obtained from the data and we discuss "
    "its consequences for theory and practice moreover we show that the proposed model improves on known "
    "solutions when the number of cases is large",
}


class Composer:
    """Composes first pages of articles, slides, notes and sheets, with their labels."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, choices: str) -> str:
        return self.random.choice(choices.split("|"))

    def name(self, language: str) -> str:
        given = self.random.choice(GIVEN[language].split())
        surname = self.random.choice(SURNAMES[language].split())
        shape = self.random.random()
        if shape < 0.2:
            given = f"{given[0]}."
        elif shape < 0.4:
            given += f" {self.random.choice(GIVEN[language].split())[0]}."
        elif shape < 0.55:
            given += f" {self.random.choice(GIVEN[language].split())}"
        if language != "en" and self.random.random() < 0.5:
            surname += f" {self.random.choice(['', '', 'de ', 'da '])}{self.random.choice(SURNAMES[language].split())}"
        return f"{given} {surname}"

    def title(self, language: str) -> str:
        first, second, third = (self.pick(part) for part in TOPICS[language])
        title = re.sub(r" +([:,])", r"\1", f"{first} {second} {third}".strip())
        if self.random.random() < 0.35:
            link = self.random.choice([" y", ".", ":", " con"]) if language == "es" else ":"
            title += f"{link} {self.pick(TOPICS[language][1])}"
        return title

    def prose(self, language: str, count: int) -> list[str]:
        words = PROSE[language].split()
        out = []
        for nth in range(count):
            line = [self.random.choice(words) for _ in range(self.random.randint(8, 15))]
            if nth == 0:
                line[0] = line[0].capitalize()
            out.append(" ".join(line) + ("." if nth == count - 1 else ""))
        return out

    def page(self) -> Page:
        language = self.random.choice(["es", "es", "es", "pt", "pt", "en"])
        page: Page = []
        block = 0
        title_size = self.random.choice([14.0, 16.0, 17.2, 20.7, 24.0, 12.0])
        bold = self.random.random() < 0.6

        def add(text: str, label: str, size: float, *, weight: bool = False, new: bool = False) -> None:
            nonlocal block
            block += new
            page.append((Line(text=text, page=1, size=size, bold=weight, block=block), label))

        abstract, keywords, introduction, conjunction, journals = WORDS[language]
        if self.random.random() < 0.4:
            head = f"{self.pick(journals)} {self.pick(TOPICS[language][1]).title()}"
            add(f"{head}, vol. {self.random.randint(1, 60)} ({self.random.randint(1980, 2025)})", "note", 9.0)
        above = self.random.random() < 0.15
        if above:
            for part in PLACES[language][:2]:
                add(self.pick(part), "affiliation", 11.0, new=False)
        block += 1
        for nth, piece in enumerate(_wrap(self.title(language), self.random.randint(28, 60))):
            add(piece.upper() if bold and title_size < 15 else piece, "title", title_size, weight=bold, new=nth == 0)
        if self.random.random() < 0.15 and language != "en":
            for piece in _wrap(self.title("en"), 50):
                add(piece, "title", title_size * 0.8, new=False)
        count = self.random.choice([1, 1, 2, 2, 3, 4])
        authors = [self.name(language) for _ in range(count)]
        style = self.random.random()
        marks = self.random.random() < 0.5
        size = self.random.choice([10.0, 11.0, 12.0])
        places = [
            (self.pick(PLACES[language][0]), self.pick(PLACES[language][2]), self.pick(PLACES[language][3]))
            for _ in range(2)
        ]
        if style < 0.45:
            line = ", ".join(name + (f"{RAISED}{n % 2 + 1}" if marks else "") for n, name in enumerate(authors[:-1]))
            last = authors[-1] + (f"{RAISED}{len(authors) % 2 + 1}" if marks else "")
            add(f"{line} {conjunction} {last}" if line else last, "author", size, new=True)
            for n, (university, department, city) in enumerate(places[: 2 if marks else 1]):
                mark = f"{RAISED}{n + 1} " if marks else ""
                if self.random.random() < 0.5:
                    add(f"{mark}{department}, {university}, {city}", "affiliation", size - 1, new=n == 0)
                else:
                    add(f"{mark}{department}", "affiliation", size - 1, new=n == 0)
                    add(university, "affiliation", size - 1)
                    if self.random.random() < 0.5:
                        add(city, "affiliation", size - 1)
            if self.random.random() < 0.6:
                add(self.email(authors[0]), "email", size - 1)
        else:
            for n, name in enumerate(authors):
                university, department, city = places[n % 2]
                same = size if self.random.random() < 0.5 else size - 1
                rows = [(part, "affiliation") for part in (department, university, city)[: self.random.randint(1, 3)]]
                rows = rows if style < 0.85 else []
                if self.random.random() < 0.6:
                    rows.insert(self.random.choice([0, len(rows)]), (self.email(name), "email"))
                add(name, "author", size, new=True, weight=self.random.random() < 0.2)
                for text, label in rows:
                    add(text, label, same)
        if self.random.random() < 0.25:
            add(f"{self.random.randint(1, 28)} de mayo de {self.random.randint(1990, 2025)}", "date", size, new=True)
        if self.random.random() < 0.7:
            if self.random.random() < 0.6:
                add(abstract, "note", 10.0, weight=True, new=True)
            for nth, line in enumerate(self.prose(language, self.random.randint(4, 12))):
                add(line, "abstract", 9.5, new=nth == 0)
            if self.random.random() < 0.6:
                add(
                    f"{keywords}: {self.pick(TOPICS[language][1])}, {self.pick(TOPICS[language][1])}",
                    "keyword",
                    9.5,
                    new=True,
                )
        add(f"{self.random.choice(['1 ', '1. ', 'I. ', ''])}{introduction}", "body", 12.0, weight=True, new=True)
        for nth, line in enumerate(self.prose(language, self.random.randint(5, 25))):
            add(line, "body", 10.0, new=nth == 0)
        return page

    def email(self, name: str) -> str:
        local = re.sub(r"[^a-z]", "", name.split()[-1].lower()) or "ana"
        label = self.random.choice(["", "", "E-mail: ", "Correo: "])
        return f"{label}{local}@{self.random.choice(['unr.edu.ar', 'ugr.es', 'usp.br', 'cs.uni.edu'])}"

    def scielo_page(self, article: dict[str, object]) -> Page:
        """A first page of the layout that Brazilian journals have, with an article's own words."""
        page: Page = []
        language = str(article["lang"]) if article["lang"] in WORDS else "pt"
        abstract, keywords, introduction, conjunction, _ = WORDS[language]

        def add(text: str, label: str, size: float, block: int, *, weight: bool = False) -> None:
            page.append((Line(text=text, page=1, size=size, bold=weight, block=block), label))

        for piece in _wrap(str(article["title"]), self.random.randint(40, 70)):
            add(piece, "title", 16.0, 1, weight=True)
        for translation in dict(article.get("trans") or {}).values():  # type: ignore[call-overload]
            for piece in _wrap(str(translation), 60):
                add(piece, "title", 12.0, 2)
        names = [f"{one['given']} {one['surname']}" for one in article["authors"]]  # type: ignore[attr-defined]
        if self.random.random() < 0.5:
            for name in names:
                add(f"{name}{RAISED}{self.random.randint(1, 3)}", "author", 11.0, 3)
        else:
            for piece in _wrap(", ".join(f"{name}{RAISED}{self.random.randint(1, 3)}" for name in names), 80):
                add(piece, "author", 11.0, 3)
        for nth, place in enumerate(article["affiliations"]):  # type: ignore[arg-type, var-annotated]
            for n, piece in enumerate(_wrap(str(place.get("original") or ""), 70)):
                add(f"{RAISED}{nth + 1} {piece}" if n == 0 else piece, "affiliation", 8.5, 4)
        add(abstract.upper(), "note", 10.0, 5, weight=True)
        for line in self.prose(language, 8):
            add(line, "abstract", 9.0, 5)
        add(f"{keywords}: {self.pick(TOPICS[language][1])}; {self.pick(TOPICS[language][1])}", "keyword", 9.0, 6)
        add(introduction, "body", 11.0, 7, weight=True)
        for line in self.prose(language, 10):
            add(line, "body", 10.0, 7)
        return page


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line for line in lines if line]


def with_body(page: Page, others: list[Page], chooser: random.Random) -> Page:
    """A page with text after its header: the corpus ends where the text begins, pages do not."""
    donor = [line.text for line, label in chooser.choice(others) if label == "abstract"]
    if not donor:
        return page
    heading = chooser.choice(
        ["1 Introduction", "Introduction", "1. Introduction", "INTRODUCTION", "I. INTRODUCTION", ""]
    )
    block = page[-1][0].block + 1
    extra: Page = [(Line(text=heading, page=1, size=12, bold=True, block=block), "body")] if heading else []
    extra += [(Line(text=text, page=1, size=10, block=block + 1), "body") for text in donor]
    return page + extra


def train(pages: list[Page], target: Path) -> None:
    """Trains the field and writes it; rare features are left out, so that the file stays small."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.4, "c2": 0.05, "max_iterations": 120, "feature.minfreq": 3})
    for page in pages:
        page = page[:LINES_MAX]
        trainer.append(features([line for line, _ in page]), [label for _, label in page])
    trainer.train(str(target))


def measure(name: str, pages: list[Page]) -> None:
    """Prints precision and recall of each label over lines."""
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for page in pages:
        page = page[:LINES_MAX]
        for (_, label), chances in zip(page, label_lines([line for line, _ in page]), strict=True):
            best = max(chances, key=lambda one: chances[one])
            given[best] += 1
            wanted[label] += 1
            right[label] += best == label
    print(name, len(pages), "pages")
    for label in wanted:
        print(
            f"  {label:12} P {right[label] / max(1, given[label]):.3f}  R {right[label] / wanted[label]:.3f}"
            f"  lines {wanted[label]}"
        )


def read_cora(path: Path) -> list[Page]:
    """Lines of the Cora headers, to measure with."""
    labels = {
        "address": "affiliation",
        "intro": "body",
        "pubnum": "note",
        "phone": "note",
        "degree": "note",
        "web": "note",
        "page": "note",
    }
    pages: list[Page] = []
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for row in handle:
            page: Page = []
            for pieces in json.loads(row)["lines"]:
                text = " ".join(piece[0] for piece in pieces)
                label = max(pieces, key=lambda piece: len(piece[0]))[1]
                if text.strip() and text != "+PAGE+":
                    page.append((Line(text=text, page=1), labels.get(label, label)))
            pages.append(page)
    return pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+", help="folders with the corpora")
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()

    def find(name: str) -> Path:
        return next(folder / name for folder in options.data if (folder / name).exists())

    chooser = random.Random(1)
    grobid = read_grobid(find("grobid-header.tar.xz"))
    held = grobid[::10]
    learned = [page for nth, page in enumerate(grobid) if nth % 10]
    composer = Composer(seed=2)
    articles = [json.loads(row) for row in io.StringIO(find("scielo.jsonl").read_text(encoding="utf-8"))]
    free = [
        one
        for one in articles
        if re.search(r"/by/|^CC BY(?!-)|by/[34]", str(one.get("licence") or one.get("license") or ""), re.I)
    ]
    composed = [composer.page() for _ in range(700)] + [composer.scielo_page(one) for one in free]
    if options.evaluate:
        train([with_body(page, grobid, chooser) for page in learned] + composed, MODEL_FILE)
        measure("GROBID, held out", held)
        measure("Cora", read_cora(find("cora.jsonl.gz")))
    else:
        train([with_body(page, grobid, chooser) for page in grobid] + composed, MODEL_FILE)
    print(f"{MODEL_FILE}: {MODEL_FILE.stat().st_size:,} bytes, {len(free)} articles of SciELO")


if __name__ == "__main__":
    main()
