"""One device's connection: its link, its sign-in and its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tidegate.core.child_protocol import Frame, pack, read
from tidegate.loopback.call_record import Connected
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp.record import Call
from tidegate.loopback.whatsapp.request_handler import Asked, Reply, answer, strike_down
from tidegate.loopback.whatsapp.world import Pairing, Phone

if TYPE_CHECKING:
    from tidegate.loopback.whatsapp.server import WhatsAppServer

OUTDATED = "405"


class DeviceLine:
    """The server's side of one connection."""

    def __init__(self, server: WhatsAppServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.phone: Phone | None = None
        self.device = ""
        self.pairing: Pairing | None = None
        self._server = server
        self._reader = reader
        self._writer = writer
        self._calls: set[asyncio.Task[None]] = set()
        self._session = Connected(len(server.world.record.sessions) + 1, server.clock.now())

    async def serve(self) -> None:
        """Serve the device until one side closes the connection."""
        self._server.world.record.sessions.append(self._session)
        try:
            while (frame := await read(self._reader)) is not None:
                task = asyncio.create_task(self._take(frame))
                self._calls.add(task)
                task.add_done_callback(self._calls.discard)
        finally:
            self._session.closed_at = self._server.clock.now()
            for task in self._calls:
                task.cancel()
            if self.pairing in self._server.world.pairings:
                self._server.world.pairings.remove(self.pairing)
            self._writer.close()

    def tell(self, event: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(pack(event))

    def hang_up(self) -> None:
        self._writer.close()

    def become(self, phone: Phone, device: str) -> None:
        """Mark the device as linked, and send it its address."""
        self.pairing, self.phone, self.device = None, phone, device
        self._session.account = phone.number
        self.tell({"event": "paired", "device": device})

    async def _take(self, frame: Frame) -> None:
        head = frame.head
        self._server.under_way += 1
        try:
            if self._server.latency:
                await self._server.clock.sleep(self._server.latency)
            reply = self._answer(head, frame.body)
        finally:
            self._server.under_way -= 1
        if reply.seconds:
            await self._server.clock.sleep(timedelta(seconds=reply.seconds))
        self._say(head["n"], reply)
        with suppress(ConnectionError):
            await self._writer.drain()

    def _say(self, number: int, reply: Reply) -> None:
        if not reply.hang_up:
            self.tell({"n": number, "ok": reply.ok} if reply.ok is not None else {"n": number, "error": reply.error})
        if reply.event is not None:
            self.tell(reply.event)
        if reply.hang_up or reply.event is not None:
            self.hang_up()

    def _answer(self, head: Mapping[str, Any], body: bytes) -> Reply:
        world = self._server.world
        if head["method"] == "connect":
            return self._connect(head["device"])
        if head["method"] == "pair":
            self._count("pair")
            self.pairing = world.pair()
            return Reply(ok={"qr": self.pairing.qr})
        if head["method"] == "PairPhone" and self.pairing is not None:
            self._count("PairPhone")
            return Reply(ok={"code": world.ask_code(self.pairing, head["phone"])})
        if self.phone is None:
            return Reply(error="the store doesn't contain a device JID")
        return answer(world, Asked(self.phone, head["method"], head, body))

    def _count(self, method: str, account: str = "", error: str = "") -> None:
        world = self._server.world
        world.record.calls.append(Call(world.clock.now(), account, method, error=error))
        world.revision += 1

    def _connect(self, device: str) -> Reply:
        """Let a linked device in, unless its account is banned or a fault says otherwise."""
        world = self._server.world
        phone = world.linked(device)
        if phone is None:
            self._count("connect", error="401")
            return Reply(hang_up=True, event={"event": "logged_out", "reason": 401})
        self._count("connect", phone.number)
        if fault := world.faults.strike("connect", phone.number, ()):
            return self._refuse(phone, fault)
        if phone.banned_until is not None and phone.banned_until > world.clock.now():
            left = (phone.banned_until - world.clock.now()).total_seconds()
            return Reply(hang_up=True, event={"event": "banned", "code": phone.ban_code, "seconds": left})
        self.phone, self.device = phone, device
        self._session.account = phone.number
        self._server.replace(phone, but=self)
        return Reply(ok={"name": phone.name})

    def _refuse(self, phone: Phone, fault: Fault) -> Reply:
        if fault.kind is FaultKind.ERROR and fault.code == OUTDATED:
            return Reply(hang_up=True, event={"event": "outdated"})
        if fault.kind is FaultKind.ERROR:
            return Reply(error=fault.code or "failed to dial: unexpected status 503")
        if fault.kind is FaultKind.TIMEOUT:
            return Reply(error="failed to connect: timed out waiting for the server", seconds=fault.seconds or 20)
        if fault.kind in (FaultKind.BANNED, FaultKind.SIGNED_OUT, FaultKind.REPLACED):
            return Reply(hang_up=True, event=strike_down(self._server.world, phone, fault))
        return Reply(hang_up=True)
