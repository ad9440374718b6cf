"""Which ranges of a channel's history are known to be complete, as PostgreSQL multiranges."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import ChannelKey, Span, TopicId
from tidegate.database.pool import Connection
from tidegate.history.rules.coverage import Content, Coverage

K = TypeVar("K", bound=Hashable)

_SPAN = re.compile(r"\[(\d+),(\d+)\)")  # the end is left out of it, as PostgreSQL writes ranges of numbers
_AT_ONCE = 20_000
"""Characters of stretches that are read at once, some thousand of them; they come as text because that costs least."""


async def load(connection: Connection, key: ChannelKey, topic: TopicId = NO_TOPIC) -> dict[Content, Coverage]:
    """A channel's (or selected topic's) coverage of each kind; empty where nothing is stored."""
    rows = await connection.fetch(
        "SELECT kind, spans::text AS spans FROM coverage WHERE channel = $1 AND topic = $2", key, topic
    )
    found = await _read_all({Content(row["kind"]): row["spans"] for row in rows})
    return {kind: found.get(kind, Coverage()) for kind in Content}


async def load_many(connection: Connection, keys: Collection[ChannelKey]) -> dict[ChannelKey, dict[Content, Coverage]]:
    """The coverage of several channels as a whole; one of which nothing is covered is left out."""
    rows = await connection.fetch(
        "SELECT channel, kind, spans::text AS spans FROM coverage WHERE channel = ANY($1) AND topic = $2",
        list(keys), NO_TOPIC,
    )  # fmt: skip
    read = await _read_all({(row["channel"], Content(row["kind"])): row["spans"] for row in rows})
    found: dict[ChannelKey, dict[Content, Coverage]] = {}
    for (channel, kind), known in read.items():
        found.setdefault(channel, {})[kind] = known
    return found


async def add(
    connection: Connection, key: ChannelKey, spans: Mapping[Content, Span | None], topic: TopicId = NO_TOPIC
) -> None:
    """Cover one more stretch of each kind. The union is made by the database, so no writer can shorten it."""
    added = [(kind.value, span.low, span.high) for kind, span in spans.items() if span is not None]
    if added:
        await connection.execute(
            """
            INSERT INTO coverage AS c (channel, topic, kind, spans)
            SELECT $1, $2, g.kind, int8multirange(int8range(g.low, g.high, '[]'))
            FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS g (kind, low, high)
            ON CONFLICT (channel, topic, kind) DO UPDATE SET spans = c.spans + excluded.spans
            WHERE NOT c.spans @> excluded.spans
            """,
            key, topic, *zip(*added, strict=True),
        )  # fmt: skip


async def _read_all(written: dict[K, str]) -> dict[K, Coverage]:
    """Stored multiranges as coverage, in a thread where there are very many ranges."""
    if sum(map(len, written.values())) <= _AT_ONCE:
        return _read(written)
    return await asyncio.to_thread(_read, written)


def _read(written: dict[K, str]) -> dict[K, Coverage]:
    return {key: read_coverage(text) for key, text in written.items()}


def read_coverage(written: str) -> Coverage:
    """A multirange as PostgreSQL writes it, as coverage."""
    return Coverage.of((int(one[1]), int(one[2]) - 1) for one in _SPAN.finditer(written))
