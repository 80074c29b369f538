"""Articles that tell stories: short news in the words of several papers, put into a records database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lycosa.missions.records.database import NewRecord, RecordStore, open_store

AT = 1_700_000_000.0

FLOOD_ES = (
    "El río Ebro se desbordó el lunes a su paso por Tudela y obligó a evacuar a 1.240 vecinos, según informó la "
    "alcaldesa Marta Iturralde. Las lluvias de los últimos días elevaron el caudal hasta niveles que no se veían "
    "desde hace décadas. La Unidad Militar de Emergencias trabaja con bombas de achique en el casco viejo, "
    "mientras Marta Iturralde pide ayuda."
)
FLOOD_EN = (
    "More than 1,240 people had to leave their homes in the Spanish town of Tudela after the river Ebro burst its"
    " banks. The mayor, Marta Iturralde, said that water had entered shops and two schools overnight. Soldiers "
    "pumped out cellars in the old town on Monday, and farmers near Tudela fear for their crops along the Ebro, "
    "which keeps rising."
)
FLOOD_CS = (
    "Rozvodněná řeka Ebro zaplavila v pondělí město Tudela na severu Španělska a 1 240 obyvatel muselo odejít z "
    "domovů. Starostka Marta Iturralde uvedla, že voda pronikla do obchodů i do škol. Vojáci odčerpávají vodu ze "
    "sklepů starého města a zemědělci se obávají o úrodu, protože hladina řeky Ebro podle meteorologů ještě "
    "několik dní poroste."
)
BUDGET = (
    "The parliament of Valdoria passed the budget of 48.7 billion crowns on Tuesday after a debate of eleven "
    "hours. The finance minister, Henrik Olsvold, defended cuts in transport, while the opposition of Petra "
    "Lindqvist walked out before the vote. Unions called for a strike next week, and analysts in Valdoria doubt "
    "that the figures will hold."
)
WEATHER = (
    "Sunshine in the morning, clouds in the afternoon and a light wind from the west: that is what the forecast "
    "for the region promises today. Temperatures reach the usual values for the season, and the night stays dry. "
    "Drivers should watch out for fog in the valleys, and hikers will find good conditions on all paths of the "
    "lower hills again."
)


def article(url: str, title: str, text: str, day: str, **more: Any) -> NewRecord:
    """A record of an article."""
    return NewRecord(kind="article", url=url, data={"title": title, "text": text, "date": day, **more})


FLOOD = (
    article(
        "http://diario.example/1", "El Ebro se desborda en Tudela", FLOOD_ES, "2024-03-04",
        language="es", section="España", authors=["Ana Ruiz"],
    ),
    article(
        "http://herald.example/a", "River floods town of Tudela", FLOOD_EN, "2024-03-05",
        language="en", section="World", place="Tudela",
    ),
    article("http://noviny.example/x", "Řeka Ebro zaplavila město", FLOOD_CS, "2024-03-05", language="cs"),
    article(
        "http://copy.example/9", "Spanish town under water", FLOOD_EN + " (AP)", "2024-03-06", language="en",
        section="World",
    ),
)  # fmt: skip
OTHER = (
    article("http://herald.example/b", "Valdoria passes its budget", BUDGET, "2024-03-05", language="en"),
    article("http://herald.example/w1", "Weather for today", WEATHER, "2024-03-04", language="en"),
    article("http://herald.example/w2", "Weather for today", WEATHER, "2024-03-05", language="en"),
)


def filled_store(folder: Path, records: Iterable[NewRecord]) -> RecordStore:
    """A records database with these records, at a time long ago."""
    store = open_store(folder)
    store.put(records, at=AT)
    return store


def find_groups(store: RecordStore) -> set[frozenset[str]]:
    """The addresses of each story that has several."""
    groups: dict[int, set[str]] = {}
    for story, url in store.rows("SELECT story, url FROM story_member JOIN records ON records.id = record"):
        groups.setdefault(story, set()).add(url)
    return {frozenset(urls) for urls in groups.values() if len(urls) > 1}
