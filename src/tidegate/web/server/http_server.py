"""The HTTP server and its listening socket. The caller starts and stops the server, so it handles no signals itself."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial

import structlog
import uvicorn
from fastapi import FastAPI

from tidegate.app.settings import Settings
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.core.task_groups import beside
from tidegate.web.server.client_connections import ClientConnections, ConnectionLimits
from tidegate.web.server.http_protocol import LONGEST_HEAD, BoundedProtocol
from tidegate.web.server.streamed_responses import in_thread
from tidegate.web.server.unix_socket import unix_listener

_SECONDS_TO_FINISH = 3  # for running requests when the server is stopped
_SECONDS_A_LOOK = 0.005  # between checks of running requests
_SECONDS_A_TICK = 1
_QUEUE = 2_048  # connections that the kernel keeps for us until we take them
_TAKEN_AT_ONCE = 16  # of them, before one that is too many can be ended again

_log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Ends as soon as all requests are answered, where uvicorn polls once in a while."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopped = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._stopped.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """asyncio uses one number for two things: connections accepted at once, and the backlog of the kernel."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_QUEUE)

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # sets the Date header of responses
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS_A_TICK):
                    await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(_SECONDS_TO_FINISH):
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - plain sets
                    await asyncio.sleep(_SECONDS_A_LOOK)
        except TimeoutError:
            _log.warning("answers cut off: the web server ended before they did", answers=len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()


def listen(host: str, port: int) -> socket.socket:
    """Bind the address before anything else is started; port 0 takes any free one.

    An address that is taken, forbidden or not this machine's is bad input.
    """
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_QUEUE
        )
    except (OSError, OverflowError) as problem:
        raise BadInput(f"The web server cannot listen on {host} port {port}: {_reason(problem)}") from problem
    # Connections inherit it. Without it the body of an answer waits 40 ms for the other side to confirm its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def listening(settings: Settings) -> AbstractContextManager[socket.socket]:
    """Listen as the settings say: on the Unix socket, or else on the address and port."""
    if settings.web_socket is not None:
        return unix_listener(settings.web_socket)
    return listen(settings.web_host, settings.web_port)


async def serve_web(app: FastAPI, listener: socket.socket, clock: Clock | None = None) -> None:
    """Serve on *listener* until cancelled; running requests get a moment to finish."""
    if (prepare := getattr(app.state, "prepare", None)) is not None:
        await in_thread(prepare)
    limits = getattr(app.state, "connection_limits", ConnectionLimits())  # the loopback's control address has none
    connections = ClientConnections(limits, clock or SystemClock())
    config = uvicorn.Config(
        app,
        http=partial(BoundedProtocol, connections=connections),  # type: ignore[arg-type]  # makes one, as a class would
        ws="none",
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=_TAKEN_AT_ONCE,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # uvicorn would trust every local client; server/proxy_headers.py decides
    )
    server = _Server(config)
    async with beside(connections.watch()) as [watching]:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.wait([serving, watching], return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.end()
            for one in getattr(app.state, "without_end", ()):  # nor these
                one.close()
            await serving
        if watching.done():
            watching.result()


def _reason(problem: OSError | OverflowError) -> str:
    if isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE:
        return "it is in use already. End the program that has it, or set TIDEGATE_WEB_PORT to another port."
    if isinstance(problem, OSError) and problem.errno == errno.EACCES:
        return "this user may not. Set TIDEGATE_WEB_PORT to a port above 1023."
    return f"{getattr(problem, 'strerror', None) or problem}. Set TIDEGATE_WEB_HOST to an address of this machine."
