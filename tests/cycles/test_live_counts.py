"""Numbers, pins and previews that Telegram pushes: stored without a call, and never taken for an edit.

Invariant: live-never-closes-a-gap.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.cycles.running_scheduler import working
from tests.scenes.telegram_mirror import Mirror, unheard
from tests.waiting import until
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.schema import (
    EditSpec,
    PinSpec,
    PostSpec,
    PreviewSpec,
    ReactSpec,
    ViewSpec,
    VoteSpec,
)
from tidegate.loopback.telegram.world.world_changes import edit, pin, post, preview, react, view, vote


@pytest.fixture
async def news(mirror: Mirror, world: World) -> AsyncIterator[Channel]:
    """A channel with a text, a poll and a link, read to its end; its account listens."""
    made = world.add_channel("News")
    for kind in ("text", "poll", "link_pending"):
        post(world, PostSpec(channel="News", kind=kind))
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    async with working(mirror, None):
        yield made


TEXT, POLL, LINK = 2, 3, 4
"""The ids of these messages; the first one made the channel."""


async def stored(mirror: Mirror, number: int) -> Any:
    [row] = await mirror.rows("SELECT * FROM messages WHERE id = $1", number)
    return row


def told(mirror: Mirror, number: int, column: str, value: object) -> Callable[[], Awaitable[bool]]:
    async def compare() -> bool:
        found = (await stored(mirror, number))[column] or {}
        return found == value or (isinstance(value, dict) and value.items() <= found.items())

    return compare


async def unbroken(mirror: Mirror, channel: Channel) -> bool:
    return (await mirror.place(channel))["changes"] == channel.pts


class TestNumbers:
    async def test_views_and_forwards_are_stored_without_a_call(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """They move no counter: nothing seems to be missing, and the next cycle has nothing to read."""
        before = await mirror.place(news)
        async with mirror.counted() as calls:
            view(world, ViewSpec(channel="News", messages=[TEXT], views=70, forwards=4))
            await until(told(mirror, TEXT, "counts", {"views": 70, "forwards": 4}))
        assert not calls
        assert (await mirror.place(news))["changes"] == before["changes"] == news.pts
        assert (await stored(mirror, TEXT))["counted_at"] is not None

    async def test_votes_are_stored_without_a_call(self, mirror: Mirror, news: Channel, world: World) -> None:
        """Each answer by its key, and how many people voted."""
        async with mirror.counted() as calls:
            vote(world, VoteSpec(channel="News", message=POLL, option=1, count=41, total=50))

            async def counted() -> bool:
                counts = (await stored(mirror, POLL))["counts"]
                return (counts["votes"]["1"], counts["voters"]) == (41, 50)

            await until(counted)
        assert not calls
        assert await mirror.rows("SELECT FROM message_revisions") == []

    @pytest.mark.parametrize("as_edit", [False, True])
    async def test_a_reaction_is_stored_without_a_call_and_is_no_edit(
        self, mirror: Mirror, news: Channel, world: World, as_edit: bool
    ) -> None:
        """Also where Telegram sends it as a hidden edit, which moves the counter."""
        async with mirror.counted() as calls:
            react(world, ReactSpec(channel="News", message=TEXT, emoji="👍", count=3, as_edit=as_edit))
            await until(told(mirror, TEXT, "reactions", {"👍": 3}))
            await until(lambda: unbroken(mirror, news))
        assert not calls
        assert (await stored(mirror, TEXT))["edited_at"] is None
        assert await mirror.rows("SELECT FROM message_revisions") == []

    async def test_a_reaction_after_a_persons_edit_leaves_its_time(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """Telegram then sends it as an open edit (edit_hide False) with a later time; only the content tells."""
        edit(world, EditSpec(channel="News", id=TEXT, text="changed"))
        await until(told(mirror, TEXT, "text", "changed"))
        edited_at = (await stored(mirror, TEXT))["edited_at"]
        async with mirror.counted() as calls:
            react(world, ReactSpec(channel="News", message=TEXT, emoji="👍", as_edit=True))
            await until(told(mirror, TEXT, "reactions", {"👍": 1}))
            await until(lambda: unbroken(mirror, news))
        assert world.message(news, TEXT).edited_at > edited_at
        await mirror.pass_time(hours=1)
        await mirror.compare(news)
        assert not calls
        row = await stored(mirror, TEXT)
        assert (row["edited_at"], row["reactions"]) == (edited_at, {"👍": 1})
        assert len(await mirror.rows("SELECT FROM message_revisions")) == 1

    async def test_a_hidden_change_after_a_persons_edit_is_stored(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """A bot that only changes its buttons hides that edit; the change is stored though the time is gone."""
        edit(world, EditSpec(channel="News", id=TEXT, text="changed"))
        await until(told(mirror, TEXT, "text", "changed"))
        edit(world, EditSpec(channel="News", id=TEXT, text="changed quietly", raw={"edit_hide": True}))
        await until(told(mirror, TEXT, "text", "changed quietly"))
        assert (await stored(mirror, TEXT))["edited_at"] is None


class TestPinsAndPreviews:
    async def test_a_pin_is_stored_without_a_call(self, mirror: Mirror, news: Channel, world: World) -> None:
        """Set and removed, with its service message, and without a gap; a reconcile then has nothing to change."""
        async with mirror.counted() as calls:
            _, said = pin(world, PinSpec(channel="News", message=TEXT))
            await until(told(mirror, TEXT, "content", {"marks": ["pinned"]}))
            await until(lambda: unbroken(mirror, news))
        assert not calls
        assert (await stored(mirror, said))["service"] == "pin_message"
        before = await stored(mirror, TEXT)
        await mirror.compare(news)
        assert dict(await stored(mirror, TEXT)) == dict(before)
        async with mirror.counted() as calls:
            pin(world, PinSpec(channel="News", message=TEXT, pinned=False))
            await until(lambda: unbroken(mirror, news))
        assert not calls
        assert (await stored(mirror, TEXT))["content"] is None
        assert await mirror.rows("SELECT FROM message_revisions") == []

    @pytest.mark.parametrize("raw", [None, {"_": "WebPageEmpty"}])
    async def test_a_late_preview_is_stored_without_a_call(
        self, mirror: Mirror, news: Channel, world: World, raw: dict[str, Any] | None
    ) -> None:
        """Telegram names the preview, not the message; no difference has it. It may also find nothing to show."""
        assert (await stored(mirror, LINK))["content"]["awaited_preview"]
        async with mirror.counted() as calls:
            preview(world, PreviewSpec(channel="News", message=LINK, raw=raw))
            await until(lambda: unbroken(mirror, news))
        assert not calls
        row = await stored(mirror, LINK)
        assert "awaited_preview" not in row["content"]
        assert ("preview" in row["content"], row["edited_at"]) == (raw is None, None)
        await mirror.compare(news)
        assert dict(await stored(mirror, LINK)) == dict(row), "as if it had come with the message"
        assert await mirror.rows("SELECT FROM message_revisions") == []


async def test_a_pin_that_was_not_pushed_comes_with_the_difference(mirror: Mirror, world: World) -> None:
    """Also one of an account that was away; a message that is not stored is not made up."""
    made = world.add_channel("News")
    post(world, PostSpec(channel="News", kind="text", count=2))
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    with unheard(made):
        pin(world, PinSpec(channel="News", message=TEXT))
        pin(world, PinSpec(channel="News", message=TEXT + 1))
        pin(world, PinSpec(channel="News", message=TEXT + 1, pinned=False))
    await mirror.pass_time(hours=1)
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls["updates.getChannelDifference"] == 1
    assert (await stored(mirror, TEXT))["content"] == {"marks": ["pinned"]}
    assert (await stored(mirror, TEXT + 1))["content"] is None


async def test_numbers_of_a_message_that_is_not_stored_change_nothing(
    mirror: Mirror, news: Channel, world: World
) -> None:
    """Nobody asks for it because of a number, and no row appears."""
    news.pushes = False
    unheard = world.post(news, "not told").id
    news.pushes = True
    async with mirror.counted() as calls:
        view(world, ViewSpec(channel="News", messages=[unheard], views=5))
        view(world, ViewSpec(channel="News", messages=[TEXT], views=6))
        await until(told(mirror, TEXT, "counts", {"views": 6}))
    assert not calls
    assert await mirror.rows("SELECT FROM messages WHERE id = $1", unheard) == []
