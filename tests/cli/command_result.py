"""What a command says of a database of the test."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.cli.program import tidegate
from tidegate.database.pool import Database


async def run(database: Database, home: Path, *arguments: str) -> tuple[int, str, str]:
    done = await asyncio.to_thread(tidegate, *arguments, home=home, DATABASE_URL=database.address.url)
    return done.returncode, done.stdout, done.stderr
