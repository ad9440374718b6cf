"""The operator's settings as policies of the mirror, in a module that loads no platform."""

from __future__ import annotations

from tidegate.app.settings import Settings
from tidegate.archives.filing.filing_context import FilingPolicy
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.archives.rules.set_assembly import SetPolicy
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.media.file_fetcher import MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.media.s3_store import open_s3_store
from tidegate.media.store import MediaStore
from tidegate.scans.rules.call_bounds import CallLimits
from tidegate.scans.rules.scan_decision import ScanPolicy
from tidegate.workers.dead_process_check import this_host


def policy_of(settings: Settings) -> CyclePolicy:
    """The operator's settings for cycles."""
    return CyclePolicy(
        scans=ScanPolicy(
            fresh_for=settings.fresh_for,
            cold_after_empty_scans=settings.cold_after_empty_scans,
            cold_every_nth_cycle=settings.cold_every_nth_cycle,
        ),
        preview_calls=settings.preview_calls_per_cycle,
        refill_calls_per_hour=settings.refill_calls_per_hour,
        history=HistoryPolicy(
            budget=PortionBudget(
                rounds=settings.backfill_max_iterations,
                batches=settings.backfill_parallel_batches,
                messages=settings.backfill_max_fetch_limit,
            ),
            concurrency=settings.backfill_concurrency,
            target=settings.context_agent_max_messages,
            reconcile_limit=settings.message_sync_limit,
            reconcile_calls=settings.reconcile_calls_per_cycle,
            verify_within=settings.verify_within,
            verify_calls=settings.verify_calls_per_day,
        ),
        retries=RetryPolicy(
            cap=settings.retry_cap, cycle_interval=settings.cycle_every, size_limit=settings.archive_size_limit
        ),
        limits=CallLimits(pages_a_turn=settings.pages_a_turn),
        sets=SetPolicy(quiet_for=settings.archive_quiet_for, collect_for=settings.archive_collect_for),
    )


def media_setup(settings: Settings) -> MediaSetup:
    """Where files are kept; those that are being fetched are in the data folder, whatever the store."""
    folder = settings.home / "media"
    work = WorkFolder(folder / "partial", reserve=settings.disk_reserve, host=this_host(), what="Files")
    return MediaSetup(media_store(settings), work)


def media_store(settings: Settings) -> MediaStore:
    """The store that the operator chose."""
    if settings.media_store is None:
        return LocalStore(settings.home / "media")
    keys = [None if one is None else one.get_secret_value() for one in (settings.media_key, settings.media_secret)]
    return open_s3_store(settings.media_store, key=keys[0], secret=keys[1])


def filing_policy(settings: Settings, policy: CyclePolicy) -> FilingPolicy:
    """How archives are filed; their parts are in the data folder until then."""
    return FilingPolicy(
        policy.retries, WorkFolder(settings.home / "work", reserve=settings.disk_reserve, host=this_host())
    )
