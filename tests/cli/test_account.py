"""``tidegate account``, ``worker``, ``serve`` and ``loopback`` as an operator uses them."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

from tests.cli.account_commands import accounts, add_whatsapp, ask, control, line
from tests.cli.program import running, tidegate
from tests.servers import free_port
from tests.waiting import until

__all__ = ["control"]  # a fixture


async def test_an_account_is_added_served_paused_handed_over_and_removed(home: Path, control: str) -> None:
    """The first day of an operator."""
    await add_whatsapp(home, control)
    row = accounts(home)[0]
    assert {"id", "name", "platform", "state", "next_action", "served_by", "pace", "paused_until"} <= set(row)
    assert (row["served_by"], row["pace"]) == (None, "12 a minute")

    async with running("worker", home=home, TIDEGATE_WORKER_NAME="anna") as anna:
        await until(lambda: accounts(home)[0]["served_by"] == "anna")
        paused = tidegate("account", "pause", "shop", home=home)
        assert "anna has been notified" in paused.stderr
        assert accounts(home)[0]["next_action"] == "resume it with: tidegate account resume shop"
        assert tidegate("account", "resume", "shop", home=home).returncode == 0
        async with running("worker", home=home, TIDEGATE_WORKER_NAME="ben"):
            anna.send_signal(signal.SIGKILL)
            await until(lambda: accounts(home)[0]["served_by"] == "ben")

    assert tidegate("account", "remove", "shop", "--yes", home=home).returncode == 0
    assert accounts(home) == []
    kinds = [json.loads(event)["kind"] for event in tidegate("feed", "--json", home=home).stdout.splitlines()]
    assert kinds[0] == "account.added"
    assert kinds[-1] == "account.removed"
    assert "worker.died" in kinds


async def test_bad_input_changes_nothing_and_says_what_to_do(home: Path, control: str) -> None:
    """bad-input-gets-a-sentence: exit code 2 and a sentence, or 1 where the work cannot be done."""
    for arguments, code, sentence in [
        (("add", "telegram", "shop"), 1, "my.telegram.org"),
        (("add", "whatsapp", "shop", "--loopback", control, "--phone", "0812 3456"), 2, "country code"),
        (("add", "telegram", "shop", "--loopback", control, "--phone", "+62812"), 2, "--phone is for WhatsApp"),
        (("add", "telegram", "shop", "--loopback", control), 2, "Standard input ended"),
        (("add", "telegram", "shop", "--loopback", "http://127.0.0.1:1"), 2, "No loopback platform answers"),
        (("add", "telegram", "shop", "--loopback", "http://example.com"), 2, "no loopback platform"),
        (("add", "signal", "shop", "--loopback", control), 2, "signal"),
        (("add", "telegram", " ", "--loopback", control), 2, "needs a name"),
        (("show", "nobody"), 2, 'no account named "nobody"'),
        (("pause", "nobody"), 2, "Accounts: none yet"),
        (("remove", "nobody", "--yes"), 2, "no account"),
    ]:
        answer = tidegate("account", *arguments, home=home)
        assert (answer.returncode, sentence in answer.stderr) == (code, True), (arguments, answer.stderr)
        assert "Traceback" not in answer.stderr
        assert answer.stdout == ""
    assert accounts(home) == []


async def test_a_name_is_taken_once(home: Path, control: str) -> None:
    """The second account of a name is refused, the first stays as it is."""
    await add_whatsapp(home, control)
    again = tidegate("account", "add", "telegram", "shop", "--loopback", control, home=home)
    assert again.returncode == 2
    assert "already" in again.stderr
    assert [row["platform"] for row in accounts(home)] == ["whatsapp"]


async def test_serve_answers_on_the_web_and_is_alone_in_its_folder(empty_home: Path, control: str) -> None:
    """From an empty folder, worker and web in one process; a second one in the same folder is a slip and is told so."""
    await add_whatsapp(empty_home, control)
    port = str(free_port())
    async with running("serve", home=empty_home, TIDEGATE_WEB_PORT=port) as served:
        await line(served.stderr)
        await until(lambda: accounts(empty_home)[0]["served_by"] is not None)
        health = await asyncio.to_thread(ask, f"http://127.0.0.1:{port}/health")
        assert (health["status"], health["workers"], health["accounts"]) == ("ok", 1, 1)
        second = tidegate("serve", home=empty_home, TIDEGATE_WEB_PORT=str(free_port()))
        assert second.returncode == 1
        assert "Another tidegate serve runs in the data folder" in second.stderr
        assert served.returncode is None
    assert served.returncode == 0
    assert accounts(empty_home)[0]["served_by"] is None


async def test_a_worker_alone_answers_for_itself_when_told_where(home: Path) -> None:
    """Its counters live in its own process, so that is where they are read."""
    port = str(free_port())
    async with running("worker", home=home, TIDEGATE_WORKER_PORT=port) as worker:
        assert f"http://127.0.0.1:{port}" in await line(worker.stderr)
        health = await asyncio.to_thread(ask, f"http://127.0.0.1:{port}/health")
        assert health["status"] == "ok"


async def test_serve_on_a_port_in_use_starts_nothing(empty_home: Path, control: str) -> None:
    """A sentence before anything is started."""
    taken = control.rpartition(":")[2]
    refused = tidegate("serve", home=empty_home, TIDEGATE_WEB_PORT=taken)
    assert refused.returncode == 2
    assert taken in refused.stderr
    assert not (empty_home / "postgresql").exists()


async def test_a_worker_without_its_key_says_so(home: Path, control: str) -> None:
    """A key that cannot be read stops the worker with a sentence before it serves anybody."""
    await add_whatsapp(home, control)
    wrong = tidegate("worker", home=home, TIDEGATE_KEY="not a key")
    assert wrong.returncode != 0
    assert "Traceback" not in wrong.stderr
    assert "not a key" not in wrong.stderr
