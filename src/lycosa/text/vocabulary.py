"""Data model of a thesaurus: concepts with labels in many languages, what is broader, and their groups."""

from __future__ import annotations

from msgspec import Struct


class Concept(Struct, omit_defaults=True):
    """One meaning; other concepts and groups are given by their place in the vocabulary."""

    uri: str
    labels: dict[str, list[str]] = {}  # by language, the preferred one first; "" where none is given
    broader: list[int] = []
    narrower: list[int] = []
    related: list[int] = []
    groups: list[int] = []
    definition: dict[str, str] = {}

    def label(self, language: str = "en") -> str:
        """The preferred label in this language, or else in another one."""
        for code in (language, "en", ""):
            if self.labels.get(code):
                return self.labels[code][0]
        return next((names[0] for names in self.labels.values() if names), self.uri)


class Group(Struct, omit_defaults=True):
    """A theme, a group, a collection, or all that is below a top concept."""

    uri: str
    kind: str  # theme, group, supergroup, collection, top concept, scheme
    labels: dict[str, list[str]] = {}
    members: list[int] = []  # concepts, also those of the groups within it

    def label(self, language: str = "en") -> str:
        """Its name in this language, or else in another one."""
        for code in (language, "en", ""):
            if self.labels.get(code):
                return self.labels[code][0]
        return next((names[0] for names in self.labels.values() if names), self.uri)


class Vocabulary(Struct):
    """The concepts and groups of a whole thesaurus."""

    name: str
    title: str
    concepts: list[Concept]
    groups: list[Group]
    licence: str = ""

    @property
    def languages(self) -> list[str]:
        """The languages that labels are in, those with most labels first."""
        counts: dict[str, int] = {}
        for concept in self.concepts:
            for code, names in concept.labels.items():
                counts[code] = counts.get(code, 0) + len(names)
        return sorted((code for code in counts if code), key=lambda code: (-counts[code], code))
