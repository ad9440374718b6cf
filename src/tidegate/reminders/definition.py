"""The definition of a reminder: what to say, to which groups, when, and what to do in exceptional cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.platforms.interface.uploads import MediaKind
from tidegate.reminders.rules.schedule import Schedule
from tidegate.reminders.rules.send_states import WhenUnknown


class WhenClosed(StrEnum):
    """What to do with the rest of a run when its window closes, or with a run that was fired too late."""

    STOP = "stop"  # skip the rest; a run that was fired too late sends nothing
    RESUME_NEXT = "resume_next"  # send it in the next window


class BegunTarget(StrEnum):
    """What to do with a target that has begun when the window closes."""

    FINISH = "finish"  # send the rest of its messages shortly after the end
    STRICT = "strict"  # send nothing after the end


class WhenOverlapping(StrEnum):
    """What to do with a firing while the one before has parts left to send."""

    QUEUE = "queue"  # the new run waits until the old one has ended
    SKIP_OLD = "skip_old"  # the rest of the old run is skipped
    MERGE = "merge"  # the old run finishes groups that have begun; the others get only the new run


@dataclass(frozen=True, slots=True)
class ReminderPart:
    """One message: a text, or a file with a caption. *media* is the file's name as the operator wrote it."""

    text: str = ""
    media: str | None = None
    kind: MediaKind | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """The groups a reminder goes to: named one by one, by a saved list, or all the account may post to."""

    named: Sequence[str] = ()
    list_name: str | None = None
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class ReminderPolicies:
    """What the operator wants done in exceptional cases."""

    when_window_closes: WhenClosed = WhenClosed.STOP
    when_fired_late: WhenClosed = WhenClosed.STOP
    when_unknown: WhenUnknown = WhenUnknown.HOLD
    begun_target: BegunTarget = BegunTarget.FINISH
    when_overlapping: WhenOverlapping = WhenOverlapping.QUEUE


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder that was parsed and checked. Without a *schedule* it is fired by hand, and so while not *enabled*."""

    name: str
    account: str
    targets: Targets
    parts: Sequence[ReminderPart]
    window: SendWindow
    schedule: Schedule | None
    policies: ReminderPolicies
    enabled: bool = True
