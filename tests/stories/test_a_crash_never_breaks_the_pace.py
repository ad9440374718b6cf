"""However often a sending worker is killed, nothing leaves faster than the pace allows.

Invariant: claim-before-send and never-above-the-pace.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from itertools import pairwise

from tests.stories.send_times import most_in_any
from tests.stories.sending import TABLE, keep_claiming_and_sending
from tests.waiting import PATIENCE
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.counting_world import World

RATE = 60
KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=100 ./dev test tests/stories/… for a longer try


async def test_no_kill_brings_a_send_forward(world: World) -> None:
    """Claims keep their interval by the database's clock, and the receiver's own record agrees.

    The kills come at random, half of them in the very moment a claim was committed: before the send, during it, or
    before its answer. A worker that began with a full bucket would show in the first of the 20 lives.
    """
    seed = random.randrange(2**32)
    print(f"random seed {seed}")  # shown when the test fails
    dice = random.Random(seed)
    await world.database.pool.execute(TABLE)
    await world.add_accounts(1)
    ear, claimed = await world.database.direct("the test listens"), asyncio.Event()
    await ear.add_listener("test_claims", lambda *_: claimed.set())

    names = [f"life-{number}" for number in range(KILLS + 2)]
    for name in names[:2]:
        world.start_worker(name, keep_claiming_and_sending, max_send_per_minute=RATE)
    for number in range(KILLS):
        claimed.clear()
        async with asyncio.timeout(PATIENCE):
            await claimed.wait()
        await asyncio.sleep(dice.choice([dice.uniform(0, 0.01), dice.uniform(0, 3)]))  # when the blow falls
        owner = await _owner(world)
        world.strike(owner, signal.SIGKILL)
        world.start_worker(names[number + 2], keep_claiming_and_sending, max_send_per_minute=RATE)
    world.end_workers()
    await ear.close()

    pace = Pace(RATE)
    claims = [row["at"].timestamp() for row in await _charged(world)]
    gaps = [later - earlier for earlier, later in pairwise(claims)]
    assert min(gaps) >= pace.interval.total_seconds() - 1e-6
    # What is claimed arrives within the slack, so n intervals less the slack hold n at the receiver.
    received = [sent.at for sent in world.platform.record.sends]
    for count in range(1, RATE + 1):
        span = (count * pace.interval - pace.slack).total_seconds()
        assert most_in_any(span, received) <= count + pace.burst - 1
    await _everything_sent_is_on_record(world)


async def _owner(world: World) -> str:
    """Who has the account now."""
    found: list[str] = []

    async def somebody() -> bool:
        found[:] = await world.spread()
        return bool(found)

    await world.until("somebody serves the account", somebody)
    return found[0]


async def _charged(world: World) -> list[dict[str, object]]:
    return [
        dict(row) for row in await world.database.pool.fetch("SELECT at, outcome FROM calls WHERE charged ORDER BY at")
    ]


async def _everything_sent_is_on_record(world: World) -> None:
    """What the receiver got was claimed before; what was claimed and not answered is on the ledger as just that."""
    received = {sent.key for sent in world.platform.record.sends}
    claimed = {row["key"] for row in await world.database.pool.fetch("SELECT key FROM test_claims")}
    outcomes = [row["outcome"] for row in await _charged(world)]
    assert received <= claimed
    assert len(outcomes) == len(claimed)
    assert outcomes.count("ok") <= len(received)
    assert outcomes.count("claimed") >= len(received) - outcomes.count("ok")
    assert len(received) == len(world.platform.record.sends)
