"""Channels: which there are, which account sees and reads them, and what the operator wants of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.channels.rules.cold_turns import free_offsets
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, GuildId, TopicId
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.channels import ChannelDisabled, ChannelEnabled, ChannelLost, ChannelMoved, ChannelParked
from tidegate.events.queries import feed
from tidegate.platforms.interface import Channel
from tidegate.platforms.interface.group_numbers import as_number

NO_TOPIC = TopicId(0)
"""The topic number that stands for the channel itself."""

_OFFSETS = 0x7467_6F66  # "tgof": one command at a time gives out offsets


@dataclass(frozen=True, slots=True)
class KnownChannel:
    """A channel as it is stored. *key* is our number of it, *number* the platform's.

    *parent* is the number of a thread's channel; its key and title are empty where it is not known here. *server* is
    the name of the guild. A *remark* is what the operator should know, such as that private threads may not be listed.
    Until *parked_until* the platform rate limits it. A private chat is *private_to* the account that sees it. A small
    group that became a large one is *moved_to* that.
    """

    key: ChannelKey
    platform: Platform
    number: ChannelId
    title: str
    forum: bool
    protected: bool
    reader: AccountId | None
    enabled: bool
    in_full: bool
    hashed: bool
    by_topic: bool
    destination: ChannelKey | None
    state: str
    kind: str = "channel"
    parent: ChannelId | None = None
    remark: str = ""
    reader_name: str | None = None
    parked_until: datetime | None = None
    seen_by: int = 0
    description: str = ""
    guild: GuildId | None = None
    server: str = ""
    parent_key: ChannelKey | None = None
    parent_title: str = ""
    private_to: AccountId | None = None
    private_to_name: str | None = None
    moved_to: ChannelId | None = None

    @property
    def is_private_chat(self) -> bool:
        """Whether it is the chat of one account, which is outside "all channels"."""
        return self.private_to is not None


_KEPT = """
    SELECT c.id AS key, c.platform, c.number, c.title, c.forum, c.protected, c.reader, c.enabled, c.in_full, c.hashed,
        c.by_topic, c.destination, c.kind, c.parent, c.remark, c.description, c.private_to, c.moved_to,
        c.guild, coalesce(g.title, '') AS server, p.id AS parent_key, coalesce(p.title, '') AS parent_title,
        CASE WHEN c.state = 'ok' AND c.moved_to IS NOT NULL THEN 'moved' ELSE c.state END AS state,
        a.name AS reader_name, (SELECT o.name FROM accounts o WHERE o.id = c.private_to) AS private_to_name,
        CASE WHEN c.parked_until > clock_now() THEN c.parked_until END AS parked_until,
        (SELECT count(*) FROM sights s WHERE s.channel = c.id) AS seen_by
    FROM channels c
    LEFT JOIN accounts a ON a.id = c.reader
    LEFT JOIN guilds g ON g.platform = c.platform AND g.number = c.guild
    LEFT JOIN channels p ON p.platform = c.platform AND p.number = c.parent
"""


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """What the operator wants of a channel."""

    topics: Sequence[TopicId] = ()  # only these, where there are any
    in_full: bool = False  # every message, not only archives
    hashed: bool = False  # archives are compared by their content
    destination: ChannelKey | None = None  # where archives are posted to


# What an account sees


async def see(connection: Connection, platform: Platform, account: AccountId, seen: Collection[Channel]) -> None:
    """Store channels as an account sees them now; one that was unreadable is readable again.

    A private chat belongs to the account, and its number is that account's alone.
    """
    await connection.execute(
        """
        WITH seen AS (
            SELECT * FROM unnest($3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::boolean[], $8::text[],
                                 $9::boolean[], $10::bigint[])
                AS s (number, title, forum, protected, may_post, kind, private_chat, moved_to)
        ), kept AS (
            INSERT INTO channels AS c (platform, number, title, forum, protected, kind, private_to, moved_to)
            SELECT $1, number, title, forum, protected, kind, CASE WHEN private_chat THEN $2::bigint END, moved_to
            FROM seen ORDER BY number
            ON CONFLICT (platform, number) DO UPDATE
            SET title = excluded.title, forum = excluded.forum, protected = excluded.protected,
                state = CASE c.state WHEN 'unreadable' THEN 'ok' ELSE c.state END,
                moved_to = coalesce(excluded.moved_to, c.moved_to)
            RETURNING c.id, c.number
        )
        INSERT INTO sights (account, channel, may_post)
        SELECT $2, kept.id, seen.may_post FROM kept JOIN seen USING (number)
        ON CONFLICT (account, channel) DO UPDATE SET may_post = excluded.may_post
        """,
        platform.name, account,
        [one.id for one in seen], [one.title for one in seen], [one.forum for one in seen],
        [one.protected for one in seen], [one.may_post for one in seen], [one.kind.value for one in seen],
        [one.is_private_chat for one in seen], [one.moved_to for one in seen],
    )  # fmt: skip


async def note_moved(connection: Connection, key: ChannelKey, moved_to: ChannelId) -> None:
    """A small group became a large one, where people write from now on; what is stored stays here."""
    row = await connection.fetchrow(
        "UPDATE channels SET moved_to = $2 WHERE id = $1 AND moved_to IS DISTINCT FROM $2 RETURNING number, title",
        key, moved_to,
    )  # fmt: skip
    if row is not None:
        await feed.record(connection, row["title"], ChannelMoved(channel=row["number"], moved_to=moved_to))


async def note_description(connection: Connection, key: ChannelKey, description: str) -> None:
    """Store what a channel says about itself; the earlier description stays on record."""
    await connection.execute(
        "UPDATE channels SET description = $2 WHERE id = $1 AND description <> $2", key, description
    )


@dataclass(frozen=True, slots=True)
class ChannelName:
    """An earlier title and description of a channel, and when it was seen last."""

    title: str
    description: str
    last_seen: datetime


async def earlier_names(connection: Connection, key: ChannelKey, *, most: int = 100) -> list[ChannelName]:
    """What a channel was called before, the newest first."""
    rows = await connection.fetch(
        "SELECT title, description, last_seen FROM channel_names WHERE channel = $1 ORDER BY last_seen DESC LIMIT $2",
        key, most,
    )  # fmt: skip
    return [ChannelName(**row) for row in rows]


async def describe(connection: Connection, key: ChannelKey, described: Channel | None) -> None:
    """Store a channel's description in the gate's answer, if it is new; without one the last description stays."""
    if described is not None:
        await connection.execute(
            """
            UPDATE channels SET title = $2, forum = $3, protected = $4
            WHERE id = $1 AND (title, forum, protected) IS DISTINCT FROM ($2, $3, $4)
            """,
            key, described.title, described.forum, described.protected,
        )  # fmt: skip


async def lose_sight(connection: Connection, account: AccountId, kept: KnownChannel) -> None:
    """An account can no longer see a channel: another that can becomes its reader, else it is shown as unreadable."""
    await connection.execute("SELECT FROM channels WHERE id = $1 FOR UPDATE", kept.key)  # locked before the sights
    await connection.execute("DELETE FROM sights WHERE account = $1 AND channel = $2", account, kept.key)
    reader = await connection.fetchval(
        """
        UPDATE channels c
        SET reader = other.account, state = CASE WHEN other.account IS NULL THEN 'unreadable' ELSE c.state END
        FROM (SELECT min(s.account) AS account FROM sights s JOIN accounts a ON a.id = s.account
              WHERE s.channel = $1 AND a.state = 'active') AS other
        WHERE c.id = $1
        RETURNING c.reader
        """,
        kept.key,
    )
    if kept.is_private_chat:  # the box is followed without it from now on
        await drop_counter(connection, [kept.key])
    await feed.record(connection, kept.title, ChannelLost(channel=kept.number, another_reader=bool(reader)))


async def claim_readers(connection: Connection, account: AccountId) -> None:
    """Make this account the reader of enabled channels it sees that have no active reader.

    A private chat among them was lost. A scan that ended after that may have stored its counter once more.
    """
    claimed = await connection.fetch(
        """
        UPDATE channels c
        SET reader = $1, state = CASE c.state WHEN 'unreadable' THEN 'ok' ELSE c.state END
        FROM sights s
        WHERE s.account = $1 AND s.channel = c.id AND c.enabled AND c.reader IS DISTINCT FROM $1
          AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = c.reader AND a.state = 'active')
        RETURNING c.id, c.private_to
        """,
        account,
    )
    if found := [ChannelKey(row["id"]) for row in claimed if row["private_to"] is not None]:
        await drop_counter(connection, found)


async def park(connection: Connection, key: ChannelKey, pause: timedelta) -> None:
    """The platform rate limits a channel for *pause* from now; reported once, until the wait grows."""
    row = await connection.fetchrow(
        """
        UPDATE channels SET parked_until = clock_now() + $2
        WHERE id = $1 AND coalesce(parked_until, '-infinity') < clock_now() + $2 - interval '1 s'
        RETURNING number, title, parked_until
        """,
        key, pause,
    )  # fmt: skip
    if row is not None:
        await feed.record(connection, row["title"], ChannelParked(channel=row["number"], until=row["parked_until"]))


# What the operator wants


class SeveralChannels(BadInput):
    """A title that several channels have; the sentence names their numbers."""


async def find(
    connection: Connection, named: str, *, among: Collection[ChannelKey] | None = None, private: bool = True
) -> KnownChannel:
    """The channel of that number or title, or a sentence that names the candidates.

    *among* are our numbers of those that the caller may know of; None is all, without *private* all but private chats.
    """
    rows = await connection.fetch(
        f"{_KEPT} WHERE (c.number = $1 OR c.title = $2) AND ($3::bigint[] IS NULL OR c.id = ANY($3)) "
        "AND ($4 OR c.private_to IS NULL) ORDER BY c.id",
        number_in(as_number(named)), named, None if among is None else list(among), private,
    )  # fmt: skip
    if len(rows) == 1:
        return _kept(rows[0])
    if rows:
        numbers = ", ".join(str(row["number"]) for row in rows)
        raise SeveralChannels(f'Several channels are called "{named}"; give the number of one: {numbers}.')
    raise BadInput(f'There is no channel "{named}". See them with: tidegate channel list; new ones: channel sync.')


def number_in(written: str) -> int | None:
    """The number in a text; None when there is none, or none that the database could hold."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,18})", written, re.ASCII) is None or not -(2**63) <= int(written) < 2**63:
        return None
    return int(written)


async def listing(
    connection: Connection,
    account: AccountId | None = None,
    *,
    platform: Platform | None = None,
    enabled: bool | None = None,
) -> list[KnownChannel]:
    """All channels, or those that *account* sees, of one *platform*, that are mirrored (*enabled*) or are not."""
    rows = await connection.fetch(
        f"""{_KEPT}
        WHERE ($1::bigint IS NULL OR EXISTS (SELECT FROM sights s WHERE s.channel = c.id AND s.account = $1))
          AND ($2::text IS NULL OR c.platform = $2) AND ($3::boolean IS NULL OR c.enabled = $3)
        ORDER BY c.title, c.id
        """,
        account, None if platform is None else platform.name, enabled,
    )  # fmt: skip
    return [_kept(row) for row in rows]


async def count_seen(connection: Connection, account: AccountId) -> int:
    """How many channels *account* sees: as many as ``listing`` has for it."""
    number: int = await connection.fetchval("SELECT count(*) FROM sights WHERE account = $1", account)
    return number


async def any_known(connection: Connection) -> bool:
    """Whether any channel is known at all."""
    known: bool = await connection.fetchval("SELECT EXISTS (SELECT FROM channels)")
    return known


async def of_keys(connection: Connection, keys: Collection[ChannelKey]) -> dict[ChannelKey, KnownChannel]:
    """These channels, by our numbers of them."""
    rows = await connection.fetch(f"{_KEPT} WHERE c.id = ANY($1)", list(keys))
    return {ChannelKey(row["key"]): _kept(row) for row in rows}


async def private_mirrored(connection: Connection) -> list[ChannelKey]:
    """Our numbers of the private chats that were mirrored at some time, so that messages of them may be stored."""
    rows = await connection.fetch(
        "SELECT c.id FROM channels c "
        "WHERE c.private_to IS NOT NULL AND EXISTS (SELECT FROM places p WHERE p.channel = c.id)"
    )
    return [ChannelKey(row["id"]) for row in rows]


async def read_by(connection: Connection, account: AccountId, number: ChannelId) -> ChannelKey | None:
    """Our number of a channel that is mirrored and that *account* reads."""
    key: ChannelKey | None = await connection.fetchval(
        "SELECT id FROM channels WHERE reader = $1 AND enabled AND number = $2", account, number
    )
    return key


async def forums_to_list(connection: Connection, account: AccountId) -> list[KnownChannel]:
    """The forums *account* reads whose topics were not listed for a day."""
    rows = await connection.fetch(
        f"""{_KEPT}
        WHERE c.reader = $1 AND c.enabled AND c.forum AND c.state <> 'unreadable'
          AND (c.topics_listed_at IS NULL OR c.topics_listed_at <= clock_now() - interval '1 day')
        ORDER BY c.topics_listed_at NULLS FIRST, c.id
        """,
        account,
    )
    return [_kept(row) for row in rows]


async def note_topics_listed(connection: Connection, key: ChannelKey) -> None:
    """All topics of a forum have just been listed."""
    await connection.execute("UPDATE channels SET topics_listed_at = clock_now() WHERE id = $1", key)


async def topics_were_listed(connection: Connection, key: ChannelKey) -> bool:
    """Whether all topics of a forum have been listed at some time."""
    listed: bool = await connection.fetchval("SELECT topics_listed_at IS NOT NULL FROM channels WHERE id = $1", key)
    return listed


async def topic_title(connection: Connection, key: ChannelKey, topic: TopicId) -> str:
    """What a topic is called; empty where that is not known."""
    title: str | None = await connection.fetchval(
        "SELECT title FROM places WHERE channel = $1 AND topic = $2 AND topic > 0", key, topic
    )
    return title or ""


async def unknown_topics(connection: Connection, key: ChannelKey, topics: Collection[TopicId]) -> list[TopicId]:
    """Those of *topics* that neither a listing nor a message has shown; General is in every forum."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT t FROM unnest($2::bigint[]) AS t
        WHERE t > 1 AND NOT EXISTS (SELECT FROM places p WHERE p.channel = $1 AND p.topic = t)
        ORDER BY t
        """,
        key, list(topics),
    )  # fmt: skip
    return [TopicId(row["t"]) for row in rows]


async def enable(connection: Connection, kept: KnownChannel, wishes: MirrorOptions) -> None:
    """Mirror a channel from the next cycle on, as *wishes* say; topics that are not named are deselected."""
    await connection.execute(
        """
        UPDATE channels
        SET enabled = true, by_topic = $2, in_full = $3 OR NOT $6 OR private_to IS NOT NULL, hashed = $4,
            destination = $5, to_start = $3 OR $6 OR private_to IS NOT NULL,
            reader = coalesce(reader, (SELECT min(account) FROM sights WHERE channel = $1))
        WHERE id = $1
        """,
        kept.key, bool(wishes.topics), wishes.in_full, wishes.hashed, wishes.destination,
        kept.platform.has_archives,
    )  # fmt: skip
    await connection.execute(
        "UPDATE places SET selected = false WHERE channel = $1 AND topic <> ALL($2)", kept.key, list(wishes.topics)
    )
    # What was read topic by topic says nothing about the rest of the forum. A private chat was not followed while it
    # was disabled, and a scan that ended after that may have stored its counter once more.
    if kept.by_topic != bool(wishes.topics) or (kept.is_private_chat and not kept.enabled):
        await drop_counter(connection, [kept.key])
    await _make_places(connection, kept.key, [NO_TOPIC, *wishes.topics])
    await feed.record(connection, kept.title, ChannelEnabled(channel=kept.number, topics=list(wishes.topics)))


async def _make_places(connection: Connection, key: ChannelKey, topics: Iterable[TopicId]) -> None:
    """Give each new place the smallest offset that no other scanned place has, so that cold ones take turns evenly.

    A place that was scanned before keeps its own, so a change of the list moves no other turn.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _OFFSETS)  # two commands would choose the same ones
    scanned = await connection.fetch(
        "SELECT topic FROM places WHERE channel = $1 AND (topic = 0 OR selected) AND NOT never_scanned", key
    )
    kept = [row["topic"] for row in scanned]
    wanted = [topic for topic in dict.fromkeys(topics) if topic not in kept]
    taken = await connection.fetch(
        "SELECT turn_offset FROM places WHERE (topic = 0 OR selected) AND (channel, topic) NOT IN "
        "(SELECT $1::bigint, t FROM unnest($2::bigint[]) AS t)",
        key, wanted,
    )  # fmt: skip
    offsets = free_offsets([row["turn_offset"] for row in taken], len(wanted))
    await connection.execute(
        """
        INSERT INTO places (channel, topic, selected, turn_offset)
        SELECT $1, t, t <> 0, o FROM unnest($2::bigint[], $3::bigint[]) AS w (t, o)
        ON CONFLICT (channel, topic) DO UPDATE
        SET selected = excluded.selected, turn_offset = excluded.turn_offset, gone_at = NULL
        """,
        key, wanted, offsets,
    )  # fmt: skip
    await connection.execute(
        "UPDATE places SET gone_at = NULL WHERE channel = $1 AND topic = ANY($2) AND gone_at IS NOT NULL",
        key, kept,
    )  # fmt: skip


async def disable(connection: Connection, kept: KnownChannel) -> bool:
    """Stop mirroring a channel; what is stored stays. False when it was not enabled."""
    done = await connection.execute("UPDATE channels SET enabled = false WHERE id = $1 AND enabled", kept.key)
    if done != "UPDATE 1":
        return False
    if kept.is_private_chat:  # the box is followed without it from now on
        await drop_counter(connection, [kept.key])
    await feed.record(connection, kept.title, ChannelDisabled(channel=kept.number))
    return True


async def drop_counter(connection: Connection, keys: Collection[ChannelKey]) -> None:
    """The stored counter of changes proves nothing any more: each channel is read and compared before it has one.

    It counts as a request to read the channel, so that a scan that runs now does not store its counter.
    """
    await connection.execute(
        """
        UPDATE places
        SET unread_since = coalesce(unread_since, changes), unread_upto = coalesce(changes, unread_upto),
            unread_below = NULL, changes = NULL, asks = asks + 1
        WHERE channel = ANY($1) AND topic = 0
        """,
        list(keys),
    )


def _kept(row: asyncpg.Record) -> KnownChannel:
    return from_row(KnownChannel, row, platform=platform_named(row["platform"]))
