"""The loopback WhatsApp: listens on 127.0.0.1 for linked devices, and for those that want to be linked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.whatsapp.device_connection import DeviceLine
from tidegate.loopback.whatsapp.world import GROUPS, Group, Message, Pairing, Phone, World


class WhatsAppServer:
    """Serves *world* until closed. The clock dates what happens, and times latency and bans."""

    def __init__(self, world: World, clock: Clock, *, latency: timedelta = timedelta(), port: int = 0) -> None:
        self.clock = clock
        self.latency = latency
        self.address = ""
        self.under_way = 0
        self.world = world
        self._port = port
        self._lines: set[DeviceLine] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2] or self._port)

    @property
    def busy(self) -> bool:
        """Whether a call is in progress; a held clock stands still meanwhile."""
        return self.under_way > 0

    async def start(self) -> str:
        """Listen; returns the address, ``tcp://127.0.0.1:PORT``."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        except OSError as problem:
            raise BadInput(
                f"The loopback WhatsApp cannot listen on port {self._port}: {problem.strerror}."
            ) from problem
        self.address = "tcp://{}:{}".format(*self._server.sockets[0].getsockname()[:2])
        return self.address

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for line in list(self._lines):
            line.hang_up()

    def replace_world(self, world: World) -> None:
        """Serve another world from now on; all connections are closed."""
        self.world = world
        self.hang_up()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = DeviceLine(self, reader, writer)
        self._lines.add(line)
        try:
            await line.serve()
        finally:
            self._lines.discard(line)

    # Changes to connected devices

    def hang_up(self) -> None:
        """Cut every connection; devices reconnect by themselves."""
        for line in list(self._lines):
            line.hang_up()

    def tell(self, phone: Phone, event: Mapping[str, Any], *, hang_up: bool = False) -> int:
        """Send an event to every connected device of a phone; returns how many there were."""
        heard = [line for line in self._lines if line.phone is phone]
        for line in heard:
            line.tell(event)
            if hang_up:
                line.hang_up()
        return len(heard)

    def replace(self, phone: Phone, *, but: DeviceLine) -> None:
        """A device that connects a second time takes the first one's place."""
        for line in list(self._lines):
            if line.phone is phone and line is not but and line.device == but.device:
                line.tell({"event": "replaced"})
                line.hang_up()

    def scan(self, phone: Phone, pairing: Pairing) -> str:
        """The phone links the device that shows *pairing*; the device's address."""
        line = next((line for line in self._lines if line.pairing is pairing), None)
        if line is None:
            raise BadInput("The device that wanted to be linked is gone; ask for a new code.")
        self.world.pairings.remove(pairing)
        device = self.world.link(phone)
        line.become(phone, device)
        return device

    def receipt(self, group: Group, message: Message, kind: str) -> int:
        """A group member has received the message; returns how many of the sender's devices were notified."""
        phone = self.world.phones.get(message.sender)
        reader = next((number for number in group.members if number != message.sender), "10000009999")
        event = {
            "event": "receipt",
            "chat": f"{group.id}@{GROUPS}",
            "reader": reader,
            "ids": [message.id],
            "kind": kind,
            "at": int(self.clock.now().timestamp()),
        }
        return self.tell(phone, event) if phone else 0
