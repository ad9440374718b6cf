"""Search results as JSON documents, for ``tidegate search --json`` and the API."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tidegate.core.ids import ArchiveId, ChannelId, GuildId, MessageId, TopicId, UserId
from tidegate.core.json_fields import Instant
from tidegate.search.queries.ranked_hits import COUNTED, SearchHit, SearchResults

_OF_ARCHIVES = ("archive", "archive_name", "size")


@dataclass(frozen=True, slots=True)
class SearchHitRow:
    """A message, or a file inside an archive: then *archive*, *archive_name* and *size* are there too.

    *texts* are the other texts of a message, such as those of its embeds, polls, link previews and forwards. *guild* is
    the number of the Discord server, *server* its name, *parent_title* the channel that a thread belongs to.
    """

    kind: str
    channel: ChannelId
    title: str
    guild: GuildId | None
    server: str
    parent_title: str
    topic: TopicId | None
    id: MessageId
    at: Instant
    author: str
    author_id: UserId | None
    text: str
    files: list[str]
    texts: list[str]
    archive: ArchiveId | None = None
    archive_name: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """What was found. *weighed* is among how many of the newest matches relevance was weighed, if not among all."""

    query: str
    results: list[SearchHitRow]
    more: bool
    weighed: int | None


def search_document(query: str, results: SearchResults) -> dict[str, Any]:
    """The document of a search; a message has no fields of an archive."""
    rows = [_row(one) for one in results.found]
    return {"query": query, "results": rows, "more": results.more, "weighed": results.weighed}


def _row(one: SearchHit) -> dict[str, Any]:
    names = [field.name for field in fields(SearchHitRow)]
    row = {name: getattr(one, name) for name in names if one.archive is not None or name not in _OF_ARCHIVES}
    return row | {"at": one.at.isoformat(), "files": list(one.files), "texts": list(one.texts)}


@dataclass(frozen=True, slots=True)
class SearchCount:
    """How many results a search has. With *more* there are more than *count*, and nobody counted them."""

    query: str
    count: int
    more: bool


def search_count(query: str, counted: int) -> SearchCount:
    """The document of a count."""
    return SearchCount(query, min(counted, COUNTED), counted > COUNTED)
