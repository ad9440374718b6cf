"""The child process: it may die at any moment, and it never outlives its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.conftest import Opens
from tests.platforms.whatsapp.sent_messages import say, until_back
from tests.waiting import PATIENCE, until
from tidegate.core.errors import NotSent, OutcomeUnknown
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.loopback.whatsapp.world import Group
from tidegate.platforms.whatsapp.client import WhatsAppAccount
from tidegate.platforms.whatsapp.connector import DEVICE


def strike(client: WhatsAppAccount, number: signal.Signals) -> int:
    pid = client.pid
    assert pid is not None
    os.kill(pid, number)
    return pid


def is_gone(pid: int) -> bool:
    """Whether no such process runs any more; one that only waits to be buried counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class TestDeath:
    async def test_in_the_middle_of_a_send(self, world: World, shops: Group, client: WhatsAppAccount) -> None:
        """D-20: killed after WhatsApp took the message and before it said so: unknown, one delivery; life goes on."""
        world.faults.add(Fault(FaultKind.TIMEOUT, "SendMessage", seconds=60, code="accepted"))
        sending = asyncio.create_task(say(client, shops, "once"))
        await until(lambda: shops.messages)
        dead = strike(client, signal.SIGKILL)
        with pytest.raises(OutcomeUnknown):
            await sending
        await until_back(client, shops)
        assert [message.text for message in shops.messages] == ["once", "back"]
        assert client.pid not in (None, dead)

    async def test_one_that_connects_and_dies_is_started_ever_more_rarely(
        self, shops: Group, client: WhatsAppAccount
    ) -> None:
        """Connecting over and over gets a number banned: that it was let in does not make the next start sooner."""
        told: list[str | None] = []
        client.connection_changed = told.append
        with capture_logs() as lines:
            for _ in range(2):
                strike(client, signal.SIGKILL)
                await until_back(client, shops)
        assert [one is None for one in told] == [False, True, False, True]
        assert [line["next_try_in"] for line in lines if line["event"] == "whatsapp.process_died"] == [
            "0:00:01",
            "0:00:02",
        ]

    async def test_the_next_one_is_told_of_the_groups(
        self, world: World, shops: Group, client: WhatsAppAccount, noted: list[str]
    ) -> None:
        """D-27, calls-through-a-lane: one call for all groups, counted, and none for each before its next send."""
        strike(client, signal.SIGKILL)
        await until_back(client, shops)
        counted = world.record.by_method()
        assert (counted["GetJoinedGroups"], counted["GetGroupInfo"]) == (2, 0)
        assert noted == ["connect", "GetJoinedGroups"] * 2

    async def test_before_it_began(self, shops: Group, client: WhatsAppAccount) -> None:
        """A child that dies without having begun has sent nothing, and that is known: the send may be tried again."""
        strike(client, signal.SIGSTOP)
        sending = asyncio.create_task(say(client, shops))
        await asyncio.sleep(0)  # the frame is in the pipe
        strike(client, signal.SIGKILL)
        with pytest.raises(NotSent):
            await sending
        assert shops.messages == []

    async def test_a_child_that_was_frozen_sends_nothing_late(self, shops: Group, opens: Opens) -> None:
        """claim-before-send: what reaches the library too late is not sent, for the pace has moved on."""
        client = await opens(hand_on_within=timedelta(microseconds=1))
        await client.channels(None)
        strike(client, signal.SIGSTOP)
        sending = asyncio.create_task(say(client, shops))
        await asyncio.sleep(0)  # the frame is in the pipe, and its time is over before anybody can read it
        strike(client, signal.SIGCONT)
        with pytest.raises(NotSent):
            await sending
        await client.channels(None)
        assert shops.messages == []

    async def test_closing_ends_it(self, shops: Group, client: WhatsAppAccount) -> None:
        """Whoever closes an account may be followed by another owner at once."""
        pid = client.pid
        assert pid is not None
        await client.close()
        assert is_gone(pid)
        with pytest.raises(NotSent):
            await say(client, shops)


@asynccontextmanager
async def parent(whatsapp: WhatsAppServer, drawer: Drawer, silent_after: float) -> AsyncIterator[tuple[int, int]]:
    """A parent in a process of its own, and its child."""
    args = (whatsapp.address, drawer.kept[DEVICE].decode(), str(silent_after))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.platforms.whatsapp.parent", *args, stdout=PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not (line := await process.stdout.readline()).startswith(b"child "):
                assert line, "the parent ended"
        yield process.pid, int(line.split()[1])
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class TestParents:
    async def test_a_parent_that_is_killed_takes_its_child_along(
        self, whatsapp: WhatsAppServer, drawer: Drawer
    ) -> None:
        """one-owner-per-account: the next owner must not meet the old connection."""
        async with parent(whatsapp, drawer, silent_after=600) as (pid, child):
            assert not is_gone(child)
            os.kill(pid, signal.SIGKILL)
            await until(lambda: is_gone(child))

    async def test_a_parent_that_falls_silent_loses_its_child(self, whatsapp: WhatsAppServer, drawer: Drawer) -> None:
        """A frozen worker cannot close anything, so its child does so itself before others take the account.

        Invariant: one-owner-per-account.
        """
        async with parent(whatsapp, drawer, silent_after=2) as (pid, child):
            os.kill(pid, signal.SIGSTOP)
            await until(lambda: is_gone(child))
            assert not is_gone(pid)
