"""Files for reminders, sent ahead of the form one at a time."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tidegate.web.api.access import InDatabase
from tidegate.web.api.asking import answer
from tidegate.web.taking_files import take_file

pages = APIRouter()


@pages.put("/uploads/{name}")
async def upload(request: Request, database: InDatabase, name: str) -> Response:
    """Keep a file for the form to name."""
    return answer(await take_file(request, database, name))
