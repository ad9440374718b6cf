"""The arguments of an API method, its refusals, and the look-up of what a request names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from telethon.tl import TLObject, types

from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.record import Session
from tidegate.loopback.telegram.world.world import Account, SignIn, World

Answer: TypeAlias = TLObject | list[Any] | bool
"""What goes back to the client: an object of the platform's schema, a list of them, or yes and no."""


class Refusal(Exception):
    """The platform's own error: a number and a name in capitals."""

    def __init__(self, code: int, name: str) -> None:
        super().__init__(name)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Request:
    """One call on its way to its method."""

    world: World
    sign_in: SignIn
    method: str
    query: Any  # an object of the schema; Telethon's classes are untyped
    centres: Mapping[int, str]  # each data centre's address
    session: Session
    fault: Fault | None = None

    @property
    def account(self) -> Account:
        """The calling account; refused when none is signed in with this key."""
        account = self.world.accounts.get(self.sign_in.account)
        if account is None:
            raise Refusal(401, "AUTH_KEY_UNREGISTERED")
        return account

    def struck(self, kind: FaultKind) -> Fault | None:
        """The fault of this kind that applies to this call."""
        return self.fault if self.fault and self.fault.kind is kind else None

    def channel(self, named: Any) -> Channel:
        """The channel a request names, when the calling account may read it and the access hash is its own."""
        inner = named.peer if isinstance(named, types.InputDialogPeer) else named
        if isinstance(inner, types.InputPeerUser | types.InputPeerChat | types.InputPeerSelf):
            return self._chat(inner)
        number, access = _named(named)
        channel = self.world.channels.get(number)
        if channel is None or access != self.world.token("channel", self.account.id, number):
            raise Refusal(400, "CHANNEL_INVALID")
        if self.account.id not in channel.members:
            raise Refusal(400, "CHANNEL_PRIVATE")
        return channel

    def _chat(self, peer: Any) -> Channel:
        """The calling account's view of a private chat; a small group needs no access hash."""
        account = self.account.id
        if isinstance(peer, types.InputPeerChat):
            view = self.world.chats.view(account, peer.chat_id, basic=True)
        else:
            number = account if isinstance(peer, types.InputPeerSelf) else peer.user_id
            known = number if number in self.world.accounts else self.world.token("user", account, number)
            right = isinstance(peer, types.InputPeerSelf) or peer.access_hash == known
            view = self.world.chats.view(account, number, basic=False) if right else None
        if view is None:
            raise Refusal(400, "PEER_ID_INVALID")
        return view


Method = Callable[[Request], Answer]


def _named(peer: Any) -> tuple[int, int]:
    if isinstance(peer, types.InputDialogPeer):
        peer = peer.peer
    if isinstance(peer, types.InputPeerChannel | types.InputChannel):
        return peer.channel_id, peer.access_hash
    raise Refusal(400, "PEER_ID_INVALID")


def channels_named(query: Any) -> Iterator[int]:
    """The ids of all channels a request names, right or wrong: faults may be meant for one of them."""
    for name in ("peer", "channel", "to_peer", "peers", "id"):
        value = getattr(query, name, None)
        for peer in value if isinstance(value, list) else [value]:
            inner = getattr(peer, "peer", peer)
            if isinstance(inner, types.InputPeerChannel | types.InputChannel):
                yield inner.channel_id


def method_name(query: Any) -> str:
    """A request's name as Telegram's own reference spells it: ``messages.getPeerDialogs``."""
    family = type(query).__module__.removeprefix("telethon.tl.functions").lstrip(".")
    name = type(query).__name__.removesuffix("Request")
    name = name[:1].lower() + name[1:]
    return f"{family}.{name}" if family else name
