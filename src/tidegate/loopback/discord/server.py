"""The loopback Discord: listens on 127.0.0.1 for REST, the gateway and downloads of files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import BodyPartReader, web

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.browser_guard import own_machine_only
from tidegate.loopback.discord import asset_files
from tidegate.loopback.discord.gateway import Gateway
from tidegate.loopback.discord.gateway_connection import GatewayLine
from tidegate.loopback.discord.method_context import Uploaded
from tidegate.loopback.discord.request_handler import Asked, Reply, Silence, answer, count, find
from tidegate.loopback.discord.world.messages.sample_files import sample_bytes
from tidegate.loopback.discord.world.record import Call
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.faults import FaultKind

_FILE = "GET file"  # how a download is recorded, whatever its path
_API = "/api/v10"
_LARGEST = 128 << 20


class DiscordServer:
    """Serves *world* to unmodified clients until closed.

    A client is pointed at ``rest`` and ``gateway_url`` and given a bot's token. The clock dates what happens, and
    times latency and limits.
    """

    def __init__(self, world: World, clock: Clock, *, latency: timedelta = timedelta(), port: int = 0) -> None:
        self.clock = clock
        self.latency = latency
        self.address = ""
        self._world = world
        self._port = port
        self._under_way = 0
        self._closing = asyncio.Event()
        self._gateway = Gateway(world, lambda: self.address)
        self._runner: web.AppRunner | None = None

    @property
    def world(self) -> World:
        return self._world

    @property
    def gateway(self) -> Gateway:
        return self._gateway

    @property
    def rest(self) -> str:
        """What ``discord.http.Route.BASE`` is to be."""
        return self.address + _API

    @property
    def gateway_url(self) -> str:
        """The gateway's address, as ``GET /gateway/bot`` returns it; also to be a client's default gateway."""
        return self.address.replace("http", "ws", 1)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2] or self._port)

    @property
    def busy(self) -> bool:
        """Whether a call is in progress; a held clock stands still meanwhile."""
        return self._under_way > 0

    async def start(self) -> str:
        """Listen; returns the address, ``http://127.0.0.1:PORT``."""
        app = web.Application(client_max_size=_LARGEST, middlewares=[own_machine_only])
        app.router.add_route("*", _API + "/{path:.*}", self._rest)
        app.router.add_get("/attachments/{channel}/{attachment}/{name}", self._download)
        for path in asset_files.PATHS:
            app.router.add_get(path, self._asset)
        app.router.add_route("*", "/{path:.*}", self._elsewhere)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except OSError as problem:
            await self._runner.cleanup()
            raise BadInput(f"The loopback Discord cannot listen on port {self._port}: {problem.strerror}.") from problem
        self.address = "http://{}:{}".format(*self._runner.addresses[0][:2])
        return self.address

    async def close(self) -> None:
        self._closing.set()
        self._gateway.close()
        if self._runner:
            await self._runner.cleanup()

    def replace_world(self, world: World) -> None:
        """Serve another world from now on; sessions are over."""
        self._gateway.close()
        self._world = world
        self._gateway = Gateway(world, lambda: self.address)

    async def _rest(self, http: web.Request) -> web.StreamResponse:
        asked = await _read(http, self.address)
        call = count(self._world, asked)
        fault = self._world.faults.strike(call.method, call.account, {call.channel})
        try:
            async with self._counted():
                return _response(answer(self._world, asked, call, fault))
        except Silence as silence:
            return await self._say_nothing(http, hang_up=silence.hang_up)

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        """Count a call as in progress, and delay it by the set latency."""
        self._under_way += 1
        try:
            if self.latency:
                await self.clock.sleep(self.latency)
            yield
        finally:
            self._under_way -= 1

    async def _say_nothing(self, http: web.Request, *, hang_up: bool) -> web.StreamResponse:
        """Cut the connection, or leave the call unanswered until its client or this platform ends."""
        while not hang_up and http.transport and not http.transport.is_closing() and not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), timeout=0.2)
        if http.transport:
            http.transport.abort()
        return web.Response(status=499)

    async def _download(self, http: web.Request) -> web.StreamResponse:
        """A file by its signed link, without sign-in; an expired link is not found."""
        world = self._world
        world.record.calls.append(Call(world.clock.now(), "", _FILE))
        number = int(http.match_info["channel"])
        named = any(fault.method == _FILE for fault in world.faults.waiting)
        if named and (fault := world.faults.strike(_FILE, "", {number})):
            return await self._say_nothing(http, hang_up=fault.kind is not FaultKind.TIMEOUT)
        async with self._counted():
            channel = world.channels.get(number)
            expires = datetime.fromtimestamp(int(http.query.get("ex", "0"), 16), UTC)
            for message in channel.history.held.values() if channel and expires > world.clock.now() else ():
                for file in message.attachments:
                    if str(file.id) == http.match_info["attachment"]:
                        small = "format" in http.query  # the media proxy draws a picture, of a video too
                        return _file(world, http, sample_bytes(f"{file.id}.png") if small else file.content, file.mime)
        return web.Response(status=404, text="This content is no longer available.")

    async def _asset(self, http: web.Request) -> web.StreamResponse:
        """A sticker, an emoji or another picture, by a link that never expires."""
        world = self._world
        world.record.calls.append(Call(world.clock.now(), "", _FILE))
        async with self._counted():
            content, mime = asset_files.asset_bytes(world, http.path)
            return _file(world, http, content, mime)

    async def _elsewhere(self, http: web.Request) -> web.StreamResponse:
        """The gateway, whatever its path; anything else does not exist."""
        if http.headers.get("Upgrade", "").lower() != "websocket":
            self._world.record.unknown.append(f"{http.method} {http.path}")
            return _response(Reply(404, {}, b'{"message": "404: Not Found", "code": 0}'))
        socket = web.WebSocketResponse(max_msg_size=4096, timeout=1)
        await socket.prepare(http)
        await GatewayLine(self._gateway, socket, http.query.get("compress", "")).serve()
        return socket


async def _read(http: web.Request, at: str) -> Asked:
    """A request whole: JSON, or a form with JSON in it and files beside."""
    body: dict[str, Any] = {}
    files: list[Uploaded] = []
    if http.content_type == "multipart/form-data":
        async for part in await http.multipart():
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read(decode=True))
            if part.name == "payload_json":
                body = _body(content)
            elif part.filename:
                mime = part.headers.get("Content-Type", "application/octet-stream")
                files.append(Uploaded(part.filename, content, mime))
    elif http.can_read_body:
        body = _body(await http.read())
    token = http.headers.get("Authorization", "").removeprefix("Bot ")
    path = http.raw_path.partition("?")[0].removeprefix(_API)
    method, named = find(http.method, path)
    return Asked(method, named, dict(http.query), token, body, tuple(files), at)


def _body(content: bytes) -> dict[str, Any]:
    try:
        told = json.loads(content or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _file(world: World, http: web.Request, content: bytes, mime: str) -> web.Response:
    """A file, or a range of it, under the type that its message says, unless no header can hold that."""
    plain = mime.isascii() and mime.isprintable()
    headers = {"Content-Type": mime if plain else "application/octet-stream"}
    wanted = http.http_range
    if wanted.start is not None and wanted.start >= len(content):
        return web.Response(status=416, headers={"Content-Range": f"bytes */{len(content)}"})
    world.record.pieces[f"{http.path} {http.query.get('format', '')}", wanted.start or 0] += 1
    if wanted.start is None:
        return web.Response(body=content, headers=headers)
    part = content[wanted]
    headers["Content-Range"] = f"bytes {wanted.start}-{wanted.start + len(part) - 1}/{len(content)}"
    return web.Response(status=206, body=part, headers=headers)


def _response(reply: Reply) -> web.Response:
    return web.Response(status=reply.status, headers=reply.headers, body=reply.body, content_type=reply.mime)
