"""Listening and answering. Whoever starts the web floor also ends it, so it takes no signals of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from tidegate.errors import BadInput

_SECONDS_TO_FINISH = 3  # for answers under way when the floor is told to end


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """Take the address before anything else is started; port 0 takes any free one.

    An address that is taken, forbidden or not this machine's is bad input.
    """
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except (OSError, OverflowError) as problem:
        raise BadInput(f"The web floor cannot listen on {host} port {port}: {_reason(problem)}") from problem
    # Connections inherit it. Without it the body of an answer waits 40 ms for the other side to confirm its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def serve_web(app: FastAPI, listener: socket.socket) -> None:
    """Answer on *listener* until cancelled; answers under way get a moment to finish."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        for one in getattr(app.state, "without_end", ()):  # the loopback's control address has none
            one.close()
        await serving
        raise


def _reason(problem: OSError | OverflowError) -> str:
    if isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE:
        return "it is in use already. End the program that has it, or set TIDEGATE_WEB_PORT to another port."
    if isinstance(problem, OSError) and problem.errno == errno.EACCES:
        return "this user may not. Set TIDEGATE_WEB_PORT to a port above 1023."
    return f"{getattr(problem, 'strerror', None) or problem}. Set TIDEGATE_WEB_HOST to an address of this machine."
