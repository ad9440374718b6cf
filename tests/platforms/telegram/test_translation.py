"""Telegram's objects in our words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tidegate.core.ids import ChannelId, MessageId, UserId
from tidegate.core.message_content import MessageCounts, Person
from tidegate.platforms.interface import (
    CannotAsk,
    ChannelUpdates,
    Difference,
    File,
    FileForm,
    FileHandle,
    FileKind,
    Message,
    Patch,
    Reaction,
    Recounted,
    TooLong,
    TopicEvent,
    UpdateHint,
)
from tidegate.platforms.telegram import translation
from tidegate.platforms.telegram.files.file_handles import location_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHERE = types.PeerChannel(77)
LIKED = types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 2)])
VOTED = types.PollResults(results=[types.PollAnswerVoters(b"0", voters=3)], total_voters=3)


def header(**fields: Any) -> types.MessageReplyHeader:
    return types.MessageReplyHeader(**fields)


def message(number: int = 5, **fields: Any) -> types.Message:
    return types.Message(id=number, peer_id=WHERE, date=NOON, **{"message": "hello", **fields})


def service(number: int, action: Any, **fields: Any) -> types.MessageService:
    return types.MessageService(id=number, peer_id=WHERE, date=NOON, action=action, **fields)


def document(*attributes: Any, size: int = 9) -> types.MessageMediaDocument:
    found = types.Document(
        id=1, access_hash=2, file_reference=b"ref", date=NOON, mime_type="x/y", size=size, dc_id=4,
        attributes=list(attributes),
    )  # fmt: skip
    return types.MessageMediaDocument(document=found)


def channel(**fields: Any) -> types.Channel:
    given = {"id": 77, "title": "Models", "photo": types.ChatPhotoEmpty(), "date": NOON, "access_hash": 3}
    return types.Channel(**{**given, **fields})


def dialog(number: int = 77, *, top: int = 9, pts: int | None = 12) -> types.Dialog:
    return types.Dialog(
        types.PeerChannel(number), top, 0, 0, 0, 0, 0, 0, types.PeerNotifySettings(), pts=pts
    )  # fmt: skip


class TestTopics:
    @pytest.mark.parametrize(
        ("reply_to", "topic"),
        [
            (None, 1),
            (header(reply_to_msg_id=900), 1),
            (header(reply_to_msg_id=900, reply_to_top_id=700), 1),
            (header(forum_topic=True, reply_to_msg_id=900, reply_to_top_id=700), 700),
            (header(forum_topic=True, reply_to_msg_id=900), 900),
            (types.MessageReplyStoryHeader(peer=WHERE, story_id=3), 1),
        ],
    )
    def test_s67_s68_the_header_says_which_topic(self, reply_to: Any, topic: int) -> None:
        """S-67, S-68: no header is General, and only a header marked forum_topic leads elsewhere."""
        translated = translation.message_of(message(reply_to=reply_to), {})
        assert translated is not None
        assert translated.topic == topic

    @given(
        marked=st.booleans(), replied=st.integers(2, 1_000), root=st.none() | st.integers(2, 1_000)
    )  # a forum's root messages are never 1
    def test_only_a_marked_header_leads_out_of_general(self, marked: bool, replied: int, root: int | None) -> None:
        """S-68 for every header: marked means its root, or what it replies to; unmarked always means General."""
        found = translation.topic_of(header(forum_topic=marked, reply_to_msg_id=replied, reply_to_top_id=root))
        assert found == ((root or replied) if marked else 1)

    def test_an_author_has_a_number(self) -> None:
        """Whoever wrote it, as Telegram numbers people and channels; a channel's own post is the channel's."""
        person = translation.message_of(message(from_id=types.PeerUser(77)), {UserId(77): Person(UserId(77), "Ada")})
        channel = translation.message_of(message(post_author="Bob"), {})
        assert person is not None
        assert channel is not None
        assert (person.author, person.author_id) == ("Ada", 77)
        assert (channel.author, channel.author_id) == ("Bob", -1000000000077)

    def test_s63_a_created_topic_is_known_by_its_own_message(self) -> None:
        """S-63: the number of a topic is that of the message that created it, and its title comes along."""
        action = types.MessageActionTopicCreate(title="Cars", icon_color=1)
        translated = translation.message_of(service(40, action), {})
        assert translated is not None
        assert (translated.topic, translated.topic_event) == (40, TopicEvent(created=True, title="Cars"))

    def test_s64_a_renamed_topic_tells_its_title(self) -> None:
        """S-64: an edit says only what changed, and belongs to the topic its header names."""
        action = types.MessageActionTopicEdit(title="Trains")
        translated = translation.message_of(
            service(41, action, reply_to=header(forum_topic=True, reply_to_msg_id=40)), {}
        )
        assert translated is not None
        assert translated.topic == 40
        assert translated.topic_event == TopicEvent(created=False, title="Trains", closed=None, hidden=None)

    def test_s71_a_deleted_topic_is_a_number_that_is_gone(self) -> None:
        """S-71: a row without title or top message does no harm and says that the topic is gone."""
        rows = [types.ForumTopicDeleted(id=8)]
        [topic] = translation.topics_of(types.messages.ForumTopics(1, rows, [], [], [], pts=3))
        assert (topic.id, topic.gone, topic.newest) == (8, True, None)

    def test_a_short_row_has_no_newest_message(self) -> None:
        """What a short row says of its top message is not valid, so it is not told."""
        settings = types.PeerNotifySettings()
        row = types.ForumTopic(8, NOON, WHERE, "Cars", 1, 99, 0, 0, 0, 0, 0, 0, WHERE, settings, short=True)
        [topic] = translation.topics_of(types.messages.ForumTopics(1, [row], [], [], [], pts=3))
        assert (topic.title, topic.newest) == ("Cars", None)


class TestMessages:
    def test_a_message_that_is_gone_is_none(self) -> None:
        """S-39: the empty shell Telegram answers with is not a message."""
        assert translation.message_of(types.MessageEmpty(5, WHERE), {}) is None

    def test_the_author_is_who_signed_or_sent_it(self) -> None:
        """A signature first, then the sender, then the channel itself."""
        names = {UserId(1): "Ada", UserId(-1000000000077): "Models"}
        people = {number: Person(number, name) for number, name in names.items()}
        by = {
            "Eve": message(post_author="Eve", from_id=types.PeerUser(1)),
            "Ada": message(from_id=types.PeerUser(1)),
            "Models": message(),
            "": message(from_id=types.PeerUser(2)),
        }
        for author, found in by.items():
            translated = translation.message_of(found, people)
            assert translated is not None
            assert translated.author == author

    def test_a_reply_names_the_message_answered(self) -> None:
        """In a topic, the header of a plain message names the topic's root, which is no reply."""
        plain = translation.message_of(message(reply_to=header(forum_topic=True, reply_to_msg_id=40)), {})
        reply = translation.message_of(
            message(reply_to=header(forum_topic=True, reply_to_msg_id=55, reply_to_top_id=40)), {}
        )
        assert plain is not None
        assert reply is not None
        assert (plain.reply_to, reply.reply_to) == (None, 55)


class TestFiles:
    def test_a_document_keeps_its_name_size_and_way_back(self) -> None:
        """The handle holds all that reading takes, and the data centre that has it."""
        media = document(types.DocumentAttributeFilename("../../x.zip"), size=2**31)
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        [file] = translated.files
        assert (file.name, file.size, file.kind) == ("../../x.zip", 2**31, FileKind.DOCUMENT)
        location, centre = location_of(file.handle)
        assert (location.id, location.access_hash, location.file_reference, centre) == (1, 2, b"ref", 4)

    def test_what_is_shown_as_video_is_no_document(self) -> None:
        """The document search does not find it, so coverage of documents must not claim it."""
        media = document(types.DocumentAttributeVideo(duration=1, w=1, h=1), types.DocumentAttributeFilename("x.mp4"))
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        assert [file.kind for file in translated.files] == [FileKind.MEDIA]

    def test_a_photo_is_read_in_its_largest_size(self) -> None:
        """Sizes that come inside the message are no files."""
        sizes = [
            types.PhotoStrippedSize("i", b""),
            types.PhotoSize("m", 1, 1, 50),
            types.PhotoSizeProgressive("y", 2, 2, [9, 70]),
        ]
        media = types.MessageMediaPhoto(photo=types.Photo(1, 2, b"ref", NOON, sizes, dc_id=4))
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        [file] = translated.files
        assert (file.kind, file.size, location_of(file.handle)[0].thumb_size) == (FileKind.PHOTO, 70, "y")

    @pytest.mark.parametrize(("sizes", "middle"), [("y", "y"), ("my", "y"), ("mxy", "x"), ("smxy", "x")])
    def test_a_photo_has_a_picture_of_middle_size(self, sizes: str, middle: str) -> None:
        """A preview wants neither the tiniest nor the largest."""
        told = [types.PhotoSize(kind, 1, 1, 10 * number) for number, kind in enumerate(sizes, start=1)]
        media = types.MessageMediaPhoto(photo=types.Photo(1, 2, b"ref", NOON, told, dc_id=4))
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        picture = translated.files[0].picture
        assert picture is not None
        assert location_of(picture.handle)[0].thumb_size == middle
        assert picture.size == 10 * (1 + sizes.index(middle))

    @pytest.mark.parametrize(
        ("attributes", "form"),
        [
            ([], FileForm.FILE),
            ([types.DocumentAttributeImageSize(1, 1)], FileForm.IMAGE),
            ([types.DocumentAttributeVideo(1, 1, 1)], FileForm.VIDEO),
            ([types.DocumentAttributeVideo(1, 1, 1, round_message=True)], FileForm.ROUND_VIDEO),
            ([types.DocumentAttributeVideo(1, 1, 1), types.DocumentAttributeAnimated()], FileForm.ANIMATION),
            ([types.DocumentAttributeAudio(1, voice=True)], FileForm.VOICE),
            ([types.DocumentAttributeAudio(1)], FileForm.AUDIO),
            ([types.DocumentAttributeSticker("👍", types.InputStickerSetEmpty())], FileForm.STICKER),
        ],
    )
    def test_a_file_is_told_by_what_it_is_to_its_reader(self, attributes: list[Any], form: FileForm) -> None:
        """The message is of the same kind; only a picture sent as a file stays a file."""
        media = document(*attributes)
        media.document.mime_type = "image/png"
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        assert [file.form for file in translated.files] == [form]
        assert translated.kind.value == ("file" if form is FileForm.IMAGE else form.value)

    def test_paid_media_has_a_file_each_once_it_is_bought(self) -> None:
        """Before that there are only previews."""
        bought = [types.MessageExtendedMedia(document(types.DocumentAttributeVideo(1, 1, 1))) for _ in range(2)]
        shown: list[list[Any]] = [bought, [types.MessageExtendedMediaPreview()]]
        files: list[list[File]] = []
        for media in shown:
            translated = translation.message_of(message(media=types.MessageMediaPaidMedia(5, media)), {})
            assert translated is not None
            files.append(list(translated.files))
        assert [len(one) for one in files] == [2, 0]

    def test_a_file_that_is_gone_is_none(self) -> None:
        """Media that Telegram withdrew leaves an empty shell."""
        media = types.MessageMediaDocument(document=types.DocumentEmpty(id=1))
        translated = translation.message_of(message(media=media), {})
        assert translated is not None
        assert translated.files == ()

    @pytest.mark.parametrize("handle", ["", "4:", "4:AAAA", "x:hHXQug==", "4:tXVylwAA"])
    def test_nonsense_is_refused_as_a_handle(self, handle: str) -> None:
        """A handle that is none is told so in a sentence, and is not tried again."""
        with pytest.raises(CannotAsk, match="no handle"):
            location_of(FileHandle(handle))


class TestChannels:
    def test_a_head_tells_counter_newest_and_channel(self) -> None:
        """S-13: what the gate compares, and the forum flag of the same answer (S-66)."""
        answer = types.messages.PeerDialogs([dialog()], [], [channel(forum=True, noforwards=True)], [], state=None)
        head = translation.heads_of(answer)[ChannelId(77)]
        assert (head.newest, head.changes) == (9, 12)
        assert head.channel is not None
        assert (head.channel.forum, head.channel.protected) == (True, True)

    def test_s11_a_channel_that_is_not_described_is_missing(self) -> None:
        """S-11: a dialog without its channel, or of one the account left, is unknown; so is a counter not told."""
        answer = types.messages.PeerDialogs(
            [dialog(), dialog(78), dialog(79, pts=None, top=0)],
            [],
            [channel(left=True), channel(id=79)],
            [],
            state=None,
        )
        heads = translation.heads_of(answer)
        assert set(heads) == {79}
        assert (heads[ChannelId(79)].changes, heads[ChannelId(79)].newest) == (None, None)

    @pytest.mark.parametrize(
        ("fields", "may"),
        [
            ({"creator": True, "broadcast": True}, True),
            ({"broadcast": True}, False),
            ({"broadcast": True, "admin_rights": types.ChatAdminRights(post_messages=True)}, True),
            ({"megagroup": True}, True),
            ({"megagroup": True, "default_banned_rights": types.ChatBannedRights(None, send_messages=True)}, False),
            ({"megagroup": True, "banned_rights": types.ChatBannedRights(None, send_docs=True)}, False),
        ],
    )
    def test_who_may_post(self, fields: dict[str, Any], may: bool) -> None:
        """A destination has to be one the account can post files to."""
        assert translation.channel_of(channel(**fields)).may_post is may


class TestChanges:
    def test_s32_s33_edits_and_deletions_are_found_among_other_updates(self) -> None:
        """S-32, S-33: a difference tells more than what is new."""
        answer = types.updates.ChannelDifference(
            pts=20,
            new_messages=[message(5), types.MessageEmpty(6, WHERE)],
            other_updates=[
                types.UpdateEditChannelMessage(message(3, message="new"), pts=19, pts_count=1),
                types.UpdateDeleteChannelMessages(77, [1, 2], pts=20, pts_count=2),
                types.UpdateChannel(77),
            ],
            chats=[],
            users=[],
            final=True,
        )
        found = translation.difference_of(answer)
        assert isinstance(found, Difference)
        assert found.final
        assert found.updates.upto == 20
        assert [one.id for one in found.updates.posted] == [5]
        assert [(one.id, one.text) for one in found.updates.edited] == [(3, "new")]
        assert found.updates.deleted == [1, 2]

    def test_s31_too_long_is_not_a_difference(self) -> None:
        """S-31: the few messages that come along must not be taken for all of them."""
        answer = types.updates.ChannelDifferenceTooLong(dialog(pts=500), [message()], [channel()], [], final=True)
        found = translation.difference_of(answer)
        assert isinstance(found, TooLong)
        assert (found.head.changes, found.head.newest) == (500, 9)

    def test_what_is_pushed_becomes_hints(self) -> None:
        """New, edited and deleted messages, with how far the counter went; a skipped stretch hints at everything."""
        pushed = types.Updates(
            updates=[
                types.UpdateNewChannelMessage(message(5), pts=8, pts_count=1),
                types.UpdateEditChannelMessage(message(4), pts=9, pts_count=1),
                types.UpdateDeleteChannelMessages(77, [3], pts=10, pts_count=1),
                types.UpdateUserStatus(1, types.UserStatusRecently()),
            ],
            users=[], chats=[], date=NOON, seq=0,
        )  # fmt: skip
        new, edited, deleted = translation.hints_of(pushed)
        assert new.updates is not None
        assert edited.updates is not None
        assert deleted.updates is not None
        assert (new.channel, new.updates.upto, new.updates.steps, new.updates.posted[0].id) == (77, 8, 1, 5)
        assert edited.updates.edited[0].id == 4
        assert deleted.updates.deleted == [MessageId(3)]
        assert translation.hints_of(types.UpdatesTooLong()) == [UpdateHint(None)]
        assert translation.hints_of(types.UpdateShort(types.UpdateChannelTooLong(77), NOON)) == [
            UpdateHint(ChannelId(77))
        ]

    @pytest.mark.parametrize("pinned", [True, None])
    def test_a_pin_is_a_mark_of_its_messages(self, pinned: bool | None) -> None:
        """Set or removed, pushed or in a difference; Telegram counts it, so it moves the counter."""
        pin = types.UpdatePinnedChannelMessages(77, [5, 6], pts=8, pts_count=2, pinned=pinned)
        marked = [Patch(MessageId(number), marks={"pinned": bool(pinned)}) for number in (5, 6)]
        [hint] = translation.hints_of(types.UpdateShort(pin, NOON))
        moved = ChannelUpdates(8, 2, deleted=[], patched=marked, previewed=[])
        assert hint == UpdateHint(ChannelId(77), moved)
        found = translation.difference_of(types.updates.ChannelDifference(8, [], [pin], [], [], final=True))
        assert isinstance(found, Difference)
        assert (found.updates.patched, found.updates.steps) == (marked, 2)

    @pytest.mark.parametrize(
        ("page", "title"),
        [
            (types.WebPage(9, "https://x", "x", 0, title="Tides"), "Tides"),
            (types.WebPageEmpty(9), None),
        ],
    )
    def test_a_late_preview_makes_the_message_that_came_with_it(self, page: Any, title: str | None) -> None:
        """Equal in every field to one that was posted with the preview, so that a later page changes nothing."""
        pending = types.WebPagePending(9, NOON, url="https://x")

        def posted(shown: Any) -> Message:
            media = types.MessageMediaWebPage(shown, force_large_media=True)
            found = translation.message_of(types.Message(5, WHERE, message="https://x", date=NOON, media=media), {})
            assert found is not None
            return found

        update = types.UpdateChannelWebPage(77, page, pts=9, pts_count=1)
        [hint] = translation.hints_of(types.UpdateShort(update, NOON))
        assert hint.updates is not None
        [made] = hint.updates.previewed
        assert (hint.updates.upto, hint.updates.steps) == (9, 1)
        assert made.awaited == posted(pending).content.awaited_preview
        shown = made.shown(posted(pending))
        assert shown == posted(page)
        assert (shown.content.preview and shown.content.preview.title) == title

    def test_a_preview_that_is_still_being_made_only_moves_the_counter(self) -> None:
        """So does one that breaks its schema: without it every later update would seem to follow a gap."""
        for page in (types.WebPagePending(9, NOON), types.WebPage(9, "https://x", "x", 0, site_name=object())):
            update = types.UpdateChannelWebPage(77, page, pts=9, pts_count=1)
            [hint] = translation.hints_of(types.UpdateShort(update, NOON))
            assert hint.updates is not None
            assert (hint.updates.upto, hint.updates.steps) == (9, 1)

    @pytest.mark.parametrize(
        ("update", "recounted"),
        [
            (types.UpdateChannelMessageViews(77, 5, 9), Recounted(MessageId(5), counts=MessageCounts(views=9))),
            (types.UpdateChannelMessageForwards(77, 5, 9), Recounted(MessageId(5), counts=MessageCounts(forwards=9))),
            (
                types.UpdateMessageReactions(WHERE, 5, types.MessageReactions([])),
                Recounted(MessageId(5), reactions=()),
            ),
            (
                types.UpdateMessageReactions(WHERE, 5, LIKED),
                Recounted(MessageId(5), reactions=(Reaction("👍", 2),)),
            ),
            (
                types.UpdateMessagePoll(1, VOTED, peer=WHERE, msg_id=5),
                Recounted(MessageId(5), counts=MessageCounts(votes={"0": 3}, voters=3)),
            ),
        ],
    )
    def test_numbers_are_news_without_a_counter(self, update: Any, recounted: Recounted) -> None:
        """Pushed or in a difference, they come with their message and move nothing."""
        hints = translation.hints_of(types.UpdateShort(update, NOON))
        assert hints == [UpdateHint(ChannelId(77), ChannelUpdates(None, recounted=[recounted]))]
        answer = types.updates.ChannelDifference(20, [], [update], [], [], final=True)
        found = translation.difference_of(answer)
        assert isinstance(found, Difference)
        assert (found.updates.recounted, found.updates.steps) == ([recounted], 0)

    @pytest.mark.parametrize(
        "update",
        [
            types.UpdateMessagePoll(1, VOTED),
            types.UpdateMessagePoll(1, types.PollResults(min=True), peer=WHERE, msg_id=5),
            types.UpdateMessageReactions(types.PeerUser(1), 5, LIKED),
        ],
    )
    def test_numbers_of_nobody_known_are_no_news(self, update: Any) -> None:
        """A poll without its message, results without votes, and a private chat say nothing about a channel."""
        assert translation.hints_of(types.UpdateShort(update, NOON)) == []
