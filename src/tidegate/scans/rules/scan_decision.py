"""Whether a channel or topic deserves calls in this cycle, and what is stored of it afterwards (seed 000).

A *place* is a channel, or a topic of a forum channel. A cycle decides a verdict for each place and asks the gate about
every channel. It reads what ``call_bounds`` makes of the answers, and stores how the scan ended. Fetching a failed
archive again is separate: ``archives.rules.retry`` says when, and no verdict can prevent it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

INDEX_LAG = 50
"""A search may not know the newest messages yet. After one, this many ids and changes are read once more."""


class Verdict(StrEnum):
    """What a cycle does with a place, and the reason an operator reads."""

    RETRY = "scan: failed archives are due for another try"
    FIRST = "scan: never scanned before"
    ASKED = "scan: asked by hand"
    FRESH = "skip: recently scanned and idle"
    COLD = "skip: cold, not its turn"
    UNREADABLE = "skip: not readable by any account"
    GATE = "gate: ask whether anything changed"
    UNCHANGED = "gate: unchanged"
    CHANGED = "gate: changed"
    UNKNOWN = "gate: unknown, so it is read"

    @property
    def key(self) -> str:
        """The short name under which verdicts are counted."""
        return self.name.lower()


SKIPS = frozenset({Verdict.FRESH, Verdict.COLD})
"""The savings. The gate overrules them, and a due failure never gets one."""


class GateChange(StrEnum):
    """What the gate's answer says about a place."""

    UNCHANGED = "unchanged"  # the platform said so: nothing else makes a place unchanged
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ScanMemory:
    """What is stored of a place between cycles."""

    last_scanned_at: datetime | None = None
    last_scan_found_archives: bool = False
    consecutive_empty_scans: int = 0
    watermark: int = 0  # every archive at or below it is processed, being collected, or recorded as a failure
    newest_seen: int = 0  # of any kind, so that talk above the last archive does not look new in every cycle
    changes: int | None = None  # the platform's own counter of posts, edits and deletions (Telegram: pts)
    failures_to_retry: int = 0  # failures that are due now
    failures_pending: int = 0  # all failures that may still be retried, so none that was given up
    asked: bool = False
    asks: int = 0  # the operator's requests, counted so that one made during a scan is not taken as answered
    # Between these two the counter moved, and which messages were edited or deleted was not read.
    unread_since: int | None = None
    unread_upto: int | None = None
    readable: bool = True


@dataclass(frozen=True, slots=True)
class ScanPolicy:
    """The operator's three settings, which are the seed's."""

    fresh_for: timedelta = timedelta(minutes=5)
    cold_after_empty_scans: int = 5
    cold_every_nth_cycle: int = 5

    def __post_init__(self) -> None:
        if min(self.cold_after_empty_scans, self.cold_every_nth_cycle) < 1 or self.fresh_for < timedelta():
            raise ValueError(f"scan habits count from 1 and look back, not ahead: {self}")


# Before the gate


def decide_scan(memory: ScanMemory, policy: ScanPolicy, *, now: datetime, turn: int) -> Verdict:
    """Decide whether to spend platform calls on a place in this cycle.

    A failure that may still succeed comes before every saving, so no rule below can make the mirror forget an archive.
    All other rules ask whether anything could have changed. A place that no account can read comes first of all, since
    no call is possible.

    *turn* is the account's stored cycle number plus the place's own offset. So cold places take turns, and a worker
    that restarts often still reaches each one.
    """
    if not memory.readable:
        return Verdict.UNREADABLE
    if memory.failures_to_retry:
        return Verdict.RETRY
    if memory.last_scanned_at is None:
        return Verdict.FIRST
    if memory.asked:
        return Verdict.ASKED
    if _is_fresh(memory, policy, now):
        return Verdict.FRESH
    return Verdict.COLD if cycles_until_turn(memory, policy, turn=turn) else Verdict.GATE


def _is_fresh(memory: ScanMemory, policy: ScanPolicy, now: datetime) -> bool:
    """Scanned a moment ago and idle. A scan in the future (the clock went back) says nothing, so it hides nothing."""
    if memory.last_scanned_at is None or memory.last_scan_found_archives or memory.failures_pending:
        return False
    return timedelta() <= now - memory.last_scanned_at < policy.fresh_for


def is_cold(memory: ScanMemory, policy: ScanPolicy) -> bool:
    """Found empty so often that it is looked at beyond the gate only in its turn."""
    return memory.consecutive_empty_scans >= policy.cold_after_empty_scans and not memory.failures_pending


def takes_turn(memory: ScanMemory, policy: ScanPolicy, *, now: datetime, turn: int) -> bool:
    """Whether a cold place is read in this cycle although the gate may call it unchanged: a stale answer ends here."""
    if not memory.readable or not is_cold(memory, policy) or _is_fresh(memory, policy, now):
        return False
    return cycles_until_turn(memory, policy, turn=turn) == 0


def cycles_until_turn(memory: ScanMemory, policy: ScanPolicy, *, turn: int) -> int:
    """How many cycles a cold place still lets pass; 0 when this one is its own, or when the place is not cold."""
    return -turn % policy.cold_every_nth_cycle if is_cold(memory, policy) else 0


# The gate


def judge_change(memory: ScanMemory, *, changes: int | None, newest: int | None) -> GateChange:
    """What the gate's counter of changes and newest message say about a channel; both None when it was left out.

    Only an equal counter proves that nothing was posted, edited or deleted. A lower one is a stale answer. The newest
    message can only prove that something is new: it goes down when it is deleted, and stays when another is edited.
    """
    if changes is None or memory.changes is None:
        return GateChange.CHANGED if newest is not None and newest > memory.newest_seen else GateChange.UNKNOWN
    if changes == memory.changes:
        return GateChange.UNCHANGED
    return GateChange.CHANGED if changes > memory.changes else GateChange.UNKNOWN


def judge_topic(memory: ScanMemory, newest: int | None) -> GateChange:
    """What a topic's newest message says about new files in it; None when the platform did not say."""
    if newest is None:
        return GateChange.UNKNOWN
    return GateChange.CHANGED if newest > memory.newest_seen else GateChange.UNCHANGED


def verdict_after_gate(verdict: Verdict, change: GateChange) -> Verdict:
    """The verdict once the gate has answered: a change, or no clear answer, overrules every saving."""
    if verdict is not Verdict.GATE and verdict not in SKIPS:
        return verdict
    if change is GateChange.UNCHANGED:
        return Verdict.UNCHANGED if verdict is Verdict.GATE else verdict
    return Verdict.CHANGED if change is GateChange.CHANGED else Verdict.UNKNOWN


def search_above(memory: ScanMemory) -> int:
    """The message a search reads down to, itself left out.

    A little below the watermark after a scan of ours, so that a file the index was slow to know is found. An imported
    watermark is used as it is.
    """
    return memory.watermark if memory.last_scanned_at is None else max(0, memory.watermark - INDEX_LAG)


# After the scan


@dataclass(frozen=True, slots=True)
class ScanOutcome:
    """How a scan ended. ``newest`` and ``changes`` were read before it began: what is posted meanwhile is not skipped.

    ``complete``: the walk reached its end, or the gate said that there was nothing to walk. ``failures_pending`` are
    counted in the transaction that stores the outcome. ``unread``: edits and deletions up to ``changes`` were not read.
    """

    complete: bool
    newest: int | None = None
    changes: int | None = None
    archives_found: int = 0
    archives_failed: int = 0
    failures_pending: int = 0
    by_search: bool = False
    unread: bool = False


def is_truly_idle(outcome: ScanOutcome) -> bool:
    """Nothing found, nothing failed, nothing left to retry, and known for certain: the only place that decides it."""
    return outcome.complete and not (outcome.archives_found or outcome.archives_failed or outcome.failures_pending)


def after_scan(memory: ScanMemory, outcome: ScanOutcome, *, now: datetime) -> ScanMemory:
    """The memory to store with the last page of a scan, empty ones included.

    Watermark and newest message only move forward, and only after a whole walk. An unfinished walk keeps the old
    counter of changes, so the gate sends the next cycle back to what is missing.
    """
    idle = is_truly_idle(outcome)
    seen = replace(
        memory,
        last_scanned_at=now,
        last_scan_found_archives=not idle,
        consecutive_empty_scans=memory.consecutive_empty_scans + 1 if idle else 0,
        failures_pending=outcome.failures_pending,
        asked=memory.asked and not outcome.complete,
    )
    if not outcome.complete:
        return seen
    newest = max(memory.newest_seen, outcome.newest or 0)
    counter = _counter(memory, outcome)
    moved = replace(seen, watermark=max(memory.watermark, newest), newest_seen=newest, changes=counter)
    return _with_unread(memory, moved) if outcome.unread else moved


def _with_unread(memory: ScanMemory, moved: ScanMemory) -> ScanMemory:
    """The memory with what the counter moved past unread; where the counter was cleared, from its last value on."""
    was = memory.unread_upto if memory.changes is None else memory.changes
    if was is None or moved.changes is None:
        return moved
    if moved.changes > was:
        since = was if memory.unread_since is None else memory.unread_since
        return replace(moved, unread_since=since, unread_upto=moved.changes)
    is_empty = memory.unread_since is not None and memory.unread_since == memory.unread_upto
    return replace(moved, unread_since=None, unread_upto=None) if is_empty else moved


def _counter(memory: ScanMemory, outcome: ScanOutcome) -> int | None:
    """The counter to read on from: after a search a little older than the gate's, never older than before."""
    if outcome.changes is None:
        return memory.changes
    if not outcome.by_search:
        return max(memory.changes or 0, outcome.changes)
    return max(memory.changes or 0, outcome.changes - INDEX_LAG, 1)
