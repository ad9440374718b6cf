"""The demo's life: an account on each platform, served by real workers, among people who post and groups to remind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

from tidegate.app import House
from tidegate.clock import SystemClock
from tidegate.joining import join, new_account
from tidegate.loopback import newcomers
from tidegate.loopback.control import serving
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.passers_by import keep_posting, keep_talking
from tidegate.loopback.platforms import Platforms
from tidegate.loopback.stage import HOURLY, Operator, ask_worker
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.telegram.pictures import photo_sizes
from tidegate.loopback.telegram.zips import small_zip
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
FAILED = "lighthouse"
REMINDER, PICTURE = "Today's prices", "prices.png"

_SHOP = PhoneSpec(phone="+6281200000001", name="Shop")
_SMALL = SMALL_WORLD.telegram
_WORLD = SMALL_WORLD.model_copy(
    update={
        "telegram": _SMALL.model_copy(update={"accounts": [*_SMALL.accounts, newcomers.PERSON]}),
        "discord": SMALL_WORLD.discord.model_copy(update={"bots": [*SMALL_WORLD.discord.bots, newcomers.BOT]}),
        "whatsapp": WhatsAppSpec(
            phones=[_SHOP, newcomers.PHONE],
            groups=[
                GroupSpec(name="Customers", count=80, members=[_SHOP.phone]),
                GroupSpec(name="Town news", announce=True),
                newcomers.GROUPS,
            ],
        ),
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


@dataclass(frozen=True, slots=True)
class Life:
    """The platforms of a demo, and where they are asked and told what is not a client's business."""

    platforms: Platforms
    control: str


@asynccontextmanager
async def begin_life(house: House, world: World, *workers: str) -> AsyncIterator[Life]:
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
        await _fail(house, served[0], platforms.telegram.world)
        await _remind(house)
        posting = keep_posting(platforms.telegram.world, *FOLLOWED)
        async with beside(posting, keep_talking(platforms.discord.world, TALKED_IN)):
            yield Life(platforms, control)


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


async def _fail(house: House, account: Account, telegram: TelegramWorld) -> None:
    """An archive that cannot be read twice in a row, so that there is a failure to look at and to retry by hand."""
    telegram.faults.add(Fault(FaultKind.ERROR, "upload.getFile", count=2, code="400 LOCATION_INVALID"))
    content = small_zip(Random(telegram.seed))  # noqa: S311 - a world, not a secret
    file = telegram.add_content(f"{FAILED}.zip", content, mime="application/zip")
    telegram.post(telegram.channel(FOLLOWED[1]), f"{FAILED}, the whole of it", file=file)
    for _ in range(2):
        await ask_worker(house.database, account, "cycle")


async def _remind(house: House) -> None:
    """A reminder to every group, every hour; its first run begins at once, and takes four minutes at 40 a minute."""
    picture = photo_sizes(PICTURE)["y"]
    async with house.database.transaction() as connection:
        await saving.add(connection, checked(_WRITTEN), {PICTURE: as_read(PICTURE, picture)})
        await controls.fire(connection, REMINDER)
