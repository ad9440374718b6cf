"""Every kind of message over the wire: each way of reading it brings the same."""

from __future__ import annotations

import pytest

from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import MessageKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.telegram.world.schema import PostSpec, ReactSpec
from tidegate.loopback.telegram.world.world_changes import post, react
from tidegate.platforms.interface import ChannelUpdates, Difference, Message, Reaction
from tidegate.platforms.telegram.client import TelegramAccount


@pytest.fixture
def where(client: TelegramAccount, world: World) -> ChannelId:
    return ChannelId(world.channel("Models").id)


async def pushed(client: TelegramAccount, most: int) -> list[ChannelUpdates]:
    """The next *most* updates of a channel that are pushed with what changed."""
    found: list[ChannelUpdates] = []
    while len(found) < most:
        found += [hint.updates for hint in await client.hints(most=most) if hint.updates is not None]
    return found


@pytest.mark.parametrize("kind", kind_names())
async def test_a_kind_is_the_same_however_it_is_read(
    client: TelegramAccount, world: World, where: ChannelId, kind: str
) -> None:
    """Pushed, in a difference, in a page or by number: equal in all that is stored, so that nothing looks edited."""
    since = world.channel("Models").pts
    numbers = [MessageId(number) for number in post(world, PostSpec(channel="Models", kind=kind))]
    live = {one.id: one for updates in await pushed(client, len(numbers)) for one in updates.posted}
    difference = await client.difference(where, since=since)
    assert isinstance(difference, Difference)
    page = (await client.page(where, before=None)).messages
    by_number = await client.messages(where, numbers)
    for number in numbers:
        told: list[Message | None] = [
            live[number],
            next(one for one in difference.updates.posted if one.id == number),
            next(one for one in page if one.id == number),
            by_number[number],
        ]
        assert [one == told[0] for one in told] == [True] * 4
        assert live[number].kind is not MessageKind.UNSUPPORTED or kind == "unsupported"


@pytest.mark.parametrize("kind", ["text", "photo", "poll", "link", "edited"])
async def test_a_reaction_changes_numbers_alone(
    client: TelegramAccount, world: World, where: ChannelId, kind: str
) -> None:
    """Sent as an edit, hidden or not, it leaves all that would make one as it was."""
    [number] = post(world, PostSpec(channel="Models", kind=kind))
    [[before]] = [updates.posted for updates in await pushed(client, 1)]
    react(world, ReactSpec(channel="Models", message=number, emoji="👍", as_edit=True))
    after = (await client.messages(where, [MessageId(number)]))[MessageId(number)]
    assert after is not None
    assert after.reactions == (Reaction("👍", 1),)
    for name in ("kind", "text", "content", "raw", "files", "author"):
        assert getattr(after, name) == getattr(before, name)
