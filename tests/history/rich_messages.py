"""Messages that hold everything a message can hold, for tests of what is read, shown and told of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.held import NOON
from tidegate.core.ids import AlbumId, ChannelId, FileId, MessageId, TopicId, UserId
from tidegate.core.message_content import (
    NO_COUNTS,
    Embed,
    Forward,
    LinkPreview,
    MessageContent,
    MessageCounts,
    MessageKind,
    OriginKind,
    Person,
    PersonKind,
    Poll,
    PollAnswer,
    Reply,
    SpanKind,
    TextSpan,
)
from tidegate.platforms.interface import File, FileForm, FileHandle, FileKind, Message, Reaction

ADA = Person(UserId(501), "Ada Lovelace", ("ada",))
BOB = Person(UserId(502), "Bob", ())
HELPER = Person(UserId(503), "Helper", ("helper_bot",), PersonKind.BOT)
ADMIN = Person(UserId(-1000000000007), "Harbour", (), PersonKind.ANONYMOUS)
GONE = Person(UserId(505), "Deleted Account", (), PersonKind.DELETED)


def wrote(number: int, person: Person, text: str = "", *, at: datetime | None = None, **fields: Any) -> Message:
    """A message of somebody, one minute after the one before it."""
    return Message(
        MessageId(number),
        at or NOON + timedelta(minutes=number),
        person.name,
        text,
        author_id=person.id,
        automatic=person.kind is PersonKind.BOT,
        person=person,
        **fields,
    )


def file(number: int, name: str, form: FileForm, size: int = 20_480, mime: str = "") -> File:
    """A file of a message."""
    kinds = {FileForm.IMAGE: FileKind.PHOTO, FileForm.FILE: FileKind.DOCUMENT}
    return File(FileId(number), name, size, mime, kinds.get(form, FileKind.MEDIA), FileHandle("h"), form=form)


def span(text: str, piece: str, kind: SpanKind, target: str = "") -> TextSpan:
    """The formatted stretch of *text* that says *piece*."""
    start = text.index(piece)
    return TextSpan(kind, start, start + len(piece), target)


FORMATTED = "Bold and italic, code, a spoiler, and a link to read."
EVERYTHING = MessageContent(
    formatting=(
        span(FORMATTED, "Bold", SpanKind.BOLD),
        span(FORMATTED, "italic", SpanKind.ITALIC),
        span(FORMATTED, "code", SpanKind.CODE),
        span(FORMATTED, "spoiler", SpanKind.SPOILER),
        span(FORMATTED, "a link to read", SpanKind.LINK, "https://example.org/tide"),
    ),
    forward=Forward(OriginKind.CHANNEL, "Sea News", 88, NOON, MessageId(12), "Carl"),
    reply=Reply(MessageId(1), quote="which tower"),
    poll=Poll(
        "Where shall we meet?", (PollAnswer("0", "At the pier"), PollAnswer("1", "At the lighthouse")), public=True
    ),
    preview=LinkPreview("https://example.org/tide", "example.org", "Tide tables", "High water at noon."),
    embeds=(
        Embed(
            "rich", "Forecast", "Wind from the west", "https://example.org/wind", "Met office", "Updated hourly",
            at=NOON, colour=0x2E86C1, fields=(("Wind", "5 Bft"), ("Sea", "calm")),
            media=("https://example.org/map.png",),
        ),
    ),
    details={"duration": 12.4},
    mentions={"<@502>": "Bob"},
    texts=("Read more",),
    marks=("pinned",),
    via="helper_bot",
    expires_at=NOON + timedelta(days=1),
)  # fmt: skip
NUMBERS = MessageCounts(views=1_200, forwards=3, replies=2, votes={"0": 3, "1": 1}, voters=4)


def everything(number: int = 2) -> Message:
    """One message that holds everything at once, as no real one does."""
    return wrote(
        number, BOB, FORMATTED,
        reply_to=MessageId(1), kind=MessageKind.VOICE, content=EVERYTHING, counts=NUMBERS,
        files=(file(1, "", FileForm.VOICE, mime="audio/ogg"),), reactions=(Reaction("👍", 5),),
        raw={"effect": "5104841245755180586"},
    )  # fmt: skip


def lively_chat(topic: TopicId | None = None) -> Sequence[Message]:
    """Two days of a chat with every kind of content, as the pages show it."""
    long_text = "\n".join(f"{line}. Bring warm clothes, a lamp and something to eat." for line in range(1, 71))
    place = {"latitude": 53.8654, "longitude": 8.7014, "title": "Alte Liebe", "address": "Cuxhaven"}
    quiz = Poll(
        "How long is a nautical mile?",
        (PollAnswer("a", "1,609 m", correct=False), PollAnswer("b", "1,852 m", correct=True)),
        quiz=True, closed=True, explanation="One minute of latitude.",
    )  # fmt: skip
    joined = MessageContent(service="Bob joined the group")
    code = "Try this:\nfor tide in tides:\n    print(tide)\nand read > docs"
    coded = (
        span(code, "for tide in tides:\n    print(tide)", SpanKind.CODE_BLOCK, "python"),
        span(code, "and read > docs", SpanKind.QUOTE),
    )
    album = [
        wrote(
            20 + n, ADA, "The harbour at dawn" if n == 0 else "", at=NOON + timedelta(minutes=40), album=AlbumId(9),
            kind=MessageKind.PHOTO, files=(file(20 + n, f"dawn-{n}.jpg", FileForm.IMAGE, 480_000, "image/jpeg"),),
        )
        for n in range(3)
    ]  # fmt: skip
    chat = [
        wrote(1, ADA, "which tower?"),
        wrote(3, BOB, kind=MessageKind.SERVICE, service="MessageActionChatAddUser", content=joined),
        replace(everything(4), at=NOON + timedelta(minutes=4), kind=MessageKind.TEXT, files=()),
        wrote(5, BOB, "The old one by the pier."),
        wrote(6, BOB, "It is open until six 🌊"),
        wrote(7, ADA, "See you there", reply_to=MessageId(5), reactions=(Reaction("👍", 4), Reaction("🎉", 1))),
        wrote(8, ADA, code, content=MessageContent(formatting=coded)),
        wrote(9, HELPER, "", kind=MessageKind.POLL, content=MessageContent(poll=quiz), counts=NO_COUNTS),
        wrote(10, ADMIN, "Please stay on topic.", content=MessageContent(marks=("anonymous", "pinned"))),
        wrote(
            11, GONE, "", kind=MessageKind.VOICE, content=MessageContent(details={"duration": 12}),
            files=(file(11, "", FileForm.VOICE, 48_000, "audio/ogg"),),
        ),
        wrote(12, BOB, "", kind=MessageKind.VENUE, content=MessageContent(details=place)),
        wrote(
            13, BOB, "", kind=MessageKind.STICKER, content=MessageContent(details={"emoji": "😀", "set": "sea"}),
            files=(file(13, "sticker.webp", FileForm.STICKER, 31_000, "image/webp"),),
        ),
        wrote(14, ADA, "The plans", files=(file(14, "plans.zip", FileForm.FILE, 5_600_000, "application/zip"),),
              kind=MessageKind.FILE),
        wrote(15, ADA, long_text),
        wrote(16, BOB, "", kind=MessageKind.UNSUPPORTED, content=MessageContent(unsupported="MessageMediaHologram")),
        wrote(17, BOB, "A note from elsewhere", reply_to=MessageId(3),
              content=MessageContent(reply=Reply(MessageId(77), ChannelId(99), "Carl", "high water at noon"))),
        *album,
        wrote(30, ADA, "Good morning! https://example.org/tide", at=NOON + timedelta(days=1)),
        wrote(31, BOB, "שלום, מה שלומך?", at=NOON + timedelta(days=1, minutes=1)),
        wrote(32, ADA, "never mind", at=NOON + timedelta(days=1, minutes=2)),
        wrote(33, ADA, "The boat leaves at nien", at=NOON + timedelta(days=1, minutes=3)),
    ]  # fmt: skip
    return [one if topic is None else replace(one, topic=topic) for one in chat]
