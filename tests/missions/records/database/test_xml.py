"""Records as XML and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from lycosa.errors import UsageError
from lycosa.missions.records.database.model import NewRecord, StoredRecord
from lycosa.missions.records.database.record_xml import read_xml, xml_parts

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


def stored(data: dict[str, Any], *, kind: str = "article", key: str = "") -> StoredRecord:
    return StoredRecord(id=1, kind=kind, url='https://a.example/?x=1&y="2"', host="a.example", key=key, data=data)


def through(folder: Path, *records: StoredRecord) -> list[NewRecord]:
    file = folder / "records.xml"
    file.write_bytes(b"".join(xml_parts(records)))
    return list(read_xml(file))


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.text(min_size=1), st.text())
def test_every_record_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any], kind: str, key: str
) -> None:
    """Types, lists, nested records, null, empty text, characters and names that XML does not have."""
    (found,) = through(tmp_path_factory.mktemp("xml"), stored(data, kind=kind, key=key))
    assert (found.kind, found.key, found.url) == (kind, key, 'https://a.example/?x=1&y="2"')
    assert found.data == data
    assert repr(found.data) == repr(data)  # 1 is not 1.0, nor true


def test_a_record_reads_as_people_expect(tmp_path: Path) -> None:
    """The kind is the element, a list is repeated elements; a field without an XML name stands in `field`."""
    data = {"title": "A & B", "author": ["Ana", "Jon"], "size in m": 3}
    element = etree.fromstring(b"".join(xml_parts([stored(data)])))
    assert element.xpath('//article[author="Jon"]/title/text()') == ["A & B"]
    assert element.xpath('//field[@name="size in m"]/text()') == ["3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<!DOCTYPE records [<!ENTITY a "b">]><records/>', "it has a document type"),
        ("<records><a url='x'>", "this is no XML"),
        ("<rows/>", "found <rows>; allowed: <records>"),
        ("<records><a/></records>", "<a> has no url"),
        ("<records><a url='x'><b type='integer'>1x</b></a></records>", 'found "1x" in <b>, which is no integer'),
        ("<records><a url='x'><b type='blob'/></a></records>", 'found type="blob"; allowed: text, integer'),
        ("<records><a url='x'><b/><b/></a></records>", "<b> stands twice"),
        ("<records><a url='x' fetched='soon'/></records>", 'found fetched="soon"'),
        ("<records>" + "<a url='x' type='record'>" * 300, "nested more than 200 deep"),
        ("<records form='7'/>", 'found form="7"; allowed: 1'),
    ],
)
def test_what_is_not_the_form_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """A sentence, with line and column; entities are refused before they can grow."""
    file = tmp_path / "bad.xml"
    file.write_text(text)
    with pytest.raises(UsageError) as found:
        list(read_xml(file))
    assert said in str(found.value)
    assert "line 1, column" in str(found.value)
