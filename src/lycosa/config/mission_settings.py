"""Settings that a mission brings itself: what stands in its table of a mission file, as the struct that it declared."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct, ValidationError, convert

from lycosa.config.settings import Mission
from lycosa.errors import UsageError

S = TypeVar("S", bound=Struct)


def read_own(mission: Mission, name: str, kind: type[S]) -> S:
    """The settings of the mission `name`, with the default for each that was not given."""
    try:
        return convert(mission.own.get(name, {}), kind)
    except ValidationError as error:
        raise UsageError(f"the settings of {name} do not hold together: {error}") from None
