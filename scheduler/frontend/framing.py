"""Messages between a process and its parser, on a socket: each has its length before it."""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("<Q")


def frame(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def received(asked: socket.socket) -> bytes | None:
    """The next message; None where the other side has ended. Raises TimeoutError, as the socket is set."""
    head = _exactly(asked, _LENGTH.size)
    return None if head is None else _exactly(asked, _LENGTH.unpack(head)[0])


def _exactly(asked: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        try:
            chunk = asked.recv(min(count - len(data), 1 << 20))
        except ConnectionError:
            return None
        if not chunk:
            return None
        data += chunk
    return bytes(data)
