"""What a run delivered, by the platform's own record, and whether the promises of a delivery hold for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.stories.test_a_crash_never_breaks_the_pace import most_in_any
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.reminders import controls, saving
from tidegate.reminders.files import as_read
from tidegate.reminders.written import checked
from tidegate.rules.pacing import Pace
from tidegate.store.database import Database
from tidegate.words import RunId

TEXT, POSTER = "Good morning {group}", "poster.jpg"


async def fire(database: Database, account: str, picture: bytes, **written: str) -> RunId:
    """Save a reminder of a text and a picture to all groups of an account, open all day, and fire it."""
    parts = [{"text": TEXT}, {"media": POSTER, "caption": "New prices"}]
    hours = {"delivery_window_start_hour": 0, "delivery_window_end_hour": 24}
    reminder = checked(
        {"name": f"stock of {account}", "account": account, "all": True, "parts": parts, **hours, **written}
    )
    async with database.transaction() as connection:
        await saving.add(connection, reminder, {POSTER: as_read(POSTER, picture)})
        return await controls.fire(connection, reminder.name)


async def is_at_rest(database: Database) -> bool:
    """Whether every run has ended, or waits for a person to say what became of the rest."""
    return not await database.pool.fetchval("SELECT count(*) FROM runs WHERE state NOT IN ('ended', 'needs_attention')")


@dataclass(frozen=True)
class Group:
    """What one group got, in its own order: texts, and files by their names."""

    title: str
    got: Sequence[str]


def groups_of(platform: TelegramWorld) -> list[Group]:
    """Every group with what it holds now."""
    return [
        Group(
            channel.title,
            [message.file.name if message.file else message.text for message in channel.messages.values()
             if not message.action],
        )
        for channel in platform.channels.values()
    ]  # fmt: skip


def nothing_twice(platform: TelegramWorld) -> None:
    """No part of any group was delivered twice, by what the groups hold and by what the platform accepted."""
    for group in groups_of(platform):
        assert not [part for part, count in Counter(group.got).items() if count > 1], group
    keys = Counter(sent.key for sent in platform.record.sends)
    assert not [key for key, count in keys.items() if count > 1]


def in_order(platform: TelegramWorld, parts: Sequence[str]) -> None:
    """Every group got its parts from the first on and in their order."""
    for group in groups_of(platform):
        wanted = [part.replace("{group}", group.title) for part in parts]
        assert list(group.got) == wanted[: len(group.got)], group


async def nothing_lost(database: Database, platform: TelegramWorld) -> Counter[str]:
    """What is told as sent is there, and what is not there has a reason; parts by their state."""
    rows = await database.pool.fetch(
        """
        SELECT p.state, p.error, p.number, c.number AS channel
        FROM run_parts p
        JOIN run_targets t ON t.run = p.run AND t.number = p.target
        JOIN channels c ON c.id = t.channel
        """
    )
    held = {channel.id: len([one for one in channel.messages.values() if not one.action])
            for channel in platform.channels.values()}  # fmt: skip
    for row in rows:
        if row["state"] == "sent":
            assert row["number"] <= held[row["channel"]], dict(row)
        elif row["state"] == "pending":  # an earlier part of that group is unknown
            assert row["number"] > 1
        else:
            assert row["error"], dict(row)
    return Counter(row["state"] for row in rows)


async def pace_held(database: Database, received: Sequence[float], pace: Pace) -> None:
    """Law 7: by their instants no two claims are closer than the interval, and the receiver's own record agrees."""
    rows = await database.pool.fetch("SELECT at FROM calls WHERE charged ORDER BY at")
    claims = [row["at"].timestamp() for row in rows]
    assert min(later - earlier for earlier, later in pairwise(claims)) >= pace.interval.total_seconds() - 1e-6
    first = int(pace.slack / pace.interval) + 1  # what is claimed arrives within the slack
    for count in range(first, pace.rate + 1, max(1, pace.rate // 100)):
        span = (count * pace.interval - pace.slack).total_seconds()
        assert most_in_any(span, received) <= count + pace.burst - 1
