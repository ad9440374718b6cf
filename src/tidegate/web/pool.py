"""How busy the pool of database connections is, read at the moment somebody asks."""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class PoolUse(Collector):
    """Connections of one pool: in use, and the most there may be. When the two meet, work waits for the database."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    def collect(self) -> Iterable[GaugeMetricFamily]:
        yield GaugeMetricFamily(
            "tidegate_database_connections_in_use",
            "Database connections of this process that are at work.",
            self._pool.get_size() - self._pool.get_idle_size(),
        )
        yield GaugeMetricFamily(
            "tidegate_database_connections_limit",
            "The most database connections this process keeps for work.",
            self._pool.get_max_size(),
        )
