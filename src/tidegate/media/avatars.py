"""Avatars noted where a platform shows them anyway: with the author of a message, and with a channel's head."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.pool import Connection
from tidegate.media.queries import avatars, media_files, media_rules
from tidegate.media.queries.avatars import SeenAvatar
from tidegate.media.queries.media_files import NotedFile
from tidegate.media.queries.media_rules import MediaPolicy
from tidegate.media.rules.media_policy import MediaFacts, MediaPlace, PolicyKind, decide_file
from tidegate.platforms.interface import Channel, FileHandle, Message

OF_CHANNEL = MessageId(0)
"""The message of a picture that a channel itself has."""

BATCH = 500


async def note_authors(connection: Connection, channel: ChannelKey, messages: Collection[Message]) -> None:
    """Note the pictures of authors that are new, in the transaction of their messages."""
    seen = [
        SeenAvatar(one.person.avatar, one.id)
        for one in sorted(messages, key=lambda one: one.id)
        if one.person is not None and one.person.avatar is not None
    ]
    if seen:
        await _note(connection, channel, seen)


async def note_channels(connection: Connection, platform: str, seen: Iterable[Channel | None]) -> None:
    """Note the pictures of channels, or of their servers, as an answer describes them."""
    shown = {one.id: one.avatar for one in seen if one is not None and one.avatar is not None}
    changed = await avatars.shown_by(connection, platform, shown) if shown else {}
    for key, avatar in sorted(changed.items(), key=lambda one: one[1].owner):
        await _note(connection, key, [SeenAvatar(avatar, OF_CHANNEL)])


async def _note(connection: Connection, channel: ChannelKey, seen: Sequence[SeenAvatar]) -> None:
    place = await media_rules.place_of(connection, channel)
    new = await avatars.store(connection, place.platform, channel, seen)
    if new:
        await _decide(connection, await media_rules.policy(connection), place, new)


async def decide_stored(connection: Connection, policy: MediaPolicy, place: MediaPlace) -> None:
    """Decide about all pictures that were seen in a channel, under a policy that is newer."""
    after: int | None = None
    while found := await avatars.seen_in(connection, place.channel, after, most=BATCH):
        await _decide(connection, policy, place, found)
        after = found[-1].avatar.owner


async def _decide(connection: Connection, policy: MediaPolicy, place: MediaPlace, seen: Sequence[SeenAvatar]) -> None:
    if not policy.state.enabled:
        return
    facts = MediaFacts(PolicyKind.AVATAR, 0)
    verdict = decide_file(policy.state, policy.rules, place, facts)
    noted = [
        NotedFile(
            one.avatar.file,
            PolicyKind.AVATAR,
            one.message,
            0,
            verdict.part,
            verdict.reason or "",
            handle=FileHandle(one.avatar.handle),
        )
        for one in seen
    ]
    await media_files.note(connection, place.platform, place.channel, None, noted)
