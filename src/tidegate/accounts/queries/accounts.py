"""Accounts: who they are, whether they may work, and which worker serves them in which epoch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.core.account import Account, AccountState, Claim, Standing
from tidegate.core.errors import BadInput, Banned, NotOurs, NotThere, SignedOut
from tidegate.core.ids import AccountId, ChannelKey, UserId, WorkerNumber
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.events.kinds.accounts import (
    AccountAdded,
    AccountBanned,
    AccountPaused,
    AccountProxySet,
    AccountReachable,
    AccountRemoved,
    AccountRenamed,
    AccountResumed,
    AccountSignedOut,
    AccountStandingSet,
    AccountStateChanged,
    AccountUnreachable,
)
from tidegate.events.queries import feed

_COLUMNS = "a.id, a.name, a.platform, a.standing, a.state, a.state_until, a.state_why, a.loopback, a.identity"
_CHANGED: Mapping[AccountState, type[AccountStateChanged]] = {
    AccountState.ACTIVE: AccountResumed,
    AccountState.PAUSED: AccountPaused,
    AccountState.SIGNED_OUT: AccountSignedOut,
    AccountState.BANNED: AccountBanned,
}


@dataclass(frozen=True, slots=True)
class ServedAccount:
    """An account and the epoch in which it was taken."""

    account: Account
    epoch: int


@dataclass(frozen=True, slots=True)
class ListedAccount:
    """An account as ``tidegate account list`` shows it."""

    account: Account
    served_by: str | None
    paused_until: datetime | None
    epoch: int
    unreachable_since: datetime | None
    unreachable_why: str | None
    proxy: str | None = None


# People


async def require_free(connection: Connection, name: str) -> None:
    """Refuse a name that no new account can have, before a person is asked for codes and passwords."""
    if not name.strip() or name != name.strip():
        raise BadInput("An account needs a name, without spaces around it.")
    if await connection.fetchval("SELECT true FROM accounts WHERE name = $1", name):
        raise _taken(name)


def _taken(name: str) -> BadInput:
    return BadInput(f'There is an account named "{name}" already; choose another name.')


async def add(
    connection: Connection, name: str, platform: Platform, standing: Standing, *, loopback: str | None
) -> AccountId:
    """Make an account; call inside a transaction. A database is for loopback or for real accounts, never both."""
    await require_free(connection, name)
    world = "loopback" if loopback else "real"
    held = await connection.fetchval(
        "UPDATE house SET world = coalesce(world, $1) RETURNING world", world
    )  # locks the row: two first accounts cannot disagree
    if held != world:
        raise BadInput(
            f"This database holds {held} accounts and takes no {world} ones: the two never mix. "
            "Use another TIDEGATE_HOME or DATABASE_URL."
        )
    try:
        number = await connection.fetchval(
            "INSERT INTO accounts (name, platform, standing, loopback) VALUES ($1, $2, $3, $4) RETURNING id",
            name, platform.name, standing.value, loopback,
        )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise _taken(name) from None
    await feed.record(connection, name, AccountAdded(platform=platform.name, standing=standing.value))
    return AccountId(number)


async def require_same(connection: Connection, account: Account, identity: UserId, called: str) -> None:
    """Refuse an identity that another account has, or that differs from the one *account* had so far."""
    other = await connection.fetchval(
        """
        SELECT name FROM accounts
        WHERE platform = $1 AND coalesce(loopback, '') = coalesce($2, '') AND identity = $3 AND id <> $4
        """,
        account.platform.name, account.loopback, identity, account.id,
    )  # fmt: skip
    if other is not None:
        raise BadInput(
            f'{called} is signed in already, as the account "{other}". As two accounts they would send at twice the '
            "pace; use the one there is."
        )
    known = await connection.fetchval("SELECT identity FROM accounts WHERE id = $1", account.id)
    if known not in (None, identity):
        raise BadInput(
            f'{called} is not who "{account.name}" has been so far, and whose channels, reminders and runs are kept. '
            "Sign in as the same one, or add this one under another name: tidegate account add"
        )


async def note_identity(connection: Connection, account: AccountId, identity: UserId) -> None:
    """Store the identity of an account: its user id on the platform."""
    try:
        await connection.execute("UPDATE accounts SET identity = $2 WHERE id = $1", account, identity)
    except asyncpg.UniqueViolationError:
        raise BadInput("The same one was signed in as another account just now. See: tidegate account list") from None


async def find(connection: Connection, name: str) -> ListedAccount:
    """The account of that name, or a sentence."""
    row = await connection.fetchrow(f"{_LISTED} WHERE a.name = $1", name)
    if row is None:
        names = await connection.fetch(
            'SELECT name FROM accounts ORDER BY natural_order(lower(name)) COLLATE "C" LIMIT 6'
        )
        known = ", ".join(f'"{known["name"]}"' for known in names) or "none yet"
        raise NotThere(f'account named "{name}"', f"Accounts: {known}.")
    return _listed(row)


async def get(connection: Connection, account: AccountId) -> Account | None:
    """The account of that number, whatever it is called by now; None when it was removed."""
    row = await connection.fetchrow(f"{_LISTED} WHERE a.id = $1", account)
    return None if row is None else _account(row)


async def seeing(connection: Connection, name: str, channels: Collection[ChannelKey]) -> AccountId | None:
    """The account of that name, if it sees one of these channels."""
    number: int | None = await connection.fetchval(
        "SELECT a.id FROM accounts a WHERE a.name = $1 "
        "AND EXISTS (SELECT FROM sights s WHERE s.account = a.id AND s.channel = ANY($2))",
        name, list(channels),
    )  # fmt: skip
    return None if number is None else AccountId(number)


async def listing(connection: Connection, *, skip: int = 0, most: int | None = None) -> list[ListedAccount]:
    """Accounts in the order they were added: all, or *most* after the first *skip*."""
    rows = await connection.fetch(f"{_LISTED} ORDER BY a.id LIMIT $1 OFFSET $2", most, skip)
    return [_listed(row) for row in rows]


async def change_state(
    connection: Connection,
    account: AccountId,
    state: AccountState,
    *,
    expected: Iterable[AccountState],
    until: datetime | None = None,
    why: str | None = None,
) -> bool:
    """Change an account to *state* from one of the *expected* ones, with its event; False when it was in none."""
    name = await connection.fetchval(
        "UPDATE accounts SET state = $2, state_until = $3, state_why = $5, state_since = clock_now() "
        "WHERE id = $1 AND state = ANY($4) RETURNING name",
        account, state.value, until, [one.value for one in expected], why,
    )  # fmt: skip
    if name is None:
        return False
    await feed.record(connection, name, _CHANGED[state](until=until, why=why))
    return True


async def set_standing(connection: Connection, account: Account, standing: Standing) -> None:
    """Store how well the platform knows an account, with its event; the caller sets the pace that follows from it."""
    await connection.execute("UPDATE accounts SET standing = $2 WHERE id = $1", account.id, standing.value)
    changed = AccountStandingSet(standing=standing.value, was=account.standing.value)
    await feed.record(connection, account.name, changed)


async def require_new_name(connection: Connection, name: str) -> None:
    """Refuse a name that no account can be given."""
    if not name.isprintable():
        raise BadInput("An account's name is one line, without characters that cannot be seen.")
    await require_free(connection, name)


async def rename(connection: Connection, account: Account, name: str) -> None:
    """Call an account otherwise, with its event; inside a transaction. Whatever belongs to it names it by number."""
    await require_new_name(connection, name)
    try:
        await connection.execute("UPDATE accounts SET name = $2 WHERE id = $1", account.id, name)
    except asyncpg.UniqueViolationError:
        raise _taken(name) from None
    await feed.record(connection, name, AccountRenamed(was=account.name))


async def note_proxy(connection: Connection, account: Account, shown: str | None) -> None:
    """Store what people may see of an account's proxy, with its event; None where it has none."""
    await connection.execute("UPDATE accounts SET proxy = $2 WHERE id = $1", account.id, shown)
    await feed.record(connection, account.name, AccountProxySet(proxy=shown))


async def note_stop(connection: Connection, account: AccountId, stop: SignedOut | Banned) -> bool:
    """Store that an account was stopped, with the reason, and its event; False when that was known already."""
    working = [AccountState.ACTIVE, AccountState.PAUSED]
    return await change_state(
        connection,
        account,
        stop.leaves,
        expected=[state for state in working if state is not stop.leaves],
        until=stop.until if isinstance(stop, Banned) else None,
        why=str(stop),
    )


async def note_unreachable(connection: Connection, account: AccountId, epoch: int, why: str) -> None:
    """Store why an account cannot be reached, since when, and with the first reason its event."""
    row = await connection.fetchrow(
        """
        UPDATE accounts a
        SET unreachable_since = coalesce(a.unreachable_since, clock_now()), unreachable_why = $3
        FROM (SELECT id, unreachable_since FROM accounts WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE) AS before
        WHERE a.id = before.id
        RETURNING a.name, before.unreachable_since IS NULL AS is_news
        """,
        account, epoch, why,
    )  # fmt: skip
    if row is not None and row["is_news"]:
        await feed.record(connection, row["name"], AccountUnreachable(why=why))


async def note_reachable(connection: Connection, account: AccountId, epoch: int) -> None:
    """Store that an account is connected; where it was not, with its event."""
    name = await connection.fetchval(
        """
        UPDATE accounts SET unreachable_since = NULL, unreachable_why = NULL
        WHERE id = $1 AND epoch = $2 AND unreachable_since IS NOT NULL
        RETURNING name
        """,
        account, epoch,
    )  # fmt: skip
    if name is not None:
        await feed.record(connection, name, AccountReachable())


async def remove(connection: Connection, account: AccountId, name: str) -> None:
    """Delete an account with its secrets, pace and waits; its events and calls stay until their retention ends."""
    await connection.execute("DELETE FROM accounts WHERE id = $1", account)
    await feed.record(connection, name, AccountRemoved())


# Owners


async def fence(connection: Connection, claim: Claim, *, to_change: bool = False) -> None:
    """Raise ``NotOurs`` when another worker has the account; holds until the transaction ends (one-owner-per-account).

    *to_change* is for a caller that changes the account's row: it takes the stronger lock at once, since two
    callers that share a lock and then both upgrade it would deadlock.
    """
    lock = "NO KEY UPDATE" if to_change else "SHARE"
    ours = await connection.fetchval(
        f"SELECT true FROM accounts WHERE id = $1 AND epoch = $2 FOR {lock}", claim.account, claim.epoch
    )
    if not ours:
        raise NotOurs(f"Account {claim.account} was taken over; this worker's write in epoch {claim.epoch} is refused.")


async def count(connection: Connection, owner: WorkerNumber) -> tuple[int, int]:
    """How many accounts there are, and how many of them *owner* has."""
    row = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM accounts) AS all, (SELECT count(*) FROM accounts WHERE owner = $1) AS ours", owner
    )
    assert row is not None
    return row["all"], row["ours"]


async def take(
    connection: Connection,
    owner: WorkerNumber,
    most: int,
    patience: Mapping[Platform, timedelta],
    *,
    only: AccountId | None = None,
) -> list[ServedAccount]:
    """Take up to *most* accounts that no worker serves, each in a new epoch; *only* that one where it is given.

    A worker that left or died frees its accounts at once. A worker without beats frees those of a platform in
    *patience* only when that time has passed since its last beat.
    """
    gone = await connection.fetch(
        "SELECT number, ending, clock_now() - beat_at AS silent_for FROM workers WHERE ended_at IS NOT NULL"
    )
    kept_back = [
        (worker["number"], platform.name)
        for worker in gone
        for platform, span in patience.items()
        if worker["ending"] == "silent" and worker["silent_for"] < span
    ]
    rows = await connection.fetch(
        f"""
        UPDATE accounts a
        SET owner = $1, epoch = a.epoch + 1
        WHERE a.id IN (
            SELECT f.id
            FROM accounts f
            WHERE (f.owner IS NULL OR f.owner = ANY($3))
              AND (f.owner IS NULL OR (f.owner, f.platform) NOT IN (SELECT * FROM unnest($4::integer[], $5::text[])))
              AND ($6::bigint IS NULL OR f.id = $6)
            ORDER BY f.id
            LIMIT $2
            FOR UPDATE SKIP LOCKED
        )
        RETURNING {_COLUMNS}, a.epoch
        """,
        owner, most, [worker["number"] for worker in gone],
        [number for number, _ in kept_back], [platform for _, platform in kept_back], only,
    )  # fmt: skip
    return [ServedAccount(_account(row), row["epoch"]) for row in rows]


async def take_back(connection: Connection, old: WorkerNumber, new: WorkerNumber) -> None:
    """After a lost session: keep the accounts that no other worker took, in the same epoch, under the new number."""
    await connection.execute("UPDATE accounts SET owner = $2 WHERE owner = $1", old, new)


async def release(connection: Connection, owner: WorkerNumber, accounts: Sequence[AccountId]) -> None:
    """Release accounts, once their work has stopped and their connections are closed."""
    await connection.execute("UPDATE accounts SET owner = NULL WHERE owner = $1 AND id = ANY($2)", owner, accounts)


async def owned(connection: Connection, owner: WorkerNumber) -> list[ServedAccount]:
    """The accounts that the database assigns to *owner*."""
    rows = await connection.fetch(f"SELECT {_COLUMNS}, a.epoch FROM accounts a WHERE a.owner = $1", owner)
    return [ServedAccount(_account(row), row["epoch"]) for row in rows]


_LISTED = f"""
    SELECT {_COLUMNS}, a.epoch, w.name AS served_by, a.unreachable_since, a.unreachable_why, a.proxy,
        (SELECT max(until) FROM waits WHERE account = a.id AND kind = 'account' AND until > clock_now()) AS paused_until
    FROM accounts a LEFT JOIN workers w ON w.number = a.owner AND w.ended_at IS NULL
"""


def _account(row: asyncpg.Record) -> Account:
    return Account(
        id=AccountId(row["id"]),
        name=row["name"],
        platform=platform_named(row["platform"]),
        standing=Standing(row["standing"]),
        state=AccountState(row["state"]),
        state_until=row["state_until"],
        loopback=row["loopback"],
        identity=row["identity"],
        why=row["state_why"],
    )


def _listed(row: asyncpg.Record) -> ListedAccount:
    return ListedAccount(
        _account(row),
        row["served_by"],
        row["paused_until"],
        row["epoch"],
        row["unreachable_since"],
        row["unreachable_why"],
        row["proxy"],
    )


async def count_all(connection: Connection) -> int:
    """How many accounts there are."""
    number: int = await connection.fetchval("SELECT count(*) FROM accounts")
    return number


async def loopback_address(connection: Connection) -> str | None:
    """The address of the loopback platforms that accounts are signed in to; None when they are real ones."""
    address: str | None = await connection.fetchval("SELECT max(loopback) FROM accounts")
    return address
