"""Runs as rows: what is frozen, what a target's state is, and which moves are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Database
from tests.reminders.run_builder import a_run, an_account, frozen
from tidegate.core.account import Claim
from tidegate.database.pool import Connection
from tidegate.lanes.rules.send_hours import WindowDay
from tidegate.reminders.queries import run_parts, run_states, runs, unknown_sends
from tidegate.reminders.queries.run_freeze import PIECE, NewTarget, open_run
from tidegate.reminders.queries.run_parts import ClaimAnswer, RunPartPosition
from tidegate.reminders.rules.run_summary import RunStatus, RunSummary
from tidegate.reminders.rules.send_states import SendState, target_state

pytestmark = pytest.mark.both_servers

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def answer(connection: Connection, place: RunPartPosition, *, recognises_for: timedelta | None) -> ClaimAnswer:
    said, _ = await run_parts.claim(connection, place, recognises_for=recognises_for)
    return said


async def test_all_targets_and_parts_are_there_before_the_first_send(database: Database) -> None:
    """A run is frozen in one transaction: each part with its own text, in order, pending."""
    async with database.transaction() as connection:
        run = await frozen(connection, a_run(await an_account(connection), targets=3))
        found = await run_parts.of_run(connection, run)
    assert [(part.place.target, part.place.number, part.text) for part in found] == [
        (target + 1, part + 1, f"part {part} for group {target}") for target in range(3) for part in range(2)
    ]
    assert {part.state for part in found} == {SendState.PENDING}
    assert len({part.key for part in found}) == 6


@pytest.mark.parametrize("length", [20, 4_000])
async def test_a_large_run_is_frozen_in_pieces(database: Database, length: int) -> None:
    """No statement takes so many texts that preparing it holds the event loop; nothing is lost between two of them."""
    asked: list[asyncpg.connection.LoggedQuery] = []
    async with database.transaction() as connection:
        wanted = replace(
            a_run(await an_account(connection), targets=1_500),
            texts=[f"{place} ".ljust(length, "x") for place in range(3_000)],
            targets=[NewTarget(None, f"group {n}", "gone" if n % 7 == 0 else "") for n in range(1_500)],
        )
        with connection.query_logger(asked.append):
            run = await frozen(connection, wanted)
        rows = await connection.fetch(
            "SELECT target, title, text, p.number, state, error FROM run_parts p "
            "JOIN run_targets t ON (t.run, t.number) = (p.run, p.target) WHERE p.run = $1 ORDER BY target, p.number",
            run,
        )  # fmt: skip
    lists = [value for query in asked for value in query.args if isinstance(value, list | tuple)]
    texts = [sum(len(one) for one in value if isinstance(one, str)) for value in lists]
    assert max(texts) <= PIECE
    assert max(map(len, lists)) <= PIECE // 100
    assert [tuple(row) for row in rows] == [
        (
            place // 2 + 1,
            f"group {place // 2}",
            text,
            place % 2 + 1,
            "failed" if place // 2 % 7 == 0 else "pending",
            "gone" if place // 2 % 7 == 0 else "",
        )
        for place, text in enumerate(wanted.texts)
    ]


async def test_every_move_of_a_run_is_told_with_it(database: Database) -> None:
    """Each state a run comes to is an event of its transaction; a move that is not made tells nothing."""
    async with database.transaction() as connection:
        number = await frozen(connection, a_run(await an_account(connection)))
        told = await _told(connection)
        assert told == ["run.opened"]
        run = await runs.find(connection, number)
        ends = RunSummary(RunStatus.PARTIAL, "closed")
        later = WindowDay(NOW, NOW + timedelta(hours=1))
        moves: list[tuple[Callable[[], Awaitable[object]], str]] = [
            (lambda: run_states.wait_for(connection, run, later), "waiting"),
            (lambda: run_states.begin(connection, run), "running"),
            (lambda: run_states.hold(connection, run, timedelta(minutes=1), "no upload"), "running"),
            (lambda: run_states.need_attention(connection, run), "needs_attention"),
            (lambda: run_states.reopen(connection, run), "running"),
            (lambda: run_states.pause(connection, run), "paused"),
            (lambda: run_states.resume(connection, run), "running"),
            (lambda: run_states.end(connection, run, ends, Counter()), "ended"),
        ]
        for move, state in moves:
            await move()
            assert (await runs.find(connection, number)).state == state
        kinds = ["waiting", "running", "held", "needs_attention", "running", "paused", "resumed"]
        assert await _told(connection) == [*told, *(f"run.{kind}" for kind in kinds), "reminder.fired"]
        for move, _ in moves:
            await move()
        assert (await runs.find(connection, number)).state == "ended"
        assert len(await _told(connection)) == len(told) + len(moves)


async def _told(connection: Connection) -> list[str]:
    rows = await connection.fetch(
        "SELECT kind FROM events WHERE kind LIKE 'run.%' OR kind = 'reminder.fired' ORDER BY id"
    )
    return [row["kind"] for row in rows]


async def test_a_run_ends_once(database: Database) -> None:
    """A second end changes neither its status nor its counts, and is not told."""
    async with database.transaction() as connection:
        number = await frozen(connection, a_run(await an_account(connection)))
        run = await runs.find(connection, number)
        first = Counter({SendState.SENT: 2})
        assert await run_states.end(connection, run, RunSummary(RunStatus.SUCCESS, ""), first)
        before = await runs.find(connection, number)
        assert not await run_states.end(connection, run, RunSummary(RunStatus.FAILED, "again"), Counter())
        after = await runs.find(connection, number)
        assert replace(after, now=before.now) == before
        assert (await _told(connection)).count("reminder.fired") == 1


async def test_pauses_add_up(database: Database) -> None:
    """Each counts as long as it lasted inside the window."""
    async with database.transaction() as connection:
        number = await frozen(connection, a_run(await an_account(connection)))
        run = await runs.find(connection, number)
        for minutes in (10, 5, 20):
            assert await run_states.pause(connection, run)
            await connection.execute("UPDATE runs SET paused_at = paused_at - $1::interval", timedelta(minutes=minutes))
            assert await run_states.resume(connection, run)
        assert await connection.fetchval("SELECT paused_for >= '35 m' AND paused_for < '36 m' FROM runs")


async def test_a_cancelled_run_is_not_paused(database: Database) -> None:
    """It ends when nothing of it is in flight; paused, it never would."""
    async with database.transaction() as connection:
        number = await frozen(connection, a_run(await an_account(connection)))
        run = await runs.find(connection, number)
        await run_states.note_cancelled(connection, run)
        assert not await run_states.pause(connection, run)
        assert (await runs.find(connection, number)).state == "running"


async def test_a_claim_is_granted_once(database: Database) -> None:
    """claim-before-send: a part moves from pending to sending once; an answer about another try changes nothing."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))
        place, claim = RunPartPosition(run, 1, 1), Claim(account, 0, float("inf"))
        assert await answer(connection, place, recognises_for=None) is ClaimAnswer.GO
        assert await answer(connection, place, recognises_for=None) is ClaimAnswer.TAKEN
        took = timedelta(milliseconds=20)
        assert not await run_parts.mark_sent(connection, claim, place, 2, latency=took, message="7")
        old = Claim(account, -1, float("inf"))
        assert not await run_parts.mark_sent(connection, old, place, 1, latency=took, message="7")
        assert await run_parts.mark_sent(connection, claim, place, 1, latency=took, message="7")
        assert not await run_parts.take_back(
            connection, claim, place, 1, wait=timedelta(), doubtful=False, error="too late"
        )


async def test_a_late_word_of_another_owner_or_another_try_moves_nothing(database: Database) -> None:
    """Sent, to be tried again, failed: each is refused in an older epoch, and the first two of another try too."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        place = RunPartPosition(await frozen(connection, a_run(account)), 1, 1)
        assert await answer(connection, place, recognises_for=None) is ClaimAnswer.GO
        ours, old, none = Claim(account, 0, float("inf")), Claim(account, -1, float("inf")), timedelta()
        for claim, tries in ((old, 1), (ours, 2)):
            assert not await run_parts.mark_sent(connection, claim, place, tries, latency=none, message=None)
            assert not await run_parts.take_back(
                connection, claim, place, tries, wait=none, doubtful=True, error="late"
            )
        assert not await run_parts.close(connection, old, place, SendState.FAILED, "late")
        assert {part.state for part in await run_parts.of_run(connection, place.run)} == {
            SendState.SENDING, SendState.PENDING,
        }  # fmt: skip
        assert await run_parts.close(connection, ours, place, SendState.FAILED, "refused")
        states = [part.state for part in await run_parts.of_run(connection, place.run)]
        assert states == [SendState.FAILED, SendState.SKIPPED, SendState.PENDING, SendState.PENDING]


async def test_a_try_that_may_have_arrived_is_remembered_when_it_is_taken_back(database: Database) -> None:
    """The doubt counts from the first such try on, also after later ones that surely did not arrive."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))
        claim, place, sure = Claim(account, 0, float("inf")), RunPartPosition(run, 1, 1), RunPartPosition(run, 2, 1)

        async def tried(where: RunPartPosition, tries: int, *, doubtful: bool) -> None:
            assert await answer(connection, where, recognises_for=None) is ClaimAnswer.GO
            assert await run_parts.take_back(
                connection, claim, where, tries, wait=timedelta(), doubtful=doubtful, error="no answer"
            )

        await tried(place, 1, doubtful=True)
        await connection.execute("UPDATE run_parts SET doubtful_since = doubtful_since - interval '2 minutes'")
        await tried(place, 2, doubtful=False)
        await tried(sure, 1, doubtful=False)
        doubtful = {part.place: part.doubtful for part in await run_parts.of_run(connection, run)}
        assert (doubtful[place], doubtful[sure]) == (True, False)
        two = timedelta(minutes=2)
        assert await answer(connection, place, recognises_for=two) is ClaimAnswer.STALE
        assert await answer(connection, sure, recognises_for=two) is ClaimAnswer.GO


async def test_a_claim_that_is_refused_takes_nothing(database: Database) -> None:
    """Paused, cancelled, shut or not open yet: the part stays pending and no try is counted, whatever is committed."""
    refusals = {
        "state = 'paused', paused_by = 'person'": ClaimAnswer.STOPPED,
        "cancelled_at = clock_now()": ClaimAnswer.STOPPED,
        "opens_at = clock_now() + interval '1 minute'": ClaimAnswer.NOT_OPEN,
        "closes_at = clock_now()": ClaimAnswer.CLOSED,
    }
    async with database.transaction() as connection:
        account = await an_account(connection)
        for change, refused in refusals.items():
            run = await frozen(connection, a_run(account))
            await connection.execute(f"UPDATE runs SET {change} WHERE id = $1", run)
            assert await answer(connection, RunPartPosition(run, 1, 1), recognises_for=None) is refused
            found = await run_parts.of_run(connection, run)
            assert {(part.state, part.tries) for part in found} == {(SendState.PENDING, 0)}


async def test_the_window_is_checked_in_the_claim(database: Database) -> None:
    """A claim goes by the database's clock: not before the window, not after it, and a begun target within 60 s."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        run = await frozen(connection, a_run(account))

        async def answers(opens_in: str, closes_in: str, number: int) -> ClaimAnswer:
            await connection.execute("UPDATE run_parts SET state = 'pending'")
            await connection.execute(
                "UPDATE runs SET opens_at = clock_now() + $1::text::interval, "
                "closes_at = clock_now() + $2::text::interval",
                opens_in, closes_in,
            )  # fmt: skip
            return await answer(connection, RunPartPosition(run, 1, number), recognises_for=None)

        assert await answers("1 minute", "1 hour", 1) is ClaimAnswer.NOT_OPEN
        assert await answers("-1 hour", "1 second", 1) is ClaimAnswer.GO
        assert await answers("-1 hour", "0", 1) is ClaimAnswer.CLOSED
        assert await answers("-1 hour", "-59 seconds", 2) is ClaimAnswer.GO
        assert await answers("-1 hour", "-60 seconds", 2) is ClaimAnswer.CLOSED
        await connection.execute("UPDATE runs SET begun_target = 'strict'")
        assert await answers("-1 hour", "-1 second", 2) is ClaimAnswer.CLOSED
        await connection.execute("UPDATE runs SET state = 'paused', paused_by = 'person'")
        assert await answers("-1 hour", "1 hour", 1) is ClaimAnswer.STOPPED


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
        assert await answer(connection, RunPartPosition(run, 1, 1), recognises_for=two) is ClaimAnswer.GO
        assert await answer(connection, RunPartPosition(run, 2, 1), recognises_for=two) is ClaimAnswer.STALE
        assert await answer(connection, RunPartPosition(run, 2, 1), recognises_for=None) is ClaimAnswer.GO


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
        assert (await runs.due(connection, account)).next_to_send == first
        await connection.execute("UPDATE run_parts SET state = 'unknown' WHERE run = $1 AND number = 1", first)
        assert (await runs.due(connection, account)).next_to_send == second
        await connection.execute(
            "UPDATE run_parts SET not_before = clock_now() + interval '9 s' WHERE run = $1", second
        )
        assert (await runs.due(connection, account)).next_to_send is None
        left = await runs.next_moment(connection, account)
        assert left is not None
        assert left <= timedelta(seconds=9)


async def test_a_receipt_can_mean_what_was_handed_over_in_its_chat(database: Database) -> None:
    """D-22: what an account sent to a group without knowing that it arrived, and none else; each has its own key."""
    async with database.transaction() as connection:
        account = await an_account(connection)
        channel = await connection.fetchval(
            "INSERT INTO channels (platform, number, title) VALUES ('telegram', 7, 'g') RETURNING id"
        )
        run = await frozen(connection, a_run(account, targets=2, parts=1))
        await connection.execute("UPDATE run_targets SET channel = $1", channel)
        assert await unknown_sends.handed_over(connection, account, 7) == {}  # never tried
        await connection.execute("UPDATE run_parts SET attempts = 1, claimed_at = clock_now()")
        keys = {row["target"]: row["key"] for row in await connection.fetch("SELECT target, key FROM run_parts")}
        both = {RunPartPosition(run, target, 1): key for target, key in keys.items()}
        for state in ("unknown", "sending", "pending"):
            await connection.execute("UPDATE run_parts SET state = $1", state)
            assert await unknown_sends.handed_over(connection, account, 7) == both
        await connection.execute("UPDATE run_parts SET state = 'sent' WHERE target = 2")
        assert await unknown_sends.handed_over(connection, account, 8) == {}
        assert await unknown_sends.handed_over(connection, await an_account(connection, "other"), 7) == {}
        assert await unknown_sends.handed_over(connection, account, 7) == {RunPartPosition(run, 1, 1): keys[1]}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(st.sampled_from(SendState), min_size=1, max_size=4))
async def test_a_targets_state_is_the_rules(database: Database, states: list[SendState]) -> None:
    """The view that lists and counts read says what the rule says."""
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM accounts")
        run = await frozen(connection, a_run(await an_account(connection), targets=1, parts=len(states)))
        for number, state in enumerate(states, 1):
            await connection.execute("UPDATE run_parts SET state = $1 WHERE number = $2", state.value, number)
        [counted] = (await runs.counts(connection, [run])).values()
    assert list(counted.elements()) == [target_state(states)]
