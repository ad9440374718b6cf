"""The pace in the database: charged with the claim, by the database's clock, forgotten by nobody."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON, holding, set_wall
from tests.waiting import PATIENCE
from tidegate.accounts.queries import accounts
from tidegate.core.account import AccountState, Claim, Standing
from tidegate.core.clock import HeldClock
from tidegate.core.errors import NotOurs, NotSent
from tidegate.database.pool import Database
from tidegate.lanes.queries import pace
from tidegate.lanes.queries.pace import ChatLimit, GrantedSend, HeldBack
from tidegate.lanes.rules import pace_bucket
from tidegate.lanes.rules.pace_bucket import MINUTE, Pace, PaceBucket
from tidegate.lanes.rules.send_caps import Caps, WarmUp, held_back_until
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.platforms.whatsapp import WHATSAPP

pytestmark = pytest.mark.both_servers

HOUR = timedelta(hours=1)
FORTY = Allowance(ceiling=40, floor=4)

_numbers = itertools.count()


@pytest.fixture
async def clock(database: Database) -> AsyncIterator[HeldClock]:
    async with holding(database) as held:
        yield held


@pytest.fixture
async def claim(database: Database) -> Claim:
    return await an_account(database, "shop")


async def an_account(database: Database, name: str) -> Claim:
    async with database.transaction() as connection:
        account = await accounts.add(connection, name, WHATSAPP, Standing.NORMAL, loopback=None)
    return Claim(account, epoch=0, deadline=float("inf"))


async def allow(database: Database, claim: Claim, allowance: Allowance) -> None:
    async with database.transaction() as connection:
        await pace.set_pace(connection, claim.account, allowance)


async def ask(database: Database, claim: Claim, chat: ChatLimit | None = None) -> GrantedSend | HeldBack:
    async with database.pool.acquire() as connection:
        return await pace.claim_send(connection, claim, "send", chat=chat)


async def rate(database: Database, claim: Claim) -> int:
    async with database.pool.acquire() as connection:
        return (await pace.shown(connection))[claim.account].rate


async def test_a_claim_is_charged_and_on_the_ledger(database: Database, clock: HeldClock, claim: Claim) -> None:
    """claim-before-send: before the network is touched, the call stands on the ledger as claimed and charged."""
    await allow(database, claim, FORTY)
    assert await ask(database, claim) == HeldBack(timedelta(seconds=1.5125), by_chat=False)
    await clock.advance(timedelta(seconds=1.5125))
    answer = await ask(database, claim)
    assert isinstance(answer, GrantedSend)
    row = await database.pool.fetchrow("SELECT * FROM calls")
    assert (row["id"], row["outcome"], row["charged"], row["at"]) == (answer.call, "claimed", True, clock.now())
    assert isinstance(await ask(database, claim), HeldBack)


async def test_an_account_nobody_paced_is_paced_carefully(database: Database, clock: HeldClock, claim: Claim) -> None:
    """never-above-the-pace: a missing bucket is made, empty and slow; it fills from then on."""
    assert await ask(database, claim) == HeldBack(timedelta(seconds=15.125), by_chat=False)
    await clock.advance(timedelta(seconds=15.125))
    assert isinstance(await ask(database, claim), GrantedSend)


async def test_a_worker_that_lost_the_account_claims_nothing(
    database: Database, clock: HeldClock, claim: Claim
) -> None:
    """one-owner-per-account: a claim in an old epoch is refused before anything is charged."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)
    await database.pool.execute("UPDATE accounts SET epoch = 1")
    with pytest.raises(NotOurs):
        await ask(database, claim)
    assert await database.pool.fetchval("SELECT count(*) FROM calls") == 0


async def test_a_paused_account_claims_nothing(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-31: once the pause is stored no further claim is granted, whatever the worker still believes."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)
    async with database.transaction() as connection:
        await accounts.change_state(
            connection, claim.account, AccountState.PAUSED, expected=[AccountState.ACTIVE]
        )  # fmt: skip
    with pytest.raises(NotSent, match="paused"):
        await ask(database, claim)


async def test_a_rolled_back_claim_costs_nothing(database: Database, clock: HeldClock, claim: Claim) -> None:
    """claim-before-send: token, ledger and the caller's own change are one transaction."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)

    async def claim_and_fail() -> None:
        async with database.transaction() as connection:
            assert isinstance(await pace.claim_send(connection, claim, "send"), GrantedSend)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await claim_and_fail()
    assert await database.pool.fetchval("SELECT count(*) FROM calls") == 0
    assert isinstance(await ask(database, claim), GrantedSend)


async def test_many_at_once_get_one_token(database: Database, clock: HeldClock, claim: Claim) -> None:
    """never-above-the-pace: ten sessions that ask in the same instant get one grant between them."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)
    answers = await asyncio.gather(*(ask(database, claim) for _ in range(10)))
    assert sum(isinstance(answer, GrantedSend) for answer in answers) == 1


async def test_accounts_do_not_wait_for_each_other(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-19: another account's claim under way blocks nobody else's."""
    other = await an_account(database, "other")
    for one in (claim, other):
        await allow(database, one, FORTY)
    await clock.advance(MINUTE)
    async with database.transaction() as connection:
        assert isinstance(await pace.claim_send(connection, claim, "send"), GrantedSend)
        async with asyncio.timeout(PATIENCE):
            assert isinstance(await ask(database, other), GrantedSend)


async def test_a_clock_that_goes_back_is_told(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-17: an hour back is clamped to one interval, with an event, once; and grants no burst."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)
    assert isinstance(await ask(database, claim), GrantedSend)
    await set_wall(clock, clock.now() - HOUR)
    assert await ask(database, claim) == HeldBack(timedelta(seconds=1.5125), by_chat=False)
    assert await ask(database, claim) == HeldBack(timedelta(seconds=1.5125), by_chat=False)
    events = await database.pool.fetch("SELECT kind, subject FROM events WHERE kind LIKE 'pace.%'")
    assert [tuple(event) for event in events] == [("pace.clock_went_back", "shop")]
    await clock.advance(timedelta(seconds=1.5125))
    assert isinstance(await ask(database, claim), GrantedSend)
    assert isinstance(await ask(database, claim), HeldBack)


async def test_a_chat_has_a_pace_of_its_own(database: Database, clock: HeldClock, claim: Claim) -> None:
    """A chat at its limit says so, charges nothing, and leaves the account free for other chats."""
    await allow(database, claim, FORTY)
    slow, other = ChatLimit("1", Pace(rate=20)), ChatLimit("2", Pace(rate=20))
    for chat in (slow, other):
        await ask(database, claim, chat)
    await clock.advance(MINUTE)
    assert isinstance(await ask(database, claim, slow), GrantedSend)
    await clock.advance(timedelta(seconds=1.5125))
    assert await ask(database, claim, slow) == HeldBack(timedelta(seconds=1.5125), by_chat=True)
    assert isinstance(await ask(database, claim, other), GrantedSend)


async def test_idle_chats_are_forgotten(database: Database, clock: HeldClock, claim: Claim) -> None:
    """everything-kept-ends: a chat's bucket ends when it was not used; a used one stays."""
    await ask(database, claim, ChatLimit("old", Pace(rate=20)))
    await clock.advance(HOUR)
    await ask(database, claim, ChatLimit("new", Pace(rate=20)))
    async with database.pool.acquire() as connection:
        assert await pace.prune(connection, clock.now() - HOUR / 2) == 1
    assert await database.pool.fetchval("SELECT chat FROM chat_pace") == "new"


async def test_caps_count_what_was_handed_over(database: Database, clock: HeldClock, claim: Claim) -> None:
    """A cap of two an hour holds exactly; what was proven not sent does not count."""
    await allow(database, claim, replace(FORTY, caps=Caps(per_hour=2)))
    for _ in range(2):
        await clock.advance(MINUTE)
        assert isinstance(await ask(database, claim), GrantedSend)
    await clock.advance(MINUTE)
    assert await ask(database, claim) == HeldBack(58 * MINUTE, by_chat=False)
    await database.pool.execute("UPDATE calls SET outcome = 'not_sent' WHERE id = (SELECT min(id) FROM calls)")
    assert isinstance(await ask(database, claim), GrantedSend)


async def test_a_warm_up_caps_the_day(database: Database, clock: HeldClock, claim: Claim) -> None:
    """A new account sends the first day's number and no more; the next day brings more."""
    warming = replace(FORTY, warm_up=WarmUp(first_day=2, growth=2))
    await allow(database, claim, warming)
    for _ in range(2):
        await clock.advance(MINUTE)
        assert isinstance(await ask(database, claim), GrantedSend)
    await clock.advance(MINUTE)
    assert isinstance(await ask(database, claim), HeldBack)
    await clock.advance(timedelta(days=1) - 3 * MINUTE)
    async with database.transaction() as connection:
        await pace.tune(connection, claim, warming)
    assert isinstance(await ask(database, claim), GrantedSend)


async def test_a_warning_cuts_once_and_is_shown(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-34: two warnings in a minute halve the rate once; people see it in words; sends wait the minute out."""
    await allow(database, claim, FORTY)
    await clock.advance(MINUTE)
    for _ in range(2):
        async with database.transaction() as connection:
            await pace.warn(connection, claim, FORTY, timedelta(seconds=17))
    async with database.pool.acquire() as connection:
        assert str((await pace.shown(connection))[claim.account]) == "20 a minute of 40 after a warning"
    assert await ask(database, claim) == HeldBack(MINUTE, by_chat=False)


async def test_a_pause_keeps_its_length_when_the_clock_goes_back(
    database: Database, clock: HeldClock, claim: Claim
) -> None:
    """D-17: a minute's pause after a warning does not become an hour's."""
    await allow(database, claim, FORTY)
    async with database.transaction() as connection:
        await pace.warn(connection, claim, FORTY, timedelta())
    await set_wall(clock, clock.now() - HOUR)
    assert await ask(database, claim) == HeldBack(MINUTE, by_chat=False)
    await clock.advance(MINUTE)
    assert isinstance(await ask(database, claim), GrantedSend)


async def test_clean_minutes_bring_the_rate_back(database: Database, clock: HeldClock, claim: Claim) -> None:
    """D-35: 40 clean minutes after a cut to 20 the rate is 40 again, and stays there."""
    await allow(database, claim, FORTY)
    async with database.transaction() as connection:
        await pace.warn(connection, claim, FORTY, timedelta())
    rates = []
    for _ in range(45):
        await clock.advance(MINUTE)
        await ask(database, claim)
        async with database.transaction() as connection:
            await pace.tune(connection, claim, FORTY)
        rates.append(await rate(database, claim))
    assert (rates[0], rates[38], rates[39], rates[44]) == (20, 39, 40, 40)


async def test_late_warnings_are_refused(database: Database, claim: Claim) -> None:
    """one-owner-per-account: a worker that lost the account changes nothing of its pace."""
    await allow(database, claim, FORTY)
    await database.pool.execute("UPDATE accounts SET epoch = 1")
    with pytest.raises(NotOurs):
        async with database.transaction() as connection:
            await pace.warn(connection, claim, FORTY, timedelta())
    assert await rate(database, claim) == 40


async def test_settings_move_the_rate_but_not_a_warning(database: Database, clock: HeldClock, claim: Claim) -> None:
    """An operator's new ceiling counts at once; an account that was warned stays slow until it has earned more."""
    await allow(database, claim, FORTY)
    await allow(database, claim, Allowance(ceiling=12))
    assert await rate(database, claim) == 12
    async with database.transaction() as connection:
        await pace.warn(connection, claim, Allowance(ceiling=12), timedelta())
    await allow(database, claim, FORTY)
    assert await rate(database, claim) == 6
    assert str(pace.ShownPace(12, 12, 200, 1500, None)) == "12 a minute, 200 an hour, 1500 a day"


async def test_a_restore_empties_every_bucket(database: Database, clock: HeldClock, claim: Claim) -> None:
    """A restored database may not know its last sends, so every account waits a whole interval."""
    await allow(database, claim, FORTY)
    await clock.advance(HOUR)
    async with database.pool.acquire() as connection:
        await pace.empty_all(connection)
    assert await ask(database, claim) == HeldBack(timedelta(seconds=1.5125), by_chat=False)


# The rule and its twin


class Twin:
    """The same account kept by the rules in memory; one message of the same history at a time."""

    def __init__(self, allowance: Allowance, chat: Pace, now: datetime) -> None:
        self.caps = allowance.caps
        self.pace = allowance.pace(allowance.ceiling)
        self.chat_pace = chat
        self.bucket: PaceBucket = pace_bucket.empty(self.pace, now)
        self.chats: dict[str, PaceBucket] = {}
        self.sent: list[datetime] = []

    def ask(self, chat: str | None, now: datetime) -> datetime | HeldBack:
        account = pace_bucket.charge(self.bucket, self.pace, now)
        answers: list[pace_bucket.PaceGranted | pace_bucket.PaceWait] = [account]
        if chat is not None:
            answers.append(pace_bucket.charge(self.chats.get(chat), self.chat_pace, now))
        capped = held_back_until(sorted(self.sent), self.caps, now)
        if capped is None and all(isinstance(answer, pace_bucket.PaceGranted) for answer in answers):
            self.bucket = account.bucket
            if chat is not None:
                self.chats[chat] = answers[1].bucket
            self.sent.append(now)
            return now
        # What is not charged is kept only as far as it was corrected.
        self.bucket = pace_bucket.corrected(self.bucket, self.pace, now)
        if chat is not None:
            kept = self.chats.get(chat) or pace_bucket.empty(self.chat_pace, now)
            self.chats[chat] = pace_bucket.corrected(kept, self.chat_pace, now)
        held = [account.until] if isinstance(account, pace_bucket.PaceWait) else []
        held += [capped] if capped is not None else []
        if held:
            return HeldBack(max(held) - now, by_chat=False)
        assert isinstance(answers[1], pace_bucket.PaceWait)
        return HeldBack(answers[1].until - now, by_chat=True)


AS_TOLD = timedelta.max  # stands for: exactly as long as the last answer said

histories = st.lists(
    st.tuples(
        st.one_of(st.just(AS_TOLD), st.timedeltas(timedelta(), timedelta(seconds=4)), st.timedeltas(-HOUR, HOUR)),
        st.sampled_from(["1", "2", None]),
    ),
    max_size=40,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=histories,
    ceiling=st.integers(1, 60),
    burst=st.integers(1, 3),
    caps=st.builds(Caps, per_hour=st.none() | st.integers(1, 5), per_day=st.none() | st.integers(1, 8)),
    chat=st.builds(Pace, rate=st.integers(1, 30), burst=st.integers(1, 2)),
)
async def test_the_rule_and_its_twin_in_sql_agree(
    database: Database,
    clock: HeldClock,
    *,
    history: list[tuple[timedelta, str | None]],
    ceiling: int,
    burst: int,
    caps: Caps,
    chat: Pace,
) -> None:
    """Over any history, clocks that go back included, ``claim_send`` grants and waits exactly as the rules say."""
    await set_wall(clock, NOON)
    claim = await an_account(database, f"shop {next(_numbers)}")
    allowance = Allowance(ceiling=ceiling, burst=burst, caps=caps)
    await allow(database, claim, allowance)
    twin = Twin(allowance, chat, NOON)
    told = timedelta()
    for step, to in history:
        await set_wall(clock, clock.now() + (told if step is AS_TOLD else step))
        answer = await ask(database, claim, None if to is None else ChatLimit(to, chat))
        assert (answer.at if isinstance(answer, GrantedSend) else answer) == twin.ask(to, clock.now())
        told = answer.wait if isinstance(answer, HeldBack) else timedelta()
