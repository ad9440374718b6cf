"""A worker that sends as fast as it may, and says in the claim's own transaction what it is about to send."""

from __future__ import annotations

from uuid import uuid4

from tidegate.app.composition import Runtime
from tidegate.core.errors import NotSent
from tidegate.core.ids import ChannelId
from tidegate.database.pool import Connection
from tidegate.lanes import Lane
from tidegate.platforms.interface import SendKey

TABLE = "CREATE TABLE test_claims (key text PRIMARY KEY, at timestamptz NOT NULL)"


async def keep_claiming_and_sending(runtime: Runtime, lane: Lane) -> None:
    while True:
        key = uuid4().hex

        async def claimed(connection: Connection, key: str = key) -> bool:
            await connection.execute("INSERT INTO test_claims VALUES ($1, clock_timestamp())", key)
            await connection.execute("NOTIFY test_claims")  # heard when the claim is committed, not before
            return True

        try:
            await lane.send(ChannelId(1), "tick", key=SendKey(key), claimed=claimed)
        except NotSent:
            continue  # the token is lost, as it must be
