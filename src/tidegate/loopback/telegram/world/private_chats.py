"""Private chats and small groups: each account has its own view of one, with its own numbers of the messages.

All views of an account share its message box, which numbers the messages and logs the changes. A message in a view has
copies in the views of the other accounts that take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from telethon.tl import types

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.world.channels import Channel, Event, EventKind, Message

SAVED = "Saved Messages"
_FIRST_VIEW = 3_000_000_001
_FIRST_GROUP = 400_001


@dataclass(frozen=True, slots=True)
class BoxEvent:
    """One entry of a box's log."""

    chat: int  # the id of the view that the event belongs to
    event: Event


@dataclass(slots=True)
class Box:
    """One account's message box. A difference that starts below *oldest_pts* is too long."""

    pts: int = 1
    oldest_pts: int = 1
    newest_id: int = 0
    log: list[BoxEvent] = field(default_factory=list)

    def note(self, chat: int, kind: EventKind, messages: tuple[int, ...]) -> Event:
        self.pts += len(messages)
        event = Event(self.pts, len(messages), kind, messages)
        self.log.append(BoxEvent(chat, event))
        return event


class PrivateChats:
    """All views of private chats and small groups, by the id that only this world knows, and the boxes of accounts."""

    def __init__(self) -> None:
        self.views: dict[int, Channel] = {}
        self.boxes: dict[int, Box] = {}

    def box(self, account: int) -> Box:
        return self.boxes.setdefault(account, Box())

    def of(self, account: int) -> list[Channel]:
        """The views of one account."""
        return [view for view in self.views.values() if view.owner == account]

    def view(self, account: int, peer: int, *, basic: bool) -> Channel | None:
        return next((one for one in self.of(account) if (one.peer_id, one.basic) == (peer, basic)), None)

    def open(self, account: int, peer: int, title: str, date: datetime, *, talk: int, basic: bool = False) -> Channel:
        """A new view; *talk* is shared by all views of one chat."""
        if any(one.title == title for one in self.of(account)):
            raise BadInput(f'The account has a private chat "{title}" already.')
        view = Channel(_FIRST_VIEW + len(self.views), title, date, owner=account, peer_id=peer, basic=basic, talk=talk)
        view.members = {account}
        self.views[view.id] = view
        return view

    def new_talk(self) -> int:
        return 1 + max((view.talk for view in self.views.values()), default=0)

    def new_group(self) -> int:
        taken = [view.peer_id for view in self.views.values() if view.basic]
        return 1 + max(taken, default=_FIRST_GROUP - 1)

    def twins(self, view: Channel) -> Iterable[Channel]:
        """The views that other accounts have of the same chat."""
        return [one for one in self.views.values() if one.talk == view.talk and one is not view]

    def copies(self, view: Channel, message: Message) -> list[tuple[Channel, int]]:
        """A message in every view that still has it, with its number there; the given view comes first."""
        found = [(one, message.copies.get(one.id, 0)) for one in (view, *self.twins(view))]
        return [(one, number) for one, number in found if number in one.messages]

    def copy_for(self, twin: Channel, view: Channel, message: Message) -> Message:
        """A message as another account gets it: what it replies to has another number there."""
        replied = view.messages.get(message.reply_to)
        reply_to = replied.copies.get(twin.id, 0) if replied else 0
        return replace(message, id=0, reply_to=reply_to, fields=dict(message.fields))


def peer_of(channel: Channel) -> types.PeerChannel | types.PeerUser | types.PeerChat:
    """How messages name the channel or chat they are in."""
    if not channel.owner:
        return types.PeerChannel(channel.id)
    return types.PeerChat(channel.peer_id) if channel.basic else types.PeerUser(channel.peer_id)
