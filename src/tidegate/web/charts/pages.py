"""The parts of pages that are charts, and the page of what one account did."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.core.ids import ChannelKey
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.charts.activity_charts import activity, channel_activity, zone_from
from tidegate.web.charts.rules.time_buckets import ChartRange
from tidegate.web.page_response import AS_PART, live_page, page

pages = GuardedRouter()


@pages.get("/charts")
async def show_all(request: Request, database: InDatabase, range: ChartRange = ChartRange.DAY) -> Response:  # noqa: A002
    """The charts of Home, for htmx."""
    async with database.connection() as connection:
        charts = await activity(connection, range, zone_from(request))
    return page(request, "parts/charts.html", charts=charts, account=None)


@pages.get("/accounts/activity")
@pages.get("/accounts/activity/now", dependencies=AS_PART)
async def show_account(
    request: Request,
    database: InDatabase,
    name: Text,
    range: ChartRange = ChartRange.DAY,  # noqa: A002
) -> Response:
    """What one account did."""
    async with database.connection() as connection:
        account = (await accounts.find(connection, name)).account
        charts = await activity(connection, range, zone_from(request), account.id)
    return live_page(request, "charts.html", charts=charts, account=account.name)


@pages.get("/channels/{key}/activity")
async def show_channel(
    request: Request, database: InDatabase, key: Annotated[ChannelKey, Path(ge=1, le=BIGGEST)]
) -> Response:
    """When people write in a channel, for its page."""
    zone = zone_from(request)
    async with database.connection() as connection:
        charts = await channel_activity(connection, key, zone)
    return page(request, "parts/channel_activity.html", activity=charts, zone=str(zone))
