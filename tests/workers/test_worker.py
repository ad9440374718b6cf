"""What a worker does with its accounts, and what people can tell it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.workers.conftest import Engine
from tidegate.accounts.queries import accounts
from tidegate.core.account import Account, AccountState, Claim
from tidegate.core.errors import Banned, NotOurs, NotSent, OutcomeUnknown, PlatformError, SignedOut, TidegateError
from tidegate.lanes import Lane
from tidegate.platforms.interface import NoteConnect, PlatformClient, Vault
from tidegate.workers import account_service
from tidegate.workers.account_service import AccountService
from tidegate.workers.command_client import ask_owner
from tidegate.workers.queries import commands

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

    async def refuse(account: Account, vault: Vault, note: NoteConnect) -> PlatformClient:
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


async def test_a_platform_that_cannot_be_reached_is_tried_ever_more_rarely(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-42: refused, 503, 20 s of silence: an error and a longer pause each time; the worker lives and serves all."""
    troubles: list[Exception] = [
        ConnectionRefusedError("refused"), PlatformError("503"), TimeoutError("silent for 20 s"),
        NotSent("refused"), OutcomeUnknown("silent"),
    ]  # fmt: skip

    async def opener(account: Account, vault: Vault, note_connect: NoteConnect) -> PlatformClient:
        if account.name == "shop" and troubles:
            raise troubles.pop(0)
        return await engine.opener(account, vault, note_connect)

    monkeypatch.setattr(account_service, "FIRST_RETRY", timedelta(milliseconds=10))
    monkeypatch.setattr(account_service, "LAST_RETRY", timedelta(milliseconds=80))
    await engine.add("shop")
    await engine.add("other")
    with capture_logs() as lines:
        async with engine.worker("one", opener=opener) as worker:
            await engine.until_called("shop")
            await engine.until_called("other")
            assert not worker.done()
    pauses = [line["next_try_in"] for line in lines if line["event"] == "account.trouble"]
    assert pauses == [str(timedelta(milliseconds=pause)) for pause in (10, 20, 40, 80, 80)]
    assert sum(session.account == "other" for session in engine.platform.record.sessions) == 1


async def test_an_account_that_cannot_connect_says_since_when_and_why(engine: Engine) -> None:
    """In the list, the event and the page's needs; "active" alone would look healthy. Connected, it says so too."""
    fails = True

    async def opener(account: Account, vault: Vault, note_connect: NoteConnect) -> PlatformClient:
        if fails:
            raise PlatformError("The platform cannot be reached; is the network up?")
        return await engine.opener(account, vault, note_connect)

    await engine.add("shop")
    async with engine.worker("one", opener=opener):

        async def is_unreachable() -> bool:
            return (await engine.find("shop")).unreachable_since is not None

        await engine.until(is_unreachable)
        listed = await engine.find("shop")
        assert "is the network up" in str(listed.unreachable_why)
        fails = False

        async def is_reachable() -> bool:
            return not await is_unreachable()

        await engine.until(is_reachable)
    kinds = await engine.database.pool.fetch("SELECT kind, data ->> 'why' AS why FROM events ORDER BY id")
    told = [(row["kind"], row["why"]) for row in kinds if row["kind"].endswith("reachable")]
    assert told == [("account.unreachable", listed.unreachable_why), ("account.reachable", None)]


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

    async def look(serving: AccountService, _: dict[str, Any]) -> str:
        tried.append("look")
        if len(tried) == 1:
            raise NotOurs("The lane is closed; this worker serves the account no more.")
        return "seen"

    async with engine.worker("one", handlers={"look": look}):
        answer = await ask_owner(engine.database, number, "look", {}, within=SOON)
    assert answer is not None
    assert (answer.state, answer.result, len(tried)) == ("done", "seen", 2)


@pytest.mark.parametrize(
    "fault", [KeyError("X-RateLimit-Limit"), RecursionError(), object()], ids=lambda fault: type(fault).__name__
)
async def test_a_command_that_meets_a_fault_of_ours_is_answered_once(engine: Engine, fault: object) -> None:
    """Unanswered it would be taken again at once, for ever; a result that JSON cannot hold counts as a fault too."""
    number = await engine.add("shop")
    tried: list[str] = []

    async def break_down(serving: AccountService, _: dict[str, Any]) -> object:
        tried.append("break")
        if isinstance(fault, Exception):
            raise fault
        return fault

    async with engine.worker("one", handlers={"break": break_down}):
        answer = await ask_owner(engine.database, number, "break", {}, within=SOON)
        assert answer is not None
        assert answer.state == "failed"
        assert "failed unexpectedly" in str(answer.error)
        again = await ask_owner(engine.database, number, "look_again", {}, within=SOON)
    assert again is not None
    assert (again.state, len(tried)) == ("done", 1)


async def test_a_late_write_is_refused_by_epoch(engine: Engine) -> None:
    """one-owner-per-account: whoever was replaced writes nothing more, whatever its clock says."""
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
