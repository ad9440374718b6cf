"""Private chats are outside "all channels": only who was given one by name sees it, through every door of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.held import NOON
from tests.history.rich_messages import wrote
from tests.history.stored_messages import kept
from tests.recorded_events import can_be_told
from tests.web.api_client import refused, token
from tests.web.api_questions import every_question, told
from tests.web.web_client import answering
from tidegate.app import operator_requests
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelId, UserId
from tidegate.core.message_content import Person
from tidegate.database.pool import Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.kinds.lanes import LanePaused
from tidegate.events.queries import feed
from tidegate.history.queries import messages
from tidegate.people.queries import people
from tidegate.platforms.interface import Channel, ChannelKind
from tidegate.platforms.telegram import TELEGRAM
from tidegate.reminders.queries import targets
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query
from tidegate.web import make_app
from tidegate.workers.queries import commands

__all__ = ["kept"]  # a fixture

TITLE = "Zebra keeper"
NUMBER, NOWHERE = 2_199_987_654_321, 2_199_555_555_555
ZEBRA, NOBODY = 987_654_323, 555_555_553
ADA = Person(UserId(501), "Ada Lovelace")


@pytest.fixture
async def chat(database: Database, kept: KnownChannel) -> KnownChannel:
    """A private chat of the account that also reads the channel, mirrored, with a message, a command and an event."""
    async with database.transaction() as connection:
        assert kept.reader is not None
        seen = [
            Channel(ChannelId(NUMBER), TITLE, kind=ChannelKind.PRIVATE_CHAT),
            Channel(ChannelId(NUMBER + 1), "Zebra family", kind=ChannelKind.GROUP),
        ]
        await channels.see(connection, TELEGRAM, kept.reader, seen)
        await channels.enable(connection, await channels.find(connection, TITLE), MirrorOptions())
        found = await channels.find(connection, TITLE)
        zebra = Person(UserId(ZEBRA), TITLE)
        await messages.store(connection, found.key, [wrote(77, zebra, "a tower of zebra"), wrote(78, ADA, "yes")])
        await people.store(connection, found.key, [zebra, ADA])
        await messages.store(connection, kept.key, [wrote(50, ADA, "in public")])
        await operator_requests.ask_backfill(connection, found, operator_requests.BackfillRequest())
        await connection.execute("UPDATE commands SET result = $1, state = 'done'", {"channels": [{"title": TITLE}]})
        read = ChannelRead(channel=found.number, topic=None, messages=2, archives=0)
        await feed.record(connection, TITLE, read)
        for scope, key in (("chat", f"{NUMBER}"), ("bucket", f"GET history {NUMBER}")):
            await feed.record(connection, "reader", LanePaused(scope=scope, key=key, until=NOON))
    return found


@pytest.fixture
async def client(database: Database, chat: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """It shows a token of every scope for all channels."""
    async with answering(make_app(database)) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database, 'wide')}"
        yield opened


@pytest.fixture
async def named(database: Database, chat: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """It shows a token that names the private chat."""
    async with answering(make_app(database)) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database, 'friend', chat.key)}"
        yield opened


NAMES: dict[str, list[tuple[str, str]]] = {
    "account": [("nobodys-account", "nobodys-account")],
    "channel": [(TITLE, "No such title"), (str(NUMBER), str(NOWHERE))],
    "reminder": [("nobodys", "nobodys")],
    "saved_list": [("nobodys", "nobodys")],
    "name": [("nobodys", "nobodys")],
    "command": [("1", "987654329")],
    "run": [("1", "1")],
    "archive": [("1", "1")],
    "message": [("77", "79")],
    "file": [],
    "person": [(str(ZEBRA), str(NOBODY))],
    "platform": [],
    "q": [("zebra", "nothing"), (f"x channel:{NUMBER}", f"x channel:{NOWHERE}"), (str(NUMBER), str(NOWHERE))],
    "after": [],
    "at": [],
    "cursor": [],
    "zone": [],
}


async def test_a_token_for_all_channels_learns_nothing_of_them(
    client: httpx.AsyncClient, database: Database, chat: KnownChannel
) -> None:
    """No list, search, context, message, person, event or command tells of one, and naming it is naming nothing."""
    await can_be_told(database)
    known = {"channel": ["7"], "message": ["1"], "file": ["1"], "platform": ["telegram"], "person": [str(ADA.id)]}
    assert await told(client, every_question(known, NAMES)) == ([], [])


async def test_what_is_public_is_told_all_the_same(
    client: httpx.AsyncClient, database: Database, chat: KnownChannel
) -> None:
    """Only the chats are left out: who also writes in a channel is known, and the feed goes on."""
    await can_be_told(database)
    assert [one["channel"] for one in (await client.get("/api/channels")).json()["channels"]] == [7]
    assert (await client.get("/api/search?q=tower")).json()["results"] != []
    assert (await client.get(f"/api/people/telegram/{ADA.id}")).json()["name"] == ADA.name
    async with database.transaction() as connection:
        await feed.record(connection, "reader", LanePaused(scope="bucket", key="GET history 7", until=NOON))
    await can_be_told(database)
    kinds = {event["kind"] for event in (await client.get("/api/feed?limit=500")).json()["events"]}
    assert kinds >= {"channel.enabled", "lane.paused"}


async def test_the_feed_moves_past_them(client: httpx.AsyncClient, database: Database, chat: KnownChannel) -> None:
    """Where only events about private chats follow, the next question does not walk over them again."""
    await can_be_told(database)
    before = (await client.get("/api/feed?after=now")).json()["next"]
    async with database.transaction() as connection:
        for _ in range(3):
            await feed.record(connection, TITLE, ChannelRead(channel=chat.number, topic=None, messages=2, archives=0))
    await can_be_told(database)
    page = (await client.get(f"/api/feed?after={before}")).json()
    assert page["events"] == []
    assert page["next"] == (await client.get("/api/feed?after=now")).json()["next"] != before


async def test_a_token_that_names_one_reads_it(named: httpx.AsyncClient, chat: KnownChannel) -> None:
    """Its messages, context, search and people, and nothing else."""
    [listed] = (await named.get("/api/channels")).json()["channels"]
    expected = {"channel": NUMBER, "kind": "private chat", "private_to": "reader", "full": True, "moved_to": None}
    assert {name: listed[name] for name in expected} == expected
    assert (await named.get(f"/api/channels/{NUMBER}/messages/77")).json()["text"] == "a tower of zebra"
    assert (await named.get(f"/api/context/{NUMBER}")).json()["messages"] != []
    assert [one["channel"] for one in (await named.get("/api/search?q=tower")).json()["results"]] == [NUMBER]
    assert (await named.get(f"/api/people/telegram/{ZEBRA}")).json()["name"] == TITLE
    refused(await named.get("/api/feed"), 403)


async def test_a_token_for_all_channels_gives_none_away(
    client: httpx.AsyncClient, database: Database, chat: KnownChannel
) -> None:
    """It can neither enable one nor make a token for one, and sees no title in the list of tokens."""
    await token(database, "friend", chat.key)
    refused(await client.post(f"/api/channels/{NUMBER + 1}/enable"), 404)
    refused(await client.post("/api/tokens", json={"name": "x", "channels": [TITLE]}), 404)
    rows = {row["name"]: row["channels"] for row in (await client.get("/api/tokens")).json()}
    assert rows["friend"] == ["a private chat"]


async def test_a_command_for_all_channels_tells_of_none(
    client: httpx.AsyncClient, database: Database, chat: KnownChannel, kept: KnownChannel
) -> None:
    """The result of a backfill or reconcile without names lists and counts only what the token may see."""
    public = {"channel": kept.number, "title": kept.title, "error": None}
    hidden = {"channel": NUMBER, "title": TITLE, "error": f"{TITLE} is away."}
    result = {"channels": [public, hidden], "succeeded": 1, "failed": 1, "closed": [hidden]}
    async with database.transaction() as connection:
        assert kept.reader is not None
        number = await commands.ask(connection, kept.reader, "reconcile", {"channels": None, "limit": None})
        await connection.execute("UPDATE commands SET result = $1, state = 'done' WHERE id = $2", result, number)
    shown = (await client.get(f"/api/commands/{number}")).json()["result"]
    assert shown == {"channels": [public], "succeeded": 1, "failed": 0, "closed": []}


async def test_a_command_about_a_person_is_told_to_nobody(
    client: httpx.AsyncClient, database: Database, kept: KnownChannel
) -> None:
    """It names whom the account writes with."""
    async with database.transaction() as connection:
        assert kept.reader is not None
        number = await commands.ask(connection, kept.reader, "sync", {"person": ZEBRA})
        listing = await commands.ask(connection, kept.reader, "sync", {})
    refused(await client.get(f"/api/commands/{number}"), 404)
    assert (await client.get(f"/api/commands/{listing}")).status_code == 200


async def test_a_token_for_all_channels_lists_none_as_a_target(client: httpx.AsyncClient, chat: KnownChannel) -> None:
    """Its number is no group to write to, so a list of targets does not tell its title."""
    answer = await client.post("/api/target-lists", json={"name": "x", "groups": [str(NUMBER)]})
    refused(answer, 400)
    assert TITLE not in answer.text


async def test_the_operator_sees_them(database: Database, chat: KnownChannel) -> None:
    """Commands and pages of the operator find them by title and by their words, and the feed tells of them."""
    await can_be_told(database)
    async with database.connection() as connection:
        assert (await channels.find(connection, TITLE)).key == chat.key
        found = await search(connection, read_query("zebra", lambda moment: moment), most=10)
        assert [hit.channel for hit in found.found] == [NUMBER]
        assert "channel.read" in [event.kind for event in await feed.read(connection) if event.subject == TITLE]


async def test_they_get_no_archives_and_no_reminders(database: Database, chat: KnownChannel) -> None:
    """Nothing is filed to or from one, and a name in a reminder never means one."""
    async with database.transaction() as connection:
        public = await channels.find(connection, "7")
        with pytest.raises(BadInput, match="not collected in private chats"):
            await operator_requests.enable(connection, chat, operator_requests.MirrorRequest(hashed=True))
        with pytest.raises(BadInput, match="it is a private chat"):
            await operator_requests.enable(connection, public, operator_requests.MirrorRequest(destination=TITLE))
        with pytest.raises(BadInput, match="sees no group"):
            await targets.named(connection, chat.reader, [TITLE])
        for account in (chat.reader, None):
            with pytest.raises(BadInput, match="group"):
                await targets.named(connection, account, [str(NUMBER)])


async def test_one_of_a_removed_account_stays_private(
    client: httpx.AsyncClient, database: Database, chat: KnownChannel
) -> None:
    """Its owner is gone, and it is still nobody else's business."""
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM sights")
        await connection.execute("UPDATE channels SET reader = NULL, private_to = 987_654")
    refused(await client.get(f"/api/channels/{NUMBER}"), 404)
