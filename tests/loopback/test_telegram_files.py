"""Files: bytes that cost no memory, references that expire, parts that have to fit, and one message a random id."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from tests.loopback.clients import peer
from tests.loopback.conftest import Connects
from tests.loopback.posted_files import posted
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.file_content import AWAY, File, FileKind
from tidegate.loopback.telegram.world.pictures import photo_sizes

MIB = 1 << 20


class TestContent:
    @given(offset=st.integers(0, 40_000), limit=st.integers(1, 20_000), cut=st.integers(1, 5_000))
    def test_however_it_is_read_the_bytes_are_the_same(self, offset: int, limit: int, cut: int) -> None:
        """A range is the same bytes as its pieces, whatever of it was given and whatever is computed."""
        file = File(5, "x", 50_000, pieces={7_000: b"given" * 300, 49_990: b"tail" * 2})
        whole = file.read(offset, limit)
        assert whole == b"".join(
            file.read(at, min(cut, offset + limit - at)) for at in range(offset, offset + limit, cut)
        )
        assert len(whole) == max(0, min(limit, 50_000 - offset))

    def test_files_differ_and_stay(self) -> None:
        """Two files of one size are not the same bytes; one file is, each time."""
        one, two = File(1, "x", 10_000), File(2, "x", 10_000)
        assert one.sha256() == File(1, "y", 10_000).sha256() != two.sha256()
        assert one.read(0, 4096) != one.read(4096, 4096)

    def test_the_end_of_two_gibibytes_is_read_at_once(self) -> None:
        """A sparse file is computed where it is read and nowhere else; given bytes lie over it."""
        file = File(1, "x.zip", 2 << 30, pieces={(2 << 30) - 22: b"PK\x05\x06".ljust(22, b"\0")})
        assert file.read((2 << 30) - 22, 4096)[:4] == b"PK\x05\x06"
        assert file.read((2 << 30) - 4096, 4096)[-22:-18] == b"PK\x05\x06"
        assert file.read(2 << 30, 4096) == b""


def location(message: Any) -> types.InputDocumentFileLocation:
    document = message.media.document
    return types.InputDocumentFileLocation(document.id, document.access_hash, document.file_reference, "")


class TestDownload:
    async def test_a_file_is_downloaded_byte_for_byte(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Telethon's own download gets exactly what the platform holds."""
        file = telegram.world.add_file("model.zip", 3 * MIB + 17)
        message = await posted(client, telegram, file)
        content = await client.download_media(message, file=bytes)
        assert sha256(content).hexdigest() == file.sha256()

    async def test_the_tail_of_a_large_file_is_one_call(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Ranges of up to 1 MiB on the platform's grid; off the grid they are refused."""
        file = telegram.world.add_file("large.zip", 2 << 30)
        where = location(await posted(client, telegram, file))
        answer = await client(functions.upload.GetFileRequest(where, offset=(2 << 30) - MIB, limit=MIB))
        assert answer.bytes == file.read((2 << 30) - MIB, MIB)
        with pytest.raises(errors.OffsetInvalidError):
            await client(functions.upload.GetFileRequest(where, offset=1, limit=4096))
        with pytest.raises(errors.OffsetInvalidError):
            await client(functions.upload.GetFileRequest(where, offset=MIB // 2, limit=MIB))
        with pytest.raises(errors.LimitInvalidError):
            await client(functions.upload.GetFileRequest(where, offset=0, limit=3 * 4096))
        precise = await client(functions.upload.GetFileRequest(where, offset=1024, limit=3 * 4096, precise=True))
        assert precise.bytes == file.read(1024, 3 * 4096)

    async def test_a_reference_expires_and_the_message_gives_a_new_one(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-48: the old reference stays worthless; the message read again has one that works."""
        file = telegram.world.add_file("model.zip", 5000)
        message = await posted(client, telegram, file)
        telegram.world.faults.add(Fault(FaultKind.EXPIRED_REFERENCE, "upload.getFile"))
        for _ in range(2):
            with pytest.raises(errors.FileReferenceExpiredError):
                await client(functions.upload.GetFileRequest(location(message), offset=0, limit=4096))
        again = await client.get_messages(message.peer_id, ids=message.id)
        answer = await client(functions.upload.GetFileRequest(location(again), offset=0, limit=4096))
        assert answer.bytes == file.read(0, 4096)

    async def test_hash_and_reference_of_another_account_open_nothing(
        self, connect: Connects, telegram: TelegramServer
    ) -> None:
        """What one account was given is worthless in another's hands."""
        telegram.world.add_account("+1000002")
        first, second = await connect(), await connect("+1000002")
        where = location(await posted(first, telegram, telegram.world.add_file("a.zip", 100)))
        with pytest.raises(errors.RPCError):
            await second(functions.upload.GetFileRequest(where, offset=0, limit=4096))
        where.access_hash = telegram.world.token("file", 1_000_002, where.id)
        with pytest.raises(errors.FileReferenceExpiredError):
            await second(functions.upload.GetFileRequest(where, offset=0, limit=4096))

    async def test_a_file_of_another_data_centre_is_fetched_there(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """At home it is told to go there; Telethon goes, with a key of its own, and gets the bytes."""
        file = telegram.world.add_file("far.zip", 300_000, centre=AWAY)
        message = await posted(client, telegram, file)
        with pytest.raises(errors.FileMigrateError) as told:
            await client(functions.upload.GetFileRequest(location(message), offset=0, limit=4096))
        assert told.value.new_dc == AWAY
        content = await client.download_media(message, file=bytes)
        assert sha256(content).hexdigest() == file.sha256()
        assert telegram.world.record.by_method()["auth.importAuthorization"] == 1


class TestUpload:
    async def test_twelve_million_bytes_are_23_parts_and_a_send(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-52: what arrives is what was sent, by the platform's own hash."""
        channel = telegram.world.add_channel("Destination")
        content = File(9, "x", 12_000_000).read(0, 12_000_000)
        handle = await client.upload_file(io.BytesIO(content), file_name="big.bin", part_size_kb=512)
        await client.send_file(peer(telegram, channel), handle, force_document=True)
        calls = telegram.world.record.by_method()
        assert (calls["upload.saveBigFilePart"], calls["messages.sendMedia"]) == (23, 1)
        [upload] = telegram.world.record.uploads
        assert (upload.bytes, upload.sha256) == (12_000_000, sha256(content).hexdigest())
        held = channel.messages[channel.top].file
        assert held is not None
        assert (held.name, held.sha256()) == ("big.bin", upload.sha256)

    async def test_a_drawn_picture_has_three_sizes(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Each size is a real picture of its own, read by the letter the platform gives it."""
        photo = (await posted(client, telegram, telegram.world.add_photo("cover.png"))).media.photo
        assert [size.type for size in photo.sizes] == ["m", "x", "y"]
        for size in photo.sizes:
            named = types.InputPhotoFileLocation(photo.id, photo.access_hash, photo.file_reference, size.type)
            answer = await client(functions.upload.GetFileRequest(named, 0, 1 << 20))
            assert answer.bytes == photo_sizes("cover.png")[size.type]
            assert (len(answer.bytes), answer.bytes[:4]) == (size.size, b"\x89PNG")

    async def test_a_photo_stays_a_photo(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A preview picture is uploaded in the small form and found as a picture."""
        channel = telegram.world.add_channel("Destination")
        handle = await client.upload_file(io.BytesIO(b"\xff\xd8 picture"), file_name="preview.jpg")
        await client(
            functions.messages.SendMediaRequest(
                peer(telegram, channel), types.InputMediaUploadedPhoto(handle), "", random_id=5
            )
        )
        held = channel.messages[channel.top].file
        assert held is not None
        assert (held.kind, held.read(0, 100)) == (FileKind.PHOTO, b"\xff\xd8 picture")

    @pytest.mark.parametrize(
        ("parts", "named", "problem"),
        [
            ({0: 1024, 2: 10}, 3, "FilePartMissingError"),
            ({0: 1024, 1: 2048}, 2, "FilePartSizeChangedError"),
            ({0: 1000, 1: 1000}, 2, "FilePartSizeInvalidError"),
            ({0: 1024, 1: 1024, 2: 1024, 3: 1024}, 4, "FilePartsInvalidError"),
        ],
    )
    async def test_parts_that_do_not_fit_are_refused(
        self, client: TelegramClient, telegram: TelegramServer, parts: dict[int, int], named: int, problem: str
    ) -> None:
        """A hole, uneven parts, a size off the grid and too many parts are each told by name."""
        channel = telegram.world.add_channel("Destination")
        for number, size in parts.items():
            await client(functions.upload.SaveFilePartRequest(77, number, b"x" * size))
        telegram.world.limits.parts = 3
        media = types.InputMediaUploadedDocument(types.InputFile(77, named, "x.bin", ""), "application/zip", [])
        with pytest.raises(getattr(errors, problem)):
            await client(functions.messages.SendMediaRequest(peer(telegram, channel), media, "", random_id=5))
        assert telegram.world.record.sends == []
