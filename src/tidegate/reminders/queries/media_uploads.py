"""The references that platforms returned for uploaded files, so that each account uploads a file once (seed 002)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim
from tidegate.core.ids import AccountId, RunId
from tidegate.database.pool import Connection
from tidegate.platforms.interface.uploads import Media, MediaKind, MediaRef


@dataclass(frozen=True, slots=True)
class UploadFailure:
    """An upload that failed *tries* times; it is not tried for another *wait*."""

    tries: int
    cause: str
    wait: timedelta


async def find(
    connection: Connection, account: AccountId, sha256: bytes, kind: MediaKind, *, lasts: timedelta | None
) -> MediaRef | UploadFailure | None:
    """The reference to post a file by, if it is younger than *lasts*, None for no limit; or how the upload failed."""
    row = await connection.fetchrow(
        """
        SELECT u.reference, f.tries, f.cause, greatest(f.retry_at - clock_now(), '0') AS wait
        FROM (SELECT $1::bigint AS account, $2::bytea AS sha256, $3::text AS kind) AS w
        LEFT JOIN uploads u ON (u.account, u.sha256, u.kind) = (w.account, w.sha256, w.kind)
            AND ($4::interval IS NULL OR clock_now() < u.made_at + $4)
        LEFT JOIN upload_failures f ON (f.account, f.sha256, f.kind) = (w.account, w.sha256, w.kind)
        """,
        account, sha256, kind.value, lasts,
    )  # fmt: skip
    assert row is not None  # there is one row for what is sought
    if row["reference"] is not None:
        return MediaRef(row["reference"])
    return None if row["tries"] is None else UploadFailure(row["tries"], row["cause"], row["wait"])


async def keep(
    connection: Connection, claim: Claim, sha256: bytes, kind: MediaKind, reference: MediaRef, *, run: RunId | None
) -> None:
    """Store the reference of an upload, and count the upload for *run*; call inside a transaction."""
    kept = await connection.fetchval(
        """
        WITH ours AS (
            SELECT id FROM accounts WHERE id = $1 AND epoch = $2 FOR SHARE
        ), counted AS (
            UPDATE runs SET uploads = uploads + 1 FROM ours WHERE runs.id = $3
        ), mended AS (
            DELETE FROM upload_failures f USING ours WHERE f.account = ours.id AND f.sha256 = $4 AND f.kind = $5
        )
        INSERT INTO uploads (account, sha256, kind, reference) SELECT id, $4, $5, $6 FROM ours
        ON CONFLICT (account, sha256, kind) DO UPDATE SET reference = excluded.reference, made_at = clock_now()
        RETURNING true
        """,
        claim.account, claim.epoch, run, sha256, kind.value, reference,
    )  # fmt: skip
    if not kept:
        await accounts.fence(connection, claim)  # raises the error that names the account


async def count(connection: Connection, run: RunId) -> None:
    """Count an upload for a run."""
    await connection.execute("UPDATE runs SET uploads = uploads + 1 WHERE id = $1", run)


async def forget(
    connection: Connection, account: AccountId, sha256: bytes, kind: MediaKind, reference: MediaRef
) -> None:
    """Delete a reference that the platform no longer accepts; a newer one is not changed."""
    await connection.execute(
        "DELETE FROM uploads WHERE account = $1 AND sha256 = $2 AND kind = $3 AND reference = $4",
        account, sha256, kind.value, reference,
    )  # fmt: skip


# Uploads that fail


async def note_failure(
    connection: Connection, account: AccountId, media: Media, cause: str, waits: Sequence[timedelta]
) -> UploadFailure:
    """Another try has failed; the next comes after the wait for that many tries, the last of *waits* for all others."""
    row = await connection.fetchrow(
        """
        INSERT INTO upload_failures (account, sha256, kind, tries, cause, retry_at)
        VALUES ($1, $2, $3, 1, $4, clock_now() + ($5::interval[])[1])
        ON CONFLICT (account, sha256, kind) DO UPDATE
        SET tries = upload_failures.tries + 1, cause = excluded.cause,
            retry_at = clock_now() + ($5::interval[])[least(upload_failures.tries + 1, cardinality($5::interval[]))]
        RETURNING tries, cause, greatest(retry_at - clock_now(), '0') AS wait
        """,
        account, media.sha256, media.kind.value, cause, list(waits),
    )  # fmt: skip
    assert row is not None  # an upsert always returns its row
    return UploadFailure(**row)


async def forgive(connection: Connection, account: AccountId, run: RunId) -> None:
    """Have the files of a run tried again at once, as if none had failed."""
    await connection.execute(
        """
        DELETE FROM upload_failures
        WHERE account = $1 AND sha256 IN (SELECT media FROM run_parts WHERE run = $2 AND media IS NOT NULL)
        """,
        account, run,
    )  # fmt: skip
