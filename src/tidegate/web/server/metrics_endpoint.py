"""The metrics that Prometheus scrapes: those of the process, and those of its database connection pool."""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg
from fastapi import FastAPI
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tidegate.database.pool import Database
from tidegate.events.queries.feed import measure_lag


class PoolUse(Collector):
    """Connections of one pool: in use, and the maximum. When both are equal, work waits for the database."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    def collect(self) -> Iterable[GaugeMetricFamily]:
        yield GaugeMetricFamily(
            "tidegate_database_connections_in_use",
            "Database connections of this process that are in use.",
            self._pool.get_size() - self._pool.get_idle_size(),
        )
        yield GaugeMetricFamily(
            "tidegate_database_connections_limit",
            "The most database connections this process keeps for work.",
            self._pool.get_max_size(),
        )


def add_metrics(app: FastAPI, database: Database) -> None:
    of_this_app = CollectorRegistry()
    of_this_app.register(PoolUse(database.pool))

    @app.get("/metrics")
    async def metrics() -> Response:
        await measure_lag(database)
        return Response(generate_latest(REGISTRY) + generate_latest(of_this_app), media_type=CONTENT_TYPE_LATEST)
