"""``tidegate feed`` as a script and as a person see it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.cli.program import TIDEGATE, environment, tidegate
from tests.recorded_events import can_be_told, unknown_event
from tests.waiting import PATIENCE, until
from tidegate.database.pool import Database
from tidegate.events.queries import feed


async def record(database: Database, *subjects: str, **data: object) -> None:
    """A transaction each, and wait until they can be told: other tests' transactions may hide them for a moment."""
    for subject in subjects:
        async with database.transaction() as connection:
            await feed.record(connection, subject, unknown_event(data=data))
    await can_be_told(database)


async def printed(database: Database, home: Path, *arguments: str) -> list[dict[str, Any]]:
    """What the command prints into a pipe, as JSON."""
    done = await asyncio.to_thread(tidegate, "feed", *arguments, home=home, DATABASE_URL=database.address.url)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@asynccontextmanager
async def following(database: Database, home: Path, *arguments: str) -> AsyncIterator[Process]:
    """The command running with --follow."""
    process = await asyncio.create_subprocess_exec(
        TIDEGATE, "feed", "--follow", *arguments,
        env=environment(home, DATABASE_URL=database.address.url), cwd=home, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def next_line(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        event: dict[str, Any] = json.loads(await process.stdout.readline())
    return event


async def test_a_script_gets_the_contracts_shape(database: Database, tmp_path: Path) -> None:
    """One JSON object a line when nobody looks: cursor, at, kind, subject, data."""
    await record(database, "čajovna", figure=7)
    [event] = await printed(database, tmp_path)
    assert event == {
        "cursor": event["cursor"],
        "at": event["at"],
        "kind": "test.happened",
        "subject": "čajovna",
        "data": {"figure": 7},
    }


async def test_it_resumes_from_a_cursor(database: Database, tmp_path: Path) -> None:
    """A page and the rest, taken by two commands, are everything once."""
    await record(database, "one", "two", "three")
    first = await printed(database, tmp_path, "--limit", "2")
    rest = await printed(database, tmp_path, "--after", first[-1]["cursor"])
    assert [event["subject"] for event in first + rest] == ["one", "two", "three"]


async def test_it_follows_from_now_and_ends_quietly_when_interrupted(database: Database, tmp_path: Path) -> None:
    """--after now leaves out the past; what happens next is printed live; Ctrl-C is no failure to explain."""
    await record(database, "past")
    async with following(database, tmp_path, "--after", "now") as process:
        await _until_it_listens(database)
        await record(database, "live")
        assert (await next_line(process))["subject"] == "live"
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            rest, said = await process.communicate()
    assert (process.returncode, rest, said) == (130, b"", b"")


async def test_a_closed_pipe_ends_it_without_waiting_for_news(database: Database, tmp_path: Path) -> None:
    """`tidegate feed --follow | head -1` does not linger, and complains of nothing."""
    await record(database, "one")
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        TIDEGATE, "feed", "--follow",
        env=environment(tmp_path, DATABASE_URL=database.address.url), cwd=tmp_path, stdout=writing, stderr=PIPE,
    )  # fmt: skip
    os.close(writing)
    line = await asyncio.to_thread(os.read, reading, 1000)
    assert json.loads(line)["subject"] == "one"
    os.close(reading)
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()
    assert (process.returncode, said) == (141, b"")


async def test_a_person_reads_lines(database: Database, tmp_path: Path) -> None:
    """On a terminal: local time with its zone, kind, subject, details; a stranger's name cannot steer the terminal."""
    await record(database, "shop\x1b[2J", seconds=30, why="asked to wait")
    terminal, child = os.openpty()
    process = await asyncio.create_subprocess_exec(
        TIDEGATE, "feed",
        env=environment(tmp_path, DATABASE_URL=database.address.url, TZ="UTC"), cwd=tmp_path, stdout=child, stderr=PIPE,
    )  # fmt: skip
    os.close(child)
    line = (await asyncio.to_thread(os.read, terminal, 1000)).decode()
    async with asyncio.timeout(PATIENCE):
        await process.communicate()
    os.close(terminal)
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d UTC  test\.happened +shop\\x1b\[2J  why=asked to wait seconds=30\r\n", line
    )


def test_a_wrong_cursor_starts_nothing(tmp_path: Path) -> None:
    """bad-input-gets-a-sentence: one sentence, exit code 2, and no database is made for it."""
    done = tidegate("feed", "--after", "yesterday", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("The cursor 'yesterday' is none of this feed")
    assert not any(tmp_path.iterdir())


def test_a_limit_of_nothing_is_refused(tmp_path: Path) -> None:
    """bad-input-gets-a-sentence."""
    done: subprocess.CompletedProcess[str] = tidegate("feed", "--limit", "0", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--limit" in done.stderr


async def _until_it_listens(database: Database) -> None:
    """The command has found its place when its listening session is there."""

    async def listening() -> bool:
        found: bool = await database.pool.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM pg_stat_activity
                WHERE application_name = 'tidegate feed' AND datname = current_database()
            )
            """
        )
        return found

    await until(listening)
