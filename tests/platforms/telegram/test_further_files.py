"""Files wherever a Telegram message shows them."""

from __future__ import annotations

from typing import Any

import pytest
from telethon.tl import TLObject, types

from tests.platforms.telegram.sample_objects import ACTIONS, MEDIA, media, sample, sample_message
from tidegate.loopback.telegram.tl_objects.tl_schema import inside
from tidegate.platforms.interface import FileRole
from tidegate.platforms.telegram.files.file_handles import files_of, is_web_file
from tidegate.platforms.telegram.files.further_files import further_files_of
from tidegate.platforms.telegram.translation import message_of


def held(value: Any) -> set[int]:
    """The documents and photos within an object that have bytes of their own, without Telegram's copies of pages."""
    copies = {
        id(one) for found in inside(value) if isinstance(found, types.WebPage) for one in inside(found.cached_page)
    }
    return {
        one.id
        for one in inside(value)
        if id(one) not in copies
        and (isinstance(one, types.Document) or (isinstance(one, types.Photo) and _has_bytes(one)))
    }  # fmt: skip


def _has_bytes(photo: types.Photo) -> bool:
    sizes = (types.PhotoSize, types.PhotoSizeProgressive)
    return any(isinstance(one, sizes) for one in photo.sizes)


def shown(message: Any) -> set[int]:
    own = files_of(getattr(message, "media", None))
    further = further_files_of(message, own)
    assert not {file.id for file in own} & {file.id for file in further}
    return {file.id for file in (*own, *further) if not is_web_file(file.handle)}


@pytest.mark.parametrize("kind", MEDIA)
def test_no_file_of_any_media_is_missed(kind: type[TLObject]) -> None:
    """Whatever object of the schema holds a document or a photo, it is among the files of the message."""
    message = sample_message(5, 7, media=media(kind))
    assert shown(message) == held(message.media)


@pytest.mark.parametrize("kind", ACTIONS)
def test_no_file_of_any_announcement_is_missed(kind: type[TLObject]) -> None:
    """New pictures of a chat, wallpapers and gifts are files of their announcement."""
    action = sample(kind)
    message = types.MessageService(5, types.PeerChannel(7), sample_message(5, 7).date, action=action)
    assert shown(message) == held(action)
    assert {one.role for one in further_files_of(message, ())} <= {FileRole.SERVICE}


def test_files_of_an_answered_story_and_of_rich_texts_are_found() -> None:
    """A reply brings the media it answers, and a rich text those it is laid out with."""
    photo = types.MessageMediaPhoto(photo=sample(types.Photo, sizes=[types.PhotoSize("x", 8, 8, 4_096)]))
    reply = types.MessageReplyHeader(reply_to_msg_id=3, reply_media=photo)
    message = sample_message(5, 7, reply_to=reply)
    assert [file.role for file in further_files_of(message, ())] == [FileRole.REPLY]
    assert shown(message) == {photo.photo.id}


def test_a_message_knows_its_own_and_its_further_files() -> None:
    """The preview of a link is no file of the message itself: archives and searches do not see it."""
    page = sample(types.WebPage, photo=sample(types.Photo, sizes=[types.PhotoSize("x", 8, 8, 4_096)]))
    message = message_of(sample_message(5, 7, media=types.MessageMediaWebPage(webpage=page)), {})
    assert message is not None
    assert message.files == ()
    assert FileRole.PREVIEW in {file.role for file in message.further_files}


def test_media_that_destroy_themselves_are_marked() -> None:
    """The policy does not keep them unless the operator says so."""
    photo = sample(types.Photo, sizes=[types.PhotoSize("x", 8, 8, 4_096)])
    [file] = files_of(types.MessageMediaPhoto(photo=photo, ttl_seconds=10))
    assert file.fleeting
    [file] = files_of(types.MessageMediaPhoto(photo=photo))
    assert not file.fleeting


def test_a_document_has_the_largest_of_its_small_pictures() -> None:
    """Of a video that is too large, the picture is kept that Telegram has of it."""
    thumbs = [types.PhotoSize("s", 8, 8, 100), types.PhotoSize("m", 9, 9, 900), types.PhotoStrippedSize("i", b"12")]
    [file] = files_of(types.MessageMediaDocument(document=sample(types.Document, thumbs=thumbs)))
    assert file.picture is not None
    assert file.picture.size == 900
    assert file.picture.handle != file.handle


def test_a_custom_emoji_is_no_document_of_another_message() -> None:
    """Whoever writes the number of a document into a text gets no file with that number."""
    written = [types.MessageEntityCustomEmoji(0, 2, number) for number in (77, -78, 0)]
    message = types.Message(1, types.PeerChannel(1), None, "hi", entities=written)
    [file] = further_files_of(message, ())
    assert (file.id, file.role) == (-78, FileRole.EMOJI)


def test_custom_emoji_of_reactions_are_files_of_the_message() -> None:
    """Each once, named as the reaction is; other reactions have no file."""
    told = [
        types.ReactionCustomEmoji(77),
        types.ReactionEmoji("❤"),
        types.ReactionCustomEmoji(78),
        types.ReactionPaid(),
    ]
    reactions = types.MessageReactions([types.ReactionCount(one, 1) for one in told])
    entities = [types.MessageEntityCustomEmoji(0, 2, 77)]
    message = types.Message(1, types.PeerChannel(1), None, "hi", entities=entities, reactions=reactions)
    found = [(file.id, file.name, file.role) for file in further_files_of(message, ())]
    assert found == [(-78, "custom:77", FileRole.EMOJI), (-79, "custom:78", FileRole.REACTION)]
