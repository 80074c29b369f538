"""The uses of a text that sites speak of."""

from __future__ import annotations

from typing import Literal, get_args

Use = Literal["search", "train", "input", "mining", "archive"]
USES: tuple[Use, ...] = get_args(Use)
