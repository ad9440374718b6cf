"""One connection to Telegram: Telethon's protocol without its retries.

Telethon connects, encrypts and reads. It does not reconnect, repeat, wait or fetch updates here. Our requests go
straight to its sender, once. Calls that it makes to connect are counted separately.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from telethon import TelegramClient
from telethon.crypto import AuthKey
from telethon.network import MTProtoSender
from telethon.tl import functions, types
from telethon.tl.alltlobjects import LAYER

from tidegate.core.errors import PlatformError
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.platforms.interface import NoteConnect
from tidegate.platforms.telegram.files.network_keys import believed
from tidegate.platforms.telegram.pre_send_check import PreSendCheck, watch
from tidegate.platforms.telegram.session import VaultSession

_WRAPPERS = (
    functions.InvokeWithLayerRequest,
    functions.InitConnectionRequest,
    functions.InvokeWithoutUpdatesRequest,
)
_CONNECT_WITHIN = 10

Introduce: TypeAlias = Callable[[MTProtoSender, int], Awaitable[None]]
"""Connects a sender to a data centre."""


class _Accidents(logging.Logger):
    """Telethon's loggers, reduced to unexpected errors; we log lost connections ourselves."""

    def getChild(self, suffix: str) -> Any:  # noqa: N802 - logging's own name
        child = super().getChild(suffix)
        child.addFilter(_is_accident)
        return child


def _is_accident(record: logging.LogRecord) -> bool:
    return record.exc_info is not None


@dataclass(frozen=True, slots=True, repr=False)
class TelegramApplication:
    """The operator's own registration with Telegram, from my.telegram.org."""

    id: int
    hash: str


def method_of(request: Any) -> str:
    """A request's name as Telegram's reference spells it, such as ``messages.getPeerDialogs``."""
    while isinstance(request, _WRAPPERS):
        request = request.query
    family = type(request).__module__.removeprefix("telethon.tl.functions").lstrip(".")
    name = type(request).__name__.removesuffix("Request")
    name = name[:1].lower() + name[1:]
    return f"{family}.{name}" if family else name


def require_cryptg() -> None:
    """Without it Telethon decrypts in plain Python, which blocks everything else in the process.

    Invariant: nothing-blocks-the-loop.
    """
    if find_spec("cryptg") is None:
        raise PlatformError("The package cryptg is missing, without which Telegram is too slow; install it.")


def _as_telethon(proxy: ProxyAddress) -> dict[str, Any]:
    """A proxy as Telethon takes it; host names are looked up by the proxy."""
    return {
        "proxy_type": proxy.scheme,
        "addr": proxy.host,
        "port": proxy.port,
        "rdns": True,
        "username": proxy.username,
        "password": proxy.password,
    }


class RawTelegramClient(TelegramClient):  # type: ignore[misc]  # Telethon is untyped
    """Telethon's client, configured so that every call is requested by us or counted.

    ``hand_over`` sends our requests: each is queued at once and the future is its answer. Everything else that passes
    through Telethon's own ``send`` is a call that it makes on its own.
    """

    def __init__(
        self,
        session: VaultSession,
        application: TelegramApplication,
        note_connect: NoteConnect,
        on_push: Callable[[Any], None],
        pre_send_check: PreSendCheck = lambda: None,
        *,
        proxy: ProxyAddress | None = None,
    ) -> None:
        require_cryptg()
        super().__init__(
            session,
            application.id,
            application.hash,
            timeout=_CONNECT_WITHIN,
            proxy=None if proxy is None else _as_telethon(proxy),
            request_retries=0,
            connection_retries=0,
            retry_delay=0,
            auto_reconnect=False,
            raise_last_call_error=True,
            catch_up=False,
            device_model="Tidegate",
            base_logger=_Accidents("telethon"),
        )
        type(self)._config = None  # Telethon keeps this on the class: it may hold the addresses of another server
        self.flood_sleep_threshold = 0
        self.user: types.User | None = None
        self.lost: asyncio.Future[Any] = asyncio.Future()  # done when the connection is lost; replaced on connecting
        self._cdn_config: types.CdnConfig | None = None  # Telethon would take the keys of one data centre only
        self._branches: dict[int, MTProtoSender] = {}
        self._branching = asyncio.Lock()
        self._on_push = on_push
        self._note_connect = note_connect
        self._last_look = pre_send_check
        watch(self._sender, pre_send_check)
        self.hand_over: Callable[..., asyncio.Future[Any]] = self._sender.send
        """Queues a request now; ``ConnectionError`` when there is no connection and nothing was queued."""
        self._sender.send = self._send_counted

    @property
    def place(self) -> str:
        """The name of the server for error sentences."""
        return f"{self.session.server_address}:{self.session.port}"

    async def hang_up(self) -> None:
        """Disconnect; calls without an answer have failed with the reason already."""
        await self.disconnect()
        ended = self.disconnected
        if ended.done() and not ended.cancelled():
            ended.exception()

    def ask_to_connect(self, request: Any) -> asyncio.Future[Any]:
        """Send a request that belongs to connecting or signing in, and count it as such."""
        answer: asyncio.Future[Any] = self._send_counted(request)
        return answer

    def _send_counted(self, request: Any, ordered: bool = False) -> Any:  # noqa: FBT001, FBT002 - Telethon's signature
        for one in request if isinstance(request, list) else [request]:
            if not isinstance(one, functions.PingRequest):  # a heartbeat of the connection, not a call
                self._note_connect(method_of(one))
        return self.hand_over(request, ordered=ordered)

    async def _auth_key_callback(self, auth_key: AuthKey) -> None:
        """Store a new key before it is used: losing it means being signed out."""
        self.session.auth_key = auth_key
        await self.session.keep()

    async def _on_login(self, user: types.User) -> types.User:
        self.user = user
        return await super()._on_login(user)

    async def _update_loop(self) -> None:
        """Pass push updates on; Telethon's own loop would fetch differences, and skip some of their content."""
        while True:
            self._on_push(await self._updates_queue.get())

    # Files of other data centres

    async def branch(self, centre: int) -> Callable[[Any], asyncio.Future[Any]]:
        """The connection to another data centre; it has a key of its own, which is authorised from here."""
        sender = await self._branch(centre, self._introduce)
        hand_over: Callable[[Any], asyncio.Future[Any]] = sender.send
        return hand_over

    async def delivery_branch(self, centre: int) -> Callable[[Any], asyncio.Future[Any]]:
        """The connection to a data centre of the delivery network, which knows no accounts."""
        sender = await self._branch(centre, self._introduce_to_network)

        def hand_over(request: Any) -> asyncio.Future[Any]:
            greeting = copy(self._init_request)
            greeting.query = request
            answer: asyncio.Future[Any] = sender.send(functions.InvokeWithLayerRequest(LAYER, greeting))
            return answer

        return hand_over

    async def web_file_centre(self) -> int:
        """The data centre with Telegram's copies of pictures on other sites."""
        if self._config is None:
            type(self)._config = await self.ask_to_connect(functions.help.GetConfigRequest())
        return int(self._config.webfile_dc_id)

    async def _branch(self, centre: int, introduce: Introduce) -> MTProtoSender:
        async with self._branching:
            sender = self._branches.get(centre)
            if sender is None or not sender.is_connected():
                self._branches[centre] = sender = await self._reach(centre, introduce)
                if not self.is_connected():  # closed meanwhile
                    await sender.disconnect()
        return sender

    async def _reach(self, centre: int, introduce: Introduce) -> MTProtoSender:
        sender = MTProtoSender(None, loggers=self._log, retries=0, delay=0, auto_reconnect=False)
        watch(sender, self._last_look)
        try:
            await introduce(sender, centre)
        except BaseException:
            await sender.disconnect()
            raise
        return sender

    async def _introduce(self, sender: MTProtoSender, centre: int) -> None:
        """Connect to another data centre and authorise the account there."""
        await self._connect_to(sender, await self._get_dc(centre))
        exported = await self.ask_to_connect(functions.auth.ExportAuthorizationRequest(centre))
        greeting = copy(self._init_request)
        greeting.query = functions.auth.ImportAuthorizationRequest(id=exported.id, bytes=exported.bytes)
        self._note_connect(method_of(greeting))
        await sender.send(functions.InvokeWithLayerRequest(LAYER, greeting))

    async def _introduce_to_network(self, sender: MTProtoSender, centre: int) -> None:
        """Connect to the delivery network with the key that Telegram gave; no other call trusts that key."""
        if self._cdn_config is None:
            self._cdn_config = await self.ask_to_connect(functions.help.GetCdnConfigRequest())
        place = await self._get_dc(centre, cdn=True)
        with believed([one.public_key for one in self._cdn_config.public_keys if one.dc_id == centre]):
            await self._connect_to(sender, place)

    async def _connect_to(self, sender: MTProtoSender, place: types.DcOption) -> None:
        connection = self._connection(
            place.ip_address,
            place.port,
            place.id,
            loggers=self._log,
            proxy=self._proxy,
            local_addr=self._local_addr,
        )
        await sender.connect(connection)
        sender.disconnected.add_done_callback(lambda lost: lost.cancelled() or lost.exception())  # the reads report it

    async def _disconnect_coro(self) -> None:
        for sender in self._branches.values():
            await sender.disconnect()
        self._branches.clear()
        await super()._disconnect_coro()
