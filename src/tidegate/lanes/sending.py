"""Sends: claimed before the network is touched, handed over at once or not at all, never repeated here (laws 6, 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from tidegate.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    NotOurs,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.lanes.limits import HAND_OVER_WITHIN
from tidegate.lanes.metrics import count_pace_wait
from tidegate.lanes.road import Road
from tidegate.port import NOT_ASKED, ChannelId
from tidegate.store import pace
from tidegate.store.database import AWAY, Connection
from tidegate.store.pace import ChatLimit, Granted, HeldBack
from tidegate.words import CallId, Outcome

T = TypeVar("T")

Claimed = Callable[[Connection], Awaitable[bool]]
"""The caller's own change of state, made in the transaction that charges the pace; False when somebody was faster."""

_TUNE_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be sent where, and for which run."""

    method: str
    channel: ChannelId
    run: int | None
    claimed: Claimed | None


@dataclass(frozen=True, slots=True)
class _Ticket:
    call: CallId
    asked_at: float


class Sending:
    """The sending side of one lane. One send at a time waits for the pace; the others queue behind it."""

    def __init__(self, road: Road) -> None:
        self._road = road
        self._turn = asyncio.Lock()
        self._slots = asyncio.Semaphore(road.sends.at_once)
        self._tuned_at = road.clock.ticks()
        self._tat = self._next_at = 0.0  # the pace once more, on a clock that no one can set

    async def send(self, order: Order, call: Callable[[], Awaitable[T]]) -> T:
        """Claim and make the call; raises what happened instead, in words that say whether it was handed over."""
        ticket = await self._ticket(order)
        try:
            return await self._hand_over(ticket, order, call)
        finally:
            self._slots.release()

    async def _ticket(self, order: Order) -> _Ticket:
        """Wait for this order's turn and claim it; a slot is held for it from then on."""
        while True:
            await self._road.until_clear(order.method, order.channel)
            await self._expect(order)
            async with self._turn:
                await self._slots.acquire()
                try:
                    answer = await self._claim_in_turn(order)
                except BaseException:
                    self._slots.release()
                    raise
                if isinstance(answer, _Ticket):
                    return answer
                self._slots.release()
            if answer is not None:  # only this chat waits: others take their turn meanwhile
                await self._road.sleep(answer.wait)

    async def _expect(self, order: Order) -> None:
        """Have the chat's own pace begin while the account keeps its gap; else the claim, which is next, does that."""
        chat = self._chat(order)
        if chat is None or self._own_gap_left() <= 0:
            return
        try:
            async with self._road.database.connection() as connection:
                await pace.expect_chat(connection, self._road.account.id, chat)
        except AWAY as problem:
            raise NotSent("The database did not answer, so nothing was sent.") from problem

    async def _claim_in_turn(self, order: Order) -> _Ticket | HeldBack | None:
        """Claim as soon as the account's pace allows; None when the order's scope was paused meanwhile."""
        road = self._road
        while True:
            await self._keep_own_gap()
            if not road.is_clear(order.method, order.channel):
                return None
            answer, asked_at = await self._claim(order)
            if isinstance(answer, Granted):
                self._remember_own_gap(answer)
                return _Ticket(answer.call, asked_at)
            if answer.by_chat:
                return answer
            count_pace_wait(road.account.platform, answer.wait.total_seconds())
            await road.sleep(answer.wait)

    async def _keep_own_gap(self) -> None:
        """Keep the interval on this process's own clock too: a database clock that jumps ahead then gives no burst."""
        if (left := self._own_gap_left()) > 0:
            count_pace_wait(self._road.account.platform, left)
            await self._road.sleep(timedelta(seconds=left))

    def _own_gap_left(self) -> float:
        return self._next_at - self._road.clock.ticks()

    def _remember_own_gap(self, granted: Granted) -> None:
        gap = granted.gap.total_seconds()
        self._tat = max(self._tat, self._road.clock.ticks()) + gap
        self._next_at = self._tat - (granted.burst - 1) * gap

    async def _claim(self, order: Order) -> tuple[Granted | HeldBack, float]:
        """Ask the database, with the caller's change in the same transaction; also when it was asked."""
        try:
            await self._tune()
            if order.claimed is None:
                async with self._road.database.connection() as connection:
                    asked_at = self._road.clock.ticks()
                    return await self._charge(connection, order), asked_at
            async with self._road.database.transaction() as connection:
                asked_at = self._road.clock.ticks()
                answer = await self._charge(connection, order)
                if isinstance(answer, Granted) and not await order.claimed(connection):
                    raise NotSent("Somebody else took this send first, so it was not sent from here.")
                return answer, asked_at
        except AWAY as problem:
            raise NotSent("The database did not answer, so nothing was sent.") from problem

    async def _charge(self, connection: Connection, order: Order) -> Granted | HeldBack:
        road = self._road
        try:
            return await pace.claim_send(
                connection, road.require_open(), order.method, chat=self._chat(order), run=order.run
            )
        except NotSent:
            road.require_open()  # a lane that was stopped meanwhile tells why
            raise

    def _chat(self, order: Order) -> ChatLimit | None:
        limit = self._road.sends.chat
        return None if limit is None else ChatLimit(str(order.channel), limit)

    async def _tune(self) -> None:
        """About once a minute, let the rate climb and the warm-up go on."""
        road = self._road
        if road.clock.ticks() - self._tuned_at < _TUNE_EVERY:
            return
        async with road.database.transaction() as connection:
            await pace.tune(connection, road.require_open(), road.sends.allowance)
        self._tuned_at = road.clock.ticks()

    async def _hand_over(self, ticket: _Ticket, order: Order, call: Callable[[], Awaitable[T]]) -> T:
        road = self._road
        started = road.clock.ticks()
        outcome = Outcome.NOT_SENT
        try:
            self._refuse_late(ticket, order)
            outcome = Outcome.UNKNOWN
            with road.call():
                answer = await call()
            outcome = Outcome.OK
        except NotOurs:  # found at the last look, before anything left
            outcome = Outcome.NOT_SENT
            raise
        except PlatformError as problem:
            if outcome is not Outcome.NOT_SENT:
                outcome = outcome_of(problem)
            raise
        except Exception as problem:
            if outcome is Outcome.NOT_SENT:
                raise
            raise OutcomeUnknown(f"Nobody knows whether the message arrived: {problem!r}") from problem
        finally:
            took = timedelta(seconds=road.clock.ticks() - started)
            road.ledger.answer(ticket.call, outcome, took)
            road.count(order.method, outcome)
        return answer

    def _refuse_late(self, ticket: _Ticket, order: Order) -> None:
        """The last look before the network is touched; nothing is awaited between this and the call."""
        road = self._road
        if road.clock.ticks() - ticket.asked_at > HAND_OVER_WITHIN.total_seconds():
            raise NotSent("The claim took too long to reach the client, so it was not sent; it may be tried again.")
        if not road.is_clear(order.method, order.channel):
            raise NotSent("The platform asked to wait in the last moment, so it was not sent; it may be tried again.")
        road.require_open()


def outcome_of(problem: PlatformError) -> Outcome:
    """How a send ended, by the class of what was raised; what nobody has translated stays unknown."""
    if isinstance(problem, AskedToWait):
        return Outcome.ASKED_TO_WAIT
    if isinstance(problem, (NotSent, *NOT_ASKED)):
        return Outcome.NOT_SENT
    if isinstance(problem, (Refused, ChannelGone, SignedOut, Banned)):
        return Outcome.FAILED
    return Outcome.UNKNOWN
