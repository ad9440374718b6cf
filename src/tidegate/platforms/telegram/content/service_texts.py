"""Telegram's service messages in words: joins, titles, calls, gifts, payments.

Each kind of action has words of its own. A person whom the answer does not describe is "someone".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from telethon.tl import types

from tidegate.core.ids import UserId
from tidegate.platforms.telegram.content.amounts import amount_text, lasting, star_amount_text
from tidegate.platforms.telegram.content.people import People, author_number, marked_number, name_of

_MOST_NAMES = 20
_SOMEONE = "someone"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def service_name(action: Any) -> str:
    """Telegram's own name of an action in snake case, such as ``chat_add_user``."""
    return _snake(type(action).__name__.removeprefix("MessageAction"))


def service_text(found: Any, people: People) -> str | None:
    """What a service message announces; None for an action that this version does not know."""
    words = _WORDS.get(type(found.action))
    if words is None:
        return None
    return words(found.action, _Announcement(author_number(found), people))


@dataclass(frozen=True, slots=True)
class _Announcement:
    """Who acted, and whom the answer describes."""

    actor: UserId | None
    people: People

    @property
    def by(self) -> str:
        return name_of(self.people, self.actor) or _SOMEONE.capitalize()

    def giver(self, peer: Any) -> str:
        """Who a sentence begins with, where the action itself may say who it was."""
        return self.by if peer is None else name_of(self.people, marked_number(peer)) or _SOMEONE.capitalize()

    def name(self, number: int) -> str:
        return name_of(self.people, UserId(number)) or _SOMEONE

    def peer(self, peer: Any) -> str:
        return name_of(self.people, marked_number(peer)) or _SOMEONE

    def names(self, numbers: Iterable[int]) -> str:
        return _joined([self.name(number) for number in numbers])

    def peers(self, peers: Iterable[Any]) -> str:
        return _joined([self.peer(one) for one in peers])

    def did(self, words: str) -> str:
        return f"{self.by} {words}"


_Words = Callable[[Any, _Announcement], str]


def _says(words: str) -> _Words:
    """The same words for every action of a kind; they begin with who acted."""
    return lambda action, told: told.did(words)


def _is_told(words: str) -> _Words:
    """The same words for every action of a kind, without a name."""
    return lambda action, told: words


# Members and the chat itself


def _added(action: Any, told: _Announcement) -> str:
    if list(action.users) == [told.actor]:
        return told.did("joined")
    return told.did(f"added {told.names(action.users)}")


def _removed(action: Any, told: _Announcement) -> str:
    return told.did("left" if action.user_id == told.actor else f"removed {told.name(action.user_id)}")


def _created(action: Any, told: _Announcement) -> str:
    others = [number for number in action.users if number != told.actor]
    return told.did(f"created the group {_quoted(action.title)}" + (f" with {told.names(others)}" if others else ""))


def _edited_topic(action: Any, told: _Announcement) -> str:
    done = [f"renamed the topic to {_quoted(action.title)}"] if action.title is not None else []
    done += ["changed the icon of the topic"] if action.icon_emoji_id is not None else []
    if action.closed is not None:
        done.append("closed the topic" if action.closed else "reopened the topic")
    if action.hidden is not None:
        done.append("hid the topic" if action.hidden else "showed the topic again")
    return told.did(_joined(done) or "changed the topic")


def _set_expiry(action: Any, told: _Announcement) -> str:
    if not action.period:
        return told.did("turned off the automatic deletion of messages")
    return told.did(f"set messages to be deleted after {lasting(action.period)}")


def _set_theme(action: Any, told: _Announcement) -> str:
    if isinstance(action.theme, types.ChatThemeUniqueGift):
        return told.did(f"changed the theme to that of {_gift(action.theme.gift)}")
    return told.did(f"changed the theme to {action.theme.emoticon}" if action.theme.emoticon else "removed the theme")


def _set_background(action: Any, told: _Announcement) -> str:
    words = "set the same background" if action.same else "set a new background"
    return told.did(words + (" for both" if action.for_both else ""))


def _protected(action: Any, told: _Announcement) -> str:
    return told.did(f"turned {_on(action.new_value)} the protection of content")


def _asked_for_protection(action: Any, told: _Announcement) -> str:
    words = f"asked to turn {_on(action.new_value)} the protection of content"
    return told.did(words + ("; the request expired" if action.expired else ""))


def _community(action: Any, told: _Announcement) -> str:
    return told.did("took this chat out of its community" if action.community_id is None else "put it in a community")


def _boosted(action: Any, told: _Announcement) -> str:
    return told.did(f"boosted the group {_times(action.boosts)}")


# Calls


def _called(action: Any, told: _Announcement) -> str:
    how = _ENDS.get(type(action.reason), "")
    took = f", {lasting(action.duration)}" if action.duration else ""
    return told.did(f"made a {'video ' if action.video else ''}call{how}{took}")


_ENDS: dict[type, str] = {
    types.PhoneCallDiscardReasonMissed: ", which was missed",
    types.PhoneCallDiscardReasonBusy: ", which was declined",
    types.PhoneCallDiscardReasonDisconnect: ", which was cut off",
    types.PhoneCallDiscardReasonMigrateConferenceCall: ", which became a group call",
}


def _conference(action: Any, told: _Announcement) -> str:
    kind = "group video call" if action.video else "group call"
    words = f"missed a {kind}" if action.missed else f"{'is in' if action.active else 'made'} a {kind}"
    words += f" with {told.peers(action.other_participants)}" if action.other_participants else ""
    return told.did(words + (f", {lasting(action.duration)}" if action.duration else ""))


def _group_call(action: Any, told: _Announcement) -> str:
    if action.duration is None:
        return told.did("started a group call")
    return told.did(f"ended the group call after {lasting(action.duration)}")


def _scheduled_call(action: Any, told: _Announcement) -> str:
    return told.did(f"scheduled a group call for {_instant(action.schedule_date)}")


def _invited_to_call(action: Any, told: _Announcement) -> str:
    return told.did(f"invited {told.names(action.users)} to the group call")


# Bots, polls and tasks


def _allowed_bot(action: Any, told: _Announcement) -> str:
    if action.attach_menu:
        return told.did("added the bot to the attachment menu")
    if action.app is not None:
        return told.did(f"allowed the bot to write by opening {_quoted(getattr(action.app, 'title', 'an app'))}")
    if action.domain:
        return told.did(f"allowed the bot to write by signing in to {action.domain}")
    return told.did("allowed the bot to write")


def _shared(action: Any, told: _Announcement) -> str:
    return told.did(f"shared {told.peers(action.peers)} with the bot")


def _shared_with_me(action: Any, told: _Announcement) -> str:
    return told.did(f"shared {_joined([_requested(one) for one in action.peers])} with the bot")


def _requested(peer: Any) -> str:
    names = [getattr(peer, name, None) for name in ("title", "first_name", "last_name")]
    return " ".join(name for name in names if name) or _SOMEONE


def _sent_data(action: Any, told: _Announcement) -> str:
    return told.did(f"sent data to the bot by the button {_quoted(action.text)}")


def _sent_documents(kinds: Sequence[Any]) -> str:
    names = [_snake(type(one).__name__.removeprefix("SecureValueType")).replace("_", " ") for one in kinds]
    return f"sent personal documents to the bot: {_joined(names)}"


def _tasks(action: Any, told: _Announcement) -> str:
    done = [f"marked {_tasks_named(action.completed)} as done"] if action.completed else []
    done += [f"marked {_tasks_named(action.incompleted)} as not done"] if action.incompleted else []
    return told.did(_joined(done) or "changed tasks")


def _tasks_named(numbers: Sequence[int]) -> str:
    return ("task " if len(numbers) == 1 else "tasks ") + _joined([str(number) for number in numbers])


# Payments and gifts


def _paid(action: Any, told: _Announcement) -> str:
    again = " for a subscription" if action.recurring_init or action.recurring_used else ""
    return told.did(f"paid {amount_text(action.total_amount, action.currency)}{again}")


def _refunded(action: Any, told: _Announcement) -> str:
    return f"{told.giver(action.peer)} refunded {amount_text(action.total_amount, action.currency)}"


def _gave_premium(action: Any, told: _Announcement) -> str:
    words = (
        f"gave Telegram Premium for {_many(action.days, 'day')}, worth {amount_text(action.amount, action.currency)}"
    )
    return told.did(words + _note(action.message))


def _gave_code(action: Any, told: _Announcement) -> str:
    source = f" from {told.peer(action.boost_peer)}" if action.boost_peer is not None else ""
    how = " in a giveaway" if action.via_giveaway else ""
    open_ = ", which nobody claimed" if action.unclaimed else ""
    return f"A gift code for {_many(action.days, 'day')} of Telegram Premium{source}{how}{open_}{_note(action.message)}"


def _gave_stars(action: Any, told: _Announcement) -> str:
    return told.did(f"gave {_many(action.stars, 'Star')}, worth {amount_text(action.amount, action.currency)}")


def _gave_ton(action: Any, told: _Announcement) -> str:
    worth = amount_text(action.amount, action.currency)
    return told.did(f"gave {amount_text(action.crypto_amount, action.crypto_currency)}, worth {worth}")


def _won_stars(action: Any, told: _Announcement) -> str:
    open_ = ", which nobody claimed" if action.unclaimed else ""
    return f"A prize of {_many(action.stars, 'Star')} in a giveaway of {told.peer(action.boost_peer)}{open_}"


def _launched(action: Any, told: _Announcement) -> str:
    return told.did("started a giveaway" + (f" of {_many(action.stars, 'Star')}" if action.stars else ""))


def _drawn(action: Any, told: _Announcement) -> str:
    what = "giveaway of Stars" if action.stars else "giveaway"
    return (
        f"The {what} ended: {_many(action.winners_count, 'winner')}, {_many(action.unclaimed_count, 'prize')} unclaimed"
    )


def _gave(action: Any, told: _Announcement) -> str:
    giver = told.giver(action.from_id)
    receiver = action.to_id if action.to_id is not None else action.peer
    to = f" to {told.peer(receiver)}" if receiver is not None else ""
    return f"{giver} gave {_gift(action.gift)}{to}{_then(action)}{_note(action.message)}"


def _gave_unique(action: Any, told: _Announcement) -> str:
    giver = told.giver(action.from_id)
    how = ("upgraded", action.upgrade), ("transferred", action.transferred), ("crafted", action.craft)
    verb = next((word for word, is_so in how if is_so), "gave")
    to = f" to {told.peer(action.peer)}" if action.peer is not None else ""
    price = f" for {star_amount_text(action.resale_amount)}" if action.resale_amount is not None else ""
    return f"{giver} {verb} {_gift(action.gift)}{to}{price}{_then(action)}{_note(action.message)}"


def _then(action: Any) -> str:
    """What became of a gift since."""
    later = ("converted", "upgraded", "refunded")
    done = [word for word in later if getattr(action, word, None)]
    return f" ({', '.join(done)})" if done else ""


def _offered(action: Any, told: _Announcement) -> str:
    words = f"offered {star_amount_text(action.price)} for {_gift(action.gift)}"
    answer = "; it was accepted" if action.accepted else "; it was declined" if action.declined else ""
    return told.did(words + answer)


def _declined(action: Any, told: _Announcement) -> str:
    what = f"of {star_amount_text(action.price)} for {_gift(action.gift)}"
    return f"The offer {what} expired" if action.expired else told.did(f"declined the offer {what}")


def _gift(gift: Any) -> str:
    title = getattr(gift, "title", None)
    number = getattr(gift, "num", None)
    if not title:
        return f"a gift worth {_many(gift.stars, 'Star')}"
    return f"the gift {_quoted(title)}" + (f" #{number}" if number is not None else "")


def _message_price(action: Any, told: _Announcement) -> str:
    if not action.stars:
        return told.did("made messages free of charge")
    return told.did(f"set the price of a message to {_many(action.stars, 'Star')}")


def _refunded_messages(action: Any, told: _Announcement) -> str:
    return told.did(f"refunded {_many(action.stars, 'Star')} for {_many(action.count, 'message')}")


def _judged_post(action: Any, told: _Announcement) -> str:
    if action.balance_too_low:
        return "The suggested post was not published, because the balance is too low"
    if action.rejected:
        reason = f": {_quoted(action.reject_comment)}" if action.reject_comment else ""
        return told.did(f"rejected the suggested post{reason}")
    price = f" for {star_amount_text(action.price)}" if action.price is not None else ""
    at = f", to be published at {_instant(action.schedule_date)}" if action.schedule_date is not None else ""
    return told.did(f"accepted the suggested post{price}{at}")


def _refunded_post(action: Any, told: _Announcement) -> str:
    why = "the payer took the payment back" if action.payer_initiated else "it was deleted too early"
    return f"The suggested post was refunded: {why}"


# Pieces


def _quoted(text: str) -> str:
    return "“" + text + "”"


def _note(message: Any) -> str:
    return "" if message is None or not message.text else f": {_quoted(message.text)}"


def _joined(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        names = [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES} more"]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}" if names else ""


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _on(value: Any) -> str:
    return "on" if value else "off"


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _birthday(found: Any) -> str:
    year = f"{found.year:04}-" if found.year else ""
    return f"{year}{found.month:02}-{found.day:02}"


def _snake(name: str) -> str:
    return _WORD.sub("_", name).lower()


_WORDS: dict[type, _Words] = {
    types.MessageActionEmpty: _is_told("An announcement without content"),
    types.MessageActionChatCreate: _created,
    types.MessageActionChatEditTitle: lambda action, told: told.did(f"changed the title to {_quoted(action.title)}"),
    types.MessageActionChatEditPhoto: _says("changed the picture"),
    types.MessageActionChatDeletePhoto: _says("removed the picture"),
    types.MessageActionChatAddUser: _added,
    types.MessageActionChatDeleteUser: _removed,
    types.MessageActionChatJoinedByLink: lambda action, told: told.did(
        f"joined by an invitation link of {told.name(action.inviter_id)}"
    ),
    types.MessageActionChatJoinedByRequest: _says("joined after the request was accepted"),
    types.MessageActionChatJoinedViaCommunity: _says("joined by the community"),
    types.MessageActionChangeCommunity: _community,
    types.MessageActionChannelCreate: lambda action, told: f"The channel {_quoted(action.title)} was created",
    types.MessageActionChatMigrateTo: _is_told("The group became a supergroup"),
    types.MessageActionChannelMigrateFrom: lambda action, told: (
        f"The group {_quoted(action.title)} became this supergroup"
    ),
    types.MessageActionPinMessage: _says("pinned a message"),
    types.MessageActionHistoryClear: _says("cleared the history"),
    types.MessageActionTopicCreate: lambda action, told: told.did(f"created the topic {_quoted(action.title)}"),
    types.MessageActionTopicEdit: _edited_topic,
    types.MessageActionSetMessagesTTL: _set_expiry,
    types.MessageActionSetChatTheme: _set_theme,
    types.MessageActionSetChatWallPaper: _set_background,
    types.MessageActionNoForwardsToggle: _protected,
    types.MessageActionNoForwardsRequest: _asked_for_protection,
    types.MessageActionChangeCreator: lambda action, told: told.did(
        f"made {told.name(action.new_creator_id)} the owner"
    ),
    types.MessageActionNewCreatorPending: lambda action, told: told.did(
        f"named {told.name(action.new_creator_id)} as the next owner"
    ),
    types.MessageActionBoostApply: _boosted,
    types.MessageActionContactSignUp: _says("joined Telegram"),
    types.MessageActionScreenshotTaken: _says("took a screenshot"),
    types.MessageActionCustomAction: lambda action, told: str(action.message),
    types.MessageActionGeoProximityReached: lambda action, told: (
        f"{told.giver(action.from_id)} is within {action.distance} m of {told.peer(action.to_id)}"
    ),
    types.MessageActionSuggestProfilePhoto: _says("suggested a profile picture"),
    types.MessageActionSuggestBirthday: lambda action, told: told.did(
        f"suggested the birthday {_birthday(action.birthday)}"
    ),
    types.MessageActionPhoneCall: _called,
    types.MessageActionGroupCall: _group_call,
    types.MessageActionGroupCallScheduled: _scheduled_call,
    types.MessageActionInviteToGroupCall: _invited_to_call,
    types.MessageActionConferenceCall: _conference,
    types.MessageActionBotAllowed: _allowed_bot,
    types.MessageActionManagedBotCreated: lambda action, told: told.did(f"created the bot {told.name(action.bot_id)}"),
    types.MessageActionGameScore: lambda action, told: told.did(f"scored {action.score} in a game"),
    types.MessageActionRequestedPeer: _shared,
    types.MessageActionRequestedPeerSentMe: _shared_with_me,
    types.MessageActionWebViewDataSent: _sent_data,
    types.MessageActionWebViewDataSentMe: _sent_data,
    types.MessageActionSecureValuesSent: lambda action, told: told.did(_sent_documents(action.types)),
    types.MessageActionSecureValuesSentMe: lambda action, told: told.did(
        _sent_documents([one.type for one in action.values])
    ),
    types.MessageActionPollAppendAnswer: lambda action, told: told.did(
        f"added the answer {_quoted(action.answer.text.text)} to the poll"
    ),
    types.MessageActionPollDeleteAnswer: lambda action, told: told.did(
        f"removed the answer {_quoted(action.answer.text.text)} from the poll"
    ),
    types.MessageActionTodoAppendTasks: lambda action, told: told.did(
        f"added {_joined([_quoted(one.title.text) for one in action.list])} to the to-do list"
    ),
    types.MessageActionTodoCompletions: _tasks,
    types.MessageActionPaymentSent: _paid,
    types.MessageActionPaymentSentMe: _paid,
    types.MessageActionPaymentRefunded: _refunded,
    types.MessageActionGiftPremium: _gave_premium,
    types.MessageActionGiftCode: _gave_code,
    types.MessageActionGiftStars: _gave_stars,
    types.MessageActionGiftTon: _gave_ton,
    types.MessageActionPrizeStars: _won_stars,
    types.MessageActionStarGift: _gave,
    types.MessageActionStarGiftUnique: _gave_unique,
    types.MessageActionStarGiftPurchaseOffer: _offered,
    types.MessageActionStarGiftPurchaseOfferDeclined: _declined,
    types.MessageActionGiveawayLaunch: _launched,
    types.MessageActionGiveawayResults: _drawn,
    types.MessageActionPaidMessagesPrice: _message_price,
    types.MessageActionPaidMessagesRefunded: _refunded_messages,
    types.MessageActionSuggestedPostApproval: _judged_post,
    types.MessageActionSuggestedPostSuccess: lambda action, told: (
        f"The suggested post was paid with {star_amount_text(action.price)}"
    ),
    types.MessageActionSuggestedPostRefund: _refunded_post,
}
