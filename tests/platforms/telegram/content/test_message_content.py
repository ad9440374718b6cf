"""What a message is and holds, by example; ``test_every_field`` walks the schema."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from telethon.tl import types

from tests.platforms.telegram.content.posted import ADA, NOON, WHERE, message, read
from tidegate.core.message_content import LinkPreview, MessageContent, MessageKind
from tidegate.platforms.interface import FileForm

HERE = types.GeoPoint(13.4, 52.5, 1, accuracy_radius=10)
PLACE = {"latitude": 52.5, "longitude": 13.4, "accuracy": 10}


def text(words: str) -> types.TextWithEntities:
    return types.TextWithEntities(words, [])


def held(**fields: Any) -> MessageContent:
    return read(message(**fields)).content


class TestDetails:
    @pytest.mark.parametrize(
        ("media", "kind", "details"),
        [
            (types.MessageMediaContact("49", "Ada", "L", "BEGIN", 1), MessageKind.CONTACT,
             {"phone": "49", "first_name": "Ada", "last_name": "L", "vcard": "BEGIN", "person": 1}),
            (types.MessageMediaGeo(HERE), MessageKind.LOCATION, PLACE),
            (types.MessageMediaGeo(types.GeoPointEmpty()), MessageKind.LOCATION, None),
            (types.MessageMediaGeoLive(HERE, 60, heading=90), MessageKind.LIVE_LOCATION,
             {**PLACE, "lasts_for": 60, "heading": 90}),
            (types.MessageMediaVenue(HERE, "Quay", "1 Sea St", "foursquare", "v1", "bar"), MessageKind.VENUE,
             {**PLACE, "title": "Quay", "address": "1 Sea St", "provider": "foursquare", "venue": "v1",
              "venue_type": "bar"}),
            (types.MessageMediaDice(0, "🎲"), MessageKind.DICE, {"emoji": "🎲", "value": 0}),
            (types.MessageMediaInvoice("Boat", "Red", "EUR", 145, "x", test=True), MessageKind.INVOICE,
             {"title": "Boat", "description": "Red", "currency": "EUR", "amount": 145, "test": True}),
            (types.MessageMediaStory(ADA, 3), MessageKind.STORY, {"story": 3, "owner": 1, "owner_name": "Ada"}),
            (types.MessageMediaGiveaway([77], 5, NOON, stars=9), MessageKind.GIVEAWAY,
             {"winners": 5, "until": "2026-03-01T12:00:00+00:00", "stars": 9, "channels": [-1_000_000_000_077],
              "channel_names": ["Models"]}),
            (types.MessageMediaPhoto(ttl_seconds=5), MessageKind.PHOTO, {"self_destructs_after": 5}),
            (types.MessageMediaDocument(voice=True, ttl_seconds=5), MessageKind.VOICE, {"self_destructs_after": 5}),
        ],
    )  # fmt: skip
    def test_a_kind_says_what_it_is_about(self, media: Any, kind: MessageKind, details: dict[str, Any] | None) -> None:
        """By plain names, without what is not told."""
        found = read(message(media=media))
        assert (found.kind, found.content.details) == (kind, details)

    def test_a_task_says_who_did_it(self) -> None:
        """Of a to-do list each item has its state."""
        todo = types.TodoList(text("Ship"), [types.TodoItem(1, text("Hull")), types.TodoItem(2, text("Sail"))])
        found = held(media=types.MessageMediaToDo(todo, [types.TodoCompletion(1, ADA, NOON)]))
        assert found.details == {
            "title": "Ship",
            "items": [
                {"key": "1", "text": "Hull", "done_by": 1, "done_by_name": "Ada", "done_at": NOON.isoformat()},
                {"key": "2", "text": "Sail"},
            ],
        }

    def test_a_photo_is_an_image(self) -> None:
        """A plain one needs no details."""
        photo = types.Photo(1, 2, b"", NOON, [types.PhotoSize("m", 1, 1, 5)], 2)
        found = read(message(media=types.MessageMediaPhoto(photo=photo, spoiler=True)))
        assert [file.form for file in found.files] == [FileForm.IMAGE]
        assert (found.kind, found.content) == (MessageKind.PHOTO, MessageContent(marks=("spoiler",)))


class TestPreviews:
    def test_a_link_has_its_preview(self) -> None:
        """What Telegram shows of the page; the message stays a text."""
        page = types.WebPage(
            1, "https://a.example", "a.example", 7, site_name="A", title="T", description="D", type="x"
        )
        found = read(message(media=types.MessageMediaWebPage(page)))
        assert (found.kind, found.files) == (MessageKind.TEXT, ())
        assert found.content.preview == LinkPreview("https://a.example", "A", "T", "D", kind="x")

    @pytest.mark.parametrize(
        "page", [types.WebPagePending(1, NOON, url="https://a.example"), types.WebPageEmpty(1, url="https://a.example")]
    )
    def test_a_page_that_is_not_there_yet_has_none(self, page: Any) -> None:
        """Its address is kept."""
        found = read(message(media=types.MessageMediaWebPage(page)))
        assert found.content.preview is None
        assert found.raw["media"]["webpage"] == {"_": type(page).__name__, "id": 1, "url": "https://a.example"}


class TestRest:
    def test_the_bot_that_helped_is_named(self) -> None:
        """By how one writes to it."""
        assert held(via_bot_id=4).via == "@gif"

    def test_a_message_that_will_expire_says_when(self) -> None:
        """Clients delete it then, and tell nobody."""
        assert held(ttl_period=60).expires_at == NOON + timedelta(minutes=1)

    def test_yes_or_no_facts_are_marks(self) -> None:
        """A hidden edit is none: reactions come as one."""
        found = held(pinned=True, silent=True, from_scheduled=True, noforwards=True, edit_hide=True, edit_date=NOON)
        assert found.marks == ("pinned", "silent", "sent by schedule", "protected")

    def test_the_texts_of_buttons_are_found(self) -> None:
        """They are searched like the message's own, also the addresses that they lead to; what they do is kept."""
        buttons = [
            types.KeyboardInlineButton("Buy", types.InlineButtonTypeUrl("https://a")),
            types.KeyboardInlineButton("Play", types.InlineButtonTypeWebView("https://b")),
            types.KeyboardInlineButton("More", types.InlineButtonTypeCallback(b"more")),
        ]
        row = types.KeyboardInlineButtonRow(buttons)
        found = read(message(reply_markup=types.ReplyInlineMarkup([row])))
        assert found.content.texts == ("Buy: https://a", "Play: https://b", "More")
        below = types.ReplyKeyboardMarkup(
            [types.KeyboardButtonRow([types.KeyboardButton("Menu", types.ButtonTypeSimpleWebView("https://c"))])]
        )
        assert read(message(reply_markup=below)).content.texts == ("Menu: https://c",)
        assert "https://a" in str(found.raw["reply_markup"])

    def test_the_texts_of_a_rich_message_are_found(self) -> None:
        """Piece by piece in their order, without their formatting."""
        heading = types.PageBlockHeading1(types.TextPlain("News"))
        words = types.TextConcat([types.TextBold(types.TextPlain("Ships ")), types.TextPlain("sail")])
        quote = types.PageBlockDetails([types.PageBlockParagraph(words)], types.TextPlain("More"))
        found = held(rich_message=types.RichMessage([heading, quote], [], []))
        assert found.texts == ("News", "More", "Ships sail")

    def test_a_fact_check_is_found(self) -> None:
        """What independent checkers wrote about the message."""
        assert held(factcheck=types.FactCheck(1, country="DE", text=text("Not so."))).texts == ("Not so.",)

    def test_a_reply_in_a_forum_stays_in_its_topic(self) -> None:
        """Content and place of a message are told apart."""
        header = types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=40)
        assert read(message(reply_to=header, peer_id=WHERE)).topic == 40
