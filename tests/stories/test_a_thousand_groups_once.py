"""Hundreds of groups, two messages each: however often the worker is killed, and whatever fails, each arrives once."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.stories import fan_out
from tests.stories.blows import Blows
from tests.stories.fan_out import POSTER, TEXT
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import Stage, make_stage
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.counting_world import World
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World as TelegramWorld

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=25 ./dev test tests/stories/… for a thousand groups
GROUPS = 40 * KILLS
AT_ONCE = 20
RATE = 6_000
PHONE = "+10000000001"
CONTENT = b"a picture of low tide" * 60_000
"""In three parts, so that a worker can be killed while it hands them over."""

SEND, POST = "messages.sendMessage", "messages.sendMedia"
PART, REGISTER = "upload.saveFilePart", "messages.uploadMedia"

ON_UPLOADS = tuple(
    fault
    for method in (PART, REGISTER)
    for fault in (
        Fault(FaultKind.WAIT, method, seconds=1),
        Fault(FaultKind.ERROR, method, code="500"),
        Fault(FaultKind.DISCONNECT, method),
        Fault(FaultKind.DROP_AFTER_ACCEPT, method),
    )
)
ON_SENDS = (
    Fault(FaultKind.TIMEOUT, SEND),
    *(Fault(FaultKind.WAIT, method, seconds=1) for method in (SEND, POST)),
    *(Fault(FaultKind.WAIT, method, seconds=1, code="slowmode") for method in (SEND, POST)),
    *(Fault(FaultKind.ERROR, method, code="500") for method in (SEND, POST)),
    *(Fault(FaultKind.DISCONNECT, method) for method in (SEND, POST)),
    *(Fault(FaultKind.DROP_AFTER_ACCEPT, method) for method in (SEND, POST)),
    Fault(FaultKind.EXPIRED_REFERENCE, POST),
    Fault(FaultKind.FORBIDDEN, POST),
    Fault(FaultKind.ERROR, SEND, code="403 CHAT_WRITE_FORBIDDEN"),
    Fault(FaultKind.ERROR, POST, code="400 CHAT_SEND_PHOTOS_FORBIDDEN"),
)
"""Every kind that an upload or a send can meet, but for those after which a person has to sign in."""

REFUSALS = 3
"""Faults that are a definite no: the group they strike goes without what comes after."""


@pytest.fixture
async def stage(world: World) -> AsyncIterator[Stage]:
    """An account in all groups. The mirror has nothing to do, so the platform need not push."""
    platform = TelegramWorld(SystemClock(), seed=5)
    platform.add_account(PHONE, "Ada")
    for number in range(GROUPS):
        platform.add_channel(f"Group {number:04}").pushes = False
    async with make_stage(world, platform, name="ada", phone=PHONE) as made:
        made.telegram.latency = timedelta(milliseconds=5)
        yield made


def start_worker(stage: Stage, name: str) -> None:
    stage.world.start_worker(
        name,
        cycle_every=timedelta(hours=1),
        max_send_per_minute=RATE,
        group_concurrency=AT_ONCE,
        telegram_chat_sends_per_minute=RATE,
    )


@pytest.mark.story
async def test_every_group_gets_each_part_once(stage: Stage) -> None:
    """D-16, D-20, D-21, D-25, D-27, claim-before-send and never-above-the-pace: by the platform's record no part
    came twice, none is missing without a reason, each group has its parts in order, no claim came early, and the
    file went up once, but for the uploads that a kill or a fault undid.
    """
    seed = random.randrange(2**32)
    print(f"random seed {seed}")  # shown when the test fails
    dice = random.Random(seed)
    platform, database = stage.telegram.world, stage.world.database
    blows = Blows(
        stage.world,
        dice,
        start=lambda name: start_worker(stage, name),
        counted=stage.counted,
        methods=[SEND, SEND, POST, POST, PART, REGISTER],
        sends=[SEND, POST],
    )
    blows.start_next()
    await stage.ask("sync")
    blows.start_next()
    for fault in dice.sample(ON_UPLOADS, len(ON_UPLOADS)):
        platform.faults.add(replace(fault))
    run = await fan_out.fire(database, "ada", CONTENT)
    faults = dice.sample(ON_SENDS, len(ON_SENDS))
    for life in range(KILLS):
        for fault in faults[life * len(faults) // KILLS : (life + 1) * len(faults) // KILLS]:
            platform.faults.add(replace(fault))
        await blows.strike()
    await blows.until("the run comes to rest", lambda: fan_out.is_at_rest(database), within=300)
    assert not platform.faults.waiting, "a fault has struck nothing"

    groups = fan_out.groups_on_telegram(platform)
    states = fan_out.nothing_lost(await fan_out.shown(stage.world, run), groups)
    assert sum(states.values()) == 2 * GROUPS
    assert set(states) <= {"sent", "failed", "skipped", "unknown", "pending"}
    # Telegram recognises a repeated send, so what is in doubt is sent again; only a refusal then leaves it unknown.
    assert states["sent"] >= 2 * (GROUPS - REFUSALS)
    fan_out.nothing_twice(groups, [sent.key for sent in platform.record.sends])
    fan_out.in_order(groups, [TEXT, POSTER])
    await fan_out.pace_held(database, [sent.at.timestamp() for sent in platform.record.sends], Pace(RATE))
    undone = 2  # by the faults: an answer that was lost, and a reference that ended
    assert 1 <= len(platform.record.uploads) <= 1 + undone + blows.before_upload
