"""What accounts' platforms gave us for files of ours, so that each is uploaded once (seed 002)."""

from __future__ import annotations

from datetime import timedelta

from tidegate.port.media import MediaKind, MediaRef
from tidegate.store import accounts
from tidegate.store.database import Connection
from tidegate.words import AccountId, Claim, RunId


async def find(
    connection: Connection, account: AccountId, sha256: bytes, kind: MediaKind, *, lasts: timedelta | None
) -> MediaRef | None:
    """What to post a file by, when it was uploaded and is no older than it *lasts*; None lasts for ever."""
    reference: bytes | None = await connection.fetchval(
        """
        SELECT reference FROM uploads
        WHERE account = $1 AND sha256 = $2 AND kind = $3 AND ($4::interval IS NULL OR clock_now() < made_at + $4)
        """,
        account, sha256, kind.value, lasts,
    )  # fmt: skip
    return None if reference is None else MediaRef(reference)


async def keep(
    connection: Connection, claim: Claim, sha256: bytes, kind: MediaKind, reference: MediaRef, *, run: RunId
) -> None:
    """Keep what the platform gave, in place of what it gave before, and count it for *run*; inside a transaction."""
    kept = await connection.fetchval(
        """
        WITH ours AS (
            SELECT id FROM accounts WHERE id = $1 AND epoch = $2 FOR SHARE
        ), counted AS (
            UPDATE runs SET uploads = uploads + 1 FROM ours WHERE runs.id = $3
        )
        INSERT INTO uploads (account, sha256, kind, reference) SELECT id, $4, $5, $6 FROM ours
        ON CONFLICT (account, sha256, kind) DO UPDATE SET reference = excluded.reference, made_at = clock_now()
        RETURNING true
        """,
        claim.account, claim.epoch, run, sha256, kind.value, reference,
    )  # fmt: skip
    if not kept:
        await accounts.fence(connection, claim)  # says whose account it is no longer


async def count(connection: Connection, run: RunId) -> None:
    """Count an upload for a run."""
    await connection.execute("UPDATE runs SET uploads = uploads + 1 WHERE id = $1", run)


async def forget(
    connection: Connection, account: AccountId, sha256: bytes, kind: MediaKind, reference: MediaRef
) -> None:
    """The platform no longer takes this one; a newer one is left alone."""
    await connection.execute(
        "DELETE FROM uploads WHERE account = $1 AND sha256 = $2 AND kind = $3 AND reference = $4",
        account, sha256, kind.value, reference,
    )  # fmt: skip
