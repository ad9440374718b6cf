"""Runs as rows: what is frozen, what a target's state is, and which moves are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Database
from tidegate.rules.delivering import PartState, WhenUnknown, target_state
from tidegate.rules.window import Opening, Window
from tidegate.store import accounts, doubtful_parts, run_parts, runs
from tidegate.store.database import Connection
from tidegate.store.run_opening import NewPart, NewRun, NewTarget, open_run
from tidegate.store.run_parts import Answer, Place
from tidegate.words import AccountId, Claim, Platform, RunId, Standing

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def an_account(connection: Connection, name: str = "shop") -> AccountId:
    return await accounts.add(connection, name, Platform.TELEGRAM, Standing.NORMAL, loopback="http://127.0.0.1:1")


def a_run(account: AccountId, *, targets: int = 2, parts: int = 2, due_at: datetime | None = None) -> NewRun:
    """A run whose window is open from an hour ago until in an hour."""
    now = datetime.now(UTC)
    return NewRun(
        reminder=None,
        name="Friday stock",
        account=account,
        test=False,
        due_at=due_at,
        window=Window(0, 24, ZoneInfo("UTC")),
        opening=Opening(now - timedelta(hours=1), now + timedelta(hours=1)),
        waits=False,
        paused_by=None,
        resumes_next=False,
        finishes_begun=True,
        when_unknown=WhenUnknown.HOLD,
        targets=[NewTarget(None, f"group {number}") for number in range(targets)],
        parts=[NewPart("text")] * parts,
        texts=[f"part {part} for group {target}" for target in range(targets) for part in range(parts)],
    )


async def frozen(connection: Connection, new: NewRun) -> RunId:
    run = await open_run(connection, new)
    assert run is not None
    return run


async def answer(connection: Connection, place: Place, *, recognises_for: timedelta | None) -> Answer:
    said, _ = await run_parts.claim(connection, place, recognises_for=recognises_for)
    return said


async def test_all_targets_and_parts_are_there_before_the_first_send(database: Database) -> None:
    """A run is frozen in one statement: each part with its own text, in order, pending."""
    async with database.transaction() as connection:
        run = await frozen(connection, a_run(await an_account(connection), targets=3))
        found = await run_parts.to_deliver(connection, run)
    assert [(part.place.target, part.place.number, part.text) for part in found] == [
        (target + 1, part + 1, f"part {part} for group {target}") for target in range(3) for part in range(2)
    ]
    assert {part.state for part in found} == {PartState.PENDING}
    assert len({part.key for part in found}) == 6


async def test_a_claim_is_granted_once(database: Database) -> None:
    """Law 6: a part moves from pending to sending once; an answer about another try changes nothing."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))
        place, claim = Place(run, 1, 1), Claim(account, 0, float("inf"))
        assert await answer(connection, place, recognises_for=None) is Answer.GO
        assert await answer(connection, place, recognises_for=None) is Answer.TAKEN
        took = timedelta(milliseconds=20)
        assert not await run_parts.mark_sent(connection, claim, place, 2, latency=took, message="7")
        old = Claim(account, -1, float("inf"))
        assert not await run_parts.mark_sent(connection, old, place, 1, latency=took, message="7")
        assert await run_parts.mark_sent(connection, claim, place, 1, latency=took, message="7")
        assert not await run_parts.take_back(
            connection, claim, place, 1, wait=timedelta(), doubtful=False, error="too late"
        )


async def test_the_window_is_checked_in_the_claim(database: Database) -> None:
    """A claim goes by the database's clock: not before the window, not after it, and a begun target within 60 s."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))

        async def answers(opens_in: str, closes_in: str, number: int) -> Answer:
            await connection.execute("UPDATE run_parts SET state = 'pending'")
            await connection.execute(
                "UPDATE runs SET opens_at = clock_now() + $1::text::interval, "
                "closes_at = clock_now() + $2::text::interval",
                opens_in, closes_in,
            )  # fmt: skip
            return await answer(connection, Place(run, 1, number), recognises_for=None)

        assert await answers("1 minute", "1 hour", 1) is Answer.NOT_OPEN
        assert await answers("-1 hour", "1 second", 1) is Answer.GO
        assert await answers("-1 hour", "0", 1) is Answer.CLOSED
        assert await answers("-1 hour", "-59 seconds", 2) is Answer.GO
        assert await answers("-1 hour", "-60 seconds", 2) is Answer.CLOSED
        await connection.execute("UPDATE runs SET begun_target = 'strict'")
        assert await answers("-1 hour", "-1 second", 2) is Answer.CLOSED
        await connection.execute("UPDATE runs SET state = 'paused', paused_by = 'person'")
        assert await answers("-1 hour", "1 hour", 1) is Answer.STOPPED


async def test_a_doubt_that_is_too_old_is_not_tried_again(database: Database) -> None:
    """D-24: a platform that knows a repeated send for two minutes gets no third one after that."""
    async with database.transaction() as connection:
        run = await frozen(connection, a_run(await an_account(connection)))
        await connection.execute(
            "UPDATE run_parts SET doubtful_since = clock_now() - interval '119 s' WHERE target = 1"
        )
        await connection.execute(
            "UPDATE run_parts SET doubtful_since = clock_now() - interval '120 s' WHERE target = 2"
        )
        two = timedelta(minutes=2)
        assert await answer(connection, Place(run, 1, 1), recognises_for=two) is Answer.GO
        assert await answer(connection, Place(run, 2, 1), recognises_for=two) is Answer.STALE
        assert await answer(connection, Place(run, 2, 1), recognises_for=None) is Answer.GO


async def test_a_firing_is_opened_once(database: Database) -> None:
    """Two workers that see the same firing open one run."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        reminder = await connection.fetchval(
            "INSERT INTO reminders (name, account, written, timezone) VALUES ('r', $1, '{}', 'UTC') RETURNING id",
            account,
        )
        new = a_run(account, due_at=NOW)
        firing = type(new)(**{**{name: getattr(new, name) for name in new.__slots__}, "reminder": reminder})
        assert await open_run(connection, firing) is not None
        assert await open_run(connection, firing) is None
        assert await connection.fetchval("SELECT count(*) FROM run_parts") == 4


async def test_a_run_with_a_held_part_does_not_block_the_next(database: Database) -> None:
    """The oldest run with something to send now is next; a part behind an unknown one is not something to send."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        first = await frozen(connection, a_run(account, targets=1))
        second = await frozen(connection, a_run(account, targets=1))
        assert await runs.next_moment(connection, await an_account(connection, "idle")) is None
        assert (await runs.wants(connection, account)).next_to_send == first
        await connection.execute("UPDATE run_parts SET state = 'unknown' WHERE run = $1 AND number = 1", first)
        assert (await runs.wants(connection, account)).next_to_send == second
        await connection.execute(
            "UPDATE run_parts SET not_before = clock_now() + interval '9 s' WHERE run = $1", second
        )
        assert (await runs.wants(connection, account)).next_to_send is None
        left = await runs.next_moment(connection, account)
        assert left is not None
        assert left <= timedelta(seconds=9)


async def test_a_late_word_means_one_part_or_none(database: Database) -> None:
    """D-22: a receipt means the unknown part of its group; where two could be meant, nobody guesses."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        channel = await connection.fetchval(
            "INSERT INTO channels (platform, number, title) VALUES ('telegram', 7, 'g') RETURNING id"
        )
        run = await frozen(connection, a_run(account, targets=2, parts=1))
        await connection.execute("UPDATE run_targets SET channel = $1", channel)
        await connection.execute("UPDATE run_parts SET state = 'unknown', claimed_at = clock_now()")
        now = await connection.fetchval("SELECT clock_now()")
        assert await doubtful_parts.meant(connection, account, 7, "3EB0", now) is None
        await connection.execute("UPDATE run_parts SET state = 'sent' WHERE target = 2")
        assert await doubtful_parts.meant(connection, account, 7, "3EB0", now - timedelta(hours=1)) is None
        assert await doubtful_parts.meant(connection, account, 7, "3EB0", now) == Place(run, 1, 1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(st.sampled_from(PartState), min_size=1, max_size=4))
async def test_a_targets_state_is_the_rules(database: Database, states: list[PartState]) -> None:
    """The view that lists and counts read says what the rule says."""
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM accounts")
        run = await frozen(connection, a_run(await an_account(connection), targets=1, parts=len(states)))
        for number, state in enumerate(states, 1):
            await connection.execute("UPDATE run_parts SET state = $1 WHERE number = $2", state.value, number)
        [counted] = (await runs.counts(connection, [run])).values()
    assert list(counted.elements()) == [target_state(states)]
