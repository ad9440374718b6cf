"""Archives over the API: found by name and by what is inside, looked into, and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.errors import NothingToDo
from tidegate.rules.retrying import FailureReason
from tidegate.shapes.archives import ArchiveRow, ArchiveShown, InsideRow, archive_row, archive_shown
from tidegate.store import archive_list, previews
from tidegate.store.archive_search import STATES, Sought, State
from tidegate.store.database import Connection
from tidegate.store.tokens import Token
from tidegate.web.api.access import InDatabase, Reader, Steerer, channel_for
from tidegate.web.api.asking import BIGGEST, Answers, Limit, Number, Text, answer, refusals

archives = APIRouter(prefix="/archives", tags=["archives"])

ArchiveNumber = Annotated[int, Path(ge=1, le=BIGGEST, description="The archive's number.")]


class ArchivesAsked(BaseModel):
    """Which archives. *q* is part of a name, or words of the path of a file inside."""

    q: Text = ""
    state: list[State] = Field(default=[], max_length=len(STATES))
    channel: Text | None = None
    before: Number | None = None
    limit: Limit = 100


@dataclass(frozen=True, slots=True)
class ArchivesPage:
    """Archives, newest first; *next* is what to ask *before*, and null on the last page."""

    archives: list[ArchiveRow]
    next: int | None


class ContentsAsked(BaseModel):
    """Files beyond a number."""

    after: int = Field(0, ge=0, le=2**31 - 1)
    limit: Annotated[int, Field(ge=1, le=5_000)] = 1_000


@dataclass(frozen=True, slots=True)
class ContentsPage:
    """Files inside an archive in its own order; *next* is what to ask *after*, and null on the last page."""

    archive: int
    inside: list[InsideRow]
    next: int | None


class RetryWanted(BaseModel):
    """Which failures are tried again: those of one reason, or all."""

    reason: FailureReason | None = None


@dataclass(frozen=True, slots=True)
class Retried:
    """The numbers of the archives that the next cycle tries again."""

    asked: list[int]


@archives.get("", response_model=ArchivesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(database: InDatabase, reader: Reader, asked: Annotated[ArchivesAsked, Query()]) -> Response:
    """Archives page by page: state, and of those that failed why and when they are tried again."""
    async with database.connection() as connection:
        keys = reader.channels
        if asked.channel is not None:
            keys = [(await channel_for(connection, reader, asked.channel)).key]
        sought = Sought(asked.state, keys, asked.q, asked.before)
        found = await archive_list.listing(connection, sought, most=asked.limit + 1)
    rows = [archive_row(one) for one in found[: asked.limit]]
    return answer(ArchivesPage(rows, rows[-1].id if len(found) > asked.limit else None))


@archives.get("/{archive}", response_model=ArchiveShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, reader: Reader, archive: ArchiveNumber) -> Response:
    """One archive: its parts, where they were posted and filed to, what is inside, and why it failed."""
    async with database.connection() as connection:
        await _require(connection, reader, archive)
        return answer(await archive_shown(connection, archive))


@archives.get("/{archive}/contents", response_model=ContentsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def contents(
    database: InDatabase, reader: Reader, archive: ArchiveNumber, asked: Annotated[ContentsAsked, Query()]
) -> Response:
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
    """Have a failed archive tried again in the very next cycle, also one that was given up."""
    async with database.transaction() as connection:
        await _require(connection, steerer, archive)
        asked = await archive_list.ask_again(connection, [archive])
        if not asked:
            state = (await archive_list.show(connection, archive))["state"]
            raise NothingToDo(f"Archive {archive} has not failed: it is {state}.")
    return answer(Retried(asked))


@archives.post("/retry", response_model=Retried, responses=refusals())
async def retry_all(database: InDatabase, _: Steerer, wanted: RetryWanted | None = None) -> Response:
    """Have all failed archives tried again, or those of one reason; none is as good an answer as many."""
    async with database.transaction() as connection:
        asked = await archive_list.ask_again(connection, None, wanted.reason if wanted else None)
    return answer(Retried(asked))


async def _require(connection: Connection, token: Token, archive: int) -> None:
    """404 for an archive that is not there, or in a channel that the token may not read."""
    key = await archive_list.channel_of(connection, archive)
    if key is None or (token.channels is not None and key not in token.channels):
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no archive {archive} that this token may see.")
