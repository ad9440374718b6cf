"""What Discord announces, in words."""

from __future__ import annotations

from typing import Any

import pytest
from discord import MessageType

from tests.platforms.discord.shapes import message
from tidegate.core.message_content import MessageKind
from tidegate.platforms.discord.messages.raw_fields import WRITTEN
from tidegate.platforms.discord.translation import message_of

BOB = {"id": "6", "username": "bob", "global_name": None}
ADA = {"id": "5", "username": "ada", "global_name": "Ada"}


def announced(kind: MessageType, content: str = "", **more: Any) -> str:
    found = message_of(message(type=kind.value, content=content, **more))
    assert found.kind is MessageKind.SERVICE
    return found.content.service


@pytest.mark.parametrize("kind", [one for one in MessageType if one.value not in WRITTEN], ids=lambda one: one.name)
def test_every_type_of_the_library_has_words(kind: MessageType) -> None:
    """With all that Discord may leave out left out: whoever is new in the library needs words here."""
    found = message_of({"id": "1", "type": kind.value, "timestamp": "2026-01-02T03:04:05+00:00"})
    assert found.kind is MessageKind.SERVICE
    assert len(found.content.service) > 10
    assert "None" not in found.content.service
    assert found.content.unsupported == ""


@pytest.mark.parametrize("kind", [one for one in MessageType if one.value in WRITTEN], ids=lambda one: one.name)
def test_what_a_person_wrote_is_no_announcement(kind: MessageType) -> None:
    """Replies and answers to commands are texts like any other."""
    found = message_of(message(type=kind.value))
    assert (found.kind, found.content.service) == (MessageKind.TEXT, "")


def embed(**fields: str) -> dict[str, Any]:
    return {"embeds": [{"fields": [{"name": name, "value": value} for name, value in fields.items()]}]}


@pytest.mark.parametrize(
    ("kind", "content", "more", "words"),
    [
        (MessageType.recipient_add, "", {"mentions": [BOB]}, "Ada added bob"),
        (MessageType.recipient_remove, "", {"mentions": [BOB]}, "Ada removed bob"),
        (MessageType.recipient_remove, "", {"mentions": [ADA]}, "Ada left"),
        (MessageType.call, "", {"call": {"participants": ["5"]}}, "Ada started a call"),
        (
            MessageType.call,
            "",
            {"call": {"ended_timestamp": "2026-01-02T03:09:00+00:00"}},
            "Ada started a call, which ended at 2026-01-02 03:09 UTC",
        ),
        (MessageType.channel_name_change, "tides", {}, "Ada changed the name to “tides”"),
        (MessageType.emoji_added, "<:sail:8>", {}, "Ada added the emoji :sail:"),
        (MessageType.new_member, "", {}, "Ada joined the server"),
        (MessageType.premium_guild_subscription, "3", {}, "Ada boosted the server 3 times"),
        (MessageType.premium_guild_tier_2, "", {}, "Ada boosted the server, which reached level 2"),
        (MessageType.thread_created, "boats {who}", {}, "Ada started the thread “boats {who}”"),
        (
            MessageType.auto_moderation_action,
            "",
            embed(rule_name="No spam", decision_outcome="blocked"),
            "AutoMod blocked a message by Ada, by the rule “No spam”",
        ),
        (
            MessageType.role_subscription_purchase,
            "",
            {"role_subscription_data": {"tier_name": "Gold", "total_months_subscribed": 2, "is_renewal": True}},
            "Ada renewed the subscription “Gold”, a subscriber for 2 months now",
        ),
        (
            MessageType.guild_application_premium_subscription,
            "",
            {"application": {"id": "3", "name": "Chart"}},
            "Ada upgraded Chart to premium for this server",
        ),
        (
            MessageType.guild_incident_alert_mode_enabled,
            "2026-01-02T03:09:00+00:00",
            {},
            "Ada enabled security actions until 2026-01-02 03:09 UTC",
        ),
        (
            MessageType.purchase_notification,
            "",
            {"purchase_notification": {"type": 0, "guild_product_purchase": {"product_name": "A map"}}},
            "Ada bought A map",
        ),
        (
            MessageType.poll_result,
            "",
            embed(poll_question_text="When?", victor_answer_text="Noon", victor_answer_votes="2", total_votes="3"),
            "The poll “When?” by Ada closed: “Noon” won with 2 of 3 votes",
        ),
    ],
)
def test_the_words_say_what_discord_said(kind: MessageType, content: str, more: dict[str, Any], words: str) -> None:
    """Names, titles, numbers and times of the announcement."""
    assert announced(kind, content, **more) == words


def test_a_type_that_nobody_knows_is_kept() -> None:
    """It is said to be unsupported, by its number, with all that came with it."""
    found = message_of(message(type=999, content="new", embeds=[{"title": "Tides"}], strange={"deep": [1]}))
    assert (found.kind, found.content.unsupported) == (MessageKind.UNSUPPORTED, "message type 999")
    assert (found.text, found.content.embeds[0].title, found.raw["strange"]) == ("new", "Tides", {"deep": [1]})
