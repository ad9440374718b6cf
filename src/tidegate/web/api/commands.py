"""Commands for the worker of an account: their state and their result."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import HTTPException, Path
from fastapi.responses import Response

from tidegate.core.ids import CommandId
from tidegate.database.pool import Connection
from tidegate.web.api.parameters import BIGGEST
from tidegate.web.api.responses import CHANGE_REFUSALS, answer, refusals
from tidegate.web.auth.token_check import InDatabase, ReaderOfAll
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.workers.documents import CommandRow, command_row
from tidegate.workers.queries import commands as kept_commands

commands = ApiRouter("/commands", tags=["commands"])

QUEUES_COMMAND: dict[str, Any] = {
    "response_model": CommandRow,
    "status_code": HTTPStatus.ACCEPTED,
    "responses": CHANGE_REFUSALS,
}
"""Options of a route that leaves a command for the worker of an account; ``accepted`` makes its answer."""


@commands.get("/{command}", response_model=CommandRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(
    database: InDatabase, _: ReaderOfAll, command: Annotated[CommandId, Path(ge=1, le=BIGGEST)]
) -> Response:
    """What became of a command. A command that is not taken yet waits for the next worker that serves its account."""
    async with database.connection() as connection:
        status = await kept_commands.tell(connection, command)
    if status is None:
        sentence = f"There is no command {command}; what has ended is kept for the setting keep_commands_for."
        raise HTTPException(HTTPStatus.NOT_FOUND, sentence)
    return answer(command_row(status))


async def accepted(connection: Connection, command: CommandId) -> Response:
    """202: the new command, with its address in ``Location``."""
    status = await kept_commands.tell(connection, command)
    assert status is not None
    where = {"Location": f"/api/commands/{command}"}
    return answer(command_row(status), HTTPStatus.ACCEPTED, where)
