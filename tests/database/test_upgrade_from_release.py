"""Upgrades of databases with data in them, as earlier releases made them: whole, read, killed, and two at once."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from tests.cli.program import Started, running, tidegate
from tests.conftest import make_template
from tests.databases import empty_database, schema
from tests.held import holding
from tests.servers import make_home
from tests.upgrades.release import KEY, LATER_STEPS, SCHEMAS, Release, make_old_data_folder, newest_before
from tests.upgrades.statement_proxy import Moment, StatementProxy, Stop
from tests.waiting import until
from tidegate.access.queries import operator_password, page_sessions, tokens
from tidegate.accounts.queries import secrets
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations import FOLDER, HEAD
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Connection, Database
from tidegate.web.auth.operator_sign_in import is_password

FRAME = "before and after the steps"
"""What an upgrade does beside its steps; all it does where there is no step to take."""
KILLS = 1
"""How often an upgrade is killed in each step: at each moment of a statement, and while it waits for a writer."""

NEXT_KEY = "next:bmV4dCBmaXh0dXJlIGtleSwgbm90IGEgc2VjcmV0ISE="

Rows = dict[str, list[dict[str, Any]]]
_numbers = itertools.count()
_FIRST_STEP_FOLLOWS = re.compile(r"SELECT version_num FROM alembic_version")
_STEP_ENDS = re.compile(r"UPDATE alembic_version SET version_num = '(\d+)'")


@pytest.fixture(scope="session")
def released(server: Address, test_folder: Path) -> dict[str, str]:
    """Databases to copy from, one a release, by its step."""
    return {step: make_template(server, test_folder, f"release_{step}", Release.load(step).restore) for step in SCHEMAS}


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    """A data folder of the test's own; a server that still runs in it is stopped at the end."""
    folder = make_home(test_folder / f"u{os.getpid()}-{next(_numbers)}")
    yield folder
    if (folder / "postgresql" / "postmaster.pid").exists():
        ServerLease(folder).leave()
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Reference:
    """What an upgrade from a release does and leaves behind when nothing disturbs it."""

    template: str
    """The database of the release, to copy from."""
    statements: list[str]
    rows: Rows
    by_the_moment: set[tuple[str, str]]
    """Columns whose values differ from one upgrade to the next: a clock or dice filled them."""

    def sections(self) -> dict[str, list[int]]:
        """The numbers of the statements of each step, and of those around them."""
        found: dict[str, list[int]] = {FRAME: []}
        current: list[int] = []
        for number, text in enumerate(self.statements):
            current.append(number)
            if _FIRST_STEP_FOLLOWS.search(text):
                found[FRAME], current = current, []
            elif done := _STEP_ENDS.search(text):
                found[done[1]], current = current, []
        found[FRAME] += current
        return found

    async def require_same_rows(self, database: Address) -> None:
        found, wanted = (_without(rows, self.by_the_moment) for rows in (await stored(database), self.rows))
        assert found == wanted


@pytest.fixture(scope="session")
def references(server: Address, released: Mapping[str, str], test_folder: Path) -> dict[str, Reference]:
    """An undisturbed upgrade of each release, by its step."""

    async def make(template: str) -> Reference:
        async with empty_database(server, template=template) as one, StatementProxy(one, test_folder) as proxy:
            await upgrade(proxy.url)
            rows = await stored(one)
        async with empty_database(server, template=template) as other:
            await upgrade(other.direct)
            return Reference(template, proxy.statements, rows, _differing(rows, await stored(other)))

    return {step: asyncio.run(make(template)) for step, template in released.items()}


async def stored(address: Address) -> Rows:
    """Every row of every table, by column."""
    connection = await asyncpg.connect(address.direct)
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        return {
            name: [json.loads(row) for (row,) in await connection.fetch(f'SELECT to_jsonb(t)::text FROM "{name}" t')]
            for (name,) in names
        }
    finally:
        await connection.close()


def _differing(one: Rows, other: Rows) -> set[tuple[str, str]]:
    columns = {(table, column) for table, rows in one.items() for row in rows[:1] for column in row}
    return {
        (table, column)
        for table, column in columns
        if sorted(str(row[column]) for row in one[table]) != sorted(str(row[column]) for row in other[table])
    }


def _without(rows: Rows, columns: set[tuple[str, str]]) -> dict[str, list[str]]:
    return {
        table: sorted(
            json.dumps({name: value for name, value in row.items() if (table, name) not in columns}) for row in found
        )
        for table, found in rows.items()
    }


def public_schema(address: Address) -> list[str]:
    """The schema without the corner of WhatsApp's library, which only some databases have."""
    return schema(address, "--exclude-schema=whatsapp")


def step_module(step: str) -> Any:
    (file,) = (FOLDER / "versions").glob(f"{step}_*.py")
    return importlib.import_module(f"tidegate.database.migrations.versions.{file.stem}")


def changed_rows(after: str) -> set[str]:
    """Tables whose number of rows the steps after *after* change, as they say themselves in ``changes_rows``."""
    return {table for step in LATER_STEPS if step > after for table in getattr(step_module(step), "changes_rows", ())}


@pytest.mark.both_servers
@pytest.mark.parametrize("step", SCHEMAS)
async def test_a_release_is_upgraded_by_command(
    step: str, server: Address, released: Mapping[str, str], address: Address, home: Path
) -> None:
    """The schema is that of a new database, and every row is there that no step says it removes or adds."""
    before = Release.load(step).facts["rows"]
    async with empty_database(server, template=released[step]) as database:
        done = await asyncio.to_thread(tidegate, "db", "upgrade", home=home, DATABASE_URL=database.url)
        assert done.returncode == 0, done.stderr
        assert public_schema(database) == public_schema(address)
        after = {table: len(rows) for table, rows in (await stored(database)).items()}
        expected = {table: count for table, count in before.items() if table not in changed_rows(step)}
        assert {table: after[table] for table in expected} == expected


@pytest.mark.both_servers
@pytest.mark.parametrize("step", SCHEMAS)
async def test_what_a_release_stored_is_read_after_the_upgrade(
    step: str, server: Address, released: Mapping[str, str], home: Path
) -> None:
    """Every noun an operator lists is there with what the older program kept of it."""
    facts = Release.load(step).facts
    async with empty_database(server, template=released[step]) as database:
        await upgrade(database.direct)
        await asyncio.to_thread(_read_back, home, {"DATABASE_URL": database.url, "TIDEGATE_KEY": KEY}, facts)


def _read_back(home: Path, settings: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    """Ask for everything as an operator does, and find what the fixture's script put in."""

    def read(*arguments: str) -> Any:
        done = tidegate(*arguments, "--json", home=home, **settings)
        assert done.returncode == 0, (arguments, done.stderr)
        return json.loads(done.stdout)

    states = {row["name"]: row["state"] for row in read("account", "list")}
    assert states == {
        "ada": "active", "bea": "paused", "harbour-bot": "active", "shop": "active", "market": "signed_out",
    }  # fmt: skip
    channels = {row["title"]: row for row in read("channel", "list")}
    assert {"Letters", "Models", "general", "Ropes", "Shops 1"} <= channels.keys()
    assert (channels["Left behind"]["state"], channels["bridge"]["state"]) == ("unreadable", "no_history_permission")
    assert read("channel", "show", "Chronicle")["gaps"]["messages"], "the fixture has a gap"
    assert len(read("channel", "show", "Dragon Hoard")["topics"]) == 3

    found = [one["text"] for one in read("search", "lighthouse", "keeper")["results"]]
    assert "The lighthouse keeper sleeps" in found
    assert [one["text"] for one in read("search", '"an anchor for nobody"')["results"]] == ["An anchor for nobody"]
    assert "bridge/arch.stl" in {one["text"] for one in read("search", "arch")["results"]}
    assert any("keeper" in message["text"] for message in read("context", "Letters", "--limit", "300")["messages"])

    archives = {row["name"]: row for row in read("archive", "list")}
    kept = {name: row["state"] for name, row in archives.items()}
    assert kept.items() >= {
        "bridge.zip": "filed", "harbour.zip": "filed", "castle.7z.001": "collecting", "wreck.zip": "given_up",
        "late.zip": "failed",
    }.items()  # fmt: skip
    shown = read("archive", "show", str(archives["harbour.zip"]["id"]))
    assert [(one["way"], one["state"]) for one in shown["deliveries"]] == [("upload", "sent")]
    assert "duplicate" in archives["bridge-again.zip"]["flags"]
    assert read("archive", "show", str(archives["bridge.zip"]["id"]))["preview"]["type"] == "image/png"

    assert {row["name"] for row in read("reminder", "list")} == {"By list", "Partial", "Unknown", "Weekly", "Later"}
    assert [part.get("media") for part in read("reminder", "show", "Weekly")["parts"]] == [None, "poster.png"]
    assert [row["name"] for row in read("reminder", "targets")] == ["some shops"]
    runs = {name: read("runs", "show", str(number)) for name, number in facts["runs"].items()}
    assert {name: run["status"] or run["state"] for name, run in runs.items()} == {
        "success": "success", "partial": "partial", "unknown": "needs_attention", "paused": "paused",
        "waiting": "waiting", "cancelled": "cancelled",
    }  # fmt: skip
    assert runs["unknown"]["parts"]["unknown"] == 1

    told = tidegate("feed", "--json", home=home, **settings).stdout.splitlines()
    kinds = {json.loads(line)["kind"] for line in told}
    assert {"account.added", "archive.filed", "worker.died", "reminder.fired"} <= kinds
    assert {row["method"] for row in read("calls")} >= {"messages.getPeerDialogs", "SendMessage"}
    assert {row["name"] for row in read("token", "list")} == {"reader", "steersman", "master", "letters-bot"}


@pytest.mark.both_servers
@pytest.mark.parametrize("step", SCHEMAS)
async def test_secrets_of_a_release_open_after_the_upgrade(
    step: str, server: Address, released: Mapping[str, str], home: Path
) -> None:
    """Sign-ins, tokens, the password and a session are good at the moment they were made; a revoked token is not."""
    release = Release.load(step)
    async with empty_database(server, template=released[step]) as address:
        await upgrade(address.direct)
        database = await Database.open(address)
        try:
            async with holding(database, release.made_at), database.connection() as connection:
                await _open_doors(connection, release.facts)
            ring = await secrets.open_ring(database, home, f"{NEXT_KEY}\n{KEY}")
            sealed = release.facts["rows"]["secrets"] + release.facts["rows"]["house_secrets"]
            assert await secrets.reseal(database, ring) == sealed
        finally:
            await database.close()


async def _open_doors(connection: Connection, facts: Mapping[str, Any]) -> None:
    opened = {name: await tokens.find(connection, secret) for name, secret in facts["tokens"].items()}
    assert {name: sorted(token.scopes) if token else None for name, token in opened.items()} == {
        "reader": ["read"], "steersman": ["steer"], "master": ["admin", "read", "steer"], "letters-bot": ["read"],
        "gone": None,
    }  # fmt: skip
    assert await page_sessions.still_good(connection, [facts["session"]])
    kept = await operator_password.password_hash(connection)
    assert kept is not None
    assert await is_password(kept, facts["password"])


@pytest.mark.parametrize("step", [*LATER_STEPS, FRAME])
async def test_a_killed_upgrade_is_completed_by_the_next(
    step: str,
    server: Address,
    references: Mapping[str, Reference],
    address: Address,
    home: Path,
) -> None:
    """SIGKILL before, during and after statements, and while it waits for a writer: the next ends as if undisturbed.

    This covers every step after the oldest release, also those that commit in between or build an index concurrently:
    each kill finds what the one before left behind.
    """
    start = SCHEMAS[-1] if step == FRAME else newest_before(step)
    reference, dice = references[start], Random(step)
    tables = [] if step == FRAME else tables_named_in(step, reference.rows)
    async with empty_database(server, template=reference.template) as database:
        for table in dice.sample(tables, k=min(KILLS, len(tables))):
            await kill_behind_writer(database, home, table, reference.sections()[step])
        for moment in list(Moment) * KILLS:
            await kill_at_statement(database, home, dice.choice(reference.sections()[step]), moment)
        await upgrade(database.direct)
        assert public_schema(database) == public_schema(address)
        await reference.require_same_rows(database)


async def kill_at_statement(database: Address, home: Path, number: int, moment: Moment) -> None:
    """Start an upgrade and kill its process at a statement of it.

    It ends by itself where it has fewer statements, since an earlier one got as far as to commit.
    """
    started: asyncio.Future[Started] = asyncio.get_running_loop().create_future()

    async def kill() -> bool:
        (await started).send_signal(signal.SIGKILL)
        return False

    async with (
        StatementProxy(database, home, Stop([number], moment, kill)) as proxy,
        running("db", "upgrade", home=home, DATABASE_URL=proxy.url) as process,
    ):
        started.set_result(process)
        _, said = await process.communicate()
        reached = len(proxy.statements) > number
        assert process.returncode == (-signal.SIGKILL if reached else 0), said.decode()


def tables_named_in(step: str, tables: Rows) -> list[str]:
    """Tables that the text of a step speaks of, and that hold rows."""
    (file,) = (FOLDER / "versions").glob(f"{step}_*.py")
    words = set(re.findall(r"\w+", file.read_text()))
    return [table for table, rows in tables.items() if rows and table in words and table != "alembic_version"]


@asynccontextmanager
async def session(database: Address) -> AsyncIterator[asyncpg.Connection]:
    """A connection with the name of an upgrade: a start that upgrades refuses others."""
    connection = await asyncpg.connect(database.direct, server_settings={"application_name": "tidegate upgrade"})
    try:
        yield connection
    finally:
        await connection.close()


async def begin_writing(writer: asyncpg.Connection, table: str) -> None:
    """Begin a transaction that writes to the table and to its last row, unless somebody else has locked it.

    Whoever changes the table then waits at once, who changes its rows before the last one, and who builds an index
    concurrently after the index was entered.
    """
    transaction = writer.transaction()
    await transaction.start()
    try:
        await writer.execute(f'LOCK TABLE "{table}" IN ROW EXCLUSIVE MODE NOWAIT')
        await writer.execute(f'SELECT FROM "{table}" ORDER BY ctid DESC LIMIT 1 FOR UPDATE NOWAIT')
    except (asyncpg.LockNotAvailableError, asyncpg.UndefinedTableError):
        await transaction.rollback()


async def kill_behind_writer(database: Address, home: Path, table: str, statements: list[int]) -> None:
    """Kill an upgrade that waits for a writer, who began when it came to these statements."""
    async with session(database) as writer:

        async def write() -> bool:
            if not writer.is_in_transaction():
                await begin_writing(writer, table)
            return True

        async with StatementProxy(database, home, Stop(statements, Moment.BEFORE, write)) as proxy:
            await kill_behind(writer, database, running("db", "upgrade", home=home, DATABASE_URL=proxy.url))


async def kill_behind(
    writer: asyncpg.Connection, database: Address, upgrading: AbstractAsyncContextManager[Started]
) -> None:
    """Kill an upgrade that waits for the writer, and its session on the server, which would go on without it.

    A step may name a table and not wait for it: then the upgrade ends by itself.
    """
    waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid)) LIMIT 1"
    async with session(database) as watcher, upgrading as process:
        writing = writer.get_server_pid()
        pid = await until(lambda: process.returncode is not None or watcher.fetchval(waiting, writing))
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        if pid is not True:
            await watcher.execute("SELECT pg_terminate_backend($1)", pid)


@pytest.mark.parametrize("killed", [False, True], ids=["both end", "the first is killed"])
async def test_of_two_upgrades_one_waits_for_the_other(
    killed: bool, server: Address, references: Mapping[str, Reference], home: Path
) -> None:
    """The second waits while the first is about to commit. It finds nothing to do, or does it all if the first died."""
    start, reference = SCHEMAS[0], references[SCHEMAS[0]]
    last = len(reference.statements) - 1
    async with empty_database(server, template=reference.template) as database:
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold() -> bool:
            held.set()
            await go_on.wait()
            return not killed

        async with (
            StatementProxy(database, home, Stop([last], Moment.BEFORE, hold)) as proxy,
            running("db", "upgrade", home=home, DATABASE_URL=proxy.url) as first,
        ):
            await held.wait()
            async with running("db", "upgrade", home=home, DATABASE_URL=database.url) as second:
                await until(lambda: _waits_for_the_lock(server, database))
                if killed:
                    first.send_signal(signal.SIGKILL)
                    await until(lambda: first.returncode is not None)
                go_on.set()
                _, said = await second.communicate()
            await first.communicate()
        assert (first.returncode, second.returncode) == (-signal.SIGKILL if killed else 0, 0), said
        done = f"went from schema {start} to {HEAD}" if killed and start != HEAD else f"is at schema {HEAD} already"
        assert done in said.decode()
        await reference.require_same_rows(database)


async def _waits_for_the_lock(server: Address, database: Address) -> bool:
    connection = await asyncpg.connect(server.direct)
    try:
        waits: bool = await connection.fetchval(
            """
            SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                           WHERE d.datname = $1 AND l.locktype = 'advisory' AND NOT l.granted)
            """,
            database.direct.partition("?")[0].rpartition("/")[2],
        )
        return waits
    finally:
        await connection.close()


@pytest.mark.parametrize("step", SCHEMAS)
async def test_an_old_data_folder_is_upgraded_by_the_next_start(step: str, home: Path) -> None:
    """Any command does it, also after one that was killed while it upgraded, and everything is there.

    The folder is as its release made it: whoever reaches its socket is trusted and a superuser.
    """
    release = Release.load(step)
    await make_old_data_folder(home, release)
    seat = await asyncio.to_thread(ServerLease, home)
    rows: Rows = await stored(seat.address)
    tables = [table for later in LATER_STEPS if later > step for table in tables_named_in(later, rows)]
    for table in Random(step).sample(tables, k=min(1, len(tables))):
        async with session(seat.address) as writer:
            await begin_writing(writer, table)
            await kill_behind(writer, seat.address, running("account", "list", home=home))
    await asyncio.to_thread(_read_back, home, {}, release.facts)
    await asyncio.to_thread(seat.leave)
