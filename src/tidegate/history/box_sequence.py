"""What push updates of an account's message box prove: only an unbroken sequence moves its counter.

Pure. Invariant: live-never-closes-a-gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.core.ids import ChannelId, MessageId
from tidegate.history.rules.live_sequence import SequenceStep, follow
from tidegate.platforms.interface import BoxUpdates, ChannelUpdates, Message, Previewed

_NOTHING = ChannelUpdates(None)


@dataclass(frozen=True, slots=True)
class BoxPage:
    """Changes of several chats, of which the messages *linked* prove coverage; *deleted* and *previewed* are of any."""

    chats: Mapping[ChannelId, ChannelUpdates]
    linked: Mapping[ChannelId, Sequence[Message]]
    deleted: Sequence[MessageId] = ()
    previewed: Sequence[Previewed] = ()

    def updates_of(self, chat: ChannelId) -> ChannelUpdates:
        """The changes of one chat; a deletion and a late preview name none, so they may be of this one."""
        found = self.chats.get(chat, _NOTHING)
        return replace(found, deleted=[*found.deleted, *self.deleted], previewed=self.previewed)


@dataclass(frozen=True, slots=True)
class FollowedUpdates:
    """Updates of a box to be stored, the value its counter has reached, and whether updates before some are missing."""

    page: BoxPage
    known: int
    is_gap: bool


def follow_updates(known: int, updates: Sequence[BoxUpdates]) -> FollowedUpdates:
    """Follow a box as far as its updates are unbroken, in whatever order they came.

    What is known already is left out: storing it again could restore what was deleted since.
    """
    followed = follow(known, [SequenceStep(one.upto, one.steps) for one in updates])
    linked = [updates[one] for one in followed.linked]
    stored = [*linked, *(updates[one] for one in followed.apart)]
    chats: dict[ChannelId, ChannelUpdates] = {}
    proven: dict[ChannelId, list[Message]] = {}
    for one in stored:
        for chat, found in one.chats.items():
            before = chats.get(chat, _NOTHING)
            chats[chat] = replace(
                before,
                posted=[*before.posted, *found.posted],
                edited=[*before.edited, *found.edited],
                patched=[*before.patched, *found.patched],
            )
    for one in linked:
        for chat, found in one.chats.items():
            proven.setdefault(chat, []).extend(found.posted)
    deleted = [number for one in stored for number in one.deleted]
    page = BoxPage(chats, proven, deleted, [made for one in stored for made in one.previewed])
    return FollowedUpdates(page, known if followed.known is None else followed.known, bool(followed.apart))
