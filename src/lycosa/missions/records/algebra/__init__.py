"""The tag algebra: sets of pieces of a page, and the operators between them, in Python and as expressions for rules."""

from lycosa.missions.records.algebra.expression import Expression, parse_expression
from lycosa.missions.records.algebra.page import Piece, PieceSet, TaggedPage

__all__ = ["Expression", "TaggedPage", "Piece", "PieceSet", "parse_expression"]
