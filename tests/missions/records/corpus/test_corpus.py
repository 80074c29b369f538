"""A corpus of a small collection, in each of its forms."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest
from arro3.io import read_parquet
from support.command_line import run
from support.make_collection import make_collection
from support.pdf import make_pdf

from lycosa import Collection
from lycosa.missions.records.corpus.page_reader import ReadPage, read_page
from lycosa.missions.records.corpus.scratch import Scratch
from lycosa.parse import read
from lycosa.text.fingerprint import make_fingerprint

SPANISH = (
    "El río Ebro ha crecido esta noche por las lluvias de los últimos días, y los vecinos de tres pueblos han salido"
    " de sus casas. La alcaldesa ha pedido calma y ha dicho que el agua bajará mañana por la tarde, si no llueve más."
    " Nadie ha resultado herido, pero las carreteras siguen cortadas y los colegios no abrirán hasta el lunes."
)
ENGLISH = (
    "The mayor opened the new bridge over the river yesterday, after two years of work and many complaints. It is"
    " wider than the old one, which the flood had taken, and people walk over it on both sides. “We waited long,” said"
    " Dr. Jones, who lives near. It cost 3.5 million, i.e. far more than planned, and nobody wants to say why."
)
BOILERPLATE = "Subscribe to our newsletter and you will never miss a story of this town again."


def page(title: str, *paragraphs: str, lang: str = "en", head: str = "", more: str = "") -> bytes:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return (
        f"<html lang={lang}><head><title>{title}</title><meta charset=utf-8>{head}</head><body>"
        f"<nav><a href=/>Home</a></nav><article><h1>{title}</h1>{body}{more}</article></body></html>"
    ).encode()


def vary(text: str, number: int) -> str:
    """Another text of the same words."""
    words = text.split()
    return " ".join(f"{word}{chr(97 + number)}" if at % 3 == 0 else word for at, word in enumerate(words))


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two articles, copies of one of them, a short page, a list, a PDF, and a site with boilerplate."""
    licence = '<link rel=license href="https://creativecommons.org/licenses/by/4.0/">'
    more = "<ul><li>A <a href='/a'>first</a> item</li><li>x</li></ul><pre><code>if x:\n    y</code></pre>"
    ebro = page("El Ebro crece", SPANISH, lang="es", head='<meta name=author content="Ana Ruiz">' + licence)
    pages = [
        ("http://news.test/es/ebro.html", "text/html", ebro),
        ("http://news.test/print/ebro.html", "text/html", ebro),
        ("http://other.test/ebro", "text/html", page("Otra vez", SPANISH + " Fin.", lang="es")),
        ("http://news.test/en/bridge", "text/html", page("The &lt;bridge> & more", ENGLISH, more=more)),
        ("http://news.test/short", "text/html", page("Short", "Nothing to see here.")),
        (
            "http://news.test/report.pdf",
            "application/pdf",
            make_pdf(*textwrap.wrap(ENGLISH.replace("“", "").replace("”", ""), 70)),
        ),
        ("http://news.test/image.png", "image/png", b"\x89PNG"),
    ]
    pages += [
        (f"http://town.test/{number}", "text/html", page(f"Story {number}", vary(ENGLISH, number), BOILERPLATE))
        for number in range(6)
    ]
    return make_collection(tmp_path_factory.mktemp("corpus") / "c", pages)


def export(folder: Path, target: Path | str, *words: str) -> str:
    said = run("export", "corpus", "--collection", str(folder), "-o", str(target), *words)
    assert said.code == 0, said.output
    return said.output


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


def test_each_text_is_there_once_with_its_metadata(folder: Path, tmp_path: Path) -> None:
    """Copies, texts that are nearly the same and short ones are left out, and counted by why."""
    said = export(folder, tmp_path / "c.jsonl")
    documents = {document["url"]: document for document in read_lines(tmp_path / "c.jsonl")}
    assert list(documents) == [
        "http://news.test/es/ebro.html",
        "http://news.test/en/bridge",
        *(f"http://town.test/{number}" for number in range(6)),
    ]
    ebro = documents["http://news.test/es/ebro.html"]
    assert ebro["title"] == "El Ebro crece"
    assert ebro["authors"] == ["Ana Ruiz"]
    assert ebro["language"] == "es"
    assert ebro["licence"] == "https://creativecommons.org/licenses/by/4.0/"
    assert ebro["text"] == f"El Ebro crece\n{SPANISH}"
    assert ebro["words"] == len(re.findall(r"\w+", ebro["text"]))
    assert ebro["fetched"] == "2001-09-09T01:46:40Z"
    with Collection(folder) as collection:
        stored = collection.page(ebro["url"])
        assert stored is not None
        assert ebro["digest"] == stored.digest
    for reason in ("1 exact duplicate", "2 near duplicate", "1 few words"):
        assert reason in said


def test_paragraphs_that_a_site_repeats_are_dropped(folder: Path, tmp_path: Path) -> None:
    """From the text and from Markdown."""
    export(folder, tmp_path / "c.jsonl")
    assert BOILERPLATE not in (tmp_path / "c.jsonl").read_text()
    export(folder, tmp_path / "md", "--format", "markdown")
    assert not any(BOILERPLATE in file.read_text() for file in (tmp_path / "md/town.test").iterdir())


def test_pages_that_list_others_are_left_out(tmp_path: Path) -> None:
    """Teasers of articles, or links alone, however long; an article with related ones below it stays."""
    parts = textwrap.wrap(ENGLISH, 140)
    teasers = [
        f'<div class="item"><h2><a href="/{n}">What became of bridge {n}</a></h2><p>{parts[n % 3]}</p></div>'
        for n in range(9)
    ]
    links = "".join(f"<li><a href='/{n}'>The story of bridge {n}, with a long title</a></li>" for n in range(60))
    pages = [
        ("http://town.test/", "text/html", page("News", "Of 3 May 2021.", more="".join(teasers))),
        ("http://town.test/all", "text/html", page("All", more=f"<ul>{links}</ul>")),
        ("http://town.test/1", "text/html", page("Story", ENGLISH, more="".join(teasers[:3]))),
    ]
    folder = make_collection(tmp_path / "c", pages)
    said = export(folder, tmp_path / "c.jsonl")
    assert [each["url"] for each in read_lines(tmp_path / "c.jsonl")] == ["http://town.test/1"]
    assert "2 list page" in said
    assert "  no record  a list of other pages 2" in run("extract", "--quarry", "records", "-c", str(folder)).output


def test_languages_and_words_choose_texts(folder: Path, tmp_path: Path) -> None:
    """Only what is in one of the languages, and long enough."""
    export(folder, tmp_path / "es.jsonl", "--language", "es,fr")
    assert [each["language"] for each in read_lines(tmp_path / "es.jsonl")] == ["es"]
    export(folder, tmp_path / "long.jsonl", "--least-words", "1000")
    assert read_lines(tmp_path / "long.jsonl") == []
    export(folder, tmp_path / "short.jsonl", "--least-words", "1", "--host", "news.test")
    assert "http://news.test/short" in [each["url"] for each in read_lines(tmp_path / "short.jsonl")]


def test_kinds_of_page_choose_texts(folder: Path, tmp_path: Path) -> None:
    """Each document tells the kind of its page, and only some kinds are taken where they are named."""
    export(folder, tmp_path / "articles.jsonl", "--kind", "art*,forum")
    lines = [msgspec.json.decode(line) for line in (tmp_path / "articles.jsonl").read_bytes().splitlines()]
    assert lines and {line["kind"] for line in lines} == {"article"}
    assert "other kind" in export(folder, tmp_path / "none.jsonl", "--kind", "product")
    assert "allowed" in run("export", "corpus", "--collection", str(folder), "--kind", "novel", "-o", "-").output


def test_what_pages_say_of_themselves_is_exported(tmp_path: Path) -> None:
    """A line for each thing, of the kinds that are asked for."""
    thing = '<div itemscope itemtype="https://schema.org/{}"><b itemprop="name">{}</b></div>'
    body = page("Shop", ENGLISH, more=thing.format("Product", "Lamp") + thing.format("Event", "Fair"))
    folder = make_collection(tmp_path / "c", [("http://shop.test/", "text/html", body)])
    for words, names in (([], ["Lamp", "Fair"]), (["--kind", "event"], ["Fair"])):
        said = run("export", "structured", "--collection", str(folder), "-o", str(tmp_path / "t.jsonl"), *words)
        assert said.code == 0, said.output
        lines = [msgspec.json.decode(line) for line in (tmp_path / "t.jsonl").read_bytes().splitlines()]
        assert [line["name"] for line in lines] == names and lines[0]["url"] == "http://shop.test/"


def test_a_record_says_what_the_text_is(folder: Path, tmp_path: Path) -> None:
    """Where the user's rules found a text, that is the one of the corpus; the rest stays as it was read."""
    shutil.copytree(folder, tmp_path / "c")
    (tmp_path / "q.py").write_text(
        "from lycosa.quarry import Quarry\nfrom lycosa.model import Record\n"
        "class Q(Quarry):\n    name = 'q'\n    version = '1'\n"
        "    def extract(self, doc):\n"
        "        if 'bridge' in doc.url:\n"
        "            yield Record('story', {'text': 'word ' * 60, 'title': 'Mine', 'author': 'Me'})\n"
    )
    quarry = f"{tmp_path / 'q.py'}:Q"
    assert run("extract", "--collection", str(tmp_path / "c"), "--quarry", quarry).code == 0
    export(tmp_path / "c", tmp_path / "c.jsonl", "--host", "news.test")
    bridge = next(each for each in read_lines(tmp_path / "c.jsonl") if "bridge" in each["url"])
    assert (bridge["title"], bridge["authors"], bridge["words"]) == ("Mine", ["Me"], 60)
    assert bridge["language"] == "en"


def test_records_choose_texts(folder: Path, tmp_path: Path) -> None:
    """Only pages with a record of which a condition holds: numbers are compared, other values are none."""
    shutil.copytree(folder, tmp_path / "c")
    (tmp_path / "q.py").write_text(
        "from lycosa.quarry import Quarry\nfrom lycosa.model import Record\n"
        "class Q(Quarry):\n    name = 'q'\n    version = '1'\n"
        "    def extract(self, doc):\n"
        "        if 'bridge' in doc.url:\n"
        "            yield Record('judged', {'relevance': 0.9, 'change': 'x'})\n"
        "        elif 'ebro' in doc.url:\n"
        "            yield Record('judged', {'relevance': 0.4, 'price': 'dear'})\n"
    )
    assert run("extract", "--collection", str(tmp_path / "c"), "--quarry", f"{tmp_path / 'q.py'}:Q").code == 0
    for condition, names in (
        ("relevance >= 0.8", {"bridge"}),
        ("kind = judged and relevance < 0.8", {"ebro"}),
        ("relevance >= 0.1", {"bridge", "ebro"}),
        ("price >= 1", set()),
        ("change = x", {"bridge"}),
    ):
        said = export(tmp_path / "c", tmp_path / "c.jsonl", "--select", condition, "--host", "news.test")
        found = [each["url"] for each in read_lines(tmp_path / "c.jsonl")]
        assert {name for name in ("bridge", "ebro") for url in found if name in url} == names
        assert all("bridge" in url or "ebro" in url for url in found)
        assert "no record chosen" in said
    wrong = run("export", "corpus", "-c", str(tmp_path / "c"), "--select", "relevence > 1", "-o", "-").output
    assert "did you mean relevance?" in wrong


def test_parquet_has_typed_columns(folder: Path, tmp_path: Path) -> None:
    """Lists of authors, times, numbers of words."""
    export(folder, tmp_path / "c.parquet")
    table = read_parquet(tmp_path / "c.parquet").read_all()
    assert table.num_rows == 8
    assert table.column("authors").to_pylist()[0] == ["Ana Ruiz"]
    assert table.column("fetched").to_pylist()[0].year == 2001
    assert table.column("licence").to_pylist()[1] is None
    assert all(isinstance(words, int) for words in table.column("words").to_pylist())


def test_markdown_keeps_the_structure_of_a_page(folder: Path, tmp_path: Path) -> None:
    """Headings, lists, absolute links, code; the metadata stand before."""
    export(folder, tmp_path / "md", "--format", "markdown", "--host", "news.test")
    (file,) = (tmp_path / "md/news.test").glob("bridge-*.md")
    text = file.read_text()
    assert text.startswith('---\nurl: "http://news.test/en/bridge"\n')
    assert "- A [first](http://news.test/a) item\n- x" in text
    assert "```\nif x:\n    y\n```" in text
    assert "Home" not in text
    assert "| Documents | 2 |" in (tmp_path / "md/README.md").read_text()


def test_plain_files_hold_the_text_alone(folder: Path, tmp_path: Path) -> None:
    """One for each document, with a name that stays."""
    export(folder, tmp_path / "txt", "--format", "text")
    first = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.txt") if "~" not in file.name)
    export(folder, tmp_path / "txt", "--format", "text")
    again = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.txt") if "~" not in file.name)
    assert first == again
    assert len(first) == 8
    (file,) = (tmp_path / "txt/news.test").glob("ebro-*.txt")
    assert file.read_text() == f"El Ebro crece\n{SPANISH}\n"


def test_files_are_split_by_site_date_and_portion(folder: Path, tmp_path: Path) -> None:
    """A site is in one portion, and what nearly repeats it, too."""
    export(folder, tmp_path / "sites", "--split", "site")
    assert {file.name for file in (tmp_path / "sites").glob("*.jsonl")} == {"news.test.jsonl", "town.test.jsonl"}
    export(folder, tmp_path / "months", "--split", "date", "--format", "parquet")
    assert {file.name for file in (tmp_path / "months").glob("*.parquet")} == {"undated.parquet"}
    export(folder, tmp_path / "all", "--portions", "40,30,30", "--keep-duplicates")
    portions = {
        document["url"]: file.stem for file in (tmp_path / "all").glob("*.jsonl") for document in read_lines(file)
    }
    assert set(portions.values()) <= {"train", "valid", "test"}
    assert portions["http://other.test/ebro"] == portions["http://news.test/es/ebro.html"]
    assert len({portion for url, portion in portions.items() if "town.test" in url}) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--portions", "90,20,5"], "three shares of 100"),
        (["--portions", "a"], "three shares of 100"),
        (["--language", "Spanish"], "two or three letters"),
        (["--format", "markdown", "-o", "-"], "name a folder"),
        (["--split", "site", "-o", "x.jsonl"], "name a folder"),
        (["--format", "parquet", "-o", "x.jsonl"], "--format is parquet"),
        (["-o", "x.csv"], "ends in .csv"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(folder: Path, words: list[str], told: str) -> None:
    """With what is allowed."""
    said = run("export", "corpus", "--collection", str(folder), *words)
    assert said.code == 2
    assert told in said.output


def test_an_empty_collection_makes_an_empty_corpus(tmp_path: Path) -> None:
    """With a datasheet that says so."""
    folder = make_collection(tmp_path / "c", [])
    assert "0 documents" in export(folder, tmp_path / "out")
    assert (tmp_path / "out/README.md").is_file()


def test_near_duplicates_of_near_duplicates_share_a_portion(tmp_path: Path) -> None:
    """Where duplicates are kept, texts that are joined through others go together."""
    words = [f"word{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(400)]
    scratch = Scratch(tmp_path, keep_duplicates=True)
    for number in range(5):
        text = " ".join(words[number * 30 : number * 30 + 200])
        found = ReadPage(text=text, runs=list(make_fingerprint(text)))
        scratch.add(number, f"http://s{number}.test/", found, fetched=0.0, digest="00")
    scratch.compare()
    scratch.divide({"train": 34.0, "valid": 33.0, "test": 33.0})
    assert len({document.portion for _, document in scratch.documents()}) == 1
    scratch.close()


def test_control_characters_of_a_page_are_no_text() -> None:
    """They would end lines, or move a terminal's cursor."""
    body = "<p>one \x1b[31mtwo \x7fthree \u202efour</p>".encode()
    found = read_page(read("http://a.test/", {"content-type": "text/html; charset=utf-8"}, body))
    assert found is not None
    assert (found.text, found.markdown) == ("one [31mtwo three four", "one \\[31mtwo three four")


def forbidding(*names: str) -> list[tuple[str, str, bytes]]:
    """Four articles, of which those named say noai."""
    return [
        (
            f"http://wish.test/{name}",
            "text/html",
            page(name, vary(ENGLISH, number), head='<meta name=robots content="noai">' if name in names else ""),
        )
        for number, name in enumerate(("a", "b", "c", "d"))
    ]


def test_what_a_site_forbids_is_left_out_with_a_ledger(tmp_path: Path) -> None:
    """Each text leads to the signals about it; without --use nothing is left out."""
    folder = make_collection(tmp_path / "c", forbidding("b", "d"))
    said = export(folder, tmp_path / "all.jsonl")
    assert len(read_lines(tmp_path / "all.jsonl")) == 4
    said = export(folder, tmp_path / "corpus", "--use", "train", "--format", "jsonl")
    assert "2 train forbidden" in said
    assert [row["title"] for row in read_lines(tmp_path / "corpus/corpus.jsonl")] == ["a", "c"]
    ledger = {row["url"][-1]: row for row in read_lines(tmp_path / "corpus/ledger.jsonl")}
    assert {name: row["taken"] for name, row in ledger.items()} == {"a": True, "b": False, "c": True, "d": False}
    assert ledger["b"]["signals"][0] == {"use": "train", "allowed": False, "place": "meta robots", "words": "noai"}
    assert ledger["b"]["archive"].partition(":")[0].endswith(".warc.gz")
    said = export(folder, tmp_path / "searched.jsonl", "--use", "search")
    assert len(read_lines(tmp_path / "searched.jsonl")) == 4
    assert len(read_lines(tmp_path / "searched.jsonl.ledger.jsonl")) == 4


def test_a_later_change_says_which_texts_must_go(tmp_path: Path) -> None:
    """Exactly those that the earlier corpus took and that are forbidden now."""
    before = make_collection(tmp_path / "before", forbidding("b"))
    export(before, tmp_path / "old", "--use", "train", "--format", "jsonl")
    now = make_collection(tmp_path / "now", forbidding("b", "c"))
    ledger = str(tmp_path / "old/ledger.jsonl")
    said = export(now, tmp_path / "new", "--use", "train", "--format", "jsonl", "--previous", ledger)
    assert "1 text of" in said
    assert [row["url"] for row in read_lines(tmp_path / "new/withdrawn.jsonl")] == ["http://wish.test/c"]
    assert run("export", "corpus", "-c", str(now), "-o", str(tmp_path / "x"), "--previous", ledger).code == 2
    said = run("export", "corpus", "-c", str(now), "-o", "-", "--use", "train", "--previous", ledger)
    assert said.code == 2 and "name a file or a folder with -o" in said.output
    one = export(now, tmp_path / "one.jsonl", "--use", "train", "--previous", ledger)
    assert "1 text of" in one
    assert len(read_lines(tmp_path / "one.jsonl.withdrawn.jsonl")) == 1
