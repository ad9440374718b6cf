"""The indexes of search on messages: which there are, and building those that are missing while messages are used."""

from __future__ import annotations

from tidegate.database.pool import Connection

_KEYS = "gin (words, search_keys(channel, topic, at))"
_WANTED = {
    "messages_sampled_newest": "(at) WHERE hashint8(id) & 255 = 0",
    "messages_sampled": f"USING {_KEYS} WHERE hashint8(id) & 255 = 0",
    "messages_found": f"USING {_KEYS} WITH (gin_pending_list_limit = 512)",
}
_REPLACED = "messages_words"
_LOCK = 0x7467_7369  # "tgsi": one process builds


async def missing(connection: Connection) -> list[str]:
    """The names of indexes that are not there, or were not finished, in the order to build them."""
    rows = await connection.fetch(
        "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'messages'::regclass AND indisvalid"
    )
    there = {row["name"] for row in rows}
    return [name for name in _WANTED if name not in there]


async def is_replaced_there(connection: Connection) -> bool:
    """Whether the index of an earlier release is still there."""
    found: bool = await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", _REPLACED)
    return found


async def try_alone(connection: Connection) -> bool:
    """Be the only process that builds, until the session ends; False when another one is."""
    alone: bool = await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK)
    return alone


async def build(connection: Connection, name: str) -> None:
    """Build an index while messages are read and written; what an interrupted build left is removed first."""
    await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    await connection.execute(f"CREATE INDEX CONCURRENTLY {name} ON messages {_WANTED[name]}")


async def drop_replaced(connection: Connection) -> None:
    """Remove the index of an earlier release, while messages are used."""
    await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_REPLACED}")


async def progress(connection: Connection) -> str | None:
    """How far the server is with building, such as "scanning the table, 40%"; None when nothing is being built."""
    found: str | None = await connection.fetchval(
        """
        SELECT phase || coalesce(', ' || round(100.0 * blocks_done / nullif(blocks_total, 0)) || '%', '')
        FROM pg_stat_progress_create_index WHERE relid = 'messages'::regclass LIMIT 1
        """
    )
    return found
