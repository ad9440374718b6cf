"""Archives: found by name and by what is inside, where they came from and went, and what failed."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.errors import NothingToDo
from tidegate.rules.linking import original_link
from tidegate.shapes.archives import archive_row, archive_shown, told_preview
from tidegate.store import archive_list, archive_search, channels, previews
from tidegate.store.archive_search import STATES, Sought, State
from tidegate.store.database import Connection
from tidegate.web.api.access import InDatabase
from tidegate.web.api.asking import BIGGEST, Number, Text
from tidegate.web.rendering import changed, counted, page

_ROWS = 50
_INSIDE = 500

pages = APIRouter(prefix="/archives")

ArchiveNumber = Annotated[int, Path(ge=1, le=BIGGEST)]


class ArchivesAsked(BaseModel):
    """What the page's form asks for; *channel* is our number of one."""

    q: Text = ""
    state: State | Annotated[str, Query(pattern="^$")] = ""
    channel: Number | None = None
    before: Number | None = None

    @property
    def sought(self) -> Sought:
        keys = None if self.channel is None else [self.channel]
        return Sought([self.state] if self.state else [], keys, self.q, self.before)

    def address(self, **changed: Any) -> str:
        """The same question with something changed."""
        asked = {"q": self.q, "state": self.state, "channel": self.channel}
        return f"/archives?{urlencode({name: value for name, value in {**asked, **changed}.items() if value})}"


@pages.get("")
async def show(request: Request, database: InDatabase, asked: Annotated[ArchivesAsked, Query()]) -> Response:
    """The newest archives of those asked for, and how many have failed."""
    async with database.connection() as connection:
        found = await archive_list.listing(connection, asked.sought, most=_ROWS + 1)
        rows = [archive_row(one) for one in found[:_ROWS]]
        inside = await archive_search.found_inside(connection, [row.id for row in rows], asked.sought)
        known = {} if asked.channel is None else await channels.of_keys(connection, [asked.channel])
        failed = await archive_list.count_failed(connection)
    return page(
        request, "archives.html", archives=rows, inside=inside, asked=asked, states=STATES, failed=failed,
        channel=known.get(asked.channel or 0),
        next=asked.address(before=rows[-1].id) if len(found) > _ROWS else None,
    )  # fmt: skip


@pages.post("/retry")
async def retry_all(request: Request, database: InDatabase) -> Response:
    """Have everything that failed tried again in the next cycle."""
    async with database.transaction() as connection:
        asked = await archive_list.ask_again(connection)
    if not asked:
        raise NothingToDo("No archive has failed.")
    sentence = f"The next cycle tries {counted(len(asked), 'archive')} again."
    return changed(request, sentence, back="/archives?state=failed")


@pages.get("/{archive}")
async def show_one(
    request: Request,
    database: InDatabase,
    archive: ArchiveNumber,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    """One archive: parts, preview, contents, where it was posted and filed to, and why it failed."""
    async with database.connection() as connection:
        key = await _require(connection, archive)
        shown = await archive_shown(connection, archive)
        kept = (await channels.of_keys(connection, [key]))[key]
        inside = await archive_list.contents(connection, archive, after=after, most=_INSIDE + 1)
        guild = await connection.fetchval("SELECT guild FROM channels WHERE id = $1", key)
        preview = told_preview(await previews.of_archive(connection, archive))
    links = {part.message: original_link(kept.platform, kept.number, part.message, guild=guild) for part in shown.files}
    return page(
        request, "archive.html", archive=shown, key=key, links=links, inside=inside[:_INSIDE], preview_words=preview,
        more_inside=inside[_INSIDE - 1]["number"] if len(inside) > _INSIDE else None,
    )  # fmt: skip


@pages.get("/{archive}/preview")
async def show_preview(database: InDatabase, archive: ArchiveNumber) -> Response:
    """The picture itself, under the type that was found in it."""
    async with database.connection() as connection:
        await _require(connection, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"Archive {archive} has no preview picture.")
    return Response(content, media_type=kept.mime)


@pages.post("/{archive}/retry")
async def retry(request: Request, database: InDatabase, archive: ArchiveNumber) -> Response:
    """Have a failed archive tried again in the next cycle."""
    async with database.transaction() as connection:
        await _require(connection, archive)
        if not await archive_list.ask_again(connection, [archive]):
            raise NothingToDo(f"Archive {archive} has not failed, or what it came from is gone.")
    return changed(request, f"Archive {archive} is tried again in the next cycle.", back=f"/archives/{archive}")


async def _require(connection: Connection, archive: int) -> int:
    """Our number of the channel that an archive was found in, or 404."""
    key = await archive_list.channel_of(connection, archive)
    if key is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no archive {archive}; it may have been removed.")
    return key
