"""The page of an author: who they are, and the names they had."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlencode

from fastapi import HTTPException, Request
from fastapi.responses import Response

from tidegate.core.platform import registered_platforms
from tidegate.media.queries import avatars
from tidegate.people.queries import people
from tidegate.web.api.messages import PersonNumber, PlatformName
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.file_response import avatar_response
from tidegate.web.page_response import page

pages = GuardedRouter("/people")


@pages.get("/{platform}/{person}")
async def show(request: Request, database: InDatabase, platform: PlatformName, person: PersonNumber) -> Response:
    """Name, usernames, bot or person, and the names over time."""
    on = next((one for one in registered_platforms() if one.name == platform), None)
    async with database.connection() as connection:
        known = None if on is None else await people.find(connection, on, person)
        pictured = await avatars.kept_of(connection, platform, [person])
    if on is None or known is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"Nobody with the number {person} is known there.")
    return page(
        request, "person.html", platform=on, known=known, person=known.person, pictured=person in pictured,
        search=f"/messages?{urlencode({'q': f'from:{person}'})}",
    )  # fmt: skip


@pages.api_route("/{platform}/{person}/avatar", methods=["GET", "HEAD"])
async def read_avatar(request: Request, database: InDatabase, platform: PlatformName, person: PersonNumber) -> Response:
    """The picture that an author has."""
    async with database.connection() as connection:
        found = await avatars.find(connection, platform, person)
    return await avatar_response(request, found, of=person)
