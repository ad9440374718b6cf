"""How a missing worker ended."""

from datetime import UTC, datetime, timedelta

from tidegate.workers.rules.missing_worker import WorkerEnding, ending_of

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def ending_after(beat: timedelta, *, process_gone: bool = False, session_open: bool = False) -> WorkerEnding | None:
    return ending_of(
        beat_at=NOON - beat,
        time_out=timedelta(seconds=15),
        process_gone=process_gone,
        session_open=session_open,
        now=NOON,
    )


def test_a_lock_that_ended_early_ended_with_its_process() -> None:
    """one-owner-per-account: dead means the lock ended sooner than the time-out after the last stored beat."""
    assert ending_after(timedelta(seconds=14)) is WorkerEnding.DIED
    assert ending_after(timedelta(seconds=15)) is WorkerEnding.SILENT


def test_a_lost_connection_is_not_a_death() -> None:
    """A worker whose other session is still open gets its time-out to come back; then it counts as silent."""
    assert ending_after(timedelta(seconds=14), session_open=True) is None
    assert ending_after(timedelta(seconds=15), session_open=True) is WorkerEnding.SILENT


def test_a_beat_from_the_future_proves_no_death() -> None:
    """A database clock that went back must not free a sign-in that may still be in use."""
    assert ending_after(timedelta(seconds=-1)) is WorkerEnding.SILENT


def test_a_process_seen_gone_is_dead_however_late() -> None:
    """A restart on the same machine does not wait for the longer time-out."""
    assert ending_after(timedelta(hours=9), process_gone=True) is WorkerEnding.DIED
