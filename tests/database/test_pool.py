"""Reaching PostgreSQL: sentences for every way it fails, and poolers in between."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers import OwnServer, free_port, pgbouncer
from tests.waiting import PATIENCE, until
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.task_groups import beside, together
from tidegate.database import pg_address
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.pg_address import Unreachable, connect, place
from tidegate.database.pool import AWAY, OLDEST_SERVER, Address, Database, require_supported
from tidegate.database.pooler_check import refuse_transaction_pooler

pytestmark = pytest.mark.both_servers

PASSWORD = "hunter2secret"


@pytest.fixture(scope="session")
def network(test_folder: Path) -> Iterator[str]:
    """host:port of a server that listens on 127.0.0.1 and asks the user tidegate for PASSWORD."""
    port = free_port()
    home = test_folder / f"network-{port}"
    server = OwnServer(home, wheel_programs(), options=("listen_addresses=127.0.0.1", f"port={port}"))
    asyncio.run(_set_password(server.address.direct))
    yield f"127.0.0.1:{port}"
    server.leave()


async def _set_password(url: str) -> None:
    connection = await connect(url, name="tests")
    await connection.execute(f"ALTER ROLE tidegate PASSWORD '{PASSWORD}'")
    await connection.close()


async def refusal(url: str) -> str:
    with pytest.raises(Unreachable) as refused:
        await Database.open(Address(url, url))
    assert PASSWORD not in str(refused.value)
    return str(refused.value)


async def test_a_right_address_opens(network: str) -> None:
    """The network fixture itself is sound: with the right password everything works."""
    url = f"postgresql://tidegate:{PASSWORD}@{network}/postgres"
    database = await Database.open(Address(url, url))
    assert await database.pool.fetchval("SELECT 1") == 1
    await database.close()


async def test_a_wrong_password_is_said(network: str) -> None:
    """The sentence names host, port and database, and never the password."""
    said = await refusal(f"postgresql://tidegate:wrong{PASSWORD}@{network}/postgres")
    assert said == f'The database "postgres" on {network} refused the user name or password. Check DATABASE_URL.'


async def test_a_missing_database_is_said(network: str) -> None:
    """A server without that database is told apart from a server that does not answer."""
    said = await refusal(f"postgresql://tidegate:{PASSWORD}@{network}/nowhere")
    assert said.startswith(f'The database "nowhere" on {network} does not exist.')


async def test_a_server_without_tls_is_said(network: str) -> None:
    """Asking for TLS where there is none is a sentence, not a protocol error."""
    said = await refusal(f"postgresql://tidegate:{PASSWORD}@{network}/postgres?sslmode=require")
    assert "does not speak TLS" in said


async def test_an_unknown_user_is_said(network: str) -> None:
    """PostgreSQL does not tell unknown users from wrong passwords, and neither do we."""
    assert "refused the user name or password" in await refusal(f"postgresql://nobody:{PASSWORD}@{network}/postgres")


async def test_nothing_listening_is_said() -> None:
    """A closed port is named."""
    port = free_port()
    said = await refusal(f"postgresql://tidegate:{PASSWORD}@127.0.0.1:{port}/x")
    assert said.startswith(f'The database "x" on 127.0.0.1:{port} does not answer: nothing listens there.')


async def test_a_silent_host_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that accepts and says nothing is waited for no longer than the patience we have."""
    monkeypatch.setattr("tidegate.database.pool.PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        said = await refusal(f"postgresql://tidegate:{PASSWORD}@127.0.0.1:{mute.getsockname()[1]}/x")
    assert "gave no answer" in said


async def test_a_missing_socket_is_said(tmp_path: Path) -> None:
    """The embedded server's address, while it does not run."""
    said = await refusal(f"postgresql://tidegate@/tidegate?host={tmp_path}&port=5432")
    assert said.startswith(f'The database "tidegate" on the socket in {tmp_path} does not answer')


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://u:{PASSWORD}@h/d",
        PASSWORD,
        f"postgresql://u:{PASSWORD}#x@h/d",
        f"postgresql://u:{PASSWORD}/x@h/d",
        f"postgresql://u:{PASSWORD}@@h/d",
        f"postgresql://u:{PASSWORD}@h:{PASSWORD}/d",
        f"postgresql://u:{PASSWORD}@h:999999/d",
        f"postgresql://[u:{PASSWORD}@h/d",
    ],
)
async def test_a_malformed_address_is_never_quoted(url: str) -> None:
    """A password with special characters shifts the parts of an address: nothing of it may be repeated."""
    with pytest.raises(BadInput, match="The database address is malformed") as refused:
        await Database.open(Address(url, url))
    assert PASSWORD not in str(refused.value)


async def test_a_strange_option_is_never_quoted() -> None:
    """The client library's own words may quote the address, so they are not repeated."""
    said = await refusal(f"postgresql://u:{PASSWORD}@127.0.0.1/d?sslmode={PASSWORD}")
    assert "not understood" in said


words = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=12)


@given(user=words, password=words, database=words)
def test_a_password_is_taken_out_of_an_address_whole(user: str, password: str, database: str) -> None:
    """What programs get as an argument, and what is printed, are the address without the password."""
    quoted = [pg_address.quote(part, safe="") for part in (user, password, database)]
    found = place("postgresql://{}:{}@h:1/{}".format(*quoted))
    assert (found.user, found.password, found.database, found.hosts) == (user, password, database, "h:1")
    assert found.bare_url == f"postgresql://{quoted[0]}@h:1/{quoted[2]}"
    assert found.masked_url == f"postgresql://{quoted[0]}:***@h:1/{quoted[2]}"


def test_a_password_among_the_options_is_taken_out_too() -> None:
    """libpq and asyncpg both accept it there."""
    found = place(f"postgresql://h/d?user=u&password={PASSWORD}&sslmode=require")
    assert found.password == PASSWORD
    assert PASSWORD not in found.bare_url + found.masked_url + str(found)
    assert found.bare_url.endswith("sslmode=require")


@given(st.integers(90_000, 250_000))
def test_only_servers_older_than_ours_are_refused(number: int) -> None:
    """PostgreSQL 14.0 calls itself 140000."""
    if number >= OLDEST_SERVER * 10_000:
        require_supported(number)
    else:
        with pytest.raises(TidegateError, match="needs 14 or newer"):
            require_supported(number)


async def test_direct_sessions_carry_their_settings(database: Database) -> None:
    """A worker's session is named and ends by itself when the worker falls silent."""
    session = await database.direct("tests live", idle_session_timeout="12345", lock_timeout="678")
    assert await session.fetchval("SHOW application_name") == "tests live"
    assert await session.fetchval("SHOW idle_session_timeout") == "12345ms"
    assert await session.fetchval("SHOW lock_timeout") == "678ms"
    await session.close()


async def test_a_wrong_setting_leaves_no_session_behind(database: Database) -> None:
    """A session that could not be set up is ended, not left to the garbage collector."""
    with pytest.raises(asyncpg.PostgresError):
        await database.direct("tests fail", no_such_setting="1")
    async with asyncio.timeout(PATIENCE):
        while await database.pool.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tests fail'"
        ):
            pass


@pytest.fixture
def bouncer_folder(test_folder: Path) -> Iterator[Path]:
    folder = test_folder / f"bouncer-{free_port()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _behind(bouncer: str, address: Address) -> str:
    return f"{bouncer}/{place(address.direct).database}"


@pytest.mark.parametrize("round_robin", [False, True])
async def test_a_pooler_in_transaction_mode_is_refused(
    address: Address, bouncer_folder: Path, round_robin: bool
) -> None:
    """Locks would be lost there unnoticed; the sentence names the setting that helps. Taking turns hides nothing."""
    with pgbouncer(address, bouncer_folder, mode="transaction", round_robin=round_robin) as bouncer:
        url = _behind(bouncer, address)
        await _make_it_open_two_processes(url)
        with pytest.raises(TidegateError, match="Set TIDEGATE_DATABASE_DIRECT_URL"):
            await refuse_transaction_pooler(Address(url, url))


async def _make_it_open_two_processes(url: str) -> None:
    one, two = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(2)]
    async with one.transaction(), two.transaction():
        assert await one.fetchval("SELECT pg_backend_pid()") != await two.fetchval("SELECT pg_backend_pid()")
    await one.close()
    await two.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_a_pooler_with_one_server_process_is_refused_at_once(
    address: Address, bouncer_folder: Path, mode: str
) -> None:
    """The check itself never waits for the process it holds."""
    with pgbouncer(address, bouncer_folder, mode=mode, size=1) as bouncer:
        url = _behind(bouncer, address)
        with pytest.raises(TidegateError, match="pooler"):
            await refuse_transaction_pooler(Address(url, url))


async def test_a_pooler_in_session_mode_is_direct_enough(address: Address, bouncer_folder: Path) -> None:
    """There a session keeps its process: locks hold, and settings the pooler does not know are set all the same."""
    with pgbouncer(address, bouncer_folder, mode="session", size=20) as bouncer:
        through = Address(address.url, _behind(bouncer, address))
        await refuse_transaction_pooler(through)
        database = await Database.open(through)
        session = await database.direct("tests live", idle_session_timeout="12345")
        assert await session.fetchval("SHOW idle_session_timeout") == "12345ms"
        assert await session.fetchval("SELECT pg_try_advisory_lock(1, 2)")
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1 AND objid = 2 AND granted"
        assert await database.pool.fetchval(held) == 1
        await session.close()
        await database.close()


async def test_no_pooler_is_no_problem(address: Address) -> None:
    """The server itself is not taken for a pooler."""
    await refuse_transaction_pooler(address)


async def test_work_goes_through_a_pooler_in_transaction_mode(address: Address, bouncer_folder: Path) -> None:
    """Many sessions over few processes: no prepared statement is mixed up, and JSON and transactions work."""
    with pgbouncer(address, bouncer_folder, mode="transaction", size=2) as bouncer:
        database = await Database.open(Address(_behind(bouncer, address), address.direct), connections=8)

        async def work(number: int) -> None:
            for turn in range(20):
                data = {"number": number, "turn": turn}
                async with database.transaction() as connection:
                    await connection.execute(
                        "INSERT INTO events (kind, subject, data) VALUES ($1, $2, $3)", "test", str(number), data
                    )
                found = await database.pool.fetchval(
                    "SELECT data FROM events WHERE subject = $1 ORDER BY id DESC LIMIT 1", str(number)
                )
                assert found == data
                assert await database.pool.fetchval("SELECT $1::text[]", [str(number)]) == [str(number)]

        await asyncio.gather(*(work(number) for number in range(8)))
        assert await database.pool.fetchval("SELECT count(*) FROM events") == 160
        await database.close()


async def test_a_pooler_as_the_only_address_says_what_to_set(address: Address, bouncer_folder: Path) -> None:
    """A pooler refuses settings it does not know; the sentence says how to tell Tidegate about it."""
    with pgbouncer(address, bouncer_folder, mode="session") as bouncer:
        url = _behind(bouncer, address)
        with pytest.raises(Unreachable, match="TIDEGATE_DATABASE_DIRECT_URL"):
            await Database.open(Address(url, url))


async def test_whoever_waits_only_so_long_is_let_go(database: Database) -> None:
    """Also from a transaction, and also when the server's process reacts to nothing, not even to a cancelled query."""
    bounded = database.within(timedelta(milliseconds=200))
    async with database.connection() as connection:
        process = connection.get_server_pid()  # the pool gives the one back first that was used last

    async def ask() -> None:
        async with bounded.transaction() as connection:
            assert connection.get_server_pid() == process
            os.kill(process, signal.SIGSTOP)
            await connection.execute("SELECT 1")

    try:
        ended, _ = await asyncio.wait([asyncio.create_task(ask())], timeout=60)
    finally:
        os.kill(process, signal.SIGCONT)
    assert [isinstance(one.exception(), AWAY) for one in ended] == [True]
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT 1") == 1


async def test_whoever_may_wait_is_not_cut_by_those_who_may_not(database: Database) -> None:
    """Workers share the pool with pages, and their long statements go on."""
    bounded = database.within(timedelta(milliseconds=100))
    async with database.connection() as connection:
        with pytest.raises(TimeoutError):
            async with bounded.connection() as other:
                await other.execute("SELECT pg_sleep(60)")
        assert await connection.fetchval("SELECT 1 FROM pg_sleep(0.3)") == 1


async def test_whoever_has_a_share_leaves_the_rest_to_others(database: Database) -> None:
    """However much is asked of the web server, a worker of the same process finds a connection, without waiting."""
    shared = database.within(timedelta(seconds=60), connections=database.pool.get_max_size() - 1)

    async def hold() -> None:
        async with shared.connection() as connection:
            await connection.execute("SELECT pg_sleep(60)")

    async with beside(*(hold() for _ in range(50))):
        await until(
            lambda: database.pool.get_size() - database.pool.get_idle_size() >= database.pool.get_max_size() - 1
        )
        async with database.pool.acquire(timeout=5) as connection:
            assert await connection.fetchval("SELECT 1") == 1
        with pytest.raises(TimeoutError):
            async with shared.within(timedelta(milliseconds=100)).connection():
                pass


async def test_a_transaction_that_is_cancelled_is_rolled_back_in_order(database: Database) -> None:
    """Work that is ended while a statement runs leaves no open transaction for the pool to find and complain of."""
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about["message"]))

    async def change() -> None:
        async with database.transaction() as connection:
            await connection.execute("UPDATE house SET world = 'loopback'")
            await connection.execute("SELECT pg_sleep(60)")

    async def asleep() -> bool:
        found: bool = await database.pool.fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active' "
            "AND application_name = $1)",
            database.name,
        )
        return found

    async def rest() -> None:
        await asyncio.Event().wait()

    working = asyncio.create_task(together(change(), rest()))
    await until(asleep)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert complaints == []
    assert await database.pool.fetchval("SELECT world FROM house") is None


async def test_sessions_of_the_embedded_server_are_opened_anew(database: Database) -> None:
    """What one holds in the server's memory ends with it; on a server of the operator's own each stays."""
    before = await database.pool.fetchval("SELECT pg_backend_pid()")
    await database.renew_sessions()
    after = await database.pool.fetchval("SELECT pg_backend_pid()")
    assert (after != before) == database.address.is_embedded
