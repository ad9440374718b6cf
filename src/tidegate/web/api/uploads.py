"""Files for reminders over the API: sent ahead one at a time, and then named by the reminder that carries them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from tidegate.web.api.access import InDatabase, Steerer
from tidegate.web.api.asking import Text, answer, refusals
from tidegate.web.taking_files import FileKept, take_file

uploads = APIRouter(prefix="/uploads", tags=["reminders"])

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
    """Keep a file, which is the body itself: at most 100 MB, and what is called a picture or a video has to be one.

    A reminder names it by putting name and hash into its ``files``. One that no reminder names within a day is removed.
    """
    return answer(await take_file(request, database, name), HTTPStatus.OK)
