"""Commands to an account's worker: sent, waited for, and done by this process when no worker serves the account."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import forget
from tidegate.app.composition import Runtime, run_worker
from tidegate.app.worker_setup import worker_setup
from tidegate.core.account import Account, AccountState
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.ids import AccountId
from tidegate.database.pool import Database
from tidegate.workers.command_client import ask_owner
from tidegate.workers.queries import commands, workers
from tidegate.workers.queries.commands import CommandAnswer

OF_HISTORIES = ("cycle", "backfill", "reconcile")
"""Commands that need a history, and so a platform that can be mirrored."""

SIGNED_OUT_WITHIN = timedelta(seconds=15)
"""How long the removal of an account waits for its platform; a person waits for it, and it happens anyway."""

ANSWERED_WITHIN = timedelta(hours=12)
"""How long a command waits for its cycle: a flood wait can be long, and Ctrl-C ends the waiting."""


async def ask_account(runtime: Runtime, account: Account, kind: str, args: dict[str, Any]) -> Any:
    """Have an account's worker do something, and return the result.

    When no worker serves the account, this process takes it for the duration, as a worker would. An account that a
    person must sign in or resume first is refused.
    """
    require_active(account, kind)
    asking = asyncio.create_task(ask_owner(runtime.database, account.id, kind, args, within=ANSWERED_WITHIN))
    watching = asyncio.create_task(_until_unable(runtime.database, account))
    stop = asyncio.Event()
    serving = asyncio.create_task(_serve_if_nobody_does(runtime, account.id, stop))
    try:
        await asyncio.wait({asking, watching, serving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (watching, serving):
            if task.done() and not asking.done():
                task.result()
        return _result(await asking)
    finally:
        stop.set()
        asking.cancel()
        watching.cancel()
        await asyncio.wait({asking, watching, serving})


async def sign_out(runtime: Runtime, account: Account, *, within: timedelta = SIGNED_OUT_WITHIN) -> str | None:
    """End an account's sign-in at its platform; returns a sentence when that could not be done in time."""
    try:
        async with asyncio.timeout(within.total_seconds()):
            await ask_account(runtime, account, "sign_out", {})
    except TimeoutError:
        return f"{account.platform.brand} did not answer within {within.total_seconds():.0f} s."
    except TidegateError as problem:
        return str(problem)
    return None


async def remove_account(runtime: Runtime, account: Account, *, keep_session: bool = False) -> str:
    """Sign an account out at its platform and delete it here; returns what was done, as a sentence."""
    how = await _end_session(runtime, account, keep_session=keep_session)
    await forget(runtime, account)
    async with runtime.database.transaction() as connection:
        await accounts.remove(connection, account.id, account.name)
        await commands.wake(connection)
    return f'Account "{account.name}" is removed{how}'


async def _end_session(runtime: Runtime, account: Account, *, keep_session: bool) -> str:
    """End the session at the platform where that can be done; returns the end of the sentence about it."""
    platform = account.platform
    if platform.sessions_shown_at is None:
        return "."
    listed = f"{platform.brand} lists it {platform.sessions_shown_at}, where it can be ended"
    if keep_session:
        return f", and its session left as it is: {listed}."
    why = await sign_out(runtime, account)
    if why is None:
        return f" and signed out at {platform.brand}."
    return f", but it could not be signed out: {why} Its session may still be there: {listed}."


async def _serve_if_nobody_does(runtime: Runtime, account: AccountId, stop: asyncio.Event) -> None:
    async with runtime.database.connection() as connection:
        served = await workers.serves(connection, account)
    if served:
        await stop.wait()
        return
    setup = await worker_setup(runtime, every=None)
    await run_worker(runtime, openers=setup.openers, work=setup.work, stop=stop, handlers=setup.handlers, only=account)


async def _until_unable(database: Database, account: Account) -> None:
    """Raise when the account can no longer work, since no worker would answer."""
    while True:
        await SystemClock().sleep(timedelta(seconds=1))
        async with database.connection() as connection:
            found = await accounts.get(connection, account.id)
        if found is None:
            raise TidegateError(f'Account "{account.name}" was removed.')
        require_active(found)


def require_active(account: Account, kind: str | None = None) -> None:
    """Refuse a command to an account that no worker would answer for, or that its platform cannot do."""
    if kind in OF_HISTORIES and not account.platform.can_be_mirrored:
        raise BadInput(f'Account "{account.name}" is on {account.platform.brand}, whose groups cannot be mirrored.')
    if account.state is not AccountState.ACTIVE:
        raise TidegateError(account.stands)


def _result(answer: CommandAnswer | None) -> Any:
    if answer is None:
        raise TidegateError("The worker that serves the account did not answer; the command stays and is done later.")
    if answer.error is not None:
        raise TidegateError(answer.error)
    return answer.result
