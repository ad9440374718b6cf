"""The loopback Telegram: listens on 127.0.0.1, serves any number of clients, and pushes what happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from telethon.tl import types

from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.connection import Connection
from tidegate.loopback.telegram.handshake import PRIME, Handshake, key_of_the_network, key_of_this_process
from tidegate.loopback.telegram.world.channels import Channel, Event
from tidegate.loopback.telegram.world.file_content import AWAY, HOME, NETWORK
from tidegate.loopback.telegram.world.world import Account, World


class TelegramServer:
    """Serves *world* to unmodified clients until closed.

    A client is pointed at the address and given ``public_key_pem``; then it signs in as it would elsewhere. The clock
    dates what happens and times the latency; the protocol itself goes by the machine's time, as clients check it.
    """

    def __init__(
        self, world: World, clock: Clock, *, latency: timedelta = timedelta(), port: int = 0, prime: int = PRIME
    ) -> None:
        self.clock = clock
        self.address = ""
        self._world = world
        self._key = key_of_this_process()
        self.latency = latency
        self._port = port
        self._prime = prime
        self._servers: list[asyncio.Server] = []
        self._centres: dict[int, str] = {}
        self._connections: set[Connection] = set()
        world.listeners.append(self._push)

    @property
    def world(self) -> World:
        return self._world

    @property
    def public_key_pem(self) -> str:
        """The public key that clients must trust, as PEM for Telethon."""
        return self._key.public_pem

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2] or self._port)

    @property
    def busy(self) -> bool:
        """Whether a call is in progress; a held clock stands still meanwhile."""
        return any(connection.under_way for connection in self._connections)

    async def start(self) -> str:
        """Listen; returns the address of the data centre where accounts live, ``127.0.0.1:PORT``."""
        for centre, port in ((HOME, self._port), (AWAY, 0), (NETWORK, 0)):
            try:
                server = await asyncio.start_server(partial(self._serve, centre), "127.0.0.1", port)
            except OSError as problem:
                raise BadInput(f"The loopback Telegram cannot listen on port {port}: {problem.strerror}.") from problem
            self._servers.append(server)
            self._centres[centre] = "{}:{}".format(*server.sockets[0].getsockname()[:2])
        self.address = self._centres[HOME]
        self._world.watchers.append(self._watches)
        return self.address

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        self.disconnect_all()
        self._world.listeners.remove(self._push)
        self._world.watchers.remove(self._watches)

    def disconnect_all(self) -> None:
        """Close all connections, as a restart of the platform does."""
        for connection in list(self._connections):
            connection.hang_up()

    def replace_world(self, world: World) -> None:
        """Serve another world from now on; connections are closed, and the clients' keys become unknown."""
        self._world.listeners.remove(self._push)
        world.listeners.append(self._push)
        self._world.watchers, world.watchers = [], self._world.watchers
        self._world = world
        self.disconnect_all()

    async def _serve(self, centre: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shake = partial(self._shake, centre)
        connection = Connection(self._world, centre, self._centres, shake, lambda: self.latency, reader, writer)
        self._connections.add(connection)
        try:
            await connection.serve()
        finally:
            self._connections.discard(connection)

    def _shake(self, centre: int) -> Handshake:
        key = key_of_the_network() if centre == NETWORK else self._key
        return Handshake(key, server_time=int(SystemClock().now().timestamp()), prime=self._prime)

    def _watches(self, channel: Channel) -> bool:
        return next(self._hearing(channel), None) is not None

    def _hearing(self, channel: Channel) -> Iterator[tuple[Connection, Account]]:
        """The connections that get updates of this channel, with their accounts."""
        for connection in self._connections:
            account = self._world.accounts.get(connection.sign_in.account if connection.sign_in else 0)
            told = connection.wants_updates and connection.centre == HOME
            if account is not None and told and account.id in channel.members:
                yield connection, account

    def _push(self, channel: Channel, event: Event) -> None:
        """Push an update to every connected member; to none where the channel's ``pushes`` is off."""
        if not channel.pushes:
            return
        for connection, account in self._hearing(channel):
            if connection.sign_in is self._world.asker:
                continue
            update = tl_shapes.update(self._world, channel, event, account)
            if update is not None:
                shown = [update.message] if hasattr(update, "message") else []
                if channel.owner and (short := tl_shapes.short_form(channel, update)) is not None:
                    connection.push(short)
                    continue
                chats = tl_shapes.chats(self._world, channel, account, shown)
                users = tl_shapes.users(self._world, account)
                connection.push(types.Updates([update], users, chats, self._world.clock.now(), seq=0))
