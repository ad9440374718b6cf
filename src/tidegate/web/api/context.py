"""The context of a channel over the API: its newest messages as a bot reads them, sent while they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.history.message_documents import ContextDocument
from tidegate.history.queries.bot_context import MOST, ContextBounds, ContextOutline, documents, fitting, load
from tidegate.history.queries.bot_context import outline as outline_of
from tidegate.history.rules.context_lines import Here, how_many_fit
from tidegate.web.api.parameters import BIGGEST, ChannelNamed, Number, Text, zone_of
from tidegate.web.api.responses import Answers, refusals
from tidegate.web.auth.token_check import InDatabase, Reader, channel_for, holder
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.server.streamed_responses import PiecewiseResponse, encoded, in_thread

contexts = ApiRouter(tags=["messages"])

_MANY_MESSAGES = 1_000
"""A request for more messages is heavy."""


class ContextFormat(StrEnum):
    """The format of a context: a JSON document, or the lines that a bot reads."""

    JSON = "json"
    TEXT = "text"


class ContextQuery(BaseModel):
    """How much of a channel to return, and in which format."""

    limit: int = Field(100, ge=1, le=MOST)
    chars: Annotated[int, Field(ge=1, le=BIGGEST)] | None = None
    before: Number | None = None
    deleted: bool = False
    format: ContextFormat = ContextFormat.JSON
    zone: Text = "UTC"

    @property
    def bounds(self) -> ContextBounds:
        return ContextBounds(
            self.limit, self.chars, None if self.before is None else MessageId(self.before), self.deleted
        )


_AS_LINES: Answers = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@contexts.get(
    "/context/{channel:path}",
    response_model=ContextDocument,
    responses={**refusals(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS), **_AS_LINES},
)
async def context(
    database: InDatabase, reader: Reader, heavy: Heavy, channel: ChannelNamed, asked: Annotated[ContextQuery, Query()]
) -> Response:
    """What ``tidegate context`` prints, as its document or as its lines.

    It is sent while it is read. Its messages, and where the history is incomplete, are those of its start.
    """
    zone = zone_of(asked.zone)
    if asked.limit > _MANY_MESSAGES:
        heavy.begin(holder(reader))
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        outline = await outline_of(connection, kept, asked.bounds)
    stream = ContextStream(database, outline, asked.bounds, lambda moment: moment.astimezone(zone))
    if asked.format is ContextFormat.TEXT:
        return PiecewiseResponse(stream.as_text(), media_type="text/plain")
    return PiecewiseResponse(stream.as_json(), media_type="application/json")


@dataclass(frozen=True, slots=True)
class ContextStream:
    """The messages of an outline; no connection to the database is held while they are sent."""

    database: Database
    outline: ContextOutline
    bounds: ContextBounds
    here: Here

    async def as_json(self) -> AsyncIterator[bytes]:
        """The document."""
        channel = self.outline.channel
        head = f'{{"channel":{channel.number},"title":{encoded(channel.title)},"messages":['
        tail = f'],"incomplete_before":{encoded(self.outline.incomplete_before)}}}'
        async for piece in self._pieces(head.encode(), _as_json, b",", tail.encode()):
            yield piece

    async def as_text(self) -> AsyncIterator[bytes]:
        """Only the lines."""
        head = "".join(f"{line}\n" for line in self.outline.first_lines)
        async for piece in self._pieces(head.encode(), _as_text):
            yield piece

    async def _pieces(
        self, head: bytes, form: Callable[[Sequence[dict[str, Any]]], bytes], between: bytes = b"", tail: bytes = b""
    ) -> AsyncIterator[bytes]:
        """The encoded parts; head and tail are sent with the first and the last one."""
        before, made = head, b""
        async for messages in self._messages():
            if made:
                yield before + made
                before = between
            made = await in_thread(partial(form, messages))
        yield before + made + tail

    async def _messages(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Messages that fit into the bounds, oldest first, some at a time."""
        parts: Sequence[Sequence[MessageId]] = self.outline.parts
        oldest: list[dict[str, Any]] = []
        if self.bounds.chars is not None:
            parts, oldest = await self._fitting(self.bounds.chars)
        if oldest:
            yield oldest
        for ids in parts:
            yield await self._part(ids)

    async def _fitting(self, chars: int) -> tuple[list[Sequence[MessageId]], list[dict[str, Any]]]:
        """The parts of which all messages fit, and those messages before them that do.

        Whether a part fits is known only from its lines, newest first. So all but the oldest are read again to be sent.
        """
        whole: list[Sequence[MessageId]] = []
        messages: list[dict[str, Any]] = []
        for ids in reversed(self.outline.parts):
            messages = await self._part(ids)
            lines = [one["line"] for one in messages]
            fits = how_many_fit(lines, chars)
            if fits < len(lines):
                return whole[::-1], messages[len(lines) - fits :] if whole else fitting(messages, chars)
            chars -= sum(len(line) + 1 for line in lines)
            whole.append(ids)
        return whole[-2::-1], messages

    async def _part(self, ids: Sequence[MessageId]) -> list[dict[str, Any]]:
        async with self.database.connection() as connection:
            part = await load(connection, self.outline.channel, ids)
        return await in_thread(partial(documents, part, self.bounds, now=self.outline.now, here=self.here))


def _as_json(messages: Sequence[dict[str, Any]]) -> bytes:
    return ",".join(map(encoded, messages)).encode()


def _as_text(messages: Sequence[dict[str, Any]]) -> bytes:
    return "".join(f"{one['line']}\n" for one in messages).encode()
