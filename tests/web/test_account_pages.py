"""The page of one account: another name, age and proxy, its errors, and its removal; and mistakes of a sign-in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.platforms.relay_proxy import PASSWORD, relay_proxy
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.ids import AccountId
from tidegate.database.pool import Database
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP


@pytest.fixture
async def client(database: Database, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, beside a data folder that keys can be kept in."""
    async with visiting(database, TIDEGATE_HOME=str(tmp_path)) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


async def send(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    return await client.post(path, data={**fields, "change_token": client.headers["x-for-tests"]})


async def add(database: Database, name: str, platform: object = WHATSAPP, loopback: str = "x") -> AccountId:
    async with database.transaction() as connection:
        return await accounts.add(connection, name, platform, Standing.NORMAL, loopback=loopback)  # type: ignore[arg-type]


async def test_it_is_renamed_and_a_refused_name_stays_in_its_field(
    client: httpx.AsyncClient, database: Database
) -> None:
    """A name that is taken is a sentence beside the field, which still holds it; nothing is changed."""
    shop = await add(database, "shop")
    await add(database, "branch")
    refused = await send(client, f"/accounts/{shop}/rename", name="branch")
    assert (refused.status_code, "choose another name" in refused.text) == (400, True)
    assert re.search(
        r'id="new-name" name="name" value="branch".*aria-invalid="true" aria-describedby="wrong', refused.text
    )
    done = await send(client, f"/accounts/{shop}/rename", name=" Big shop ")
    assert (done.status_code, done.headers["location"]) == (303, f"/accounts/{shop}")
    shown = await client.get(f"/accounts/{shop}")
    assert "<h1><bdi" in shown.text
    assert 'is called "Big shop" now' in shown.text.replace("&#34;", '"')
    assert (await send(client, f"/accounts/{shop}/rename", name="Big shop")).status_code == 303, "its own name is free"


async def test_its_age_sets_how_fast_it_sends(client: httpx.AsyncClient, database: Database) -> None:
    """Each choice says its speed; the account and its pace follow."""
    shop = await add(database, "shop")
    assert "up to 40 a minute" in (await client.get(f"/accounts/{shop}")).text
    assert (await send(client, f"/accounts/{shop}/age", standing="established")).status_code == 303
    row = await database.pool.fetchrow("SELECT a.standing, p.ceiling FROM accounts a JOIN pace p ON p.account = a.id")
    assert row is not None
    assert tuple(row) == ("established", 40)
    bot = await add(database, "bot", DISCORD)
    assert "Age of this account" not in (await client.get(f"/accounts/{bot}")).text


@asynccontextmanager
async def a_place() -> AsyncIterator[str]:
    """An address at which somebody listens."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_is_tried_sealed_and_never_shown(
    client: httpx.AsyncClient, database: Database, scheme: str
) -> None:
    """A wrong password is refused beside the field and changes nothing; the page shows no secret at any time."""
    async with a_place() as place, relay_proxy() as proxy:
        reader = await add(database, "reader", TELEGRAM, loopback=place)
        refused = await send(client, f"/accounts/{reader}/proxy", proxy=proxy.url_as(scheme, "wrong-secret"))
        assert (refused.status_code, "user name or password" in refused.text) == (400, True)
        assert "wrong-secret" not in refused.text
        assert "It connects directly" in refused.text
        assert (await send(client, f"/accounts/{reader}/proxy", proxy=proxy.url_as(scheme))).status_code == 303
        assert len(proxy.places) == 1
        shown = (await client.get(f"/accounts/{reader}")).text
        assert f"{scheme}://127.0.0.1:{proxy.port}" in shown
        assert PASSWORD not in shown
        assert (await send(client, f"/accounts/{reader}/proxy", none="true")).status_code == 303
        assert "It connects directly" in (await client.get(f"/accounts/{reader}")).text


async def test_a_proxy_of_a_new_account_is_tried_before_any_question(
    client: httpx.AsyncClient, database: Database
) -> None:
    """One that does not lead to the platform is refused with all else that was typed, but for the secret itself."""
    wanted = {"name": "reader", "platform": "telegram", "loopback": "http://127.0.0.1:9"}
    for proxy, sentence in [("socks5://me:my-secret@127.0.0.1:1", "does not lead to"), ("x", "one of socks5, http")]:
        refused = await send(client, "/accounts/add", proxy=proxy, **wanted)
        assert (refused.status_code, sentence in refused.text) == (400, True)
        assert 'value="reader"' in refused.text
        assert "my-secret" not in refused.text


async def test_errors_are_listed_where_the_count_leads_to(client: httpx.AsyncClient, database: Database) -> None:
    """The list of accounts counts them, its link opens them, in words."""
    shop = await add(database, "shop")
    await database.pool.execute(
        "INSERT INTO calls (account, kind, method, outcome, at) SELECT $1, 'work', 'SendMessage', o, clock_now() "
        "FROM unnest($2::text[]) o",
        shop, ["failed", "asked_to_wait", "ok"],
    )  # fmt: skip
    assert f'<a href="/accounts/{shop}#errors">2 errors</a>' in (await client.get("/accounts")).text
    shown = (await client.get(f"/accounts/{shop}")).text
    assert shown.count("<code>SendMessage</code>") == 2
    assert "WhatsApp asked to wait" in shown
    assert "Refused or failed" in shown


async def test_a_removal_names_what_goes_with_it(client: httpx.AsyncClient, database: Database) -> None:
    """Before it happens; a bot has no session to end, so that no platform is asked."""
    bot = await add(database, "bot", DISCORD)
    await database.pool.execute(
        "INSERT INTO reminders (name, account, written, timezone) VALUES ('Friday', $1, '{}', 'UTC')", bot
    )
    asked = await client.get(f"/accounts/{bot}/remove")
    assert "1 reminder and 0 sends are deleted with it" in asked.text
    done = await send(client, f"/accounts/{bot}/remove")
    assert (done.status_code, done.headers["location"]) == (303, "/accounts")
    assert 'Account "bot" is removed' in (await client.get("/accounts")).text.replace("&#34;", '"')
    assert await database.pool.fetchval("SELECT count(*) FROM accounts") == 0


async def test_what_was_answered_wrongly_is_asked_again(client: httpx.AsyncClient) -> None:
    """A token that is none: the same question with the reason; a platform that is away: the way to try again."""
    token = client.headers["x-for-tests"]
    wanted = {"name": "bot", "platform": "discord", "loopback": "http://127.0.0.1:9"}
    begun = await client.post("/accounts/add", data=wanted, headers=htmx(token))
    at = begun.headers["hx-redirect"]
    await send(client, at, answer="not a token")
    asked = (await client.get(at)).text
    assert "Bot token" in asked
    assert 'aria-invalid="true"' in asked
    await send(client, at, answer="a.well.formed-token")
    ended = (await client.get(at)).text
    assert "Try again" in ended
    again = await send(client, f"{at}/restart", by="scan")
    assert (again.status_code, again.headers["location"]) == (303, at)
    assert "Bot token" in (await client.get(at)).text


async def test_a_code_that_is_shown_is_not_drawn_anew(client: httpx.AsyncClient) -> None:
    """The part that loads itself brings nothing while there is nothing new: a code that is being scanned stays."""
    token = client.headers["x-for-tests"]
    wanted = {"name": "bot", "platform": "discord", "loopback": "http://127.0.0.1:9"}
    at = (await client.post("/accounts/add", data=wanted, headers=htmx(token))).headers["hx-redirect"]
    first = await client.get(f"{at}/now")
    assert (first.status_code, "Bot token" in first.text) == (200, True)
    assert (await client.get(f"{at}/now?seen=1")).status_code == 204
