"""The demo as a newcomer starts it: the program, what it said, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
import re
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.account_commands import ask
from tests.cli.program import TIDEGATE, environment, tidegate
from tests.waiting import PATIENCE, until

STARTS_WITHIN = 300
"""Seconds, where many tests share a machine; by itself it takes some fifteen."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that is under way; all that is known of it is what it *said*."""

    process: Process
    home: Path
    said: str

    def told(self, pattern: str) -> str:
        found = re.search(pattern, self.said)
        assert found is not None, self.said
        return found[1]

    @property
    def link(self) -> str:
        return self.told(r"(http://\S+/sign-in\?once=\S+)")

    @property
    def control(self) -> str:
        return self.told(r"(http://\S+)/telegram/code")

    async def open(self, pattern: str) -> Any:
        """Open an address that the demo printed."""
        return await asyncio.to_thread(ask, self.told(pattern))

    async def run(self, *command: str) -> str:
        """What a command prints in another terminal, where it has to end well."""
        url = self.told(r"export DATABASE_URL='([^']+)'")
        ended = await asyncio.to_thread(lambda: tidegate(*command, home=self.home, DATABASE_URL=url))
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    async def interrupt(self) -> None:
        """Ctrl-C: it ends well, with everything it started, and leaves nothing in its folder."""
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            assert await self.process.wait() == 0
        await until(lambda: not _processes_of(self.home))
        assert list(self.home.glob("tidegate-demo*")) == []


@asynccontextmanager
async def living(home: Path, **variables: str) -> AsyncIterator[Demo]:
    """Start a demo with these variables set; the block begins once it has printed its link."""
    said = home / "said"
    with said.open("wb") as errors, (home / "shown").open("wb") as lines:
        process = await asyncio.create_subprocess_exec(
            TIDEGATE,
            "demo",
            cwd=home,
            env=environment(home, TMPDIR=str(home), **variables),
            stdout=lines,
            stderr=errors,
        )
    try:
        await until(lambda: process.returncode is not None or "once=" in said.read_text(), within=STARTS_WITHIN)
        yield Demo(process, home, said.read_text())
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


def _processes_of(home: Path) -> list[str]:
    """Whatever runs with this folder in its environment, however it was started."""
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if str(home).encode() in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""
