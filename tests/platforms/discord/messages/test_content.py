"""Kind and content of Discord's messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from discord import ComponentType, StickerFormatType
from discord.types.embed import EmbedType

from tests.platforms.discord.shapes import CHANNEL, message
from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import (
    PLAIN,
    Embed,
    Forward,
    MessageContent,
    MessageCounts,
    MessageKind,
    OriginKind,
    Poll,
    PollAnswer,
    Reply,
)
from tidegate.platforms.discord.messages import components, embeds
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.translation import message_of
from tidegate.platforms.interface import FileForm

NOON = "2026-01-02T12:00:00+00:00"
NOON_AT = datetime(2026, 1, 2, 12, tzinfo=UTC)
SIGNED = "https://cdn.discordapp.com/attachments/1/2/x.png?ex=1&is=2&hm=3"
UNSIGNED = "https://cdn.discordapp.com/attachments/1/2/x.png"


def content(**fields: Any) -> MessageContent:
    found = message_of(message(**fields))
    assert (found.kind, found.content) == content_of(found.raw)
    return found.content


def file(mime: str, **more: Any) -> dict[str, Any]:
    return {"id": "77", "filename": "x", "size": 5, "content_type": mime, "url": SIGNED, "proxy_url": SIGNED, **more}


def test_a_plain_text_has_no_content() -> None:
    """Neither has one that was edited, or came from a bot."""
    assert content() is PLAIN
    assert content(edited_timestamp=NOON, webhook_id="5") is PLAIN


class TestEmbeds:
    def test_all_fields_of_an_embed(self) -> None:
        """Its addresses stand without signatures, and each only once."""
        told = {
            "type": "rich",
            "title": "Tides",
            "description": "High at noon",
            "url": "https://example.org/tides",
            "timestamp": NOON,
            "color": 0,
            "author": {"name": "Ada", "url": "https://example.org/ada", "icon_url": SIGNED},
            "footer": {"text": "from the harbour"},
            "provider": {"name": "Harbour"},
            "fields": [{"name": "High", "value": "12:00", "inline": True}, {"name": "Low", "value": "18:00"}],
            "image": {"url": SIGNED, "proxy_url": SIGNED, "width": 4},
            "thumbnail": {"url": SIGNED},
            "video": {"url": "https://example.org/v"},
        }
        assert content(embeds=[told]).embeds == (
            Embed(
                kind="rich",
                title="Tides",
                description="High at noon",
                url="https://example.org/tides",
                author="Ada",
                footer="from the harbour",
                provider="Harbour",
                at=NOON_AT,
                colour=0,
                fields=(("High", "12:00"), ("Low", "18:00")),
                media=(UNSIGNED, "https://example.org/v"),
            ),
        )

    @pytest.mark.parametrize("kind", get_args(EmbedType))
    def test_every_type_of_the_library_is_known(self, kind: str) -> None:
        """A new release that knows another one needs it here."""
        assert kind in embeds.KNOWN
        found = content(embeds=[{"type": kind, "title": "Tides"}])
        assert (found.embeds[0].kind, found.embeds[0].title, found.unsupported) == (kind, "Tides", "")

    def test_an_unknown_type_is_read_like_the_others(self) -> None:
        """And it is said that there may be more in it."""
        found = content(embeds=[{"type": "gift", "title": "For you"}])
        assert (found.embeds[0].title, found.unsupported) == ("For you", "embed gift")


class TestComponents:
    @pytest.mark.parametrize("kind", list(ComponentType), ids=lambda one: one.name)
    def test_every_type_of_the_library_is_known(self, kind: ComponentType) -> None:
        """Each says what stands in it, alone and within a container."""
        assert kind.value in components.KNOWN
        one = {"type": kind.value, "id": 3, "custom_id": "c", "content": "said", "label": "labelled"}
        assert content(content="", components=[{"type": 17, "components": [one]}]) == MessageContent(
            texts=("labelled", "said")
        )

    def test_a_laid_out_message_says_its_texts_from_top_to_bottom(self) -> None:
        """Sections, buttons with their addresses, menus with their choices, galleries and files."""
        section = {
            "type": 9,
            "components": [{"type": 10, "content": "**High**"}],
            "accessory": {"type": 2, "label": "More", "url": "https://example.org", "emoji": {"name": "🌊"}},
        }
        menu = {
            "type": 3,
            "placeholder": "Choose",
            "options": [{"label": "Noon", "value": "secret", "description": "the higher one"}],
        }
        gallery = {"type": 12, "items": [{"media": {"url": SIGNED}, "description": "the pier"}]}
        end = [
            {"type": 1, "components": [menu]},
            gallery,
            {"type": 13, "file": {"url": f"{UNSIGNED}/t.zip"}, "name": "t.zip"},
        ]
        assert content(content="", flags=1 << 15, components=[{"type": 17, "components": [section, *end]}]).texts == (
            "**High**", "🌊 More: https://example.org", "Choose", "Noon", "the higher one",
            "the pier", "x.png", "t.zip",
        )  # fmt: skip

    def test_an_unknown_type_is_read_like_the_others(self) -> None:
        """Whatever it says and holds is not lost."""
        found = content(components=[{"type": 99, "label": "new", "components": [{"type": 10, "content": "below"}]}])
        assert (found.texts, found.unsupported) == (("new", "below"), "component 99")


class TestStickers:
    @pytest.mark.parametrize("format_type", list(StickerFormatType), ids=lambda one: one.name)
    def test_every_format_of_the_library_is_known(self, format_type: StickerFormatType) -> None:
        """Kept by name, number and format; the picture is a file."""
        sticker = {"id": "8", "name": "Wave", "format_type": format_type.value}
        found = message_of(message(content="", sticker_items=[sticker]))
        assert found.kind is MessageKind.STICKER
        assert found.content.unsupported == ""
        assert found.content.details == {"stickers": [{"id": "8", "name": "Wave", "format": format_type.name}]}

    def test_an_unknown_format_is_named_by_its_number(self) -> None:
        """The sticker is shown by its name all the same."""
        found = content(sticker_items=[{"id": "8", "name": "Wave", "format_type": 9}])
        assert found.unsupported == "sticker format 9"


class TestPolls:
    POLL: dict[str, Any] = {  # noqa: RUF012
        "question": {"text": "When?"},
        "answers": [
            {"answer_id": 1, "poll_media": {"text": "Noon", "emoji": {"name": "☀"}}},
            {"answer_id": 2, "poll_media": {"text": "Night"}},
        ],
        "expiry": NOON,
        "allow_multiselect": True,
        "layout_type": 1,
    }

    def test_a_poll_with_its_answers(self) -> None:
        """Votes name an answer by its number."""
        found = message_of(message(content="", poll=self.POLL))
        assert found.kind is MessageKind.POLL
        assert found.content.poll == Poll(
            question="When?",
            answers=(PollAnswer("1", "☀ Noon"), PollAnswer("2", "Night")),
            multiple=True,
            public=True,
            closes_at=NOON_AT,
        )
        assert found.counts == MessageCounts()

    def test_results_are_numbers_and_no_content(self) -> None:
        """An answer that is not counted has no votes; results that are left out are not known."""
        results = {"is_finalized": False, "answer_counts": [{"id": "2", "count": 3, "me_voted": True}]}
        found = message_of(message(poll={**self.POLL, "results": results}))
        assert found.counts == MessageCounts(votes={"1": 0, "2": 3})
        assert found.raw == message_of(message(poll=self.POLL)).raw

    def test_a_poll_is_closed_when_its_results_are_final(self) -> None:
        """That is content: it happens once."""
        closed = content(poll={**self.POLL, "results": {"is_finalized": True, "answer_counts": []}}).poll
        assert closed is not None
        assert closed.closed


class TestOrigins:
    SNAPSHOT: dict[str, Any] = {  # noqa: RUF012
        "content": "ask <@6>",
        "timestamp": NOON,
        "embeds": [{"type": "rich", "title": "Tides"}],
        "attachments": [file("image/png", filename="pier.png")],
        "mentions": [{"id": "6", "username": "bob", "avatar": "x"}],
        "components": [{"type": 10, "content": "below"}],
        "flags": 0,
        "type": 0,
    }

    def test_a_forwarded_message_is_kept_with_its_origin(self) -> None:
        """Text, cards and file names stand apart from the message's own."""
        reference = {"type": 1, "channel_id": "4", "message_id": "3", "guild_id": "2"}
        told = message(content="", message_reference=reference, message_snapshots=[{"message": self.SNAPSHOT}])
        found = message_of(told, {"<#4>": "harbour"}.get)  # type: ignore[arg-type]
        assert found.content.forward == Forward(
            kind=OriginKind.CHANNEL,
            name="harbour",
            id=4,
            at=NOON_AT,
            message=MessageId(3),
            text="ask <@6>",
            embeds=(Embed(kind="rich", title="Tides"),),
            files=("pier.png",),
        )
        assert found.content.mentions == {"<@6>": "bob", "<#4>": "harbour"}
        assert (found.kind, found.reply_to, found.content.texts) == (MessageKind.PHOTO, None, ("below",))

    def test_a_message_of_the_same_channel_can_be_forwarded(self) -> None:
        """The channel is named all the same."""
        reference = {"type": 1, "channel_id": CHANNEL, "message_id": "3"}
        forward = content(message_reference=reference, message_snapshots=[{"message": self.SNAPSHOT}]).forward
        assert forward is not None
        assert forward.id == int(CHANNEL)

    def test_a_post_of_a_followed_channel_names_it(self) -> None:
        """Its text is that of the message itself."""
        found = content(flags=1 << 1, message_reference={"channel_id": "4", "message_id": "3", "guild_id": "2"})
        assert found.forward == Forward(OriginKind.CHANNEL, id=4, message=MessageId(3))
        assert found.marks == ("from a followed channel",)

    def test_a_reply_to_a_deleted_message_says_so(self) -> None:
        """Discord sends null for it; where it sends nothing, nothing is known."""
        told = {"type": 19, "message_reference": {"message_id": "3", "channel_id": CHANNEL}}
        assert content(**told, referenced_message=None).reply == Reply(MessageId(3), gone=True)
        assert content(**told, referenced_message=message(3)).reply is None
        assert content(**told).reply is None

    def test_a_reply_to_another_channel_names_it(self) -> None:
        """As the first message of a thread does."""
        reference = {"message_id": "3", "channel_id": "4"}
        expected = Reply(MessageId(3), ChannelId(4))
        assert content(type=19, message_reference=reference).reply == expected
        assert content(type=21, message_reference=reference).reply == expected

    @pytest.mark.parametrize("kind", [6, 21, 46])
    def test_an_announcement_about_a_message_leads_to_it(self, kind: int) -> None:
        """A pinned message, and a poll that closed."""
        assert message_of(message(type=kind, message_reference={"message_id": "3"})).reply_to == 3


class TestMentions:
    def test_names_of_the_time(self) -> None:
        """People as the message names them, channels and roles as far as the reader knows them."""
        names = {"<#6>": "general", "<@&7>": "crew"}
        told = message(
            content="<@5> <@!6> <#6> <#9> <@&7>",
            mentions=[
                {"id": "5", "username": "ada", "global_name": "Ada", "avatar": "x"},
                {"id": "6", "username": "b"},
            ],
            mention_roles=["7"],
        )
        found = message_of(told, lambda written: names.get(written, ""))
        assert found.content.mentions == {"<@5>": "Ada", "<@6>": "b", "<#6>": "general", "<@&7>": "crew"}

    def test_a_message_from_elsewhere_names_its_channels_itself(self) -> None:
        """The reader need not know them."""
        channels = [{"id": "9", "guild_id": "2", "type": 0, "name": "far"}]
        assert content(content="<#9>", mention_channels=channels).mentions == {"<#9>": "far"}


@pytest.mark.parametrize(
    ("attachment", "kind", "form"),
    [
        (file("image/png"), MessageKind.PHOTO, FileForm.IMAGE),
        (file("image/gif"), MessageKind.ANIMATION, FileForm.ANIMATION),
        (file("video/mp4"), MessageKind.VIDEO, FileForm.VIDEO),
        (file("audio/mpeg"), MessageKind.AUDIO, FileForm.AUDIO),
        (file("audio/ogg", waveform="AAA", duration_secs=1.5), MessageKind.VOICE, FileForm.VOICE),
        (file("application/zip"), MessageKind.FILE, FileForm.FILE),
    ],
)
def test_what_files_make_of_a_message(attachment: dict[str, Any], kind: MessageKind, form: FileForm) -> None:
    """The first file decides, also when the kind is read again from what is stored."""
    found = message_of(message(attachments=[attachment, file("application/zip", id="78")]))
    assert (found.kind, found.files[0].form) == (kind, form)
    assert content_of(found.raw)[0] is kind


def test_a_voice_message_has_a_length() -> None:
    """In seconds."""
    voice = file("audio/ogg", waveform="AAA", duration_secs=1.5)
    assert content(content="", flags=1 << 13, attachments=[voice]).details == {"duration": 1.5}


def test_marks() -> None:
    """The yes-or-no facts, in one order."""
    assert content(pinned=True, tts=True, mention_everyone=True).marks == (
        "pinned", "text to speech", "mentions everyone",
    )  # fmt: skip
    assert content(flags=1 << 2 | 1 << 12).marks == ("embeds hidden", "silent")
    assert content(attachments=[file("image/png", filename="SPOILER_x.png")]).marks == ("spoiler",)
    assert content(attachments=[file("image/png", flags=8)]).marks == ("spoiler",)


def test_an_answer_to_a_command_names_who_gave_it() -> None:
    """And the command, where Discord tells."""
    user = {"id": "6", "username": "bob", "avatar": "x"}
    assert content(type=20, interaction={"id": "1", "type": 2, "name": "play", "user": user}).details == {
        "command": "play", "invoked by": "bob",
    }  # fmt: skip


def test_an_invitation_names_its_application() -> None:
    """To play or to listen together."""
    application = {"id": "3", "name": "Chart", "description": "today's", "icon": "x"}
    found = content(activity={"type": 3, "party_id": "p"}, application=application)
    assert (found.via, found.details) == ("Chart", {"invitation": "listen"})
