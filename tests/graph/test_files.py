"""Files of graphs: what they say of nodes, relations and values that files find hard to hold."""

from __future__ import annotations

import io
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from lycosa.graph.files import list_neo4j, write_graphml
from lycosa.graph.properties import GraphRow, NodeTable, PropertyGraph, RelationTable

NS = "{http://graphml.graphdrawing.org/xmlns}"


def people() -> Iterator[GraphRow]:
    yield "a", 'Ana "A" <b> & c\x00\x1b', True, None
    yield "b", "", False, 0


def towns() -> Iterator[GraphRow]:
    yield 1, "Łódź"


def lives() -> Iterator[GraphRow]:
    yield "a", 1, 0.5


PERSON = NodeTable("Person", {"key": "STRING", "name": "STRING", "grown": "BOOLEAN", "age": "INT64"}, people)
TOWN = NodeTable("Town", {"id": "INT64", "name": "STRING"}, towns)
LIVES = RelationTable("Lives", "Person", "Town", {"share": "DOUBLE"}, lives)


def graphml(*nodes: NodeTable, relations: tuple[RelationTable, ...] = ()) -> ElementTree.Element:
    out = io.StringIO()
    assert write_graphml(PropertyGraph(nodes, relations, ""), out) == len(relations)
    return ElementTree.fromstring(out.getvalue().encode())


def data(element: ElementTree.Element) -> dict[str | None, str | None]:
    return {each.get("key"): each.text for each in element.iter(f"{NS}data")}


def test_graphml_has_every_value_with_its_type() -> None:
    """Labels where there are several; an id only tells nodes apart; what XML cannot hold is left out."""
    tree = graphml(PERSON, TOWN, relations=(LIVES,))
    types = {key.get("id"): key.get("attr.type") for key in tree.iter(f"{NS}key")}
    assert types == {
        "n_label": "string", "n_key": "string", "n_name": "string", "n_grown": "boolean", "n_age": "long",
        "e_share": "double",
    }  # fmt: skip
    nodes = {node.get("id"): data(node) for node in tree.iter(f"{NS}node")}
    assert nodes == {
        "Person:a": {"n_label": "Person", "n_key": "a", "n_name": 'Ana "A" <b> & c', "n_grown": "true"},
        "Person:b": {"n_label": "Person", "n_key": "b", "n_grown": "false", "n_age": "0"},
        "Town:1": {"n_label": "Town", "n_name": "Łódź"},
    }
    (edge,) = tree.iter(f"{NS}edge")
    assert (edge.get("source"), edge.get("target"), data(edge)) == ("Person:a", "Town:1", {"e_share": "0.5"})


def test_graphml_of_one_label_does_not_repeat_it() -> None:
    """Nor has a graph of a million pages longer names than it needs."""
    (node,) = graphml(TOWN).iter(f"{NS}node")
    assert (node.get("id"), data(node)) == ("n1", {"n_name": "Łódź"})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Person.csv", 'key:ID(Person),name:string,grown:boolean,age:long,:LABEL\na,"Ana'),
        ("Town.csv", "id:ID(Town),name:string,:LABEL\n1,Łódź,Town\n"),
        ("Person_Lives_Town.csv", ":START_ID(Person),:END_ID(Town),share:double,:TYPE\na,1,0.5,Lives\n"),
        ("import.sh", "#!/bin/sh\nneo4j-admin database import full --nodes=Person.csv --nodes=Town.csv"),
    ],
)
def test_neo4j_gets_a_file_a_table_and_the_command(file: str, text: str) -> None:
    """With the types of columns in their headers."""
    files = dict(list_neo4j(PropertyGraph((PERSON, TOWN), (LIVES,), ""), name="people"))
    assert files[file].decode().startswith(text)
