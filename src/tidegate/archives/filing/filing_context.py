"""The resources that work on a set needs."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.archives.handle_renewal import SourceAccess
from tidegate.archives.rules.delivery_plan import SMALL_AT_MOST
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.clock import Clock


@dataclass(frozen=True, slots=True)
class FilingPolicy:
    """How sets are filed."""

    retries: RetryPolicy  # when failures are retried
    work: WorkFolder  # where parts are downloaded to
    largest: int | None = None  # the largest file to upload; None: what the platform accepts from the account
    small_at_most: int = SMALL_AT_MOST  # a set with more bytes to move counts as large


@dataclass(frozen=True, slots=True)
class FilingContext(SourceAccess):
    """What work on the sets of an account needs."""

    clock: Clock
    policy: FilingPolicy

    @property
    def work(self) -> WorkFolder:
        return self.policy.work
