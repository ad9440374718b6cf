"""Which messages a filter of a search lets through, and which have the words."""

from __future__ import annotations

from collections.abc import Callable

from telethon.tl import types

from tidegate.loopback.telegram.world.channels import Message
from tidegate.loopback.telegram.world.content.media_files import file_kind, held_files
from tidegate.loopback.telegram.world.file_content import FileKind

_PLACES = (types.MessageMediaGeo, types.MessageMediaGeoLive, types.MessageMediaVenue)
_LINKS = (types.MessageEntityUrl, types.MessageEntityTextUrl, types.MessageEntityEmail)
_CALLS = (types.MessageActionPhoneCall, types.MessageActionConferenceCall)


def shown_as(message: Message) -> FileKind | None:
    """How the file of a message is shown; None when it has none of its own."""
    if message.file:
        return message.file.kind
    media = message.fields.get("media")
    if isinstance(media, types.MessageMediaPhoto):
        return FileKind.PHOTO
    if isinstance(media, types.MessageMediaDocument) and isinstance(media.document, types.Document):
        return file_kind(media.document)
    return None


def holds_words(message: Message, words: str) -> bool:
    """Whether the words are in its text or in the names of its files, whatever their case."""
    names = [message.file.name] if message.file else []
    for document in held_files(message.fields.get("media")):
        attributes = getattr(document, "attributes", [])
        names += [held.file_name for held in attributes if isinstance(held, types.DocumentAttributeFilename)]
    return words.casefold() in " ".join([message.text, *names]).casefold()


def _files(*kinds: FileKind) -> Callable[[Message], bool]:
    return lambda message: shown_as(message) in kinds


def _media(*kinds: type) -> Callable[[Message], bool]:
    return lambda message: isinstance(message.fields.get("media"), kinds)


def _action(*kinds: type) -> Callable[[Message], bool]:
    return lambda message: isinstance(message.fields.get("action"), kinds)


def _has_link(message: Message) -> bool:
    return any(isinstance(entity, _LINKS) for entity in message.fields.get("entities", ()))


FILTERS: dict[type, Callable[[Message], bool]] = {
    types.InputMessagesFilterEmpty: lambda _message: True,
    types.InputMessagesFilterDocument: _files(FileKind.DOCUMENT),
    types.InputMessagesFilterPhotos: _files(FileKind.PHOTO),
    types.InputMessagesFilterVideo: _files(FileKind.VIDEO),
    types.InputMessagesFilterPhotoVideo: _files(FileKind.PHOTO, FileKind.VIDEO),
    types.InputMessagesFilterMusic: _files(FileKind.AUDIO),
    types.InputMessagesFilterVoice: _files(FileKind.VOICE),
    types.InputMessagesFilterRoundVideo: _files(FileKind.ROUND),
    types.InputMessagesFilterRoundVoice: _files(FileKind.ROUND, FileKind.VOICE),
    types.InputMessagesFilterGif: _files(FileKind.ANIMATION),
    types.InputMessagesFilterUrl: _has_link,
    types.InputMessagesFilterGeo: _media(*_PLACES),
    types.InputMessagesFilterPoll: _media(types.MessageMediaPoll),
    types.InputMessagesFilterContacts: _media(types.MessageMediaContact),
    types.InputMessagesFilterPinned: lambda message: bool(message.fields.get("pinned")),
    types.InputMessagesFilterChatPhotos: _action(types.MessageActionChatEditPhoto),
    types.InputMessagesFilterPhoneCalls: _action(*_CALLS),
}
