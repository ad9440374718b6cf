"""What a service message of Telegram says: the action's class in the schema, and Kurigram's name and words for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.loopback.other_clients.comparison import Field, Table, moment
from tests.loopback.other_clients.telegram_media_facts import instant, peer_in_truth

Raw = dict[str, Any]

UNNAMED = "UNSUPPORTED"
"""Kurigram's name for an action that it does not know."""

NOT_NAMED = frozenset({"ConferenceCall", "Empty", "SecureValuesSent", "SecureValuesSentMe"})
"""Actions that Kurigram has no name for; docs/loopback.md lists them."""

NAMES = {
    "BoostApply": "CHAT_BOOST",
    "BotAllowed": "CONNECTED_WEBSITE",
    "ChangeCommunity": "COMMUNITY_CHAT_REMOVED",
    "ChangeCreator": "CHAT_OWNER_CHANGED",
    "ChannelCreate": "CHANNEL_CHAT_CREATED",
    "ChannelMigrateFrom": "MIGRATE_FROM_CHAT_ID",
    "ChatAddUser": "NEW_CHAT_MEMBERS",
    "ChatCreate": "GROUP_CHAT_CREATED",
    "ChatDeletePhoto": "DELETE_CHAT_PHOTO",
    "ChatDeleteUser": "LEFT_CHAT_MEMBER",
    "ChatEditPhoto": "NEW_CHAT_PHOTO",
    "ChatEditTitle": "NEW_CHAT_TITLE",
    "ChatJoinedByLink": "NEW_CHAT_MEMBERS",
    "ChatJoinedByRequest": "NEW_CHAT_MEMBERS",
    "ChatJoinedViaCommunity": "COMMUNITY_CHAT_JOINED",
    "ChatMigrateTo": "MIGRATE_TO_CHAT_ID",
    "ContactSignUp": "CONTACT_REGISTERED",
    "CustomAction": "CUSTOM_ACTION",
    "GameScore": "GAME_HIGH_SCORE",
    "GeoProximityReached": "PROXIMITY_ALERT_TRIGGERED",
    "GiftCode": "PREMIUM_GIFT_CODE",
    "GiftPremium": "GIFTED_PREMIUM",
    "GiftStars": "GIFTED_STARS",
    "GiftTon": "GIFTED_GRAMS",
    "GiveawayLaunch": "GIVEAWAY_CREATED",
    "GiveawayResults": "GIVEAWAY_COMPLETED",
    "GroupCall": "VIDEO_CHAT_ENDED",
    "GroupCallScheduled": "VIDEO_CHAT_SCHEDULED",
    "HistoryClear": "HISTORY_CLEARED",
    "InviteToGroupCall": "VIDEO_CHAT_MEMBERS_INVITED",
    "ManagedBotCreated": "MANAGED_BOT_CREATED",
    "NewCreatorPending": "CHAT_OWNER_LEFT",
    "NoForwardsRequest": "CHAT_HAS_PROTECTED_CONTENT_DISABLE_REQUESTED",
    "NoForwardsToggle": "CHAT_HAS_PROTECTED_CONTENT_TOGGLED",
    "PaidMessagesPrice": "PAID_MESSAGES_PRICE_CHANGED",
    "PaidMessagesRefunded": "PAID_MESSAGES_REFUNDED",
    "PaymentRefunded": "REFUNDED_PAYMENT",
    "PaymentSent": "SUCCESSFUL_PAYMENT",
    "PaymentSentMe": "SUCCESSFUL_PAYMENT",
    "PhoneCall": "PHONE_CALL_ENDED",
    "PinMessage": "PINNED_MESSAGE",
    "PollAppendAnswer": "POLL_OPTION_ADDED",
    "PollDeleteAnswer": "POLL_OPTION_DELETED",
    "PrizeStars": "GIVEAWAY_PRIZE_STARS",
    "RequestedPeer": "USERS_SHARED",
    "RequestedPeerSentMe": "USERS_SHARED",
    "ScreenshotTaken": "SCREENSHOT_TAKEN",
    "SetChatTheme": "CHAT_SET_THEME",
    "SetChatWallPaper": "CHAT_SET_BACKGROUND",
    "SetMessagesTTL": "SET_MESSAGE_AUTO_DELETE_TIME",
    "StarGift": "GIFT",
    "StarGiftPurchaseOffer": "UPGRADED_GIFT_PURCHASE_OFFER",
    "StarGiftPurchaseOfferDeclined": "UPGRADED_GIFT_PURCHASE_OFFER_REJECTED",
    "StarGiftUnique": "GIFT",
    "SuggestBirthday": "SUGGEST_BIRTHDAY",
    "SuggestProfilePhoto": "SUGGEST_PROFILE_PHOTO",
    "SuggestedPostApproval": "SUGGESTED_POST_DECLINED",
    "SuggestedPostRefund": "SUGGESTED_POST_REFUNDED",
    "SuggestedPostSuccess": "SUGGESTED_POST_PAID",
    "TodoAppendTasks": "CHECKLIST_TASKS_ADDED",
    "TodoCompletions": "CHECKLIST_TASKS_DONE",
    "TopicCreate": "FORUM_TOPIC_CREATED",
    "TopicEdit": "FORUM_TOPIC_EDITED",
    "WebViewDataSent": "WEB_APP_DATA",
    "WebViewDataSentMe": "WEB_APP_DATA",
}
"""Kurigram's name of each action as the worlds post it: some classes have others too, such as a call that began."""

_SAME = {"SUPERGROUP_CHAT_CREATED": "CHANNEL_CHAT_CREATED", "FORUM_TOPIC_CLOSED": "FORUM_TOPIC_EDITED"}

_Tells = dict[str, tuple[Callable[[Raw], Any], Callable[[Any], Any]]]
_TOLD: _Tells = {
    "BoostApply": (lambda raw: raw["boosts"], lambda read: read.chat_boost),
    "BotAllowed": (lambda raw: raw["domain"], lambda read: read.connected_website),
    "ChannelMigrateFrom": (lambda raw: -raw["chat_id"], lambda read: read.migrate_from_chat_id),
    "ChatAddUser": (lambda raw: raw["users"], lambda read: [user.id for user in read.new_chat_members]),
    "ChatDeleteUser": (lambda raw: raw["user_id"], lambda read: read.left_chat_member.id),
    "ChatEditTitle": (lambda raw: raw["title"], lambda read: read.new_chat_title),
    "CustomAction": (lambda raw: raw["message"], lambda read: read.text),
    "GameScore": (lambda raw: raw["score"], lambda read: read.game_high_score.score),
    "GeoProximityReached": (lambda raw: raw["distance"], lambda read: read.proximity_alert_triggered.distance),
    "GiftCode": (lambda raw: raw["slug"], lambda read: read.premium_gift_code.code),
    "GiftPremium": (
        lambda raw: (raw["currency"], raw["amount"], raw["days"]),
        lambda read: (read.gifted_premium.currency, read.gifted_premium.amount, read.gifted_premium.day_count),
    ),
    "GiftStars": (lambda raw: raw["stars"], lambda read: read.gifted_stars.star_count),
    "GiftTon": (lambda raw: raw["crypto_amount"], lambda read: read.gifted_grams.gram_amount),
    "GroupCall": (lambda raw: raw["duration"], lambda read: read.video_chat_ended.duration),
    "GroupCallScheduled": (
        lambda raw: moment(raw["schedule_date"]),
        lambda read: instant(read.video_chat_scheduled.start_date),
    ),
    "InviteToGroupCall": (
        lambda raw: raw["users"],
        lambda read: [user.id for user in read.video_chat_members_invited.users],
    ),
    "PaidMessagesPrice": (
        lambda raw: raw["stars"],
        lambda read: read.paid_messages_price_changed.paid_message_star_count,
    ),
    "PaymentRefunded": (
        lambda raw: (raw["currency"], raw["total_amount"]),
        lambda read: (read.refunded_payment.currency, read.refunded_payment.total_amount),
    ),
    "PaymentSent": (
        lambda raw: (raw["currency"], raw["total_amount"]),
        lambda read: (read.successful_payment.currency, read.successful_payment.total_amount),
    ),
    "PhoneCall": (lambda raw: raw["duration"], lambda read: read.phone_call_ended.duration),
    "PollAppendAnswer": (
        lambda raw: raw["answer"]["text"]["text"],
        lambda read: str(read.poll_option_added.text.text),
    ),
    "PollDeleteAnswer": (
        lambda raw: raw["answer"]["text"]["text"],
        lambda read: str(read.poll_option_deleted.text.text),
    ),
    "PrizeStars": (
        lambda raw: (raw["stars"], peer_in_truth(raw["boost_peer"])),
        lambda read: (read.giveaway_prize_stars.star_count, read.giveaway_prize_stars.boosted_chat.id),
    ),
    "SetMessagesTTL": (lambda raw: raw["period"], lambda read: read.set_message_auto_delete_time),
    "SuggestedPostApproval": (
        lambda raw: raw["reject_comment"],
        lambda read: read.suggested_post_declined.comment,
    ),
    "TodoCompletions": (
        lambda raw: raw["completed"],
        lambda read: read.checklist_tasks_done.marked_as_done_task_ids,
    ),
    "TopicCreate": (lambda raw: raw["title"], lambda read: read.forum_topic_created.title),
    "WebViewDataSent": (lambda raw: raw["text"], lambda read: read.web_app_data.button_text),
}
"""What some actions say beside their name, in the truth and as read."""


def _class_in_truth(message: Raw) -> str | None:
    action = message["raw"].get("action")
    return action["_"].removeprefix("MessageAction") if action else None


def _class_as_read(message: Any) -> str | None:
    return type(message.raw.action).__name__.removeprefix("MessageAction") if message.service else None


def _name_in_truth(message: Raw) -> str | None:
    kind = _class_in_truth(message)
    if kind is None:
        return None
    return UNNAMED if kind in NOT_NAMED else NAMES[kind]


def _name_as_read(message: Any) -> str | None:
    name = message.service.name if message.service else None
    return _SAME.get(name, name)


def _told_in_truth(message: Raw) -> Any:
    kind = _class_in_truth(message)
    return _TOLD[kind][0](message["raw"]["action"]) if kind in _TOLD else None


def _told_as_read(message: Any) -> Any:
    kind = _class_as_read(message)
    return _TOLD[kind][1](message) if kind in _TOLD else None


SERVICE: Table = {
    "action": Field(_name_in_truth, _name_as_read),
    "told": Field(_told_in_truth, _told_as_read),
}
