"""A Telegram account's calls: each verb is one request, so that the lane counts what Telegram counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from telethon.tl import functions, types

from tidegate.core.errors import PlatformError, Refused, ServerTrouble
from tidegate.core.ids import ChannelId, FileId, MessageId, TopicId
from tidegate.platforms import interface
from tidegate.platforms.connection_hooks import ConnectionHooks
from tidegate.platforms.interface import FileHandle, FileKind, Receipt, SendKey, Upload
from tidegate.platforms.interface.uploads import OWN_CHAT, Media, MediaRef
from tidegate.platforms.telegram import page_cursors, send_requests, translation
from tidegate.platforms.telegram.connection import TelegramConnection
from tidegate.platforms.telegram.content.people import people_in
from tidegate.platforms.telegram.errors import AlreadySent, HeldElsewhere, MediaGone
from tidegate.platforms.telegram.file_handles import document_file, is_precise, location_of
from tidegate.platforms.telegram.further_files import WEB_HANDLE
from tidegate.platforms.telegram.page_cursors import DialogOffset, TopicOffset, in_batch
from tidegate.platforms.telegram.session import VaultSession

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
    "description": "channels.getFullChannel",
    "emoji_files": "messages.getCustomEmojiDocuments",
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


class TelegramAccount(ConnectionHooks):
    """One signed-in account (``PlatformClient`` and most abilities)."""

    _connection: TelegramConnection
    own_chat = OWN_CHAT
    media_lasts: timedelta | None = None
    """Telegram does not say how long an uploaded file may be posted; later it answers with an error."""
    recognises_for: timedelta | None = None
    """Telegram documents no limit for how long it recognises a random id."""

    def __init__(self, connection: TelegramConnection, session: VaultSession) -> None:
        self._connection = connection
        self._session = session
        self._held_by: dict[int, int] = {}  # files that are in another data centre than Telegram said

    async def close(self) -> None:
        await self._connection.close()

    @property
    def signed_in_as(self) -> interface.Me:
        return translation.me_of(self._connection.user)

    def method(self, verb: str) -> str:
        return _METHODS[verb]

    async def hints(self, *, most: int) -> Sequence[interface.UpdateHint]:
        return await self._connection.updates.take(most, self._connection.require_open)

    # Channels and topics

    async def channels(self, after: interface.Cursor | None) -> interface.ChannelPage:
        at = DialogOffset.parse(after)
        request = functions.messages.GetDialogsRequest(
            offset_date=at.date,
            offset_id=at.message,
            offset_peer=at.peer,
            limit=PAGE,
            hash=0,
            folder_id=at.folder,
        )
        answer = await self._connection.ask(request)
        await self._session.keep_channels()
        return interface.ChannelPage(heads=translation.heads_of(answer), next=page_cursors.after_dialogs(answer, at))

    async def me(self) -> interface.Me:
        found = await self._connection.ask(functions.users.GetUsersRequest([types.InputUserSelf()]))
        return translation.me_of(found[0])

    async def sign_out(self) -> None:
        await self._connection.ask(functions.auth.LogOutRequest())

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, interface.Head]:
        """A channel without an access hash cannot be requested, so it is missing from the answer."""
        known = [one for one in channels if self._session.access_hash(one) is not None]
        if not known:
            raise interface.UnknownChannel("This account knows none of these channels; list its channels first.")
        peers = [types.InputDialogPeer(self._peer(one)) for one in in_batch(known)]
        return translation.heads_of(await self._connection.ask(functions.messages.GetPeerDialogsRequest(peers)))

    async def topics(self, channel: ChannelId, after: interface.Cursor | None) -> interface.TopicPage:
        at = TopicOffset.parse(after)
        request = functions.messages.GetForumTopicsRequest(
            peer=self._peer(channel),
            offset_date=at.date,
            offset_id=at.message,
            offset_topic=at.topic,
            limit=PAGE,
        )
        answer = await self._connection.ask(request)
        return interface.TopicPage(topics=translation.topics_of(answer), next=page_cursors.after_topics(answer, at))

    async def topics_by_id(self, channel: ChannelId, topics: Sequence[TopicId]) -> Mapping[TopicId, interface.Topic]:
        request = functions.messages.GetForumTopicsByIDRequest(self._peer(channel), topics=list(in_batch(topics)))
        return {topic.id: topic for topic in translation.topics_of(await self._connection.ask(request))}

    # Messages

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> interface.HistoryPage:
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
        answer = await self._connection.ask(request)
        return interface.HistoryPage(
            translation.messages_of(answer),
            reached_start=page_cursors.is_end(answer, before=before, above=None),
            total=getattr(answer, "count", None),
        )

    async def difference(self, channel: ChannelId, *, since: int) -> interface.Difference | interface.TooLong:
        if since < 1:
            raise interface.CannotAsk("Telegram gives no difference from the very beginning; read the channel instead.")
        request = functions.updates.GetChannelDifferenceRequest(
            channel=self._channel(channel), filter=types.ChannelMessagesFilterEmpty(), pts=since, limit=PAGE
        )
        found = translation.difference_of(await self._connection.ask(request))
        if isinstance(found, interface.Difference) and not found.final and found.updates.upto == since:
            raise PlatformError(
                "Telegram's difference does not lead on: there is more, it says, and it ends where it began."
            )
        return found

    async def files(self, channel: ChannelId, search: interface.FileSearch) -> interface.FilePage:
        request = functions.messages.SearchRequest(
            peer=self._peer(channel),
            q="",
            filter=_FILTERS[search.kind],
            min_date=None,
            max_date=None,
            offset_id=search.before or 0,
            add_offset=0,
            limit=PAGE,
            max_id=0,
            min_id=search.above or 0,
            hash=0,
            top_msg_id=search.topic,
        )
        answer = await self._connection.ask(request)
        return interface.FilePage(
            translation.messages_of(answer),
            ended=page_cursors.is_end(answer, before=search.before, above=search.above),
            total=getattr(answer, "count", None),
        )

    async def messages(
        self, channel: ChannelId, ids: Sequence[MessageId]
    ) -> Mapping[MessageId, interface.Message | None]:
        wanted = [types.InputMessageID(number) for number in in_batch(ids)]
        answer = await self._connection.ask(functions.channels.GetMessagesRequest(self._channel(channel), id=wanted))
        people = people_in(answer)
        return {MessageId(one.id): translation.message_of(one, people) for one in answer.messages}

    async def description(self, channel: ChannelId) -> str:
        answer = await self._connection.ask(functions.channels.GetFullChannelRequest(self._channel(channel)))
        return str(getattr(answer.full_chat, "about", None) or "")

    # Files

    async def emoji_files(self, numbers: Sequence[FileId]) -> Mapping[FileId, interface.File]:
        answer = await self._connection.ask(functions.messages.GetCustomEmojiDocumentsRequest(list(numbers)))
        found = (document_file(one) for one in answer if isinstance(one, types.Document))
        return {file.id: file for file in found}

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes:
        if handle == WEB_HANDLE:
            raise interface.CannotAsk("The picture is on another site, behind a call of Telegram's that is not made.")
        location, centre = location_of(handle)
        request = functions.upload.GetFileRequest(location, offset, length, precise=is_precise(offset, length))
        try:
            answer = await self._connection.ask(request, centre=self._held_by.get(location.id, centre))
        except HeldElsewhere as elsewhere:  # the lane repeats the call, which then goes to the right data centre
            self._held_by[location.id] = elsewhere.centre
            raise
        if not isinstance(answer, types.upload.File):
            raise Refused(
                "Telegram wants this file to be read from its delivery network, which Tidegate does not use; "
                "it is tried again later."
            )
        return bytes(answer.bytes)

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None:
        if not await self._connection.ask(send_requests.part_of(upload, part, content)):
            raise PlatformError(f"Telegram did not take part {part} of {upload.name}.")

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        number = send_requests.random_id(key)
        return await self._post(
            functions.messages.SendMessageRequest(self._peer(channel), text, random_id=number), number
        )

    async def send_file(self, channel: ChannelId, upload: Upload, *, key: SendKey) -> Receipt:
        return await self._send_media(channel, send_requests.uploaded(upload), "", key)

    async def copy_file(self, channel: ChannelId, handle: FileHandle, *, key: SendKey) -> Receipt:
        return await self._send_media(channel, send_requests.copied(handle), "", key)

    async def register(self, upload: Upload, media: Media) -> MediaRef:
        request = functions.messages.UploadMediaRequest(types.InputPeerSelf(), send_requests.to_keep(upload, media))
        return send_requests.kept(await self._connection.ask(request))

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        try:
            return await self._send_media(channel, send_requests.postable(ref), caption, key)
        except (interface.HandleExpired, MediaGone) as lost:
            raise interface.UploadLost(
                f"Telegram no longer takes {media.name} by what it gave for it: {lost}"
            ) from lost

    async def _send_media(self, channel: ChannelId, media: Any, caption: str, key: SendKey) -> Receipt:
        number = send_requests.random_id(key)
        request = functions.messages.SendMediaRequest(self._peer(channel), media, caption, random_id=number)
        return await self._post(request, number)

    async def _post(self, request: Any, number: int) -> Receipt:
        try:
            answer = await self._connection.ask(request)
        except AlreadySent:
            return Receipt(message=None, at=None)
        except PlatformError as problem:
            if type(problem) is PlatformError:  # an error on Telegram's side: it may have accepted the message
                raise ServerTrouble(f"Nobody knows whether the message arrived: {problem}") from problem
            raise
        return send_requests.receipt_of(answer, number)

    # Names

    def _peer(self, channel: ChannelId) -> types.InputPeerChannel | types.InputPeerSelf:
        if channel == OWN_CHAT:  # "Saved Messages"
            return types.InputPeerSelf()
        return types.InputPeerChannel(channel, self._access(channel))

    def _channel(self, channel: ChannelId) -> types.InputChannel:
        return types.InputChannel(channel, self._access(channel))

    def _access(self, channel: ChannelId) -> int:
        access = self._session.access_hash(channel)
        if access is None:
            raise interface.UnknownChannel(f"This account does not know channel {channel}; list its channels first.")
        return access
