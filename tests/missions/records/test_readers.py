"""Readers files: what is read, and what is said of what is wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from lycosa.errors import UsageError
from lycosa.missions.records.interests import AllOf, AnyOf, FieldCondition, NoneOf, PatternCondition, TermCondition
from lycosa.missions.records.readers import ReadersFile, load_readers


def read(folder: Path, text: str) -> ReadersFile:
    path = folder / "readers.toml"
    path.write_text(text, encoding="utf-8")
    return load_readers(path)


def test_readers_and_interests_are_read(tmp_path: Path) -> None:
    """All forms of interests, with names of their own or after what they look for."""
    file = read(
        tmp_path,
        """
        [mail]
        sender = "lycosa@example.org"
        [[readers]]
        name = "Ana"
        mail = "ana@example.org"
        limit = 5
        group = "story"
        interests = [
          { terms = ["río", "inundación"], field = "title" },
          { name = "The river", pattern = '(?i)\\bEbro\\b' },
          { field = "price", at_least = 3, at_most = 9.5 },
          { field = "date", at_least = 2026-11-01 },
          { any = [{ terms = "a" }, { not = { kind = "album" } }], host = "news.example", weight = 2 },
        ]
        [[readers]]
        name = "Bo"
        """,
    )
    ana, bo = file.readers
    assert file.mail is not None and file.mail.sender == "lycosa@example.org"
    assert (ana.mail, ana.limit, ana.group, bo.interests) == ("ana@example.org", 5, "story", ())
    assert [interest.name for interest in ana.interests] == [
        "río, inundación",
        "The river",
        "price ≥ 3 ≤ 9.5",
        "date ≥ 2026-11-01",
        "news.example",
    ]
    assert ana.interests[0].condition == TermCondition(("río", "inundación"), ("title",))
    assert ana.interests[1].condition == PatternCondition(r"(?i)\bEbro\b")
    assert ana.interests[3].condition == FieldCondition(("date",), at_least=date(2026, 11, 1))
    last = ana.interests[4].condition
    assert isinstance(last, AllOf) and isinstance(last.conditions[1], AnyOf)
    assert isinstance(last.conditions[1].conditions[1], NoneOf)
    assert file.find("Bo") is bo
    with pytest.raises(UsageError, match="did you mean Ana"):
        file.find("Anna")


READER = '[[readers]]\nname = "Ana"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no reader; allowed: [[readers]]"),
        ("[[reader]]\nname = 'A'", ":1: reader: there is no such setting; did you mean readers? allowed: mail"),
        (READER + "mial = 'x'", ":3: readers[1].mial: there is no such setting; did you mean mail?"),
        (READER + "mail = 'x'", ":3: readers[1].mail: found 'x'; allowed: a mailbox"),
        (READER + "mail = 'a@b.example>, <c@d.example'", "allowed: a mailbox"),
        (READER * 2, ":4: readers[2].name: two are called Ana"),
        ("[[readers]]\nname = 3", ":2: readers[1].name: found 3"),
        (READER + "limit = 0", ":3: readers[1].limit: found 0; allowed: 1 to 1,000 records"),
        (READER + "group = 'x'", "allowed: interest, story"),
        (READER + "interests = ['x']", "allowed: a list of interests"),
        (READER + "interests = [{}]", "readers[1].interests[1]: the interest says nothing; allowed: terms"),
        (READER + "interests = [\n{ term = 'x' }]", ":4: readers[1].interests[1].term: there is no such setting; did"),
        (READER + "interests = [\n{ terms = 'x' },\n{ pattern = '(' }]", ":5: readers[1].interests[2].pattern: "),
        (READER + "interests = [{ terms = [] }]", "the list is empty"),
        (READER + "interests = [{ terms = ['—'] }]", "terms[1]: found '—'; allowed: words"),
        (READER + "interests = [{ is = 'x' }]", 'it needs a field; allowed: { field = "…", is = … }'),
        (READER + "interests = [{ field = 'x', at_least = 'much' }]", "allowed: a number, or a date"),
        (READER + "interests = [{ any = [] }]", "allowed: any = [ { … }, { … } ]"),
        (READER + "interests = [{ any = [{ name = 'x', terms = 'y' }] }]", "it belongs to the interest"),
        (READER + "interests = [" + "{ not = " * 12 + "{ terms = 'x' }" + "}" * 12 + "]", "nested more than 8 deep"),
        (READER + "interests = [{ terms = 'x', weight = -1 }]", "allowed: a number from 0 to 1000"),
        (READER + 'interests = [{ pattern = "\\d" }]', "between single quotes"),
        (READER + "[mail]\nhost = 'localhost'", "mail.sender: found ''"),
        (READER + "[mail]\nport = 'x'", ":4: mail.port: found 'x': Expected `int`, got `str`"),
        (READER + "[mail]\nsendr = 'x'", "did you mean sender?"),
        ("x = " + "[" * 3000, "is no TOML: nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """One sentence: where, what was found, what is allowed."""
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "readers.toml"))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A missing file, a folder, bytes that are no text."""
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError, match="name a readers file in TOML"):
            load_readers(path)
    (tmp_path / "x.toml").write_bytes(b"a = 1\n\xff")
    with pytest.raises(UsageError, match=":2: found the byte ff"):
        load_readers(tmp_path / "x.toml")


def test_the_example_can_be_read() -> None:
    """It has every form of interest that the documentation names."""
    file = load_readers(Path(__file__).resolve().parents[3] / "examples/readers.toml")
    assert [(reader.name, len(reader.interests)) for reader in file.readers] == [("Ana", 5), ("Desk", 1)]
