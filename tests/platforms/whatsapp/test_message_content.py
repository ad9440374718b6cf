"""Messages in WhatsApp's own form."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.platforms.whatsapp.library import UploadResponse, message_content

UPLOADED = UploadResponse(
    url="https://mmg.invalid/x",
    DirectPath="/v/x",
    Handle="",
    MediaKey=b"k" * 32,
    FileEncSHA256=b"e" * 32,
    FileSHA256=b"s" * 32,
    FileLength=1234,
)


def picture(width: int = 640, height: int = 480) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "PNG")
    return out.getvalue()


def test_a_text_is_only_a_text() -> None:
    """Nobody is called by an @ in it, and nothing is asked to make a preview of a link."""
    message = message_content.text_message("Morning @62812345678, see https://example.com")
    assert message.conversation.startswith("Morning")
    assert [field.name for field, _ in message.ListFields()] == ["conversation"]


@pytest.mark.parametrize(
    ("kind", "field"), [("picture", "imageMessage"), ("video", "videoMessage"), ("document", "documentMessage")]
)
def test_a_file_is_named_by_what_its_upload_gave(kind: str, field: str) -> None:
    """Everything a receiver needs to load and open it comes from the reference, which can be kept for later runs."""
    ref = message_content.reference(UPLOADED, picture(), kind, at=7)
    message = message_content.media_message(
        ref, {"kind": kind, "name": "poster.png", "mime": "image/png"}, "New prices"
    )
    media = getattr(message, field)
    assert (media.URL, media.directPath, media.mediaKey) == ("https://mmg.invalid/x", "/v/x", b"k" * 32)
    assert (media.fileSHA256, media.fileEncSHA256, media.fileLength) == (b"s" * 32, b"e" * 32, 1234)
    assert (media.mimetype, media.caption, media.mediaKeyTimestamp) == ("image/png", "New prices", 7)


def test_a_picture_is_seen_before_it_is_loaded() -> None:
    """Its size and a small copy travel with the message."""
    ref = message_content.reference(UPLOADED, picture(), "picture", at=7)
    media = message_content.media_message(ref, {"kind": "picture", "mime": "image/png"}, "")
    assert (media.imageMessage.width, media.imageMessage.height) == (640, 480)
    with Image.open(io.BytesIO(media.imageMessage.JPEGThumbnail)) as small:
        assert max(small.size) == 100


def test_a_picture_that_cannot_be_read_is_sent_all_the_same() -> None:
    """What it looks like is a courtesy; the file is the operator's own."""
    ref = message_content.reference(UPLOADED, b"no picture", "picture", at=7)
    assert message_content.media_message(ref, {"kind": "picture", "mime": "image/png"}, "").imageMessage.width == 0


def test_a_document_keeps_its_name() -> None:
    """People see it, and save it under that."""
    ref = message_content.reference(UPLOADED, b"...", "document", at=7)
    sent = message_content.media_message(ref, {"kind": "document", "name": "prices.pdf", "mime": "application/pdf"}, "")
    assert sent.documentMessage.fileName == "prices.pdf"
