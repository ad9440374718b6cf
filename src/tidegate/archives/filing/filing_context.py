"""The resources that work on a set needs."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.core.clock import Clock
from tidegate.core.ids import CycleNumber
from tidegate.database.pool import Database
from tidegate.lanes import Lane


@dataclass(frozen=True, slots=True)
class FilingContext:
    """An account's lane, the database, the clock and the work folder; calls are recorded for the *cycle*, if any."""

    lane: Lane
    database: Database
    clock: Clock
    work: WorkFolder
    cycle: CycleNumber | None
