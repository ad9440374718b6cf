"""A family chat with pictures, an album, voice, film, a sticker and documents, kept and not kept."""

from __future__ import annotations

import io
import wave
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw

from tests.history.rich_messages import ADA, BOB, file, wrote
from tests.media.kept_files import digest, post, put
from tests.media.picture_samples import MP4
from tests.media.stored_media import full_channel, stored
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AlbumId
from tidegate.core.message_content import MessageContent, MessageKind, SpanKind, TextSpan
from tidegate.database.pool import Database
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_files
from tidegate.media.queries.media_files import KeptBytes
from tidegate.media.thumbnails.thumbnail_loop import ThumbnailLoop
from tidegate.platforms.interface import FileForm, FileRole, Message, Reaction

CAPTION = "Our boat in the harbour"
ALBUM = range(10, 15)
FILM = 21
ANCHOR, HEART = -9_002, -9_003


def landscape(number: int, size: tuple[int, int] = (1_200, 900)) -> bytes:
    """A picture of the sea, different for every number."""
    width, height = size
    made = Image.new("RGB", size, f"hsl({190 + 9 * number}, 60%, 78%)")
    draw = ImageDraw.Draw(made)
    draw.rectangle((0, height * 6 // 10, width, height), fill=f"hsl({200 + 9 * number}, 65%, 38%)")
    draw.ellipse((width * 7 // 10, height // 10, width * 8 // 10, height // 10 + width // 10), fill="#f9d56e")
    boat = width * (15 + 7 * (number % 8)) // 100
    draw.polygon(
        ((boat, height // 2), (boat + width // 6, height // 2), (boat + width // 12, height * 7 // 10)), "#7a3b1d"
    )
    into = io.BytesIO()
    made.save(into, "JPEG", quality=85)
    return into.getvalue()


def sticker() -> bytes:
    made = Image.new("RGBA", (512, 512), (0, 0, 0, 0))
    ImageDraw.Draw(made).ellipse((40, 40, 470, 470), fill="#f5b301")
    ImageDraw.Draw(made).arc((150, 180, 360, 380), 10, 170, fill="#5a3b00", width=24)
    into = io.BytesIO()
    made.save(into, "WEBP")
    return into.getvalue()


def sound() -> bytes:
    """Two seconds of silence that a browser can play."""
    into = io.BytesIO()
    with wave.open(into, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(8_000)
        made.writeframes(b"\0\0" * 16_000)
    return into.getvalue()


def family_chat() -> tuple[list[Message], dict[int, bytes]]:
    """The messages, and the content of the files that have arrived."""
    image, voice = FileForm.IMAGE, FileForm.VOICE
    album = [
        wrote(n, BOB, "Five from the trip" if n == 10 else "", album=AlbumId(5), kind=MessageKind.PHOTO,
              files=(file(n, "", image, size=1_000),))
        for n in ALBUM
    ]  # fmt: skip
    told = [
        wrote(1, ADA, "Here is the photo from yesterday"),
        wrote(2, ADA, CAPTION, kind=MessageKind.PHOTO, files=(file(2, "", image, size=1_000),)),
        wrote(3, BOB, "Lovely! One more, upright", kind=MessageKind.PHOTO, files=(file(3, "", image, size=1_000),)),
        *album,
        wrote(20, ADA, kind=MessageKind.VOICE, content=MessageContent(details={"duration": 2}),
              files=(file(20, "", voice, size=1_000, mime="audio/wav"),)),
        wrote(21, BOB, "The film", kind=MessageKind.VIDEO, files=(file(21, "boat.mp4", FileForm.VIDEO, size=1_000),)),
        wrote(22, ADA, kind=MessageKind.STICKER, files=(file(22, "", FileForm.STICKER, size=1_000),)),
        wrote(23, BOB, "The chart", kind=MessageKind.FILE, files=(file(23, "Seekarte Elbmündung.pdf", FileForm.FILE),)),
        wrote(24, ADA, "The whole film", files=(replace(file(24, "film.mkv", FileForm.FILE), size=4 * 10**9),)),
        wrote(25, BOB, "This one comes soon", files=(file(25, "soon.jpg", image),)),
        with_emoji(),
    ]  # fmt: skip
    contents = {n: landscape(n) for n in (2, *ALBUM)}
    contents |= {
        3: landscape(3, (700, 1_100)),
        20: sound(),
        21: MP4,
        22: sticker(),
        ANCHOR: emoji("#1d4e89"),
        HEART: emoji("#c0392b"),
        23: b"%PDF-1.7\n" + b" " * 9_000,
    }
    return told, contents


def emoji(colour: str) -> bytes:
    made = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    ImageDraw.Draw(made).ellipse((5, 5, 95, 95), fill=colour)
    into = io.BytesIO()
    made.save(into, "PNG")
    return into.getvalue()


def with_emoji() -> Message:
    """A text with a custom emoji, and a reaction with another one."""
    span = TextSpan(SpanKind.CUSTOM_EMOJI, 5, 6, "9001")
    pictures = [
        replace(file(number, f"custom:{9_001 + place}", FileForm.STICKER, size=0), role=role)
        for place, (number, role) in enumerate([(ANCHOR, FileRole.EMOJI), (HEART, FileRole.REACTION)])
    ]
    said = wrote(26, ADA, "Ahoy ⚓ all", content=MessageContent(formatting=(span,)))
    return replace(said, further_files=tuple(pictures), reactions=(Reaction("custom:9002", 3), Reaction("👍", 1)))


async def keep_family_chat(database: Database, home: Path) -> KnownChannel:
    """A channel with all of it, and with thumbnails."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await connection.execute("UPDATE channels SET title = 'Family', forum = false")
    told, contents = family_chat()
    store, still = LocalStore(home / "media"), landscape(21, (320, 240))
    await put(store, home / "arriving", still)
    async with database.transaction() as connection:
        await stored(connection, channel, *told)
        assert channel.reader is not None
        for one in await media_files.take(connection, channel.reader, channel.key, most=100):
            if one.file == FILM:
                await media_files.pictured(connection, one, KeptBytes(digest(still), len(still), "image/jpeg"))
    await post(database, home, channel, told, contents)
    await ThumbnailLoop(database, LocalStore(home / "media"), home / "drawn").make_missing()
    return channel
