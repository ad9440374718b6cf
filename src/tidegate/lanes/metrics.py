"""Prometheus metrics of lanes."""

from __future__ import annotations

from functools import cache

from prometheus_client import Counter

from tidegate.core.platform import Platform
from tidegate.core.platform_call import CallOutcome, ScopeKind

_CALLS = Counter("tidegate_calls_total", "Platform calls by how they ended.", ["platform", "method", "outcome"])
_WAITS = Counter("tidegate_waits_total", "Times a platform asked to wait.", ["platform", "scope"])
_PACE = Counter("tidegate_pace_wait_seconds_total", "Seconds that sends waited for their pace.", ["platform"])

_FOREIGN = Counter(
    "tidegate_foreign_receipts_total",
    "Receipts of other messages in a chat where a message of a run is in doubt.",
    ["platform"],
)


@cache
def _calls(platform: Platform, method: str, outcome: CallOutcome) -> Counter:
    return _CALLS.labels(platform.name, method, outcome.value)


def count_call(platform: Platform, method: str, outcome: CallOutcome) -> None:
    _calls(platform, method, outcome).inc()


def count_wait(platform: Platform, kind: ScopeKind) -> None:
    _WAITS.labels(platform.name, kind.value).inc()


def count_pace_wait(platform: Platform, seconds: float) -> None:
    _PACE.labels(platform.name).inc(seconds)


def count_foreign_receipt(platform: Platform) -> None:
    _FOREIGN.labels(platform.name).inc()
