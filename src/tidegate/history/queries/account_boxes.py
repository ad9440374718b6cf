"""The counters of accounts' message boxes, which all private chats of an account share."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.core.ids import AccountId, ChannelKey, MessageId
from tidegate.database.pool import Connection
from tidegate.platforms.interface import BoxState


async def load(connection: Connection, account: AccountId, *, lock: bool = False) -> BoxState | None:
    """How far an account's box was followed; None when it was not yet. A *lock* lasts as long as the transaction."""
    row = await connection.fetchrow(
        f"SELECT pts, qts, date FROM account_boxes WHERE account = $1 {'FOR UPDATE' if lock else ''}", account
    )
    return None if row is None else BoxState(row["pts"], row["qts"], row["date"])


async def begin(connection: Connection, account: AccountId, state: BoxState) -> None:
    """Follow a box from a state on; what happened before is read from the chats themselves."""
    await connection.execute(
        """
        INSERT INTO account_boxes (account, pts, qts, date) VALUES ($1, $2, $3, $4)
        ON CONFLICT (account) DO UPDATE SET pts = excluded.pts, qts = excluded.qts, date = excluded.date
        """,
        account, state.changes, state.events, state.at,
    )  # fmt: skip


async def move(connection: Connection, account: AccountId, state: BoxState) -> None:
    """An unbroken sequence has reached *state*; the counter never moves back."""
    await connection.execute(
        """
        UPDATE account_boxes SET pts = $2, qts = greatest(qts, $3), date = greatest(date, $4)
        WHERE account = $1 AND pts <= $2
        """,
        account, state.changes, state.events, state.at,
    )  # fmt: skip


async def unproven(connection: Connection, keys: Collection[ChannelKey]) -> dict[ChannelKey, set[MessageId]]:
    """Stored messages of chats above the newest that is proven: push updates brought them after a gap."""
    rows = await connection.fetch(
        """
        SELECT m.channel, m.id FROM places p JOIN messages m ON m.channel = p.channel AND m.id > p.newest_seen
        WHERE p.channel = ANY($1) AND p.topic = 0 AND p.changes IS NOT NULL AND m.deleted_at IS NULL
        """,
        list(keys),
    )
    found: dict[ChannelKey, set[MessageId]] = {}
    for row in rows:
        found.setdefault(ChannelKey(row["channel"]), set()).add(MessageId(row["id"]))
    return found


async def known_in(
    connection: Connection, keys: Collection[ChannelKey], numbers: Collection[MessageId]
) -> dict[ChannelKey, set[MessageId]]:
    """Which of these messages are stored in which of these chats."""
    rows = await connection.fetch(
        "SELECT channel, id FROM messages WHERE channel = ANY($1) AND id = ANY($2)", list(keys), list(numbers)
    )
    found: dict[ChannelKey, set[MessageId]] = {}
    for row in rows:
        found.setdefault(ChannelKey(row["channel"]), set()).add(MessageId(row["id"]))
    return found
