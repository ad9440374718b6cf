"""``tidegate account set``: another name, and a proxy that is tried, sealed and never shown."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.account_commands import accounts
from tests.cli.channel_commands import add_account, control, told  # noqa: F401 - a fixture
from tests.cli.program import running, tidegate
from tests.platforms.relay_proxy import PASSWORD, USER, relay_proxy
from tests.waiting import until
from tidegate.database.pool import Database


async def test_an_account_is_renamed(home: Path, control: str) -> None:  # noqa: F811
    """It stays the same account; a name that is taken is refused and changes nothing."""
    await add_account(home, control)
    done = tidegate("account", "set", "reader", "--rename", "Ada", "--standing", "new", home=home)
    assert (done.returncode, 'now called "Ada"' in done.stderr) == (0, True), done.stderr
    [account] = accounts(home)
    assert (account["name"], account["standing"], account["id"]) == ("Ada", "new", 1)
    again = tidegate("account", "set", "Ada", "--rename", "Ada", home=home)
    assert (again.returncode, "choose another name" in again.stderr) == (2, True)
    assert tidegate("account", "set", "Ada", home=home).returncode == 2


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_is_tried_used_and_never_shown(
    home: Path,
    control: str,  # noqa: F811
    database: Database,
    scheme: str,
) -> None:
    """Calls go through it, only scheme, host and port are shown, and none is needed after it was removed."""
    await add_account(home, control)
    async with relay_proxy() as proxy:
        url = proxy.url_as(scheme)
        set_ = await asyncio.to_thread(tidegate, "account", "set", "reader", "--proxy", "-", home=home, say=f"{url}\n")
        assert set_.returncode == 0, set_.stderr
        assert len(proxy.places) == 1, "it was tried"
        await asyncio.to_thread(told, home, "channel", "sync", "reader")
        assert len(proxy.places) > 1, "it was used"
        used = len(proxy.places)
        [account] = await asyncio.to_thread(accounts, home)
        assert account["proxy"] == f"{scheme}://127.0.0.1:{proxy.port}"
        shown = [set_.stdout, set_.stderr]
        for command in (["account", "show", "reader"], ["feed"], ["status"]):
            done = await asyncio.to_thread(tidegate, *command, home=home)
            shown += [done.stdout, done.stderr]
        assert not any(PASSWORD in text or quote(PASSWORD) in text for text in shown)
        sealed = await database.pool.fetchval("SELECT sealed FROM secrets WHERE name = 'proxy'")
        assert PASSWORD.encode() not in sealed
        removed = await asyncio.to_thread(tidegate, "account", "set", "reader", "--proxy", "none", home=home)
        assert removed.returncode == 0
        await asyncio.to_thread(told, home, "channel", "sync", "reader")
        assert len(proxy.places) == used, "it is not used any more"


async def test_a_name_that_is_refused_leaves_the_proxy_as_it_was(home: Path, control: str) -> None:  # noqa: F811
    """bad-input-gets-a-sentence: one command, and all of it or nothing."""
    await add_account(home, control)
    async with relay_proxy() as proxy:
        for name in ("reader", " ", "two\nlines"):
            change = ("account", "set", "reader", "--proxy", proxy.url, "--rename", name)
            done = await asyncio.to_thread(tidegate, *change, home=home)
            assert done.returncode == 2, done.stderr
        assert proxy.places == []
    [account] = await asyncio.to_thread(accounts, home)
    assert account["proxy"] is None


async def test_a_running_worker_connects_through_a_new_proxy(home: Path, control: str) -> None:  # noqa: F811
    """Without a restart: it hangs up and connects again."""
    await add_account(home, control)
    async with relay_proxy() as proxy, running("worker", home=home):
        await until(lambda: asyncio.to_thread(_is_served, home))
        url = f"http://{USER}:{quote(PASSWORD)}@127.0.0.1:{proxy.port}"
        await asyncio.to_thread(tidegate, "account", "set", "reader", "--proxy", url, home=home)
        await until(lambda: len(proxy.places) > 1)


def _is_served(home: Path) -> bool:
    return accounts(home)[0]["served_by"] is not None


async def test_a_proxy_that_does_not_work_changes_nothing(home: Path, control: str) -> None:  # noqa: F811
    """bad-input-gets-a-sentence: a wrong password, nobody there, a kind that cannot be used; no secret is repeated."""
    await add_account(home, control)
    async with relay_proxy() as proxy:
        for url, sentence in [
            (proxy.url_as("http", "wrong-secret"), "user name or password"),
            (proxy.url_as("socks5", "wrong-secret"), "user name or password"),
            ("socks5://who:wrong-secret@127.0.0.1:1", "does not lead to"),
            ("ftp://who:wrong-secret@127.0.0.1:1", "one of socks5, http"),
            ("http://who:wrong-secret@127.0.0.1", "a host and a port"),
            ("http://who:wrong-secret@[::1:99999", "not the address"),
        ]:
            done = await asyncio.to_thread(tidegate, "account", "set", "reader", "--proxy", url, home=home)
            assert (done.returncode, sentence in done.stderr) == (2, True), (url, done.stderr)
            assert "wrong-secret" not in done.stdout + done.stderr
    [account] = await asyncio.to_thread(accounts, home)
    assert account["proxy"] is None
