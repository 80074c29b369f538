"""Text analysis: the terms of a text, thesauri, and how relevant a text is to one.

No stage of the crawl: pure functions over text and compiled files, for policies, missions and the command line.
"""

from __future__ import annotations

from lycosa.text.terms import Term, Terms, extract
from lycosa.text.thesaurus import RelevanceReport, Thesaurus

__all__ = ["RelevanceReport", "Term", "Terms", "Thesaurus", "extract"]
