"""Files of a channel: each at its message, a page to look at one, and a gallery of all."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.pool import Connection
from tidegate.media.queries import avatars, media_rules, media_totals, served_files
from tidegate.media.queries.served_files import NEWEST, FilePlace, ServedFile
from tidegate.media.rules.media_policy import PolicyKind
from tidegate.web.api.messages import FileNumber, MessageNumber
from tidegate.web.api.parameters import BIGGEST, Number
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.file_response import avatar_response, file_response, thumbnail_response
from tidegate.web.media_view import PLAYABLE, FileAddresses, media_of_served
from tidegate.web.page_response import page
from tidegate.web.pages.library.channel_head import kept_channel, opened_channel

_PAGE = 60

pages = GuardedRouter("/channels/{key}")

Key = Annotated[ChannelKey, Path(ge=1, le=BIGGEST)]


async def _file(*, database: InDatabase, key: Key, message: MessageNumber, number: FileNumber) -> ServedFile:
    async with database.connection() as connection:
        found = await served_files.find(connection, key, message, number)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"Message {message} has no file {number}.")
    return found


FoundFile = Annotated[ServedFile, Depends(_file)]


class FileDownload(BaseModel):
    """Whether a file is downloaded that could be shown."""

    download: bool = False


@pages.api_route("/messages/{message}/files/{number}", methods=["GET", "HEAD"])
async def read(request: Request, found: FoundFile, asked: Annotated[FileDownload, Query()]) -> Response:
    """The file itself, shown where its type is on the list."""
    return await file_response(request, found, download=asked.download)


@pages.api_route("/messages/{message}/files/{number}/thumbnail", methods=["GET", "HEAD"])
async def read_thumbnail(request: Request, found: FoundFile) -> Response:
    """A small still picture of it."""
    return await thumbnail_response(request, found)


@pages.api_route("/avatar", methods=["GET", "HEAD"])
async def read_avatar(request: Request, database: InDatabase, key: Key) -> Response:
    """The picture of the channel or its server."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        owner = (await avatars.channel_owners(connection, [key])).get(key)
        found = None if owner is None else await avatars.find(connection, kept.platform, owner)
    return await avatar_response(request, found, of=key)


@pages.get("/messages/{message}/files/{number}/view")
async def view(request: Request, database: InDatabase, key: Key, file: FoundFile) -> Response:
    """One file to look at, with its caption, and the ones before and after it."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        place = FilePlace(file.message, file.number)
        earlier, later = await served_files.beside(connection, key, place, types=PLAYABLE)
    at = FileAddresses(key)
    return page(
        request, "file.html", kept=kept, key=key, file=file, media=media_of_served(key, file), at=at,
        earlier=None if earlier is None else at.view(earlier.message, earlier.number),
        later=None if later is None else at.view(later.message, later.number),
    )  # fmt: skip


class GalleryQuery(BaseModel):
    """Which files: of one kind or all, kept ones or those that are not, before a place."""

    kind: PolicyKind | Literal[""] = ""
    state: Literal["", "kept", "wanted", "skipped", "failed", "gone"] = ""
    before: Number | None = None
    number: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0


@dataclass(frozen=True, slots=True)
class KindTotal:
    """How many files of a kind there are, and how many bytes of them are kept."""

    kind: str
    files: int
    kept_bytes: int


@pages.get("/files")
async def gallery(
    request: Request, database: InDatabase, loaded: AsSet, key: Key, asked: Annotated[GalleryQuery, Query()]
) -> Response:
    """The files of a channel, the newest first."""
    before = NEWEST if asked.before is None else FilePlace(MessageId(asked.before), asked.number)
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        policy = await media_rules.policy(connection)
        totals = await _kinds(connection, kept)
        found = await served_files.page(
            connection, key, before,
            kinds=[asked.kind] if asked.kind else [], states=[asked.state] if asked.state else [], most=_PAGE,
        )  # fmt: skip
    return page(
        request, "channel_files.html", head=head, kept=kept, key=key, asked=asked, enabled=policy.state.enabled,
        totals=totals, files=[(one, media_of_served(key, one)) for one in found.files], at=FileAddresses(key),
        older=found.older, kinds=list(PolicyKind),
    )  # fmt: skip


async def _kinds(connection: Connection, kept: KnownChannel) -> list[KindTotal]:
    found = await media_totals.totals(connection, channel=kept.key)
    kinds = sorted({one.kind for one in found})
    return [
        KindTotal(
            kind,
            sum(one.files for one in found if one.kind == kind),
            sum(one.bytes for one in found if one.kind == kind and one.state == "kept"),
        )
        for kind in kinds
    ]
