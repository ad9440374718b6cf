"""Service messages of each kind, by the names of the schema's actions: ``action_pin_message``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.telegram.tl_objects.samples import Samples
from tidegate.loopback.telegram.tl_objects.tl_schema import classes_like
from tidegate.loopback.telegram.world.content.scene import Scene

ACTIONS: Mapping[str, type[TLObject]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.removeprefix("Message")).lower(): kind
    for kind in classes_like("MessageAction")
}


def _poll_answer() -> types.PollAnswer:
    return types.PollAnswer(types.TextWithEntities("Only at low tide", []), b"3")


_SAID: Mapping[str, Callable[[Scene], dict[str, Any]]] = {
    "action_topic_edit": lambda scene: {"title": scene.words(2)},
    "action_phone_call": lambda _scene: {"duration": 75, "reason": types.PhoneCallDiscardReasonHangup()},
    "action_conference_call": lambda _scene: {"duration": 75},
    "action_group_call": lambda _scene: {"duration": 3600},
    "action_set_messages_ttl": lambda _scene: {"period": 604_800},
    "action_bot_allowed": lambda _scene: {"domain": "example.com"},
    "action_suggested_post_approval": lambda _scene: {"rejected": True, "reject_comment": "Not this week."},
    "action_chat_edit_photo": lambda scene: {"photo": scene.photo()},
    "action_suggest_profile_photo": lambda scene: {"photo": scene.photo()},
    "action_todo_completions": lambda _scene: {"completed": [1], "incompleted": []},
    "action_poll_append_answer": lambda _scene: {"answer": _poll_answer()},
    "action_poll_delete_answer": lambda _scene: {"answer": _poll_answer()},
    "action_prize_stars": lambda scene: {"boost_peer": types.PeerChannel(scene.channel.id), "giveaway_msg_id": 1},
    "action_star_gift_unique": lambda scene: {"gift": Samples(scene.dice).of(types.StarGiftUnique)},
}
"""What sample values would not make plausible."""

_BY_A_PERSON = frozenset(
    {"action_chat_joined_by_link", "action_chat_joined_by_request", "action_chat_joined_via_community",
     "action_game_score"}
)  # fmt: skip
"""Actions that say nothing about whom they are of: that is the author."""


def service_fields(scene: Scene, kind: str) -> dict[str, Any]:
    """The fields of a service message of one kind."""
    samples = Samples(scene.dice, people=[scene.mira.id, scene.jonas.id])
    fields: dict[str, Any] = {"action": samples.of(ACTIONS[kind], **(_SAID[kind](scene) if kind in _SAID else {}))}
    if kind == "action_pin_message":
        fields["reply_to"] = types.MessageReplyHeader(reply_to_msg_id=scene.channel.top)
    if kind in _BY_A_PERSON:
        fields["from_id"] = types.PeerUser(scene.mira.id)
    return fields


def action_name(action: TLObject) -> str:
    """What a service message says, as a name: ``pin_message``."""
    return next(name for name, kind in ACTIONS.items() if isinstance(action, kind)).removeprefix("action_")
