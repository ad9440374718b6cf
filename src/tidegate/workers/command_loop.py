"""The commands of a worker: each is taken, run and answered in its own task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import structlog

from tidegate.core.errors import NotOurs, TidegateError
from tidegate.core.ids import AccountId, CommandId, WorkerNumber
from tidegate.database.pool import TROUBLE, Database
from tidegate.workers.account_service import AccountService
from tidegate.workers.queries import commands
from tidegate.workers.queries.commands import Command, CommandAnswer

log = structlog.get_logger()

Handler = Callable[[AccountService, dict[str, Any]], Awaitable[Any]]
"""Runs a command for a served account; what it returns is the command's result, as JSON."""


class CommandLoop:
    """Runs the commands for the accounts in *serving*, which changes as accounts are taken and released."""

    def __init__(
        self, database: Database, serving: Mapping[AccountId, AccountService], handlers: Mapping[str, Handler]
    ) -> None:
        self._database = database
        self._serving = serving
        self._handlers = {"look_again": _look_again, "reconnect": _reconnect, **handlers}
        self._answering: dict[CommandId, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return list(self._answering.values())

    async def look(self, number: WorkerNumber) -> None:
        """Take the commands that arrived since the last call."""
        async with self._database.connection() as connection:
            asked = await commands.take(connection, number, serving=self._serving, running=self._answering)
        for command in asked:
            task = asyncio.create_task(self._answer(self._serving[command.account], command))
            self._answering[command.id] = task
            task.add_done_callback(partial(self._forget, command.id))

    async def _answer(self, serving: AccountService, command: Command) -> None:
        try:
            answer = CommandAnswer("done", await self._handler(command)(serving, command.args), None)
        except NotOurs:  # a command stays with its account: the next worker runs it again
            return
        except (TidegateError, *TROUBLE) as problem:
            answer = CommandAnswer("failed", None, str(problem))
        except Exception as problem:  # noqa: BLE001 - answered and logged: without an answer it would run for ever
            answer = _unexpected(command, problem)
        try:
            await self._store(serving, command, answer)
        except TROUBLE as problem:  # the row stays taken, and is taken again once the database is back
            log.warning("command.unanswered", kind=command.kind, problem=str(problem))

    async def _store(self, serving: AccountService, command: Command, answer: CommandAnswer) -> None:
        try:
            json.dumps(answer.result)
        except (TypeError, ValueError, RecursionError) as problem:
            answer = _unexpected(command, problem)
        async with self._database.transaction() as connection:
            await commands.answer(connection, command.id, serving.claim(), answer)
            await commands.wake(connection)

    def _forget(self, command: CommandId, _: asyncio.Task[None]) -> None:
        del self._answering[command]

    def _handler(self, command: Command) -> Handler:
        if command.kind not in self._handlers:
            raise TidegateError(f'The worker knows no command "{command.kind}"; is it an older version?')
        return self._handlers[command.kind]


def _unexpected(command: Command, problem: Exception) -> CommandAnswer:
    """The answer to a command that met a fault in Tidegate itself; the log has the traceback."""
    log.error("command.broke", kind=command.kind, command=command.id, problem=repr(problem), exc_info=problem)
    what = type(problem).__name__
    sentence = f'The command "{command.kind}" failed unexpectedly ({what}); the log of its worker says where.'
    return CommandAnswer("failed", None, sentence)


async def _look_again(serving: AccountService, _: dict[str, Any]) -> None:
    await serving.look_again()


async def _reconnect(serving: AccountService, _: dict[str, Any]) -> None:
    await serving.reconnect()
