"""WhatsApp recognises no repeated send: whatever is killed or fails, a message arrives once or is known as in doubt."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from tests.stories import fan_out
from tests.stories.blows import Blows
from tests.stories.fan_out import POSTER, TEXT
from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import join, new_account
from tidegate.app.composition import Runtime
from tidegate.app.settings import Settings
from tidegate.core.account import Account, Standing
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import HOURLY, Operator, ask_worker
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.whatsapp import World as WhatsAppWorld
from tidegate.loopback.world_document import SMALL_WORLD, make_worlds
from tidegate.platforms.whatsapp import WHATSAPP

KILLS = int(os.environ.get("KILLS", "8"))  # KILLS=60 ./dev test tests/stories/… for a longer try
GROUPS = 12 * KILLS
RATE = 1_200
CONTENT = b"a picture of low tide" * 60_000

SEND, UPLOAD, LIST = "SendMessage", "Upload", "GetJoinedGroups"

ON_UPLOADS = (
    Fault(FaultKind.ERROR, UPLOAD, code="500"),
    Fault(FaultKind.DISCONNECT, UPLOAD),
    Fault(FaultKind.TIMEOUT, UPLOAD, seconds=1),
    Fault(FaultKind.DROP_AFTER_ACCEPT, UPLOAD),
)
REFUSED = (
    Fault(FaultKind.ERROR, SEND, code="403"),
    Fault(FaultKind.ERROR, SEND, code="500"),
)
IN_DOUBT = (
    Fault(FaultKind.ERROR, SEND, code="a new kind of trouble"),
    Fault(FaultKind.DISCONNECT, SEND),
    Fault(FaultKind.TIMEOUT, SEND, seconds=1),
    Fault(FaultKind.TIMEOUT, SEND, seconds=1, code="accepted"),
    Fault(FaultKind.DROP_AFTER_ACCEPT, SEND),
)
"""With a wait, every kind that an upload or a send can meet, but for those after which a person has to act."""


@dataclass(frozen=True)
class Shop:
    """An established WhatsApp account in all groups, and the platform it is on."""

    world: World
    platform: WhatsAppWorld
    account: Account

    def start_worker(self, name: str) -> None:
        self.world.start_worker(
            name,
            platform="",
            cycle_every=HOURLY,
            max_send_per_minute=RATE,
            whatsapp_established_sends_per_minute=RATE,
        )

    def counted(self) -> Counter[str]:
        return self.platform.record.by_method()


@pytest.fixture
async def shop(world: World) -> AsyncIterator[Shop]:
    """The account is linked by a phone as a person does it, and may send fast."""
    clock = SystemClock()
    platform = WhatsAppWorld(clock, seed=5)
    platform.add_phone("+6281200000001", "Shop")
    platform.limits.per_minute = RATE
    for number in range(GROUPS):
        platform.add_group(f"Group {number:04}")
    telegram, discord, _ = make_worlds(SMALL_WORLD, clock)
    platforms = Platforms.of((telegram, discord, (platform, 0)), clock, latency=timedelta(milliseconds=5))
    async with serving(platforms, world.platform, world.at) as control:
        runtime = Runtime(Settings(home=world.home), world.database)
        await join(runtime, new_account("shop", WHATSAPP, Standing.ESTABLISHED, control), Operator(platforms))
        async with world.database.connection() as connection:
            account = (await accounts.find(connection, "shop")).account
        yield Shop(world, platform, account)
        world.end_workers()


@pytest.mark.story
async def test_every_group_gets_each_part_once_or_it_is_in_doubt(shop: Shop) -> None:
    """D-16, D-20, D-21, D-25, D-27, claim-before-send and never-above-the-pace: by the platform's record no part
    came twice, none is missing or in doubt without a reason, each group has its parts in order, no claim came
    early, and the file went up once, but for the uploads that a kill or a fault undid. Kills strike the worker,
    the account's own process, or both.
    """
    seed = random.randrange(2**32)
    print(f"random seed {seed}")  # shown when the test fails
    dice = random.Random(seed)
    platform, world = shop.platform, shop.world
    most = 12  # sends between two blows
    blows = Blows(
        world,
        dice,
        start=shop.start_worker,
        counted=shop.counted,
        methods=[SEND, SEND, SEND, UPLOAD, LIST],
        sends=[SEND],
        most_sends=most,
        spares_worker=True,
    )
    blows.start_next()
    await ask_worker(world.database, shop.account, "sync")
    blows.start_next()
    for fault in (Fault(FaultKind.WAIT, UPLOAD), *dice.sample(ON_UPLOADS, len(ON_UPLOADS))):
        platform.faults.add(replace(fault))
    run = await fan_out.fire(world.database, "shop", CONTENT, when_unknown="hold")
    others = dice.sample(REFUSED + IN_DOUBT, len(REFUSED + IN_DOUBT))
    faults = [Fault(FaultKind.WAIT, SEND), *others]  # a wait halves the pace, so it comes early

    async def is_up() -> bool:
        return UPLOAD not in {fault.method for fault in platform.faults.waiting}

    for life in range(KILLS):
        for fault in faults[life * len(faults) // KILLS : (life + 1) * len(faults) // KILLS]:
            platform.faults.add(replace(fault))
        if life == KILLS // 2:
            await blows.until("the file is up", is_up, within=180)
        if life % 2:  # the next send takes long, so the blow falls in the middle of it
            platform.faults.waiting.insert(0, Fault(FaultKind.TIMEOUT, SEND, seconds=1, code="accepted"))
        await blows.strike(after=0 if life % 2 else dice.randrange(most))
    await blows.until("the run comes to rest", lambda: fan_out.is_at_rest(world.database), within=300 + 2 * GROUPS)
    assert not platform.faults.waiting, "a fault has struck nothing"

    groups, record = fan_out.groups_on_whatsapp(platform), platform.record
    fan_out.nothing_twice(groups, [(sent.target, sent.part) for sent in record.sends])
    fan_out.in_order(groups, [TEXT, POSTER])
    states = fan_out.nothing_lost(await fan_out.shown(world, run), groups)
    assert sum(states.values()) == 2 * GROUPS
    assert set(states) <= {"sent", "failed", "skipped", "unknown", "pending"}
    assert states["failed"] <= len(REFUSED)  # of a worker that was killed nobody hears that it was refused
    assert len(IN_DOUBT) + KILLS // 2 <= states["unknown"] <= len(IN_DOUBT) + KILLS // 2 + KILLS  # one is in flight
    assert shop.counted()["GetGroupInfo"] == 0
    await fan_out.pace_held(world.database, [sent.at.timestamp() for sent in record.sends], Pace(RATE))
    undone = 1  # by the fault: an answer that was lost
    assert 1 <= len(record.uploads) <= 1 + undone + blows.before_upload
