"""One message of every type: Discord's number for it, and the fields that go with it."""

from __future__ import annotations

from tidegate.loopback.discord.world.kinds.embeds import poll_result_embed
from tidegate.loopback.discord.world.kinds.scene import Maker, Raw, Scene

TYPES = {
    "default": 0,
    "recipient_add": 1,
    "recipient_remove": 2,
    "call": 3,
    "channel_name_change": 4,
    "channel_icon_change": 5,
    "pins_add": 6,
    "new_member": 7,
    "premium_guild_subscription": 8,
    "premium_guild_tier_1": 9,
    "premium_guild_tier_2": 10,
    "premium_guild_tier_3": 11,
    "channel_follow_add": 12,
    "guild_stream": 13,
    "guild_discovery_disqualified": 14,
    "guild_discovery_requalified": 15,
    "guild_discovery_grace_period_initial_warning": 16,
    "guild_discovery_grace_period_final_warning": 17,
    "thread_created": 18,
    "reply": 19,
    "chat_input_command": 20,
    "thread_starter_message": 21,
    "guild_invite_reminder": 22,
    "context_menu_command": 23,
    "auto_moderation_action": 24,
    "role_subscription_purchase": 25,
    "interaction_premium_upsell": 26,
    "stage_start": 27,
    "stage_end": 28,
    "stage_speaker": 29,
    "stage_raise_hand": 30,
    "stage_topic": 31,
    "guild_application_premium_subscription": 32,
    "guild_incident_alert_mode_enabled": 36,
    "guild_incident_alert_mode_disabled": 37,
    "guild_incident_report_raid": 38,
    "guild_incident_report_false_alarm": 39,
    "purchase_notification": 44,
    "poll_result": 46,
    "emoji_added": 63,
}
"""Every type by the name that discord.py has for it."""

_HAS_THREAD = 1 << 5
_CALLED_FOR_S = 90


def _who(scene: Scene) -> Raw:
    return {"mentions": [scene.user(2)]}


def _call(scene: Scene) -> Raw:
    there = [scene.user(place)["id"] for place in (0, 1)]
    return {"call": {"participants": there, "ended_timestamp": scene.moment(seconds=_CALLED_FOR_S)}}


def _words(scene: Scene) -> Raw:
    return {"content": scene.words()}


def _boosts(scene: Scene) -> Raw:
    return {"content": "3"}


def _pins(scene: Scene) -> Raw:
    return {"message_reference": scene.reference()}


def _follow(scene: Scene) -> Raw:
    reference = {"type": 0, "channel_id": scene.id("followed channel"), "guild_id": scene.id("followed guild")}
    return {"content": scene.words(count=2), "message_reference": reference}


def _thread(scene: Scene) -> Raw:
    reference = scene.reference(channel_id=scene.id("thread"))
    del reference["message_id"]
    return {"content": scene.words(count=2), "message_reference": reference, "flags": _HAS_THREAD}


def _reply(scene: Scene) -> Raw:
    return {"content": scene.words(), "message_reference": scene.reference()}


def _starter(scene: Scene) -> Raw:
    return {"message_reference": scene.reference()}


def _metadata(scene: Scene, **otherwise: object) -> Raw:
    owners = {"0": str(scene.channel.guild)} if scene.channel.guild else {}
    shape = {"id": scene.id("interaction"), "type": 2, "user": scene.user(1), "authorizing_integration_owners": owners}
    return shape | {"command_type": 1} | otherwise


def _command(scene: Scene) -> Raw:
    """What an application answers to a slash command."""
    old = {"id": scene.id("interaction"), "type": 2, "name": "tide", "user": scene.user(1)}
    return {
        "content": scene.words(),
        "application_id": scene.id("application"),
        "author": _application(scene),
        "interaction": old,
        "interaction_metadata": _metadata(scene),
    }


def _menu_command(scene: Scene) -> Raw:
    more = {"command_type": 3, "target_message_id": str(scene.earlier)}
    return _command(scene) | {
        "message_reference": scene.reference(),
        "interaction_metadata": _metadata(scene, **more),
    }


def _application(scene: Scene) -> Raw:
    """An account of somebody else's application."""
    return {
        "id": scene.id("application"),
        "username": "harbourmaster",
        "global_name": None,
        "discriminator": "4242",
        "avatar": None,
        "bot": True,
    }


def _moderated(scene: Scene) -> Raw:
    told = {"rule_name": scene.words("rule", 2), "channel_id": str(scene.channel.id), "keyword": scene.words("key", 1)}
    told |= {"decision_id": scene.id("decision"), "keyword_matched_content": scene.words("key", 1)}
    fields = [{"name": name, "value": value, "inline": False} for name, value in told.items()]
    return {"embeds": [{"type": "auto_moderation_message", "description": scene.words(), "fields": fields}]}


def _subscription(scene: Scene) -> Raw:
    data = {"role_subscription_listing_id": scene.id("listing"), "tier_name": scene.words("tier", 1)}
    return {"role_subscription_data": data | {"total_months_subscribed": 3, "is_renewal": True}}


def _upsell(scene: Scene) -> Raw:
    return {"application_id": scene.id("application"), "interaction_metadata": _metadata(scene)}


def _application_subscription(scene: Scene) -> Raw:
    shape = {"id": scene.id("application"), "name": "Harbour Master", "description": "", "icon": None}
    return {"application_id": scene.id("application"), "application": shape}


def _alert(scene: Scene) -> Raw:
    return {"content": scene.moment(hours=1)}


def _purchase(scene: Scene) -> Raw:
    bought = {"listing_id": scene.id("product"), "product_name": scene.words("product", 2)}
    return {"purchase_notification": {"type": 0, "guild_product_purchase": bought}}


def _poll_result(scene: Scene) -> Raw:
    return {"embeds": [poll_result_embed(scene)], "message_reference": scene.reference()}


def _emoji(scene: Scene) -> Raw:
    return {"content": f"<:{scene.words(count=1)}:{scene.id('emoji')}>"}


_FIELDS: dict[int, Maker] = {
    **dict.fromkeys((0, 4, 27, 28, 31), _words),
    **dict.fromkeys((1, 2), _who),
    **dict.fromkeys((8, 9, 10, 11), _boosts),
    3: _call,
    6: _pins,
    12: _follow,
    18: _thread,
    19: _reply,
    20: _command,
    21: _starter,
    23: _menu_command,
    24: _moderated,
    25: _subscription,
    26: _upsell,
    32: _application_subscription,
    36: _alert,
    44: _purchase,
    46: _poll_result,
    63: _emoji,
}


def _of_type(number: int) -> Maker:
    def made(scene: Scene) -> Raw:
        more = _FIELDS[number](scene) if number in _FIELDS else {}
        return {"type": number, **more}

    return made


MAKERS: dict[str, Maker] = {name: _of_type(number) for name, number in TYPES.items()}
