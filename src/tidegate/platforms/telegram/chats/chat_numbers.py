"""Numbers for private chats and small groups. Pure.

Telegram numbers people, small groups and channels apart, so the same number may mean one of each. Messages of private
chats and small groups are numbered by account, so the same chat seen by two accounts is two channels here. The number
of such a chat therefore holds the account (our id), a bit for small groups, and Telegram's own number:

    account * 2**41 + (2**40 for a small group) + the number of the person or group

Telegram's numbers of people and small groups are below 2**40, and those of channels too, so no channel has one of these
numbers. They stay positive, since a command line takes a number that begins with a dash for an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from telethon.tl import types

from tidegate.core.ids import AccountId, ChannelId, UserId
from tidegate.platforms.telegram.content.people import channel_number

_GROUPS = 1 << 40
_ACCOUNTS = 1 << 41


class ChatPeer(NamedTuple):
    """Who a private chat is with: a person or bot, or a small group."""

    number: int
    is_group: bool


@dataclass(frozen=True, slots=True)
class ChatNumbers:
    """The numbers of one account's chats; *me* is Telegram's number of the account."""

    account: AccountId
    me: UserId

    def of(self, peer: Any) -> ChannelId | None:
        """The number of a private chat or small group; None for any other peer, or one with an impossible number."""
        if type(peer) is types.PeerUser:
            return self._number(peer.user_id, is_group=False)
        return self._number(peer.chat_id, is_group=True) if type(peer) is types.PeerChat else None

    def of_any(self, peer: Any) -> ChannelId | None:
        """The number of any chat or channel."""
        return channel_number(peer) or self.of(peer)

    def _number(self, number: int, *, is_group: bool) -> ChannelId | None:
        if not 0 < number < _GROUPS:
            return None
        return ChannelId(self.account * _ACCOUNTS + (_GROUPS if is_group else 0) + number)


def chat_peer(number: ChannelId) -> ChatPeer | None:
    """Who the private chat of that number is with; None for the number of a channel."""
    if number < _ACCOUNTS:
        return None
    within = number % _ACCOUNTS
    return ChatPeer(within % _GROUPS, is_group=within >= _GROUPS)
