"""Where a Discord channel or thread is: server, channel, thread, on the pages and in documents."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.history.rich_messages import ADA, wrote
from tests.history.stored_messages import kept
from tests.web.api_client import client as api
from tests.web.api_client import token
from tests.web.visiting import sign_in, visiting
from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels, guilds
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.account import Standing
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.core.message_content import MessageContent
from tidegate.database.pool import Database
from tidegate.history.queries import messages
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import Channel, ChannelKind, Head

__all__ = ["api", "kept"]  # fixtures

GUILD, GENERAL, THREAD = GuildId(70), ChannelId(80), ChannelId(85)


@pytest.fixture
async def thread(database: Database) -> KnownChannel:
    """A thread with a message, under a channel of a server."""
    general = Channel(GENERAL, "general", guild=GUILD, server="The <b>harbour</b>")
    below = Channel(THREAD, "crates", kind=ChannelKind.THREAD, guild=GUILD, parent=GENERAL, server=general.server)
    async with database.transaction() as connection:
        account = await accounts.add(connection, "gate", DISCORD, Standing.NORMAL, loopback=None)
        heads = {one.id: Head(MessageId(90), None, one) for one in (general, below)}
        await guilds.see(connection, DISCORD, account, heads)
        found = await channels.find(connection, str(THREAD))
        await messages.store(connection, found.key, [wrote(90, ADA, "a heavy crate")])
    return found


@pytest.fixture
async def client(database: Database, thread: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(database) as opened:
        await sign_in(opened, database)
        yield opened


async def words(client: httpx.AsyncClient, path: str) -> str:
    """What a page says, without its markup."""
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.text))


async def test_pages_say_which_server_a_thread_is_of(client: httpx.AsyncClient, thread: KnownChannel) -> None:
    """On the chat, on a message of its own, on the channel's page, in the list, and in search results."""
    where = "The &lt;b&gt;harbour&lt;/b&gt; \u203a general \u203a"
    for path in ("messages", "messages/90", "options", "technical", "files"):
        assert f"Channels \u203a {where}" in await words(client, f"/channels/{thread.key}/{path}")
    for path in ("/channels", "/messages?q=crate"):
        assert f"{where} crates" in (await words(client, path)).replace("\u203acrates", "\u203a crates"), path


async def test_documents_name_the_server(api: httpx.AsyncClient, thread: KnownChannel) -> None:
    """A channel in a list and by itself, its messages, and a search result."""
    where = {"guild": GUILD, "server": "The <b>harbour</b>", "parent_title": "general"}
    [listed] = [one for one in (await api.get("/api/channels")).json()["channels"] if one["channel"] == THREAD]
    shown = (await api.get(f"/api/channels/{THREAD}")).json()
    [found] = (await api.get("/api/search", params={"q": "crate"})).json()["results"]
    for document in (listed, shown, found):
        assert {name: document[name] for name in where} == where
    page = (await api.get(f"/api/channels/{THREAD}/messages")).json()
    assert (page["guild"], page["server"]) == (GUILD, "The <b>harbour</b>")


async def test_a_narrow_token_does_not_learn_the_channel_above_a_thread(
    api: httpx.AsyncClient, database: Database, thread: KnownChannel
) -> None:
    """It sees the server that its own channel is in, and no other channel."""
    api.headers["authorization"] = f"Bearer {await token(database, 'narrow', thread.key)}"
    shown = (await api.get(f"/api/channels/{THREAD}")).json()
    [found] = (await api.get("/api/search", params={"q": "crate"})).json()["results"]
    for document in (shown, found):
        assert (document["server"], document["parent_title"]) == ("The <b>harbour</b>", "")
    assert shown["parent"] is None


async def test_a_result_reads_as_its_channel_does(
    client: httpx.AsyncClient, database: Database, thread: KnownChannel
) -> None:
    """Without the marks of Discord's markdown, with the names behind mentions, and with the match marked."""
    content = MessageContent(mentions={"<@501>": "Ada"})
    async with database.transaction() as connection:
        await messages.store(connection, thread.key, [wrote(91, ADA, "**Heavy** rope for <@501>", content=content)])
    text = (await client.get("/messages?q=heavy+rope")).text
    assert "<mark>Heavy</mark> <mark>rope</mark> for @Ada" in text
