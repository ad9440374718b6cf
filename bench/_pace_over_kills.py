"""Sends at a pace of 8 a minute, while whoever sends is killed with SIGKILL every ten seconds and started again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench._operator_home import opened
from bench._peer_packages import program
from tidegate.core.clock import SystemClock
from tidegate.core.task_groups import beside
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations.upgrade import upgrade
from tidegate.loopback.counting_world import make_world
from tidegate.loopback.fleet import keep_sending
from tidegate.platforms.whatsapp import WHATSAPP

PER_MINUTE = 8
"""What baileys-antiban sends a minute by default."""

LIFE = timedelta(seconds=10)
LIVES = 9
SENDER = Path(__file__).with_name("_peer_sender.mjs")
_clock = SystemClock()


def above_pace(instants: Sequence[float]) -> int:
    """How many sends more than the pace allows the fullest minute had; a minute begins with each send."""
    fullest = max((sum(begun <= later < begun + 60 for later in instants) for begun in instants), default=0)
    return max(0, fullest - PER_MINUTE)


async def sends_of_tidegate() -> list[float]:
    """When messages of an account arrived at a platform that only counts."""
    with TemporaryDirectory(prefix="tg-") as folder:
        home = Path(folder)
        home.chmod(0o711)
        seat = await asyncio.to_thread(ServerLease, home / "server")
        try:
            await upgrade(seat.address.direct)
            async with (
                opened(seat.address, connections=3) as database,
                make_world(seat.address, database, home) as world,
            ):
                await world.add_accounts(1, WHATSAPP)
                for number in range(LIVES):
                    world.start_worker(f"life-{number}", keep_sending, max_send_per_minute=PER_MINUTE)
                    await _clock.sleep(LIFE)
                    world.strike(f"life-{number}", signal.SIGKILL)
                return [sent.at for sent in world.platform.record.sends]
        finally:
            await asyncio.to_thread(seat.leave)


async def sends_of_antiban(package: Path) -> list[float]:
    """When messages left that were sent through baileys-antiban."""
    node, instants = program("node"), list[float]()
    with TemporaryDirectory(prefix="tg-peers-") as state:
        for _ in range(LIVES):
            async with _life(node, str(SENDER), str(package), state, str(len(instants))) as lines:

                async def hear(lines: asyncio.StreamReader = lines) -> None:
                    while await lines.readline():
                        instants.append(_clock.ticks())

                async with beside(hear()):
                    await _clock.sleep(LIFE)
    return instants


@asynccontextmanager
async def _life(*command: str) -> AsyncIterator[asyncio.StreamReader]:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process.stdout
    finally:
        process.kill()
        await process.wait()
