"""Discord's own meters, and the rest an account takes before it is shut out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.clock import HeldClock
from tidegate.platforms.discord.errors import RestAnswer
from tidegate.platforms.discord.rate_limits import (
    LONGEST_RESET,
    NEXT_ANSWER,
    REFUSED_IN_A_ROW,
    REFUSED_IN_TEN_MINUTES,
    RateLimits,
    Refusals,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAGE, POST = "GET /channels/{channel.id}/messages", "POST /channels/{channel.id}/messages"


def headers(*, left: int, limit: int = 5, after: float = 2.0, name: str = "abcd") -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(left),
        "X-RateLimit-Reset-After": str(after),
        "X-RateLimit-Bucket": name,
    }


def make(meters: RateLimits, method: str, major: str, told: dict[str, str] | None) -> None:
    meters.answered(meters.take(method, major), method, major, told)


async def test_an_empty_bucket_refuses_until_it_fills() -> None:
    """H-25: known beforehand, so that nobody has to be refused."""
    clock = HeldClock(NOW)
    meters = RateLimits(clock)
    make(meters, PAGE, "1", headers(left=0, after=1.5))
    assert meters.refused_for(PAGE, "1") == 1.5
    await clock.advance(timedelta(seconds=1.5))
    assert meters.refused_for(PAGE, "1") == 0


def test_another_channel_has_a_bucket_of_its_own() -> None:
    """The channel is part of the bucket: others go on."""
    meters = RateLimits(HeldClock(NOW))
    make(meters, PAGE, "1", headers(left=0))
    assert meters.refused_for(PAGE, "2") == 0


def test_methods_that_share_a_bucket_wait_together() -> None:
    """Discord names the bucket; where two methods get the same name, one uses up the other's."""
    meters = RateLimits(HeldClock(NOW))
    make(meters, POST, "1", headers(left=5))
    make(meters, PAGE, "1", headers(left=0))
    assert meters.refused_for(POST, "1") == 2.0


def test_a_bucket_nobody_has_met_is_as_large_as_its_siblings() -> None:
    """One answer in one channel tells the limit of all: the next channel's calls go side by side at once."""
    meters = RateLimits(HeldClock(NOW))
    make(meters, PAGE, "1", headers(left=4, limit=5))
    for _ in range(5):
        assert meters.refused_for(PAGE, "2") == 0
        meters.take(PAGE, "2")
    assert meters.refused_for(PAGE, "2") > 0


def test_calls_in_flight_are_taken_into_account() -> None:
    """What has left and is not answered may have used the rest up."""
    meters = RateLimits(HeldClock(NOW))
    make(meters, PAGE, "1", headers(left=2))
    first, second = meters.take(PAGE, "1"), meters.take(PAGE, "1")
    assert meters.refused_for(PAGE, "1") == NEXT_ANSWER
    meters.answered(first, PAGE, "1", headers(left=1))
    meters.answered(second, PAGE, "1", headers(left=1))
    assert meters.refused_for(PAGE, "1") == 0


def test_the_first_call_of_a_method_goes_alone() -> None:
    """Nobody knows the bucket yet; its answer tells, and a lost answer holds nobody up."""
    meters = RateLimits(HeldClock(NOW))
    taken = meters.take(PAGE, "1")
    assert meters.refused_for(PAGE, "1") == NEXT_ANSWER
    assert meters.refused_for(PAGE, "2") == 0
    meters.answered(taken, PAGE, "1", None)
    assert meters.refused_for(PAGE, "1") == 0


@given(limit=st.integers(1, 10), calls=st.integers(1, 60), in_flight=st.integers(1, 5))
async def test_who_goes_by_the_meter_is_never_refused(limit: int, calls: int, in_flight: int) -> None:
    """Against a server that counts as Discord does: no call over the limit in any window, and all get through."""
    clock = HeldClock(NOW)
    meters = RateLimits(clock)
    window, used, over = -10.0, 0, 0
    waiting = []
    done = 0
    while done < calls:
        while len(waiting) < in_flight and done + len(waiting) < calls and not meters.refused_for(PAGE, "1"):
            if clock.ticks() >= window + 5:
                window, used = clock.ticks(), 0
            used += 1
            over += used > limit
            told = headers(left=max(0, limit - used), limit=limit, after=window + 5 - clock.ticks())
            waiting.append((meters.take(PAGE, "1"), told))
        if waiting:
            taken, told = waiting.pop(0)
            meters.answered(taken, PAGE, "1", told)
            done += 1
        else:
            await clock.advance(timedelta(seconds=meters.refused_for(PAGE, "1")))
    assert not over


def refusal(status: int = 429, scope: str = "user") -> RestAnswer:
    return RestAnswer(status, {"X-RateLimit-Scope": scope}, {"retry_after": 0.1})


def test_many_refusals_in_a_row_make_the_account_rest() -> None:
    """H-28: far below 10,000, with the reason; after the rest one more is enough."""
    refusals = Refusals(HeldClock(NOW))
    rests = [refusals.note(refusal()) for _ in range(50)]
    assert not any(rests[: REFUSED_IN_A_ROW - 1])
    rest = rests[REFUSED_IN_A_ROW - 1]
    assert rest is not None
    assert rest.pause == timedelta(minutes=10)
    assert "25 calls in a row" in str(rest)
    assert refusals.note(refusal()) is not None


def test_an_answer_between_begins_the_row_anew() -> None:
    """A refusal now and then is how limits work."""
    refusals = Refusals(HeldClock(NOW))
    for _ in range(REFUSED_IN_A_ROW * 3):
        assert refusals.note(refusal()) is None
        assert refusals.note(RestAnswer(200, {}, [])) is None


async def test_many_refusals_among_answers_count_for_ten_minutes() -> None:
    """Closed doors count as well, until they are ten minutes old."""
    clock = HeldClock(NOW)
    refusals = Refusals(clock)
    for _ in range(REFUSED_IN_TEN_MINUTES - 1):
        assert refusals.note(refusal(403)) is None
    await clock.advance(timedelta(minutes=10))
    assert refusals.note(refusal(403)) is None
    for _ in range(REFUSED_IN_TEN_MINUTES - 2):
        assert refusals.note(refusal(403)) is None
    assert refusals.note(refusal(403)) is not None


def test_what_others_used_up_does_not_count() -> None:
    """Discord does not hold a shared limit against the account."""
    refusals = Refusals(HeldClock(NOW))
    assert not any(refusals.note(refusal(scope="shared")) for _ in range(2_000))


_WRITTEN = st.one_of(st.none(), st.text(max_size=12), st.integers(-5, 2**70).map(str), st.floats().map(str))


@given(told=st.fixed_dictionaries({}, optional=dict.fromkeys(headers(left=0), _WRITTEN)))
async def test_no_header_breaks_an_answer_or_blocks_a_bucket_for_long(told: dict[str, str | None]) -> None:
    """Headers come through proxies: missing or absurd ones are passed over, and a bucket fills again all the same."""
    clock = HeldClock(NOW)
    meters = RateLimits(clock)
    make(meters, PAGE, "1", {name: value for name, value in told.items() if value is not None})
    assert meters.refused_for(PAGE, "1") <= LONGEST_RESET
    await clock.advance(timedelta(seconds=LONGEST_RESET))
    assert meters.refused_for(PAGE, "1") == 0
    taken = meters.take(PAGE, "1")
    meters.answered(taken, PAGE, "1", None)
    assert taken.in_flight == 0
