"""Files of examples: one JSON object a line, with `page`, a file or a URL, and `values`, a list for each field."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lycosa.errors import UsageError

MAX_EXAMPLES = 1000
MAX_LINE = 1 << 20
_FORM = '{"page": FILE or URL, "values": {FIELD: [VALUE, …]}}'


class ExampleLine(msgspec.Struct):
    """An example as written, with the name of its page."""

    page: str
    values: dict[str, list[str]]


def read_examples(path: str) -> list[ExampleLine]:
    """Read a file of examples; raises UsageError with the line that is wrong."""
    found = []
    decoder = msgspec.json.Decoder(ExampleLine)
    try:
        with open(Path(path), "rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise UsageError(f"{path}:{number}: this line is longer than {MAX_LINE:,} bytes.")
                if not line.strip():
                    continue
                found.append(decoder.decode(line))
                if len(found) > MAX_EXAMPLES:
                    raise UsageError(f"{path} has more than {MAX_EXAMPLES:,} examples: some twenty are enough.")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path}:{number}: {problem}; allowed: {_FORM}.") from None
    if not any(values for line in found for values in line.values.values()):
        raise UsageError(f"{path} has no example with a value; allowed, one a line: {_FORM}.")
    return found
