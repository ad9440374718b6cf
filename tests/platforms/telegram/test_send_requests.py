"""What is posted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import functions, types

from tidegate.core.errors import Refused
from tidegate.core.ids import UploadId
from tidegate.platforms.interface import SendKey, Upload
from tidegate.platforms.telegram import send_requests
from tidegate.platforms.telegram.files.file_handles import handle_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@given(key=st.text(), other=st.text())
def test_a_key_is_always_the_same_number(key: str, other: str) -> None:
    """S-51: a repeated send is recognised by its number, and no two sends share one."""
    number = send_requests.random_id(SendKey(key))
    assert number == send_requests.random_id(SendKey(key))
    assert -(2**63) <= number < 2**63
    assert number != 0
    assert (number == send_requests.random_id(SendKey(other))) is (key == other)


@pytest.mark.parametrize(
    ("size", "parts", "big"),
    [
        (0, 1, False),
        (1, 1, False),
        (524_288, 1, False),
        (524_289, 2, False),
        (10 * 1024 * 1024, 20, False),
        (10 * 1024 * 1024 + 1, 21, True),
        (12_000_000, 23, True),
        (1950 * 1024 * 1024, 3900, True),
        (3950 * 1024 * 1024, 7900, True),
    ],
)
def test_s52_a_file_goes_in_parts_of_half_a_mebibyte(size: int, parts: int, big: bool) -> None:
    """S-52: 12,000,000 bytes are 23 parts; above 10 MiB Telegram wants them by its other call."""
    upload = Upload(UploadId(7), "x.zip", size)
    assert (upload.parts, upload.big) == (parts, big)
    request = send_requests.part_of(upload, 0, b"abc")
    kinds = (functions.upload.SaveFilePartRequest, functions.upload.SaveBigFilePartRequest)
    assert isinstance(request, kinds[big])
    media = send_requests.uploaded(upload)
    assert isinstance(media.file, (types.InputFile, types.InputFileBig)[big])
    assert (media.file.parts, media.file.name, media.force_file) == (parts, "x.zip", True)


def test_a_copy_names_the_file_and_moves_no_bytes() -> None:
    """S-49: documents and photos each by their own kind."""
    document = handle_of(types.InputDocumentFileLocation(1, 2, b"ref", thumb_size=""), 4)
    photo = handle_of(types.InputPhotoFileLocation(1, 2, b"ref", thumb_size="y"), 4)
    assert send_requests.copied(document) == types.InputMediaDocument(types.InputDocument(1, 2, b"ref"))
    assert send_requests.copied(photo) == types.InputMediaPhoto(types.InputPhoto(1, 2, b"ref"))


def test_the_receipt_is_the_one_of_our_own_number() -> None:
    """An answer may speak of other messages as well."""
    updates = [types.UpdateMessageID(5, random_id=1), types.UpdateMessageID(6, random_id=2)]
    receipt = send_requests.receipt_of(types.Updates(updates, [], [], NOON, 0), 2)
    assert (receipt.message, receipt.at) == (6, NOON)
    short = types.UpdateShortSentMessage(id=9, pts=1, pts_count=1, date=NOON)
    assert send_requests.receipt_of(short, 2).message == 9
    with pytest.raises(Refused, match="under which number"):
        send_requests.receipt_of(types.Updates(updates, [], [], NOON, 0), 3)
