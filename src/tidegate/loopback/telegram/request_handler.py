"""One call from its arrival to its answer: recorded, failed on purpose, or run."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import timedelta
from typing import Any

from telethon.tl import TLObject

from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request, channels_named
from tidegate.loopback.telegram.methods import (
    delivery_network,
    dialogs,
    files,
    linked_content,
    message_counts,
    messages,
    profiles,
    sends,
    sign_in,
    topics,
)
from tidegate.loopback.telegram.world.record import Call

METHODS: dict[str, Method] = {
    **sign_in.METHODS,
    **profiles.METHODS,
    **dialogs.METHODS,
    **topics.METHODS,
    **messages.METHODS,
    **message_counts.METHODS,
    **linked_content.METHODS,
    **files.METHODS,
    **delivery_network.METHODS,
    **sends.METHODS,
}

_TRUE, _FALSE, _VECTOR = 0x997275B5, 0xBC799737, 0x1CB5C415


class Silence(Exception):
    """The call gets no answer; *hang_up* when its connection ends as well."""

    def __init__(self, *, hang_up: bool) -> None:
        super().__init__("no answer")
        self.hang_up = hang_up


async def answer(request: Request, latency: timedelta) -> Answer:
    """Answer a call as the platform would; Refusal is its error, Silence no answer at all."""
    world = request.world
    account = world.accounts.get(request.sign_in.account)
    phone = account.phone if account else ""
    world.revision += 1
    request.session.account = phone or request.session.account
    world.record.calls.append(Call(world.clock.now(), phone, request.method, request.session.number))
    fault = world.faults.strike(request.method, phone, set(channels_named(request.query)))
    if latency:
        await world.clock.sleep(latency)
    if fault:
        _before(fault, request)
    method = METHODS.get(request.method)
    if method is None:
        world.record.unknown.append(request.method)
        raise Refusal(400, "INPUT_METHOD_INVALID")
    world.asker = request.sign_in
    try:
        result = method(replace(request, fault=fault))
    finally:
        world.asker = None
    if fault and fault.kind is FaultKind.DROP_AFTER_ACCEPT:
        raise Silence(hang_up=True)
    return result


def _before(fault: Fault, request: Request) -> None:
    """The faults that apply before the method runs; other faults change what the method answers."""
    match fault.kind:
        case FaultKind.WAIT:
            raise Refusal(420, f"{_WAITS.get(fault.code, fault.code or 'FLOOD_WAIT')}_{int(fault.seconds)}")
        case FaultKind.ERROR:
            raise _error(fault.code)
        case FaultKind.FORBIDDEN:
            raise Refusal(400, "CHANNEL_PRIVATE")
        case FaultKind.DISCONNECT:
            raise Silence(hang_up=True)
        case FaultKind.TIMEOUT:
            raise Silence(hang_up=False)
        case FaultKind.SIGNED_OUT:
            request.sign_in.account = 0
            raise Refusal(401, "AUTH_KEY_UNREGISTERED")
        case FaultKind.BANNED:
            request.sign_in.account = 0
            raise Refusal(401, "USER_DEACTIVATED_BAN")


_WAITS = {"premium": "FLOOD_PREMIUM_WAIT", "slowmode": "SLOWMODE_WAIT", "takeout": "TAKEOUT_INIT_DELAY"}
_NAMES = {400: "BAD_REQUEST", 401: "AUTH_KEY_UNREGISTERED", 403: "CHAT_WRITE_FORBIDDEN", 406: "AUTH_KEY_DUPLICATED"}


def _error(code: str) -> Refusal:
    """Parses forms such as ``500``, ``CHANNEL_PRIVATE`` and ``403 CHAT_WRITE_FORBIDDEN``."""
    number, _, name = code.partition(" ") if code[:1].isdigit() else ("", "", code)
    if not number:
        return Refusal(400 if name else 500, name or "RPC_CALL_FAIL")
    return Refusal(int(number), name or _NAMES.get(int(number), "RPC_CALL_FAIL"))


def as_bytes(result: Answer) -> bytes:
    """An answer as it goes over the wire; lists and truth values have no class of their own in the schema."""
    if isinstance(result, bool):
        return struct.pack("<I", _TRUE if result else _FALSE)
    if isinstance(result, list):
        return struct.pack("<Ii", _VECTOR, len(result)) + b"".join(bytes(item) for item in result)
    return bytes(_checked(result))


def _checked(result: Any) -> TLObject:
    assert isinstance(result, TLObject), f"{result!r} cannot go over the wire"
    return result
