"""The pages on a Unix socket: who may reach it, what is left alone at its path, and who is believed there."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.program import TIDEGATE, environment, tidegate
from tests.servers import make_home
from tests.users import as_root
from tests.waiting import PATIENCE
from tests.web.visiting import loaded
from tests.web.web_client import PLAIN
from tidegate.access.queries import sign_in_links
from tidegate.core.errors import BadInput
from tidegate.database.pool import Database
from tidegate.web import listening, make_app, serve_web

URL = "https://gate.example"


def socket_in(folder: Path) -> dict[str, str]:
    return {"TIDEGATE_WEB_SOCKET": str(folder / "web.sock"), "TIDEGATE_WEB_URL": URL}


def take(folder: Path) -> None:
    """Listen in *folder*, for a moment."""
    with listening(loaded(**socket_in(folder)).settings):
        pass


@asynccontextmanager
async def visiting(database: Database, folder: Path, **variables: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client on the other side of the socket, as a proxy is."""
    known = loaded(**socket_in(folder), **variables)
    with listening(known.settings) as listener:
        serving = asyncio.create_task(serve_web(make_app(database, known), listener))
        try:
            transport = httpx.AsyncHTTPTransport(uds=str(folder / "web.sock"))
            async with httpx.AsyncClient(transport=transport, base_url="http://gate.example", **PLAIN) as client:
                yield client
        finally:
            serving.cancel()
            await asyncio.wait([serving])


class TestListening:
    async def test_the_pages_are_there(self, database: Database, tmp_path: Path) -> None:
        """For the user and the group of the process, and for nobody else; at the end the socket is gone."""
        async with visiting(database, tmp_path) as client:
            assert stat.S_IMODE((tmp_path / "web.sock").stat().st_mode) == 0o660
            assert (await client.get("/health")).json()["status"] == "ok"
            assert (await client.get("/sign-in")).status_code == 200
            assert (await client.get("/sign-in", headers={"host": "evil.example"})).status_code == 421
        assert not (tmp_path / "web.sock").exists()
        assert stat.S_IMODE((tmp_path / "web.sock.lock").stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        ("variables", "client"),
        [
            ({}, "unix"),
            ({"TIDEGATE_WEB_PROXIES": "127.0.0.1"}, "unix"),
            ({"TIDEGATE_WEB_PROXIES": "unix"}, "192.0.2.1"),
        ],
    )
    async def test_who_is_on_the_socket_is_believed_when_named(
        self, database: Database, tmp_path: Path, variables: dict[str, str], client: str
    ) -> None:
        """Members of the group could else be anybody."""
        async with visiting(database, tmp_path, **variables) as opened:
            async with database.transaction() as connection:
                link = await sign_in_links.make_link(connection)
            headers = {"x-forwarded-for": "203.0.113.9, 192.0.2.1"}
            answer = await opened.post("/sign-in/once", data={"once": link}, headers=headers)
            assert answer.status_code == 303
        told = await database.pool.fetchval("SELECT data FROM events WHERE kind = 'sign_in.begun'")
        assert told == {"client": client}

    def test_what_a_killed_process_left_is_removed(self, tmp_path: Path) -> None:
        """Nobody listens there any more, so the next start takes the place."""
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(tmp_path / "web.sock"))
        with listening(loaded(**socket_in(tmp_path)).settings) as listener:
            assert listener.getsockname() == str(tmp_path / "web.sock")

    def test_what_is_no_socket_is_left_alone(self, tmp_path: Path) -> None:
        """A path mistyped costs nobody a file, a folder, or what a link leads to."""
        path, kept = tmp_path / "web.sock", tmp_path / "kept"
        kept.write_text("precious")
        for make in (lambda: path.write_text("precious"), path.mkdir, lambda: path.symlink_to(kept)):
            make()
            with pytest.raises(BadInput, match="exists and is no socket, so it is left alone"):
                take(tmp_path)
            assert path.exists()
            path.rmdir() if path.is_dir() else path.unlink()
        assert kept.read_text() == "precious"

    def test_a_socket_in_use_is_left_alone(self, tmp_path: Path) -> None:
        """Of another program, or of another Tidegate."""
        with socket.socket(socket.AF_UNIX) as taken:
            taken.bind(str(tmp_path / "web.sock"))
            taken.listen(1)
            with pytest.raises(BadInput, match="Another program listens at"):
                take(tmp_path)
            assert (tmp_path / "web.sock").is_socket()
        other = make_home(tmp_path / "other")
        with (
            listening(loaded(**socket_in(other)).settings),
            pytest.raises(BadInput, match="Another program listens at"),
        ):
            take(other)

    @pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o772])
    def test_a_folder_that_others_may_write_to_is_refused(self, tmp_path: Path, mode: int) -> None:
        """Whoever may put a socket of their own there is told the passwords."""
        folder = tmp_path / "open"
        folder.mkdir()
        folder.chmod(mode)
        with pytest.raises(BadInput, match=f"the folder {folder} belongs to user {os.geteuid()} with mode {mode:04o}"):
            take(folder)
        folder.chmod(0o755)
        (folder / "below").mkdir(mode=0o755)
        folder.chmod(mode)
        if not mode & stat.S_ISVTX:  # there nobody can move a folder of ours away
            with pytest.raises(BadInput, match=f"the folder {folder} belongs"):
                take(folder / "below")

    @as_root
    def test_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        """It is that user's to put things there."""
        folder = tmp_path / "theirs"
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        with pytest.raises(BadInput, match="belongs to user 65534"):
            take(folder)

    def test_a_folder_that_is_not_there_or_a_path_too_long_is_a_sentence(self, tmp_path: Path) -> None:
        """Before anything is started."""
        with pytest.raises(BadInput, match="cannot be used: No such file or directory"):
            take(tmp_path / "nowhere")
        with pytest.raises(BadInput, match="is longer than 107 bytes"):
            take(tmp_path / ("x" * 100))


class TestCommand:
    def test_it_says_where_people_find_it_and_survives_a_kill(self, test_folder: Path) -> None:
        """The link has the address of the proxy; killed in any way, the next start takes the socket again."""
        home = make_home(test_folder / "web-socket")
        variables = environment(home, **socket_in(home))
        for end in (signal.SIGKILL, signal.SIGTERM):
            with subprocess.Popen([TIDEGATE, "web"], cwd=home, env=variables, stderr=subprocess.PIPE, text=True) as web:
                assert web.stderr is not None
                said = [web.stderr.readline(), web.stderr.readline()]
                assert said[0] == f"The pages are on {URL}; Ctrl-C ends it.\n"
                assert f" {URL}/sign-in?once=" in said[1]
                transport = httpx.HTTPTransport(uds=str(home / "web.sock"))
                with httpx.Client(transport=transport, **PLAIN) as client:
                    assert client.get("http://gate.example/health").json()["status"] == "ok"
                web.send_signal(end)
                web.wait(timeout=PATIENCE)
            assert (home / "web.sock").exists() == (end is signal.SIGKILL)

    @pytest.mark.parametrize("command", [("web",), ("serve",), ("web", "--sign-in-link")])
    def test_without_an_address_for_people_nothing_starts(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        """Exit code 2: a link that leads nowhere helps nobody."""
        done = tidegate(*command, home=tmp_path, TIDEGATE_WEB_SOCKET=str(tmp_path / "web.sock"))
        assert (done.returncode, done.stdout) == (2, "")
        assert "Set web_url (TIDEGATE_WEB_URL)" in done.stderr
        assert not (tmp_path / "postgresql").exists()
