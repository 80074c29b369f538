"""Other users of this machine: whose program is at the other end of a connection over loopback.

Without a password, who reaches the port may start crawls in the name of who started the server. Other machines do not
reach it, but everybody on this one does. Linux tells to which user a socket belongs (sock_diag(7)); where the system
does not tell, everybody is let in.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct

_ROOT = 0  # may do everything anyway, and forwards ports of other systems on this machine
_SOCK_DIAG = 4  # the protocol of netlink
_BY_FAMILY = 20  # kind of message, asked and answered
_REQUEST = 1  # its flag
_HEADER = struct.Struct("=IHHII")  # length, kind, flags, number, sender
_SOCKET = struct.Struct("!HH16s16s")  # ports and addresses, as on the network
_ASKED = struct.Struct(f"=BBxxI{_SOCKET.size}sIII")  # family, protocol, states, socket, interface, cookie
#: Family, state and timers, socket, interface and cookie, times and queues, user.
_ANSWERED = struct.Struct(f"=4x{_SOCKET.size}s12x12xI")


def is_other_user(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether a connection is known to be another user's."""
    found = find_user(client, server)
    return found is not None and found not in (_ROOT, os.getuid())


def find_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The user at the client's end of a connection; None where the system does not tell."""
    try:
        ends = [ipaddress.ip_address(address) for address, _ in (client, server)]
        family = socket.AF_INET if ends[0].version == 4 else socket.AF_INET6
        wanted = _SOCKET.pack(client[1], server[1], *(end.packed for end in ends))
        asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0xFFFFFFFF, wanted, 0, 0xFFFFFFFF, 0xFFFFFFFF)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
            answer = kernel.recv(1024)
        if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
            return None
        found, user = _ANSWERED.unpack_from(answer, _HEADER.size)
    except (AttributeError, OSError, ValueError, struct.error):
        return None
    return int(user) if found == wanted else None
