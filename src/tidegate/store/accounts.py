"""Accounts: who they are, whether they may work, and which worker serves them in which epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.errors import BadInput, Banned, NotOurs, NotThere, SignedOut
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.words import Account, AccountId, AccountState, Claim, Platform, Standing, WorkerNumber

_COLUMNS = "a.id, a.name, a.platform, a.standing, a.state, a.state_until, a.state_why, a.loopback, a.identity"


@dataclass(frozen=True, slots=True)
class Served:
    """An account and the epoch in which it was taken."""

    account: Account
    epoch: int


@dataclass(frozen=True, slots=True)
class Listed:
    """An account as ``tidegate account list`` shows it."""

    account: Account
    served_by: str | None
    paused_until: datetime | None
    epoch: int


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
            name, platform.value, standing.value, loopback,
        )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise _taken(name) from None
    await feed.record(connection, "account.added", name, {"platform": platform.value, "standing": standing.value})
    return AccountId(number)


async def require_same(connection: Connection, account: Account, identity: int, called: str) -> None:
    """Refuse whoever is another account already, or another than *account* has been so far."""
    other = await connection.fetchval(
        """
        SELECT name FROM accounts
        WHERE platform = $1 AND coalesce(loopback, '') = coalesce($2, '') AND identity = $3 AND id <> $4
        """,
        account.platform.value, account.loopback, identity, account.id,
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


async def note_identity(connection: Connection, account: AccountId, identity: int) -> None:
    """Keep who an account is on its platform, by the platform's own number."""
    try:
        await connection.execute("UPDATE accounts SET identity = $2 WHERE id = $1", account, identity)
    except asyncpg.UniqueViolationError:
        raise BadInput("The same one was signed in as another account just now. See: tidegate account list") from None


async def find(connection: Connection, name: str) -> Listed:
    """The account of that name, or a sentence."""
    row = await connection.fetchrow(f"{_LISTED} WHERE a.name = $1", name)
    if row is None:
        names = await connection.fetch("SELECT name FROM accounts ORDER BY name LIMIT 6")
        known = ", ".join(f'"{known["name"]}"' for known in names) or "none yet"
        raise NotThere(f'account named "{name}"', f"Accounts: {known}.")
    return _listed(row)


async def listing(connection: Connection) -> list[Listed]:
    return [_listed(row) for row in await connection.fetch(f"{_LISTED} ORDER BY a.id")]


async def change_state(
    connection: Connection,
    account: AccountId,
    state: AccountState,
    *,
    expected: Iterable[AccountState],
    until: datetime | None = None,
    why: str | None = None,
) -> bool:
    """Move an account to *state* from one of the *expected* ones, with its event; False when it was in none of them."""
    name = await connection.fetchval(
        "UPDATE accounts SET state = $2, state_until = $3, state_why = $5 WHERE id = $1 AND state = ANY($4) "
        "RETURNING name",
        account, state.value, until, [one.value for one in expected], why,
    )  # fmt: skip
    if name is None:
        return False
    event = {AccountState.ACTIVE: "account.resumed"}.get(state, f"account.{state.value}")
    said = {} if why is None else {"why": why}
    await feed.record(connection, event, name, {"until": until.isoformat() if until else None, **said})
    return True


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


async def remove(connection: Connection, account: AccountId, name: str) -> None:
    """Forget an account with its secrets, pace and waits; feed and ledger keep what they say of it for their time."""
    await connection.execute("DELETE FROM accounts WHERE id = $1", account)
    await feed.record(connection, "account.removed", name, {})


# Owners


async def fence(connection: Connection, claim: Claim, *, to_change: bool = False) -> None:
    """Refuse to go on when somebody else has the account; held until the transaction ends (law 8).

    Whoever is about to change the account's own row says so, and gets it for itself at once: two that share it and
    then both want more would wait for each other.
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
) -> list[Served]:
    """Take up to *most* accounts that nobody serves, each in a new epoch; *only* that one where it is given.

    A worker that left or died frees its accounts at once; one that fell silent frees those of a platform named in
    *patience* only when that long has passed since its last beat.
    """
    gone = await connection.fetch(
        "SELECT number, ending, clock_now() - beat_at AS silent_for FROM workers WHERE ended_at IS NOT NULL"
    )
    kept_back = [
        (worker["number"], platform.value)
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
    return [Served(_account(row), row["epoch"]) for row in rows]


async def take_back(connection: Connection, old: WorkerNumber, new: WorkerNumber) -> None:
    """After a lost session: keep what nobody took meanwhile, in the same epoch, under the new number."""
    await connection.execute("UPDATE accounts SET owner = $2 WHERE owner = $1", old, new)


async def release(connection: Connection, owner: WorkerNumber, accounts: Sequence[AccountId]) -> None:
    """Give accounts up, once their work has stopped and their connections are closed."""
    await connection.execute("UPDATE accounts SET owner = NULL WHERE owner = $1 AND id = ANY($2)", owner, accounts)


async def owned(connection: Connection, owner: WorkerNumber) -> list[Served]:
    """What the database says *owner* serves."""
    rows = await connection.fetch(f"SELECT {_COLUMNS}, a.epoch FROM accounts a WHERE a.owner = $1", owner)
    return [Served(_account(row), row["epoch"]) for row in rows]


_LISTED = f"""
    SELECT {_COLUMNS}, a.epoch, w.name AS served_by,
        (SELECT max(until) FROM waits WHERE account = a.id AND kind = 'account' AND until > clock_now()) AS paused_until
    FROM accounts a LEFT JOIN workers w ON w.number = a.owner AND w.ended_at IS NULL
"""


def _account(row: asyncpg.Record) -> Account:
    return Account(
        id=AccountId(row["id"]),
        name=row["name"],
        platform=Platform(row["platform"]),
        standing=Standing(row["standing"]),
        state=AccountState(row["state"]),
        state_until=row["state_until"],
        loopback=row["loopback"],
        identity=row["identity"],
        why=row["state_why"],
    )


def _listed(row: asyncpg.Record) -> Listed:
    return Listed(_account(row), row["served_by"], row["paused_until"], row["epoch"])
