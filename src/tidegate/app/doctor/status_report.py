"""Whether all is well: the problems and figures of the database, and the disk of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate import __version__
from tidegate.app.composition import Runtime
from tidegate.app.platform_registry import platforms
from tidegate.app.settings import Settings
from tidegate.core.platform import Platform
from tidegate.problems.documents import StatusDocument, status_document
from tidegate.problems.local_disk import DiskSpace, disk_space
from tidegate.problems.problem import Problem, ProblemKind, ProblemLimits
from tidegate.problems.problem_list import problems
from tidegate.problems.queries.service_summary import ServiceSummary, summary
from tidegate.workers.queries import workers

_SLACK = timedelta(hours=1)
"""Beside twice the interval: a cycle over many channels, or one that is rate limited, takes its time."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What needs a person, and figures; *figures* and *workers* are None while the database cannot be reached."""

    problems: list[Problem]
    disk: DiskSpace
    figures: ServiceSummary | None = None
    workers: int | None = None

    def document(self) -> StatusDocument:
        return status_document(self.problems, self.figures, self.workers, self.disk, __version__)


def problem_limits(settings: Settings) -> ProblemLimits:
    """From when on something is a problem, by the operator's settings."""
    return ProblemLimits(
        checked_within={one.name: _checked_within(settings, one) for one in platforms() if one.can_be_mirrored},
        backed_up_within=settings.backed_up_within,
    )


def _checked_within(settings: Settings, platform: Platform) -> timedelta:
    intervals = (settings.guild_cycle_every(platform), settings.guild_cycle_every_live(platform))
    return 2 * max(intervals) + _SLACK


async def report(runtime: Runtime) -> StatusReport:
    """How Tidegate does now."""
    disk = disk_space(runtime.settings.home)
    async with runtime.database.connection() as connection:
        found = await problems(connection, problem_limits(runtime.settings))
        figures = await summary(connection)
        alive = len(await workers.alive(connection))
    return StatusReport([*found, *disk.problems(runtime.settings.disk_reserve)], disk, figures, alive)


def unreachable(settings: Settings, why: str) -> StatusReport:
    """The report while the database cannot be used; *why* is the sentence about it."""
    disk = disk_space(settings.home)
    action = "Start the database or correct its address; more: tidegate doctor"
    lost = Problem(ProblemKind.DATABASE_UNREACHABLE, why, action)
    return StatusReport([lost, *disk.problems(settings.disk_reserve)], disk)
