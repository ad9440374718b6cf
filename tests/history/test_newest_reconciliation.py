"""Comparing the newest messages with the platform: what was edited or deleted behind our back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.history.backfill_scene import context, found, mirrored, stored
from tests.scenes.telegram_mirror import Mirror
from tidegate.channels.queries import channels
from tidegate.history.backfill import backfill
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.newest_reconciliation import Reconciled, reconcile, reconcile_due
from tidegate.history.rules.backfill_plan import HistoryDepth
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram.world.channels import Channel

PAGES = "messages.getHistory"


async def complete(mirror: Mirror, *sizes: int) -> list[Channel]:
    """Channels whose history is all there, and was last compared before that can be told."""
    made = await mirrored(mirror, *sizes)
    await backfill(context(mirror), HistoryPolicy(), await found(mirror, *made))
    await mirror.rows("UPDATE channels SET verified_at = NULL RETURNING 1")
    return made


async def test_what_a_backfill_read_anyway_is_compared(mirror: Mirror) -> None:
    """Pages that were fetched anyway count: nobody asks for the newest messages once more right after a first fetch."""
    made = await mirrored(mirror, 30, 250, 150)
    await backfill(context(mirror), HistoryPolicy(target=100), await found(mirror, *made), wanted=HistoryDepth(100))
    compared = {one.place.title: one.reconciled_at is not None for one in await found(mirror, *made)}
    assert compared == {"Talk 0": True, "Talk 1": False, "Talk 2": False}


async def texts(mirror: Mirror, channel: Channel) -> dict[int, str]:
    rows = await mirror.rows(
        "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel WHERE c.number = $1", channel.id
    )
    return {row["id"]: row["text"] for row in rows}


async def now(mirror: Mirror) -> datetime:
    [row] = await mirror.rows("SELECT clock_now() AS now")
    return row["now"]


async def test_h31_only_what_a_page_proves_is_marked_deleted(mirror: Mirror) -> None:
    """H-31: an edit and a deletion among the newest are found; what lies below the last page read is left alone."""
    [made] = await complete(mirror, 350)
    mirror.world.edit(made, 340, text="another text")
    del made.messages[330], made.messages[20]  # without a word of the platform
    async with mirror.counted() as calls:
        told = (await reconcile(context(mirror), await found(mirror, made), limit=200)).as_json()
    [one] = told["channels"]
    assert calls[PAGES] == 2
    assert (one["checked"], one["edited"], one["deleted"], one["error"]) == (200, 1, 1, None)
    assert (await texts(mirror, made))[340] == "another text"
    assert await stored(mirror, made) == sorted({*made.messages, 20})


async def test_a_short_history_is_compared_to_its_start(mirror: Mirror) -> None:
    """Where the platform says that nothing is older, nothing more is asked for."""
    [made] = await complete(mirror, 30)
    async with mirror.counted() as calls:
        await reconcile(context(mirror), await found(mirror, made), limit=200)
    assert calls[PAGES] == 1


async def test_one_channel_s_trouble_is_told_and_stops_no_other(mirror: Mirror) -> None:
    """The one that failed is not taken for compared."""
    bad, good = await complete(mirror, 30, 30)
    mirror.world.faults.add(Fault(FaultKind.ERROR, PAGES, channel=bad.id, code="400 CHAT_BOGUS"))
    told = (await reconcile(context(mirror), await found(mirror, bad, good), limit=100)).as_json()
    assert (told["succeeded"], told["failed"]) == (1, 1)
    compared = {one.place.title: one.reconciled_at is not None for one in await found(mirror, bad, good)}
    assert compared == {bad.title: False, good.title: True}


@pytest.fixture
async def uncounted(mirror: Mirror) -> list[Channel]:
    """Seven channels of a platform that has no counter of changes, each more active than the one before."""
    made = await complete(mirror, *range(10, 17))
    await mirror.rows("UPDATE places SET changes = NULL, newest_seen = (SELECT max(id) FROM messages m "
                      "WHERE m.channel = places.channel) RETURNING 1")  # fmt: skip
    return made


async def test_h38_the_least_recently_compared_come_first_within_the_budget(
    mirror: Mirror, uncounted: list[Channel]
) -> None:
    """H-38: three calls a cycle: the most active first, then others, and none twice; the order is stored."""
    policy, began = HistoryPolicy(reconcile_limit=100, reconcile_calls=3), await now(mirror) + timedelta(minutes=5)
    cycles = []
    for _ in range(4):
        done = await reconcile_due(context(mirror), policy, since=began)
        cycles.append([one.place.title for one in done.channels])
        await mirror.pass_time(minutes=1)
        await mirror.connect()
    assert cycles == [
        ["Talk 6", "Talk 5", "Talk 4"],
        ["Talk 3", "Talk 2", "Talk 1"],
        ["Talk 0", "Talk 6", "Talk 5"],
        ["Talk 4", "Talk 3", "Talk 2"],
    ]


async def test_what_was_compared_since_is_left_in_peace(mirror: Mirror, uncounted: list[Channel]) -> None:
    """Once after a downtime, not again and again; and a budget of nothing spends nothing."""
    began = await now(mirror)
    await mirror.pass_time(minutes=1)
    assert len((await reconcile_due(context(mirror), HistoryPolicy(), since=began)).channels) == 7
    async with mirror.counted() as calls:
        assert await reconcile_due(context(mirror), HistoryPolicy(), since=began) == Reconciled()
        later = await now(mirror) + timedelta(minutes=5)
        assert await reconcile_due(context(mirror), HistoryPolicy(reconcile_calls=0), since=later) == Reconciled()
    assert not calls


async def test_a_platform_that_counts_its_changes_is_not_asked_again(mirror: Mirror) -> None:
    """Telegram tells every edit and deletion; comparing there is for people who ask for it."""
    made = await complete(mirror, 30)
    await mirror.settle()
    assert (await mirror.place(made[0]))["changes"] is not None
    later = await now(mirror) + timedelta(minutes=5)
    assert await reconcile_due(context(mirror), HistoryPolicy(), since=later) == Reconciled()


async def test_descriptions_and_titles_over_time_are_kept(mirror: Mirror) -> None:
    """Telegram has to be asked for a description, one call a channel; what it said before stays on record."""
    [made] = await complete(mirror, 5)
    for made.about in ("Boats for sale", "Boats, nets and rope"):
        async with mirror.counted() as calls:
            await reconcile(context(mirror), await found(mirror, made), limit=200)
        assert calls["channels.getFullChannel"] == 1
    async with mirror.database.connection() as connection:
        kept = await channels.find(connection, str(made.id))
        earlier = await channels.earlier_names(connection, kept.key)
    assert kept.description == "Boats, nets and rope"
    assert [(one.title, one.description) for one in earlier] == [("Talk 0", "Boats for sale")]
