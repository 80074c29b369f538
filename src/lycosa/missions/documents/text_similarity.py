"""Text similarity: how alike two strings are. It comes with the extra of this mission, whose modules all need it."""

from lycosa.extras import need

need("rapidfuzz", extra="documents", what="The mission documents")

from rapidfuzz import fuzz as fuzz  # noqa: E402  it may have been installed just now
from rapidfuzz.distance import OSA as OSA  # noqa: E402
