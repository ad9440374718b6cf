"""Children that are ended: nothing is printed between the sentences of a command."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE

import pytest

from tidegate.core.child_process import kill_child


async def test_ending_a_child_that_just_ended_keeps_its_exit_code(caplog: pytest.LogCaptureFixture) -> None:
    """asyncio warns "Unknown child process pid" when somebody else asked for the exit code first."""
    for _ in range(20):
        process = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "raise SystemExit(7)", stdout=PIPE)
        assert process.stdout is not None
        await process.stdout.read()  # it has ended, or is about to
        kill_child(process)
        assert await process.wait() in (7, -9)
    assert [record.getMessage() for record in caplog.records if "Unknown child" in record.getMessage()] == []


async def test_a_child_that_lives_is_ended() -> None:
    """Whatever it is doing; a second time is harmless."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "import time; time.sleep(600)")
    kill_child(process)
    assert await process.wait() == -9
    kill_child(process)
