"""One gateway connection: hello, sign-in, heartbeats and commands from the client, events to it."""

from __future__ import annotations

import asyncio
import json
import zlib
from contextlib import suppress
from typing import Any

from aiohttp import WSMsgType, web

from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.gateway import INVALID_SESSION, Gateway, Session
from tidegate.loopback.discord.gateway_events import Intent, refused
from tidegate.loopback.discord.world.places import Bot
from tidegate.loopback.discord.world.record import Call, GatewaySession
from tidegate.loopback.faults import Fault, FaultKind

HEARTBEAT, IDENTIFY, RESUME, REQUEST_MEMBERS, HELLO, ACK = 1, 2, 6, 8, 10, 11
_NAMES = {HEARTBEAT: "heartbeat", IDENTIFY: "identify", RESUME: "resume", REQUEST_MEMBERS: "request guild members"}
_NAMES |= {3: "update presence", 4: "update voice state"}
_SPOKEN = (WSMsgType.TEXT, WSMsgType.BINARY)
"""Clients send their JSON in either kind of frame, as their library does."""

_DONE = (1000, 1001)
"""Closed with one of these by the client, a session is over."""


class GatewayLine:
    """A connection from its first frame to its last; frames are sent in the order they were queued."""

    def __init__(self, gateway: Gateway, socket: web.WebSocketResponse, compress: str) -> None:
        self._gateway = gateway
        self._socket = socket
        self._zlib = zlib.compressobj() if compress == "zlib-stream" else None
        self._frames: asyncio.Queue[str | int | None] = asyncio.Queue()  # a number closes, None ends
        self._session: Session | None = None
        self._closed_here = False
        record = gateway.world.record
        self._connected = GatewaySession(len(record.sessions) + 1, gateway.world.clock.now())
        record.sessions.append(self._connected)

    def say(self, frame: str) -> None:
        self._frames.put_nowait(frame)

    def close(self, code: int = 1000) -> None:
        self._closed_here = True
        self._frames.put_nowait(code)

    async def serve(self) -> None:
        """Until the connection ends, from whichever side."""
        self._say(HELLO, {"heartbeat_interval": self._gateway.world.limits.heartbeat_ms, "_trace": []})
        writing = asyncio.create_task(self._write())
        try:
            async for frame in self._socket:
                if frame.type not in _SPOKEN or not self._obey(frame.data):
                    break
        finally:
            if self._session:
                done = not self._closed_here and self._socket.close_code in _DONE
                self._gateway.leave(self._session, self, for_good=done)
            self._connected.closed_at = self._gateway.world.clock.now()
            self._frames.put_nowait(None)
            await writing

    async def _write(self) -> None:
        """Send the queued frames, until the connection is to be closed or the client has disconnected."""
        with suppress(ConnectionError):
            while isinstance(frame := await self._frames.get(), str):
                if self._zlib:
                    packed = self._zlib.compress(frame.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
                    await self._socket.send_bytes(packed)
                else:
                    await self._socket.send_str(frame)
            if frame is not None:
                await self._socket.close(code=frame)

    def _say(self, op: int, data: Any) -> None:
        self.say(json.dumps({"op": op, "d": data}))

    def _obey(self, text: str | bytes) -> bool:
        """Do what a frame asks; False when the connection is to be cut without an answer."""
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            self.close(4002)
            return True
        if op not in _NAMES:
            self.close(4001)
            return True
        bot = self._session.bot if self._session else self._gateway.world.bot_with(_token(data))
        fault = self._note(op, bot)
        if fault:
            return self._strike(fault, bot)
        match op:
            case 1:
                self._say(ACK, None)
            case 2 | 6 if self._session:
                self.close(4005)
            case 2:
                self._identify(data)
            case 6:
                self._resume(data)
            case _ if self._session is None:
                self.close(4003)
            case 8:
                self._tell_members(self._session, data)
        return True

    def _note(self, op: int, bot: Bot | None) -> Fault | None:
        """Count a command, which a heartbeat is not; only a fault that names the command applies to it."""
        world, method = self._gateway.world, f"gateway {_NAMES[op]}"
        name = bot.name if bot else ""
        if op != HEARTBEAT:
            world.revision += 1
            world.record.calls.append(Call(world.clock.now(), name, method))
        if not any(fault.method == method for fault in world.faults.waiting):
            return None
        return world.faults.strike(method, name, ())

    def _strike(self, fault: Fault, bot: Bot | None) -> bool:
        match fault.kind:
            case FaultKind.INVALID_SESSION:
                self._say(INVALID_SESSION, fault.code == "resumable")
            case FaultKind.ERROR:
                self.close(int(fault.code or 4000))
            case FaultKind.WAIT:
                self.close(4008)
            case FaultKind.FORBIDDEN:
                self.close(4014)
            case FaultKind.SIGNED_OUT:
                if bot:
                    self._gateway.world.renew_token(bot)
                self.close(4004)
        return fault.kind is not FaultKind.DISCONNECT

    def _identify(self, data: dict[str, Any]) -> None:
        bot = self._gateway.world.bot_with(_token(data))
        intents = data.get("intents", 0)
        if bot is None:
            self.close(4004)
        elif intents >= 1 << 26:
            self.close(4013)
        elif refused(bot, intents):
            self.close(4014)
        else:
            self._begin(self._gateway.begin(bot, intents, data.get("shard"), self))

    def _resume(self, data: dict[str, Any]) -> None:
        bot = self._gateway.world.bot_with(_token(data))
        if bot is None:
            self.close(4004)
            return
        session = self._gateway.resume(bot, data.get("session_id") or "", data.get("seq") or 0, self)
        if session is None:
            self._say(INVALID_SESSION, data=False)
        else:
            self._begin(session)

    def _begin(self, session: Session) -> None:
        self._session = session
        self._connected.account, self._connected.session = session.bot.name, session.id

    def _tell_members(self, session: Session, data: dict[str, Any]) -> None:
        """All members of a guild, in one event."""
        world = self._gateway.world
        guild = world.guilds.get(int(data["guild_id"]))
        if guild is None or session.bot.id not in guild.members or not session.intents & Intent.GUILDS:
            return
        everybody = [one for one in (*world.people, *guild.members) if world.is_member(guild, one)]
        members = [json_shapes.member(guild, one) | {"user": json_shapes.user(world.user(one))} for one in everybody]
        chunk = {"guild_id": str(guild.id), "members": members, "chunk_index": 0, "chunk_count": 1, "not_found": []}
        session.tell("GUILD_MEMBERS_CHUNK", chunk | ({"nonce": data["nonce"]} if "nonce" in data else {}))


def _token(data: Any) -> str:
    return str(data.get("token", "")).removeprefix("Bot ") if isinstance(data, dict) else ""
