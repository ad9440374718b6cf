"""A Telegram account's calls: each verb is one request, so that the lane counts what Telegram counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from telethon.tl import functions, types
from telethon.utils import resolve_id

from tidegate.core.errors import PlatformError, ServerTrouble
from tidegate.core.ids import ChannelId, FileId, MessageId, TopicId
from tidegate.platforms import interface
from tidegate.platforms.connection_hooks import ConnectionHooks
from tidegate.platforms.interface import FileHandle, FileKind, Receipt, SendKey, Upload
from tidegate.platforms.interface.uploads import OWN_CHAT, Media, MediaRef
from tidegate.platforms.telegram import page_cursors, send_requests, translation
from tidegate.platforms.telegram.chats.box_updates import difference_of_box, state_of, with_authors
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers, chat_peer
from tidegate.platforms.telegram.chats.private_chats import access_hashes, chat_heads
from tidegate.platforms.telegram.connection import TelegramConnection
from tidegate.platforms.telegram.content.avatars import AvatarPlace, avatar_place
from tidegate.platforms.telegram.content.people import people_in
from tidegate.platforms.telegram.errors import AlreadySent, MediaGone
from tidegate.platforms.telegram.files import file_reads
from tidegate.platforms.telegram.files.file_handles import document_file, location_of
from tidegate.platforms.telegram.files.file_reads import FileReads, LocatedFile
from tidegate.platforms.telegram.files.further_files import emoji_number
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
    "box_state": "updates.getState",
    "box_difference": "updates.getDifference",
    "files": "messages.search",
    "messages": "channels.getMessages",
    "chat_messages": "messages.getMessages",
    "description": "channels.getFullChannel",
    "emoji_files": "messages.getCustomEmojiDocuments",
    **file_reads.METHODS,
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


_LEADS_NOWHERE = "Telegram's difference does not lead on: there is more, it says, and it ends where it began."


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
        self._files = FileReads(connection)

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
        for chat, access in access_hashes(answer, self._chats).items():
            self._session.learn_chat(chat, access)
        await self._session.keep_channels()
        return interface.ChannelPage(heads=self._heads_of(answer), next=page_cursors.after_dialogs(answer, at))

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
        answer = await self._connection.ask(functions.messages.GetPeerDialogsRequest(peers))
        self._connection.compare_box(answer.state.pts)
        return self._heads_of(answer)

    def _heads_of(self, answer: Any) -> dict[ChannelId, interface.Head]:
        return {**translation.heads_of(answer), **chat_heads(answer, self._chats)}

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
        with_authors(answer, self._chats)
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
            raise PlatformError(_LEADS_NOWHERE)
        return found

    # Private chats: one box for all of them

    def known_box(self) -> int | None:
        return self._connection.box

    def is_in_box(self, channel: ChannelId) -> bool:
        return chat_peer(channel) is not None

    async def box_state(self) -> interface.BoxState:
        state = state_of(await self._connection.ask(functions.updates.GetStateRequest()))
        self._connection.box = state.changes
        return state

    async def box_difference(self, since: interface.BoxState) -> interface.BoxDifference | interface.BoxTooLong:
        request = functions.updates.GetDifferenceRequest(pts=since.changes, date=since.at, qts=since.events)
        found = difference_of_box(await self._connection.ask(request), since, self._chats)
        if isinstance(found, interface.BoxDifference) and found.final:
            self._connection.box = found.state.changes
        elif found.state.changes == since.changes:
            raise PlatformError(_LEADS_NOWHERE)
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
        if chat_peer(channel) is not None:
            answer = await self._connection.ask(functions.messages.GetMessagesRequest(id=wanted))
            with_authors(answer, self._chats)
        else:
            request = functions.channels.GetMessagesRequest(self._channel(channel), id=wanted)
            answer = await self._connection.ask(request)
        people = people_in(answer)
        return {MessageId(one.id): translation.message_of(one, people) for one in answer.messages}

    async def description(self, channel: ChannelId) -> str:
        if chat_peer(channel) is not None:
            raise interface.CannotAsk("A private chat has no description.")
        answer = await self._connection.ask(functions.channels.GetFullChannelRequest(self._channel(channel)))
        return str(getattr(answer.full_chat, "about", None) or "")

    # Files

    async def emoji_files(self, numbers: Sequence[FileId]) -> Mapping[FileId, interface.File]:
        documents: list[int] = [emoji_number(one) for one in numbers]
        answer = await self._connection.ask(functions.messages.GetCustomEmojiDocumentsRequest(documents))
        found = (document_file(one) for one in answer if isinstance(one, types.Document))
        return {emoji_number(file.id): replace(file, id=emoji_number(file.id)) for file in found}

    def file_step(self, handle: FileHandle, *, offset: int, length: int) -> interface.FileStep:
        return self._files.step(handle, lambda: self._located(handle), offset, length)

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes | None:
        return await self.file_step(handle, offset=offset, length=length).call()

    def _located(self, handle: FileHandle) -> LocatedFile:
        avatar = avatar_place(handle)
        if avatar is not None:
            location, centre = self._avatar_location(avatar)
            return LocatedFile(location, centre, avatar.photo)
        found, centre = location_of(handle)
        return LocatedFile(found, centre, getattr(found, "id", 0))

    def _avatar_location(self, avatar: AvatarPlace) -> tuple[types.InputPeerPhotoFileLocation, int]:
        """A picture by whom it shows: a chat itself, or the author of one of its messages."""
        where = self._peer(self._chat_number(avatar.seen_in))
        same = avatar.owner == avatar.seen_in
        peer = where if same else types.InputPeerUserFromMessage(where, avatar.message, avatar.owner)
        if avatar.owner == self._chats.me:
            peer = types.InputPeerSelf()
        return types.InputPeerPhotoFileLocation(peer, avatar.photo, big=True), avatar.centre

    def _chat_number(self, marked: int) -> ChannelId:
        """The number of a chat or channel by Telegram's marked one."""
        plain, kind = resolve_id(marked)
        number = self._chats.of_any(kind(plain))
        if number is None:
            raise interface.CannotAsk(f"Telegram has no chat {marked}.")
        return number

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None:
        if not await self._connection.ask(send_requests.part_of(upload, part, content)):
            raise PlatformError(f"Telegram did not take part {part} of {upload.name}.")

    # Sends

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self._post(functions.messages.SendMessageRequest(self._peer(channel), text), key)

    async def send_file(self, channel: ChannelId, upload: Upload, *, key: SendKey) -> Receipt:
        media = send_requests.uploaded(upload)
        return await self._post(functions.messages.SendMediaRequest(self._peer(channel), media, ""), key)

    async def copy_file(self, channel: ChannelId, handle: FileHandle, *, key: SendKey) -> Receipt:
        media = send_requests.copied(handle)
        return await self._post(functions.messages.SendMediaRequest(self._peer(channel), media, ""), key)

    async def register(self, upload: Upload, media: Media) -> MediaRef:
        request = functions.messages.UploadMediaRequest(types.InputPeerSelf(), send_requests.to_keep(upload, media))
        return send_requests.kept(await self._connection.ask(request))

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        try:
            kept = send_requests.postable(ref)
            return await self._post(functions.messages.SendMediaRequest(self._peer(channel), kept, caption), key)
        except (interface.HandleExpired, MediaGone) as lost:
            raise interface.UploadLost(
                f"Telegram no longer takes {media.name} by what it gave for it: {lost}"
            ) from lost

    async def _post(self, request: Any, key: SendKey) -> Receipt:
        """Send a request that posts a message, under the number by which Telegram recognises a repeat."""
        request.random_id = send_requests.random_id(key)
        try:
            answer = await self._connection.ask(request)
        except AlreadySent:
            return Receipt(message=None, at=None)
        except PlatformError as problem:
            if type(problem) is PlatformError:  # an error on Telegram's side: it may have accepted the message
                raise ServerTrouble(f"Nobody knows whether the message arrived: {problem}") from problem
            raise
        return send_requests.receipt_of(answer, request.random_id)

    # Names

    def _peer(self, channel: ChannelId) -> Any:
        chat = chat_peer(channel)
        if channel == OWN_CHAT or (chat is not None and chat == (self._chats.me, False)):  # "Saved Messages"
            return types.InputPeerSelf()
        if chat is not None:
            access = self._access(channel)
            return types.InputPeerChat(chat.number) if chat.is_group else types.InputPeerUser(chat.number, access)
        return types.InputPeerChannel(channel, self._access(channel))

    @property
    def _chats(self) -> ChatNumbers:
        return self._connection.chats

    def _channel(self, channel: ChannelId) -> types.InputChannel:
        if chat_peer(channel) is not None:
            raise interface.CannotAsk("Telegram answers this for channels only, not for private chats.")
        return types.InputChannel(channel, self._access(channel))

    def _access(self, channel: ChannelId) -> int:
        access = self._session.access_hash(channel)
        if access is None:
            raise interface.UnknownChannel(f"This account does not know channel {channel}; list its channels first.")
        return access
