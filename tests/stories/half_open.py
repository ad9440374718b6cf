"""Somebody who opens connections and never finishes a request: a program of its own, with files of its own to open.

Its argument is a port of 127.0.0.1. It keeps as many connections as it can, opens new ones for the oldest all the time,
says how many it has opened so far once it has opened MOST, and goes on until its standard input ends.
"""

from __future__ import annotations

import resource
import selectors
import socket
import sys
from collections import deque
from contextlib import suppress

MOST = 5_000
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1"


def attack(port: int) -> None:
    """Open, send half a head, and open again."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most_open = min(MOST, hard - 64) if hard > 0 else MOST
    opened, held = 0, deque[socket.socket]()
    with selectors.DefaultSelector() as ends:
        ends.register(sys.stdin, selectors.EVENT_READ)
        while not ends.select(0 if opened < MOST else 0.001):
            held.append(socket.create_connection(("127.0.0.1", port)))
            with suppress(ConnectionError):  # it may have been closed at once: that is one answer to an attack
                held[-1].sendall(HALF)
            opened += 1
            if opened == MOST:
                print(opened, flush=True)
            if len(held) > most_open:
                held.popleft().close()
    print(opened, flush=True)


if __name__ == "__main__":
    attack(int(sys.argv[1]))
