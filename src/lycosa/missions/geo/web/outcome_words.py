"""Words for how a service is: its state, the outcome of a check, and what changed between two checks."""

from __future__ import annotations

from lycosa.missions.web import mark

#: In the order in which they are shown; templates translate them.
WORDS = (
    mark("live"),
    mark("alive"),
    mark("empty"),
    mark("capabilities only"),
    mark("exception"),
    mark("error"),
    mark("refused"),
    mark("forbidden"),
    mark("wrong type"),
    mark("dead"),
    mark("other"),
    mark("unvisited"),
    mark("appeared"),
    mark("changed"),
    mark("vanished"),
)
