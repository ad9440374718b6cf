"""What a message holds beside its text, in a few words of one line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.rich_messages import EVERYTHING, NUMBERS, file
from tidegate.core.message_content import (
    NO_COUNTS,
    PLAIN,
    Embed,
    Forward,
    LinkPreview,
    MessageContent,
    MessageKind,
    OriginKind,
    Poll,
    PollAnswer,
)
from tidegate.history.rules.content_summary import content_words, duration_words, file_words, forward_words
from tidegate.platforms.interface import FileForm, FileKind


@pytest.mark.parametrize(
    ("form", "name", "details", "words"),
    [
        (FileForm.IMAGE, "", {}, "photo"),
        (FileForm.IMAGE, "cat.png", {}, "photo cat.png"),
        (FileForm.VOICE, "", {"duration": 12.4}, "voice 0:12"),
        (FileForm.VIDEO, "a.mp4", {"duration": 3_725}, "video 1:02:05 a.mp4"),
        (FileForm.STICKER, "", {"emoji": "😀"}, "sticker 😀"),
        (FileForm.FILE, "a.zip", {}, "file a.zip"),
        (FileForm.FILE, "", {}, "file without a name"),
        (FileForm.FILE, "a]\n[b.zip", {}, "file a) ⏎ (b.zip"),
    ],
)
def test_a_file_in_words(form: FileForm, name: str, details: dict[str, object], words: str) -> None:
    """What it is, how long it is, and what it is called."""
    assert file_words(file(1, name, form), details) == words


@pytest.mark.parametrize(
    ("kind", "mime", "words"),
    [
        (FileKind.PHOTO, "", "photo x"),
        (FileKind.DOCUMENT, "video/mp4", "file x"),
        (FileKind.MEDIA, "video/mp4", "video x"),
        (FileKind.MEDIA, "image/webp", "file x"),
    ],
)
def test_a_file_of_an_older_row(kind: FileKind, mime: str, words: str) -> None:
    """Where only kind and type are known they are used."""

    class Known:
        name, form = "x", ""

        def __init__(self) -> None:
            self.kind, self.mime = kind.value, mime

    assert file_words(Known(), {}) == words


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        (MessageKind.TEXT, PLAIN, []),
        (
            MessageKind.POLL,
            MessageContent(poll=Poll("Where?", (PollAnswer("0", "Here"), PollAnswer("1", "There")))),
            ["poll: Where? | Here 3 | There 1"],
        ),
        (MessageKind.CONTACT, MessageContent(details={"phone": "123", "first_name": "Ada"}), ["contact: 123, Ada"]),
        (MessageKind.DICE, MessageContent(details={"emoji": "🎲", "value": 6}), ["dice: 🎲, 6"]),
        (MessageKind.STICKER, MessageContent(details={"stickers": [{"name": "Wave"}]}), ["sticker Wave"]),
        (MessageKind.UNSUPPORTED, MessageContent(unsupported="Hologram"), ["unsupported: Hologram"]),
        (MessageKind.PHOTO, PLAIN, ["photo"]),
        (MessageKind.TEXT, MessageContent(embeds=(Embed(title="Wind"),)), ["embed: Wind"]),
        (MessageKind.TEXT, MessageContent(preview=LinkPreview("https://x", title="X")), ["link: X"]),
    ],
)
def test_content_in_words(kind: MessageKind, content: MessageContent, words: list[str]) -> None:
    """Each kind of content by its most important words."""
    assert content_words(kind, content, NUMBERS, ()) == words


def test_votes_that_are_not_known_are_not_told() -> None:
    """No number is not zero."""
    assert content_words(MessageKind.POLL, replace(EVERYTHING, embeds=(), preview=None, texts=()), NO_COUNTS, ()) == [
        "poll: Where shall we meet? | At the pier | At the lighthouse"
    ]


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (Forward(OriginKind.CHANNEL, "Sea News", signature="Carl"), "forwarded from Sea News (Carl)"),
        (Forward(OriginKind.HIDDEN), "forwarded from somebody hidden"),
        (Forward(OriginKind.PERSON), "forwarded from person"),
    ],
)
def test_a_forward_in_words(forward: Forward, words: str) -> None:
    """By the name of where it came from, if there is one."""
    assert forward_words(forward) == words


@given(
    kind=st.sampled_from(MessageKind),
    content=st.builds(
        MessageContent,
        poll=...,
        embeds=...,
        preview=...,
        unsupported=...,
        texts=...,
        details=st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())),
    ),
    name=st.text(),
)
def test_strangers_neither_break_the_line_nor_close_the_brackets(
    kind: MessageKind, content: MessageContent, name: str
) -> None:
    """Whatever is in it, it stays within its brackets, on its line, and short."""
    for words in content_words(kind, content, NUMBERS, [file(1, name, FileForm.FILE)]):
        assert len(words.splitlines()) == 1
        assert not {*"[]"} & {*words}
        assert len(words) < 5_000


@given(seconds=st.none() | st.floats() | st.text() | st.integers() | st.booleans())
def test_any_duration_is_short(seconds: object) -> None:
    """What is no length of time is left out."""
    assert len(duration_words(seconds)) < 12
