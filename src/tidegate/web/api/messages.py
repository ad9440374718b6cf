"""A channel's messages over the API as people read them: with earlier texts and tombstones, and from a date on."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.errors import BadInput
from tidegate.rules.querying import read_instant
from tidegate.shapes.messages import MessageShown, MessagesPage, message_shown, messages_page
from tidegate.store import chronicle
from tidegate.store.channels import Kept
from tidegate.store.chronicle import Chronicle
from tidegate.store.database import Connection
from tidegate.web.api.access import InDatabase, Reader, channel_for
from tidegate.web.api.asking import BIGGEST, ChannelNamed, Limit, Number, Text, answer, days_of, refusals

messages = APIRouter(prefix="/channels/{channel}/messages", tags=["messages"])


class MessagesAsked(BaseModel):
    """Which stretch: the newest; those before a number; those from a number or a date on. One of the three at most."""

    before: Number | None = None
    since: Number | None = None
    at: Text | None = Field(None, description="A day, month or instant such as 2026-03-01; days are those of the zone.")
    zone: Text = "UTC"
    limit: Limit = 100
    deleted: bool = Field(default=False, description="Also what deleted messages said.")


@messages.get("", response_model=MessagesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(
    database: InDatabase, reader: Reader, channel: ChannelNamed, asked: Annotated[MessagesAsked, Query()]
) -> Response:
    """A stretch of a channel, oldest first, with what messages said before they were edited."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await _stretch(connection, kept, asked)
    return answer(messages_page(kept.number, kept.title, found, deleted=asked.deleted))


async def _stretch(connection: Connection, kept: Kept, asked: MessagesAsked) -> Chronicle:
    if sum(one is not None for one in (asked.before, asked.since, asked.at)) > 1:
        raise BadInput("Ask for messages before a number, since a number, or at a date, and not for two of these.")
    if asked.at is not None:
        at = read_instant("at", asked.at, days_of(asked.zone))
        return await chronicle.since(
            connection, kept, await chronicle.first_at(connection, kept.key, at), most=asked.limit
        )
    if asked.since is not None:
        return await chronicle.since(connection, kept, asked.since, most=asked.limit)
    return await chronicle.before(connection, kept, asked.before, most=asked.limit)


@messages.get("/{message}", response_model=MessageShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(
    database: InDatabase,
    reader: Reader,
    channel: ChannelNamed,
    message: Annotated[int, Path(ge=1, le=BIGGEST)],
    deleted: bool = False,  # noqa: FBT001, FBT002 - a parameter of the address
) -> Response:
    """One message with all it ever said."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await chronicle.one(connection, kept, message)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Message {message} of "{kept.title}" is not stored.')
    return answer(message_shown(found, deleted=deleted))
