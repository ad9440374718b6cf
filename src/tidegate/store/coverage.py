"""Which stretches of a channel's history are known to be complete, as PostgreSQL multiranges."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import asyncpg

from tidegate.rules.history import Content, Coverage, Span
from tidegate.store.channels import WHOLE
from tidegate.store.database import Connection


async def load(connection: Connection, key: int, topic: int = WHOLE) -> dict[Content, Coverage]:
    """A channel's (or selected topic's) coverage of each kind; nothing is covered where there is no row."""
    rows = await connection.fetch("SELECT kind, spans FROM coverage WHERE channel = $1 AND topic = $2", key, topic)
    found = {Content(row["kind"]): coverage_of(row["spans"]) for row in rows}
    return {kind: found.get(kind, Coverage()) for kind in Content}


async def load_many(connection: Connection, keys: Collection[int]) -> dict[int, dict[Content, Coverage]]:
    """The coverage of several channels as a whole; one of which nothing is covered is left out."""
    rows = await connection.fetch(
        "SELECT channel, kind, spans FROM coverage WHERE channel = ANY($1) AND topic = $2", list(keys), WHOLE
    )
    found: dict[int, dict[Content, Coverage]] = {}
    for row in rows:
        found.setdefault(row["channel"], {})[Content(row["kind"])] = coverage_of(row["spans"])
    return found


async def add(connection: Connection, key: int, spans: Mapping[Content, Span | None], topic: int = WHOLE) -> None:
    """Cover one more stretch of each kind. The union is made by the database, so no writer can shorten it."""
    for kind, span in spans.items():
        if span is not None:
            await connection.execute(
                """
                INSERT INTO coverage AS c (channel, topic, kind, spans)
                VALUES ($1, $2, $3, int8multirange(int8range($4, $5, '[]')))
                ON CONFLICT (channel, topic, kind) DO UPDATE SET spans = c.spans + excluded.spans
                WHERE NOT c.spans @> excluded.spans
                """,
                key, topic, kind.value, span.low, span.high,
            )  # fmt: skip


def coverage_of(spans: list[asyncpg.Range[int]] | None) -> Coverage:
    """A stored multirange as coverage; nothing is covered where there is none."""
    return Coverage.of(
        (one.lower, one.upper - 1) for one in spans or () if one.lower is not None and one.upper is not None
    )
