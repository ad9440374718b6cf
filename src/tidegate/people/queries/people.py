"""Authors as their platform shows them, and every name they were seen with."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelKey, UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection
from tidegate.database.row_values import known_or

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


# Only what changed is written; a name was seen until another one was. Of two transactions that store the same person
# one leaves it to the other: waiting for each other in different orders they would deadlock. Arrays of usernames travel
# as one text each.
#
# A label is what one account calls a contact. It stands in only until any account shows the person's own name, and is
# then no longer among their names. Of two labels the first stays, so that two accounts do not rename a person in turn.
_STORE = """
    WITH clock AS MATERIALIZED (SELECT clock_now() AS now), given AS (
        SELECT c.platform, g.id, string_to_array(g.usernames, ' ') AS usernames, g.kind,
            CASE WHEN g.is_label AND p.name IS NOT NULL THEN p.name ELSE g.name END AS name,
            g.is_label AND coalesce(p.is_label, true) AS is_label,
            CASE WHEN p.is_label AND NOT g.is_label THEN p.name END AS old_label,
            p.name AS old_name, p.usernames AS old_usernames
        FROM channels c
        CROSS JOIN unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $7::boolean[])
            AS g (id, name, usernames, kind, is_label)
        LEFT JOIN people p ON p.platform = c.platform AND p.id = g.id
        WHERE c.id = $1
    ), changed AS (
        SELECT g.*
        FROM given g LEFT JOIN people p ON p.platform = g.platform AND p.id = g.id
        WHERE (p.name, p.usernames, p.kind, p.is_label) IS DISTINCT FROM (g.name, g.usernames, g.kind, g.is_label)
          AND pg_try_advisory_xact_lock($6, hashint8(g.id))
    ), written AS (
        INSERT INTO people (platform, id, name, usernames, kind, is_label)
        SELECT platform, id, name, usernames, kind, is_label FROM changed ORDER BY id
        ON CONFLICT (platform, id) DO UPDATE
        SET name = excluded.name, usernames = excluded.usernames, kind = excluded.kind, is_label = excluded.is_label,
            seen_at = excluded.seen_at
        RETURNING platform, id, name, usernames
    ), forgotten AS (
        DELETE FROM person_names n USING changed c
        WHERE n.platform = c.platform AND n.person = c.id AND n.name = c.old_label AND n.name <> c.name
    ), ended AS (
        UPDATE person_names n SET last_seen = now FROM changed c, clock
        WHERE n.platform = c.platform AND n.person = c.id AND c.old_label IS NULL
          AND (n.name, n.usernames) = (c.old_name, c.old_usernames)
          AND (n.name, n.usernames) <> (c.name, c.usernames)
    )
    INSERT INTO person_names AS n (platform, person, name, usernames, first_seen, last_seen)
    SELECT platform, id, name, usernames, now, now FROM written, clock
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
            _ONE_WRITER, [one.is_label for one in named.values()],
        )  # fmt: skip


async def names_of(connection: Connection, channel: ChannelKey, people: Collection[UserId]) -> dict[UserId, str]:
    """What people of a channel's platform are called, by their number; those who are not known are left out."""
    rows = await connection.fetch(
        """
        SELECT p.id, p.name FROM people p JOIN channels c ON c.platform = p.platform
        WHERE c.id = $1 AND p.id = ANY($2)
        """,
        channel, list(people),
    )  # fmt: skip
    return {UserId(row["id"]): row["name"] for row in rows}


async def names_over_time(
    connection: Connection, channel: ChannelKey, people: Collection[UserId]
) -> dict[UserId, frozenset[str]]:
    """All names that people of a channel's platform were seen with; those who are not known are left out."""
    rows = await connection.fetch(
        """
        SELECT n.person, array_agg(n.name) AS names FROM person_names n JOIN channels c ON c.platform = n.platform
        WHERE c.id = $1 AND n.person = ANY($2)
        GROUP BY n.person
        """,
        channel, list(people),
    )  # fmt: skip
    return {UserId(row["person"]): frozenset(row["names"]) for row in rows}


async def find(connection: Connection, platform: Platform, number: UserId) -> KnownPerson | None:
    """A person and the names they had; None for one who wrote nothing that is stored."""
    row = await connection.fetchrow("SELECT * FROM people WHERE platform = $1 AND id = $2", platform, number)
    if row is None:
        return None
    names = await connection.fetch(
        "SELECT name, usernames, first_seen, last_seen FROM person_names WHERE platform = $1 AND person = $2 "
        "ORDER BY (name, usernames) = ($3, $4) DESC, last_seen DESC, first_seen DESC",
        platform, number, row["name"], row["usernames"],
    )  # fmt: skip
    kind = known_or(PersonKind, row["kind"], PersonKind.PERSON)
    person = Person(UserId(row["id"]), row["name"], tuple(row["usernames"]), kind, is_label=row["is_label"])
    return KnownPerson(person, row["seen_at"], [PersonName(**one) for one in names])
