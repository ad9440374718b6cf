"""Messages to be posted in a destination: frozen as a manifest before the first send, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from tidegate.port import MessageId, SendKey, UploadId
from tidegate.rules.filing import DeliveryState, Planned, Way, may_come_from
from tidegate.store.database import Connection
from tidegate.words import AccountId


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of a manifest. *first_byte* and *size* are its stretch of the source's file.

    *saved* are the parts the platform has acknowledged of the *upload*, which is None before the first of them. To the
    platform key and upload mean something from one account only: the *account* that last had it in hand.
    """

    id: int
    source: tuple[int, int]
    name: str
    first_byte: int
    size: int
    way: Way
    key: SendKey
    state: DeliveryState
    account: AccountId | None
    upload: UploadId | None
    saved: frozenset[int]


async def freeze(connection: Connection, archive: int, destination: int, planned: Sequence[Planned]) -> None:
    """Write down what is to be posted and under which keys; parts that are on their way or there are not touched.

    A manifest that was frozen before is made to fit: a set may have got a part since, or has to go another way. A part
    of which a piece was posted stays cut as it was.
    """
    before = await of_archive(connection, archive, destination)
    begun = {one.source for one in before if one.state is not DeliveryState.PENDING}
    left = [one for one in planned if (one.part.message, one.part.file) not in begun]
    pending = [one for one in before if one.source not in begun]
    if [_what(one) for one in pending] == [
        ((one.part.message, one.part.file), one.piece.name, one.piece.offset, one.piece.size, one.way) for one in left
    ]:
        return
    await connection.execute("DELETE FROM deliveries WHERE id = ANY($1)", [one.id for one in pending])
    await connection.execute(
        """
        INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, way)
        SELECT $1, $2, w.number + coalesce(taken.last, 0), w.message, w.file, w.name, w.first_byte, w.size, w.way
        FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[])
                WITH ORDINALITY AS w (message, file, name, first_byte, size, way, number),
            (SELECT max(number) AS last FROM deliveries WHERE archive = $1 AND destination = $2) AS taken
        """,
        archive, destination, [one.part.message for one in left], [one.part.file for one in left],
        [one.piece.name for one in left], [one.piece.offset for one in left], [one.piece.size for one in left],
        [one.way.value for one in left],
    )  # fmt: skip


def _what(one: Delivery) -> tuple[tuple[int, int], str, int, int, Way]:
    return one.source, one.name, one.first_byte, one.size, one.way


async def release(connection: Connection, archive: int, destination: int) -> None:
    """Forget what was to be posted and is not on its way yet."""
    await connection.execute(
        "DELETE FROM deliveries WHERE archive = $1 AND destination = $2 AND state = 'pending'", archive, destination
    )


async def begun(connection: Connection, archive: int, destination: int) -> bool:
    """Whether a set has a manifest in a destination, and with it the right to be delivered there."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM deliveries WHERE archive = $1 AND destination = $2)", archive, destination
    )
    return found


async def of_archive(connection: Connection, archive: int, destination: int) -> list[Delivery]:
    """A set's manifest in a destination, in order."""
    rows = await connection.fetch(
        "SELECT * FROM deliveries WHERE archive = $1 AND destination = $2 ORDER BY number", archive, destination
    )
    return [_delivery(row) for row in rows]


async def begin_sending(connection: Connection, delivery: int, account: AccountId) -> bool:
    """Claim a delivery for *account*; False when it is there already, or its set is no longer the account's to file."""
    row = await connection.fetchrow(
        """
        UPDATE deliveries d SET state = 'sending', account = $2
        FROM archives a JOIN channels c ON c.id = a.channel
        WHERE d.id = $1 AND d.state = ANY($3) AND a.id = d.archive AND a.state = 'working' AND c.reader = $2
        RETURNING d.id
        """,
        delivery, account, [before.value for before in may_come_from(DeliveryState.SENDING)],
    )  # fmt: skip
    return row is not None


async def move(connection: Connection, delivery: int, state: DeliveryState) -> bool:
    """Move a delivery into *state*; False when it is where it may not move there from."""
    row = await connection.fetchrow(
        "UPDATE deliveries SET state = $2 WHERE id = $1 AND state = ANY($3) RETURNING id",
        delivery, state.value, [before.value for before in may_come_from(state)],
    )  # fmt: skip
    return row is not None


async def mark_sent(connection: Connection, delivery: int, message: MessageId | None) -> bool:
    """The message is in the destination; under which number is None where nobody could tell."""
    if not await move(connection, delivery, DeliveryState.SENT):
        return False
    await connection.execute(
        "UPDATE deliveries SET message = $2, sent_at = clock_now() WHERE id = $1", delivery, message
    )
    return True


async def begin_upload(connection: Connection, delivery: int, upload: UploadId, account: AccountId) -> None:
    """A new upload under its own number, of which nothing is saved yet."""
    await connection.execute(
        "UPDATE deliveries SET upload = $2, upload_began_at = clock_now(), saved = '{}', account = $3 "
        "WHERE id = $1 AND state <> 'sent'",
        delivery, upload, account,
    )  # fmt: skip


async def is_stale(connection: Connection, delivery: int, after: timedelta) -> bool:
    """Whether an upload began so long ago that the platform may have dropped its parts."""
    stale: bool = await connection.fetchval(
        "SELECT coalesce(upload_began_at + $2 < clock_now(), true) FROM deliveries WHERE id = $1", delivery, after
    )
    return stale


async def note_saved(connection: Connection, delivery: int, upload: UploadId, part: int) -> None:
    """The platform has acknowledged one part of an upload."""
    await connection.execute(
        "UPDATE deliveries SET saved = saved + int4multirange(int4range($3, $3 + 1)) WHERE id = $1 AND upload = $2",
        delivery, upload, part,
    )  # fmt: skip


async def already_known(connection: Connection, destination: int, messages: Collection[MessageId]) -> set[MessageId]:
    """Which of these messages of a destination are those of some delivery."""
    rows = await connection.fetch(
        "SELECT message FROM deliveries WHERE destination = $1 AND message = ANY($2)", destination, list(messages)
    )
    return {MessageId(row["message"]) for row in rows}


def _delivery(row: asyncpg.Record) -> Delivery:
    return Delivery(
        id=row["id"],
        source=(row["source_message"], row["source_file"]),
        name=row["name"],
        first_byte=row["first_byte"],
        size=row["size"],
        way=Way(row["way"]),
        key=SendKey(row["key"]),
        state=DeliveryState(row["state"]),
        account=None if row["account"] is None else AccountId(row["account"]),
        upload=None if row["upload"] is None else UploadId(row["upload"]),
        saved=frozenset(part for span in row["saved"] for part in range(span.lower, span.upper)),
    )
