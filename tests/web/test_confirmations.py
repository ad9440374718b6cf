"""Whoever is asked before something happens is told to what, and to how much of it."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web import twin_channels
from tests.web.visiting import sign_in, visiting
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database

PAGES = (
    "/activity", "/activity/1", "/settings", "/storage", "/reminders", "/reminders/lists", "/archives",
    "/channels/1/options", "/accounts", "/reminders/lists/1?on_it=true",
)  # fmt: skip
ASKED = re.compile(r'(?:hx-confirm|data-ask)="([^"]*)"')
NAMED = re.compile(r'"[^"]+"|\d')
FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, with something on every page: also two tokens and three messages to decide about."""
    await twin_channels.fill(database)
    await database.pool.execute(
        "UPDATE run_parts SET state = 'unknown', claimed_at = clock_now(); UPDATE media_state SET enabled = true"
    )
    async with database.transaction() as connection:
        await tokens.add(connection, "second", [TokenScope.READ], None)
        await tokens.unconfirm_all(connection)
    async with visiting(database) as opened:
        await sign_in(opened, database)
        yield opened


async def questions(client: httpx.AsyncClient, path: str) -> list[str]:
    """What the buttons of a page ask before they do something."""
    return [html.unescape(question) for question in ASKED.findall((await client.get(path)).text)]


@pytest.mark.parametrize("path", PAGES)
async def test_a_question_names_its_object_or_count(client: httpx.AsyncClient, path: str) -> None:
    """In quotes, or as a number."""
    assert [one for one in await questions(client, path) if not NAMED.search(one) and "all mirrored" not in one] == []


@pytest.mark.parametrize("path", PAGES)
async def test_no_dangerous_button_acts_at_once(client: httpx.AsyncClient, path: str) -> None:
    """Every button in the colour of danger asks first."""
    forms = [form for form in FORM.findall((await client.get(path)).text) if re.search(r'class="danger"', form)]
    assert [form for form in forms if "hx-confirm" not in form] == []


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/activity", "Pause all sending? 1 send in progress and 0 scheduled reminders wait until you resume."),
        ("/activity/1", 'Mark 4 groups of "Friday" as delivered? They get nothing more of these messages.'),
        ("/activity/1", 'Send again to 4 groups of "Friday"? Whoever has a message already gets it twice.'),
        ("/activity/1", 'Skip 4 groups of "Friday"? They get nothing more of these messages.'),
        ("/settings", "Confirm 2 tokens: bot, second? Each opens what it did when the backup was made."),
        ("/settings", "Sign out 1 browser, this one too?"),
        ("/storage", "Stop keeping files? 4 waiting files will not be fetched. 1 kept file stays."),
        ("/reminders", 'Delete "Friday" for 2 groups? What it has sent stays under Sends.'),
        ("/reminders/lists/1?on_it=true", 'Remove 1 group from "all shops"?'),
        ("/storage", 'Delete the rule for "Harbour \u203a quayside", Video?'),
    ],
)
async def test_what_is_asked(client: httpx.AsyncClient, path: str, asked: str) -> None:
    """Word by word: what happens, to what, to how many, and what it cannot undo."""
    assert asked in await questions(client, path)
