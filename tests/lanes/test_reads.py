"""Reads through a lane: within their limits, on the ledger, and repeated where repeating can help."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.lanes.conftest import Town, text
from tests.small_platform import SmallPlatform, WithBuckets
from tests.waiting import PATIENCE
from tidegate.core.account import Account, AccountState
from tidegate.core.errors import AskedToWait, Banned, ChannelGone, Halted, NotOurs, PlatformError, Refused, SignedOut
from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.lanes import Lane, ReadLimits
from tidegate.lanes.queries.calls import sums

ONE, TWO = ChannelId(1), ChannelId(2)
JITTER = 1e-5
WAIT_17 = timedelta(seconds=17)


async def page(lane: Lane, channel: ChannelId = ONE) -> None:
    await lane.page(channel, before=MessageId(9), cycle=3)


async def test_the_ledger_equals_the_platforms_own_count(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """calls-through-a-lane: method by method, failures and repeats included."""
    platform.answers = [None, PlatformError("503"), AskedToWait(timedelta(seconds=1)), None, Refused("no")]
    await town.after(10, page(lane))
    await town.after(70, page(lane))
    with pytest.raises(Refused):
        await lane.heads([ONE, TWO])
    await town.after(5, lane.send(ONE, "hello", key=text()))
    await town.call_log.flush()
    async with town.database.pool.acquire() as connection:
        summed = {one.method: (one.count, one.errors) for one in await sums(connection)}
    assert summed == {"page": (4, 2), "heads": (1, 1), "send": (1, 0)}
    assert {method: count for method, (count, _) in summed.items()} == {
        method: platform.count(method) for method in ("page", "heads", "send")
    }
    cycles = await town.database.pool.fetch("SELECT DISTINCT cycle FROM calls WHERE method = 'page'")
    assert [row["cycle"] for row in cycles] == [3]


async def test_reads_in_flight_are_limited(town: Town, account: Account, platform: SmallPlatform) -> None:
    """At most so many at once, however many are asked for."""
    lane = await town.lane(account, platform, reads=ReadLimits(per_second=1_000, at_once=3))
    town.opened.clear()  # calls stay in flight here while time goes on
    release = asyncio.Event()
    platform.answers = [release.wait] * 20  # type: ignore[list-item]
    reading = asyncio.gather(*(page(lane) for _ in range(20)))
    await town.clock.advance(timedelta(seconds=1))
    assert platform.count("page") == 3
    release.set()
    await town.clock.advance(timedelta(seconds=1))
    await reading
    assert platform.most_at_once == 3


async def test_reads_keep_their_own_pace(town: Town, account: Account, platform: SmallPlatform) -> None:
    """Two a second, of which two may start together: no half-open span of n gaps holds more than n + 1."""
    lane = await town.lane(account, platform, reads=ReadLimits(per_second=2, at_once=2))
    await town.after(10, asyncio.gather(*(page(lane) for _ in range(20))))
    times = platform.times("page")
    assert times[-1] - times[0] == pytest.approx(9, abs=0.01)
    for first, start in enumerate(times):
        for more, end in enumerate(times[first:], 1):
            assert more <= (end - start + JITTER) // 0.5 + 1 + 1


@pytest.mark.parametrize(
    ("scope", "waits", "goes_on"),
    [
        (Scope(ScopeKind.CHAT, "1"), ["page 1"], ["page 2", "heads"]),
        (Scope(ScopeKind.CHAT), ["page 1"], ["page 2", "heads"]),
        (Scope(ScopeKind.METHOD, "messages.getHistory"), ["page 1", "page 2"], ["heads"]),
        (Scope(ScopeKind.BUCKET, "abc"), ["page 1", "page 2"], ["heads"]),
        (Scope(), ["page 1", "page 2", "heads"], []),
    ],
)
async def test_only_the_named_scope_waits(
    town: Town, lane: Lane, platform: SmallPlatform, *, scope: Scope, waits: list[str], goes_on: list[str]
) -> None:
    """What the platform named waits its time and is then repeated by the lane; the rest goes on.

    Invariant: error-class-says-what-to-do.
    """
    platform.answers = [AskedToWait(WAIT_17, scope)]
    first = asyncio.create_task(page(lane, ONE))
    await town.clock.advance(timedelta(seconds=1))
    calls = {
        "page 1": asyncio.create_task(page(lane, ONE)),
        "page 2": asyncio.create_task(page(lane, TWO)),
        "heads": asyncio.create_task(lane.heads([ONE])),
    }
    await town.clock.advance(timedelta(seconds=1))
    assert {name for name, call in calls.items() if call.done()} == set(goes_on)
    assert not first.done()
    await town.clock.advance(timedelta(seconds=16))
    assert first.done()
    assert all(calls[name].done() for name in waits)
    assert platform.times("page")[-1] - platform.times("page")[0] >= 17 - JITTER


async def test_a_bucket_waits_alone_where_the_client_knows_its_buckets(town: Town, account: Account) -> None:
    """A bucket's pause stops the calls that fall into it, whatever their method, and no others."""
    platform = WithBuckets(town.clock)
    lane = await town.lane(account, platform)
    platform.answers = [AskedToWait(WAIT_17, Scope(ScopeKind.BUCKET, "route-1"))]
    told = asyncio.create_task(page(lane, ONE))
    await town.clock.advance(timedelta(seconds=1))
    await town.after(1, page(lane, TWO))
    sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
    await town.clock.advance(timedelta(seconds=10))
    assert not told.done()
    assert not sending.done()
    await town.clock.advance(timedelta(seconds=10))
    assert told.done()
    assert sending.done()


async def test_a_wait_survives_a_restart(town: Town, account: Account, lane: Lane, platform: SmallPlatform) -> None:
    """What the platform asked for is stored: the next worker waits for the rest of it."""
    platform.answers = [AskedToWait(WAIT_17)]
    reading = asyncio.create_task(page(lane))
    await town.clock.advance(timedelta(seconds=5))
    reading.cancel()
    await lane.close()
    successor = await town.lane(account, platform)
    reading = asyncio.create_task(page(successor))
    await town.clock.advance(timedelta(seconds=11.5))
    assert not reading.done()
    await town.clock.advance(timedelta(seconds=1))
    assert reading.done()


async def test_a_wait_is_stored_later_when_the_database_is_in_trouble(
    town: Town, lane: Lane, platform: SmallPlatform
) -> None:
    """The lane waits at once, and its store catches up by itself."""
    await town.database.pool.execute(
        """
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON waits EXECUTE FUNCTION no_room();
        """
    )
    platform.answers = [AskedToWait(WAIT_17)]
    reading = asyncio.create_task(page(lane))
    await town.clock.advance(timedelta(seconds=3))
    assert platform.count("page") == 1
    await town.database.pool.execute("DROP TRIGGER full_disk ON waits")
    await town.clock.advance(timedelta(seconds=1))
    assert await town.database.pool.fetchval("SELECT count(*) FROM waits") == 1
    await town.clock.advance(timedelta(seconds=20))
    assert reading.done()


async def test_trouble_is_tried_again_a_few_times(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-42: refused, 503 and silence are asked again after growing pauses, and then told; the lane lives on."""
    platform.answers = [ConnectionRefusedError("no"), PlatformError("503"), TimeoutError("20 s of silence")]
    await town.after(4, page(lane))
    assert platform.count("page") == 4
    platform.answers = [ConnectionRefusedError("no"), PlatformError("503"), TimeoutError("20 s of silence")] * 2
    with pytest.raises(PlatformError, match="503"):
        await town.after(8, page(lane))
    times = platform.times("page")[4:]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx([0.5, 1, 2, 4], abs=0.01)
    assert len(platform.answers) == 1
    platform.answers.clear()
    await page(lane)


@pytest.mark.parametrize("problem", [Refused("no such filter"), ChannelGone("deleted"), KeyError("a mistake of ours")])
async def test_a_definite_no_is_raised_at_once(
    town: Town, lane: Lane, platform: SmallPlatform, problem: Exception
) -> None:
    """error-class-says-what-to-do: repeating would get the same answer."""
    platform.answers = [problem]
    with pytest.raises(type(problem)):
        await page(lane)
    assert platform.count("page") == 1


@pytest.mark.parametrize(
    ("stop", "state", "event"),
    [
        (SignedOut("The session was revoked."), AccountState.SIGNED_OUT, "account.signed_out"),
        (Banned("The number is banned."), AccountState.BANNED, "account.banned"),
        (Halted("The number is restricted."), AccountState.PAUSED, "account.paused"),
    ],
)
async def test_a_stop_waits_for_a_person(
    town: Town, lane: Lane, platform: SmallPlatform, *, stop: SignedOut | Banned, state: AccountState, event: str
) -> None:
    """D-36, D-37, D-38: no further call is made, everybody waiting is told, and the state is stored with its event."""
    platform.answers = [stop]
    sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
    await asyncio.sleep(0)
    with pytest.raises(type(stop)):
        await page(lane)
    with pytest.raises(type(stop), match=r"Next: ") as told:
        await lane.heads([ONE])
    assert state.next_action in str(told.value)
    with pytest.raises(type(stop)):
        await town.after(60, sending)
    assert lane.gate.stopped is stop
    assert platform.count("page") == 1
    assert platform.count("send") == 0
    stored = await town.database.pool.fetchrow("SELECT state, state_why FROM accounts")
    assert tuple(stored) == (state.value, str(stop))
    alert = await town.database.pool.fetchrow("SELECT subject, data FROM events WHERE kind = $1", event)
    assert (alert["subject"], alert["data"]["why"]) == ("shop", str(stop))


async def test_a_ban_keeps_its_end(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-36: until when the platform banned the account is stored, and part of what further calls raise."""
    until = town.clock.now() + timedelta(hours=1)
    platform.answers = [Banned("Too many invitations.", until)]
    with pytest.raises(Banned):
        await page(lane)
    with pytest.raises(Banned) as told:
        await page(lane)
    assert told.value.until == until
    assert await town.database.pool.fetchval("SELECT state_until FROM accounts") == until


async def test_a_late_stop_changes_nothing(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """one-owner-per-account: a worker that lost the account does not stop it for its successor."""
    await town.database.pool.execute("UPDATE accounts SET epoch = epoch + 1")
    platform.answers = [SignedOut("revoked")]
    with pytest.raises(SignedOut):
        await page(lane)
    assert await town.database.pool.fetchval("SELECT state FROM accounts") == "active"


async def test_without_a_claim_there_is_no_call(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """one-owner-per-account: past the deadline nothing is called; with a renewed claim the same lane goes on."""
    town.deadline = town.clock.ticks()
    with pytest.raises(NotOurs):
        await page(lane)
    assert platform.received == []
    town.deadline = town.clock.ticks() + 1
    await page(lane)
    assert platform.count("page") == 1


async def test_who_waits_is_told_when_the_claim_runs_out(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """one-owner-per-account: a wait does not outlive the claim, whether for the platform or for the pace."""
    platform.answers = [AskedToWait(timedelta(hours=1), Scope(ScopeKind.CHAT))]
    town.deadline = town.clock.ticks() + 1
    reading = asyncio.create_task(page(lane))
    sending = asyncio.create_task(lane.send(TWO, "hello", key=text()))
    await town.clock.advance(timedelta(seconds=1.1))
    for waiting in (reading, sending):
        assert waiting.done()
        assert isinstance(waiting.exception(), NotOurs)


async def test_who_waits_is_told_when_the_lane_closes(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """Closing wakes everybody at once and disconnects."""
    platform.answers = [AskedToWait(timedelta(hours=1))]
    reading = asyncio.create_task(page(lane))
    sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
    await town.clock.advance(timedelta(seconds=0.1))
    await lane.close()
    await asyncio.wait([reading, sending])
    assert isinstance(reading.exception(), NotOurs)
    assert isinstance(sending.exception(), NotOurs)
    assert platform.closed


async def test_a_paused_lane_finishes_what_it_began(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """D-31: the call in flight completes, no further one begins, and after resume all go on."""
    release = asyncio.Event()
    platform.answers = [release.wait]  # type: ignore[list-item]
    begun = asyncio.create_task(page(lane))
    await platform.arrived.wait()
    lane.gate.pause()
    release.set()
    await begun
    reading = asyncio.create_task(page(lane))
    sending = asyncio.create_task(lane.send(ONE, "hello", key=text()))
    await town.clock.advance(timedelta(hours=2))
    assert len(platform.received) == 1
    lane.gate.resume()
    await town.clock.advance(timedelta(seconds=2))
    assert reading.done()
    assert sending.done()


async def test_draining_lets_calls_end(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """SIGTERM: what is in flight may end, what is not begun does not begin."""
    release = asyncio.Event()
    platform.answers = [release.wait]  # type: ignore[list-item]
    begun = asyncio.create_task(page(lane))
    await platform.arrived.wait()
    draining = asyncio.create_task(lane.gate.drain(timedelta(seconds=5)))
    with pytest.raises(NotOurs):
        await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(page(lane))), PATIENCE)
    assert not draining.done()
    release.set()
    await begun
    await draining
    assert lane.gate.in_flight == 0


async def test_draining_has_an_end(town: Town, lane: Lane, platform: SmallPlatform) -> None:
    """A call that never ends does not keep an account from being handed over."""
    platform.answers = [asyncio.Event().wait]  # type: ignore[list-item]
    endless = asyncio.create_task(page(lane))
    await platform.arrived.wait()
    town.opened.clear()  # its call never ends, so the clock must not wait for it
    draining = asyncio.create_task(lane.gate.drain(timedelta(seconds=5)))
    await town.clock.advance(timedelta(seconds=5))
    assert draining.done()
    endless.cancel()
    await asyncio.wait([endless])
    assert (await town.ledgered()) == [("page", "unknown")]


async def test_what_a_platform_cannot_do_is_a_sentence(town: Town, account: Account) -> None:
    """An ability that is missing is refused in words, without a call."""

    class Mute:
        async def close(self) -> None: ...

    lane = await town.lane(account, Mute())
    with pytest.raises(Refused, match="A Telegram account cannot post a text"):
        await lane.send(ONE, "hello", key=text())
    with pytest.raises(Refused, match="cannot page through"):
        await page(lane)
