"""Files of our own on Telegram: uploaded once, posted as often as wanted, one message a key."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tests.platforms.telegram.conftest import Opens
from tidegate.core.errors import OutcomeUnknown, PlatformError, Refused
from tidegate.core.ids import ChannelId, UploadId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import FileKind
from tidegate.platforms.interface import SendKey, Upload, UploadLost
from tidegate.platforms.interface.uploads import (
    Media,
    MediaKind,
    MediaRef,
    PostsMedia,
    RemovesDuplicates,
    TakesUploadParts,
)
from tidegate.platforms.telegram import send_requests
from tidegate.platforms.telegram.client import TelegramAccount

SEND, REGISTER = "messages.sendMedia", "messages.uploadMedia"
KEY = SendKey("run 1, target 2, part 3")


def media_of(content: bytes, name: str = "poster.jpg", mime: str = "image/jpeg", kind: str = "picture") -> Media:
    return Media(sha256(content).digest(), name, mime, len(content), MediaKind(kind))


async def uploaded(client: TelegramAccount, media: Media, content: bytes, number: int = 7) -> MediaRef:
    """Hand a file over in parts, and what Telegram gives for it."""
    upload = Upload(UploadId(number), media.name, media.size, media.mime)
    for part in range(upload.parts):
        await client.save_part(upload, part, content[part * upload.part_size :][: upload.part_size])
    return await client.register(upload, media)


@pytest.fixture
def groups(client: TelegramAccount, world: World) -> list[Channel]:
    return [world.channel("Models"), world.channel("News")]


CONTENT = b"a picture of low tide" * 50_000
POSTER = media_of(CONTENT)


async def test_d27_one_upload_serves_every_group(
    client: TelegramAccount, groups: list[Channel], world: World, opens: Opens
) -> None:
    """D-27: the bytes go over once; each group gets them with its own caption, also from a client opened later."""
    ref = await uploaded(client, POSTER, CONTENT)
    await client.close()
    for group, later in [(groups[0], await opens()), (groups[1], await opens())]:
        receipt = await later.post(
            ChannelId(group.id), POSTER, ref, caption=f"Hello {group.title}", key=SendKey(group.title)
        )
        assert receipt.message == group.top
    posted = [group.messages[group.top] for group in groups]
    assert [one.text for one in posted] == ["Hello Models", "Hello News"]
    assert [one.file.read(0, len(CONTENT)) for one in posted if one.file] == [CONTENT, CONTENT]
    [upload] = world.record.uploads
    assert (upload.account, upload.bytes, upload.sha256) == ("1000001", len(CONTENT), POSTER.sha256.hex())
    assert world.record.by_method()[SEND] == 2


@pytest.mark.parametrize(
    ("media", "shown"),
    [
        (media_of(b"content", "poster.jpg", "image/jpeg", "picture"), FileKind.PHOTO),
        (media_of(b"content", "poster.tiff", "image/tiff", "picture"), FileKind.DOCUMENT),
        (media_of(b"content", "tide.mp4", "video/mp4", "video"), FileKind.VIDEO),
        (media_of(b"content", "tide.mp4", "video/mp4", "document"), FileKind.DOCUMENT),
        (media_of(b"content", "prices.pdf", "application/pdf", "document"), FileKind.DOCUMENT),
    ],
    ids=["photo", "tiff", "video", "video file", "pdf"],
)
async def test_a_file_is_shown_as_what_it_is(
    client: TelegramAccount, groups: list[Channel], media: Media, shown: FileKind
) -> None:
    """Pictures Telegram knows as photos, videos as videos, and what is said to be a document as a file by its name."""
    await client.post(ChannelId(groups[0].id), media, await uploaded(client, media, b"content"), caption="", key=KEY)
    file = groups[0].messages[groups[0].top].file
    assert file is not None
    assert (file.name, file.mime, file.kind) == (media.name, media.mime, shown)


def test_a_picture_too_large_for_a_photo_is_a_document() -> None:
    """Telegram takes photos up to 10 MiB; a larger picture still arrives."""
    large = Media(b"", "poster.png", "image/png", 10 * 1024 * 1024 + 1, MediaKind.PICTURE)
    kept = send_requests.to_keep(Upload(UploadId(1), large.name, large.size), large)
    assert isinstance(kept, types.InputMediaUploadedDocument)
    assert not kept.force_file


async def test_d21_a_post_repeated_under_its_key_is_one_message(
    client: TelegramAccount, groups: list[Channel], world: World
) -> None:
    """D-21, claim-before-send: the connection breaks once the post was taken; the same key finds it delivered."""
    where, ref = ChannelId(groups[0].id), await uploaded(client, POSTER, CONTENT)
    world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SEND))
    with pytest.raises(OutcomeUnknown):
        await client.post(where, POSTER, ref, caption="", key=KEY)
    while True:
        try:
            receipt = await client.post(where, POSTER, ref, caption="", key=KEY)
        except PlatformError:
            await client.hints(most=1)
        else:
            break
    assert (receipt.message, receipt.at) == (None, None)
    assert len(world.record.sends) == len(world.record.uploads) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.EXPIRED_REFERENCE, SEND),
        Fault(FaultKind.ERROR, SEND, code="MEDIA_EMPTY"),
        Fault(FaultKind.ERROR, SEND, code="FILE_REFERENCE_0_EXPIRED"),
    ],
    ids=lambda fault: fault.code or fault.kind,
)
async def test_d28_what_telegram_no_longer_takes_is_uploaded_anew(
    client: TelegramAccount, groups: list[Channel], world: World, fault: Fault
) -> None:
    """D-28: a reference that ended is told apart from a refusal; nothing was posted, and a new upload goes through."""
    where, ref = ChannelId(groups[0].id), await uploaded(client, POSTER, CONTENT)
    world.faults.add(Fault(fault.kind, fault.method, code=fault.code))
    with pytest.raises(UploadLost, match=r"poster\.jpg"):
        await client.post(where, POSTER, ref, caption="", key=KEY)
    assert not world.record.sends
    again = await uploaded(client, POSTER, CONTENT, number=8)
    assert (await client.post(where, POSTER, again, caption="", key=KEY)).message == groups[0].top
    assert len(world.record.uploads) == 2


async def test_lost_parts_are_told_when_they_are_made_a_file_of(client: TelegramAccount, world: World) -> None:
    """Telegram forgets the parts of an unfinished upload; that is no refusal of the file."""
    upload = Upload(UploadId(7), POSTER.name, POSTER.size, POSTER.mime)
    await client.save_part(upload, 0, CONTENT[: upload.part_size])
    with pytest.raises(UploadLost):
        await client.register(upload, POSTER)
    assert not world.record.uploads


async def test_a_refused_caption_is_no_lost_upload(
    client: TelegramAccount, groups: list[Channel], world: World
) -> None:
    """error-class-says-what-to-do: uploading anew would not help, so it is a plain refusal."""
    ref = await uploaded(client, POSTER, CONTENT)
    with pytest.raises(Refused) as refused:
        await client.post(ChannelId(groups[0].id), POSTER, ref, caption="x" * 1025, key=KEY)
    assert type(refused.value) is Refused


async def test_a_protected_group_does_not_end_an_upload(
    client: TelegramAccount, groups: list[Channel], world: World
) -> None:
    """A file of our own may be posted on, whatever the groups that have it already protect."""
    ref = await uploaded(client, POSTER, CONTENT)
    groups[0].protected = True
    for group in groups:
        await client.post(ChannelId(group.id), POSTER, ref, caption="", key=SendKey(group.title))
    assert len(world.record.sends) == 2


@given(st.binary(max_size=80))
def test_a_reference_nobody_can_read_is_a_lost_upload(stored: bytes) -> None:
    """Whatever is stored, also by another version: it leads to a new upload, never to a crash or a wrong file."""
    with pytest.raises(UploadLost):
        send_requests.postable(MediaRef(stored))


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=300))
def test_a_reference_is_read_back_as_it_was_given(number: int, access: int, reference: bytes) -> None:
    """Stored and read again it names the same file, photos and documents each as such."""
    photo = types.InputMediaPhoto(types.InputPhoto(number, access, reference))
    document = types.InputMediaDocument(types.InputDocument(number, access, reference))
    for media in (photo, document):
        again = send_requests.postable(MediaRef(bytes(media)))
        assert (type(again), bytes(again)) == (type(media), bytes(media))


def test_what_telegram_can_do_with_media(client: TelegramAccount) -> None:
    """The lane sees these abilities: files in parts, posts by reference, and a key that is recognised for good."""
    assert isinstance(client, PostsMedia)
    assert isinstance(client, TakesUploadParts)
    assert isinstance(client, RemovesDuplicates)
    assert (client.media_lasts, client.recognises_for) == (None, None)
    assert [client.method(verb) for verb in ("register", "post")] == [REGISTER, SEND]
