"""What Telegram announces, in words."""

from __future__ import annotations

from typing import Any

import pytest
from telethon.tl import types

from tests.platforms.telegram.content.posted import (
    ADA,
    BOB,
    NOON,
    PEOPLE,
    channel,
    described,
    message,
    read,
    service,
    user,
)
from tests.platforms.telegram.sample_objects import ACTIONS, sample
from tidegate.core.message_content import MessageKind
from tidegate.platforms.telegram.content.amounts import amount_text, lasting, star_amount_text

STARS = types.StarGift(1, types.DocumentEmpty(1), 50, 40)
CALL = types.InputGroupCall(1, 2)
MISSED = types.PhoneCallDiscardReasonMissed()


class TestEveryAction:
    @pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.__name__)
    def test_it_has_words_of_its_own(self, kind: Any) -> None:
        """No action of the schema is unknown, and each is told in words, with its name in Telegram's schema."""
        found = read(service(sample(kind), from_id=ADA))
        assert (found.kind, found.content.unsupported) == (MessageKind.SERVICE, "")
        assert len(found.content.service) > 5
        assert found.service.replace("_", "") == kind.__name__.removeprefix("MessageAction").lower()
        assert (found.text, found.reactions) == ("", ())

    def test_no_two_kinds_are_told_alike(self) -> None:
        """Of what is only sent in two forms, to a bot and to its user, the words may be the same."""
        told: dict[str, list[str]] = {}
        for kind in ACTIONS:
            name = kind.__name__.removesuffix("SentMe").removesuffix("Sent")
            told.setdefault(read(service(sample(kind), from_id=ADA)).content.service, []).append(name)
        assert [names for names in told.values() if len(set(names)) > 1] == []

    @pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.__name__)
    def test_one_about_nobody_known_is_told_too(self, kind: Any) -> None:
        """An answer may describe nobody; then it was someone."""
        assert read(service(sample(kind)), {}).content.service

    def test_an_action_nobody_knows_is_kept(self) -> None:
        """It is named and kept as it came."""

        class MessageActionTeleport(types.MessageActionChatEditTitle):
            pass

        found = read(service(MessageActionTeleport("Moon")))
        assert (found.kind, found.content.unsupported) == (MessageKind.UNSUPPORTED, "MessageActionTeleport")
        assert (found.service, found.content.service) == ("teleport", "")
        assert found.raw == {"action": {"_": "MessageActionTeleport", "title": "Moon"}}


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (types.MessageActionChatAddUser([2, 3]), "Ada added Bob and Carol"),
        (types.MessageActionChatAddUser([1]), "Ada joined"),
        (types.MessageActionChatAddUser([9]), "Ada added someone"),
        (types.MessageActionChatDeleteUser(2), "Ada removed Bob"),
        (types.MessageActionChatDeleteUser(1), "Ada left"),
        (types.MessageActionChatCreate("Ships", [1, 2]), "Ada created the group “Ships” with Bob"),
        (types.MessageActionChatJoinedByLink(2), "Ada joined by an invitation link of Bob"),
        (types.MessageActionPinMessage(), "Ada pinned a message"),
        (types.MessageActionChatEditTitle("Ships"), "Ada changed the title to “Ships”"),
        (types.MessageActionTopicCreate("Cars", 1), "Ada created the topic “Cars”"),
        (types.MessageActionTopicEdit(closed=True), "Ada closed the topic"),
        (types.MessageActionTopicEdit("A", hidden=False), "Ada renamed the topic to “A” and showed the topic again"),
        (types.MessageActionSetMessagesTTL(86_400), "Ada set messages to be deleted after 1 day"),
        (types.MessageActionSetMessagesTTL(0), "Ada turned off the automatic deletion of messages"),
        (types.MessageActionGroupCall(CALL), "Ada started a group call"),
        (types.MessageActionGroupCall(CALL, 3_700), "Ada ended the group call after 1 hour 1 minute"),
        (types.MessageActionPhoneCall(1, reason=MISSED), "Ada made a call, which was missed"),
        (types.MessageActionPaymentSent("EUR", 145), "Ada paid 1.45 EUR"),
        (types.MessageActionStarGift(STARS, from_id=BOB), "Bob gave a gift worth 50 Stars"),
        (types.MessageActionTodoCompletions([1, 2], []), "Ada marked tasks 1 and 2 as done"),
        (types.MessageActionTodoCompletions([1], [3]), "Ada marked task 1 as done and marked task 3 as not done"),
        (types.MessageActionCustomAction("tEsT"), "tEsT"),
        (types.MessageActionGeoProximityReached(BOB, ADA, 30), "Bob is within 30 m of Ada"),
    ],
)  # fmt: skip
def test_an_announcement_reads_as_in_the_app(action: Any, words: str) -> None:
    """Who did what to whom, by the names of the answer."""
    assert read(service(action, from_id=ADA)).content.service == words


def test_a_name_is_written_as_it_is() -> None:
    """A sentence that begins with a name does not change it; one that begins with somebody unknown is a sentence."""
    by_ada = read(service(types.MessageActionPinMessage(), from_id=ADA), described(user(1, "ada")))
    by_nobody = read(service(types.MessageActionPinMessage(), from_id=ADA), {})
    by_channel = read(service(types.MessageActionPinMessage()), described(channel(77, "models")))
    assert by_ada.content.service == "ada pinned a message"
    assert by_nobody.content.service == "Someone pinned a message"
    assert by_channel.content.service == "models pinned a message"


def test_a_crowd_is_counted() -> None:
    """A hundred thousand names stay one readable sentence."""
    found = read(service(types.MessageActionChatAddUser([2] * 100_000), from_id=ADA))
    assert found.content.service.endswith("Bob and 99980 more")
    assert len(found.content.service) < 200


def test_what_a_pin_names_is_what_it_answers() -> None:
    """The pinned message is the one that the announcement replies to."""
    pin = service(types.MessageActionPinMessage(), reply_to=types.MessageReplyHeader(reply_to_msg_id=3))
    assert read(pin).reply_to == 3
    assert read(message(pinned=True)).content.marks == ("pinned",)


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [(145, "EUR", "1.45 EUR"), (145, "JPY", "145 JPY"), (1450, "KWD", "1.450 KWD"), (50, "XTR", "50 Stars"),
     (1_500_000_000, "TON", "1.5 TON"), (-5, "EUR", "-0.05 EUR"), (2**63 - 1, "TON", "9223372036.854775807 TON")],
)  # fmt: skip
def test_an_amount_has_its_decimals(amount: int, currency: str, words: str) -> None:
    """Telegram tells amounts in the smallest unit of a currency."""
    assert amount_text(amount, currency) == words


def test_a_part_of_a_star_is_told() -> None:
    """Prices are in Stars with billionths, or in TON."""
    assert star_amount_text(types.StarsAmount(5, 0)) == "5 Stars"
    assert star_amount_text(types.StarsAmount(5, 500_000_000)) == "5.5 Stars"
    assert star_amount_text(types.StarsTonAmount(2_000_000_000)) == "2 TON"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (60, "1 minute"), (90, "1 minute 30 seconds"), (604_800, "7 days")],
)
def test_a_span_is_told_in_at_most_two_units(seconds: int, words: str) -> None:
    """As a person would say it."""
    assert lasting(seconds) == words


def test_an_announcement_has_its_time_and_numbers() -> None:
    """It can be reacted to and expire, like any message."""
    reactions = types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 2)])
    found = read(service(types.MessageActionPinMessage(), reactions=reactions, ttl_period=60), PEOPLE)
    assert found.at == NOON
    assert [(one.emoji, one.count) for one in found.reactions] == [("👍", 2)]
    assert found.content.expires_at is not None
