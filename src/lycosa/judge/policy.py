"""In which order a crawl goes on (T7): what is known of a link goes in, the score that the frontier sorts by comes out.

The frontier hands out the highest score first and, of equal scores, the oldest row; the three orders differ in nothing
but the score.
"""

from __future__ import annotations

from lycosa.mission.settings import Order

#: The score of what is fetched after everything else of its host.
DULL = -1e9


def score_of(order: Order, *, depth: int, sequence: int, link_score: float) -> float:
    """The score of a new link.

    `sequence` numbers the page it was found on and only ever grows, over restarts too: with dfs the links of the newest
    page come first, in the order in which they stand on it.
    """
    if order == "bfs":
        return float(-depth)
    if order == "dfs":
        return float(sequence)
    return link_score
