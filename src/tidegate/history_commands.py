"""What people ask of the worker that serves an account, about histories: ``backfill`` and ``reconcile``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidegate.engine.obeying import Handler
from tidegate.engine.serving import Serving
from tidegate.mirror.backfill import backfill
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.guilds import look_around
from tidegate.mirror.reconcile import reconcile
from tidegate.mirror.scan import Hand
from tidegate.rules.backfilling import Depth
from tidegate.store import histories
from tidegate.store.database import Database
from tidegate.store.histories import History


def history_handlers(database: Database, habits: CycleHabits) -> Mapping[str, Handler]:
    """The commands by their kind. *channels* are our keys of them, None for all; calls count for no cycle."""

    async def hand(serving: Serving) -> Hand:
        return Hand(await serving.connected(), database, None, habits.limits, habits.retries)

    async def asked_for(serving: Serving, args: dict[str, Any]) -> list[History]:
        async with database.connection() as connection:
            return await histories.of_reader(connection, serving.account.id, only=args["channels"])

    async def fill(serving: Serving, args: dict[str, Any]) -> dict[str, Any]:
        reading = await hand(serving)
        if reading.lane.has_guilds:
            await look_around(reading)
        found = await asked_for(serving, args)
        return (await backfill(reading, habits.history, found, wanted=_depth(args))).as_json()

    async def compare(serving: Serving, args: dict[str, Any]) -> dict[str, Any]:
        found = await asked_for(serving, args)
        limit = args["limit"] or habits.history.sync_limit
        return (await reconcile(await hand(serving), found, limit=limit)).as_json()

    return {"backfill": fill, "reconcile": compare}


def _depth(args: dict[str, Any]) -> Depth | None:
    """What the operator wants of these histories; None where nothing was said, and each goes as deep as usual."""
    since = None if args["since"] is None else datetime.fromisoformat(args["since"])
    if args["everything"] or since is not None or args["target"] is not None:
        return Depth(args["target"], since)
    return None
