"""Charts on the pages: drawn by the server, the same numbers as a table, in the reader's zone."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.scans.stored_channels import add_account
from tests.web.chart_rows import add_running_run, fill_sums
from tests.web.visiting import sign_in, visiting
from tidegate.database.pool import Database
from tidegate.web.charts.rules.browser_time_zone import ZONE_COOKIE


async def _totals(client: httpx.AsyncClient, path: str) -> list[str]:
    text = (await client.get(path)).text
    return re.findall(r"<figcaption.*?<strong>(.*?)</strong>", text)


@pytest.mark.parametrize(
    ("asked", "totals"),
    [
        ("?range=24h", ["96", "144", "336", "96 of 2,400"]),
        ("?range=30d", ["400", "600", "1,400", "400 of 10,000"]),
    ],
)
async def test_home_sums_a_range_over_all_accounts(database: Database, asked: str, totals: list[str]) -> None:
    """Messages, sends, requests, and requests of checks beside what they would have been."""
    await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        assert await _totals(client, f"/{asked}") == totals
        assert await _totals(client, f"/charts{asked}") == totals


async def test_an_account_has_its_own_charts(database: Database) -> None:
    """Messages are those of the channels that it reads; the list of accounts leads there."""
    await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        assert await _totals(client, "/accounts/activity?name=ada&range=24h") == ["48", "72", "168", "48 of 1,200"]
        assert "/accounts/activity?name=ada" in (await client.get("/accounts")).text
        assert (await client.get("/accounts/activity?name=nobody")).status_code == 404


async def test_a_channel_shows_when_people_write(database: Database) -> None:
    """By day and by hour of the day; both add up to the same number."""
    key = await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        for path in (f"/channels/{key}/statistics", f"/channels/{key}/activity"):
            assert await _totals(client, path) == ["200", "200"]


async def test_storage_shows_how_it_grew(database: Database) -> None:
    """Archives and files by day."""
    await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        [total] = await _totals(client, "/storage")
        assert "5.0 MB" in total
        assert "1.0 MB" in total


async def test_everything_drawn_is_also_a_table(database: Database) -> None:
    """A screen reader finds each number in a table, and first hears a sentence about the chart."""
    await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        text = (await client.get("/?range=24h")).text
    assert 'role="img" aria-label="Messages stored: 96 in all, most in' in text
    table = text[text.index('id="charts-numbers"') : text.index("</details>", text.index('id="charts-numbers"'))]
    assert table.count('<th scope="row">') == 24
    assert table.count('<td class="number">4</td><td class="number">6</td><td class="number">14</td>') == 24
    assert "style=" not in text


async def test_days_are_the_readers(database: Database) -> None:
    """A cookie of the page's script names the zone; a strange one is UTC."""
    await fill_sums(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        assert 'data-zone="UTC"' in (await client.get("/")).text
        client.cookies.set(ZONE_COOKIE, "Asia/Tokyo")
        assert 'data-zone="Asia/Tokyo"' in (await client.get("/")).text


async def test_an_empty_database_draws_nothing_wrong(database: Database) -> None:
    """Without a message, a call or a day of storage, the pages say so."""
    async with database.transaction() as connection:
        await add_account(connection, "ada")
    async with visiting(database) as client:
        await sign_in(client, database)
        assert await _totals(client, "/?range=7d") == ["0", "0", "0"]
        assert "Messages stored: none." in (await client.get("/?range=7d")).text
        assert (await client.get("/storage")).status_code == 200


async def test_sums_that_are_still_being_made_say_so(database: Database) -> None:
    """After an upgrade the numbers of earlier hours come later."""
    async with database.transaction() as connection:
        await add_account(connection, "ada")
    async with visiting(database) as client:
        await sign_in(client, database)
        assert "still being counted" in (await client.get("/")).text


async def test_a_send_is_drawn_beside_its_pace(database: Database) -> None:
    """What went out, the line of the pace, and the delivery hours behind both; the page still loads by itself."""
    run = await add_running_run(database)
    async with visiting(database) as client:
        await sign_in(client, database)
        for path in (f"/activity/{run}", f"/activity/{run}/now"):
            text = (await client.get(path)).text
            assert 'aria-label="Messages sent: 3 of 4 sent."' in text
            assert '<polyline class="k1"' in text
            assert '<polyline class="k2 dashed"' in text
            assert "<title>Delivery hours</title>" in text
