"""Discord's system messages in words, such as joins and pins. Pure.

Discord sends only the type of such a message and a few of its facts; each client has its own words for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from discord import MessageType

from tidegate.platforms.discord.messages.embeds import field_of
from tidegate.platforms.discord.messages.json_values import instant_in, number_in, object_in, objects_in, text_in
from tidegate.platforms.discord.messages.raw_fields import ANNOUNCED, ANNOUNCED_BY
from tidegate.platforms.discord.permissions import Json


def announcement(kind: int, raw: Json) -> str:
    """A sentence without its full stop, with the names of the time; empty for a type without words."""
    words = WORDS.get(kind)
    if words is None:
        return ""
    return words(raw) if callable(words) else words.format(who=_who(raw), what=_what(raw))


def _who(raw: Json) -> str:
    return text_in(object_in(raw.get(ANNOUNCED_BY)).get("name")) or "Someone"


def _what(raw: Json) -> str:
    return text_in(raw.get(ANNOUNCED))


def _others(raw: Json) -> str:
    return ", ".join(filter(None, (text_in(one.get("name")) for one in objects_in(raw.get("mentions"))))) or "someone"


def _titled(with_title: str, without: str) -> Callable[[Json], str]:
    """Words for an announcement whose title may be missing."""
    return lambda raw: (with_title if _what(raw) else without).format(who=_who(raw), what=_what(raw))


def _removed(raw: Json) -> str:
    who, gone = object_in(raw.get(ANNOUNCED_BY)), objects_in(raw.get("mentions"))
    left = [one.get("id") for one in gone] == [who.get("id")]
    return f"{_who(raw)} left" if left else f"{_who(raw)} removed {_others(raw)}"


def _called(raw: Json) -> str:
    """Discord gives only the end of a call; it began when the message was posted."""
    call = object_in(raw.get("call"))
    ended = instant_in(call.get("ended_timestamp"))
    return f"{_who(raw)} started a call{f', which ended at {_written(ended)}' if ended else ''}"


def _boosted(raw: Json) -> str:
    times = number_in(_what(raw)) or 1
    return f"{_who(raw)} boosted the server{f' {times} times' if times > 1 else ''}"


def _boosted_to(level: int) -> Callable[[Json], str]:
    return lambda raw: f"{_boosted(raw)}, which reached level {level}"


def _moderated(raw: Json) -> str:
    rule = field_of(raw, "rule_name")
    outcome = "blocked" if "block" in field_of(raw, "decision_outcome") else "flagged"
    return f"AutoMod {outcome} a message by {_who(raw)}{f', by the rule “{rule}”' if rule else ''}"


def _subscribed(raw: Json) -> str:
    data = object_in(raw.get("role_subscription_data"))
    verb = "renewed" if data.get("is_renewal") else "began"
    tier = text_in(data.get("tier_name"))
    months = number_in(data.get("total_months_subscribed"))
    since = f", a subscriber for {months} month{'s' if months != 1 else ''} now" if months else ""
    return f"{_who(raw)} {verb} the subscription {f'“{tier}”' if tier else 'of the server'}{since}"


def _upgraded(raw: Json) -> str:
    app = text_in(object_in(raw.get("application")).get("name")) or "an app"
    return f"{_who(raw)} upgraded {app} to premium for this server"


def _secured(raw: Json) -> str:
    until = instant_in(_what(raw))
    return f"{_who(raw)} enabled security actions{f' until {_written(until)}' if until else ''}"


def _bought(raw: Json) -> str:
    bought = object_in(object_in(raw.get("purchase_notification")).get("guild_product_purchase"))
    return f"{_who(raw)} bought {text_in(bought.get('product_name')) or 'something in this server'}"


def _poll_closed(raw: Json) -> str:
    question, winner = field_of(raw, "poll_question_text"), field_of(raw, "victor_answer_text")
    votes, total = field_of(raw, "victor_answer_votes"), field_of(raw, "total_votes")
    counted = f" with {votes} of {total} votes" if votes and total else ""
    named = f" “{question}”" if question else ""
    return f"The poll{named} by {_who(raw)} closed{f': “{winner}” won{counted}' if winner else ''}"


def _emoji_added(raw: Json) -> str:
    name = _EMOJI.sub(_EMOJI_NAME, _what(raw))
    return f"{_who(raw)} added {f'the emoji {name}' if name else 'an emoji'}"


def _written(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


_EMOJI = re.compile(r"<a?:([A-Za-z0-9_]{1,64}):[0-9]{1,20}>")
_EMOJI_NAME = r":\1:"
_OF_DISCOVERY = "the requirements of Server Discovery"

_WORDS: Mapping[MessageType, str | Callable[[Json], str]] = {
    MessageType.recipient_add: lambda raw: f"{_who(raw)} added {_others(raw)}",
    MessageType.recipient_remove: _removed,
    MessageType.call: _called,
    MessageType.channel_name_change: _titled("{who} changed the name to “{what}”", "{who} removed the name"),
    MessageType.channel_icon_change: "{who} changed the group's icon",
    MessageType.pins_add: "{who} pinned a message",
    MessageType.new_member: "{who} joined the server",
    MessageType.premium_guild_subscription: _boosted,
    MessageType.premium_guild_tier_1: _boosted_to(1),
    MessageType.premium_guild_tier_2: _boosted_to(2),
    MessageType.premium_guild_tier_3: _boosted_to(3),
    MessageType.channel_follow_add: _titled(
        "{who} followed “{what}”: its announcements are posted here", "{who} followed a channel"
    ),
    MessageType.guild_stream: _titled("{who} began to stream “{what}”", "{who} began to stream"),
    MessageType.guild_discovery_disqualified: f"The server no longer meets {_OF_DISCOVERY}, and was removed from it",
    MessageType.guild_discovery_requalified: f"The server meets {_OF_DISCOVERY} again, and is listed there",
    MessageType.guild_discovery_grace_period_initial_warning: f"The server has not met {_OF_DISCOVERY} for a week",
    MessageType.guild_discovery_grace_period_final_warning: (
        f"The server has not met {_OF_DISCOVERY} for three weeks; after another one it is removed"
    ),
    MessageType.thread_created: _titled("{who} started the thread “{what}”", "{who} started a thread"),
    MessageType.thread_starter_message: "This thread was started from a message",
    MessageType.guild_invite_reminder: "Discord suggested to invite people to the server",
    MessageType.auto_moderation_action: _moderated,
    MessageType.role_subscription_purchase: _subscribed,
    MessageType.interaction_premium_upsell: "{who} was offered a premium subscription of an app",
    MessageType.stage_start: _titled("{who} started the stage “{what}”", "{who} started a stage"),
    MessageType.stage_end: _titled("{who} ended the stage “{what}”", "{who} ended a stage"),
    MessageType.stage_speaker: "{who} became a speaker",
    MessageType.stage_raise_hand: "{who} asked to speak",
    MessageType.stage_topic: _titled("{who} changed the topic to “{what}”", "{who} removed the topic"),
    MessageType.guild_application_premium_subscription: _upgraded,
    MessageType.guild_incident_alert_mode_enabled: _secured,
    MessageType.guild_incident_alert_mode_disabled: "{who} disabled security actions",
    MessageType.guild_incident_report_raid: "{who} reported a raid",
    MessageType.guild_incident_report_false_alarm: "{who} reported that there was no raid",
    MessageType.purchase_notification: _bought,
    MessageType.poll_result: _poll_closed,
    MessageType.emoji_added: _emoji_added,
}
WORDS: Final[Mapping[int, str | Callable[[Json], str]]] = {kind.value: words for kind, words in _WORDS.items()}
"""By the number of the type; what a person wrote has none."""
