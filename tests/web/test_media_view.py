"""How files are shown by what was kept of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidegate.core.ids import ChannelKey, MessageId, Sha256
from tidegate.media.queries.served_files import ServedBytes, ServedFile
from tidegate.web.media_view import ShownAs, media_of_served

AT = datetime(2026, 11, 19, tzinfo=UTC)
STILL = ServedBytes(Sha256(bytes(32)), 900, "image/webp", missing=False)


def served(form: str, kind: str, still: ServedBytes | None) -> ServedFile:
    whole = ServedBytes(Sha256(bytes(32)), 5_000, kind, missing=False)
    return ServedFile(
        MessageId(1), 1, form, "own", "a", 5_000, "kept", "", "Ada", "", AT, deleted=False, whole=whole, thumbnail=still
    )


@pytest.mark.parametrize(
    ("form", "kind", "still", "shown"),
    [
        ("sticker", "application/gzip", STILL, ShownAs.PICTURE),  # .tgs
        ("sticker", "application/gzip", None, ShownAs.DOWNLOAD),
        ("sticker", "video/webm", STILL, ShownAs.PICTURE),
        ("sticker", "video/webm", None, ShownAs.DOWNLOAD),
        ("sticker", "application/octet-stream", None, ShownAs.DOWNLOAD),  # Lottie of Discord
        ("sticker", "image/webp", None, ShownAs.PICTURE),
        ("video", "video/mp4", STILL, ShownAs.VIDEO),
        ("video", "video/mp4", None, ShownAs.VIDEO),
        ("video", "application/octet-stream", None, ShownAs.DOWNLOAD),
    ],
)
def test_a_moving_sticker_is_a_still_or_a_download(
    form: str, kind: str, still: ServedBytes | None, shown: ShownAs
) -> None:
    """It never moves; a video plays with and without a still, if its content is one."""
    found = media_of_served(ChannelKey(1), served(form, kind, still))
    assert (found.shown_as, found.thumbnail != "") == (shown, still is not None)
