"""The handlers of commands about histories: ``backfill`` and ``reconcile``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from tidegate.core.errors import LongWait
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.guild_cycle import look_around
from tidegate.database.pool import Database
from tidegate.history.backfill import backfill
from tidegate.history.newest_reconciliation import reconcile
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import HistoryDepth
from tidegate.lanes import parking_long_waits
from tidegate.scans.scan_context import ScanContext
from tidegate.workers.account_service import AccountService
from tidegate.workers.command_loop import Handler


def history_handlers(database: Database, policy: CyclePolicy) -> Mapping[str, Handler]:
    """The commands by their kind. *channels* are our keys, None for all that are open; calls count for no cycle."""

    async def context(serving: AccountService) -> ScanContext:
        return ScanContext(await serving.connected(), database, None, policy.limits, policy.retries)

    async def asked_for(serving: AccountService, args: dict[str, Any]) -> tuple[list[ChannelHistory], dict[str, Any]]:
        """The histories a command is for, and those left out: of all channels, those whose history is closed."""
        async with database.connection() as connection:
            found = await channel_histories.of_reader(connection, serving.account.id, only=args["channels"])
            closed = (
                dict(await channel_histories.closed(connection, serving.account.id)) if args["channels"] is None else {}
            )
        left_out = [{"channel": number, "title": title} for number, title in closed.items()]
        return [one for one in found if one.place.channel not in closed], {"closed": left_out}

    async def fill(serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        reading = await context(serving)
        if reading.lane.has_guilds:
            with suppress(LongWait), parking_long_waits():  # known gaps can be read even so
                await look_around(reading)
        found, left_out = await asked_for(serving, args)
        return (await backfill(reading, policy.history, found, wanted=_depth(args))).as_json() | left_out

    async def compare(serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        found, left_out = await asked_for(serving, args)
        limit = args["limit"] or policy.history.reconcile_limit
        return (await reconcile(await context(serving), found, limit=limit)).as_json() | left_out

    return {"backfill": fill, "reconcile": compare}


def _depth(args: dict[str, Any]) -> HistoryDepth | None:
    """The depth that the operator asked for; None where nothing was asked, and each history has its usual depth."""
    since = None if args["since"] is None else datetime.fromisoformat(args["since"])
    if args["everything"] or since is not None or args["target"] is not None:
        return HistoryDepth(args["target"], since)
    return None
