"""One client's connection: packets are decrypted and parsed, calls answered in parallel, updates pushed."""

from __future__ import annotations

import asyncio
import gzip
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from telethon.errors import TypeNotFoundError
from telethon.extensions import BinaryReader
from telethon.tl import TLObject, functions, types
from telethon.tl.alltlobjects import LAYER
from telethon.tl.core import GzipPacked, MessageContainer

from tidegate.core.clock import SystemClock
from tidegate.loopback.telegram.encryption import SALT, NotSealed, key_id, open_letter, seal_letter
from tidegate.loopback.telegram.handshake import Agreed, Handshake
from tidegate.loopback.telegram.method_context import Refusal, Request, method_name
from tidegate.loopback.telegram.request_handler import Silence, answer, as_bytes
from tidegate.loopback.telegram.transport import BadPacket, Transport, recognise
from tidegate.loopback.telegram.world.record import Session
from tidegate.loopback.telegram.world.world import SignIn, World

_KEY_BYTES = 256
_RPC_RESULT = 0xF35C6D01
_CONTAINER = MessageContainer.CONSTRUCTOR_ID
_WORTH_PACKING = range(1 << 10, 128 << 10)  # small answers gain nothing, and larger ones are bytes of files
_UNKNOWN_KEY = struct.pack("<i", -404)
_WRAPPERS = (
    functions.InvokeWithLayerRequest,
    functions.InitConnectionRequest,
    functions.InvokeWithoutUpdatesRequest,
    functions.InvokeAfterMsgRequest,
    functions.InvokeAfterMsgsRequest,
)


@dataclass(slots=True)
class Counter:
    """Numbers of messages: odd, rising, and by the machine's own time, which clients compare with theirs."""

    last: int = 0

    def next(self) -> int:
        now = SystemClock().now().timestamp()
        self.last = max(int(now * 2**32) & ~3 | 1, self.last + 4)
        return self.last


@dataclass(eq=False, slots=True)
class Connection:
    """Serves one client until either side closes the connection."""

    world: World
    centre: int
    centres: Mapping[int, str]
    handshake: Callable[[], Handshake]
    latency: Callable[[], timedelta]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sign_in: SignIn | None = None
    wants_updates: bool = False
    under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _transport: Transport | None = None
    _handshake: Handshake | None = None
    _session: int | None = None
    _noted: Session | None = None
    _numbers: Counter = field(default_factory=Counter)
    _sequence: int = 0

    async def serve(self) -> None:
        try:
            self._transport = await recognise(self.reader)
            while True:
                self._take(await self._transport.read())
        except (ConnectionError, asyncio.IncompleteReadError, BadPacket, NotSealed):
            pass  # it left, or what it says cannot be understood: either way the connection ends
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        if self._noted is not None and self._noted.closed_at is None:
            self._noted.closed_at = self.world.clock.now()
        for task in self.under_way:
            task.cancel()
        self.writer.close()

    def push(self, update: TLObject) -> None:
        """Push an update."""
        self._send(bytes(update), related=True)

    def _take(self, packet: bytes) -> None:
        number = int.from_bytes(packet[:8], "little")
        if number == 0:
            self._shake(packet[20:])
            return
        self.sign_in = self.world.sign_ins.get(number) or self._kept_whole(number)
        if self.sign_in is None or self.sign_in.centre != self.centre:
            self._write(_UNKNOWN_KEY)
            return
        letter = open_letter(self.sign_in.secret, packet)
        self._noted = self._noted or self._note()
        if letter.session != self._session:
            self._session, self._sequence = letter.session, 0
            self._send(bytes(types.NewSessionCreated(letter.id, letter.session, SALT)), related=True)
        for message_id, body in _messages(letter.id, letter.body):
            self._handle(message_id, body)

    def _kept_whole(self, number: int) -> SignIn | None:
        """The sign-in whose key lost its leading zero bytes here, as in Telethon, while this client kept them."""
        for short, sign_in in self.world.sign_ins.items():
            whole = sign_in.secret.rjust(_KEY_BYTES, b"\0")
            if len(sign_in.secret) < _KEY_BYTES and key_id(whole) == number:
                sign_in.secret = whole
                self.world.sign_ins[number] = self.world.sign_ins.pop(short)
                return sign_in
        return None

    def _note(self) -> Session:
        sessions = self.world.record.sessions
        sessions.append(Session(len(sessions) + 1, self.world.clock.now(), centre=self.centre))
        return sessions[-1]

    def _shake(self, body: bytes) -> None:
        self._handshake = self._handshake or self.handshake()
        try:
            result = self._handshake.answer(body)
        except (AttributeError, BufferError, TypeNotFoundError, ValueError, struct.error) as problem:
            raise BadPacket("This is no step of a key exchange.") from problem
        if isinstance(result, Agreed):
            self.world.sign_ins[key_id(result.secret)] = SignIn(result.secret, self.centre)
            result = result.answer
        self._write(struct.pack("<qqi", 0, self._numbers.next(), len(result)) + result)

    def _handle(self, message_id: int, body: bytes) -> None:
        try:
            query = BinaryReader(body).tgread_object()
        except TypeNotFoundError:
            self.world.record.unknown.append(body[:4][::-1].hex())
            self._reply(message_id, bytes(types.RpcError(400, "INPUT_METHOD_INVALID")))
            return
        if isinstance(query, functions.PingRequest | functions.PingDelayDisconnectRequest):
            self._send(bytes(types.Pong(message_id, query.ping_id)), related=False)
        elif isinstance(query, functions.DestroySessionRequest):
            self._send(bytes(types.DestroySessionNone(query.session_id)), related=False)
        elif not isinstance(query, types.MsgsAck | types.MsgsStateReq | types.MsgResendReq):
            task = asyncio.create_task(self._answer(message_id, query))
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)

    async def _answer(self, message_id: int, wrapped: Any) -> None:
        assert self.sign_in is not None
        assert self._noted is not None
        query, quiet, layer = _unwrapped(wrapped)
        if layer != LAYER:
            self.world.record.unknown.append(f"layer {layer}")
            self._reply(message_id, bytes(types.RpcError(400, "CONNECTION_LAYER_INVALID")))
            return
        self.wants_updates = self.wants_updates or not quiet
        request = Request(self.world, self.sign_in, method_name(query), query, self.centres, self._noted)
        try:
            result = as_bytes(await answer(request, self.latency()))
        except Refusal as refusal:
            result = bytes(types.RpcError(refusal.code, refusal.name))
        except Silence as silence:
            if silence.hang_up:
                self.under_way.discard(asyncio.current_task())
                self.hang_up()
            return
        except Exception:
            # An error of this platform, not of the client: the client is answered at once, and the traceback is logged.
            self.world.record.unknown.append(f"{request.method} (broke)")
            self._reply(message_id, bytes(types.RpcError(500, "INTERNAL")))
            raise
        self._reply(message_id, result)

    def _reply(self, message_id: int, result: bytes) -> None:
        if len(result) in _WORTH_PACKING and len(packed := bytes(GzipPacked(result))) < len(result):
            result = packed
        self._send(struct.pack("<Iq", _RPC_RESULT, message_id) + result, related=True)

    def _send(self, body: bytes, *, related: bool) -> None:
        if self._session is None or self.sign_in is None:
            return  # the client has no session yet that could read it
        sequence = self._sequence * 2 + related
        self._sequence += related
        self._write(seal_letter(self.sign_in.secret, self._session, self._numbers.next(), sequence, body))

    def _write(self, packet: bytes) -> None:
        if self._transport is not None and not self.writer.is_closing():
            self.writer.write(self._transport.frame(packet))


def _messages(number: int, body: bytes) -> Iterator[tuple[int, bytes]]:
    """The single messages of a packet: itself, or what its container holds."""
    kind = int.from_bytes(body[:4], "little")
    if kind == GzipPacked.CONSTRUCTOR_ID:
        yield from _messages(number, gzip.decompress(BinaryReader(body[4:]).tgread_bytes()))
    elif kind == _CONTAINER:
        position = 8
        for _ in range(int.from_bytes(body[4:8], "little")):
            inner, _, length = struct.unpack_from("<qii", body, position)
            position += 16 + length
            yield from _messages(inner, body[position - length : position])
    else:
        yield number, body


def _unwrapped(query: Any) -> tuple[Any, bool, int]:
    """The request inside its wrappers, whether it asks for no updates, and the layer of the schema it is in."""
    quiet, layer = False, LAYER
    while isinstance(query, _WRAPPERS):
        quiet = quiet or isinstance(query, functions.InvokeWithoutUpdatesRequest)
        layer = query.layer if isinstance(query, functions.InvokeWithLayerRequest) else layer
        query = query.query
    return query, quiet, layer
