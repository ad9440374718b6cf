"""What a worker does with its accounts, and what people can tell it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.conftest import Engine
from tidegate.engine.asking import ask_owner
from tidegate.engine.serving import Serving
from tidegate.errors import Banned, NotOurs, SignedOut, TidegateError
from tidegate.lanes import Lane
from tidegate.port import Client, NoteConnect, Vault
from tidegate.store import accounts, commands
from tidegate.words import Account, AccountState, Claim

SOON = timedelta(seconds=15)


async def change(engine: Engine, name: str, state: AccountState) -> None:
    """What ``tidegate account pause`` and ``resume`` do."""
    found = await engine.find(name)
    async with engine.database.transaction() as connection:
        await accounts.change_state(connection, found.account.id, state, expected=list(AccountState))
    answer = await ask_owner(engine.database, found.account.id, "look_again", {}, within=SOON)
    assert answer is not None
    assert answer.state == "done"


async def test_a_paused_account_makes_no_call_until_it_is_resumed(engine: Engine) -> None:
    """Pause takes effect while the worker serves; the connection stays, so resuming costs no sign-in."""
    await engine.add("shop")
    async with engine.worker("one"):
        await engine.until_called("shop", 3)
        await change(engine, "shop", AccountState.PAUSED)
        still = engine.calls("shop")
        await change(engine, "shop", AccountState.PAUSED)  # a round trip through the same worker
        assert engine.calls("shop") == still
        await change(engine, "shop", AccountState.ACTIVE)
        await engine.until_called("shop")
    assert len(engine.platform.record.sessions) == 1


async def test_an_account_that_starts_paused_is_not_even_connected(engine: Engine) -> None:
    """A restart while paused stays paused (D-32)."""
    await engine.add("shop")
    await engine.add("other")
    found = await engine.find("shop")
    async with engine.database.transaction() as connection:
        await accounts.change_state(connection, found.account.id, AccountState.PAUSED, expected=[AccountState.ACTIVE])
    async with engine.worker("one"):
        await engine.until_called("other", 3)
        assert {session.account for session in engine.platform.record.sessions} == {"other"}
        await change(engine, "shop", AccountState.ACTIVE)
        await engine.until_called("shop")


@pytest.mark.parametrize(
    ("problem", "state"),
    [
        (SignedOut("The token is no longer valid."), AccountState.SIGNED_OUT),
        (Banned("Stopped for an hour."), AccountState.BANNED),
    ],
)
async def test_a_sign_in_that_is_gone_waits_for_a_person(
    engine: Engine, problem: Exception, state: AccountState
) -> None:
    """SignedOut and Banned stop the account with its next action, and stop no other."""
    tries = []

    async def refuse(account: Account, vault: Vault, note: NoteConnect) -> Client:
        if account.name == "shop":
            tries.append(account.name)
            raise problem
        return await engine.opener(account, vault, note)

    await engine.add("shop")
    await engine.add("other")
    async with engine.worker("one", opener=refuse):

        async def stopped() -> bool:
            return (await engine.find("shop")).account.state is state

        await engine.until(stopped)
        await engine.until_called("other", 3)
    assert tries == ["shop"]
    assert state.next_action


async def test_one_account_in_trouble_stops_no_other(engine: Engine) -> None:
    """Work that fails in a way nobody foresaw is told and tried again; the others go on."""

    async def work(lane: Lane) -> None:
        if lane.account.name == "shop":
            raise ZeroDivisionError("a bug")
        await asyncio.Event().wait()

    await engine.add("shop")
    await engine.add("other")
    async with engine.worker("one", work=work):

        async def tried_again() -> bool:
            return sum(session.account == "shop" for session in engine.platform.record.sessions) >= 2

        await engine.until(tried_again)
        assert sum(session.account == "other" for session in engine.platform.record.sessions) == 1


async def test_a_worker_serves_no_more_than_its_seats(engine: Engine) -> None:
    """What finds no seat waits for another worker, which takes it at once."""
    for number in range(5):
        await engine.add(f"account-{number}")
    async with engine.worker("small", seats=2):

        async def serves(count: int) -> bool:
            owned = await engine.database.pool.fetchval("SELECT count(owner) FROM accounts")
            return bool(owned == count)

        await engine.until(lambda: serves(2))
        async with engine.worker("large"):
            await engine.until(lambda: serves(5))


async def test_a_removed_account_is_let_go(engine: Engine) -> None:
    """Its connection is closed, and the others do not notice."""
    number = await engine.add("shop")
    await engine.add("other")
    async with engine.worker("one"):
        await engine.until_called("shop")
        async with engine.database.transaction() as connection:
            await accounts.remove(connection, number, "shop")
            await commands.wake(connection)

        async def closed() -> bool:
            return any(s.account == "shop" and s.closed_at is not None for s in engine.platform.record.sessions)

        await engine.until(closed)
        await engine.until_called("other")


async def test_a_command_nobody_knows_is_answered_with_a_sentence(engine: Engine) -> None:
    """An older worker says so instead of leaving the asker waiting."""
    number = await engine.add("shop")
    async with engine.worker("one"):
        answer = await ask_owner(engine.database, number, "fly", {}, within=SOON)
    assert answer is not None
    assert answer.state == "failed"
    assert 'no command "fly"' in str(answer.error)


async def test_a_command_for_an_account_nobody_serves_waits_for_the_next_owner(engine: Engine) -> None:
    """Nothing asked is lost."""
    number = await engine.add("shop")
    assert await ask_owner(engine.database, number, "look_again", {}, within=timedelta(milliseconds=50)) is None
    async with engine.worker("one"):

        async def done() -> bool:
            return await engine.database.pool.fetchval("SELECT state FROM commands") == "done"

        await engine.until(done)


async def test_a_command_whose_account_moves_meanwhile_is_done_by_the_next_owner(engine: Engine) -> None:
    """Whoever asks gets the work's answer, not the news that the account changed hands."""
    number = await engine.add("shop")
    tried: list[str] = []

    async def look(serving: Serving, _: dict[str, Any]) -> str:
        tried.append("look")
        if len(tried) == 1:
            raise NotOurs("The lane is closed; this worker serves the account no more.")
        return "seen"

    async with engine.worker("one", handlers={"look": look}):
        answer = await ask_owner(engine.database, number, "look", {}, within=SOON)
    assert answer is not None
    assert (answer.state, answer.result, len(tried)) == ("done", "seen", 2)


async def test_a_late_write_is_refused_by_epoch(engine: Engine) -> None:
    """Law 8: whoever was replaced writes nothing more, whatever its clock says."""
    number = await engine.add("shop")
    async with engine.worker("one"):
        await engine.until_called("shop")
    async with engine.worker("two"):
        await engine.until_called("shop")
        epoch = (await engine.find("shop")).epoch
        async with engine.database.transaction() as connection:
            await accounts.fence(connection, Claim(number, epoch, deadline=float("inf")))
        with pytest.raises(NotOurs, match="taken over"):
            async with engine.database.transaction() as connection:
                await accounts.fence(connection, Claim(number, epoch - 1, deadline=float("inf")))


async def test_a_database_upgraded_under_it_ends_the_worker_with_a_sentence(engine: Engine) -> None:
    """Workers compare the schema's version at every round, and hand over before they end."""
    await engine.add("shop")
    async with engine.worker("old") as worker:
        await engine.until_called("shop")
        await engine.database.pool.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(TidegateError, match="newer than this Tidegate"):
            await worker
    assert await engine.database.pool.fetchval("SELECT owner FROM accounts") is None


async def test_the_feed_tells_who_came_and_went(engine: Engine) -> None:
    """An operator sees workers come and go."""
    async with engine.worker("one"):
        await engine.until(
            lambda: engine.database.pool.fetchval("SELECT true FROM events WHERE kind = 'worker.joined'")
        )
    told = await engine.database.pool.fetch("SELECT kind, subject FROM events ORDER BY id")
    assert [(row["kind"], row["subject"]) for row in told] == [("worker.joined", "one"), ("worker.left", "one")]
