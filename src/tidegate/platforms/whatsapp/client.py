"""A WhatsApp account's calls: each verb is one call of the child, so that the lane counts what WhatsApp counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import structlog

from tidegate.errors import PlatformError
from tidegate.frames import Frame
from tidegate.platforms.whatsapp.numbers import address_of
from tidegate.platforms.whatsapp.translate import addresses_of, heads_of, receipt_of
from tidegate.platforms.whatsapp.troubles import read_trouble, send_trouble
from tidegate.platforms.whatsapp.wire import Wire
from tidegate.port import ChannelId, ChannelPage, Cursor, Me, NoteConnect, Receipt, SendKey, UnknownChannel
from tidegate.port.media import Arrived, Media, MediaRef

log = structlog.get_logger()

HAND_ON_WITHIN = timedelta(milliseconds=500)
"""A send that takes longer than this from here to the library is not sent: the pace has no room for it (law 6)."""

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


class WhatsAppAccount:
    """One linked account (``port.Client``, and of the abilities those for sending to groups)."""

    media_lasts: timedelta | None = timedelta(days=7)
    """WhatsApp says nothing; after about a month files were reported to be gone."""

    def __init__(self, wire: Wire, me: Me, *, hand_on_within: timedelta = HAND_ON_WITHIN) -> None:
        self.signed_in_as = me
        self._wire = wire
        self._hand_on_within = hand_on_within
        self._addresses: dict[ChannelId, str] = {}

    async def close(self) -> None:
        await self._wire.close()

    @property
    def pid(self) -> int | None:
        """The process that the account's client lives in at the moment."""
        return self._wire.pid

    # Before a call

    @property
    def last_look(self) -> Callable[[], object]:
        return self._wire.last_look

    @last_look.setter
    def last_look(self, look: Callable[[], object]) -> None:
        self._wire.last_look = look

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    # Groups

    async def warm_up(self, note_connect: NoteConnect) -> None:
        """Let the library know the account's groups, in one call; else it asks for each before the first send to it."""
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
        return Me(int(found["number"]), found["name"] or found["number"])

    async def sign_out(self) -> None:
        await self._read("log_out", "unlink the account")

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self._send(channel, {"text": text}, b"", media=False)

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        described = {"kind": media.kind.value, "name": media.name, "mime": media.mime}
        return await self._send(channel, {"text": caption, "media": described}, ref, media=True)

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        answer = await self._read("upload", "take the file", {"kind": media.kind.value}, content)
        return MediaRef(answer.body)

    async def next_arrival(self) -> Arrived:
        return await self._wire.arrival()

    async def _send(self, channel: ChannelId, args: Mapping[str, Any], body: bytes, *, media: bool) -> Receipt:
        said = {"to": self._address(channel), **args}
        answer = await self._wire.ask("send", said, body, start_within=self._hand_on_within, within=_ANSWERED_WITHIN)
        if "error" in answer.head:
            raise send_trouble(answer.head["error"], media=media)
        return receipt_of(answer.head["ok"])

    async def _read(self, call: str, what: str, args: Mapping[str, Any] | None = None, body: bytes = b"") -> Frame:
        within = _UPLOADED_WITHIN if body else _ANSWERED_WITHIN
        answer = await self._wire.ask(call, args or {}, body, start_within=within, within=within)
        if "error" in answer.head:
            raise read_trouble(answer.head["error"], what)
        return answer

    def _address(self, channel: ChannelId) -> str:
        address = self._addresses.get(channel) or address_of(channel)
        if address is None:
            raise UnknownChannel("The account is not in this group, or was never told of it; list its channels again.")
        return address
