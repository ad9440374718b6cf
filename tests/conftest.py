"""Every test has a real PostgreSQL database of its own, copied from a template that holds the schema."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import itertools
import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from typing import TypeVar

import asyncpg
import pytest
import structlog
from hypothesis import settings as hypothesis_settings

from tests.programs import CHROMIUM, MISSING_CHROMIUM
from tests.servers import (
    DEBIAN,
    MISSING_DEBIAN,
    as_admin,
    debian_for_all,
    embedded,
    embedded_for_all,
    room_in_memory,
)
from tidegate.app import platform_registry  # noqa: F401 - it registers the platforms
from tidegate.core.clock import SystemClock
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pg_address import place
from tidegate.database.pool import Address, Database
from tidegate.maintenance.database_opening import prepare

hypothesis_settings.register_profile("house", deadline=None, print_blob=True)
hypothesis_settings.load_profile("house")

Item = TypeVar("Item")

_numbers = itertools.count()
_FORKED_WITH = [
    "tidegate.cli", "tidegate.app.composition", "tidegate.app.worker_setup", "tidegate.web",
    "tidegate.demo.running_demo", "tidegate.database.migrations.steps", "tidegate.platforms.telegram.connector",
    "tidegate.platforms.discord.connector", "tidegate.platforms.whatsapp.connector", "tests.cli.program",
    "tests.cli.frozen_modules",
]  # fmt: skip
_MARKS = (
    "both_servers: tests of queries; each that asks a database also asks PostgreSQL 15",
    "debian15: the run of such a test against PostgreSQL 15; ./dev test quick leaves it out",
)


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    if not hasattr(config, "workerinput"):  # the process that starts the others
        config.tidegate_folder = Path(tempfile.mkdtemp(prefix="tg-", dir=room_in_memory()))
        config.tidegate_folder.chmod(0o711)
        os.environ["TIDEGATE_TEST_FOLDER"] = str(config.tidegate_folder)
    # Nothing of the developer's own set-up may reach a test.
    for name in [
        name
        for name in os.environ
        if name.startswith(("TIDEGATE_", "DATABASE_", "PG")) and name != "TIDEGATE_TEST_FOLDER"
    ]:
        del os.environ[name]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell began us beside its own work


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.tidegate_folder, ignore_errors=True)


def pytest_report_header() -> list[str]:
    missing = {MISSING_DEBIAN: DEBIAN, MISSING_CHROMIUM: CHROMIUM}
    return [sentence for sentence, path in missing.items() if not path.exists()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked ``both_servers`` ask our queries, so they also run against the oldest PostgreSQL we promise."""
    if "server" in metafunc.fixturenames:
        oldest = pytest.param("debian15", marks=pytest.mark.debian15)
        is_twice = metafunc.definition.get_closest_marker("both_servers") and (DEBIAN.exists() or os.environ.get("CI"))
        metafunc.parametrize(
            "server", ["embedded", oldest] if is_twice else ["embedded"], indirect=True, scope="session"
        )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that nobody waits for it alone at the end."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    parts: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        parts[item.path.parent.name == "stories" or item.path.name == "test_demo.py"].append(item)
    items[:] = slow_first(parts[True], parts[False], workers)


def slow_first(slow: list[Item], others: list[Item], workers: int) -> list[Item]:
    """In an order that begins every second worker's part with a share of what is slow: that waits more than it works.

    pytest-xdist hands each worker one stretch of the list, all of one length.
    """
    shares = max(1, workers // 2)
    stretch = 2 * (len(slow) + len(others)) // workers if workers > 1 else 0
    ordered: list[Item] = []
    left = iter(others)
    for share in range(shares):
        ordered += itertools.islice(left, share * stretch - len(ordered)) if share else ()
        ordered += slow[share::shares]
    return [*ordered, *left]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half a million objects of the collection stay to the end: no garbage collection looks at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_finish() -> None:
    """Start the process that forks all programs, before a test does.

    Tidegate itself would start it without this folder in its path. It then finds the ``tests`` package of another
    project among the installed ones, and every program that a test starts later fails.
    """
    multiprocessing.set_forkserver_preload(_FORKED_WITH)
    forkserver.ensure_running()


@pytest.fixture(scope="session")
def test_folder() -> Path:
    return Path(os.environ["TIDEGATE_TEST_FOLDER"])


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, test_folder: Path) -> Iterator[Address]:
    """A server shared by all tests of this run."""
    if request.param == "debian15":
        assert DEBIAN.exists(), MISSING_DEBIAN
        with debian_for_all(test_folder / "debian") as address:
            yield address
    else:
        seat = embedded_for_all(test_folder / "embedded")
        yield seat.address
        seat.leave()


@pytest.fixture(scope="session")
def data_folder(test_folder: Path) -> Path:
    """A data folder of the embedded server with the schema of this code, stopped: tests copy it with ``cp -a``."""
    folder = test_folder / "made"
    with (test_folder / "made.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            seat = embedded(test_folder / "unmade")
            asyncio.run(prepare(seat.address, embedded=True))
            seat.leave()
            (test_folder / "unmade").rename(folder)
    return folder


@pytest.fixture(scope="session")
def template(server: Address, test_folder: Path) -> str:
    """The name of a database with the schema of this code, made once per server."""
    return make_template(server, test_folder, "template_house", lambda address: upgrade(address.direct))


def make_template(server: Address, folder: Path, name: str, fill: Callable[[Address], Awaitable[object]]) -> str:
    """Make a database to copy from, unless another process of the tests made it; its name."""

    async def make() -> None:
        connection = await asyncpg.connect(server.direct)
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
                await connection.execute(f"CREATE DATABASE {name}_unfinished")
                await fill(on_database(server, f"{name}_unfinished"))
                await connection.execute(f"ALTER DATABASE {name}_unfinished RENAME TO {name}")
        finally:
            await connection.close()

    with (folder / "template.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(make())
    return name


def on_database(server: Address, name: str) -> Address:
    """The same server, another database."""
    head, _, tail = server.direct.partition("?")
    url = f"{head.rpartition('/')[0]}/{name}?{tail}"
    return replace(server, url=url, direct=url)


@pytest.fixture(scope="session")
def on_server(server: Address) -> Iterator[Callable[[str], object]]:
    """Runs SQL on the server, outside the tests' databases, in one session for all tests of this process."""
    loop = asyncio.new_event_loop()
    sessions = [loop.run_until_complete(asyncpg.connect(server.direct))]

    def run(sql: str) -> object:
        if sessions[-1].is_closed():
            sessions.append(loop.run_until_complete(asyncpg.connect(server.direct)))
        return loop.run_until_complete(sessions[-1].execute(sql))

    yield run
    loop.run_until_complete(sessions[-1].close())
    loop.close()


@pytest.fixture
def address(server: Address, template: str, on_server: Callable[[str], object]) -> Iterator[Address]:
    """A database of the test's own, with the schema and nothing in it."""
    name = f"t_{os.getpid()}_{next(_numbers)}"
    on_server(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    yield on_database(server, name)
    on_server(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def superuser(address: Address, test_folder: Path) -> Callable[[str], Awaitable[object]]:
    """Runs SQL in the test's own database with rights that Tidegate itself does not have on the embedded server."""

    async def run(sql: str) -> object:
        if address.is_embedded:
            return as_admin(test_folder / "embedded", sql, database=place(address.direct).database)
        connection = await asyncpg.connect(address.direct)
        try:
            return await connection.execute(sql)
        finally:
            await connection.close()

    return run


@pytest.fixture
async def database(address: Address) -> AsyncIterator[Database]:
    opened = await Database.open(address)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Logging that a test may set up; afterwards it is as it was."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
