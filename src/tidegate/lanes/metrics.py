"""What Prometheus hears of lanes."""

from __future__ import annotations

from functools import cache

from prometheus_client import Counter

from tidegate.words import Outcome, Platform, ScopeKind

_CALLS = Counter("tidegate_calls_total", "Platform calls by how they ended.", ["platform", "method", "outcome"])
_WAITS = Counter("tidegate_waits_total", "Times a platform asked to wait.", ["platform", "scope"])
_PACE = Counter("tidegate_pace_wait_seconds_total", "Seconds that sends waited for their pace.", ["platform"])


@cache
def _calls(platform: Platform, method: str, outcome: Outcome) -> Counter:
    return _CALLS.labels(platform.value, method, outcome.value)


def count_call(platform: Platform, method: str, outcome: Outcome) -> None:
    _calls(platform, method, outcome).inc()


def count_wait(platform: Platform, kind: ScopeKind) -> None:
    _WAITS.labels(platform.value, kind.value).inc()


def count_pace_wait(platform: Platform, seconds: float) -> None:
    _PACE.labels(platform.value).inc(seconds)
