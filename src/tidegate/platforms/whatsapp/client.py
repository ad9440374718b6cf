"""A WhatsApp account's calls: each verb is one call of the child, so that the lane counts what WhatsApp counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any

import structlog

from tidegate.core.child_protocol import Frame
from tidegate.core.errors import PlatformError
from tidegate.core.ids import ChannelId, UserId
from tidegate.platforms.connection_hooks import ConnectionHooks
from tidegate.platforms.interface import ChannelPage, Cursor, Me, NoteConnect, Receipt, SendKey, UnknownChannel
from tidegate.platforms.interface.uploads import OWN_CHAT, Arrived, Media, MediaRef
from tidegate.platforms.whatsapp.child_supervisor import ChildSupervisor
from tidegate.platforms.whatsapp.errors import read_trouble, send_trouble
from tidegate.platforms.whatsapp.group_ids import PEOPLE, address_of
from tidegate.platforms.whatsapp.translation import addresses_of, heads_of, receipt_of

log = structlog.get_logger()

HAND_ON_WITHIN = timedelta(milliseconds=500)
"""A send that takes longer than this to reach the library is not sent: it would exceed the pace.

Invariant: claim-before-send.
"""

NamesUnder = Callable[[bytes], Awaitable[Collection[str]]]
"""Finds the messages that the library recorded under a secret before it sent them."""

_ANSWERED_WITHIN = timedelta(seconds=90)  # the library itself waits 75 s
_UPLOADED_WITHIN = timedelta(minutes=15)
_METHODS = {
    "channels": "GetJoinedGroups",
    "me": "GetMe",
    "sign_out": "Logout",
    "send": "SendMessage",
    "post": "SendMessage",
    "upload": "Upload",
}


class WhatsAppAccount(ConnectionHooks):
    """One linked account (``PlatformClient``, and the abilities for sending to groups)."""

    _connection: ChildSupervisor
    own_chat = OWN_CHAT
    media_lasts: timedelta | None = timedelta(days=7)
    """WhatsApp documents no limit; files were reported to be missing after about a month."""

    def __init__(
        self,
        connection: ChildSupervisor,
        me: Me,
        *,
        names_under: NamesUnder | None = None,
        hand_on_within: timedelta = HAND_ON_WITHIN,
    ) -> None:
        """*names_under* reads the library's record; a stand-in's record is requested from the child."""
        self.signed_in_as = me
        self._connection = connection
        self._names_under = names_under or self._ask_names
        self._hand_on_within = hand_on_within
        self._addresses: dict[ChannelId, str] = {}

    async def close(self) -> None:
        await self._connection.close()

    @property
    def pid(self) -> int | None:
        """The current process of the account's client."""
        return self._connection.pid

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    # Groups

    async def warm_up(self, note_connect: NoteConnect) -> None:
        """Load the account's groups into the library, in one call; otherwise it asks for each before its first send."""
        try:
            await self.channels(None)
            note_connect("GetJoinedGroups")
        except PlatformError as problem:
            log.warning("whatsapp.groups_not_listed", problem=str(problem))

    async def channels(self, after: Cursor | None) -> ChannelPage:
        """All groups at once; there is no second page."""
        answer = await self._read("groups", "list the groups")
        groups = answer.head["ok"]["groups"]
        self._addresses |= addresses_of(groups)
        return ChannelPage(heads_of(groups, str(self.signed_in_as.id)), next=None)

    async def me(self) -> Me:
        found = (await self._read("me", "say who the account is")).head["ok"]
        return Me(UserId(int(found["number"])), found["name"] or found["number"])

    async def sign_out(self) -> None:
        await self._read("log_out", "unlink the account")

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self._send(channel, {"text": text}, b"", key, media=False)

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        described = {"kind": media.kind.value, "name": media.name, "mime": media.mime}
        return await self._send(channel, {"text": caption, "media": described}, ref, key, media=True)

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        answer = await self._read("upload", "take the file", {"kind": media.kind.value}, content)
        return MediaRef(answer.body)

    async def next_arrival(self) -> Arrived:
        return await self._connection.arrival()

    async def names_of(self, key: SendKey) -> Collection[str]:
        return await self._names_under(_secret_of(key))

    async def _ask_names(self, secret: bytes) -> Collection[str]:
        names: list[str] = (await self._read("names", "look up a message", {"secret": secret.hex()})).head["ok"][
            "names"
        ]
        return names

    async def _send(
        self, channel: ChannelId, args: Mapping[str, Any], body: bytes, key: SendKey, *, media: bool
    ) -> Receipt:
        said = {"to": self._address(channel), "secret": _secret_of(key).hex(), **args}
        answer = await self._connection.ask(
            "send", said, body, start_within=self._hand_on_within, within=_ANSWERED_WITHIN
        )
        if "error" in answer.head:
            raise send_trouble(answer.head["error"], media=media)
        return receipt_of(answer.head["ok"])

    async def _read(self, call: str, what: str, args: Mapping[str, Any] | None = None, body: bytes = b"") -> Frame:
        within = _UPLOADED_WITHIN if body else _ANSWERED_WITHIN
        answer = await self._connection.ask(call, args or {}, body, start_within=within, within=within)
        if "error" in answer.head:
            raise read_trouble(answer.head["error"], what)
        return answer

    def _address(self, channel: ChannelId) -> str:
        if channel == OWN_CHAT:
            return f"{self.signed_in_as.id}@{PEOPLE}"
        address = self._addresses.get(channel) or address_of(channel)
        if address is None:
            raise UnknownChannel("The account is not in this group, or does not know it yet; list its channels again.")
        return address


def _secret_of(key: SendKey) -> bytes:
    """The message secret of a send. WhatsApp accepts no name of ours; the library records its own with this secret."""
    return sha256(b"tidegate message secret " + str(key).encode()).digest()
