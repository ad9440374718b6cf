"""Reactions, votes, pins and previews that the gateway brings: stored without a page, and never taken for an edit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cycles.guilds.conftest import PAGES, GuildMirror
from tests.waiting import until
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.messages.message_changes import (
    edit,
    end_poll,
    pin,
    post,
    react,
    unpin,
    unreact,
    vote,
)
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.discord.world.schema import (
    EditSpec,
    EndPollSpec,
    PinSpec,
    PostSpec,
    ReactSpec,
    UnpinSpec,
    UnreactSpec,
    VoteSpec,
)


@pytest.fixture
async def general(mirror: GuildMirror, world: World, guild: Guild) -> AsyncIterator[Channel]:
    """A channel that was read to its end, and whose bot listens; no page is read in the test, and nothing is edited."""
    made = world.add_channel(guild, "general")
    world.post(made, "the first")
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made))
        async with mirror.counted() as calls:
            yield made
        assert calls[PAGES] == 0
    assert await mirror.rows("SELECT FROM message_revisions") == []


async def stored(mirror: GuildMirror, number: int) -> Any:
    rows = await mirror.rows("SELECT * FROM messages WHERE id = $1", number)
    return rows[0] if rows else {"reactions": None, "counts": None, "content": None}


async def test_reactions_are_counted_live(mirror: GuildMirror, general: Channel, world: World) -> None:
    """Added, taken back and cleared; each number is the platform's, and the message is not edited."""
    [number] = post(world, PostSpec(channel="general", text="look"))

    async def counted(**emoji: int) -> None:
        async def are() -> bool:
            return (await stored(mirror, number))["reactions"] == emoji

        await until(are)

    react(world, ReactSpec(channel="general", message=number, emoji="👍", change=3))
    react(world, ReactSpec(channel="general", message=number, emoji="🔥", change=1))
    await counted(**{"👍": 3, "🔥": 1})
    react(world, ReactSpec(channel="general", message=number, emoji="👍", change=-1))
    await counted(**{"👍": 2, "🔥": 1})
    unreact(world, UnreactSpec(channel="general", message=number, emoji="👍"))
    await counted(**{"🔥": 1})
    unreact(world, UnreactSpec(channel="general", message=number))
    await counted()
    row = await stored(mirror, number)
    assert (row["edited_at"], row["counted_at"] is not None) == (None, True)


async def test_votes_are_counted_live_until_the_poll_ends(mirror: GuildMirror, general: Channel, world: World) -> None:
    """Votes come one by one; the event that closes the poll brings the results, and is no edit."""
    [number] = post(world, PostSpec(channel="general", kind="poll"))

    async def votes() -> dict[str, int]:
        return ((await stored(mirror, number))["counts"] or {}).get("votes", {})

    def truth() -> dict[str, int]:
        poll = world.message(general, number).poll
        assert poll is not None
        return {str(answer): len(by) for answer, by in poll.votes.items() if by}

    async def equal() -> bool:
        return {answer: count for answer, count in (await votes()).items() if count} == truth()

    async def closed() -> bool:
        return bool(((await stored(mirror, number))["content"] or {}).get("poll", {}).get("closed"))

    await until(equal)
    vote(world, VoteSpec(channel="general", message=number, answer=1, change=2))
    vote(world, VoteSpec(channel="general", message=number, answer=2, change=1))
    vote(world, VoteSpec(channel="general", message=number, answer=1, change=-1))
    await until(equal)
    end_poll(world, EndPollSpec(channel="general", message=number))
    await until(closed)
    assert await equal()
    assert (await stored(mirror, number))["edited_at"] is None


async def test_a_preview_that_arrives_later_is_no_edit(mirror: GuildMirror, general: Channel, world: World) -> None:
    """The embed is there and found, and the text and its time are as they were."""
    [number] = post(world, PostSpec(channel="general", text="Read https://example.com/kettle"))
    raw = {"embeds": [{"type": "link", "title": "All about kettles", "url": "https://example.com/kettle"}]}
    edit(world, EditSpec(channel="general", id=number, raw=raw))

    async def shown() -> bool:
        return bool(((await stored(mirror, number))["content"] or {}).get("embeds"))

    await until(shown)
    row = await stored(mirror, number)
    assert (row["text"], row["edited_at"]) == ("Read https://example.com/kettle", None)
    assert "kettles" in row["words"]


async def test_a_pin_is_stored_live(mirror: GuildMirror, general: Channel, world: World) -> None:
    """The mark comes with an event of the message, and the announcement is a message of its own."""
    [number] = post(world, PostSpec(channel="general", text="important"))
    [said] = pin(world, PinSpec(channel="general", message=number))

    async def pinned() -> bool:
        marks = ((await stored(mirror, number))["content"] or {}).get("marks", [])
        return "pinned" in marks and bool(((await stored(mirror, said))["content"] or {}).get("service"))

    await until(pinned)
    unpin(world, UnpinSpec(channel="general", message=number))

    async def unpinned() -> bool:
        return "pinned" not in ((await stored(mirror, number))["content"] or {}).get("marks", [])

    await until(unpinned)
    assert (await stored(mirror, number))["edited_at"] is None
