"""Archives found by state, channel, part of a name and files inside, quickly also among a million."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tidegate.core.ids import AccountId, ArchiveId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.search.queries.ranked_hits import planned_anew
from tidegate.search.rules.query_language import from_the_beginning
from tidegate.search.rules.tokenizer import quoted
from tidegate.workers.queries.workers import SERVED

State = Literal["collecting", "waiting", "working", "filed", "failed", "given_up", "incomplete", "gone"]
STATES: tuple[State, ...] = get_args(State)


# A set whose worker is gone is not shown as being worked on: the next owner puts it back (S-60).
LEFT_OFF = f"(a.state = 'working' AND ((SELECT reader FROM channels WHERE id = a.channel) IN ({SERVED})) IS NOT TRUE)"

_END = 2**63 - 1

_WHOSE = """
    ($6::bigint IS NULL OR a.channel IN (SELECT id FROM channels WHERE reader = $6))
    AND ($7::text IS NULL OR a.channel IN (SELECT id FROM channels WHERE platform = $7))
"""


@dataclass(frozen=True, slots=True)
class ArchiveFilter:
    """Which archives are wanted: in some *states*, of some channels (our numbers of them), found by a *text*.

    They are of the channels that *reader* reads, and of those on a *platform*.

    The text is part of the archive's name, or it is words of the path of a file inside. They come newest first, those
    *before* one.
    """

    states: Collection[str] = ()
    channels: Collection[ChannelKey] | None = None
    text: str = ""
    before: ArchiveId | None = None
    reader: AccountId | None = None
    platform: str | None = None

    @property
    def words(self) -> str:
        """The text as words, as PostgreSQL reads a ``tsquery``; empty when it has none."""
        return " & ".join(dict.fromkeys(one for word in self.text.split() for one in from_the_beginning(word)))


_NEWEST = 2_000
"""How many of the newest candidates are examined one by one before an index is used: a common match is among them."""

_NAMES = 10_000
"""How many archives back names are then compared, which takes far less time than looking inside."""

_PROBED = 20_000
"""The most channels of a reader or a platform that are looked at one by one for archives."""

_PIECE = 3  # characters
_NAMED = "strpos(lower(a.name), $8) > 0"

_FITTING = "SELECT a.id FROM archives a WHERE {fits} ORDER BY a.id DESC LIMIT $5"

# The contents are a scalar subquery, so that archives are looked up one by one, until there are enough.
_AMONG_NEWEST = f"""
    WITH newest AS MATERIALIZED (
        SELECT a.id, a.name FROM archives a WHERE {{fits}} ORDER BY a.id DESC LIMIT {{newest}}
    )
    SELECT (SELECT count(*) FROM newest) < {{newest}} AS complete, (SELECT max(id) FROM newest) AS last, ARRAY(
        SELECT a.id FROM newest a
        WHERE {_NAMED}
           OR (SELECT true FROM archive_contents WHERE archive = a.id AND (words @@ $9::text::tsquery) IS TRUE LIMIT 1)
        ORDER BY a.id DESC LIMIT $5
    ) AS found
"""

_BY_NAMES = f"SELECT a.id FROM archives a WHERE {{fits}} AND {_NAMED} ORDER BY a.id DESC LIMIT $5"

_HOLDING = "archive_contents WHERE archive > $3 AND archive < $4 AND words @@ $8::text::tsquery"

# OFFSET 0 keeps the planner from scanning in id order instead, which is slow for a rare match.
_BY_PIECES = f"""
    SELECT id FROM (
        SELECT a.id FROM archives a WHERE {{fits}} AND pieces_of(a.name) @@ $9::text::tsquery AND {_NAMED} OFFSET 0
    ) AS named
    ORDER BY id DESC LIMIT $5
"""
_BY_WORDS = f"""
    SELECT a.id FROM archives a
    WHERE {{fits}} AND a.id IN (SELECT DISTINCT archive FROM {_HOLDING} ORDER BY archive DESC OFFSET 0)
    ORDER BY a.id DESC LIMIT $5
"""

# Channels may have fewer archives than have the words inside; then each of them is searched.
_BY_WORDS_IN_CHANNELS = f"""
    SELECT id FROM (
        SELECT a.id FROM archives a WHERE {{fits}} AND a.id IN (SELECT archive FROM {_HOLDING}) OFFSET 0
    ) AS holding
    ORDER BY id DESC LIMIT $5
"""


async def newest(connection: Connection, sought: ArchiveFilter, *, most: int) -> list[ArchiveId]:
    """The newest archives of those sought, by their numbers."""
    narrowed = await _narrowed(connection, sought)
    if narrowed is None:
        return []
    sought = narrowed
    async with planned_anew(connection):
        if text := sought.text.strip():
            return await _matching(connection, sought, text, most)
        return await _numbers(connection, _FITTING, sought, most)


async def _narrowed(connection: Connection, sought: ArchiveFilter) -> ArchiveFilter | None:
    """The same by channels that have archives, where the reader or platform has few channels; None for no channel.

    An account with few archives among a million would else be looked for in all of them.
    """
    if sought.reader is None and sought.platform is None:
        return sought
    rows = await connection.fetch(
        """
        SELECT id FROM channels WHERE ($1::bigint IS NULL OR reader = $1) AND ($2::text IS NULL OR platform = $2)
        LIMIT $3
        """,
        sought.reader, sought.platform, _PROBED + 1,
    )  # fmt: skip
    if len(rows) > _PROBED:
        return sought
    keys = await connection.fetch(
        "SELECT c.id FROM unnest($1::bigint[]) AS c (id) WHERE EXISTS (SELECT FROM archives a WHERE a.channel = c.id)",
        [row["id"] for row in rows],
    )
    found = {ChannelKey(row["id"]) for row in keys}
    if sought.channels is not None:
        found &= set(sought.channels)
    return replace(sought, channels=sorted(found), reader=None, platform=None) if found else None


async def _matching(connection: Connection, sought: ArchiveFilter, text: str, most: int) -> list[ArchiveId]:
    """Archives by a text: first among the newest, as they are; when those are too few, among all, by the indexes.

    For a common text the indexes would return very many rows, to be sorted for a single page.
    """
    plain: str = await connection.fetchval("SELECT lower($1)", text)
    newest = _AMONG_NEWEST.format(fits=_fits(sought.states), newest=_NEWEST)
    [row] = await connection.fetch(newest, *_asked(sought, most), plain, sought.words)
    found: list[ArchiveId] = row["found"]
    if row["complete"] or len(found) == most:
        return found
    named = await _numbers(connection, _BY_NAMES, sought, most, plain, beyond=row["last"] - _NAMES)
    if len(named) < most:
        named = await _numbers(connection, _BY_PIECES, sought, most, plain, _pieces(plain))
    oldest = named[-1] if len(named) == most else 0
    by_words = _BY_WORDS if sought.channels is None else _BY_WORDS_IN_CHANNELS
    holding = await _numbers(connection, by_words, sought, most, sought.words, beyond=oldest)
    return sorted({*named, *holding}, reverse=True)[:most]


async def _numbers(
    connection: Connection, query: str, sought: ArchiveFilter, most: int, *values: str, beyond: int = 0
) -> list[ArchiveId]:
    rows = await connection.fetch(query.format(fits=_fits(sought.states)), *_asked(sought, most, beyond), *values)
    return [ArchiveId(row["id"]) for row in rows]


def _asked(sought: ArchiveFilter, most: int, beyond: int = 0) -> tuple[Any, ...]:
    channels = None if sought.channels is None else list(sought.channels)
    return list(sought.states), channels, beyond, sought.before or _END, most, sought.reader, sought.platform


def _fits(states: Collection[str]) -> str:
    """Whether an archive is shown with one of the *states*, and is of the channels and numbers asked for.

    Whether a worker still works is asked only where it matters: the planner cannot estimate how many archives that
    leaves.
    """
    shown = "cardinality($1::text[]) = 0 OR a.state = ANY($1)"
    if "waiting" in states and "working" not in states:
        shown += f" OR {LEFT_OFF}"
    elif "working" in states and "waiting" not in states:
        shown += f" AND NOT {LEFT_OFF}"
    return f"({shown}) AND ($2::bigint[] IS NULL OR a.channel = ANY($2)) AND a.id > $3 AND a.id < $4 AND {_WHOSE}"


def _pieces(plain: str) -> str:
    """The pieces of every name that has this text, as a ``tsquery``; a short text is what one of them begins with."""
    pieces = [plain[at : at + _PIECE] for at in range(max(len(plain) - _PIECE + 1, 1))]
    return " & ".join(f"{quoted(piece)}{':*' if len(piece) < _PIECE else ''}" for piece in dict.fromkeys(pieces))


async def found_inside(
    connection: Connection, archives: Collection[ArchiveId], sought: ArchiveFilter
) -> dict[ArchiveId, list[str]]:
    """Of each of these archives up to three files inside that the words of a search find."""
    if not sought.words:
        return {}
    rows = await connection.fetch(
        """
        SELECT a AS archive, i.path
        FROM unnest($1::bigint[]) AS a, LATERAL (
            SELECT path FROM archive_contents WHERE archive = a AND words @@ $2::text::tsquery ORDER BY number LIMIT 3
        ) AS i
        """,
        list(archives), sought.words,
    )  # fmt: skip
    found: dict[ArchiveId, list[str]] = {}
    for row in rows:
        found.setdefault(row["archive"], []).append(row["path"])
    return found
