"""The tag algebra: sets of pieces of a page, and the operators between them, in Python and as expressions for rules."""

from lycosa.missions.records.algebra.expression import Expression, parse_expression
from lycosa.missions.records.algebra.page import Page, Piece, PieceSet

__all__ = ["Expression", "Page", "Piece", "PieceSet", "parse_expression"]
