"""The demo's life: an account on each platform, served by real workers, among people who post and groups to remind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tidegate.app import House
from tidegate.clock import SystemClock
from tidegate.joining import join, new_account
from tidegate.loopback.control import serving
from tidegate.loopback.passers_by import keep_posting, keep_talking
from tidegate.loopback.platforms import Platforms
from tidegate.loopback.stage import HOURLY, Operator, ask_worker
from tidegate.loopback.telegram.pictures import photo_sizes
from tidegate.loopback.whatsapp.schema import GroupSpec, PhoneSpec, WhatsAppSpec
from tidegate.loopback.world import World
from tidegate.loopback.worlds import SMALL_WORLD, make_worlds
from tidegate.reminders import controls, saving
from tidegate.reminders.files import as_read
from tidegate.reminders.written import checked
from tidegate.side_by_side import beside
from tidegate.store import accounts, channels
from tidegate.store.channels import Wishes
from tidegate.words import Account, Platform, Standing

TELEGRAM, DISCORD, WHATSAPP = "ada", "harbour-bot", "shop"
PHONE = "+10000000001"
FOLLOWED = ("Dragon Hoard", "Workshop News")
TALKED_IN = "general"
REMINDER, PICTURE = "Today's prices", "prices.png"

_WORLD = SMALL_WORLD.model_copy(
    update={
        "whatsapp": WhatsAppSpec(
            phones=[PhoneSpec(phone="+6281200000001", name="Shop")],
            groups=[GroupSpec(name="Customers", count=80), GroupSpec(name="Town news", announce=True)],
        )
    }
)

_WRITTEN = {
    "name": REMINDER,
    "account": WHATSAPP,
    "all": True,
    "schedule": {"every": "hour"},
    "delivery_window_start_hour": 0,
    "delivery_window_end_hour": 24,
    "parts": [{"text": "Good morning, {group}!"}, {"media": PICTURE, "caption": "Prices of {date}"}],
}


@asynccontextmanager
async def begin_life(house: House, world: World, *workers: str) -> AsyncIterator[Platforms]:
    """Everything is signed in, followed and under way when the block begins; *workers* serve it."""
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        platforms = Platforms.of(make_worlds(_WORLD, clock), clock)
        control = await stack.enter_async_context(serving(platforms, world.platform, world.at))
        stack.callback(world.end_workers)
        served = await _join_all(house, platforms, control)
        for name in workers:
            world.start_worker(name, platform="", cycle_every=HOURLY)
        await _follow(house, served)
        await _remind(house)
        posting = keep_posting(platforms.telegram.world, *FOLLOWED)
        async with beside(posting, keep_talking(platforms.discord.world, TALKED_IN)):
            yield platforms


async def _join_all(house: House, platforms: Platforms, control: str) -> list[Account]:
    """An account on each platform; the WhatsApp one is said to be well known there, so it may send 40 a minute."""
    wanted = (
        new_account(TELEGRAM, Platform.TELEGRAM, Standing.NORMAL, control),
        new_account(DISCORD, Platform.DISCORD, Standing.NORMAL, control),
        new_account(WHATSAPP, Platform.WHATSAPP, Standing.ESTABLISHED, control),
    )
    for account in wanted:
        await join(house, account, Operator(platforms, PHONE))
    async with house.database.connection() as connection:
        return [(await accounts.find(connection, account.name)).account for account in wanted]


async def _follow(house: House, served: list[Account]) -> None:
    """List what each account sees, and mirror two Telegram channels; Discord's are mirrored from the start."""
    await asyncio.gather(*(ask_worker(house.database, account, "sync") for account in served))
    async with house.database.transaction() as connection:
        for title in FOLLOWED:
            await channels.enable(connection, await channels.find(connection, title), Wishes())
    await ask_worker(house.database, served[0], "cycle")


async def _remind(house: House) -> None:
    """A reminder to every group, every hour; its first run begins at once, and takes four minutes at 40 a minute."""
    picture = photo_sizes(PICTURE)["y"]
    async with house.database.transaction() as connection:
        await saving.add(connection, checked(_WRITTEN), {PICTURE: as_read(PICTURE, picture)})
        await controls.fire(connection, REMINDER)
