"""Uploads of files for the reminder form, one at a time."""

from __future__ import annotations

import re
from http import HTTPStatus

from fastapi import HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from tidegate.archives.rules.preview_choice import picture_type
from tidegate.reminders.queries import media_files
from tidegate.web.api.responses import answer
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.file_response import FILE_POLICY
from tidegate.web.template_filters import cut
from tidegate.web.uploaded_files import take_file

pages = GuardedRouter(route_class=APIRoute)

_DIGEST = re.compile(r"[0-9a-f]{64}")


@pages.put("/uploads/{name}")
async def upload(request: Request, database: InDatabase, name: str) -> Response:
    """Store a file for the form."""
    return answer(await take_file(request, database, name))


@pages.get("/reminders/pictures/{sha256}")
async def show_picture(database: InDatabase, sha256: str) -> Response:
    """A picture of a reminder or a run, for previews; only what is one by its content is shown."""
    content = b""
    if _DIGEST.fullmatch(sha256):
        async with database.connection() as connection:
            content = await media_files.content(connection, bytes.fromhex(sha256))
    kind = picture_type(content)
    if kind is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no picture {cut(sha256)}; it may have been deleted.")
    headers = {"Content-Security-Policy": FILE_POLICY, "Cache-Control": "private, max-age=3600"}
    return Response(content, media_type=kind, headers=headers)
