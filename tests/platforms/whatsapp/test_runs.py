"""Runs of reminders through the real adapter: what WhatsApp does to an account in the middle of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any

import pytest

from tests.platforms.whatsapp.conftest import Opens
from tests.platforms.whatsapp.people import PHONE
from tests.waiting import until
from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Banned, SignedOut, TidegateError
from tidegate.core.ids import AccountId, RunId
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.owned_account import open_lane
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.loopback.whatsapp.world import Group
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import runs
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy
from tidegate.scans.channel_catalogue import sync_channels

FAST = SendLimits(Allowance(ceiling=6000))
POSTER = b"\x89PNG not really" * 4096


@dataclass
class Shop:
    """An account at work, and its runs."""

    database: Database
    world: World
    account: AccountId
    groups: list[Group]
    deliveries: RunScheduler

    async def fire(self, **written: Any) -> RunId:
        """A reminder to all groups, fired now, whatever the hour."""
        document = {
            "name": "Prices", "account": "shop", "all": True, "parts": [{"text": "Hello {group}"}],
            "delivery_window_start_hour": 0, "delivery_window_end_hour": 24,
        }  # fmt: skip
        async with self.database.transaction() as connection:
            kept = await reminder_changes.add(
                connection, parse_reminder(document | written), {"poster.png": as_read("poster.png", POSTER)}
            )
            number = await run_controls.fire(connection, kept)
        self.deliveries.look(self.account)
        return number

    async def counts(self, number: RunId) -> dict[str, int]:
        """Targets by state, those of which there are any."""
        async with self.database.connection() as connection:
            found = (await runs.counts(connection, [number]))[number]
        return {state.value: count for state, count in found.items() if count}

    async def until_counts(self, number: RunId, **expected: int) -> None:
        async def is_so() -> bool:
            return await self.counts(number) == expected

        try:
            await until(is_so)
        except TimeoutError:
            pytest.fail(f"{expected} did not come; it is {await self.counts(number)}")

    async def state(self) -> str:
        found: str = await self.database.pool.fetchval("SELECT state FROM accounts WHERE id = $1", self.account)
        return found

    def arrived(self) -> list[str]:
        """What is in the groups, group by group."""
        return [message.text for group in self.groups for message in group.messages]


@pytest.fixture
async def shop(world: World, opens: Opens, database: Database) -> AsyncIterator[Shop]:
    """Five groups, and an account that may send fast, served by a worker."""
    world.limits.per_minute = 100_000
    groups = [world.add_group(f"Group {number}") for number in range(1, 6)]
    async with database.transaction() as connection:
        number = await accounts.add(connection, "shop", WHATSAPP, Standing.ESTABLISHED, loopback="http://x")
        found = (await accounts.find(connection, "shop")).account
    epoch = await database.pool.fetchval("UPDATE accounts SET epoch = epoch + 1 RETURNING epoch")
    clock = SystemClock()
    call_log = CallLog(database, clock)
    reads = ReadLimits(per_second=None, at_once=1)
    lane = await open_lane(
        found, await opens(), call_log, database, clock=clock, epoch=lambda: epoch, reads=reads, sends=FAST
    )
    await sync_channels(lane, database)
    refresh = partial(sync_channels, database=database)
    deliveries = RunScheduler(database, clock, RunPolicy(dice=lambda: 0.0), refresh=refresh)
    work = asyncio.create_task(_serve(deliveries, lane, database))
    yield Shop(database, world, number, groups, deliveries)
    work.cancel()
    with suppress(asyncio.CancelledError, TidegateError):
        await work
    await lane.close()
    await call_log.close()


async def _serve(deliveries: RunScheduler, lane: Lane, database: Database) -> None:
    """As a worker does it: a stop that the lane had no time to store is stored now."""
    try:
        await deliveries.work(lane)
    except (SignedOut, Banned) as stop:
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await accounts.note_stop(connection, lane.account.id, stop)


async def test_a_picture_reaches_every_group_by_one_upload(shop: Shop) -> None:
    """D-27, and the groups are listed once for the run: no call a group but the sends themselves."""
    before = shop.world.record.by_method()
    number = await shop.fire(parts=[{"text": "Hello {group}"}, {"media": "poster.png", "caption": "For {group}"}])
    await shop.until_counts(number, sent=5)
    assert shop.arrived() == [text for one in range(1, 6) for text in (f"Hello Group {one}", f"For Group {one}")]
    assert [upload.sha256 for upload in shop.world.record.uploads] == [sha256(POSTER).hexdigest()]
    spent = shop.world.record.by_method() - before
    assert spent == {"GetJoinedGroups": 1, "Upload": 1, "SendMessage": 10}


async def test_an_answer_that_was_lost_is_settled_by_a_late_receipt(shop: Shop, whatsapp: WhatsAppServer) -> None:
    """D-20, D-22, D-23: unknown with one delivery, the others go on; when somebody in the group has it, it is sent."""
    third = shop.groups[2]
    shop.world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, "SendMessage", channel=third.number))
    number = await shop.fire()
    await shop.until_counts(number, sent=4, unknown=1)
    assert len(third.messages) == 1
    whatsapp.receipt(third, third.messages[0], "delivered")
    await shop.until_counts(number, sent=5)
    assert shop.arrived() == [f"Hello Group {one}" for one in range(1, 6)]


async def test_a_receipt_of_another_message_settles_nothing(shop: Shop, whatsapp: WhatsAppServer) -> None:
    """Lost on the way, while the group gets a message that was typed on the phone and has one of an earlier run."""
    third = shop.groups[2]
    earlier = await shop.fire()
    await shop.until_counts(earlier, sent=5)
    shop.world.faults.add(Fault(FaultKind.ERROR, "SendMessage", code="a new kind of trouble", channel=third.number))
    number = await shop.fire(name="Later")
    await shop.until_counts(number, sent=4, unknown=1)
    typed = shop.world.post(third, PHONE, "text", "typed on the phone")
    for message in (third.messages[0], typed):
        whatsapp.receipt(third, message, "delivered")
    # What is told after them is heard after them: the fourth group's late receipt is the sign that both were heard.
    shop.world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, "SendMessage", channel=shop.groups[3].number))
    last = await shop.fire(name="Last")
    await shop.until_counts(last, sent=4, unknown=1)
    whatsapp.receipt(shop.groups[3], shop.groups[3].messages[-1], "delivered")
    await shop.until_counts(last, sent=5)
    assert await shop.counts(number) == {"sent": 4, "unknown": 1}


async def test_an_error_nobody_knows_is_never_resent(shop: Shop) -> None:
    """D-26: it stays unknown, and a person decides."""
    shop.world.faults.add(Fault(FaultKind.ERROR, "SendMessage", code="a new kind of trouble"))
    number = await shop.fire()
    await shop.until_counts(number, sent=4, unknown=1)
    assert shop.world.record.by_method()["SendMessage"] == 5


async def test_a_group_that_threw_us_out(shop: Shop) -> None:
    """D-39: that target fails, the run goes on and ends as partial."""
    shop.world.faults.add(Fault(FaultKind.ERROR, "SendMessage", code="403", channel=shop.groups[1].number))
    number = await shop.fire()
    await shop.until_counts(number, sent=4, failed=1)

    async def is_partial() -> bool:
        async with shop.database.connection() as connection:
            status = (await runs.find(connection, number)).status
        return status is not None and status.value == "partial"

    await until(is_partial)


async def test_a_restriction_pauses_the_account(shop: Shop) -> None:
    """D-38: 463 on a send to a group: nothing more is sent, the rest stays pending, and the feed says why."""
    shop.world.faults.add(Fault(FaultKind.ERROR, "SendMessage", code="463", channel=shop.groups[2].number))
    number = await shop.fire()
    await shop.until_counts(number, sent=2, pending=3)

    async def is_paused() -> bool:
        return await shop.state() == "paused"

    await until(is_paused)
    why = await shop.database.pool.fetchval("SELECT data ->> 'why' FROM events WHERE kind = 'account.paused'")
    assert "463" in why
    assert len(shop.arrived()) == 2


@pytest.mark.parametrize(("kind", "state"), [(FaultKind.BANNED, "banned"), (FaultKind.SIGNED_OUT, "signed_out")])
async def test_an_account_that_is_stopped_keeps_what_is_left(shop: Shop, kind: FaultKind, state: str) -> None:
    """D-36, D-37: the rest stays pending, nobody else takes it over, and a ban keeps its end."""
    shop.world.faults.add(Fault(kind, "SendMessage", seconds=3600, channel=shop.groups[2].number))
    before = SystemClock().now()
    number = await shop.fire()

    async def is_stopped() -> bool:
        return await shop.state() == state

    await until(is_stopped)
    await shop.until_counts(number, sent=2, unknown=1, pending=2)
    assert len(shop.arrived()) == 2
    held_until = await shop.database.pool.fetchval("SELECT state_until FROM accounts")
    assert (held_until is not None and held_until >= before + timedelta(hours=1)) == (kind is FaultKind.BANNED)
