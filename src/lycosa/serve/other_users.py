"""Other users of this machine: whose program is at the other end of a connection over loopback.

Without a password, who reaches the port may start crawls in the name of who started the server. Other machines do not
reach it, but everybody on this one does. Linux tells to which user each socket belongs; where the system does not tell,
everybody is let in.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from pathlib import Path

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
_ROOT = 0  # may do everything anyway, and forwards ports of other systems on this machine
_USER = 7  # column of the table


def is_other_user(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether a connection is known to be another user's."""
    found = find_user(client, server)
    return found is not None and found not in (_ROOT, os.getuid())


def find_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The user at the client's end of a connection; None where the system does not tell."""
    try:
        table = _TABLES[ipaddress.ip_address(client[0]).version].read_text()
        ends = [_write_end(*client), _write_end(*server)]
    except (OSError, ValueError):
        return None
    for line in table.splitlines()[1:]:
        columns = line.split()
        if columns[1:3] == ends:
            return int(columns[_USER])
    return None


def _write_end(address: str, port: int) -> str:
    """An end of a connection as the tables have it: words of the address in the order of the processor."""
    packed = ipaddress.ip_address(address).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
