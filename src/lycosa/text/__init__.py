"""Words and what they are about: the terms of a text, thesauri, and how relevant a text is to one (G4 to G6).

It is no stage: pure functions over text and compiled files, for policies, missions and the command line.
"""

from __future__ import annotations

from lycosa.text.terms import Term, Terms, extract
from lycosa.text.thesaurus import Reading, Thesaurus

__all__ = ["Reading", "Term", "Terms", "Thesaurus", "extract"]
