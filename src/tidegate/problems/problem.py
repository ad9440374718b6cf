"""What needs a person, as one list: the command ``tidegate status``, the pages and the menu show the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class ProblemKind(StrEnum):
    """What is wrong; a page chooses its button by it."""

    NO_WORKER = "no_worker"
    ACCOUNT_SIGNED_OUT = "account_signed_out"
    ACCOUNT_BANNED = "account_banned"
    ACCOUNT_STOPPED = "account_stopped"
    ACCOUNT_UNREACHABLE = "account_unreachable"
    SENDING_PAUSED = "sending_paused"
    RUN_NEEDS_ATTENTION = "run_needs_attention"
    RUN_PAUSED = "run_paused"
    RUN_NOT_DELIVERED = "run_not_delivered"
    OUTCOME_UNKNOWN = "outcome_unknown"
    ARCHIVES_GIVEN_UP = "archives_given_up"
    ARCHIVES_FAILED = "archives_failed"
    ARCHIVES_WAIT = "archives_wait"
    FILES_WAIT = "files_wait"
    CHANNELS_BEHIND = "channels_behind"
    CHANNELS_UNREADABLE = "channels_unreadable"
    DISK_NEARLY_FULL = "disk_nearly_full"
    BACKUP_TOO_OLD = "backup_too_old"
    TOKENS_UNCONFIRMED = "tokens_unconfirmed"  # after a restore
    DATABASE_UNREACHABLE = "database_unreachable"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs a person."""

    kind: ProblemKind
    what: str  # a sentence that says what is wrong
    action: str  # what to do about it
    since: datetime | None = None  # since when it is so, if that is known
    subject: str | None = None
    """The account's name or the run's number that it is about, where it is about one."""


@dataclass(frozen=True, slots=True)
class ProblemLimits:
    """From when on something counts as a problem.

    *checked_within* is how long the channels of an account may stay unchecked, by the name of its platform.
    """

    checked_within: dict[str, timedelta] = field(default_factory=dict)
    backed_up_within: timedelta = timedelta(days=8)
    unreachable_for: timedelta = timedelta(minutes=1)
    unknown_for: timedelta = timedelta(minutes=10)
    not_delivered_within: timedelta = timedelta(days=3)
