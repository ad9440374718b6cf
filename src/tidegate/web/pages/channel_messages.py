"""The messages of a channel as a chat: newest at the bottom, with edits, deletions and all that a message holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.pool import Connection
from tidegate.history.queries import partial_share, timeline
from tidegate.history.queries.timeline import Timeline, TimelineBounds, TimelineMessage
from tidegate.media.queries import avatars
from tidegate.search.rules.query_language import read_instant
from tidegate.web.api.parameters import BIGGEST, Number, Text, days_of
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.chat_view import ChatReader
from tidegate.web.page_response import page
from tidegate.web.pages.library.channel_head import kept_channel, opened_channel
from tidegate.web.server.streamed_responses import in_thread
from tidegate.web.site_address import site_of

_MESSAGES = TimelineBounds(60, whole_albums=True)
_AROUND = TimelineBounds(30, whole_albums=True, spare=9)
"""As many before a message as after it, and the rest of an album, which has at most ten parts."""

pages = GuardedRouter("/channels/{key}/messages")

Key = Annotated[ChannelKey, Path(ge=1, le=BIGGEST)]


class TimelineQuery(BaseModel):
    """Which messages: the newest, those before, since or around a message, or those from a day on."""

    before: Number | None = None
    since: Number | None = None
    around: Number | None = None
    at: Text = ""
    zone: Text = ""


@dataclass(frozen=True, slots=True)
class ChatAddresses:
    """Where a channel's messages are."""

    key: ChannelKey

    @property
    def newest(self) -> str:
        return f"/channels/{self.key}/messages"

    def page(self, **asked: Any) -> str:
        return f"{self.newest}?{urlencode(asked)}"

    def around(self, message: MessageId, channel: ChannelKey | None = None) -> str:
        """A message with its surroundings, in the middle of the screen; perhaps of another *channel*."""
        at = self if channel is None else ChatAddresses(channel)
        return f"{at.page(around=message)}#m{message}"

    def one(self, message: MessageId) -> str:
        """A message by itself, as a whole."""
        return f"{self.newest}/{message}"


@pages.get("")
async def read(
    request: Request, database: InDatabase, loaded: AsSet, key: Key, asked: Annotated[TimelineQuery, Query()]
) -> Response:
    """A page of messages, oldest first: edits with their earlier texts, and tombstones with what was deleted."""
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        found = await _stretch(connection, kept, asked)
        share = await partial_share.share_of(connection, key)
        reader = await _reader(request, connection, kept, found.messages)
        pictured = key in await avatars.channel_owners(connection, [key])
    at = ChatAddresses(key)
    chat = await in_thread(lambda: reader.chat(found.messages))
    older = found.messages[0].id if found.has_older and found.messages else None
    newer = found.messages[-1].id + 1 if found.has_newer and found.messages else None
    return page(
        request, "channel_messages.html", head=head, kept=kept, key=key, chat=chat, asked=asked, reader=reader, at=at,
        partial=share.words, pictured=pictured,
        missing=asked.around is not None and all(one.id != asked.around for one in found.messages),
        older=None if older is None else at.page(before=older),
        newer=None if newer is None else at.page(since=newer),
    )  # fmt: skip


class PartQuery(BaseModel):
    """Some messages by their numbers, such as 5,7,9, or those from a number on."""

    ids: Annotated[str, Query(max_length=4_000, pattern=r"^(\d{1,19}(,\d{1,19})*)?$")] = ""
    since: Number | None = None

    @property
    def numbers(self) -> list[MessageId]:
        numbers = sorted({int(one) for one in self.ids.split(",") if one})
        return [MessageId(one) for one in numbers if one <= BIGGEST][: _MESSAGES.most]


@pages.get("/part")
async def read_part(request: Request, database: InDatabase, key: Key, asked: Annotated[PartQuery, Query()]) -> Response:
    """Messages alone, without the page around them: what an open chat lacks, and what changed in it."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        if asked.since is not None:
            found = await timeline.since(connection, kept, asked.since, _MESSAGES)
        else:
            found = Timeline(await timeline.several(connection, kept, asked.numbers), has_older=False, has_newer=False)
        reader = await _reader(request, connection, kept, found.messages)
    at = ChatAddresses(key)
    chat = await in_thread(lambda: reader.chat(found.messages))
    newer = found.messages[-1].id + 1 if found.has_newer else None
    return page(
        request, "parts/chat_part.html", kept=kept, chat=chat, reader=reader, at=at,
        newer=None if newer is None else at.page(since=newer),
    )  # fmt: skip


@pages.get("/{message}")
async def read_one(
    request: Request, database: InDatabase, key: Key, message: Annotated[MessageId, Path(ge=1, le=BIGGEST)]
) -> Response:
    """One message as a whole: its full text, its earlier texts, and what the platform sent beyond all that."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        found = await timeline.one(connection, kept, message, raw=True)
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Message {message} is not stored.")
        reader = await _reader(request, connection, kept, [found], whole=True)
    chat = await in_thread(lambda: reader.chat([found]))
    raw = json.dumps(found.stored.raw, indent=1, ensure_ascii=False, sort_keys=True) if found.stored.raw else ""
    return page(request, "message.html", kept=kept, key=key, chat=chat, raw=raw, reader=reader, at=ChatAddresses(key))


async def _reader(
    request: Request,
    connection: Connection,
    kept: KnownChannel,
    messages: Sequence[TimelineMessage],
    *,
    whole: bool = False,
) -> ChatReader:
    authors = {one.author_id for one in messages if one.author_id is not None}
    pictured = await avatars.kept_of(connection, kept.platform, authors)
    path = site_of(request).path
    return ChatReader(kept.platform, path(f"/people/{kept.platform}/"), kept.key, whole, pictured, path)


async def _stretch(connection: Connection, kept: KnownChannel, asked: TimelineQuery) -> Timeline:
    if asked.at.strip():
        at = read_instant("at", asked.at.strip(), days_of(asked.zone or "UTC"))
        first = await timeline.first_at(connection, kept.key, at)
        return await timeline.since(connection, kept, first, _MESSAGES)
    if asked.around is not None:
        return await timeline.around(connection, kept, MessageId(asked.around), _AROUND)
    if asked.since is not None:
        return await timeline.since(connection, kept, asked.since, _MESSAGES)
    return await timeline.before(connection, kept, asked.before, _MESSAGES)
