"""The web server over real HTTP: health, metrics, refusals, and taking the address."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from tests.cli.program import TIDEGATE, environment, tidegate
from tests.servers import make_home
from tests.waiting import PATIENCE
from tests.web.web_client import PLAIN, answering
from tidegate import __version__
from tidegate.app.loop_lag import LOOP_LAG
from tidegate.core.errors import BadInput
from tidegate.database.migrations import HEAD
from tidegate.database.pool import Database
from tidegate.web import listen, make_app, serve_web
from tidegate.web.server import http_server
from tidegate.workers.queries import workers


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with answering(make_app(database)) as opened:
        yield opened


class TestHealth:
    async def test_a_house_in_order_says_so(self, client: httpx.AsyncClient, database: Database) -> None:
        """200 with version, schema, database, and how many workers and accounts there are; HEAD for load balancers."""
        assert (await client.head("/health")).status_code == 200
        await database.pool.execute("INSERT INTO accounts (name, platform) VALUES ('a', 'telegram'), ('b', 'discord')")
        answer = await client.get("/health")
        assert answer.status_code == 200
        found = answer.json()
        assert re.fullmatch(r"PostgreSQL \d+.*", found.pop("database"))
        assert found == {"status": "ok", "version": __version__, "schema": HEAD, "workers": 0, "accounts": 2}

    async def test_only_workers_that_live_are_counted(self, client: httpx.AsyncClient, database: Database) -> None:
        """Alive means: its session holds its lock; a row alone is a memory."""
        session = await database.direct("worker under test")
        for number in (1, 2):
            await database.pool.execute(
                "INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out) "
                "VALUES ($1, 'w', 'w', 'h', 'p', '0', 1, '15 s')",
                number,
            )
        assert await workers.take_lock(session, workers.WorkerNumber(1))
        assert (await client.get("/health")).json()["workers"] == 1
        await session.close()

    async def test_a_database_that_does_not_answer_is_503_with_a_sentence(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The answer comes in bounded time, although the database's never does."""
        holder = await asyncpg.connect(database.address.direct)
        async with holder.transaction():
            await holder.execute("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")
            answer = await client.get("/health")
        await holder.close()
        assert answer.status_code == 503
        assert answer.json() == {
            "status": "unwell", "version": __version__, "problem": "The database did not answer within 2 s."
        }  # fmt: skip
        assert (await client.get("/health")).status_code == 200

    async def test_a_frozen_database_is_503_all_the_same(self, client: httpx.AsyncClient, database: Database) -> None:
        """A server process that reacts to nothing, not even to a cancelled query, does not hold the answer."""
        async with database.pool.acquire() as connection:
            process = connection.get_server_pid()
        os.kill(process, signal.SIGSTOP)
        try:
            answer = await client.get("/health")
        finally:
            os.kill(process, signal.SIGCONT)
        assert answer.status_code == 503
        assert answer.json()["problem"] == "The database did not answer within 2 s."

    async def test_a_database_that_refuses_is_503_with_a_sentence(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """A closed pool stands for a server that is gone; no traceback reaches whoever asks."""
        await database.pool.close()
        answer = await client.get("/health")
        assert answer.status_code == 503
        assert answer.json()["problem"] == "The database does not answer (InterfaceError)."

    async def test_a_schema_this_code_does_not_know_is_503(self, client: httpx.AsyncClient, database: Database) -> None:
        """After an upgrade elsewhere an old process is not healthy."""
        await database.pool.execute("UPDATE alembic_version SET version_num = '9999'")
        answer = await client.get("/health")
        assert answer.status_code == 503
        assert "9999" in answer.json()["problem"]


class TestMetrics:
    async def test_prometheus_finds_the_house(self, client: httpx.AsyncClient) -> None:
        """Process, loop lag, pool, and whatever other parts registered."""
        LOOP_LAG.observe(0)
        answer = await client.get("/metrics")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=")
        for name in (
            "process_resident_memory_bytes",
            "tidegate_loop_lag_seconds_count",
            "tidegate_database_connections_in_use 0.0",
            "tidegate_database_connections_limit 10.0",
        ):
            assert f"\n{name}" in answer.text

    async def test_a_busy_pool_shows(self, client: httpx.AsyncClient, database: Database) -> None:
        """In use counts connections that somebody holds."""
        async with database.pool.acquire():
            answer = await client.get("/metrics")
        assert "tidegate_database_connections_in_use 1.0" in answer.text


def problem(status: int, sentence: str) -> dict[str, object]:
    """A refusal as RFC 9457 has it."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": sentence}


class TestRefusals:
    async def test_an_unknown_path_is_a_sentence(self, client: httpx.AsyncClient) -> None:
        """JSON with a sentence, whatever was asked for."""
        answer = await client.get("/no/such/page")
        assert (answer.status_code, answer.json()) == (404, problem(404, "There is nothing at /no/such/page."))

    async def test_a_wrong_method_is_a_sentence(self, client: httpx.AsyncClient) -> None:
        """The path exists, the way of asking does not."""
        answer = await client.post("/health")
        assert (answer.status_code, answer.json()) == (405, problem(405, "/health cannot be asked with POST."))

    async def test_our_own_fault_shows_no_traceback(self, database: Database) -> None:
        """Whoever asks learns that it failed; the log has the rest."""
        app = make_app(database)

        @app.get("/broken")
        async def broken() -> None:
            raise ValueError("hunter2")

        async with answering(app) as client:
            answer = await client.get("/broken")
        assert answer.status_code == 500
        assert answer.json() == problem(500, "Something went wrong inside Tidegate; its log says what.")

    async def test_bad_input_is_a_sentence(self, database: Database) -> None:
        """A value of the wrong kind is named with its place."""
        app = make_app(database)

        @app.get("/page")
        async def page(number: int) -> int:
            return number

        async with answering(app) as client:
            answer = await client.get("/page", params={"number": "x"})
        assert answer.status_code == 422
        assert "query.number" in answer.json()["detail"]


class TestListening:
    def test_a_port_in_use_is_bad_input(self) -> None:
        """The sentence names the address and what to set, before anything is started."""
        with listen("127.0.0.1", 0) as taken, pytest.raises(BadInput, match=r"in use already.*TIDEGATE_WEB_PORT"):
            listen("127.0.0.1", taken.getsockname()[1])

    @pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "::2"])
    def test_an_address_of_another_machine_is_bad_input(self, host: str) -> None:
        """Neither another machine's address nor a name without one can be listened on."""
        with pytest.raises(BadInput, match="TIDEGATE_WEB_HOST"):
            listen(host, 0)

    def test_an_answer_is_sent_at_once(self) -> None:
        """Whoever connects gets small packets without delay: else each answer takes 40 ms longer."""
        with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
            taken, _ = listener.accept()
            with taken:
                assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    async def test_an_answer_under_way_may_finish(self, database: Database) -> None:
        """Ending the web server cuts off nobody who already asked."""
        app, asked, go = make_app(database), asyncio.Event(), asyncio.Event()

        @app.get("/slow")
        async def slow() -> str:
            asked.set()
            await go.wait()
            return "done"

        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        serving = asyncio.create_task(serve_web(app, listener))
        async with httpx.AsyncClient(**PLAIN) as client:
            asking = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/slow"))
            await asked.wait()
            serving.cancel()
            await asyncio.sleep(0)
            go.set()
            assert (await asking).json() == "done"
        await asyncio.wait([serving])

    async def test_an_answer_without_end_is_cut_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that hangs keeps the process for a few seconds, no longer."""
        monkeypatch.setattr(http_server, "_SECONDS_TO_FINISH", 0.1)
        app, asked = FastAPI(), asyncio.Event()

        @app.get("/endless")
        async def endless() -> None:
            asked.set()
            await asyncio.Event().wait()

        async with answering(app) as client:
            asking = asyncio.create_task(client.get("/endless"))
            await asked.wait()
        with pytest.raises(httpx.TransportError):
            await asking

    async def test_it_leaves_signals_to_whoever_started_it(self, database: Database) -> None:
        """`serve` hands accounts over at SIGTERM; the web server must not take the signal away."""
        before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
        async with answering(make_app(database)) as client:
            await client.get("/health")
            assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


class TestCommand:
    @pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
    def test_it_serves_until_told_to_end(self, told: signal.Signals, tmp_path: Path, test_folder: Path) -> None:
        """`tidegate web` says where it answers and how to sign in first, and ends in order at SIGTERM and Ctrl-C."""
        home = make_home(test_folder / f"web-{told.name}")
        variables = environment(home, TIDEGATE_WEB_PORT="0")
        with subprocess.Popen([TIDEGATE, "web"], cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True) as web:
            assert web.stderr is not None
            lines = iter(web.stderr.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            link = next(lines).rpartition(" ")[2].strip()
            assert link.startswith(f"{address}/sign-in?once=")
            assert httpx.get(f"{address}/health", **PLAIN).json()["status"] == "ok"
            assert "Choose a password" in httpx.get(link, **PLAIN).text
            web.send_signal(told)
            assert web.wait(timeout=PATIENCE) == 0
            assert web.stderr.read() == ""

    def test_a_port_in_use_starts_nothing(self, tmp_path: Path) -> None:
        """Exit code 2 with the sentence, and no database was made in the data folder."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = tidegate("web", home=tmp_path, TIDEGATE_WEB_PORT=str(taken.getsockname()[1]))
        assert done.returncode == 2
        assert "in use already" in done.stderr
        assert list(tmp_path.iterdir()) == []


async def test_an_address_without_news_ends_in_order() -> None:
    """The loopback's control address is served the same way and tells no news: it ends as it is told to."""
    async with answering(FastAPI()) as client:
        assert (await client.get("/nowhere")).status_code == HTTPStatus.NOT_FOUND
