"""The lane's verbs: each is one call of the platform, on the ledger under the platform's own name for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lanes.conftest import Town, text
from tests.lanes.wide_platform import WidePlatform
from tidegate.core.account import Account, AccountState
from tidegate.core.errors import AskedToWait, PlatformError, Refused, SignedOut
from tidegate.core.ids import ChannelId, MessageId, TopicId, UploadId
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.lanes import Lane, ReadLimits
from tidegate.platforms.interface import CannotAsk, FileHandle, HandleExpired, SendKey, UnknownChannel, Upload

ONE = ChannelId(1)
SMALL = Upload(UploadId(1), "small", 9)
BIG = Upload(UploadId(2), "big", 11 << 20)
HANDLE = FileHandle("h")

READS: dict[str, Callable[[Lane], Awaitable[object]]] = {
    "channels": lambda lane: lane.channels(cycle=3),
    "me": lambda lane: lane.me(cycle=3),
    "heads": lambda lane: lane.heads([ONE], cycle=3),
    "topics": lambda lane: lane.topics(ONE, cycle=3),
    "topics_by_id": lambda lane: lane.topics_by_id(ONE, [TopicId(1)], cycle=3),
    "page": lambda lane: lane.page(ONE, before=None, cycle=3),
    "difference": lambda lane: lane.difference(ONE, since=1, cycle=3),
    "files": lambda lane: lane.files(ONE, cycle=3),
    "messages": lambda lane: lane.messages(ONE, [MessageId(1)], cycle=3),
    "read_file": lambda lane: lane.read_file(HANDLE, offset=0, length=4096, cycle=3),
    "save_part": lambda lane: lane.save_part(SMALL, 0, b"x", cycle=3),
    "save_big_part": lambda lane: lane.save_part(BIG, 0, b"x", cycle=3),
}
SENDS: dict[str, Callable[[Lane], Awaitable[object]]] = {
    "send": lambda lane: lane.send(ONE, "hello", key=text(), run=7),
    "send_file": lambda lane: lane.send_file(ONE, SMALL, key=text()),
    "copy_file": lambda lane: lane.copy_file(ONE, HANDLE, key=text()),
}


@pytest.fixture
def wide(town: Town) -> WidePlatform:
    return WidePlatform(town.clock)


@pytest.fixture
async def lane(town: Town, account: Account, wide: WidePlatform) -> Lane:
    return await town.lane(account, wide)


@pytest.mark.parametrize("verb", READS)
async def test_a_read_is_one_call_under_the_platforms_name(
    town: Town, lane: Lane, wide: WidePlatform, verb: str
) -> None:
    """calls-through-a-lane: counted with its cycle; repeated while that can help, each time on the ledger."""
    wide.answers = [PlatformError("500")]
    await town.after(5, READS[verb](lane))
    assert wide.count(verb) == 2
    await town.call_log.flush()
    rows = await town.database.pool.fetch("SELECT method, outcome, cycle, run FROM calls ORDER BY id")
    assert [tuple(row) for row in rows] == [(f"wide.{verb}", "failed", 3, None), (f"wide.{verb}", "ok", 3, None)]


@pytest.mark.parametrize("verb", SENDS)
async def test_a_send_charges_the_pace_and_names_its_run(town: Town, lane: Lane, wide: WidePlatform, verb: str) -> None:
    """claim-before-send and never-above-the-pace: whatever is posted costs a token, text or file, and is made once."""
    await town.after(2, SENDS[verb](lane))
    waiting = asyncio.ensure_future(SENDS[verb](lane))
    await town.clock.advance(timedelta(seconds=1))
    assert wide.count(verb) == 1
    await town.clock.advance(timedelta(seconds=2))
    await waiting
    await town.call_log.flush()
    rows = await town.database.pool.fetch("SELECT method, outcome, run FROM calls ORDER BY id")
    run = 7 if verb == "send" else None
    assert [tuple(row) for row in rows] == [(f"wide.{verb}", "ok", run)] * 2


async def test_parts_of_a_file_charge_no_pace(town: Town, lane: Lane, wide: WidePlatform) -> None:
    """S-52: 23 parts are handed over side by side; only the message counts as a send."""
    upload = Upload(UploadId(3), "x.zip", 12_000_000)
    await town.after(1, asyncio.gather(*(lane.save_part(upload, part, b"x") for part in range(upload.parts))))
    assert wide.count("save_big_part") == 23
    await town.after(2, lane.send_file(ONE, upload, key=SendKey("a")))
    assert Counter(await town.ledgered()) == {("wide.save_big_part", "ok"): 23, ("wide.send_file", "ok"): 1}


async def test_the_bytes_of_files_do_not_wait_behind_other_reads(
    town: Town, account: Account, wide: WidePlatform
) -> None:
    """An account that reads one page a second would take half an hour for a large file; four parts at once go on."""
    lane = await town.lane(account, wide, reads=ReadLimits(per_second=1, at_once=1))
    pages = [asyncio.ensure_future(lane.page(ONE, before=None)) for _ in range(10)]
    parts = [asyncio.ensure_future(lane.read_file(HANDLE, offset=0, length=4096)) for _ in range(40)]
    await town.clock.advance(timedelta(seconds=1))
    assert all(part.done() for part in parts)
    assert wide.count("page") <= 2
    assert wide.most_at_once <= 5
    await town.clock.advance(timedelta(seconds=10))
    await asyncio.gather(*pages)


async def test_a_wait_for_a_method_stops_that_method_by_its_own_name(
    town: Town, lane: Lane, wide: WidePlatform
) -> None:
    """S-42: what is stored names the platform's method; other methods go on."""
    wide.answers = [AskedToWait(timedelta(seconds=30), Scope(ScopeKind.METHOD, "wide.files"))]
    searching = asyncio.ensure_future(lane.files(ONE))
    await town.clock.advance(timedelta(seconds=1))
    await town.after(1, lane.difference(ONE, since=1))
    assert not searching.done()
    assert await town.database.pool.fetchval("SELECT key FROM waits") == "wide.files"
    await town.clock.advance(timedelta(seconds=30))
    await searching


@pytest.mark.parametrize("problem", [HandleExpired("old"), CannotAsk("no"), UnknownChannel("who"), Refused("no")])
async def test_what_asking_again_cannot_cure_is_raised_at_once(
    town: Town, lane: Lane, wide: WidePlatform, problem: PlatformError
) -> None:
    """S-48: an expired handle needs another handle, not another try; what was never asked is not counted."""
    wide.answers = [problem]
    with pytest.raises(type(problem)):
        await lane.read_file(HANDLE, offset=0, length=4096)
    asked = not isinstance(problem, CannotAsk | UnknownChannel)
    assert await town.ledgered() == [("wide.read_file", "failed" if asked else "not_sent")]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gone=st.sets(st.integers(0, 19).map(ChannelId)))
async def test_channels_that_are_gone_do_not_hide_the_others(
    town: Town, account: Account, gone: set[ChannelId]
) -> None:
    """S-11: however many are gone, each other one is told of, and those that are gone are unknown."""
    wide = WidePlatform(town.clock, gone=gone)
    lane = await town.lane(account, wide)
    channels = [ChannelId(number) for number in range(20)]
    assert set(await lane.heads(channels)) == set(channels) - gone
    assert wide.count("heads") <= 1 + 2 * len(gone) * 5


async def test_channels_nobody_was_told_of_cost_no_questions(town: Town, lane: Lane, wide: WidePlatform) -> None:
    """A gate for strangers alone is not halved again and again: nothing could be asked in the first place."""
    wide.answers = [UnknownChannel("who?")]
    assert await lane.heads([ChannelId(number) for number in range(20)]) == {}
    assert wide.count("heads") == 1


async def test_a_hint_is_no_call(town: Town, lane: Lane) -> None:
    """It is the platform that speaks, so the ledger stays empty."""
    assert (await lane.hints(most=9))[0].channel == ONE
    assert await town.ledgered() == []


async def test_a_sign_out_heard_while_listening_stops_the_lane(
    town: Town, account: Account, lane: Lane, wide: WidePlatform
) -> None:
    """S-45: nobody has to make a call to learn it."""
    wide.answers = [SignedOut("The key is gone.")]
    with pytest.raises(SignedOut):
        await lane.hints(most=1)
    assert lane.gate.stopped is not None
    state = await town.database.pool.fetchval("SELECT state FROM accounts WHERE id = $1", account.id)
    assert state == AccountState.SIGNED_OUT.value


class Mute:
    """A client that can do nothing."""

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("verb", [*READS, *SENDS, "hint"])
async def test_what_a_platform_cannot_do_is_said(town: Town, account: Account, verb: str) -> None:
    """bad-input-gets-a-sentence: the sentence names the platform and the ability, and no call is counted."""
    lane = await town.lane(account, Mute())
    verbs = {**READS, **SENDS, "hint": lambda lane: lane.hints(most=1)}
    with pytest.raises(Refused, match="A Telegram account cannot"):
        await verbs[verb](lane)
    assert await town.ledgered() == []
