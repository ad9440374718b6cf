"""A channel's messages over the API, with earlier texts and deletions, their files, and the people who wrote them."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.access.queries.tokens import Token
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import BadInput
from tidegate.core.ids import MessageId, UserId
from tidegate.core.platform import Platform, registered_platforms
from tidegate.database.pool import Connection
from tidegate.history.message_documents import MessageShown, MessagesPage, message_shown, messages_page
from tidegate.history.queries import timeline
from tidegate.history.queries.author_presence import wrote_in, wrote_outside
from tidegate.history.queries.timeline import Timeline, TimelineBounds
from tidegate.media.queries import avatars, served_files
from tidegate.media.queries.served_files import ServedFile
from tidegate.people.documents import PersonDocument, person_document
from tidegate.people.queries import people
from tidegate.search.rules.query_language import read_instant
from tidegate.web.api.parameters import BIGGEST, ChannelNamed, Limit, Number, Text, days_of
from tidegate.web.api.responses import Answers, answer, refusals
from tidegate.web.auth.token_check import InDatabase, Reader, channel_for, hidden_from
from tidegate.web.file_response import avatar_response, file_response, thumbnail_response
from tidegate.web.server.request_bodies import ApiRouter

messages = ApiRouter("/channels/{channel}/messages", tags=["messages"])

MessageNumber = Annotated[MessageId, Path(ge=1, le=BIGGEST)]


class MessagesQuery(BaseModel):
    """Which messages: the newest, those before, since or around a number, or from a date on. At most one of these."""

    before: Number | None = None
    since: Number | None = None
    around: Number | None = None
    at: Text | None = Field(None, description="A day, month or instant such as 2026-03-01; days are those of the zone.")
    zone: Text = "UTC"
    limit: Limit = 100
    deleted: bool = Field(default=False, description="Also what deleted messages said.")
    raw: bool = Field(default=False, description="Also what the platform sent beyond the other fields.")


MessagesAsked = Annotated[MessagesQuery, Query()]


@messages.get("", response_model=MessagesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(database: InDatabase, reader: Reader, channel: ChannelNamed, asked: MessagesAsked) -> Response:
    """Messages of a channel, oldest first, with their earlier texts."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await _stretch(connection, kept, asked)
    return answer(messages_page(kept, found, deleted=asked.deleted))


async def _stretch(connection: Connection, kept: KnownChannel, asked: MessagesQuery) -> Timeline:
    if sum(one is not None for one in (asked.before, asked.since, asked.around, asked.at)) > 1:
        raise BadInput("Ask for messages before, since or around a number, or at a date, and not for two of these.")
    bounds = TimelineBounds(asked.limit, raw=asked.raw)
    if asked.at is not None:
        at = read_instant("at", asked.at, days_of(asked.zone))
        return await timeline.since(connection, kept, await timeline.first_at(connection, kept.key, at), bounds)
    if asked.around is not None:
        half = replace(bounds, most=max(1, asked.limit // 2))
        return await timeline.around(connection, kept, MessageId(asked.around), half)
    if asked.since is not None:
        return await timeline.since(connection, kept, asked.since, bounds)
    return await timeline.before(connection, kept, asked.before, bounds)


class MessageQuery(BaseModel):
    """The facts about one message."""

    deleted: bool = Field(default=False, description="Also what a deleted message said.")
    raw: bool = Field(default=False, description="Also what the platform sent beyond the other fields.")


@messages.get("/{message}", response_model=MessageShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(
    database: InDatabase,
    reader: Reader,
    channel: ChannelNamed,
    message: MessageNumber,
    asked: Annotated[MessageQuery, Query()],
) -> Response:
    """One message with all its texts."""
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await timeline.one(connection, kept, message, raw=asked.raw)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Message {message} of "{kept.title}" is not stored.')
    return answer(message_shown(found, deleted=asked.deleted))


# Files. Who may read a message may read its files, and nobody reads a file by its content.

FileNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="Which file of the message; 1 is the first.")]


class FileQuery(BaseModel):
    """Which files are meant."""

    deleted: bool = Field(default=False, description="Also a file of a deleted message.")


async def _file(
    *,
    database: InDatabase,
    reader: Reader,
    channel: ChannelNamed,
    message: MessageNumber,
    file: FileNumber,
    asked: Annotated[FileQuery, Query()],
) -> ServedFile:
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await served_files.find(connection, kept.key, message, file)
    if found is None or (found.deleted and not asked.deleted):
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Message {message} of "{kept.title}" has no file {file}.')
    return found


FoundFile = Annotated[ServedFile, Depends(_file)]

_BYTES = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
_FILE_ANSWERS: Answers = {
    **refusals(HTTPStatus.NOT_FOUND, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, HTTPStatus.SERVICE_UNAVAILABLE),
    200: {"description": "The file, under the type that was found in it.", "content": _BYTES},
    206: {"description": "The range of it that was requested.", "content": _BYTES},
    304: {"description": "The content is that of the given tag."},
}


@messages.get("/{message}/files/{file}", response_class=Response, responses=_FILE_ANSWERS)
async def file(request: Request, found: FoundFile) -> Response:
    """A file of a message. Pictures, audio and video keep their type; everything else is bytes to download."""
    return await file_response(request, found)


@messages.get("/{message}/files/{file}/thumbnail", response_class=Response, responses=_FILE_ANSWERS)
async def file_thumbnail(request: Request, found: FoundFile) -> Response:
    """A small still picture of a file, where there is one."""
    return await thumbnail_response(request, found)


for _path, _read in (("", file), ("/thumbnail", file_thumbnail)):
    messages.add_api_route(f"/{{message}}/files/{{file}}{_path}", _read, methods=["HEAD"], include_in_schema=False)


# Authors, with the names they had; a token for some channels sees only who wrote there

known_people = ApiRouter("/people", tags=["people"])

PersonNumber = Annotated[UserId, Path(ge=-BIGGEST, le=BIGGEST, description="The platform's number of the person.")]
PlatformName = Annotated[Text, Path(description="The platform, by its name.")]


async def _is_visible(connection: Connection, reader: Token, platform: Platform, person: UserId) -> bool:
    """Whether a token may see a person: they wrote in a channel that it reads."""
    if reader.channels is not None:
        return await wrote_in(connection, platform, person, reader.channels)
    hidden = await hidden_from(connection, reader)
    return not hidden or await wrote_outside(connection, platform, person, hidden)


@known_people.get("/{platform}/{person}", response_model=PersonDocument, responses=refusals(HTTPStatus.NOT_FOUND))
async def show_person(database: InDatabase, reader: Reader, platform: PlatformName, person: PersonNumber) -> Response:
    """An author: who they are now, and the names and usernames they had."""
    on = next((one for one in registered_platforms() if one.name == platform), None)
    async with database.connection() as connection:
        visible = on is not None and await _is_visible(connection, reader, on, person)
        known = await people.find(connection, on, person) if on is not None and visible else None
        if on is None or known is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Nobody with the number {person} is known on {platform}.")
        pictured = await avatars.kept_of(connection, on.name, [person])
    return answer(person_document(on, known, has_avatar=person in pictured))


@known_people.get("/{platform}/{person}/avatar", response_class=Response, responses=refusals(HTTPStatus.NOT_FOUND))
async def show_avatar(
    request: Request, database: InDatabase, reader: Reader, platform: PlatformName, person: PersonNumber
) -> Response:
    """The picture that an author has, as it was kept last."""
    on = next((one for one in registered_platforms() if one.name == platform), None)
    async with database.connection() as connection:
        visible = on is not None and await _is_visible(connection, reader, on, person)
        found = await avatars.find(connection, platform, person) if visible else None
    return await avatar_response(request, found, of=person)
