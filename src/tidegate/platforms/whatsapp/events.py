"""What neonize tells by itself, in plain words for the parent; only a child uses this."""

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
"""How many messages are remembered as arrived: in a group everybody's device says so, and once is enough."""


def listen(client: NewAClient, tell: Tell) -> None:
    """Pass on what matters; the library forwards only kinds that are asked for before it connects."""
    arrivals = _Arrivals(tell)

    async def on_qr(_: NewAClient, code: bytes) -> None:
        tell({"event": "qr", "text": code.decode()})

    async def on_paired(_: NewAClient, told: wire.PairStatus) -> None:
        if told.Status == wire.PairStatus.SUCCESS:
            tell({"event": "paired", "device": Jid2String(told.ID)})
        else:
            tell({"event": "not_paired", "error": told.Error})

    async def on_connected(_: NewAClient, __: wire.Connected) -> None:
        tell({"event": "connected"})

    async def on_disconnected(_: NewAClient, __: wire.Disconnected) -> None:
        tell({"event": "disconnected"})

    async def on_logged_out(_: NewAClient, told: wire.LoggedOut) -> None:
        tell({"event": "logged_out", "reason": wire.ConnectFailureReason.Name(told.Reason)})

    async def on_replaced(_: NewAClient, __: wire.StreamReplaced) -> None:
        tell({"event": "replaced"})

    async def on_banned(_: NewAClient, told: wire.TemporaryBan) -> None:
        tell({"event": "banned", "why": wire.TemporaryBan.TempBanReason.Name(told.Code), "seconds": told.Expire})

    async def on_failure(_: NewAClient, told: wire.ConnectFailure) -> None:
        reason = wire.ConnectFailureReason.Name(told.Reason)
        tell({"event": "connect_failure", "reason": reason, "message": told.Message})

    async def on_outdated(_: NewAClient, __: wire.ClientOutdated) -> None:
        tell({"event": "outdated"})

    async def on_receipt(_: NewAClient, told: wire.Receipt) -> None:
        arrivals.take(told)

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
    """An address as the library takes it, with the number of the device in it."""
    user, _, server = address.partition("@")
    name, _, device = user.partition(":")
    jid = build_jid(name, server)
    jid.Device = int(device or 0)
    return jid


class _Arrivals:
    """Tells once of each message that reached anybody."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told: dict[str, None] = {}

    def take(self, receipt: wire.Receipt) -> None:
        source = receipt.MessageSource
        if receipt.Type not in _ARRIVED or source.IsFromMe:
            return
        for message in receipt.MessageIDs:
            if message not in self._told:
                self._remember(message)
                chat = Jid2String(JIDToNonAD(source.Chat))
                self._tell({"event": "receipt", "chat": chat, "message": message, "at": receipt.Timestamp})

    def _remember(self, message: str) -> None:
        self._told[message] = None
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
