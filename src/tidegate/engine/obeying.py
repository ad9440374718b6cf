"""What people ask of a worker: commands taken, done and answered, each in its own task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import structlog

from tidegate.engine.serving import Serving
from tidegate.errors import NotOurs, TidegateError
from tidegate.store import commands
from tidegate.store.commands import Answer, Command
from tidegate.store.database import TROUBLE, Database
from tidegate.words import AccountId, CommandId, WorkerNumber

log = structlog.get_logger()

Handler = Callable[[Serving, dict[str, Any]], Awaitable[Any]]
"""Does what a command asks of a served account; what it returns is the command's result, as JSON."""


class Obeying:
    """Does what is asked for the accounts in *serving*, which changes as accounts come and go."""

    def __init__(
        self, database: Database, serving: Mapping[AccountId, Serving], handlers: Mapping[str, Handler]
    ) -> None:
        self._database = database
        self._serving = serving
        self._handlers = {"look_again": _look_again, **handlers}
        self._answering: dict[CommandId, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return list(self._answering.values())

    async def look(self, number: WorkerNumber) -> None:
        """Take up what was asked since the last look."""
        async with self._database.connection() as connection:
            asked = await commands.take(connection, number, serving=self._serving, running=self._answering)
        for command in asked:
            task = asyncio.create_task(self._answer(self._serving[command.account], command))
            self._answering[command.id] = task
            task.add_done_callback(partial(self._forget, command.id))

    async def _answer(self, serving: Serving, command: Command) -> None:
        try:
            answer = Answer("done", await self._handler(command)(serving, command.args), None)
        except NotOurs:  # a command stays with its account: whoever serves it next takes it up again
            return
        except (TidegateError, *TROUBLE) as problem:
            answer = Answer("failed", None, str(problem))
        try:
            async with self._database.transaction() as connection:
                await commands.answer(connection, command.id, serving.claim(), answer)
                await commands.wake(connection)
        except TROUBLE as problem:  # the row stays taken, and is taken again once the database is back
            log.warning("command.unanswered", kind=command.kind, problem=str(problem))

    def _forget(self, command: CommandId, _: asyncio.Task[None]) -> None:
        del self._answering[command]

    def _handler(self, command: Command) -> Handler:
        if command.kind not in self._handlers:
            raise TidegateError(f'The worker knows no command "{command.kind}"; is it an older version?')
        return self._handlers[command.kind]


async def _look_again(serving: Serving, _: dict[str, Any]) -> None:
    await serving.look_again()
