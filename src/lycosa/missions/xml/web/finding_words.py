"""Words for what an analysis found: validity, the state of a closure, and how a link was resolved."""

from __future__ import annotations

from lycosa.missions.web import mark

#: In the order in which they are shown; templates translate them.
WORDS = (
    mark("valid"),
    mark("invalid"),
    mark("unknown"),
    mark("usable"),
    mark("unusable"),
    mark("no schema"),
    mark("not checked"),
    mark("complete"),
    mark("guessed"),
    mark("incomplete"),
    mark("refused"),
    mark("redirect"),
    mark("catalog"),
    mark("guess"),
)
