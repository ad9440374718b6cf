"""What the operator's settings mean to the mirror; apart from it, so that who only asks for them loads no platform."""

from __future__ import annotations

from tidegate.engine.evidence import this_host
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.filing import FilingHabits
from tidegate.mirror.history import HistoryHabits
from tidegate.mirror.work_folder import WorkFolder
from tidegate.rules.archives import SetHabits
from tidegate.rules.backfilling import TurnBudget
from tidegate.rules.planning import CallLimits
from tidegate.rules.retrying import RetryHabits
from tidegate.rules.scanning import ScanHabits
from tidegate.settings import Settings


def habits_of(settings: Settings) -> CycleHabits:
    """The operator's knobs for cycles."""
    return CycleHabits(
        scans=ScanHabits(
            fresh_for=settings.fresh_for,
            cold_after_empty_scans=settings.cold_after_empty_scans,
            cold_every_nth_cycle=settings.cold_every_nth_cycle,
        ),
        preview_calls=settings.preview_calls_per_cycle,
        history=HistoryHabits(
            turn=TurnBudget(
                rounds=settings.backfill_max_iterations,
                batches=settings.backfill_parallel_batches,
                messages=settings.backfill_max_fetch_limit,
            ),
            concurrency=settings.backfill_concurrency,
            target=settings.context_agent_max_messages,
            sync_limit=settings.message_sync_limit,
            reconcile_calls=settings.reconcile_calls_per_cycle,
        ),
        retries=RetryHabits(
            cap=settings.retry_cap, cycle_interval=settings.cycle_every, size_limit=settings.archive_size_limit
        ),
        limits=CallLimits(pages_a_turn=settings.pages_a_turn),
        sets=SetHabits(quiet_for=settings.archive_quiet_for, collect_for=settings.archive_collect_for),
    )


def filing_habits(settings: Settings, habits: CycleHabits) -> FilingHabits:
    """How archives are filed; their parts lie in the data folder meanwhile."""
    return FilingHabits(
        habits.retries, WorkFolder(settings.home / "work", reserve=settings.disk_reserve, host=this_host())
    )
