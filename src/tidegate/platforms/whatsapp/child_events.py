"""neonize's events as messages for the parent; only a child uses this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neonize.aioze import events as theirs
from neonize.aioze.client import NewAClient
from neonize.proto import Neonize_pb2 as wire
from neonize.utils.jid import Jid2String, JIDToNonAD, build_jid

Tell = Callable[[Mapping[str, Any]], None]

_ARRIVED = (wire.Receipt.DELIVERED, wire.Receipt.READ, wire.Receipt.PLAYED)
_REMEMBERED = 20_000
"""How many arrived messages are remembered: in a group every member's device confirms, and one is enough."""


def listen(client: NewAClient, tell: Tell) -> None:
    """Pass on the relevant events; the library forwards only kinds that are requested before it connects."""
    arrivals = _Arrivals(tell)

    async def on_qr(_: NewAClient, code: bytes) -> None:
        tell({"event": "qr", "text": code.decode()})

    async def on_paired(_: NewAClient, event: wire.PairStatus) -> None:
        if event.Status == wire.PairStatus.SUCCESS:
            tell({"event": "paired", "device": Jid2String(event.ID)})
        else:
            tell({"event": "not_paired", "error": event.Error})

    async def on_connected(_: NewAClient, __: wire.Connected) -> None:
        tell({"event": "connected"})

    async def on_disconnected(_: NewAClient, __: wire.Disconnected) -> None:
        tell({"event": "disconnected"})

    async def on_logged_out(_: NewAClient, event: wire.LoggedOut) -> None:
        tell({"event": "logged_out", "reason": wire.ConnectFailureReason.Name(event.Reason)})

    async def on_replaced(_: NewAClient, __: wire.StreamReplaced) -> None:
        tell({"event": "replaced"})

    async def on_banned(_: NewAClient, event: wire.TemporaryBan) -> None:
        tell({"event": "banned", "why": wire.TemporaryBan.TempBanReason.Name(event.Code), "seconds": event.Expire})

    async def on_failure(_: NewAClient, event: wire.ConnectFailure) -> None:
        reason = wire.ConnectFailureReason.Name(event.Reason)
        tell({"event": "connect_failure", "reason": reason, "message": event.Message})

    async def on_outdated(_: NewAClient, __: wire.ClientOutdated) -> None:
        tell({"event": "outdated"})

    async def on_receipt(_: NewAClient, event: wire.Receipt) -> None:
        arrivals.take(event)

    client.event.qr(on_qr)
    client.event(theirs.PairStatusEv)(on_paired)
    client.event(theirs.ConnectedEv)(on_connected)
    client.event(theirs.DisconnectedEv)(on_disconnected)
    client.event(theirs.LoggedOutEv)(on_logged_out)
    client.event(theirs.StreamReplacedEv)(on_replaced)
    client.event(theirs.TemporaryBanEv)(on_banned)
    client.event(theirs.ConnectFailureEv)(on_failure)
    client.event(theirs.ClientOutdatedEv)(on_outdated)
    client.event(theirs.ReceiptEv)(on_receipt)


def written(address: str) -> wire.JID:
    """An address in the library's format, with the device number in it."""
    user, _, server = address.partition("@")
    name, _, device = user.partition(":")
    jid = build_jid(name, server)
    jid.Device = int(device or 0)
    return jid


class _Arrivals:
    """Reports each arrived message once."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._reported: dict[str, None] = {}

    def take(self, receipt: wire.Receipt) -> None:
        source = receipt.MessageSource
        if receipt.Type not in _ARRIVED or source.IsFromMe:
            return
        for message in receipt.MessageIDs:
            if message not in self._reported:
                self._remember(message)
                chat = Jid2String(JIDToNonAD(source.Chat))
                self._tell({"event": "receipt", "chat": chat, "message": message, "at": receipt.Timestamp})

    def _remember(self, message: str) -> None:
        self._reported[message] = None
        if len(self._reported) > _REMEMBERED:
            del self._reported[next(iter(self._reported))]
