"""Messages to be posted in a destination: frozen as a manifest before the first send, and the state of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from tidegate.archives.rules.delivery_plan import DeliveryState, DeliveryWay, PlannedMessage, may_come_from
from tidegate.core.ids import AccountId, ArchiveId, ChannelKey, DeliveryId, FileId, MessageId, UploadId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.platforms.interface import SendKey


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message of a manifest. *first_byte* and *size* are its range in the source's file.

    *saved* are the parts of the *upload* that the platform has acknowledged; *upload* is None before the first of them.
    Key and upload are valid for one account only: the *account* that last worked on it.
    """

    id: DeliveryId
    source: tuple[MessageId, FileId]
    name: str
    first_byte: int
    size: int
    way: DeliveryWay
    key: SendKey
    state: DeliveryState
    account: AccountId | None
    upload: UploadId | None
    saved: frozenset[int]


async def freeze(
    connection: Connection,
    archive: ArchiveId,
    destination: ChannelKey,
    planned: Sequence[PlannedMessage],
    before: Sequence[Delivery],
) -> None:
    """Store what is to be posted and under which keys; parts that are on their way or posted are not touched.

    *before* is the manifest that was frozen earlier. It is changed to fit: a set may have got a part since, or has to
    be uploaded instead of copied. A part of which a piece was posted stays cut as it was.
    """
    begun = {one.source for one in before if one.state is not DeliveryState.PENDING}
    left = [one for one in planned if one.part.source not in begun]
    pending = [one for one in before if one.source not in begun]
    if [_what(one) for one in pending] == [
        (one.part.source, one.piece.name, one.piece.offset, one.piece.size, one.way) for one in left
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


def _what(one: Delivery) -> tuple[tuple[MessageId, FileId], str, int, int, DeliveryWay]:
    return one.source, one.name, one.first_byte, one.size, one.way


async def release(connection: Connection, archive: ArchiveId, destination: ChannelKey) -> None:
    """Delete the messages of a manifest whose sending has not begun."""
    await connection.execute(
        "DELETE FROM deliveries WHERE archive = $1 AND destination = $2 AND state = 'pending'", archive, destination
    )


async def of_archive(connection: Connection, archive: ArchiveId, destination: ChannelKey) -> list[Delivery]:
    """A set's manifest in a destination, in order."""
    rows = await connection.fetch(
        "SELECT * FROM deliveries WHERE archive = $1 AND destination = $2 ORDER BY number", archive, destination
    )
    return [
        from_row(
            Delivery,
            row,
            source=(MessageId(row["source_message"]), FileId(row["source_file"])),
            way=DeliveryWay(row["way"]),
            state=DeliveryState(row["state"]),
            saved=frozenset(part for span in row["saved"] for part in range(span.lower, span.upper)),
        )
        for row in rows
    ]


async def begin_sending(connection: Connection, delivery: DeliveryId, account: AccountId) -> bool:
    """Claim a delivery for *account*; False when it is sent already, or its set is not the account's any more."""
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


async def take_back(connection: Connection, delivery: DeliveryId) -> None:
    """The platform has definitely not accepted a delivery: it is to be sent again."""
    await connection.execute(
        "UPDATE deliveries SET state = $2 WHERE id = $1 AND state = ANY($3)",
        delivery, DeliveryState.PENDING.value, [one.value for one in may_come_from(DeliveryState.PENDING)],
    )  # fmt: skip


async def mark_sent(connection: Connection, delivery: DeliveryId, message: MessageId | None) -> None:
    """The message is in the destination; its number is None where the platform did not return it."""
    await connection.execute(
        "UPDATE deliveries SET state = $2, message = $4, sent_at = clock_now() WHERE id = $1 AND state = ANY($3)",
        delivery, DeliveryState.SENT.value, [one.value for one in may_come_from(DeliveryState.SENT)], message,
    )  # fmt: skip


async def begin_upload(connection: Connection, delivery: DeliveryId, upload: UploadId, account: AccountId) -> None:
    """A new upload under its own number, of which nothing is saved yet."""
    await connection.execute(
        "UPDATE deliveries SET upload = $2, upload_began_at = clock_now(), saved = '{}', account = $3 "
        "WHERE id = $1 AND state <> 'sent'",
        delivery, upload, account,
    )  # fmt: skip


async def is_stale(connection: Connection, delivery: DeliveryId, after: timedelta) -> bool:
    """Whether an upload began so long ago that the platform may have dropped its parts."""
    stale: bool = await connection.fetchval(
        "SELECT coalesce(upload_began_at + $2 < clock_now(), true) FROM deliveries WHERE id = $1", delivery, after
    )
    return stale


async def note_saved(connection: Connection, delivery: DeliveryId, upload: UploadId, part: int) -> None:
    """The platform has acknowledged one part of an upload."""
    await connection.execute(
        "UPDATE deliveries SET saved = saved + int4multirange(int4range($3, $3 + 1)) WHERE id = $1 AND upload = $2",
        delivery, upload, part,
    )  # fmt: skip


async def already_known(
    connection: Connection, destination: ChannelKey, messages: Collection[MessageId]
) -> set[MessageId]:
    """Which of these messages of a destination are those of some delivery."""
    rows = await connection.fetch(
        "SELECT message FROM deliveries WHERE destination = $1 AND message = ANY($2)", destination, list(messages)
    )
    return {MessageId(row["message"]) for row in rows}
