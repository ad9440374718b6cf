"""What a run delivered, by the platform's own record, and whether the promises of a delivery hold for it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.cli.program import tidegate
from tests.stories.send_times import most_in_any
from tidegate.core.ids import RunId
from tidegate.database.pool import Database
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.counting_world import World
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.whatsapp import World as WhatsAppWorld
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls

TEXT, POSTER = "Good morning {group}", "poster.jpg"


async def fire(database: Database, account: str, picture: bytes, **written: str) -> RunId:
    """Save a reminder of a text and a picture to all groups of an account, open all day, and fire it."""
    parts = [{"text": TEXT}, {"media": POSTER, "caption": "New prices"}]
    hours = {"delivery_window_start_hour": 0, "delivery_window_end_hour": 24}
    reminder = parse_reminder(
        {"name": f"stock of {account}", "account": account, "all": True, "parts": parts, **hours, **written}
    )
    async with database.transaction() as connection:
        kept = await reminder_changes.add(connection, reminder, {POSTER: as_read(POSTER, picture)})
        return await run_controls.fire(connection, kept)


async def is_at_rest(database: Database) -> bool:
    """Whether every run has ended, or waits for a person to say what became of the rest."""
    return not await database.pool.fetchval("SELECT count(*) FROM runs WHERE state NOT IN ('ended', 'needs_attention')")


@dataclass(frozen=True)
class Group:
    """What one group got, in its own order: texts, and files by their names."""

    title: str
    got: Sequence[str]


def groups_on_telegram(platform: TelegramWorld) -> list[Group]:
    """Every group with what it holds now."""
    return [
        Group(
            channel.title,
            [message.file.name if message.file else message.text for message in channel.messages.values()
             if not message.action],
        )
        for channel in platform.channels.values()
    ]  # fmt: skip


def groups_on_whatsapp(platform: WhatsAppWorld) -> list[Group]:
    """Every group with what it holds now; a picture has no name there, and there is only the one."""
    return [
        Group(group.name, [POSTER if message.file else message.text for message in group.messages])
        for group in platform.groups.values()
    ]


def nothing_twice(groups: Iterable[Group], accepted: Iterable[Hashable]) -> None:
    """No part of any group was delivered twice, by what the groups hold and by what the platform *accepted*."""
    for group in groups:
        assert not [part for part, count in Counter(group.got).items() if count > 1], group
    assert not [part for part, count in Counter(accepted).items() if count > 1]


def in_order(groups: Iterable[Group], parts: Sequence[str]) -> None:
    """Every group got its parts from the first on and in their order."""
    for group in groups:
        wanted = [part.replace("{group}", group.title) for part in parts]
        assert list(group.got) == wanted[: len(group.got)], group


async def shown(world: World, run: RunId) -> dict[str, Any]:
    """What ``tidegate runs show`` tells of a run."""
    asked = ("runs", "show", str(run), "--json")
    told = await asyncio.to_thread(tidegate, *asked, home=world.home, DATABASE_URL=world.address.direct)
    assert told.returncode == 0, told.stderr
    document: dict[str, Any] = json.loads(told.stdout)
    return document


def nothing_lost(told: dict[str, Any], groups: Iterable[Group]) -> Counter[str]:
    """What is told as sent is there, what is there is told as sent or in doubt, and what is not has a reason.

    Groups have their parts in order. Returns how many parts are in each state.
    """
    held = {group.title: len(group.got) for group in groups}
    states: Counter[str] = Counter()
    for target in told["targets"]:
        for number, part in enumerate(target["parts"], start=1):
            arrived = number <= held[target["target"]]
            assert arrived if part["state"] == "sent" else not arrived or part["state"] == "unknown", target
            if part["state"] == "pending":  # an earlier part of that group is unknown
                assert number > 1, target
                assert target["state"] == "unknown", target
            elif part["state"] != "sent":
                assert part["error"], target
            states[part["state"]] += 1
    assert states == +Counter(told["parts"])
    return states


async def pace_held(database: Database, received: Sequence[float], pace: Pace) -> None:
    """By their instants no two claims are closer than the interval, and the receiver's own record agrees.

    Invariant: never-above-the-pace.
    """
    rows = await database.pool.fetch("SELECT at FROM calls WHERE charged ORDER BY at")
    claims = [row["at"].timestamp() for row in rows]
    assert min(later - earlier for earlier, later in pairwise(claims)) >= pace.interval.total_seconds() - 1e-6
    first = int(pace.slack / pace.interval) + 1  # what is claimed arrives within the slack
    for count in range(first, pace.rate + 1, max(1, pace.rate // 100)):
        span = (count * pace.interval - pace.slack).total_seconds()
        assert most_in_any(span, received) <= count + pace.burst - 1
