"""Forms sent after their sign-in had ended, over real HTTP: nothing typed is lost, and nothing is sent unseen."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web.operator_password import PASSWORD, set_password
from tests.web.reminder_client import GROUPS, filled
from tests.web.visiting import change_token, htmx, sign_in, visiting
from tidegate.database.pool import Database

OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, with a password and an account that writes to three groups."""
    await database.pool.execute(GROUPS)
    await set_password(database)
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


def hidden(text: str) -> dict[str, str]:
    """The hidden fields of a page."""
    return {name: html.unescape(value) for name, value in re.findall(r'hidden" name="(\w+)" value="([^"]*)"', text)}


async def test_what_was_typed_survives_the_end_of_a_session(client: httpx.AsyncClient, database: Database) -> None:
    """It waits in the sign-in, also over a wrong password, and is sent when the person presses the button."""
    await database.pool.execute("DELETE FROM sessions")
    asked = await client.post("/reminders/review", data=filled(client, text="line\n<b>two"), headers=OWN)
    assert (asked.status_code, "what you typed is kept" in asked.text) == (200, True)
    wrong = await client.post("/sign-in", data={**hidden(asked.text), "password": "wrong"})
    assert wrong.status_code == 403
    back = await client.post("/sign-in", data={**hidden(wrong.text), "password": PASSWORD})
    assert (back.status_code, "Send it now" in back.text) == (200, True)
    fields = hidden(back.text)
    assert (fields["text"], 'action="/reminders/review"' in back.text) == ("line\n<b>two", True)
    review = await client.post("/reminders/review", data=fields, headers=OWN)
    assert (review.status_code, "line\n&lt;b&gt;two" in review.text) == (200, True)


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {}])
async def test_what_no_page_of_ours_sent_is_not_carried(
    client: httpx.AsyncClient, database: Database, headers: dict[str, str]
) -> None:
    """Nobody signs what another site wrote."""
    await database.pool.execute("DELETE FROM sessions")
    answer = await client.post("/reminders/review", data=filled(client), headers=headers)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


async def test_a_secret_is_typed_again(client: httpx.AsyncClient, database: Database) -> None:
    """No page carries a password."""
    await database.pool.execute("DELETE FROM sessions")
    answer = await client.post("/settings/password", data={"password": PASSWORD}, headers=OWN)
    assert answer.headers["location"] == "/sign-in"


async def test_a_page_of_an_earlier_sign_in_is_asked_about(client: httpx.AsyncClient, database: Database) -> None:
    """Signed in anew in another tab: the form waits for the person, a button of htmx says what to do."""
    old = client.headers["x-for-tests"]
    new = await sign_in(client, database)
    values = {"name": "bot", "scope": "read", "change_token": old}
    kept = await client.post("/settings/tokens", data=values, headers=OWN)
    assert (kept.status_code, "Send it now" in kept.text, change_token(kept.text)) == (200, True, new)
    assert await database.pool.fetchval("SELECT count(*) FROM tokens") == 0
    pressed = await client.post("/activity/pause-all", headers=htmx(old))
    assert (pressed.status_code, "signed in again" in pressed.json()["detail"]) == (403, True)
    assert pressed.headers["tidegate-send"] == "plainly"
    assert (await client.post("/settings/tokens", data=hidden(kept.text), headers=OWN)).status_code == 200


async def test_a_new_password_needs_the_one_until_now(client: httpx.AsyncClient, database: Database) -> None:
    """Whoever finds a browser signed in cannot shut its owner out, nor guess: wrong ones count as at the sign-in."""
    token = client.headers["x-for-tests"]
    assert 'name="current"' in (await client.get("/settings")).text
    for expected in (403, 403, 403, 403, 403, 429):
        values = {"password": "another password", "current": "guessed"}
        assert (await client.post("/settings/password", data=values, headers=htmx(token))).status_code == expected
    await database.pool.execute("DELETE FROM sign_in_tries")
    values = {"password": "another password", "current": PASSWORD}
    changed = await client.post("/settings/password", data=values, headers=htmx(token))
    assert changed.headers["hx-redirect"] == "/sign-in"
