"""A Telegram account's calls: each verb is one request, so that the lane counts what Telegram counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from telethon.tl import functions, types

from tidegate.errors import OutcomeUnknown, PlatformError, Refused
from tidegate.platforms.telegram import paging, posting, translate
from tidegate.platforms.telegram.handles import is_precise, location_of
from tidegate.platforms.telegram.looking import Look
from tidegate.platforms.telegram.paging import DialogOffset, TopicOffset, in_batch
from tidegate.platforms.telegram.session import VaultSession
from tidegate.platforms.telegram.troubles import AlreadySent, HeldElsewhere, MediaGone
from tidegate.platforms.telegram.wire import Wire
from tidegate.port import (
    CannotAsk,
    ChannelId,
    ChannelPage,
    Cursor,
    Difference,
    FileHandle,
    FileKind,
    FilePage,
    HandleExpired,
    Head,
    Hint,
    Me,
    Message,
    MessageId,
    Page,
    Receipt,
    SendKey,
    TooLong,
    Topic,
    TopicId,
    TopicPage,
    UnknownChannel,
    Upload,
    UploadLost,
)
from tidegate.port.media import Media, MediaRef

PAGE = 100

_METHODS = {
    "channels": "messages.getDialogs",
    "me": "users.getUsers",
    "sign_out": "auth.logOut",
    "heads": "messages.getPeerDialogs",
    "topics": "messages.getForumTopics",
    "topics_by_id": "messages.getForumTopicsByID",
    "page": "messages.getHistory",
    "difference": "updates.getChannelDifference",
    "files": "messages.search",
    "messages": "channels.getMessages",
    "read_file": "upload.getFile",
    "save_part": "upload.saveFilePart",
    "save_big_part": "upload.saveBigFilePart",
    "send": "messages.sendMessage",
    "send_file": "messages.sendMedia",
    "copy_file": "messages.sendMedia",
    "register": "messages.uploadMedia",
    "post": "messages.sendMedia",
}
_FILTERS = {
    FileKind.DOCUMENT: types.InputMessagesFilterDocument(),
    FileKind.PHOTO: types.InputMessagesFilterPhotos(),
    FileKind.MEDIA: types.InputMessagesFilterPhotoVideo(),
}


class TelegramAccount:
    """One signed-in account (``port.Client`` and all abilities but buckets)."""

    media_lasts: timedelta | None = None
    """Telegram does not say how long a file that was uploaded may be posted; it tells when it no longer may."""
    recognises_for: timedelta | None = None
    """Telegram names no end to how long it recognises a random id."""

    def __init__(self, wire: Wire, session: VaultSession) -> None:
        self._wire = wire
        self._session = session
        self._held_by: dict[int, int] = {}  # files that Telegram keeps elsewhere than it said

    async def close(self) -> None:
        await self._wire.close()

    @property
    def last_look(self) -> Look:
        """Asked right before the bytes of a call leave, and before the connection is made again."""
        return self._wire.last_look

    @last_look.setter
    def last_look(self, look: Look) -> None:
        self._wire.last_look = look

    @property
    def signed_in_as(self) -> Me:
        return translate.me_of(self._wire.user)

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    async def hint(self) -> Hint:
        return await self._wire.hint()

    # Channels and topics

    async def channels(self, after: Cursor | None) -> ChannelPage:
        at = DialogOffset.parse(after)
        request = functions.messages.GetDialogsRequest(
            offset_date=at.date,
            offset_id=at.message,
            offset_peer=at.peer,
            limit=PAGE,
            hash=0,
            folder_id=at.folder,
        )
        answer = await self._wire.ask(request)
        await self._session.keep_channels()
        return ChannelPage(heads=translate.heads_of(answer), next=paging.after_dialogs(answer, at))

    async def me(self) -> Me:
        found = await self._wire.ask(functions.users.GetUsersRequest([types.InputUserSelf()]))
        return translate.me_of(found[0])

    async def sign_out(self) -> None:
        await self._wire.ask(functions.auth.LogOutRequest())

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]:
        """A channel this account was never told of cannot be asked for, and so is missing from the answer."""
        known = [one for one in channels if self._session.access_hash(one) is not None]
        if not known:
            raise UnknownChannel("This account has never been told of any of these channels.")
        peers = [types.InputDialogPeer(self._peer(one)) for one in in_batch(known)]
        return translate.heads_of(await self._wire.ask(functions.messages.GetPeerDialogsRequest(peers)))

    async def topics(self, channel: ChannelId, after: Cursor | None) -> TopicPage:
        at = TopicOffset.parse(after)
        request = functions.messages.GetForumTopicsRequest(
            peer=self._peer(channel),
            offset_date=at.date,
            offset_id=at.message,
            offset_topic=at.topic,
            limit=PAGE,
        )
        answer = await self._wire.ask(request)
        return TopicPage(topics=translate.topics_of(answer), next=paging.after_topics(answer, at))

    async def topics_by_id(self, channel: ChannelId, topics: Sequence[TopicId]) -> Mapping[TopicId, Topic]:
        request = functions.messages.GetForumTopicsByIDRequest(self._peer(channel), topics=list(in_batch(topics)))
        return {topic.id: topic for topic in translate.topics_of(await self._wire.ask(request))}

    # Messages

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> Page:
        request = functions.messages.GetHistoryRequest(
            peer=self._peer(channel),
            offset_id=before or 0,
            offset_date=None,
            add_offset=0,
            limit=PAGE,
            max_id=0,
            min_id=0,
            hash=0,
        )
        answer = await self._wire.ask(request)
        return Page(translate.messages_of(answer), reached_start=paging.is_end(answer, before=before, above=None))

    async def difference(self, channel: ChannelId, *, since: int) -> Difference | TooLong:
        if since < 1:
            raise CannotAsk("Telegram tells no difference from the very beginning; read the channel instead.")
        request = functions.updates.GetChannelDifferenceRequest(
            channel=self._channel(channel), filter=types.ChannelMessagesFilterEmpty(), pts=since, limit=PAGE
        )
        found = translate.difference_of(await self._wire.ask(request))
        if isinstance(found, Difference) and not found.final and found.news.upto == since:
            raise PlatformError(
                "Telegram's difference does not lead on: there is more, it says, and it ends where it began."
            )
        return found

    async def files(
        self,
        channel: ChannelId,
        *,
        kind: FileKind,
        before: MessageId | None,
        above: MessageId | None,
        topic: TopicId | None,
    ) -> FilePage:
        request = functions.messages.SearchRequest(
            peer=self._peer(channel),
            q="",
            filter=_FILTERS[kind],
            min_date=None,
            max_date=None,
            offset_id=before or 0,
            add_offset=0,
            limit=PAGE,
            max_id=0,
            min_id=above or 0,
            hash=0,
            top_msg_id=topic,
        )
        answer = await self._wire.ask(request)
        return FilePage(translate.messages_of(answer), ended=paging.is_end(answer, before=before, above=above))

    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]:
        wanted = [types.InputMessageID(number) for number in in_batch(ids)]
        answer = await self._wire.ask(functions.channels.GetMessagesRequest(self._channel(channel), id=wanted))
        names = translate.names_in(answer)
        return {MessageId(one.id): translate.message_of(one, names) for one in answer.messages}

    # Files

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes:
        location, centre = location_of(handle)
        request = functions.upload.GetFileRequest(location, offset, length, precise=is_precise(offset, length))
        try:
            answer = await self._wire.ask(request, centre=self._held_by.get(location.id, centre))
        except HeldElsewhere as elsewhere:  # the lane asks again, and then it is asked in the right place
            self._held_by[location.id] = elsewhere.centre
            raise
        if not isinstance(answer, types.upload.File):
            raise Refused("Telegram wants this file to be read from a delivery network, which was not asked for.")
        return bytes(answer.bytes)

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None:
        if not await self._wire.ask(posting.part_of(upload, part, content)):
            raise PlatformError(f"Telegram did not take part {part} of {upload.name}.")

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        number = posting.random_id(key)
        return await self._post(
            functions.messages.SendMessageRequest(self._peer(channel), text, random_id=number), number
        )

    async def send_file(
        self, channel: ChannelId, upload: Upload, *, caption: str, topic: TopicId | None, key: SendKey
    ) -> Receipt:
        return await self._send_media(channel, posting.uploaded(upload), caption, topic, key)

    async def copy_file(
        self, channel: ChannelId, handle: FileHandle, *, caption: str, topic: TopicId | None, key: SendKey
    ) -> Receipt:
        return await self._send_media(channel, posting.copied(handle), caption, topic, key)

    async def register(self, upload: Upload, media: Media) -> MediaRef:
        request = functions.messages.UploadMediaRequest(types.InputPeerSelf(), posting.to_keep(upload, media))
        return posting.kept(await self._wire.ask(request))

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        try:
            return await self._send_media(channel, posting.postable(ref), caption, None, key)
        except (HandleExpired, MediaGone) as lost:
            raise UploadLost(f"Telegram no longer takes {media.name} by what it gave for it: {lost}") from lost

    async def _send_media(
        self, channel: ChannelId, media: Any, caption: str, topic: TopicId | None, key: SendKey
    ) -> Receipt:
        number = posting.random_id(key)
        request = functions.messages.SendMediaRequest(
            self._peer(channel), media, caption, reply_to=posting.into(topic), random_id=number
        )
        return await self._post(request, number)

    async def _post(self, request: Any, number: int) -> Receipt:
        try:
            answer = await self._wire.ask(request)
        except AlreadySent:
            return Receipt(message=None, at=None)
        except PlatformError as problem:
            if type(problem) is PlatformError:  # Telegram's own trouble: it may have taken the message before it failed
                raise OutcomeUnknown(f"Nobody knows whether the message arrived: {problem}") from problem
            raise
        return posting.receipt_of(answer, number)

    # Names

    def _peer(self, channel: ChannelId) -> types.InputPeerChannel:
        return types.InputPeerChannel(channel, self._access(channel))

    def _channel(self, channel: ChannelId) -> types.InputChannel:
        return types.InputChannel(channel, self._access(channel))

    def _access(self, channel: ChannelId) -> int:
        access = self._session.access_hash(channel)
        if access is None:
            raise UnknownChannel(f"This account has never been told of channel {channel}; list its channels first.")
        return access
