"""The archives pages: search by name and contents, source and copies, failures and retry."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.accounts.queries import accounts
from tidegate.archives.documents import archive_row, archive_shown, preview_text
from tidegate.archives.queries import archive_list, archive_search, previews
from tidegate.archives.queries.archive_search import ArchiveFilter, State
from tidegate.channels.queries import channel_places, channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import BadInput, NothingToDo
from tidegate.core.ids import ArchiveId, ChannelKey
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.history.rules.message_links import original_link
from tidegate.web.api.parameters import BIGGEST, POSITIVE, Place, Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import changed, page
from tidegate.web.pages.library.channel_head import ChannelHead, Key, opened_channel
from tidegate.web.rules.archive_labels import STATE_CHOICES

_ROWS = 50
_INSIDE = 500
_SORTED = 1_000
"""The most files inside an archive that are sorted by name; of more, the archive's own order is shown."""

pages = GuardedRouter()
archive_pages = GuardedRouter("/archives")

ArchiveNumber = Annotated[ArchiveId, Path(ge=1, le=BIGGEST)]


class ArchivesPageQuery(BaseModel):
    """The filter of the page; *channel* is a channel key."""

    q: Text = ""
    state: State | Annotated[str, Query(pattern="^$")] = ""
    channel: Annotated[ChannelKey, POSITIVE] | None = None
    account: Text = ""
    platform: Annotated[str, Query(max_length=40, pattern="^[a-z]*$")] = ""
    before: Annotated[ArchiveId, POSITIVE] | None = None

    async def sought(self, connection: Connection, channel: ChannelKey | None) -> ArchiveFilter:
        """The filter for the query; an account is the one that reads the channel."""
        keys = None if channel is None else [channel]
        reader = (await accounts.find(connection, self.account)).account.id if self.account else None
        states = [self.state] if self.state else []
        return ArchiveFilter(states, keys, self.q, self.before, reader=reader, platform=self.platform or None)

    @property
    def narrows(self) -> bool:
        """Whether it leaves any archive out."""
        return bool(self.q.strip() or self.state or self.channel or self.account or self.platform)

    def asking(self, **changed: Any) -> str:
        """The end of the address with a changed filter."""
        asked = self.model_dump(mode="json", include={"q", "state", "channel", "account", "platform"})
        given = {name: value for name, value in {**asked, **changed}.items() if value}
        return f"?{urlencode(given)}" if given else ""


@archive_pages.get("")
async def show(request: Request, database: InDatabase, asked: Annotated[ArchivesPageQuery, Query()]) -> Response:
    """The newest matching archives, and how many have failed."""
    async with database.connection() as connection:
        known = {} if asked.channel is None else await channels.of_keys(connection, [asked.channel])
        of = known.get(asked.channel) if asked.channel else None
        return await _listed(request, connection, asked, asked.channel, at="/archives", of=of, head=None)


@pages.get("/channels/{key}/archives")
async def show_channel(
    request: Request, database: InDatabase, loaded: AsSet, key: Key, asked: Annotated[ArchivesPageQuery, Query()]
) -> Response:
    """The same of one channel, among its other pages."""
    async with opened_channel(database, loaded, key) as (connection, _, head):
        return await _listed(
            request, connection, asked.model_copy(update={"channel": None}), key, at=f"/channels/{key}/archives",
            of=None, head=head,
        )  # fmt: skip


async def _listed(
    request: Request,
    connection: Connection,
    asked: ArchivesPageQuery,
    channel: ChannelKey | None,
    *,
    at: str,
    of: KnownChannel | None,
    head: ChannelHead | None,
) -> Response:
    sought = await asked.sought(connection, channel)
    able = [one.account for one in await accounts.listing(connection) if one.account.platform.has_archives]
    found = await archive_list.listing(connection, sought, most=_ROWS + 1)
    rows = [archive_row(one) for one in found[:_ROWS]]
    inside = await archive_search.found_inside(connection, [row.id for row in rows], sought)
    failed = await archive_list.count_failed(connection)
    keys = {one["id"]: one["channel_key"] for one in found}
    return page(
        request, "archives.html", archives=rows, inside=inside, asked=asked, states=STATE_CHOICES, failed=failed,
        channel=of, head=head, kept=None if head is None else head.kept, at=at, rows=_ROWS,
        accounts=sorted((one.name for one in able), key=natural_key),
        platforms=sorted({one.platform.name for one in able}), keys=keys,
        places=await channel_places.of_keys(connection, keys.values()),
        next=f"{at}{asked.asking(before=rows[-1].id)}" if len(found) > _ROWS else None,
    )  # fmt: skip


@archive_pages.post("/retry")
async def retry_all(request: Request, database: InDatabase) -> Response:
    """Retry all failed archives at the next check."""
    async with database.transaction() as connection:
        asked = await archive_list.ask_again(connection)
    if not asked:
        raise NothingToDo("No failed archives.")
    return changed(request, _retried(len(asked)), back="/archives?state=failed")


class SelectedArchives(BaseModel):
    """Archives that were ticked."""

    archive: Annotated[list[Annotated[ArchiveId, POSITIVE]], Field(max_length=_ROWS)] = Field([])


@archive_pages.post("/retry/selected")
async def retry_selected(request: Request, database: InDatabase, form: Annotated[SelectedArchives, Form()]) -> Response:
    """Retry the failed ones of those ticked at the next check."""
    if not form.archive:
        raise BadInput("No archive is selected. Select failed archives first.")
    async with database.transaction() as connection:
        asked = await archive_list.ask_again(connection, form.archive)
    if not asked:
        raise NothingToDo("None of the selected archives can be retried.")
    return changed(request, _retried(len(asked)), back="/archives?state=failed")


def _retried(count: int) -> str:
    return f"{counted(count, 'archive')} will be retried at the next check."


class InsideQuery(BaseModel):
    """Which files inside: those with a text in their path, after a place."""

    inside: Text = ""
    after: Place = 0


@archive_pages.get("/{archive}")
async def show_one(
    request: Request, database: InDatabase, archive: ArchiveNumber, asked: Annotated[InsideQuery, Query()]
) -> Response:
    """One archive: picture and state, contents, where it was posted and copied to, and why it failed."""
    async with database.connection() as connection:
        key = await _require(connection, archive)
        shown = await archive_shown(connection, archive, most_inside=0)
        kept = (await channels.of_keys(connection, [key]))[key]
        inside = await archive_list.contents(
            connection,
            archive,
            after=asked.after,
            text=asked.inside.strip(),
            most=_INSIDE + 1,
            is_sorted=shown.contents <= _SORTED,
        )
        preview = preview_text(await previews.of_archive(connection, archive))
        topic = await channels.topic_title(connection, key, shown.topic) if kept.forum else ""
        places = await channel_places.of_numbers(connection, [one.channel for one in shown.deliveries])
    links = {
        part.message: original_link(kept.platform, kept.number, part.message, guild=kept.guild) for part in shown.files
    }
    copied = bool(shown.deliveries) and all(one.state == "sent" for one in shown.deliveries)
    return page(
        request, "archive.html", archive=shown, kept=kept, key=key, links=links, inside=inside[:_INSIDE], asked=asked,
        preview_words=preview, more_inside=inside[_INSIDE - 1]["number"] if len(inside) > _INSIDE else None,
        copied=copied, topic=topic, places=places,
    )  # fmt: skip


@archive_pages.get("/{archive}/preview")
async def show_preview(database: InDatabase, archive: ArchiveNumber) -> Response:
    """The picture itself, under the type that was found in it."""
    async with database.connection() as connection:
        await _require(connection, archive)
        kept = await previews.of_archive(connection, archive)
        content = await previews.content_of(connection, archive)
    if content is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"Archive {archive} has no preview picture.")
    return Response(content, media_type=kept.mime)


@archive_pages.post("/{archive}/retry")
async def retry(request: Request, database: InDatabase, archive: ArchiveNumber) -> Response:
    """Retry a failed archive at the next check."""
    async with database.transaction() as connection:
        await _require(connection, archive)
        if not await archive_list.ask_again(connection, [archive]):
            raise NothingToDo("This archive cannot be retried: it has not failed, or its source was deleted.")
    return changed(request, _retried(1), back=f"/archives/{archive}")


pages.take_in(archive_pages)


async def _require(connection: Connection, archive: ArchiveId) -> ChannelKey:
    """The key of the channel that an archive was found in, or 404."""
    key = await archive_list.channel_of(connection, archive)
    if key is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no archive {archive}; it may have been deleted.")
    return key
