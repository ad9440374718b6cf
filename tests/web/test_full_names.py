"""Where two servers have channels of one title, every page tells them apart: server, channel, thread."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.web import twin_channels
from tests.web.page_crawl import crawl, words_of
from tests.web.twin_channels import SERVERS, THREAD, TITLE
from tests.web.visiting import change_token, sign_in, visiting
from tidegate.database.pool import Database

BARE = re.compile(rf"(?<!(?:{'|'.join(SERVERS)}) \u203a )\b{TITLE}\b|(?<!{TITLE} \u203a )\b{THREAD}\b")
"""A title without the place it is in."""

EXPECTED = (
    "/", "/log", "/channels", "/channels/1/messages", "/channels/1/options", "/channels/3/messages", "/archives",
    "/archives/1", "/storage", "/settings", "/reminders/new", "/reminders/1/test", "/reminders/1/fire",
    "/reminders/lists/1", "/activity/1", "/channels/1/topics",
)  # fmt: skip
"""Pages that must speak of these channels; the walk finds others too."""


THREADS = "/topics"
"""The threads of one channel, whose page has its full name above them."""


def bare(text: str) -> list[str]:
    """The titles in words of a page that lack their place, with what is around them."""
    text = text.replace(f"Thread of {TITLE}", "")  # the line above names the server
    return [text[max(0, found.start() - 40) : found.end() + 20] for found in BARE.finditer(text)]


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    await twin_channels.fill(database)
    async with visiting(database) as opened:
        await sign_in(opened, database)
        yield opened


async def test_every_page_names_a_channel_with_its_server(client: httpx.AsyncClient) -> None:
    """In lists, tables, pickers, confirmations, labels for screen readers and the title of the window."""
    pages = await crawl(client)
    for path in EXPECTED:  # the crawl looks at one page of each kind
        pages[path] = words_of((await client.get(path)).text)
        assert TITLE in pages[path], f"{path}: {pages[path]}"
    elsewhere = {path: text for path, text in pages.items() if not path.endswith(THREADS)}
    assert {path: ones for path, text in elsewhere.items() if (ones := bare(text))} == {}


async def test_the_review_of_a_reminder_does_so_too(client: httpx.AsyncClient) -> None:
    """The recipients, and the group that the preview is for."""
    form = {
        "name": "Soon", "account": "gate", "to": "named", "group": ["81", "82"], "text": "Hello", "file": "",
        "sha256": "", "fires": "hand", "timezone": "UTC", "start_hour": "0", "end_hour": "24",
        "change_token": change_token((await client.get("/settings")).text),
    }  # fmt: skip
    words = words_of((await client.post("/reminders/review", data=form)).text)
    assert words.count(TITLE) == 3
    assert bare(words) == []
