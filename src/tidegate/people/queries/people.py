"""Authors as their platform shows them, and every name they were seen with."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelKey, UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection

_ONE_WRITER = 0x7467_7065  # "tgpe"


@dataclass(frozen=True, slots=True)
class PersonName:
    """A name that a person had, with the usernames of that time, and when it was seen first and last."""

    name: str
    usernames: list[str]
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """A person as they were seen last, and their names, the newest first."""

    person: Person
    seen_at: datetime
    names: list[PersonName]


# Only what changed is written. Of two transactions that store the same person one leaves it to the other: waiting for
# each other in different orders they would deadlock. Arrays of usernames travel as one text each.
_STORE = """
    WITH given AS (
        SELECT c.platform, g.id, g.name, string_to_array(g.usernames, ' ') AS usernames, g.kind
        FROM channels c, unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) AS g (id, name, usernames, kind)
        WHERE c.id = $1
    ), changed AS (
        SELECT g.*
        FROM given g LEFT JOIN people p ON p.platform = g.platform AND p.id = g.id
        WHERE (p.name, p.usernames, p.kind) IS DISTINCT FROM (g.name, g.usernames, g.kind)
          AND pg_try_advisory_xact_lock($6, hashint8(g.id))
    ), written AS (
        INSERT INTO people (platform, id, name, usernames, kind)
        SELECT platform, id, name, usernames, kind FROM changed ORDER BY id
        ON CONFLICT (platform, id) DO UPDATE
        SET name = excluded.name, usernames = excluded.usernames, kind = excluded.kind, seen_at = excluded.seen_at
        RETURNING platform, id, name, usernames
    )
    INSERT INTO person_names AS n (platform, person, name, usernames, first_seen, last_seen)
    SELECT platform, id, name, usernames, clock_now(), clock_now() FROM written
    ON CONFLICT (platform, person, name, usernames) DO UPDATE SET last_seen = excluded.last_seen
"""


async def store(connection: Connection, channel: ChannelKey, people: Iterable[Person]) -> None:
    """Store people as *channel* shows them now; one without a name says nothing, and a webhook has any name."""
    named = {one.id: one for one in people if one.name and one.kind is not PersonKind.WEBHOOK}
    if named:
        await connection.execute(
            _STORE,
            channel, list(named), [one.name for one in named.values()],
            [" ".join(one.usernames) for one in named.values()], [one.kind.value for one in named.values()],
            _ONE_WRITER,
        )  # fmt: skip


async def names(connection: Connection, platform: Platform, numbers: Collection[UserId]) -> dict[int, str]:
    """What people were called when they were seen last, by their numbers; unknown ones are left out."""
    rows = await connection.fetch(
        "SELECT id, name FROM people WHERE platform = $1 AND id = ANY($2)", platform, list(numbers)
    )
    return {row["id"]: row["name"] for row in rows}


async def find(connection: Connection, platform: Platform, number: UserId) -> KnownPerson | None:
    """A person and the names they had; None for one who wrote nothing that is stored."""
    row = await connection.fetchrow("SELECT * FROM people WHERE platform = $1 AND id = $2", platform, number)
    if row is None:
        return None
    names = await connection.fetch(
        "SELECT name, usernames, first_seen, last_seen FROM person_names WHERE platform = $1 AND person = $2 "
        "ORDER BY last_seen DESC, first_seen DESC",
        platform, number,
    )  # fmt: skip
    person = Person(UserId(row["id"]), row["name"], tuple(row["usernames"]), PersonKind(row["kind"]))
    return KnownPerson(person, row["seen_at"], [PersonName(**one) for one in names])
