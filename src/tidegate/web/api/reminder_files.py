"""Uploads of files over the API, one at a time, before the reminder that uses them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from tidegate.web.api.parameters import Text
from tidegate.web.api.responses import answer, refusals
from tidegate.web.auth.token_check import InDatabase, Steerer
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.uploaded_files import FileKept, take_file

uploads = ApiRouter("/uploads", tags=["reminders"], route_class=APIRoute)

_BYTES = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@uploads.put("/{name}", response_model=FileKept, responses=refusals(), openapi_extra=_BYTES)
async def upload(
    request: Request,
    database: InDatabase,
    _: Steerer,
    name: Annotated[Text, Path(description="What the file is called; its ending says what it is sent as.")],
) -> Response:
    """Store the request body as a file of at most 100 MB. A file named as a picture or video has to be one.

    A reminder names it by putting name and hash into its ``files``. One that no reminder names within a day is removed.
    """
    return answer(await take_file(request, database, name), HTTPStatus.OK)
