"""Archives over the API: search by name and contents, details, preview and retry."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import HTTPException, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.access.queries.tokens import Token
from tidegate.archives.documents import ArchiveRow, ArchiveShown, InsideRow, archive_row, archive_shown
from tidegate.archives.queries import archive_list, previews
from tidegate.archives.queries.archive_search import STATES, ArchiveFilter, State
from tidegate.archives.rules.retry import FailureReason
from tidegate.core.errors import NothingToDo
from tidegate.core.ids import ArchiveId
from tidegate.database.pool import Connection
from tidegate.web.api.parameters import BIGGEST, POSITIVE, Limit, Place, Text
from tidegate.web.api.responses import Answers, answer, refusals
from tidegate.web.auth.token_check import InDatabase, Reader, Steerer, channel_for
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.server.streamed_responses import members

archives = ApiRouter("/archives", tags=["archives"])

_INSIDE = 1_000

ArchiveNumber = Annotated[ArchiveId, Path(ge=1, le=BIGGEST, description="The archive's number.")]


class ArchivesQuery(BaseModel):
    """Which archives. *q* is part of a name, or words of the path of a file inside."""

    q: Text = ""
    state: list[State] = Field(default=[], max_length=len(STATES))
    channel: Text | None = None
    before: Annotated[ArchiveId, POSITIVE] | None = None
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ArchivesPage:
    """Archives, newest first; *next* is what to ask *before*, and null on the last page."""

    archives: list[ArchiveRow]
    next: int | None


class ContentsQuery(BaseModel):
    """Files beyond a number."""

    after: Place = 0
    limit: Annotated[int, Field(ge=1, le=5_000)] = 1_000


ContentsAsked = Annotated[ContentsQuery, Query()]


@dataclass(frozen=True, slots=True)
class ContentsPage:
    """Files inside an archive in its own order; *next* is what to ask *after*, and null on the last page."""

    archive: ArchiveId
    inside: list[InsideRow]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ArchiveShownPage(ArchiveShown):
    """An archive with the first files inside; *next* is what to ask its contents *after* for more, or null."""

    next: int | None


class RetryWanted(BaseModel):
    """Which failures to retry: those of one reason, or all."""

    reason: FailureReason | None = None


@dataclass(frozen=True, slots=True)
class Retried:
    """The numbers of the archives that the next cycle retries."""

    asked: list[ArchiveId]


@archives.get("", response_model=ArchivesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(database: InDatabase, reader: Reader, asked: Annotated[ArchivesQuery, Query()]) -> Response:
    """Archives page by page: state, and for failures the reason and the next attempt."""
    async with database.connection() as connection:
        keys = reader.channels
        if asked.channel is not None:
            keys = [(await channel_for(connection, reader, asked.channel)).key]
        sought = ArchiveFilter(asked.state, keys, asked.q, asked.before)
        found = await archive_list.listing(connection, sought, most=asked.limit + 1, only=reader.channels)
    rows = [archive_row(one) for one in found[: asked.limit]]
    return answer(ArchivesPage(rows, rows[-1].id if len(found) > asked.limit else None))


@archives.get("/{archive}", response_model=ArchiveShownPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, reader: Reader, archive: ArchiveNumber) -> Response:
    """One archive: its parts, where they were posted and filed to, what is inside, and why it failed.

    It lists the first files inside; ``contents`` has the others.
    """
    async with database.connection() as connection:
        await _require(connection, reader, archive)
        document = await archive_shown(connection, archive, only=reader.channels, most_inside=_INSIDE)
    return answer({**members(document), "next": _INSIDE if document.contents > _INSIDE else None})


@archives.get("/{archive}/contents", response_model=ContentsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def contents(database: InDatabase, reader: Reader, archive: ArchiveNumber, asked: ContentsAsked) -> Response:
    """The files inside an archive, page by page."""
    async with database.connection() as connection:
        await _require(connection, reader, archive)
        rows = await archive_list.contents(connection, archive, after=asked.after, most=asked.limit + 1)
    inside = [InsideRow(path=row["path"], size=row["size"], encrypted=row["encrypted"]) for row in rows[: asked.limit]]
    return answer(ContentsPage(archive, inside, rows[asked.limit - 1]["number"] if len(rows) > asked.limit else None))


_PICTURE: Answers = {
    200: {
        "description": "The picture.",
        "content": {
            mime: {"schema": {"type": "string", "format": "binary"}}
            for mime in ("image/jpeg", "image/png", "image/webp")
        },
    }
}


@archives.get("/{archive}/preview", response_class=Response, responses={**refusals(HTTPStatus.NOT_FOUND), **_PICTURE})
async def preview(database: InDatabase, reader: Reader, archive: ArchiveNumber) -> Response:
    """The picture that was posted with an archive."""
    async with database.connection() as connection:
        await _require(connection, reader, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"Archive {archive} has no preview picture.")
    return Response(content, media_type=kept.mime)


@archives.post(
    "/{archive}/retry", response_model=Retried, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
)
async def retry(database: InDatabase, steerer: Steerer, archive: ArchiveNumber) -> Response:
    """Retry a failed archive in the next cycle, also one that was given up."""
    async with database.transaction() as connection:
        await _require(connection, steerer, archive)
        asked = await archive_list.ask_again(connection, [archive])
        if not asked:
            state = (await archive_list.show(connection, archive))["state"]
            raise NothingToDo(f"Archive {archive} has not failed: it is {state}.")
    return answer(Retried(asked))


@archives.post("/retry", response_model=Retried, responses=refusals())
async def retry_all(database: InDatabase, _: Steerer, wanted: RetryWanted | None = None) -> Response:
    """Retry all failed archives, or those of one reason; there may be none."""
    async with database.transaction() as connection:
        asked = await archive_list.ask_again(connection, None, wanted.reason if wanted else None)
    return answer(Retried(asked))


async def _require(connection: Connection, token: Token, archive: ArchiveId) -> None:
    """404 for an archive that is not there, or in a channel that the token may not read."""
    key = await archive_list.channel_of(connection, archive)
    if key is None or (token.channels is not None and key not in token.channels):
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no archive {archive} that this token may see.")
