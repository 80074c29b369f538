"""Texts left out for their quality, each for the reason that fits; personal data masked, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from arro3.io import read_parquet
from support.command_line import run
from support.make_collection import make_collection

from lycosa.errors import UsageError
from lycosa.missions.records.corpus.page_reader import find_language
from lycosa.missions.records.corpus.personal_data import Masker
from lycosa.missions.records.corpus.text_quality import MeasuredText, find_fault, read_bounds

SENTENCES = (
    "The mayor opened the new bridge over the river yesterday, after two years of work and many complaints.",
    "It is wider than the old one, which the flood had taken, and people walk over it on both sides.",
    "Nobody wants to say why it cost far more than planned, and the council will not hear of it before autumn.",
    "Next year a second one follows, further down, where only a ferry crosses now and then when the wind allows it.",
)
GOOD = "\n".join(SENTENCES)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (GOOD, ""),
        ("\n".join(SENTENCES * 3), "repeated lines"),
        (" ".join(SENTENCES * 2), "repeated words"),
        ("buy now " * 60 + GOOD, "repeated words"),
        ("\n".join(f"{line} #one #two #three" for line in SENTENCES), "many symbols"),
        ("\n".join(f"{line[:-1]}…" for line in SENTENCES), "many ellipses"),
        ("\n".join(f"- {line}" for line in SENTENCES), "mostly bullets"),
        (GOOD.replace(".", ""), "few sentences"),
        ("\n".join(each.strip() + "." for line in SENTENCES for each in line.split(",")).replace("over", "."), ""),
        ("\n".join(f"{word}." for word in dict.fromkeys(GOOD.split())), "short lines"),
        ("a b c d e f g h i j " * 3 + "k", "odd words"),
        ("Supercalifragilistic expialidocious antidisestablishmentarianism.", "odd words"),
    ],
)
def test_strict_leaves_out_what_no_corpus_wants(text: str, fault: str) -> None:
    """Good text stays; without a level nothing is judged."""
    assert find_fault(MeasuredText(text), read_bounds("strict")) == fault
    assert find_fault(MeasuredText(text), read_bounds("none")) == ""


def test_mild_is_milder_and_every_bound_has_a_measure() -> None:
    """No bound of mild is tighter than that of strict."""
    mild, strict = read_bounds("mild"), read_bounds("strict")
    for name, bound in mild.items():
        assert bound <= strict[name] if name.startswith("least") else bound >= strict[name]
        assert find_fault(MeasuredText(GOOD, whole=GOOD, language_score=1.0), {name: bound}) == ""


def test_the_share_of_the_page_and_the_language_count() -> None:
    """A text that is a small part of its page, and one of which nobody knows the language."""
    strict = read_bounds("strict")
    assert find_fault(MeasuredText(GOOD, whole=f"{GOOD} {'menu ' * 2000}"), strict) == "mostly boilerplate"
    assert find_fault(MeasuredText(GOOD, language_score=0.3), strict) == "language unsure"
    assert find_language(GOOD, "es") == ("en", 1.0)
    assert find_language(GOOD, "gl") == ("gl", None)
    assert find_language("Hello", "en-GB") == ("en", None)
    assert find_language("#17 33-2 x kv zz qq 12 " * 8, "de")[1] != 1.0


def test_languages_without_spaces_keep_their_good_texts() -> None:
    """Neither their words nor their lines are odd."""
    text = "市长昨天为河上的新桥剪彩。\n经过两年施工，这座桥比被洪水冲走的旧桥更宽。\n"
    text += "没有人愿意说明为什么费用远远超出计划，议会要到秋天才讨论。"
    assert find_fault(MeasuredText(text), read_bounds("strict")) == ""


def test_bounds_of_ones_own_go_over_the_level(tmp_path: Path) -> None:
    """A wrong name is refused with those that there are."""
    file = tmp_path / "bounds.toml"
    file.write_text("most_words = 20")
    assert find_fault(MeasuredText(GOOD), read_bounds("strict", str(file))) == "too long"
    assert read_bounds("none", str(file)) == {"most_words": 20}
    file.write_text("most_word = 20")
    with pytest.raises(UsageError, match="most_repeated_lines"):
        read_bounds("none", str(file))
    with pytest.raises(UsageError, match=r"missing\.toml"):
        read_bounds("none", str(tmp_path / "missing.toml"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Write to ana.ruiz@río.es, a+b@c.co.", "Write to [EMAIL], [EMAIL]."),
        ("@town on x.test, 3 @ 5", "@town on x.test, 3 @ 5"),
        ("ES91 2100 0418 4502 0005 1332 BANK DE89370400440532013000", "[IBAN] BANK [IBAN]"),
        ("ES91 2100 0418 4502 0005 1333", "ES91 2100 0418 4502 0005 1333"),
        ("8.8.8.8 1.1.1.1 2001:4860:4860::8888", "[IP] [IP] [IP]"),
        ("192.168.1.1 1.2.3.4.5 v1.2.3.4 999.1.1.1 12:30:45", "192.168.1.1 1.2.3.4.5 v1.2.3.4 999.1.1.1 12:30:45"),
        ("+34 612 345 678, +1 (212) 555-0123", "[PHONE], [PHONE]"),
        ("(555) 234-5678 or 555-234-5678", "[PHONE] or [PHONE]"),
        ("Tel.: 91 123 45 67, <tel:0912345678>", "Tel.: [PHONE], <tel:[PHONE]>"),
        ("612 345 678 people, 978-3-16-148410-0", "612 345 678 people, 978-3-16-148410-0"),
        ("mobile 2019-2020, 2024-05-06, +5 %, fax: 2023 2024", "mobile 2019-2020, 2024-05-06, +5 %, fax: 2023 2024"),
    ],
)
def test_personal_data_is_masked_and_other_numbers_stay(text: str, masked: str) -> None:
    """The conservative way."""
    masker = Masker("all")
    assert masker.mask(text) == masked
    assert sum(masker.counts.values()) == masked.count("[")
    assert Masker("").mask(text) == text


def test_the_corpus_tells_what_was_left_out_and_masked(tmp_path: Path) -> None:
    """With the fields that datatrove and Hugging Face's datasets read; without the options nothing changes."""
    made = {"good": GOOD, "again": "\n".join(SENTENCES[:2] * 4), "mail": GOOD.replace("Nobody", "me@town.test and")}
    pages = [
        (
            f"http://{name}.test/{name}",
            "text/html",
            f"<html lang=en><title>{name}</title><article><h1>{name}</h1>"
            f"{''.join(f'<p>{line[:-1]} {name}.</p>' for line in text.splitlines())}</article></html>".encode(),
        )
        for name, text in made.items()
    ]
    folder = str(make_collection(tmp_path / "c", pages))
    words = ("export", "corpus", "-c", folder, "--keep-duplicates")
    said = run(*words, "-o", str(tmp_path / "all.jsonl"))
    assert said.code == 0 and "3 documents" in said.output and "me@town.test" in (tmp_path / "all.jsonl").read_text()
    asked = (*words, "--quality", "strict", "--mask", "emails,phones")
    said = run(*asked, "--use", "train", "-o", str(tmp_path / "corpus"))
    assert "1 repeated lines" in said.output and "masked: emails 1, phones 0" in said.output, said.output
    sheet = (tmp_path / "corpus/README.md").read_text()
    for line in ("| repeated lines | 1 |", "| Masked emails | 1 |", "| most repeated lines | 0.3 |"):
        assert line in sheet
    ledger = [msgspec.json.decode(line) for line in (tmp_path / "corpus/ledger.jsonl").read_bytes().splitlines()]
    assert [row.get("fault") for row in ledger if not row["taken"]] == ["repeated lines"]
    rows = [msgspec.json.decode(line) for line in (tmp_path / "corpus/corpus.jsonl").read_bytes().splitlines()]
    assert "[EMAIL] and" in "".join(row["text"] for row in rows)
    assert run(*asked, "-o", str(tmp_path / "c.parquet")).code == 0
    columns = read_parquet(tmp_path / "c.parquet").read_all()
    for row in rows:
        assert row["text"] and row["url"] and row["language_score"] == 1.0
    assert len({row["digest"] for row in rows}) == len(rows) == 2
    assert all(
        columns.column(name).to_pylist() == [row[name] for row in rows]
        for name in ("digest", "text", "url", "language_score")
    )
    assert run(*words, "--mask", "names", "-o", str(tmp_path / "x.jsonl")).code == 2
