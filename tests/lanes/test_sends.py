"""Sends through a lane: never above the pace, claimed first, never repeated blindly."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import asyncpg
import pytest

from tests.held import set_wall
from tests.lanes.conftest import FORTY, Town, send_all, slower, text
from tests.small_platform import SmallPlatform
from tests.waiting import PATIENCE
from tidegate.core.account import Account, Claim
from tidegate.core.errors import AskedToWait, NotOurs, NotSent, OutcomeUnknown, Refused
from tidegate.core.ids import ChannelId
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.database.pool import Connection
from tidegate.lanes import Lane
from tidegate.lanes.queries import pace
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.send_caps import Caps

ONE, TWO = ChannelId(1), ChannelId(2)
GAP = 1.5125
JITTER = 1e-5
HOUR = timedelta(hours=1)


def spread(count: int) -> list[ChannelId]:
    return [ChannelId(number) for number in range(count)]


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(start <= one < start + 60 for one in times) for start in times)


def on_arrival(times: list[float]) -> list[float]:
    """When sends reach a receiver to whom each takes 20 to 500 ms."""
    dice = random.Random(12)
    return sorted(time + dice.uniform(0.02, 0.5) for time in times)


async def test_two_parts_to_a_thousand_targets_leave_at_the_pace(
    town: Town, lane: Lane, platform: SmallPlatform
) -> None:
    """D-12, D-14: every part takes a token. The 1,000th leaves 1,511 s after the first, the 2,000th after 50 minutes.

    No minute holds more than 40, here or at the receiver.
    """
    await town.after(2_000 * GAP + 1, send_all(lane, [*spread(1_000), *spread(1_000)]))
    times = platform.times()
    assert len(times) == 2_000
    assert round(times[999] - times[0]) == 1_511
    assert times[-1] - times[0] == pytest.approx(1_999 * GAP, abs=0.01)
    assert round((times[-1] - times[0]) / 60) == 50
    assert most_in_a_minute(times) == 40
    assert most_in_a_minute(on_arrival(times)) <= 40


async def test_a_burst_of_five(town: Town, account: Account, platform: SmallPlatform) -> None:
    """D-13: five may leave at once after a rest, so that a minute holds up to 44."""
    lane = await town.lane(account, platform, sends=slower(FORTY, burst=5))
    await town.clock.advance(timedelta(minutes=1))
    await town.after(100, send_all(lane, spread(60)))
    times = platform.times()
    assert times[4] == times[0]
    assert most_in_a_minute(times) == 44


async def test_a_crash_after_the_claim_gains_nothing(town: Town, account: Account, lane: Lane) -> None:
    """D-15: a worker dies between commit and send; its successor waits at least a gap, and the call stays claimed."""
    await town.clock.advance(timedelta(minutes=1))
    async with town.database.transaction() as connection:  # what the dead worker got to
        await pace.claim_send(connection, Claim(account.id, 0, 0.0), "send")
    died_at = town.clock.ticks()
    platform = SmallPlatform(town.clock)
    successor = await town.lane(account, platform)
    await town.after(GAP, successor.send(ONE, "hello", key=text()))
    assert platform.times()[0] - died_at >= GAP - JITTER
    assert await town.ledgered() == [("send", "claimed"), ("send", "ok")]


async def test_many_crashes_gain_nothing(town: Town, account: Account) -> None:
    """D-16: 100 workers one after the other, killed at any point of a gap, stay within the pace together."""
    dice, platform = random.Random(16), SmallPlatform(town.clock)
    for _ in range(100):
        lane = await town.lane(account, platform)
        working = asyncio.create_task(send_all(lane, spread(3)))
        await town.clock.advance(timedelta(seconds=dice.uniform(0, 2 * GAP)))
        working.cancel()
        await asyncio.wait([working])
    rows = await town.database.pool.fetch("SELECT at FROM calls WHERE charged ORDER BY at")
    claimed = [row["at"].timestamp() for row in rows]
    assert min(len(claimed), len(platform.times())) >= 50
    for times in (claimed, platform.times()):
        assert min(gaps(times)) >= GAP - JITTER
        assert most_in_a_minute(times) <= 40


async def test_a_clock_that_goes_back(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-17: an hour back in mid-run gives an alarm, no burst, and no stall longer than two gaps."""
    sending = asyncio.create_task(send_all(lane, spread(10)))
    await town.clock.advance(timedelta(seconds=4 * GAP))
    await set_wall(town.clock, town.clock.now() - HOUR)
    await town.clock.advance(timedelta(seconds=8 * GAP))
    assert sending.done()
    assert GAP - JITTER <= min(gaps(platform.times())) <= max(gaps(platform.times())) <= 2 * GAP + JITTER
    kinds = [row["kind"] for row in await town.database.pool.fetch("SELECT kind FROM events")]
    assert kinds.count("pace.clock_went_back") == 1


async def test_a_clock_that_jumps_ahead(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """A database clock that jumps an hour ahead between any two sends brings them no closer together."""
    for _ in range(6):
        sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
        await set_wall(town.clock, town.clock.now() + HOUR)
        while not sending.done():
            await town.clock.advance(timedelta(seconds=0.4))
    assert min(gaps(platform.times())) >= GAP - JITTER


async def test_two_runs_share_one_pace(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-18: what two runs send together stays within the account's pace, and both go on."""
    both = asyncio.gather(send_all(lane, spread(10), run=1), send_all(lane, spread(10), run=2))
    await town.clock.advance(timedelta(seconds=21 * GAP))
    assert both.done()
    assert min(gaps(platform.times())) >= GAP - JITTER
    rows = await town.database.pool.fetch("SELECT run, count(*) FROM calls GROUP BY run ORDER BY run")
    assert [tuple(row) for row in rows] == [(1, 10), (2, 10)]


async def test_two_accounts_do_not_wait_for_each_other(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-19: both progress in the same minute, each at its own pace."""
    other_platform = SmallPlatform(town.clock)
    other = await town.lane(await town.account("other"), other_platform)
    both = asyncio.gather(send_all(lane, spread(20)), send_all(other, spread(20)))
    await town.clock.advance(timedelta(seconds=21 * GAP))
    assert both.done()
    assert platform.times()[-1] == pytest.approx(other_platform.times()[-1], abs=2 * GAP)


async def test_an_account_wide_warning_halves_the_rate_once(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-34: the send comes back to its caller, the rate is halved once, and nothing leaves for a minute."""
    platform.answers = [AskedToWait(timedelta(seconds=17))]
    with pytest.raises(AskedToWait):
        await town.after(GAP, lane.send(ONE, "hello", key=text()))
    assert lane.gate.paused_until == town.clock.now() + timedelta(seconds=17)
    await town.after(70, send_all(lane, spread(4)))
    times = platform.times()
    assert times[1] - times[0] == pytest.approx(60, abs=0.1)
    assert gaps(times[1:]) == pytest.approx([60.5 / 20] * 3, abs=0.01)
    assert (await town.ledgered())[0] == ("send", "asked_to_wait")


async def test_clean_minutes_bring_the_pace_back(town: Town, account: Account, platform: SmallPlatform) -> None:
    """D-35, with smaller numbers: cut from 4 to 2, after four clean minutes it is 4 again and stays there."""
    lane = await town.lane(account, platform, sends=slower(FORTY, ceiling=4))
    platform.answers = [AskedToWait(timedelta(seconds=1))]
    with pytest.raises(AskedToWait):
        await town.after(16, lane.send(ONE, "hello", key=text()))
    sending = asyncio.create_task(send_all(lane, spread(40)))
    await town.clock.advance(timedelta(minutes=15))
    sending.cancel()
    after = gaps(platform.times())[1:]
    assert after[0] == pytest.approx(60.5 / 2, abs=0.01)
    assert after[-1] == pytest.approx(60.5 / 4, abs=0.01)
    assert sum(after[: next(n for n, gap in enumerate(after) if gap < 16)]) <= 4 * 60 + 31
    async with town.database.pool.acquire() as connection:
        assert str((await pace.shown(connection))[account.id]) == "4 a minute"


async def test_a_send_that_waits_for_a_cap_heeds_a_higher_one(
    town: Town, account: Account, platform: SmallPlatform
) -> None:
    """An operator who lifts a daily cap does not wait for the day to end: the send leaves within two minutes."""
    capped = slower(FORTY, caps=Caps(per_day=1))
    lane = await town.lane(account, platform, sends=capped)
    sending = asyncio.create_task(send_all(lane, spread(2)))
    await town.clock.advance(timedelta(hours=1))
    assert len(platform.times()) == 1
    async with town.database.transaction() as connection:
        await pace.set_pace(connection, account.id, FORTY.allowance)
    lifted_at = town.clock.ticks()
    lane.gate.sends = FORTY
    await town.clock.advance(timedelta(minutes=2))
    assert sending.done()
    assert platform.times()[1] >= lifted_at


async def test_a_chat_that_waits_holds_nobody_else(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-41: retry after 17 s for one chat: it gets nothing for 17 s, the others follow the lane, the rate stays."""
    platform.answers = [AskedToWait(timedelta(seconds=17), Scope(ScopeKind.CHAT))]
    with pytest.raises(AskedToWait):
        await town.after(GAP, lane.send(ONE, "hello", key=text()))
    told_at = platform.times()[0]
    await town.after(20, send_all(lane, [ONE, TWO, TWO, TWO]))
    assert platform.times(channel=ONE)[1] - told_at >= 17 - JITTER
    assert gaps(platform.times(channel=TWO)) == pytest.approx([GAP, GAP], abs=0.01)


async def test_a_chat_has_its_own_pace(town: Town, account: Account, platform: SmallPlatform) -> None:
    """Where a platform limits chats, one chat gets 20 a minute while the account goes on at 40."""
    lane = await town.lane(account, platform, sends=replace(FORTY, chat=Pace(rate=20)))
    await town.after(60, send_all(lane, [ONE] * 10 + [TWO] * 10))
    for chat in (ONE, TWO):
        assert min(gaps(platform.times(channel=chat))) >= 2 * GAP - JITTER
    assert platform.times()[-1] - platform.times()[0] <= 22 * GAP, "the two chats filled each other's gaps"


async def test_new_chats_fill_while_others_are_sent_to(town: Town, account: Account, platform: SmallPlatform) -> None:
    """A chat nobody sent to lately begins empty; with three targets in flight that wait costs the account no pace."""
    lane = await town.lane(account, platform, sends=replace(FORTY, chat=Pace(rate=20), at_once=3))
    chats = iter(spread(60))

    async def worker() -> None:
        for chat in chats:
            await lane.send(chat, "hello", key=text())
            await town.clock.sleep(timedelta(milliseconds=50))  # until it is marked as sent

    await town.after(100, asyncio.gather(worker(), worker(), worker()))
    assert gaps(platform.times()) == pytest.approx([GAP] * 59, abs=0.02)


async def test_the_callers_change_and_the_claim_are_one(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """claim-before-send: whoever loses the race for a row sends nothing and pays nothing."""

    async def lost(connection: Connection) -> bool:
        return await connection.fetchval("SELECT false")

    with pytest.raises(NotSent, match="Somebody else"):
        await town.after(GAP, lane.send(ONE, "hello", key=text(), claimed=lost))
    assert platform.received == []
    assert await town.ledgered() == []

    async def won(connection: Connection) -> bool:
        return await connection.fetchval("SELECT count(*) = 1 FROM calls WHERE outcome = 'claimed'")

    await town.after(GAP, lane.send(ONE, "hello", key=text(), claimed=won))
    assert platform.count("send") == 1


async def test_a_late_claim_is_not_sent(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """What is not handed over within 500 ms is not sent; the token is lost and the ledger says so.

    Invariant: claim-before-send.
    """

    async def slow(connection: Connection) -> bool:
        town.clock._ticks += 0.501  # the machine was busy with something else
        return True

    with pytest.raises(NotSent, match="too long"):
        await town.after(GAP, lane.send(ONE, "hello", key=text(), claimed=slow))
    assert platform.received == []
    assert await town.ledgered() == [("send", "not_sent")]


async def test_a_takeover_between_claim_and_call_stops_the_call(
    town: Town, lane: Lane, platform: SmallPlatform
) -> None:
    """one-owner-per-account: the last look at the claim comes after everything that waits."""

    async def lose(connection: Connection) -> bool:
        town.deadline = town.clock.ticks()
        return True

    with pytest.raises(NotOurs):
        await town.after(GAP, lane.send(ONE, "hello", key=text(), claimed=lose))
    assert platform.received == []
    assert await town.ledgered() == [("send", "not_sent")]


async def test_another_epoch_claims_nothing(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """one-owner-per-account: the database itself refuses a worker whose account was taken over."""
    await town.database.pool.execute("UPDATE accounts SET epoch = epoch + 1")
    with pytest.raises(NotOurs):
        await town.after(GAP, lane.send(ONE, "hello", key=text()))
    assert platform.received == []


@pytest.mark.parametrize(
    ("problem", "raised", "outcome"),
    [
        (NotSent("not connected"), NotSent, "not_sent"),
        (OutcomeUnknown("no receipt"), OutcomeUnknown, "unknown"),
        (Refused("no"), Refused, "failed"),
        (ConnectionResetError("gone"), OutcomeUnknown, "unknown"),
        (KeyError("nobody translated this"), OutcomeUnknown, "unknown"),
    ],
)
async def test_how_a_send_ended_is_on_the_ledger(
    town: Town, lane: Lane, platform: SmallPlatform, *, problem: Exception, raised: type[Exception], outcome: str
) -> None:
    """The class says what to do, what nobody translated is unknown, and no send is repeated by the lane.

    Invariant: error-class-says-what-to-do.
    """
    platform.answers = [problem]
    with pytest.raises(raised):
        await town.after(GAP, lane.send(ONE, "hello", key=text()))
    assert platform.count("send") == 1
    assert await town.ledgered() == [("send", outcome)]


async def test_a_cancelled_send_is_unknown(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """Whoever stops waiting for an answer does not know it."""
    platform.answers = [asyncio.Event().wait]  # type: ignore[list-item]
    sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
    advancing = asyncio.create_task(town.clock.advance(timedelta(seconds=GAP)))
    async with asyncio.timeout(PATIENCE):
        await platform.arrived.wait()
    sending.cancel()
    await advancing
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await town.ledgered() == [("send", "unknown")]


async def test_without_the_database_nothing_is_sent(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """A claim that could not be stored is proven not sent: the caller may try again."""
    await town.database.pool.execute(
        """
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON calls EXECUTE FUNCTION no_room();
        """
    )
    with pytest.raises(NotSent, match="database") as told:
        await town.after(GAP, lane.send(ONE, "hello", key=text()))
    assert isinstance(told.value.__cause__, asyncpg.DiskFullError)
    assert platform.received == []


async def test_sends_in_flight_are_limited(town: Town, account: Account, platform: SmallPlatform) -> None:
    """A platform that sends one message at a time has one send in flight, however long it takes."""
    lane = await town.lane(account, platform, sends=replace(FORTY, at_once=1))
    release = asyncio.Event()
    platform.answers = [release.wait]  # type: ignore[list-item]
    sending = asyncio.create_task(send_all(lane, spread(3)))
    advancing = asyncio.create_task(town.clock.advance(timedelta(seconds=GAP)))
    async with asyncio.timeout(PATIENCE):
        await platform.arrived.wait()
    release.set()
    await advancing
    await town.clock.advance(timedelta(seconds=3 * GAP))
    await sending
    assert platform.most_at_once == 1
