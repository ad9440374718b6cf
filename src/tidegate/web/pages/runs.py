"""The pages of runs (Sends): results per group, pause, resume, cancel and resolve."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Form, Path, Query, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.core.ids import RunId
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted, readable_time
from tidegate.database.pool import Connection, Database
from tidegate.reminders.queries import reminders, run_states, run_targets, runs
from tidegate.reminders.queries.run_targets import ShownTarget
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.rules.send_states import SendState
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_controls import Resolution
from tidegate.reminders.runs.run_remainder import make_remainder
from tidegate.web.api.parameters import BIGGEST, Place
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.charts.activity_charts import run_progress
from tidegate.web.csv_text import csv_text
from tidegate.web.page_response import AS_PART, changed, go_to, live_page, page

_RUNS, _TARGETS = 50, 100

TABS = {
    SendState.FAILED: "Failed", SendState.UNKNOWN: "Not confirmed", SendState.SENDING: "Sending",
    SendState.PENDING: "Waiting", SendState.SKIPPED: "Skipped", SendState.SENT: "Sent",
}  # fmt: skip
"""The states of a group as people read them, in the order of the tabs."""

pages = GuardedRouter()

RunNumber = Annotated[RunId, Path(ge=1, le=BIGGEST)]
Before = Annotated[RunId | None, Query(ge=1, le=BIGGEST)]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run with its targets counted by state."""

    run: Run
    counts: Mapping[str, int]

    @property
    def sent(self) -> int:
        return self.counts.get("sent", 0)

    @property
    def all(self) -> int:
        return sum(self.counts.values())


@pages.get("/activity")
@pages.get("/activity/list", dependencies=AS_PART)
async def show(request: Request, database: InDatabase, before: Before = None) -> Response:
    async with database.connection() as connection:
        return live_page(request, "runs.html", **await _list(connection, before))


async def _list(connection: Connection, before: RunId | None) -> dict[str, Any]:
    found = await runs.listing(connection, before=before, limit=_RUNS + 1)
    return {
        "runs": await _counted(connection, found[:_RUNS]),
        "before": before,
        "older": found[_RUNS - 1].id if len(found) > _RUNS else None,
        "all_paused": await run_states.everything_is_paused(connection),
        "totals": await runs.totals(connection),
    }


async def _counted(connection: Connection, found: list[Run]) -> list[ShownRun]:
    """Runs with their counts: kept where they have ended, counted now where they are open."""
    counted = await runs.counts(connection, [run.id for run in found if run.counts is None])
    return [ShownRun(run, run.counts if run.counts is not None else _named(counted[run.id])) for run in found]


def _named(counts: Counter[SendState]) -> dict[str, int]:
    return {state.value: counts[state] for state in SendState}


@pages.get("/activity/{run}")
@pages.get("/activity/{run}/now", dependencies=AS_PART)
async def show_run(
    request: Request, database: InDatabase, run: RunNumber, state: SendState | None = None, after: Place = 0
) -> Response:
    async with database.connection() as connection:
        return live_page(request, "run.html", **await _run(connection, run, state, after))


async def _run(connection: Connection, number: RunId, state: SendState | None, after: int) -> dict[str, Any]:
    [shown] = await _counted(connection, [await runs.find(connection, number)])
    found = await run_targets.of_run(
        connection, number, state=state, skip=after, limit=_TARGETS + 1, troubled_first=True
    )  # fmt: skip
    first = await run_targets.of_run(connection, number, limit=1)
    platform = (await accounts.find(connection, shown.run.account_name)).account.platform
    able = [one.account.name for one in await accounts.listing(connection) if one.account.platform is platform]
    others = sorted((name for name in able if name != shown.run.account_name), key=natural_key)
    speed = await run_targets.speed(connection, number)
    return {
        "accounts": others,
        "shown": shown,
        "targets": found[:_TARGETS],
        "state": state,
        "after": after,
        "more": after + _TARGETS if len(found) > _TARGETS else None,
        "tabs": [(one, words) for one, words in TABS.items() if shown.counts.get(one.value)],
        "state_words": TABS,
        "rests": await reminders.rests_of(connection, number),
        "nobody_has": await run_targets.nobody_has(connection, number),
        "speed": speed,
        "ends_at": speed.ends_at(shown.run.now) if shown.run.state is RunState.RUNNING else None,
        "parts": await run_targets.frozen_run_parts(connection, number),
        "texts": [part.text for part in first[0].parts] if first else [],
        "progress": await run_progress(connection, shown.run),
        "behind": None if shown.run.behind is None else await runs.find(connection, shown.run.behind),
        "reminder_exists": shown.run.reminder is not None,
    }


@pages.get("/activity/{run}/groups.csv")
async def export(database: InDatabase, run: RunNumber) -> Response:
    """Every group of a run with its state and the reason, as CSV for a spreadsheet."""
    async with database.connection() as connection:
        found = await runs.find(connection, RunId(run))
        targets = await run_targets.of_run(connection, RunId(run), troubled_first=True)
    zone = found.window.zone
    rows = [(one.title, one.channel, one.state.value, one.error, readable_time(_last(one), zone)) for one in targets]
    text = await asyncio.to_thread(csv_text, ("Group", "ID", "State", "Reason", "Sent at"), rows)
    headers = {"Content-Disposition": f'attachment; filename="run-{run}-groups.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _last(target: ShownTarget) -> datetime | None:
    return max((part.sent_at for part in target.parts if part.sent_at is not None), default=None)


# What people do to them


@pages.post("/activity/pause-all")
async def pause_all(request: Request, database: InDatabase) -> Response:
    """Pause all sending, also of runs that open later."""
    async with database.transaction() as connection:
        paused = await run_controls.pause_all(connection)
    sentence = f"All sending is paused ({counted(len(paused), 'send')} in progress)."
    return changed(request, sentence, back="/activity")


@pages.post("/activity/resume-all")
async def resume_all(request: Request, database: InDatabase) -> Response:
    async with database.transaction() as connection:
        resumed = await run_controls.resume_all(connection)
    return changed(request, f"Sending resumed ({counted(len(resumed), 'send')}).", back="/activity")


@pages.post("/activity/{run}/pause")
async def pause(request: Request, database: InDatabase, run: RunNumber) -> Response:
    """Pause a run; sends in flight complete."""
    return await _change(request, database, RunId(run), run_controls.pause, "Paused. What is in flight is finished.")


@pages.post("/activity/{run}/resume")
async def resume(request: Request, database: InDatabase, run: RunNumber) -> Response:
    return await _change(request, database, RunId(run), run_controls.resume, "Sending resumed.")


@pages.post("/activity/{run}/cancel")
async def cancel(request: Request, database: InDatabase, run: RunNumber) -> Response:
    """Cancel a run; what was sent stays sent."""
    return await _change(request, database, RunId(run), run_controls.cancel, "Cancelled. What was sent stays sent.")


async def _change(
    request: Request,
    database: Database,
    run: RunId,
    control: Callable[[Connection, RunId], Awaitable[object]],
    done: str,
) -> Response:
    async with database.transaction() as connection:
        await control(connection, run)
    return changed(request, done, back=f"/activity/{run}")


@pages.post("/activity/{run}/resolve")
async def resolve(
    request: Request,
    database: InDatabase,
    run: RunNumber,
    resolution: Annotated[Resolution, Form()],
    group: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Settle messages with an unknown outcome, for all such groups or for some."""
    async with database.transaction() as connection:
        settled = await run_controls.resolve(connection, RunId(run), resolution, groups=group or ())
    return changed(request, f"{counted(settled, 'message')} updated.", back=f"/activity/{run}")


@pages.post("/activity/{run}/remainder")
async def remainder(
    request: Request, database: InDatabase, run: RunNumber, account: Annotated[str, Form()]
) -> Response:
    """Make a reminder of the groups it did not reach, for another account; who is left out is named."""
    async with database.transaction() as connection:
        made = await make_remainder(connection, RunId(run), account)
    return page(request, "remainder_made.html", made=made, run=run, account=account)


@pages.post("/activity/{run}/retry")
async def retry(request: Request, database: InDatabase, run: RunNumber) -> Response:
    """Make a reminder of the groups it did not reach, for the same account, and ask before it is sent."""
    async with database.transaction() as connection:
        made = await make_remainder(connection, RunId(run), (await runs.find(connection, RunId(run))).account_name)
    return go_to(request, f"/reminders/{made.id}/fire")
