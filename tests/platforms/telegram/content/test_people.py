"""Who wrote a message, and by which names they are known."""

from __future__ import annotations

import pytest
from telethon.tl import types

from tests.platforms.telegram.content.posted import ADA, BOT, NOON, WHERE, channel, described, message, read, user
from tidegate.core.ids import UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.platforms.telegram.content.people import address_of, marked_number, people_in

GROUP = -1_000_000_000_077
OTHER = -1_000_000_000_088


class TestDescribed:
    def test_a_person_has_a_name_and_usernames(self) -> None:
        """The main username first, then the further ones that are in use."""
        names = [types.Username("ada", active=True), types.Username("sold"), types.Username("lady", active=True)]
        found = described(user(1, "Ada", last_name="Lovelace", username="ada", usernames=names))
        assert found == {1: Person(UserId(1), "Ada Lovelace", ("ada", "lady"), PersonKind.PERSON)}

    def test_a_name_of_the_contact_list_is_a_label(self) -> None:
        """Telegram shows a contact by the name that the account gave them, and says so with a flag."""
        found = described(user(1, "Sis", contact=True), user(2, "Bob"))
        assert {one.name: one.is_label for one in found.values()} == {"Sis": True, "Bob": False}

    def test_a_bot_is_one(self) -> None:
        """What it writes is automatic."""
        people = described(user(4, "Gifs", bot=True))
        assert people[UserId(4)].kind is PersonKind.BOT
        assert read(message(from_id=BOT), people).automatic
        assert not read(message(from_id=ADA), described(user(1, "Ada"))).automatic

    def test_a_deleted_account_is_said_to_be_one(self) -> None:
        """Telegram takes its name away; whoever reads the message has to know why."""
        found = read(message(from_id=ADA), described(user(1, deleted=True)))
        assert found.author == "Deleted Account"
        assert found.person == Person(UserId(1), "Deleted Account", (), PersonKind.DELETED)

    def test_channels_and_groups_have_their_marked_numbers(self) -> None:
        """Also those that the account may not enter; placeholders and communities are nobody."""
        found = described(
            channel(77, "Models", username="models"),
            types.ChannelForbidden(88, 1, "Hidden"),
            types.Chat(9, "Family", types.ChatPhotoEmpty(), 3, NOON, 1),
            types.ChatForbidden(10, "Old"),
            types.ChatEmpty(11),
            types.UserEmpty(12),
            types.CommunityForbidden(13, "Town"),
        )
        assert {number: (one.name, one.usernames) for number, one in found.items()} == {
            GROUP: ("Models", ("models",)), OTHER: ("Hidden", ()), -9: ("Family", ()), -10: ("Old", ()),
        }  # fmt: skip
        assert {one.kind for one in found.values()} == {PersonKind.CHANNEL}

    def test_an_answer_may_describe_nobody(self) -> None:
        """Some have no lists at all."""
        assert people_in(types.UpdatesTooLong()) == {}

    def test_whoever_cannot_be_addressed_by_name_has_a_number(self) -> None:
        """By username, else by name, else by number."""
        people = described(user(1, "Ada"), user(2, "Bob", username="bob"), user(3))
        assert [address_of(people, UserId(number)) for number in (1, 2, 3, 4)] == ["Ada", "@bob", "3", "4"]


class TestAuthor:
    def test_an_anonymous_admin_is_said_to_be_one(self) -> None:
        """They write in the name of the group itself."""
        found = read(message(from_id=WHERE), described(channel(77, "Models", megagroup=True)))
        assert found.person == Person(UserId(GROUP), "Models", (), PersonKind.ANONYMOUS)
        assert found.content.marks == ("anonymous",)

    @pytest.mark.parametrize("from_id", [None, WHERE])
    def test_a_channels_own_post_is_not_anonymous(self, from_id: types.PeerChannel | None) -> None:
        """Posts of a broadcast channel always come from the channel."""
        found = read(message(from_id=from_id, post=True), described(channel(77, "Models")))
        assert (found.author, found.author_id, found.content.marks) == ("Models", GROUP, ())
        assert found.person == Person(UserId(GROUP), "Models", (), PersonKind.CHANNEL)

    def test_another_channel_writes_in_its_own_name(self) -> None:
        """As the linked channel does in its group."""
        found = read(message(from_id=types.PeerChannel(88)), described(channel(88, "News"), channel(77, "Models")))
        assert found.person == Person(UserId(OTHER), "News", (), PersonKind.CHANNEL)
        assert found.content.marks == ()

    def test_a_signature_is_the_author_of_a_post(self) -> None:
        """The person stays the channel, because a signature is only a name."""
        found = read(message(post=True, post_author="Eve"), described(channel(77, "Models")))
        assert (found.author, found.person and found.person.name) == ("Eve", "Models")

    def test_somebody_not_described_has_a_number_only(self) -> None:
        """The name that is stored stays then."""
        found = read(message(from_id=ADA), {})
        assert (found.author, found.author_id, found.person) == ("", 1, None)

    def test_a_peer_without_a_number_is_nobody(self) -> None:
        """What breaks the schema stops nothing."""
        assert marked_number(types.PeerChannel(None)) is None
        assert marked_number("nonsense") is None
