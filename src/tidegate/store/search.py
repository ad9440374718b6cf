"""Full text over messages and over the names of files inside archives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.errors import BadInput
from tidegate.store.database import Connection

_APART = re.compile(r"[\s_\-./\\:,;()\[\]{}<>@#+=~'\"&|!*]+")
"""What separates words, as the SQL function words_of has it."""


@dataclass(frozen=True, slots=True)
class Found:
    """One result, newest first among its like. *id* is the message's; a file also has the archive it is in."""

    kind: str
    channel: int
    title: str
    topic: int | None
    id: int
    at: datetime
    author: str
    text: str
    archive: int | None = None
    archive_name: str | None = None
    size: int | None = None

    def as_json(self) -> dict[str, Any]:
        shown = {
            "kind": self.kind,
            "channel": self.channel,
            "title": self.title,
            "topic": self.topic,
            "id": self.id,
            "at": self.at.isoformat(),
            "author": self.author,
            "text": self.text,
        }
        if self.archive is None:
            return shown
        return {**shown, "archive": self.archive, "archive_name": self.archive_name, "size": self.size}


# The newest of each kind by the words' index, then the newest of both. A deleted message is found no more; what its
# archive held is, because the archive is kept.
_SEARCH = """
    (
        SELECT 'message' AS kind, c.number AS channel, c.title, m.topic, m.id, m.at, m.author,
            concat_ws(' ', nullif(m.text, ''), m.file_name) AS text,
            NULL::bigint AS archive, NULL::text AS archive_name, m.file_size AS size
        FROM messages m JOIN channels c ON c.id = m.channel
        WHERE words_of(m.text || ' ' || coalesce(m.file_name, '')) @@ to_tsquery('simple', $1)
          AND m.deleted_at IS NULL AND ($2::bigint IS NULL OR m.channel = $2)
        ORDER BY m.at DESC, m.id DESC LIMIT $3
    )
    UNION ALL
    (
        SELECT 'file', c.number, c.title, a.topic, p.message, p.at, p.sender, i.path, a.id, a.name, i.size
        FROM archive_contents i
        JOIN archives a ON a.id = i.archive
        JOIN channels c ON c.id = a.channel
        CROSS JOIN LATERAL (
            SELECT message, at, sender FROM archive_parts WHERE archive = a.id ORDER BY spare, number LIMIT 1
        ) AS p
        WHERE words_of(i.path) @@ to_tsquery('simple', $1) AND ($2::bigint IS NULL OR a.channel = $2)
        ORDER BY p.at DESC, a.id DESC, i.number LIMIT $3
    )
    ORDER BY at DESC, archive DESC NULLS LAST, id DESC
    LIMIT $3
"""


async def search(
    connection: Connection, query: str, *, channel: int | None = None, most: int
) -> tuple[list[Found], bool]:
    """What has all words of *query*, each from its beginning on, newest first; and whether there is more.

    Upper and lower case mean the same. *channel* is our number of it.
    """
    words = [word for word in _APART.split(query.replace("\x00", " ")) if any(letter.isalnum() for letter in word)]
    if not words:
        raise BadInput(f'There is no word to look for in "{query}"; give at least one.')
    wanted = " & ".join(f"'{word}':*" for word in words)
    rows = await connection.fetch(_SEARCH, wanted, channel, most + 1)
    return [Found(**row) for row in rows[:most]], len(rows) > most
