"""Connections of web clients: how many there may be, and how long a client may take. Time is held."""

from __future__ import annotations

import asyncio
import io
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from prometheus_client import REGISTRY

from tests.held import NOON
from tests.waiting import PATIENCE, until
from tidegate.app import logs
from tidegate.core.clock import HeldClock
from tidegate.web import listen, serve_web
from tidegate.web.server.client_connections import ConnectionLimits
from tidegate.web.server.error_responses import explain
from tidegate.web.server.http_protocol import LONGEST_HEAD

MOST = 20
LIMITS = ConnectionLimits(most=MOST, head_for=timedelta(seconds=10), stall_for=timedelta(seconds=30))
SMALL = b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n"
LATE = b"HTTP/1.1 408 Request Timeout\r\n"
LARGE = 64 << 20  # more than any kernel keeps for a connection


@dataclass
class Site:
    """A server with a held clock, and what its application was asked."""

    clock: HeldClock
    port: int
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    bodies: list[int] = field(default_factory=list)
    sockets: list[socket.socket] = field(default_factory=list)

    async def connect(self, *, own: str = "127.0.0.1", room: int | None = None) -> Peer:
        """A client at the address *own*, whose kernel takes *room* bytes before the client reads them."""
        sock = socket.socket()
        self.sockets.append(sock)
        if room is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        sock.bind((own, 0))
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        return Peer(sock)

    async def pass_(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.clock.advance(timedelta(seconds=1))


@dataclass
class Peer:
    """A client that does exactly what it is told."""

    sock: socket.socket

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def read(self, most: int = 65_536) -> bytes:
        """What comes next; nothing when the server has ended the connection."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.get_running_loop().sock_recv(self.sock, most)
        except ConnectionResetError:
            return b""

    async def answer(self, asked: bytes = SMALL) -> bytes:
        await self.send(asked)
        return await self.read()

    def is_open(self) -> bool:
        """Whether the server has left the connection open, and said nothing."""
        try:
            return self.sock.recv(1, socket.MSG_PEEK) == b"impossible"
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(LIMITS) as opened:
        yield opened


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[Site]:
    app, clock = FastAPI(), HeldClock(NOON)
    explain(app)
    app.state.connection_limits = limits
    listener = listen("127.0.0.1", 0)
    site = Site(clock, listener.getsockname()[1])

    @app.get("/small")
    async def small() -> Response:
        return Response("small")

    @app.get("/large")
    async def large() -> Response:
        return Response(b"x" * LARGE)

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(LARGE >> 20):
                yield b"x" * (1 << 20)

        return StreamingResponse(pieces())

    @app.get("/later")
    async def later() -> Response:
        await site.go_on.wait()
        return Response("later")

    @app.post("/body")
    async def body(request: Request) -> Response:
        site.bodies.append(len(await request.body()))
        return Response("heard")

    @app.post("/body-later")
    async def body_later(request: Request) -> Response:
        await site.go_on.wait()
        return await body(request)

    @app.post("/refused")
    async def refused() -> Response:
        return Response("no", status_code=403)

    serving = asyncio.create_task(serve_web(app, listener, clock))
    try:
        yield site
    finally:
        for sock in site.sockets:
            sock.close()
        serving.cancel()
        await asyncio.wait([serving])


def ended(why: str) -> float:
    """How many connections this process has ended for that reason so far."""
    return REGISTRY.get_sample_value("tidegate_web_connections_ended_total", {"why": why}) or 0.0


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open nothing meanwhile; what is open stays so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def all_gone(peers: Iterable[Peer]) -> None:
    await until(lambda: not any(peer.is_open() for peer in peers))


class TestHeads:
    @pytest.mark.parametrize("sent", [b"", b"G", b"GET /small HTTP/1.1\r\nHost: x\r\n"])
    async def test_a_head_that_does_not_come_ends_the_connection(self, site: Site, sent: bytes) -> None:
        """Ten seconds after connecting, with a word for whoever listens; not before."""
        peer = await site.connect()
        await peer.send(sent)
        await site.pass_(9)
        assert peer.is_open()
        await site.pass_(3)
        assert (await peer.read()).startswith(LATE)
        assert await peer.read() == b""

    async def test_a_trickle_wins_no_time(self, site: Site) -> None:
        """A byte every second is as slow as nothing."""
        peer = await site.connect()
        await peer.send(b"GET /small HTTP/1.1\r\nX-Long: ")
        for _ in range(12):
            await peer.send(b"x")
            await site.pass_(1)
        assert (await peer.read()).startswith(LATE)

    async def test_the_next_request_of_a_connection_has_the_same_time(self, site: Site) -> None:
        """A client that asked once and then sends half a head is not let off: its first byte starts the time."""
        peer = await site.connect()
        assert b"small" in await peer.answer()
        for letter in b"GET /small":
            await peer.send(bytes([letter]))
            await site.pass_(1)
        assert peer.is_open()
        await site.pass_(2)
        assert (await peer.read()).startswith(LATE)

    @pytest.mark.parametrize("line", ["X-Long: " + "x" * LONGEST_HEAD, "\r\n".join(["a: b"] * LONGEST_HEAD)])
    async def test_a_head_has_a_length(self, site: Site, line: str) -> None:
        """Refused before it is whole, and others are served meanwhile."""
        peer = await site.connect()
        await peer.send(f"GET /small HTTP/1.1\r\nHost: x\r\n{line}".encode())
        assert (await peer.read()).startswith(b"HTTP/1.1 400 ")
        assert b"small" in await (await site.connect()).answer()


class TestBodies:
    HEAD = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"

    async def test_a_body_that_stops_ends_the_connection(self, site: Site) -> None:
        """Thirty seconds without a byte are too long."""
        peer = await site.connect()
        await peer.send(self.HEAD + b"x" * 5_000)
        await site.pass_(29)
        assert peer.is_open()
        await site.pass_(3)
        assert (await peer.read()).startswith(LATE)
        assert site.bodies == []

    async def test_a_trickle_is_no_body(self, site: Site) -> None:
        """A byte now and then does not hold a connection for as long as the client likes."""
        peer, lasted = await site.connect(), 0
        await peer.send(self.HEAD)
        while peer.is_open():
            await peer.send(b"x")
            await site.pass_(1)
            lasted += 1
            assert lasted < 60
        assert (await peer.read()).startswith(LATE)

    async def test_a_slow_line_has_its_time(self, site: Site) -> None:
        """Eight kilobytes a second for two minutes are slow and in order."""
        peer = await site.connect()
        await peer.send(self.HEAD)
        for _ in range(124):
            await peer.send(b"x" * 8_000)
            await site.pass_(1)
        await peer.send(b"x" * 8_000)
        assert b"heard" in await peer.read()
        assert site.bodies == [1_000_000]

    async def test_a_client_is_not_blamed_for_the_server(self, site: Site) -> None:
        """While the application is busy with something else, nothing more is taken from the client."""
        peer = await site.connect()
        await peer.send(self.HEAD.replace(b"/body", b"/body-later") + b"x" * 400_000)
        await site.pass_(100)
        assert peer.is_open()
        site.go_on.set()
        await peer.send(b"x" * 600_000)
        assert b"heard" in await peer.read()

    async def test_a_body_goes_on_for_a_moment_after_its_answer(self, site: Site) -> None:
        """Whoever is refused and sends on, however fast, is cut off."""
        peer = await site.connect()
        await peer.send(self.HEAD.replace(b"/body", b"/refused"))
        assert b"403" in await peer.read()
        for _ in range(4):
            await peer.send(b"x" * 10_000)
            await site.pass_(1)
        assert peer.is_open()
        await site.pass_(3)
        assert await peer.read() == b""


class TestNoise:
    CHUNKED = b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    @pytest.mark.parametrize("path", [b"/body", b"/refused", b"/body-later"])
    @pytest.mark.parametrize("rest", [None, b"no number\r\n"])
    async def test_half_a_body_is_no_fault_of_ours(
        self, site: Site, path: bytes, rest: bytes | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whoever goes away in the middle, or sends what is no body, fills no log with tracebacks."""
        peer = await site.connect()
        await peer.send(b"POST " + path + self.CHUNKED)
        await site.pass_(1)
        if rest is None:
            peer.sock.close()
        else:
            await peer.send(rest)
            while await peer.read():
                pass
        site.go_on.set()
        assert b"small" in await (await site.connect()).answer()
        await site.pass_(1)
        assert [line.message for line in caplog.records if line.levelname == "ERROR"] == []

    async def test_what_is_sent_ahead_breaks_nothing_before_it(self, site: Site) -> None:
        """Bytes after a request that are none are refused after its answer."""
        peer = await site.connect()
        await peer.send(SMALL.replace(b"/small", b"/later") + b"\x00\r\n\r\n")
        await site.pass_(1)
        site.go_on.set()
        told = b""
        while piece := await peer.read():
            told += piece
        assert (b"later" in told, told.count(b"HTTP/1.1 400")) == (True, 1)


class TestAnswers:
    @pytest.mark.parametrize("path", [b"/large", b"/stream"])
    async def test_an_answer_nobody_takes_ends_the_connection(self, site: Site, path: bytes) -> None:
        """Whether it was made at once or piece by piece; what it held is let go."""
        before, peer = ended("answer"), await site.connect(room=4_096)
        await peer.send(SMALL.replace(b"/small", path))
        await peer.read(1)
        await site.pass_(29)
        assert ended("answer") == before
        await site.pass_(10)  # after what the kernel took at first
        assert ended("answer") == before + 1
        while await peer.read():
            pass

    async def test_a_client_that_takes_little_by_little_is_too_slow(self, site: Site) -> None:
        """A thousand bytes a second would take an answer for hours."""
        before, peer, lasted = ended("answer"), await site.connect(room=4_096), 0
        await peer.send(SMALL.replace(b"/small", b"/large"))
        while ended("answer") == before:
            await peer.read(1_000)
            await site.pass_(1)
            lasted += 1
            assert lasted < 90

    async def test_a_last_piece_nobody_takes_ends_the_connection_too(self, site: Site) -> None:
        """An answer that the application has finished with can still be under way."""
        before = ended("answer")
        peers = [await site.connect(room=4_096) for _ in range(3)]
        for peer in peers:
            await peer.send(SMALL.replace(b"/small", b"/large").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            await peer.read(1)
        await site.pass_(39)
        assert ended("answer") == before + 3

    async def test_who_reads_has_it_all(self, site: Site) -> None:
        """However long the application took, and also when a minute lies between two pieces it was ready to take."""
        peer = await site.connect()
        await peer.send(SMALL.replace(b"/small", b"/later"))
        await site.pass_(100)
        site.go_on.set()
        assert (await peer.read()).endswith(b"later")
        peer = await site.connect()
        await peer.send(SMALL.replace(b"/small", b"/stream"))
        taken = 0
        while taken < LARGE:
            taken += len(await peer.read(1 << 20))


class TestRoom:
    async def test_half_open_connections_lock_nobody_out(self, site: Site) -> None:
        """Those that have waited longest go; whoever asks is answered, also while the attack goes on."""
        before = ended("no_room")
        half_open = [await site.connect() for _ in range(MOST)]
        for _ in range(5):
            assert b"small" in await (await site.connect()).answer()
            half_open += [await site.connect() for _ in range(MOST)]
        await all_gone(half_open[:-MOST])
        assert ended("no_room") - before >= 5 * MOST

    async def test_an_address_with_many_makes_room_for_one_with_few(self, site: Site) -> None:
        """However late it comes, and although the few have waited longest."""
        few = [await site.connect(own="127.0.0.2") for _ in range(3)]
        many = [await site.connect(own="127.0.0.3") for _ in range(4 * MOST)]
        await all_gone(many[: 3 * MOST])
        assert all(peer.is_open() for peer in few)

    async def test_work_under_way_is_not_ended(self, site: Site) -> None:
        """A client that waits for its answer keeps its connection; without any that waits for nothing, new ones go."""
        asked = [await site.connect() for _ in range(MOST)]
        for peer in asked:
            await peer.send(SMALL.replace(b"/small", b"/later"))
        await site.pass_(1)
        late = await site.connect()
        await all_gone([late])
        assert all(peer.is_open() for peer in asked)
        site.go_on.set()
        for peer in asked:
            assert (await peer.read()).endswith(b"later")
        assert b"small" in await (await site.connect()).answer()

    async def test_idle_connections_are_nobodys_for_long(self, site: Site) -> None:
        """Whoever asked once and keeps the connection for nothing makes room as well."""
        hoarded = [await site.connect() for _ in range(MOST)]
        for peer in hoarded:
            assert b"small" in await peer.answer()
        assert b"small" in await (await site.connect()).answer()
        await all_gone(hoarded[:1])

    async def test_an_upload_under_way_outlives_the_half_open(self, site: Site) -> None:
        """It is older than they are, and moves on."""
        upload = await site.connect()
        await upload.send(TestBodies.HEAD)
        for _ in range(10):
            half_open = [await site.connect() for _ in range(MOST - 5)]
            await upload.send(b"x" * 50_000)
            await site.pass_(1)
        assert half_open
        await upload.send(b"x" * 500_000)
        assert b"heard" in await upload.read()

    async def test_the_worker_keeps_its_share_of_open_files(self) -> None:
        """Whatever is set: what the process uses elsewhere comes off, and a quarter of all stays free."""
        async with serving(ConnectionLimits(most=1_000_000)) as site:
            pipes = [end for _ in range(20) for end in os.pipe()]
            try:
                await site.pass_(1)
                limit = REGISTRY.get_sample_value("tidegate_web_connections_limit")
            finally:
                for end in pipes:
                    os.close(end)
            await site.pass_(1)
            assert REGISTRY.get_sample_value("tidegate_web_connections_limit") == limit + len(pipes)

    @pytest.mark.usefixtures("own_logging")
    async def test_without_a_file_left_it_says_so_once_and_waits(self, site: Site) -> None:
        """A connection that cannot be taken is taken later; meanwhile neither a core nor a log is filled."""
        logs.set_up(stream=(stream := io.StringIO()))
        first = await site.connect()
        assert b"small" in await first.answer()
        late = [socket.socket() for _ in range(3)]
        site.sockets += late
        with no_more_files():
            for sock in late:
                sock.setblocking(False)
                await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", site.port))
            await until(lambda: "Too many open files" in stream.getvalue())
            assert b"small" in await first.answer()
        for sock in late:
            assert b"small" in await Peer(sock).answer()
        assert stream.getvalue().count("out of system resource") == 1

    @pytest.mark.parametrize("asked", [2, 5_000])
    async def test_requests_sent_ahead_take_turns(self, site: Site, asked: int) -> None:
        """Each is answered before the next is looked at, and others are served in between."""
        peer = await site.connect()
        sending = asyncio.create_task(peer.send(SMALL * asked))
        assert b"small" in await (await site.connect()).answer()
        answered = 0
        while answered < asked:
            answered += (await peer.read()).count(b"\r\n\r\nsmall")
        await sending
