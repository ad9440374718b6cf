"""Commands left for the owner of an account: where they are looked at until they are done."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import JSONResponse, Response

from tidegate.shapes.commands import CommandRow, command_row
from tidegate.store import commands as kept_commands
from tidegate.store.database import Connection
from tidegate.web.api.access import InDatabase, ReaderOfAll
from tidegate.web.api.asking import BIGGEST, answer, refusals
from tidegate.words import CommandId

commands = APIRouter(prefix="/commands", tags=["commands"])


@commands.get("/{command}", response_model=CommandRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, command: Annotated[int, Path(ge=1, le=BIGGEST)]) -> Response:
    """What became of a command. One that nobody has taken yet waits for the worker that serves its account next."""
    async with database.connection() as connection:
        told = await kept_commands.tell(connection, command)
    if told is None:
        sentence = f"There is no command {command}; what has ended is kept for the setting keep_commands_for."
        raise HTTPException(HTTPStatus.NOT_FOUND, sentence)
    return answer(command_row(told))


async def accepted(connection: Connection, command: CommandId) -> Response:
    """202: the command as it was just left, and in ``Location`` where to look at it."""
    told = await kept_commands.tell(connection, command)
    assert told is not None
    where = {"Location": f"/api/commands/{command}"}
    return JSONResponse(asdict(command_row(told)), status_code=HTTPStatus.ACCEPTED, headers=where)
