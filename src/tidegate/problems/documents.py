"""The JSON document of ``tidegate status``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tidegate.core.json_fields import Instant, instant
from tidegate.problems.local_disk import DiskSpace
from tidegate.problems.problem import Problem
from tidegate.problems.queries.service_summary import ServiceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRow:
    """Something that needs a person; *since* is null where that is not known."""

    kind: str
    what: str
    since: Instant | None
    action: str
    subject: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDocument:
    """Whether all is well, what is not, and a few figures; those of the database are null while it cannot be reached.

    *disk_free* and *disk_size* are bytes of the disk of this machine that holds the data folder.
    """

    ok: bool
    problems: list[ProblemRow]
    version: str
    workers: int | None
    accounts: int | None
    connected: int | None
    channels: int | None
    checked_at: Instant | None
    runs: int | None
    next_reminder: str | None
    next_due_at: Instant | None
    backed_up_at: Instant | None
    disk_free: int
    disk_size: int


def problem_row(problem: Problem) -> ProblemRow:
    return ProblemRow(
        kind=problem.kind.value,
        what=problem.what,
        since=instant(problem.since),
        action=problem.action,
        subject=problem.subject,
    )


def status_document(
    found: Sequence[Problem], figures: ServiceSummary | None, workers: int | None, disk: DiskSpace, version: str
) -> StatusDocument:
    """All of it as one document."""
    known: dict[str, Any] = asdict(figures) if figures else dict.fromkeys(one.name for one in fields(ServiceSummary))
    times: dict[str, Any] = {name: instant(known[name]) for name in ("checked_at", "next_due_at", "backed_up_at")}
    return StatusDocument(
        ok=not found,
        problems=[problem_row(one) for one in found],
        version=version,
        workers=workers,
        disk_free=disk.free,
        disk_size=disk.total,
        **{name: known[name] for name in ("accounts", "connected", "channels", "runs", "next_reminder")},
        **times,
    )
