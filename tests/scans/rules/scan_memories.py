"""Any memory of earlier scans, for hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tidegate.scans.rules.scan_decision import ScanMemory

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
counts = st.integers(0, 60)
ages = st.timedeltas(-2 * HOUR, 2 * HOUR) | st.timedeltas(-6 * MINUTE, 6 * MINUTE)
memories = st.builds(
    ScanMemory,
    last_scanned_at=st.none() | ages.map(lambda age: NOON - age),
    last_scan_found_archives=st.booleans(),
    consecutive_empty_scans=counts,
    watermark=counts,
    newest_seen=counts,
    changes=st.none() | st.integers(1, 400),
    failures_to_retry=st.integers(0, 2),
    failures_pending=st.integers(0, 2),
    asked=st.booleans(),
    readable=st.booleans(),
)
