"""Files of platforms: what is wanted of them, what is kept, and why the rest is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import AccountId, ChannelId, ChannelKey, FileId, MessageId, Sha256
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import FilePart, PolicyKind, SkipReason
from tidegate.platforms.interface import FileHandle, PhotoSize


@dataclass(frozen=True, slots=True)
class NotedFile:
    """A file of a message, and what the policy says: wanted (*part*), or skipped (*reason*), or *gone* already.

    *expected* is the announced size of the part, 0 where nobody says. A handle is *until* when it can be used, and that
    of the *still* as well, the platform's small picture of a file that is wanted whole.
    """

    file: FileId
    kind: PolicyKind
    message: MessageId
    size: int
    part: FilePart | None
    reason: str = ""
    expected: int = 0
    handle: FileHandle | None = None
    until: datetime | None = None
    gone: bool = False
    still: PhotoSize | None = None

    @property
    def state(self) -> str:
        return "gone" if self.gone else "skipped" if self.part is None else "wanted"


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file to fetch, and where from. *handle* is None where its message has to be read first.

    One that was *tried* has failed or was put off before. Of one that is *pictured* a thumbnail is kept already.
    """

    platform: str
    file: FileId
    kind: PolicyKind
    part: FilePart
    channel: ChannelKey
    number: ChannelId
    message: MessageId
    expected: int
    attempts: int
    handle: FileHandle | None
    archive_part: bool
    tried: bool
    still: FileHandle | None = None
    still_size: int = 0
    pictured: bool = False


# A file that is kept stays kept, and one that the operator removed stays removed. Of a file that several channels show,
# one that wants it is enough; only its own channel can take that back. One whose channel can no longer be read is
# fetched from the next that shows it.
_READABLE = "c.enabled AND c.reader IS NOT NULL"
_NOTE = f"""
    INSERT INTO media_files AS f
        (platform, channel, handle_of, file, kind, state, reason, part, message, size, expected, handle, handle_until,
         still, still_size)
    SELECT $1, $2, CASE WHEN g.handle IS NOT NULL THEN $3::bigint END, g.*
    FROM unnest($4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
                $11::bigint[], $12::text[], $13::timestamptz[], $14::text[], $15::bigint[])
        AS g (file, kind, state, reason, part, message, size, expected, handle, until, still, still_size)
    ORDER BY g.file
    ON CONFLICT (platform, file) DO UPDATE
    SET kind = excluded.kind, state = excluded.state, reason = excluded.reason, part = excluded.part,
        channel = excluded.channel, message = excluded.message, size = excluded.size, expected = excluded.expected,
        handle = excluded.handle, handle_of = excluded.handle_of, handle_until = excluded.handle_until,
        still = excluded.still, still_size = excluded.still_size,
        attempts = 0, next_try_at = NULL, changed_at = clock_now()
    WHERE excluded.state <> 'gone' AND CASE
        WHEN f.state = 'kept' THEN false
        WHEN f.state = 'gone' THEN excluded.state = 'wanted'
        WHEN f.state IN ('wanted', 'failed') AND f.channel IS DISTINCT FROM excluded.channel
            THEN excluded.state = 'wanted'
                AND NOT EXISTS (SELECT FROM channels c WHERE c.id = f.channel AND {_READABLE})
        WHEN f.state = 'wanted' THEN f.channel IS NOT DISTINCT FROM excluded.channel
            AND (excluded.handle IS NOT NULL OR (excluded.state, excluded.part) <> ('wanted', f.part))
        WHEN f.state = 'failed' THEN f.channel IS NOT DISTINCT FROM excluded.channel AND excluded.state = 'skipped'
        ELSE f.reason <> ALL ('{{removed,blocked}}')
            AND CASE excluded.state
                WHEN 'wanted' THEN NOT (f.reason = 'thumbnail' AND excluded.part = 'thumbnail')
                ELSE f.channel IS NOT DISTINCT FROM excluded.channel AND f.reason NOT IN (excluded.reason, 'thumbnail')
            END
        END
"""


async def note(
    connection: Connection, platform: str, channel: ChannelKey, account: AccountId | None, files: Iterable[NotedFile]
) -> None:
    """Store what is decided about files of a channel; handles are those of *account*."""
    rows = list({one.file: one for one in files}.values())
    if not rows:
        return
    await connection.execute(
        _NOTE, platform, channel, account,
        [one.file for one in rows], [one.kind for one in rows], [one.state for one in rows],
        [one.reason for one in rows], [one.part or FilePart.WHOLE for one in rows], [one.message for one in rows],
        [one.size for one in rows], [one.expected for one in rows], [one.handle for one in rows],
        [one.until for one in rows], [None if one.still is None else one.still.handle for one in rows],
        [0 if one.still is None else one.still.size for one in rows],
    )  # fmt: skip


# Fetching

_MOST_SOURCES = 5
"""After so many tries and lost messages a file is gone: others that show it may be deleted as well."""

_DUE = "(f.state = 'wanted' OR (f.state = 'failed' AND f.next_try_at IS NOT NULL))"
_WANTED = """
    f.platform, f.file, f.kind, f.part, f.channel, c.number, f.message, f.expected, f.attempts,
    CASE WHEN f.kind = 'avatar' OR f.handle_of = c.reader AND coalesce(f.handle_until > clock_now(), true)
        THEN f.handle END AS handle,
    CASE WHEN f.handle_of = c.reader THEN f.still END AS still, f.still_size,
    c.keeps_archives AND f.kind = 'document' AS archive_part, f.state = 'failed' AS tried,
    f.thumbnail IS NOT NULL AS pictured
"""

_TAKE = f"""
    SELECT {_WANTED} FROM media_files f JOIN channels c ON c.id = f.channel
    WHERE f.channel = $2 AND c.reader = $1 AND c.enabled AND {_DUE}
      AND coalesce(f.next_try_at <= clock_now(), true) AND {{kinds}}
    ORDER BY f.message DESC, f.file LIMIT $3
"""


async def due_accounts(connection: Connection, accounts: Collection[AccountId]) -> list[AccountId]:
    """Which of these accounts have files to fetch or a policy to apply; of sums, so that it stays cheap."""
    rows = await connection.fetch(
        """
        SELECT c.reader FROM media_totals t JOIN channels c ON c.id = t.channel
        WHERE t.state IN ('wanted', 'failed') AND t.files > 0 AND c.enabled AND c.reader = ANY($1)
          AND (SELECT enabled FROM media_state)
        UNION
        SELECT c.reader FROM channels c CROSS JOIN media_state s LEFT JOIN media_plans p ON p.channel = c.id
        WHERE c.enabled AND c.reader = ANY($1) AND s.enabled
          AND (p.channel IS NULL OR p.revision < s.revision OR p.below IS NOT NULL)
        """,
        list(accounts),
    )
    return [AccountId(row["reader"]) for row in rows]


async def next_channel(connection: Connection, account: AccountId, after: ChannelKey | None) -> ChannelKey | None:
    """The next channel that *account* reads and that has files to fetch; they take turns."""
    key: ChannelKey | None = await connection.fetchval(
        f"""
        SELECT c.id FROM channels c
        WHERE c.reader = $1 AND c.enabled AND coalesce(c.parked_until <= clock_now(), true)
          AND EXISTS (SELECT FROM media_files f
                      WHERE f.channel = c.id AND {_DUE} AND coalesce(f.next_try_at <= clock_now(), true))
        ORDER BY c.id <= coalesce($2, 0), c.id LIMIT 1
        """,
        account, after,
    )  # fmt: skip
    return key


async def take(connection: Connection, account: AccountId, channel: ChannelKey, *, most: int) -> list[WantedFile]:
    """Up to *most* files of a channel that are due, those of the newest messages first, and avatars after all."""
    rows = await connection.fetch(_TAKE.format(kinds="f.kind <> 'avatar'"), account, channel, most)
    if len(rows) < most:
        rows += await connection.fetch(_TAKE.format(kinds="f.kind = 'avatar'"), account, channel, most - len(rows))
    return [from_row(WantedFile, row, kind=PolicyKind(row["kind"]), part=FilePart(row["part"])) for row in rows]


async def next_due_at(connection: Connection, account: AccountId) -> datetime | None:
    """When the next failed file of the account is due again; None when none is."""
    at: datetime | None = await connection.fetchval(
        """
        SELECT min(f.next_try_at) FROM media_files f JOIN channels c ON c.id = f.channel
        WHERE c.reader = $1 AND c.enabled AND f.state = 'failed' AND f.next_try_at IS NOT NULL
        """,
        account,
    )
    return at


@dataclass(frozen=True, slots=True)
class RenewedHandle:
    """A new handle of a file, the announced size of what it reads, and how long it can be used; its *still* as well."""

    file: FileId
    handle: FileHandle
    expected: int
    until: datetime | None
    still: PhotoSize | None = None


async def keep_handles(
    connection: Connection, platform: str, account: AccountId, renewed: Collection[RenewedHandle]
) -> None:
    """Store renewed handles of *account*, so that the next try needs no call for them."""
    await connection.execute(
        """
        UPDATE media_files f
        SET handle = g.handle, handle_of = $2, handle_until = g.until, expected = g.expected, still = g.still,
            still_size = g.still_size
        FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[], $8::bigint[])
            AS g (file, handle, expected, until, still, still_size)
        WHERE f.platform = $1 AND f.file = g.file AND f.state IN ('wanted', 'failed')
        """,
        platform, account, [one.file for one in renewed], [one.handle for one in renewed],
        [one.expected for one in renewed], [one.until for one in renewed],
        [None if one.still is None else one.still.handle for one in renewed],
        [0 if one.still is None else one.still.size for one in renewed],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Bytes that the store has by now."""

    sha256: Sha256
    size: int
    type: str


async def is_blocked(connection: Connection, sha256: Sha256) -> bool:
    """Whether the operator never wants to keep these bytes."""
    found: bool = await connection.fetchval("SELECT EXISTS (SELECT FROM media_blocks WHERE sha256 = $1)", sha256)
    return found


async def kept(connection: Connection, one: WantedFile, found: KeptBytes) -> bool:
    """A wanted file is kept: its bytes are in the store. False when nobody wants it any more.

    Of a file that only a thumbnail is kept of, *found* is the thumbnail.
    """
    await _note_bytes(connection, found)
    whole = one.part is FilePart.WHOLE
    updated = await connection.fetchval(
        """
        UPDATE media_files
        SET state = CASE WHEN $4 THEN 'kept' ELSE 'skipped' END, reason = CASE WHEN $4 THEN '' ELSE 'thumbnail' END,
            sha256 = CASE WHEN $4 THEN $3 ELSE sha256 END, thumbnail = CASE WHEN $4 THEN thumbnail ELSE $3 END,
            type = CASE WHEN $4 THEN $5 ELSE type END, size = CASE WHEN $4 THEN $6 ELSE size END,
            attempts = 0, next_try_at = NULL, handle = CASE WHEN kind = 'avatar' THEN handle END, handle_of = NULL,
            handle_until = NULL, still = NULL, still_size = 0, changed_at = clock_now()
        WHERE platform = $1 AND file = $2 AND state IN ('wanted', 'failed') AND part = $7
        RETURNING file
        """,
        one.platform, one.file, found.sha256, whole, found.type, found.size, one.part,
    )  # fmt: skip
    return updated is not None


async def pictured(connection: Connection, one: WantedFile, found: KeptBytes) -> None:
    """The platform's small picture of a file is in the store; the file itself is still to be fetched."""
    await _note_bytes(connection, found)
    await connection.execute(
        """
        UPDATE media_files SET thumbnail = $3
        WHERE platform = $1 AND file = $2 AND state IN ('wanted', 'failed') AND thumbnail IS NULL
        """,
        one.platform, one.file, found.sha256,
    )  # fmt: skip


async def _note_bytes(connection: Connection, found: KeptBytes) -> None:
    await connection.execute(
        """
        INSERT INTO media_blobs (sha256, size, type) VALUES ($1, $2, $3)
        ON CONFLICT (sha256) DO UPDATE SET missing_at = NULL, kept_at = clock_now()
        """,
        found.sha256, found.size, found.type,
    )  # fmt: skip


async def failed(
    connection: Connection, one: WantedFile, sentence: str, *, next_try_at: datetime | None, counts: bool = True
) -> bool:
    """A try failed; without a next try the file is given up until the operator asks for it."""
    updated = await connection.fetchval(
        """
        UPDATE media_files
        SET state = 'failed', reason = $3, next_try_at = $4, attempts = attempts + CASE WHEN $5 THEN 1 ELSE 0 END,
            changed_at = clock_now()
        WHERE platform = $1 AND file = $2 AND state IN ('wanted', 'failed')
        RETURNING file
        """,
        one.platform, one.file, sentence, next_try_at, counts,
    )  # fmt: skip
    return updated is not None


async def skip(connection: Connection, files: Collection[WantedFile], reason: SkipReason) -> None:
    """These files are not kept, for a reason of the policy."""
    await connection.execute(
        """
        UPDATE media_files f SET state = 'skipped', reason = $3, next_try_at = NULL, changed_at = clock_now()
        FROM unnest($1::text[], $2::bigint[]) AS g (platform, file)
        WHERE f.platform = g.platform AND f.file = g.file AND f.state IN ('wanted', 'failed')
        """,
        [one.platform for one in files], [one.file for one in files], reason,
    )  # fmt: skip


async def move(connection: Connection, one: WantedFile, *, elsewhere: bool = False) -> bool:
    """Have a file fetched from another message that shows it, with *elsewhere* from another channel, if there is one.

    Each move counts as a try, so that it ends.
    """
    moved = await connection.fetchval(
        f"""
        UPDATE media_files f
        SET channel = o.channel, message = o.message, handle = NULL, handle_of = NULL, handle_until = NULL,
            still = NULL, state = 'wanted', reason = '', next_try_at = NULL, attempts = attempts + 1
        FROM (SELECT a.channel, a.message FROM attachments a
              JOIN channels c ON c.id = a.channel AND c.platform = $1 AND {_READABLE}
              JOIN messages m ON m.channel = a.channel AND m.id = a.message AND m.deleted_at IS NULL
              WHERE a.file = $2 AND CASE WHEN $6 THEN a.channel <> $3 ELSE (a.channel, a.message) <> ($3, $4) END
              ORDER BY a.message DESC LIMIT 1) AS o
        WHERE f.platform = $1 AND f.file = $2 AND f.state IN ('wanted', 'failed') AND f.attempts < $5
        RETURNING f.file
        """,
        one.platform, one.file, one.channel, one.message, _MOST_SOURCES, elsewhere,
    )  # fmt: skip
    return moved is not None


async def move_stuck(connection: Connection, after: tuple[str, int] | None, *, most: int) -> tuple[str, int] | None:
    """Of up to *most* files that wait in channels nobody can read, have those fetched that another channel shows.

    Returns the platform and number to go on after; None at the end.
    """
    rows = await connection.fetch(
        f"""
        WITH stuck AS MATERIALIZED (
            SELECT f.platform, f.file FROM media_files f LEFT JOIN channels c ON c.id = f.channel
            WHERE (f.platform, f.file) > ($1, $2) AND (c.id IS NULL OR NOT ({_READABLE}))
              AND (f.state = 'wanted' OR (f.state = 'failed' AND f.next_try_at IS NOT NULL))
            ORDER BY f.platform, f.file LIMIT $3
        ), moved AS (
            UPDATE media_files f
            SET channel = o.channel, message = o.message, handle = NULL, handle_of = NULL, handle_until = NULL,
                still = NULL, state = 'wanted', reason = '', next_try_at = NULL, changed_at = clock_now()
            FROM stuck s CROSS JOIN LATERAL (
                SELECT a.channel, a.message FROM attachments a
                JOIN channels c ON c.id = a.channel AND c.platform = s.platform AND {_READABLE}
                JOIN messages m ON m.channel = a.channel AND m.id = a.message AND m.deleted_at IS NULL
                WHERE a.file = s.file ORDER BY a.message DESC LIMIT 1) AS o
            WHERE f.platform = s.platform AND f.file = s.file
        )
        SELECT platform, file FROM stuck ORDER BY platform, file
        """,
        *(after or ("", -(2**63))), most,
    )  # fmt: skip
    return (rows[-1]["platform"], rows[-1]["file"]) if len(rows) == most else None


async def lose(connection: Connection, one: WantedFile) -> bool:
    """The message of a file no longer shows it: another message that does takes its place, else it is gone.

    Returns whether there is another.
    """
    if await move(connection, one):
        return True
    await connection.execute(
        """
        UPDATE media_files
        SET state = 'gone', reason = 'Its message no longer shows it.', next_try_at = NULL, handle = NULL,
            changed_at = clock_now()
        WHERE platform = $1 AND file = $2 AND state IN ('wanted', 'failed')
        """,
        one.platform, one.file,
    )  # fmt: skip
    return False


async def erase(connection: Connection, channel: ChannelKey, files: Collection[FileId]) -> None:
    """These files of erased messages are gone, unless another message shows them; a sweep deletes their bytes."""
    await connection.execute(
        """
        UPDATE media_files f
        SET state = 'gone', reason = 'Its message was erased.', sha256 = NULL, thumbnail = NULL, channel = NULL,
            message = NULL, handle = NULL, still = NULL, handle_of = NULL, handle_until = NULL, next_try_at = NULL,
            changed_at = clock_now()
        FROM channels c
        WHERE c.id = $1 AND f.platform = c.platform AND f.file = ANY($2) AND NOT EXISTS (
            SELECT FROM attachments a JOIN channels o ON o.id = a.channel
            WHERE a.file = f.file AND o.platform = f.platform
        )
        """,
        channel, list(files),
    )  # fmt: skip


async def end_unshown(
    connection: Connection, after: tuple[str, int] | None, before: datetime, *, most: int
) -> tuple[str, int] | None:
    """Of up to *most* files, those that no message shows any more are gone, as after an edit; a sweep deletes them.

    Only such as did not change since *before*. Returns the platform and number to go on after; None at the end.
    """
    rows = await connection.fetch(
        """
        WITH page AS (
            SELECT platform, file FROM media_files WHERE (platform, file) > ($1, $2) ORDER BY platform, file LIMIT $4
        ), ended AS (
            UPDATE media_files f
            SET state = 'gone', reason = 'Its message no longer shows it.', sha256 = NULL, thumbnail = NULL,
                handle = NULL, handle_of = NULL, handle_until = NULL, next_try_at = NULL, changed_at = clock_now()
            FROM page p
            WHERE f.platform = p.platform AND f.file = p.file AND f.changed_at < $3
              AND (f.sha256 IS NOT NULL OR f.thumbnail IS NOT NULL OR f.state IN ('wanted', 'failed'))
              AND NOT EXISTS (SELECT FROM attachments a JOIN channels c ON c.id = a.channel
                              WHERE a.file = f.file AND c.platform = f.platform)
              AND NOT EXISTS (SELECT FROM avatars v WHERE v.platform = f.platform AND v.file = f.file)
        )
        SELECT platform, file FROM page ORDER BY platform, file
        """,
        *(after or ("", 0)), before, most,
    )  # fmt: skip
    return (rows[-1]["platform"], rows[-1]["file"]) if len(rows) == most else None


async def still_wanted(connection: Connection, files: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Which of these files, by platform and number, are still to be fetched."""
    rows = await connection.fetch(
        """
        SELECT f.platform, f.file FROM media_files f
        JOIN unnest($1::text[], $2::bigint[]) AS g (platform, file) ON f.platform = g.platform AND f.file = g.file
        WHERE f.state = 'wanted' OR (f.state = 'failed' AND f.next_try_at IS NOT NULL)
        """,
        [platform for platform, _ in files], [file for _, file in files],
    )  # fmt: skip
    return {(row["platform"], row["file"]) for row in rows}


async def ask_again(
    connection: Connection, *, account: AccountId | None, channel: ChannelKey | None, files: Sequence[FileId] = ()
) -> int:
    """Have failed, lost and removed files fetched again at once; how many they are. Blocked ones stay blocked.

    Removed ones only where they are named.
    """
    rows = await connection.fetch(
        """
        UPDATE media_files f
        SET state = 'wanted', reason = '', attempts = 0, next_try_at = NULL, changed_at = clock_now()
        WHERE (f.state IN ('failed', 'gone')
               OR f.state = 'skipped' AND f.reason = 'removed' AND cardinality($3::bigint[]) > 0)
          AND f.channel IS NOT NULL AND ($2::bigint IS NULL OR f.channel = $2)
          AND ($1::bigint IS NULL OR EXISTS (SELECT FROM channels c WHERE c.id = f.channel AND c.reader = $1))
          AND (cardinality($3) = 0 OR f.file = ANY($3))
        RETURNING f.file
        """,
        account, channel, list(files),
    )  # fmt: skip
    return len(rows)
