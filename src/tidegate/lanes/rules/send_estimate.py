"""Estimates whether a run fits: how many sends the coming windows hold, and when the last one is (seed 002)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.send_caps import DAY, HOUR, Caps, WarmUp, warm_up_cap
from tidegate.lanes.rules.send_hours import WindowDay

FARTHEST = 366
"""Maximum number of windows in an estimate: a run that takes longer than a year does not fit."""


@dataclass(frozen=True, slots=True)
class SendSupply:
    """What an account may send: its pace, its caps, and its warm-up with the instant that began.

    *spent* sends were already made, and count towards the daily caps until *spent_until*.
    """

    pace: Pace
    caps: Caps = field(default_factory=Caps)
    warm_up: WarmUp | None = None
    warm_since: datetime | None = None
    spent: int = 0
    spent_until: datetime | None = None

    def within(self, opening: WindowDay) -> int:
        """The most sends from an empty bucket between two instants."""
        open_for = max(opening.closes - opening.opens, timedelta())
        most = open_for // self.pace.interval
        if self.caps.per_hour is not None:
            hours, rest = divmod(open_for, HOUR)
            most = min(most, hours * self._hourly + min(rest // self.pace.interval, self._hourly))
        for cap in (self.caps.per_day, self._warm_cap(opening.opens)):
            if cap is not None:
                most = min(most, cap * max(-(-open_for // DAY), 1) - self._spent(opening.opens))
        return max(most, 0)

    def last_of(self, sends: int, opens: datetime) -> datetime:
        """When the last of so many sends is made, the first of them an interval after *opens*."""
        hours, rest = divmod(sends - 1, self._hourly) if self.caps.per_hour is not None else (0, sends - 1)
        return opens + hours * HOUR + (rest + 1) * self.pace.interval

    @property
    def _hourly(self) -> int:
        assert self.caps.per_hour is not None
        return min(self.caps.per_hour, HOUR // self.pace.interval)

    def _spent(self, at: datetime) -> int:
        return self.spent if self.spent_until is not None and at < self.spent_until else 0

    def _warm_cap(self, at: datetime) -> int | None:
        if self.warm_up is None:
            return None
        return warm_up_cap(self.warm_up, self.warm_since or at, at)


@dataclass(frozen=True, slots=True)
class WindowShare:
    """The part of a run that one window takes."""

    opening: WindowDay
    sends: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Whether a run fits. *short_by* sends have no room; with *accounts* accounts it fits into one window."""

    sends: int
    starts_at: datetime | None
    finishes_at: datetime | None
    short_by: int
    windows: Sequence[WindowShare]
    accounts: int

    @property
    def fits(self) -> bool:
        return self.short_by == 0


@dataclass(frozen=True, slots=True)
class QueuedSends:
    """What a run still has to send in its window; it *ends* with that window or continues in the next."""

    sends: int
    opening: WindowDay
    ends: bool


def ahead_at(queue: Iterable[QueuedSends], supply: SendSupply, *, now: datetime, at: datetime) -> int:
    """How many of the sends queued *now* are still ahead of a run that fires at a later instant.

    Sends that fit into a run's own window until then are made, one run after the other. Sends that continue in further
    windows count in full, which is a cautious estimate.
    """
    ahead = used = 0
    for one in queue:
        room = supply.within(WindowDay(max(one.opening.opens, now), min(one.opening.closes, at))) - used
        sent = min(one.sends, max(room, 0))
        used += sent
        if not (one.ends and one.opening.closes <= at):
            ahead += one.sends - sent
    return ahead


def estimate(
    sends: int, supply: SendSupply, openings: Iterable[WindowDay], *, now: datetime, queued: int = 0
) -> Estimate:
    """Place so many sends into the coming windows, behind *queued* others that the account has to make first.

    Pass one window where the run stops when it closes, and the endless sequence where it continues.
    """
    ahead, left, shares = queued, sends, list[WindowShare]()
    starts_at = finishes_at = None
    room = 0
    for _, opening in zip(range(FARTHEST), openings, strict=False):
        usable = WindowDay(max(opening.opens, now), opening.closes)
        fits = supply.within(usable)
        room = room or replace(supply, spent=0).within(usable)  # of an account that has not sent yet
        first = min(ahead, fits)
        mine = min(left, fits - first)
        ahead, left = ahead - first, left - mine
        if mine:
            starts_at = starts_at or supply.last_of(first + 1, usable.opens)
            finishes_at = supply.last_of(first + mine, usable.opens)
            shares.append(WindowShare(usable, mine))
        if not left:
            break
    return Estimate(sends, starts_at, finishes_at, left, shares, max(-(-sends // room), 1) if room else 0)
