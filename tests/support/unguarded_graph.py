"""Cypher whose words nobody looks at: what still holds is the process that it runs in."""

from __future__ import annotations

import re

from lycosa.graph import cypher
from lycosa.serve.query_page import Ask, QueryTask, open_query


def open_unguarded(task: QueryTask) -> tuple[QueryTask, Ask]:
    """As `open_query`, without the search for words that write or leave."""
    cypher._FORBIDDEN = re.compile("(?!)")
    return open_query(task)
