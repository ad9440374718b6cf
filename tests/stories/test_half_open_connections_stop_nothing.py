"""Promise: whoever opens thousands of connections and sends nothing stops neither the worker nor the pages."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.program import TIDEGATE, environment, running, tidegate
from tests.servers import free_port, make_home
from tests.stories import half_open
from tests.waiting import until
from tests.web.web_client import PLAIN
from tidegate.database.pool import Address, Database

FILES = 1_024


@pytest.fixture
def home(test_folder: Path, address: Address) -> Path:
    made = make_home(test_folder / f"half-open-{os.getpid()}")
    (made / "tidegate.toml").write_text(f'database_url = "{address.url}"\n')
    return made


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(**PLAIN) as opened:
        yield opened


@asynccontextmanager
async def program(*command: str | Path, **how: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process for the time of the block, told to end and waited for."""
    process = await asyncio.create_subprocess_exec(*command, **how)  # type: ignore[arg-type]
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.mark.story
async def test_half_open_connections_stop_nothing(
    home: Path, client: httpx.AsyncClient, database: Database, tmp_path: Path
) -> None:
    """With 1,024 open files and 5,000 such connections: cycles, new sessions of the database and pages go on.

    Once they are gone everything they held is free again, and the log has few lines about them.
    """
    log = tmp_path / "log"
    async with running("loopback", home=home) as loopback, _serving(home, client, log):
        await _add_bot(home, client, json.loads(await loopback.stdout.readline())["control"])
        await until(lambda: _is_served(database))
        await until(lambda: _answers(client))
        before = await _figures(client)
        async with _attacking(client.base_url.port or 0):
            await _end_all_sessions(database)
            await _shows_signs_of_life(home, client)
            assert (await _figures(client))["process_open_fds"] < FILES * 0.9
        await until(lambda: _is_free_again(client, before))
    told = log.read_text()
    assert "Too many open files" not in told
    assert len(told.splitlines()) < 200


@asynccontextmanager
async def _serving(home: Path, client: httpx.AsyncClient, log: Path) -> AsyncIterator[None]:
    """``tidegate serve`` that may open few files, where *client* asks from now on."""
    port, few_files = free_port(), ("sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh")
    client.base_url = httpx.URL(f"http://127.0.0.1:{port}")
    with log.open("wb") as stderr:
        variables = environment(home, TIDEGATE_WEB_PORT=str(port))
        async with program(*few_files, TIDEGATE, "serve", env=variables, cwd=home, stderr=stderr):
            yield


async def _add_bot(home: Path, client: httpx.AsyncClient, control: str) -> None:
    token = (await client.get(f"{control}/discord/token")).json()["token"]
    added = await asyncio.to_thread(
        tidegate, "account", "add", "discord", "tide", "--loopback", control, home=home, say=f"{token}\n"
    )
    assert added.returncode == 0, added.stderr


async def _is_served(database: Database) -> bool:
    return bool(await database.pool.fetchval("SELECT owner FROM accounts"))


async def _answers(client: httpx.AsyncClient) -> bool:
    """The worker may be there before the pages are."""
    try:
        return (await client.get("/health")).status_code == 200
    except httpx.TransportError:
        return False


@asynccontextmanager
async def _attacking(port: int) -> AsyncIterator[None]:
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    async with program(sys.executable, half_open.__file__, str(port), **pipes) as attack:
        assert attack.stdin is not None
        assert attack.stdout is not None
        assert int(await attack.stdout.readline()) == half_open.MOST
        yield
        attack.stdin.close()
        assert int(await attack.stdout.readline()) > half_open.MOST, "the attack had ended before"


async def _end_all_sessions(database: Database) -> None:
    """Whatever the worker wants of the database from now on, it has to open a session for it."""
    await database.pool.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


async def _shows_signs_of_life(home: Path, client: httpx.AsyncClient) -> None:
    cycle = await asyncio.to_thread(tidegate, "cycle", "tide", "--json", home=home)
    assert cycle.returncode == 0, cycle.stderr
    assert json.loads(cycle.stdout)["account"] == "tide"
    page = await client.get("/sign-in")
    assert (page.status_code, "Sign in" in page.text) == (200, True)
    health = await client.get("/health")
    assert (health.status_code, health.json()["workers"]) == (200, 1)


async def _figures(client: httpx.AsyncClient) -> dict[str, float]:
    """What the process says of itself."""
    text = (await client.get("/metrics")).text
    return {name: float(value) for name, value in re.findall(r"^([a-z_]+) ([\d.e+]+)$", text, flags=re.MULTILINE)}


async def _is_free_again(client: httpx.AsyncClient, before: dict[str, float]) -> bool:
    figures = await _figures(client)
    return figures["tidegate_web_connections"] <= 1 and figures["process_open_fds"] <= before["process_open_fds"] + 20
