"""The last check before bytes are sent (``ChecksBeforeSend``): Telethon queues a call, and packs and writes it later.

A call that may no longer be sent fails for its caller; the connection stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from telethon.extensions.messagepacker import MessagePacker
from telethon.network import MTProtoSender
from telethon.tl import TLRequest, functions

from tidegate.core.errors import TidegateError

PreSendCheck = Callable[[], object]
"""Raises when no call may be made now."""


class _Packer(MessagePacker):  # type: ignore[misc]  # Telethon is untyped
    """Telethon's queue, which also knows the content of each packet until it is sent."""

    def __init__(self, state: Any, loggers: Any) -> None:
        super().__init__(state, loggers)
        self.leaving: deque[list[Any]] = deque()

    async def get(self) -> tuple[Any, Any]:
        batch, packet = await super().get()
        if packet:
            self.leaving.append(batch)
        return batch, packet


def watch(sender: MTProtoSender, check: PreSendCheck) -> None:
    """Call *check* right before each packet of *sender* is written; call this before the sender connects."""
    packer = sender._send_queue = _Packer(sender._state, loggers=sender._loggers)
    connect = sender.connect

    async def connect_watched(connection: Any) -> Any:
        packer.leaving.clear()
        write = connection._send

        def send(packet: bytes) -> None:
            if _may_leave(packer.leaving.popleft() if packer.leaving else None, check, sender._pending_state):
                write(packet)

        connection._send = send
        return await connect(connection)

    sender.connect = connect_watched


def _may_leave(batch: list[Any] | None, check: PreSendCheck, pending: dict[int, Any]) -> bool:
    """Whether a packet may be sent; one without a batch is a step of the key exchange, which has no caller to fail."""
    calls = [state for state in batch or () if _is_call(state.request)]
    if batch is not None and not calls:
        return True  # acknowledgements and heartbeats of the connection
    try:
        check()
    except TidegateError as problem:
        if batch is None:
            raise ConnectionError(str(problem)) from problem
        for state in calls:
            pending.pop(state.msg_id, None)
            if not state.future.done():
                state.future.set_exception(problem)
        return False
    return True


def _is_call(request: Any) -> bool:
    return isinstance(request, TLRequest) and not isinstance(request, functions.PingRequest)
