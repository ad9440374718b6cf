"""``tidegate loopback`` as a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.program import running
from tests.waiting import PATIENCE


@asynccontextmanager
async def loopback_process(*arguments: str) -> AsyncIterator[dict[str, str]]:
    """``tidegate loopback`` as a process; yields the line it prints when it is ready."""
    with TemporaryDirectory() as home:
        async with running("loopback", *arguments, home=Path(home)) as process:
            yield json.loads(await asyncio.wait_for(process.stdout.readline(), PATIENCE))
        assert process.returncode == 0
