"""Sends: claimed before any network access, handed over at once or not at all, never repeated here.

Invariant: claim-before-send and never-above-the-pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from tidegate.core import errors
from tidegate.core.ids import CallId, ChannelId, RunId
from tidegate.core.platform_call import CallOutcome
from tidegate.database.pool import AWAY, Connection
from tidegate.lanes.call_gate import CallGate
from tidegate.lanes.call_limits import HAND_OVER_WITHIN
from tidegate.lanes.call_outcomes import outcome_of
from tidegate.lanes.metrics import count_call, count_pace_wait
from tidegate.lanes.queries import pace
from tidegate.lanes.queries.pace import ChatLimit, GrantedSend, HeldBack
from tidegate.lanes.rules.failure_pause import rest_after

T = TypeVar("T")

Claimed = Callable[[Connection], Awaitable[bool]]
"""The caller's own change of state, in the transaction that charges the pace; False when another process was faster."""

_TUNE_EVERY = 60.0

_ASK_AGAIN_AFTER = timedelta(minutes=1)
"""A send that waits for a daily cap asks again after this: the operator may have raised the cap."""


class _TooLate(errors.NotSent):
    """Given up here, before anything reached the platform."""


@dataclass(frozen=True, slots=True)
class FailurePause:
    """Several sends failed in a row: none is made for *left*, and *why* is the last error."""

    left: timedelta
    why: str


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be sent where, and for which run."""

    method: str
    channel: ChannelId
    chat: ChatLimit | None  # the pace of the chat itself, where its platform has one
    run: RunId | None
    claimed: Claimed | None


@dataclass(frozen=True, slots=True)
class _Ticket:
    call: CallId
    asked_at: float


class PacedSends:
    """Sends of one lane. One send at a time waits for the pace; the others queue behind it."""

    def __init__(self, gate: CallGate) -> None:
        self._gate = gate
        self._pace_lock = asyncio.Lock()
        self._slots = asyncio.Semaphore(gate.sends.at_once)
        self._tuned_at = gate.clock.ticks()
        self._tat = self._next_at = 0.0  # the pace once more, on a clock that cannot be set
        self._failures = 0
        self._methods: set[str] = set()
        self._paused_until, self._paused_why = 0.0, ""

    @property
    def failure_pause(self) -> FailurePause | None:
        """The pause in force after several failed sends, if there is one."""
        left = self._paused_until - self._gate.clock.ticks()
        return FailurePause(timedelta(seconds=left), self._paused_why) if left > 0 else None

    async def send(
        self,
        verb: str,
        channel: ChannelId,
        run: RunId | None,
        claimed: Claimed | None,
        call: Callable[[], Awaitable[T]],
    ) -> T:
        """Claim and make the call; the error says whether it was handed over."""
        limit = self._gate.sends.chat
        chat = None if limit is None else ChatLimit(str(channel), limit)
        order = _Order(self._gate.method(verb), channel, chat, run, claimed)
        self._methods.add(order.method)
        try:
            ticket = await self._claim_when_paced(order)
            try:
                answer = await self._hand_over(ticket, order, call)
            except errors.PlatformError as problem:
                await self._heed_failure(problem)
                raise
            finally:
                self._slots.release()
        except errors.AskedToWait as asked:
            await self._gate.heed_wait(asked, order.method, channel)
            raise
        except (errors.SignedOut, errors.Banned) as stop:
            await self._gate.heed_stop(stop)
            raise
        self._failures = 0
        return answer

    async def _heed_failure(self, problem: errors.PlatformError) -> None:
        """Pause all sends of the account after several failures in a row: the next would fail as well."""
        if isinstance(problem, (errors.Refused, errors.ChannelGone)):  # the platform works and refuses the send
            self._failures = 0
        if isinstance(problem, _TooLate) or not isinstance(problem, (errors.OutcomeUnknown, errors.NotSent)):
            return
        self._failures += 1
        if (pause := rest_after(self._failures)) is not None:
            self._paused_until, self._paused_why = self._gate.clock.ticks() + pause.total_seconds(), str(problem)
            await self._gate.rest(sorted(self._methods), pause, str(problem))

    async def _claim_when_paced(self, order: _Order) -> _Ticket:
        """Wait until this order may be sent, and claim it; a slot is reserved for it from then on."""
        gate = self._gate
        while True:
            await gate.until_clear(order.method, order.channel)
            await self._expect(order)
            chat_wait = timedelta()
            async with self._pace_lock, AsyncExitStack() as slot:
                await slot.enter_async_context(self._slots)
                while True:
                    await self._keep_own_gap()
                    if not gate.is_clear(order.method, order.channel):
                        break
                    answer, asked_at = await self._claim(order)
                    if isinstance(answer, GrantedSend):
                        self._remember_own_gap(answer)
                        slot.pop_all()  # taken until the send has ended
                        return _Ticket(answer.call, asked_at)
                    if answer.by_chat:
                        chat_wait = answer.wait
                        break
                    pause = min(answer.wait, _ASK_AGAIN_AFTER)
                    count_pace_wait(gate.account.platform, pause.total_seconds())
                    await gate.sleep(pause)
            await gate.sleep(chat_wait)  # other chats are sent to meanwhile

    async def _expect(self, order: _Order) -> None:
        """Start the chat's own pace while the account waits for its gap; if this fails, the next claim does it."""
        if order.chat is None or self._next_at <= self._gate.clock.ticks():
            return
        try:
            async with self._gate.database.connection() as connection:
                await pace.expect_chat(connection, self._gate.account.id, order.chat)
        except AWAY as problem:
            raise errors.NotSent("The database did not answer, so nothing was sent.") from problem

    async def _keep_own_gap(self) -> None:
        """Keep the interval on this process's own clock too, so that a jump of the database's clock gives no burst."""
        if (left := self._next_at - self._gate.clock.ticks()) > 0:
            count_pace_wait(self._gate.account.platform, left)
            await self._gate.sleep(timedelta(seconds=left))

    def _remember_own_gap(self, granted: GrantedSend) -> None:
        gap = granted.gap.total_seconds()
        self._tat = max(self._tat, self._gate.clock.ticks()) + gap
        self._next_at = self._tat - (granted.burst - 1) * gap

    async def _claim(self, order: _Order) -> tuple[GrantedSend | HeldBack, float]:
        """Claim in the database, with the caller's change in the same transaction; also returns when it was asked."""
        gate, claimed = self._gate, order.claimed
        try:
            await self._tune()
            async with gate.database.connection() if claimed is None else gate.database.transaction() as connection:
                asked_at = gate.clock.ticks()
                claim = gate.require_open()
                try:
                    answer = await pace.claim_send(connection, claim, order.method, chat=order.chat, run=order.run)
                except errors.NotSent:
                    gate.require_open()  # a lane that was stopped meanwhile raises the reason
                    raise
                if claimed is not None and isinstance(answer, GrantedSend) and not await claimed(connection):
                    raise errors.NotSent("Somebody else took this send first, so it was not sent from here.")
                return answer, asked_at
        except AWAY as problem:
            raise errors.NotSent("The database did not answer, so nothing was sent.") from problem

    async def _tune(self) -> None:
        """About once a minute, let the rate rise and the warm-up continue."""
        gate = self._gate
        if gate.clock.ticks() - self._tuned_at < _TUNE_EVERY:
            return
        async with gate.database.transaction() as connection:
            await pace.tune(connection, gate.require_open(), gate.sends.allowance)
        self._tuned_at = gate.clock.ticks()

    async def _hand_over(self, ticket: _Ticket, order: _Order, call: Callable[[], Awaitable[T]]) -> T:
        gate = self._gate
        started = gate.clock.ticks()
        outcome = CallOutcome.NOT_SENT
        try:
            self._refuse_late(ticket, order)
            outcome = CallOutcome.UNKNOWN
            with gate.call():
                answer = await call()
            outcome = CallOutcome.OK
        except (errors.PlatformError, errors.NotOurs) as problem:
            if outcome is CallOutcome.UNKNOWN:
                outcome = outcome_of(problem, otherwise=outcome)
            raise
        except Exception as problem:
            if outcome is CallOutcome.NOT_SENT:
                raise
            raise errors.OutcomeUnknown(f"Nobody knows whether the message arrived: {problem!r}") from problem
        finally:
            took = timedelta(seconds=gate.clock.ticks() - started)
            gate.call_log.answer(ticket.call, outcome, took)
            count_call(gate.account.platform, order.method, outcome)
        return answer

    def _refuse_late(self, ticket: _Ticket, order: _Order) -> None:
        """The last check before any network access; nothing is awaited between this and the call."""
        gate = self._gate
        if gate.clock.ticks() - ticket.asked_at > HAND_OVER_WITHIN.total_seconds():
            raise _TooLate("The claim took too long to reach the client, so it was not sent; it may be tried again.")
        if not gate.is_clear(order.method, order.channel):
            raise _TooLate("The platform asked to wait in the last moment, so it was not sent; it may be tried again.")
        gate.require_open()
