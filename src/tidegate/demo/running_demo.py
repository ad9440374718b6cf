"""The running demo: an account on each platform, served by real workers, with simulated posts and a reminder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import join, new_account
from tidegate.app.composition import Runtime
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.task_groups import beside
from tidegate.demo import accounts_to_add
from tidegate.demo.simulated_posts import keep_posting, keep_talking
from tidegate.demo.telegram_account import HOURLY, Operator, ask_worker
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.telegram.world.pictures import photo_sizes
from tidegate.loopback.telegram.world.zips import small_zip
from tidegate.loopback.whatsapp.schema import GroupSpec, PhoneSpec, WhatsAppSpec
from tidegate.loopback.world_document import SMALL_WORLD, make_worlds
from tidegate.platforms import discord, telegram, whatsapp
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls

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
        "telegram": _SMALL.model_copy(update={"accounts": [*_SMALL.accounts, accounts_to_add.PERSON]}),
        "discord": SMALL_WORLD.discord.model_copy(update={"bots": [*SMALL_WORLD.discord.bots, accounts_to_add.BOT]}),
        "whatsapp": WhatsAppSpec(
            phones=[_SHOP, accounts_to_add.PHONE],
            groups=[
                GroupSpec(name="Customers", count=80, members=[_SHOP.phone]),
                GroupSpec(name="Town news", announce=True),
                accounts_to_add.GROUPS,
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
class RunningDemo:
    """The platforms of a demo, and their control address."""

    platforms: Platforms
    control: str


@asynccontextmanager
async def start_demo(runtime: Runtime, world: World, *workers: str) -> AsyncIterator[RunningDemo]:
    """Accounts are signed in, channels mirrored and the reminder fired when the block begins; *workers* serve it."""
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        platforms = Platforms.of(make_worlds(_WORLD, clock), clock)
        control = await stack.enter_async_context(serving(platforms, world.platform, world.at))
        stack.callback(world.end_workers)
        served = await _join_all(runtime, platforms, control)
        for name in workers:
            world.start_worker(name, platform="", cycle_every=HOURLY)
        await _follow(runtime, served)
        await _fail(runtime, served[0], platforms.telegram.world)
        await _remind(runtime)
        posting = keep_posting(platforms.telegram.world, *FOLLOWED)
        async with beside(posting, keep_talking(platforms.discord.world, TALKED_IN)):
            yield RunningDemo(platforms, control)


async def _join_all(runtime: Runtime, platforms: Platforms, control: str) -> list[Account]:
    """An account on each platform; the WhatsApp one is said to be well known there, so it may send 40 a minute."""
    wanted = (
        new_account(TELEGRAM, telegram.TELEGRAM, Standing.NORMAL, control),
        new_account(DISCORD, discord.DISCORD, Standing.NORMAL, control),
        new_account(WHATSAPP, whatsapp.WHATSAPP, Standing.ESTABLISHED, control),
    )
    for account in wanted:
        await join(runtime, account, Operator(platforms, PHONE))
    async with runtime.database.connection() as connection:
        return [(await accounts.find(connection, account.name)).account for account in wanted]


async def _follow(runtime: Runtime, served: list[Account]) -> None:
    """List what each account sees, and mirror two Telegram channels; Discord's are mirrored from the start."""
    await asyncio.gather(*(ask_worker(runtime.database, account, "sync") for account in served))
    async with runtime.database.transaction() as connection:
        for title in FOLLOWED:
            await channels.enable(connection, await channels.find(connection, title), MirrorOptions())
    await ask_worker(runtime.database, served[0], "cycle")


async def _fail(runtime: Runtime, account: Account, telegram: TelegramWorld) -> None:
    """An archive that cannot be read twice in a row, so that there is a failure to look at and to retry by hand."""
    telegram.faults.add(Fault(FaultKind.ERROR, "upload.getFile", count=2, code="400 LOCATION_INVALID"))
    content = small_zip(Random(telegram.seed))  # noqa: S311 - a world, not a secret
    file = telegram.add_content(f"{FAILED}.zip", content, mime="application/zip")
    telegram.post(telegram.channel(FOLLOWED[1]), f"{FAILED}, the whole of it", file=file)
    for _ in range(2):
        await ask_worker(runtime.database, account, "cycle")


async def _remind(runtime: Runtime) -> None:
    """A reminder to every group, every hour; its first run begins at once, and takes four minutes at 40 a minute."""
    picture = photo_sizes(PICTURE)["y"]
    async with runtime.database.transaction() as connection:
        kept = await reminder_changes.add(connection, parse_reminder(_WRITTEN), {PICTURE: as_read(PICTURE, picture)})
        await run_controls.fire(connection, kept)


async def filed_archives(world: World) -> int:
    """How many archives have been filed."""
    number: int = await world.database.pool.fetchval("SELECT count(*) FROM archives WHERE state = 'filed'")
    return number
