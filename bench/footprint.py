"""A small archive takes at most 45 MB of disk, an idle service 150 MB of memory, and the install 250 MB.

A loopback Telegram has a channel of 5,000 messages, a loopback Discord a server. ``tidegate serve`` with an account of
each mirrors the channel into its embedded database, and is measured when it has been idle for two minutes. Memory is
the proportional set size of its processes and of those of its PostgreSQL, by the kernel's word. The install is every
package that Tidegate needs without extras, as it is installed here.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bench._loopback_accounts import Town, add_everybody, bots, phones, town_of
from bench._operator_home import opened, operator_home, serving, tidegate
from tidegate.core.clock import SystemClock

MESSAGES = 5_000
IDLE = timedelta(minutes=2)
_MB = 1 << 20  # as du counts them
_NAME = re.compile(r"^[\w.-]+")
_clock = SystemClock()


async def run() -> dict[str, Any]:
    """Mirror, wait, measure."""
    world = {
        "seed": 7,
        "telegram": {
            "accounts": [{"phone": phone} for phone in phones(1)],
            "channels": [{"title": "Models", "kind": "channel", "messages": MESSAGES}],
        },
        "discord": {"bots": [{"name": bot} for bot in bots(1)], "guilds": [{"name": "Harbour"}]},
    }
    home = Path(tempfile.mkdtemp(prefix="tg-bench-"))
    home.chmod(0o711)
    try:
        async with town_of(world) as town:
            memory = await _memory_of_service(home, town)
        disk = sum(file.stat().st_blocks * 512 for file in home.rglob("*") if file.is_file())
    finally:
        shutil.rmtree(home)
    return {
        "messages": MESSAGES,
        "disk_mb": round(disk / _MB, 1),
        "disk_limit_mb": 45,
        **{f"memory_{part}_mb": round(size / _MB, 1) for part, size in memory.items()},
        "memory_mb": round(sum(memory.values()) / _MB, 1),
        "memory_limit_mb": 150,
        "install_mb": round(sum(map(_size_of, _needed("tidegate", set()))) / _MB, 1),
        "install_limit_mb": 250,
    }


async def _memory_of_service(home: Path, town: Town) -> dict[str, int]:
    async with operator_home(home) as address:
        async with opened(address, connections=3) as database:
            telegram, _ = await add_everybody(database, home, town, people=1)
        await tidegate(home, "channel", "sync", telegram.name)
        await tidegate(home, "channel", "enable", "Models", "--full")
        async with serving(home) as process:
            async with opened(address, connections=1) as database:
                while await database.pool.fetchval("SELECT count(*) FROM messages") < MESSAGES:
                    await _clock.sleep(timedelta(seconds=1))
            await _clock.sleep(IDLE)
            server = int((home / "postgresql" / "postmaster.pid").read_text().split()[0])
            return {"service": sum(map(_pss, _tree(process.pid))), "database": sum(map(_pss, _tree(server)))}


def _tree(root: int) -> Iterator[int]:
    """A process and all that it started."""
    yield root
    for thread in Path(f"/proc/{root}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from _tree(int(child))


def _pss(process: int) -> int:
    """The proportional set size of a process in bytes."""
    [line] = [
        line for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
    ]
    return int(line.split()[1]) << 10


def _needed(name: str, seen: set[str]) -> set[str]:
    """A package and those it needs, without extras; what this machine does not need is not installed."""
    if name in seen:
        return seen
    try:
        needs = distribution(name).requires or []
    except PackageNotFoundError:
        return seen
    seen.add(name)
    for need in needs:
        found = _NAME.match(need)
        if found and "extra ==" not in need:
            _needed(found[0].lower(), seen)
    return seen


def _size_of(name: str) -> int:
    return sum(path.stat().st_size for file in distribution(name).files or () if (path := Path(file.locate())).exists())
