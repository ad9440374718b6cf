"""Every test has a real PostgreSQL database of its own, copied from a template that holds the schema."""

from __future__ import annotations

import fcntl
import itertools
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import settings as hypothesis_settings

from tests.programs import CHROMIUM, MISSING_CHROMIUM
from tests.servers import DEBIAN, MISSING_DEBIAN, DebianServer, embedded, room_in_memory
from tidegate.clock import SystemClock
from tidegate.store.database import Address, Database
from tidegate.store.upgrade import upgrade

hypothesis_settings.register_profile("house", deadline=None, print_blob=True)
hypothesis_settings.load_profile("house")

_numbers = itertools.count()
_FORKED_WITH = ["tidegate.cli", "tidegate.app", "tidegate.mirroring", "tidegate.web", "tidegate.loopback.living"]
_TWICE = ("store", "engine")  # these folders also run against Debian's PostgreSQL 15


def pytest_configure(config: pytest.Config) -> None:
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
    if "server" in metafunc.fixturenames:
        folder = metafunc.definition.path.parent.name
        both = folder in _TWICE and (DEBIAN.exists() or os.environ.get("CI"))
        metafunc.parametrize(
            "server", ["embedded", "debian15"] if both else ["embedded"], indirect=True, scope="session"
        )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that nobody waits for it alone at the end."""
    items.sort(key=lambda item: item.path.parent.name != "stories" and item.path.name != "test_demo.py")


def pytest_collection_finish() -> None:
    # One process forks all others, and the last word before it starts says what it has loaded for them.
    multiprocessing.set_forkserver_preload(_FORKED_WITH)


@pytest.fixture(scope="session")
def test_folder() -> Path:
    return Path(os.environ["TIDEGATE_TEST_FOLDER"])


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, test_folder: Path) -> Iterator[Address]:
    """A server shared by all tests of this process."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if request.param == "debian15":
        assert DEBIAN.exists(), MISSING_DEBIAN
        seat: DebianServer | object = DebianServer(test_folder / f"debian-{worker}")
    else:
        seat = embedded(test_folder / "embedded")
    yield seat.address
    seat.leave()


@pytest.fixture(scope="session")
def template(server: Address, test_folder: Path, request: pytest.FixtureRequest) -> str:
    """The name of a database with the schema of this code, made once per server."""
    import asyncio

    async def make() -> None:
        connection = await asyncpg.connect(server.direct)
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = 'template_house'"):
                await connection.execute("CREATE DATABASE template_house_unfinished")
                await upgrade(on_database(server, "template_house_unfinished").direct)
                await connection.execute("ALTER DATABASE template_house_unfinished RENAME TO template_house")
        finally:
            await connection.close()

    with (test_folder / "template.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(make())
    return "template_house"


def on_database(server: Address, name: str) -> Address:
    """The same server, another database."""
    head, _, tail = server.direct.partition("?")
    url = f"{head.rpartition('/')[0]}/{name}?{tail}"
    return Address(url=url, direct=url)


@pytest.fixture
async def address(server: Address, template: str) -> AsyncIterator[Address]:
    """A database of the test's own, with the schema and nothing in it."""
    name = f"t_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(server.direct)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield on_database(server, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


@pytest.fixture
async def database(address: Address) -> AsyncIterator[Database]:
    opened = await Database.open(address)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()
