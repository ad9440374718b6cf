"""Archives found: file parts placed into sets, and what each set waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import asyncpg

from tidegate.archives.rules.file_names import ArchiveKind, position
from tidegate.archives.rules.set_assembly import POLICY, ArchivePart, ArchiveSet, SetPolicy, SetState, state_of
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ArchiveId, ChannelKey, FileId, MessageId, TopicId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.platforms.interface import FileHandle

OPEN = ("collecting", "waiting", "incomplete")
"""The states in which no worker has begun on a set, so that parts may still be added and removed."""


@dataclass(frozen=True, slots=True)
class KeptSet:
    """A set as it is stored; *id* is None for one that is not stored yet."""

    id: ArchiveId | None
    topic: TopicId
    state: str
    set: ArchiveSet


@dataclass(frozen=True, slots=True)
class Handles:
    """How the files of a page are read, by message and file, and which account the handles belong to.

    What lies in *protected* messages cannot be copied on the server.
    """

    account: AccountId
    by_file: Mapping[tuple[MessageId, FileId], FileHandle]
    protected: Collection[MessageId] = ()


_SETS = """
    SELECT a.id, a.topic, a.state, a.kind, a.base, a.volumes, a.lost,
        p.message, p.file, p.number, p.spare, p.name, p.size, p.at, p.seen_at, p.sender, p.album
    FROM archives a LEFT JOIN archive_parts p ON p.archive = a.id
"""


async def same_names(
    connection: Connection, key: ChannelKey, names: Collection[tuple[TopicId, ArchiveKind, str]]
) -> dict[tuple[TopicId, ArchiveKind, str], list[KeptSet]]:
    """The sets of a channel that parts of these names (topic, kind, base) may belong to."""
    rows = await connection.fetch(
        f"""{_SETS}
        JOIN unnest($2::bigint[], $3::text[], $4::text[]) AS w (topic, kind, base)
          ON (a.topic, a.kind, a.base) = (w.topic, w.kind, w.base)
        WHERE a.channel = $1
        ORDER BY a.id
        """,
        key, [topic for topic, _, _ in names], [kind.value for _, kind, _ in names], [base for _, _, base in names],
    )  # fmt: skip
    found: dict[tuple[TopicId, ArchiveKind, str], list[KeptSet]] = {name: [] for name in names}
    for one in _kept(rows):
        found[one.topic, one.set.kind, one.set.base].append(one)
    return found


async def with_messages(connection: Connection, key: ChannelKey, messages: Collection[MessageId]) -> list[KeptSet]:
    """The sets of a channel that have a part in any of these messages."""
    rows = await connection.fetch(
        f"""{_SETS}
        WHERE a.id IN (SELECT archive FROM archive_parts WHERE channel = $1 AND message = ANY($2))
        ORDER BY a.id
        """,
        key, list(messages),
    )  # fmt: skip
    return _kept(rows)


async def sets(connection: Connection, numbers: Collection[ArchiveId]) -> dict[ArchiveId, ArchiveSet]:
    """These archives with their parts, by our numbers of them."""
    rows = await connection.fetch(f"{_SETS} WHERE a.id = ANY($1)", list(numbers))
    return {kept.id: kept.set for kept in _kept(rows) if kept.id is not None}


async def save(
    connection: Connection, key: ChannelKey, kept: Sequence[KeptSet], handles: Handles | None = None
) -> None:
    """Store sets as they are now, new or changed, in a handful of statements however many there are."""
    if not kept:
        return
    unknown = sum(one.id is None for one in kept)
    new = iter(await connection.fetch("SELECT nextval('archives_id_seq') AS id FROM generate_series(1, $1)", unknown))
    numbered = [one if one.id is not None else replace(one, id=next(new)["id"]) for one in kept]
    await connection.execute(
        """
        INSERT INTO archives AS a (id, channel, topic, kind, base, name, volumes, lost)
        OVERRIDING SYSTEM VALUE
        SELECT id, $2, topic, kind, base, name, volumes, string_to_array(lost, ',')::integer[]
        FROM unnest($1::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[])
            AS w (id, topic, kind, base, name, volumes, lost)
        ON CONFLICT (id) DO UPDATE SET volumes = excluded.volumes, lost = excluded.lost
        """,
        [one.id for one in numbered], key, [one.topic for one in numbered],
        [one.set.kind.value for one in numbered], [one.set.base for one in numbered],
        [_name(one.set) for one in numbered], [one.set.volumes for one in numbered],
        [",".join(str(number) for number in sorted(one.set.lost)) for one in numbered],
    )  # fmt: skip
    await _save_parts(connection, key, numbered, handles)


async def forget(connection: Connection, archives: Collection[ArchiveId]) -> None:
    """Remove sets that became part of others."""
    await connection.execute("DELETE FROM archives WHERE id = ANY($1) AND state = ANY($2)", list(archives), list(OPEN))


async def _save_parts(
    connection: Connection, key: ChannelKey, kept: Sequence[KeptSet], handles: Handles | None
) -> None:
    rows = [(one.id, number, part, spare) for one in kept for number, part, spare in _numbered(one.set)]
    gone = await connection.fetch(
        """
        DELETE FROM archive_parts
        WHERE archive = ANY($1)
          AND (archive, message, file) NOT IN (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]))
        RETURNING archive, spare
        """,
        [one.id for one in kept], [archive for archive, _, _, _ in rows],
        [part.message for _, _, part, _ in rows], [part.file for _, _, part, _ in rows],
    )  # fmt: skip
    by_file = handles.by_file if handles else {}
    protected = handles.protected if handles else ()
    come = await connection.fetch(
        """
        INSERT INTO archive_parts AS p (channel, archive, message, file, number, spare, name, size, at, seen_at, sender,
                                        album, handle, protected, handle_of)
        SELECT $1, w.*, CASE WHEN w.handle IS NOT NULL THEN $15::bigint END
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::integer[], $6::boolean[], $7::text[], $8::bigint[],
                    $9::timestamptz[], $10::timestamptz[], $11::text[], $12::bigint[], $13::text[], $14::boolean[])
            AS w (archive, message, file, number, spare, name, size, at, seen_at, sender, album, handle, protected)
        ON CONFLICT (archive, message, file) DO UPDATE
        SET number = excluded.number, spare = excluded.spare, handle = coalesce(excluded.handle, p.handle),
            handle_of = coalesce(excluded.handle_of, p.handle_of), protected = excluded.protected OR p.protected
        RETURNING archive, spare OR xmax <> 0 AS spare  -- xmax is set on a row that was there before
        """,
        key, [archive for archive, _, _, _ in rows],
        [part.message for _, _, part, _ in rows], [part.file for _, _, part, _ in rows],
        [number for _, number, _, _ in rows], [spare for _, _, _, spare in rows],
        [part.name.replace("\x00", "") for _, _, part, _ in rows], [part.size for _, _, part, _ in rows],
        [part.at for _, _, part, _ in rows], [part.seen_at for _, _, part, _ in rows],
        [part.sender.replace("\x00", "") for _, _, part, _ in rows], [part.album for _, _, part, _ in rows],
        [by_file.get((part.message, part.file)) for _, _, part, _ in rows],
        [part.message in protected for _, _, part, _ in rows],
        handles.account if handles else None,
    )  # fmt: skip
    await _forget_reading(connection, {row["archive"] for row in (*gone, *come) if not row["spare"]})


async def _forget_reading(connection: Connection, archives: Collection[ArchiveId]) -> None:
    """Delete the contents of sets whose parts changed; a filed set stays as it was."""
    await connection.execute(
        """
        UPDATE archives SET indexed_at = NULL, content = NULL
        WHERE id = ANY($1) AND indexed_at IS NOT NULL AND state NOT IN ('working', 'filed', 'gone')
        """,
        list(archives),
    )


def _numbered(one: ArchiveSet) -> list[tuple[int, ArchivePart, bool]]:
    """The parts of a set with their numbers, its spares with the number of the file they stand in for."""
    numbers = {part.file: number for number, part in one.parts.items()}
    held = [(number, part, False) for number, part in one.parts.items()]
    return held + [(numbers.get(part.file, one.kind.first), part, True) for part in one.spares]


def _name(one: ArchiveSet) -> str:
    """What an archive is called: after the first of its parts, or what is left when all of them are gone."""
    return one.manifest[0].name.replace("\x00", "") if one.parts else one.base


async def flag(connection: Connection, archives: Iterable[ArchiveId], what: str) -> None:
    """Mark archives with a word that lists and pages show, such as ``source_deleted``."""
    await connection.execute(
        "UPDATE archives SET flags = array_append(flags, $2) WHERE id = ANY($1) AND $2 <> ALL(flags)",
        list(archives), what,
    )  # fmt: skip


async def judge(
    connection: Connection, keys: Collection[ChannelKey], now: datetime, policy: SetPolicy = POLICY
) -> dict[SetState, int]:
    """Judge the open sets of channels at the end of a walk; returns how many moved to which state."""
    rows = await connection.fetch(
        f"{_SETS} WHERE a.channel = ANY($1) AND a.state = ANY($2) ORDER BY a.id", list(keys), list(OPEN)
    )
    moved: dict[SetState, list[ArchiveId]] = {}
    for kept in _kept(rows):
        state = state_of(kept.set, now=now, policy=policy)
        if state.value != kept.state and kept.id is not None and (kept.set.is_recognised or state is SetState.GONE):
            moved.setdefault(state, []).append(kept.id)
    for state, numbers in moved.items():
        await connection.execute(
            "UPDATE archives SET state = $2 WHERE id = ANY($1) AND state = ANY($3)", numbers, state.value, list(OPEN)
        )
    return {state: len(numbers) for state, numbers in moved.items()}


async def count(connection: Connection, key: ChannelKey, topic: TopicId = NO_TOPIC) -> int:
    """How many archives a channel (or topic) has."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM archives WHERE channel = $1 AND ($2 = 0 OR topic = $2)", key, topic
    )
    return number


def _kept(rows: Iterable[asyncpg.Record]) -> list[KeptSet]:
    grouped: dict[ArchiveId, list[asyncpg.Record]] = {}
    for row in rows:
        grouped.setdefault(row["id"], []).append(row)
    return [_set(same) for same in grouped.values()]


def _set(rows: list[asyncpg.Record]) -> KeptSet:
    first = rows[0]
    parts = [(row["number"], row["spare"], from_row(ArchivePart, row)) for row in rows if row["message"] is not None]
    kind = ArchiveKind(first["kind"])
    numbered = sorted(((at, part) for at, spare, part in parts if not spare), key=lambda one: position(kind, one[0]))
    one = ArchiveSet(
        kind,
        first["base"],
        dict(numbered),
        first["volumes"],
        frozenset(first["lost"]),
        tuple(part for _, spare, part in parts if spare),
    )
    return KeptSet(ArchiveId(first["id"]), TopicId(first["topic"]), first["state"], one)
