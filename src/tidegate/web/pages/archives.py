"""The archives pages: search by name and contents, source and copies, failures and retry."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.archives.documents import archive_row, archive_shown, preview_text
from tidegate.archives.queries import archive_list, archive_search, previews
from tidegate.archives.queries.archive_search import STATES, ArchiveFilter, State
from tidegate.channels.queries import channels
from tidegate.core.errors import NothingToDo
from tidegate.core.ids import ArchiveId, ChannelKey
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.history.rules.message_links import original_link
from tidegate.web.api.parameters import BIGGEST, POSITIVE, Place, Text
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.page_response import changed, page
from tidegate.web.server.request_bodies import Router

_ROWS = 50
_INSIDE = 500

pages = Router(prefix="/archives")

ArchiveNumber = Annotated[ArchiveId, Path(ge=1, le=BIGGEST)]


class ArchivesPageQuery(BaseModel):
    """The filter of the page; *channel* is a channel key."""

    q: Text = ""
    state: State | Annotated[str, Query(pattern="^$")] = ""
    channel: Annotated[ChannelKey, POSITIVE] | None = None
    before: Annotated[ArchiveId, POSITIVE] | None = None

    @property
    def sought(self) -> ArchiveFilter:
        keys = None if self.channel is None else [self.channel]
        return ArchiveFilter([self.state] if self.state else [], keys, self.q, self.before)

    def address(self, **changed: Any) -> str:
        """The address with a changed filter."""
        asked = {"q": self.q, "state": self.state, "channel": self.channel}
        return f"/archives?{urlencode({name: value for name, value in {**asked, **changed}.items() if value})}"


@pages.get("")
async def show(request: Request, database: InDatabase, asked: Annotated[ArchivesPageQuery, Query()]) -> Response:
    """The newest matching archives, and how many have failed."""
    async with database.connection() as connection:
        found = await archive_list.listing(connection, asked.sought, most=_ROWS + 1)
        rows = [archive_row(one) for one in found[:_ROWS]]
        inside = await archive_search.found_inside(connection, [row.id for row in rows], asked.sought)
        known = {} if asked.channel is None else await channels.of_keys(connection, [asked.channel])
        failed = await archive_list.count_failed(connection)
    return page(
        request, "archives.html", archives=rows, inside=inside, asked=asked, states=STATES, failed=failed,
        channel=known.get(asked.channel) if asked.channel else None,
        next=asked.address(before=rows[-1].id) if len(found) > _ROWS else None,
    )  # fmt: skip


@pages.post("/retry")
async def retry_all(request: Request, database: InDatabase) -> Response:
    """Retry all failed archives in the next cycle."""
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
    after: Place = 0,
) -> Response:
    """One archive: parts, preview, contents, where it was posted and filed to, and why it failed."""
    async with database.connection() as connection:
        key = await _require(connection, archive)
        shown = await archive_shown(connection, archive, most_inside=0)
        kept = (await channels.of_keys(connection, [key]))[key]
        inside = await archive_list.contents(connection, archive, after=after, most=_INSIDE + 1)
        preview = preview_text(await previews.of_archive(connection, archive))
    links = {
        part.message: original_link(kept.platform, kept.number, part.message, guild=kept.guild) for part in shown.files
    }
    return page(
        request, "archive.html", archive=shown, kept=kept, key=key, links=links, inside=inside[:_INSIDE],
        preview_words=preview, more_inside=inside[_INSIDE - 1]["number"] if len(inside) > _INSIDE else None,
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
    """Retry a failed archive in the next cycle."""
    async with database.transaction() as connection:
        await _require(connection, archive)
        if not await archive_list.ask_again(connection, [archive]):
            raise NothingToDo(f"Archive {archive} has not failed, or what it came from is gone.")
    return changed(request, f"Archive {archive} is tried again in the next cycle.", back=f"/archives/{archive}")


async def _require(connection: Connection, archive: ArchiveId) -> ChannelKey:
    """The key of the channel that an archive was found in, or 404."""
    key = await archive_list.channel_of(connection, archive)
    if key is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no archive {archive}; it may have been removed.")
    return key
