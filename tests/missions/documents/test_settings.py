"""The settings of the mission: in a file, in the environment, and in the older form."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.config.loading import load
from lycosa.config.mission_table import read_own
from lycosa.config.setting_docs import describe, own_table
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError
from lycosa.missions.documents.parameters import read_parameters
from lycosa.missions.documents.settings import DocumentSettings

PARAMETERS = """<?xml version="1.0" encoding="ISO-8859-1"?>
<PARAMETERS>
  <SEEDS><SEED>http://www.example.edu/a/</SEED><SEED>http://www.example.edu/b/</SEED></SEEDS>
  <ONLY_SUBPATHS>true</ONLY_SUBPATHS>
  <AUTHORS_STOP_WORDS>rector, decano</AUTHORS_STOP_WORDS>
  <AFFILIATIONS_STOP_WORDS><WORD>biblioteca</WORD></AFFILIATIONS_STOP_WORDS>
  <MAX_DEPTH>2</MAX_DEPTH>
  <AUTHOR_MATCH_SIMILARITY>0.75</AUTHOR_MATCH_SIMILARITY>
  <AFFILIATION_DUPLICATES>65</AFFILIATION_DUPLICATES>
  <LABELS>
    <LABEL category="teaching" subcategory="sheet" maxCharactersInDoc="500" matchingWords="práctica, ejercicio"/>
  </LABELS>
</PARAMETERS>"""


def test_settings_of_a_mission_stand_in_its_table(tmp_path: Path) -> None:
    """They are read from a file, the environment and --set, stored with the collection, and told with their meaning."""
    file = tmp_path / "m.toml"
    file.write_text(
        'missions = ["documents"]\nseeds = ["http://a.example/"]\n[documents]\ndepth = 2\nlabels = ["a / b: c"]\n'
    )
    loaded = load(file, environ={"LYCOSA_DOCUMENTS_DECAY": "0.5"}, sets=["documents.min_confidence=0.3"])
    own = read_own(loaded.mission, "documents", DocumentSettings)
    assert (own.depth, own.decay, own.min_confidence, own.labels) == (2, 0.5, 0.3, ("a / b: c",))
    assert own.author_match == 0.7
    again = load(text=to_toml(loaded.mission))
    assert again.mission == loaded.mission
    rows = {row.key: row for row in describe(loaded)}
    assert rows["documents.depth"].origin.endswith("m.toml:4")
    assert "links above a document" in rows["documents.depth"].meaning


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[documents]\ndepht = 2", "did you mean depth|documents.depth"),
        ("[documents]\ndepth = 99", "from 0 to 10"),
        ('[documents]\npasses = "x"\nlabel_places = "nowhere"', "document, page, both"),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, text: str, said: str) -> None:
    """With what is allowed."""
    file = tmp_path / "m.toml"
    file.write_text(f'missions = ["documents"]\n{text}\n')
    with pytest.raises(UsageError, match=said):
        load(file)


def test_a_mission_that_is_not_installed_keeps_its_table(tmp_path: Path) -> None:
    """A collection of somebody else's mission opens where that is not installed."""
    file = tmp_path / "m.toml"
    file.write_text('missions = ["elsewhere"]\n[elsewhere]\nx = 1\n')
    assert load(file).mission.missions == ("elsewhere",)


def test_the_older_form_is_read(tmp_path: Path) -> None:
    """Seeds, scope, stop words, depths, bounds and labels."""
    file = tmp_path / "Parameters.xml"
    file.write_text(PARAMETERS)
    mission = load(file).mission
    own = read_own(mission, "documents", DocumentSettings)
    assert mission.scope == "path" and mission.missions == ("documents",)
    assert mission.seeds == ("http://www.example.edu/a/", "http://www.example.edu/b/")
    assert (own.depth, own.author_match, own.affiliation_duplicates) == (2, 0.75, 0.65)
    assert (own.author_stop_words, own.affiliation_stop_words) == (("rector", "decano"), ("biblioteca",))
    assert own.labels == ("teaching / sheet [500]: práctica, ejercicio",)


ORIGINAL = """<?xml version="1.0" encoding="UTF-8"?>
<general>
  <crawlerParameters><SEEDS>http://x.example/~ana/</SEEDS><ONLY_SUBPATHS> true </ONLY_SUBPATHS></crawlerParameters>
  <parsCit_Home>/opt/ParsCit/bin</parsCit_Home>
  <neo4j_Home>/opt/neo4j</neo4j_Home>
  <postCrawlGraphTraversal>
    <MAX_DEPTH_EMAILLIST>2</MAX_DEPTH_EMAILLIST>
    <KEY_MAX_DEPTH_POTENTIALAUTHORLIST>5</KEY_MAX_DEPTH_POTENTIALAUTHORLIST>
    <MAX_POTENTIALFILIATIONLIST>3</MAX_POTENTIALFILIATIONLIST>
    <KEY_CONFIDENCE_LOWER_BOUND_POTENTIALAUTHORLIST>0.1</KEY_CONFIDENCE_LOWER_BOUND_POTENTIALAUTHORLIST>
    <KEY_SIMILARITY_LOWER_BOUND_AUTHOR_MATCHING>0.71</KEY_SIMILARITY_LOWER_BOUND_AUTHOR_MATCHING>
    <KEY_SIMILARITY_LOWER_BOUND_AUTHOR_REMOVEDUPS>0.56</KEY_SIMILARITY_LOWER_BOUND_AUTHOR_REMOVEDUPS>
    <KEY_SIMILARITY_LOWER_BOUND_FILIATION_MATCHING>0.66</KEY_SIMILARITY_LOWER_BOUND_FILIATION_MATCHING>
    <KEY_SIMILARITY_LOWER_BOUND_FILIATION_REMOVEDUPS>0.61</KEY_SIMILARITY_LOWER_BOUND_FILIATION_REMOVEDUPS>
    <MAX_PAGES_OF_MOON>7</MAX_PAGES_OF_MOON>
  </postCrawlGraphTraversal>
  <stopWords_authors> del, rector </stopWords_authors>
  <stopWords_filiations> la, abril </stopWords_filiations>
  <postCrawlLabeling>
    <label><category>Tesis</category><subcategory>null</subcategory><maxCharactersInDoc>1500</maxCharactersInDoc>
      <matchingWords>tesis,tesina</matchingWords><shouldApplyParsCitRule>true</shouldApplyParsCitRule></label>
  </postCrawlLabeling>
</general>"""


def test_the_older_form_is_read_in_the_names_of_its_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bounds and stop words of affiliations too; what is not understood is told, and nothing else."""
    file = tmp_path / "Parameters.xml"
    file.write_text(ORIGINAL)
    own = read_own(load(file).mission, "documents", DocumentSettings)
    assert (own.depth, own.min_confidence) == (5, 0.1)
    assert (own.author_match, own.author_duplicates) == (0.71, 0.56)
    assert (own.affiliation_match, own.affiliation_duplicates) == (0.66, 0.61)
    assert (own.author_stop_words, own.affiliation_stop_words) == (("del", "rector"), ("la", "abril"))
    assert own.labels == ("Tesis [1500 header]: tesis, tesina",)
    told = capsys.readouterr().err
    assert "MAX_PAGES_OF_MOON" in told and len(told.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    ["<html><p>SEEDS</p></html>", "<SEEDS", "", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"],
)
def test_other_files_are_none(text: str) -> None:
    """Nothing else is taken for it."""
    assert read_parameters(text) is None


def test_every_setting_is_documented() -> None:
    """docs/documents.md holds the table that the code makes."""
    root = Path(__file__).resolve().parents[3]
    assert own_table("documents") in (root / "docs/documents.md").read_text()
