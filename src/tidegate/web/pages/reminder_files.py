"""Uploads of files for the reminder form, one at a time."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tidegate.web.api.responses import answer
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.uploaded_files import take_file

pages = APIRouter()


@pages.put("/uploads/{name}")
async def upload(request: Request, database: InDatabase, name: str) -> Response:
    """Store a file for the form."""
    return answer(await take_file(request, database, name))
