"""The nearest texts before and after a message, among the few messages next to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.pool import Connection

_LOOKED_AT = 20  # messages beside one, in which one of the same topic is looked for
_LONGEST = 500  # characters


@dataclass(frozen=True, slots=True)
class NearbyText:
    """A message next to a match, with its author."""

    author: str
    text: str


Neighbours = tuple[NearbyText | None, NearbyText | None]
"""The texts before and after a message."""

_BESIDE = """
    (SELECT n.author, left(n.text, $3) AS text FROM (
        SELECT m.id, m.author, m.text, m.topic, m.deleted_at FROM messages m
        WHERE m.channel = w.channel AND m.id {way} w.id ORDER BY m.id {order} LIMIT $4
     ) AS n
     WHERE n.deleted_at IS NULL AND n.text <> '' AND n.topic IS NOT DISTINCT FROM w.topic ORDER BY n.id {order} LIMIT 1)
"""

_TEXTS = f"""
    WITH w AS (
        SELECT m.channel, m.id, m.topic
        FROM unnest($1::bigint[], $2::bigint[]) AS t (channel, id)
        JOIN messages m ON m.channel = t.channel AND m.id = t.id
    )
    SELECT w.channel, w.id, b.author AS before_author, b.text AS before_text, a.author AS after_author,
        a.text AS after_text
    FROM w
    LEFT JOIN LATERAL {_BESIDE.format(way="<", order="DESC")} AS b ON true
    LEFT JOIN LATERAL {_BESIDE.format(way=">", order="ASC")} AS a ON true
"""


async def beside(
    connection: Connection, places: Collection[tuple[ChannelKey, MessageId]]
) -> dict[tuple[ChannelKey, MessageId], Neighbours]:
    """The texts before and after each of these messages, those of the same topic in a forum."""
    rows = await connection.fetch(
        _TEXTS, [key for key, _ in places], [message for _, message in places], _LONGEST, _LOOKED_AT
    )
    return {
        (row["channel"], row["id"]): (
            _text(row["before_author"], row["before_text"]),
            _text(row["after_author"], row["after_text"]),
        )
        for row in rows
    }


def _text(author: str | None, text: str | None) -> NearbyText | None:
    return None if text is None else NearbyText(author or "", text)
