"""A token for one channel learns nothing of another: every address of the API is asked, by what its document says.

Everything of the other channel is called after a zebra or has a number that nothing else has, and every question that
names something of it has to be answered as one that names nothing at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.history.rich_messages import wrote
from tests.history.stored_messages import kept, said
from tests.recorded_events import unknown_event
from tests.scans.stored_channels import add_account, add_channel
from tests.web.api_client import token
from tests.web.api_questions import Question, every_question, told
from tests.web.archive_builder import add_archive
from tests.web.web_client import answering
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelId, UserId
from tidegate.core.message_content import Person
from tidegate.database.pool import Connection, Database
from tidegate.events.queries import feed
from tidegate.history.queries import messages
from tidegate.people.queries import people
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.web import make_app

__all__ = ["kept"]  # a fixture

OTHER = 987_654_321
NOWHERE = 555_555_555
TITLE = "Zebra vault"


@dataclass(frozen=True, slots=True)
class Case:
    """The numbers of archives: the token's own, one of which waits for the other channel, and the other channel's."""

    own: int
    held: int
    other: int


@pytest.fixture
async def case(database: Database, kept: KnownChannel) -> Case:
    """Two channels that have as much to do with each other as channels can have."""
    async with database.transaction() as connection:
        account = await add_account(connection, "zebra-account")
        await channels.see(connection, TELEGRAM, account, [Channel(ChannelId(OTHER), TITLE, forum=True)])
        other = await add_channel(connection, account, OTHER)
        await connection.execute("UPDATE channels SET title = $2 WHERE id = $1", other.key, TITLE)
        zebra = Person(UserId(987_654_323), "Zebra keeper")
        await messages.store(connection, other.key, [said(1, "a tower of zebra"), wrote(77, zebra, "zebra")])
        await people.store(connection, other.key, [zebra])
        first = await add_archive(connection, other, "zebra.zip", "zebra/tower.stl")
        own = await add_archive(connection, kept, "Dragons.zip", "dragons/tower.stl", state="failed")
        held = await add_archive(connection, kept, "Waiting.zip", state="waiting")
        await _entangle(connection, kept, own, other, first)
        await feed.record(connection, TITLE, unknown_event("zebra.happened", {"channel": OTHER}))
    return Case(own, held, first)


async def _entangle(connection: Connection, kept: KnownChannel, own: int, other: KnownChannel, first: int) -> None:
    """The token's channel is a thread of the other, files archives into it, and holds a duplicate of one of its."""
    await connection.execute(
        "UPDATE channels SET parent = $2, kind = 'thread', destination = $3, remark = 'ask zebra' WHERE id = $1",
        kept.key, OTHER, other.key,
    )  # fmt: skip
    await connection.execute(
        "UPDATE archives SET duplicate_of = $2, flags = '{encrypted,duplicate}' WHERE id = $1", own, first
    )
    await connection.execute(f"UPDATE failures SET reason = 'copy', detail = 'The account may not write to {TITLE}.'")
    await connection.execute(
        "INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, "
        "way, state) VALUES ($1, $2, 1, 1, 2, 'Dragons.zip', 0, 10, 'copy', 'pending')",
        own, other.key,
    )  # fmt: skip
    await connection.execute("UPDATE archives SET indexed_at = now() WHERE state = 'waiting'")
    await connection.execute(
        "INSERT INTO closed_destinations (account, channel, sentence, allowed, look_at) "
        "SELECT c.reader, $2, 'Zebra vault takes nothing.', true, now() FROM channels c WHERE c.id = $1",
        kept.key, other.key,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out) "
        "VALUES (5, 'zebra-worker', 's', 'zebra-host', 'p', '1', 10, '15 s')"
    )
    await connection.execute(
        "INSERT INTO target_lists (id, name) OVERRIDING SYSTEM VALUE VALUES (987654322, 'zebra-list')"
    )
    await connection.execute(
        "INSERT INTO reminders (name, account, written, timezone) "
        "SELECT 'zebra-reminder', id, '{}', 'UTC' FROM accounts WHERE name = 'zebra-account'"
    )


@pytest.fixture
async def client(database: Database, kept: KnownChannel, case: Case) -> AsyncIterator[httpx.AsyncClient]:
    """It shows a token of every scope, for one channel."""
    async with answering(make_app(database)) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database, 'narrow', kept.key)}"
        yield opened


# What can be put into an address: something of the other channel, and something that is not there, one for the other.
NAMES = {
    "account": [("zebra-account", "nobodys-account")],
    "channel": [(TITLE, "No such title"), (str(OTHER), str(NOWHERE)), (f"-100{OTHER}", f"-100{NOWHERE}")],
    "reminder": [("zebra-reminder", "nobodys-reminder")],
    "saved_list": [("zebra-list", "nobodys-list"), ("987654322", "987654329")],
    "name": [("zebra", "nobody")],
    "command": [("1", "987654329")],
    "run": [("1", "987654329")],
    "message": [("77", "78")],
    "file": [],
    "person": [("987654323", "555555553")],
    "platform": [],
    "q": [("zebra", "nothing"), (f"x channel:{OTHER}", f"x channel:{NOWHERE}"), (str(OTHER), str(NOWHERE))],
    "after": [],
    "at": [],
    "cursor": [],
    "zone": [],
}
"""By the name of a parameter; texts that name nothing of anybody have none. A new one has to be thought about."""


def questions(case: Case) -> Iterator[tuple[Question, Question]]:
    """Every address with what the token may not know in it, and beside it the same with what does not exist."""
    archives = [str(case.own), str(case.held)]
    known = {"channel": ["7"], "archive": archives, "message": ["1"], "file": ["1"], "platform": ["telegram"]}
    return every_question(known, {**NAMES, "archive": [(str(case.other), str(NOWHERE))]})


async def test_nothing_is_told_of_another_channel(client: httpx.AsyncClient, case: Case) -> None:
    """Neither a title, number, account, archive, destination, reminder, run, worker nor event of it, anywhere.

    What is not the token's might as well not be there: status, sentence and headers are the same, so that nobody learns
    by asking what there is.
    """
    assert await told(client, questions(case)) == ([], [])


async def test_its_own_channel_is_told_whole_all_the_same(client: httpx.AsyncClient, case: Case) -> None:
    """What is left out is only what belongs to the other."""
    [listed] = (await client.get("/api/channels")).json()["channels"]
    shown = (await client.get("/api/channels/7")).json()
    assert (listed["channel"], listed["reader"], listed["parent"], listed["remark"]) == (7, "reader", None, "")
    assert (shown["title"], shown["reader"], shown["parent"], shown["messages"]) == ("Channel 7", "reader", None, 3)
    assert [one["channel"] for one in (await client.get("/api/channels?account=reader")).json()["channels"]] == [7]
    archive = (await client.get(f"/api/archives/{case.own}")).json()
    assert (archive["name"], archive["state"], archive["flags"]) == ("Dragons.zip", "failed", ["encrypted"])
    assert (archive["duplicate_of"], archive["deliveries"]) == (None, [])
    assert (archive["reason"], archive["detail"]) == ("copy", "The platform did not copy the file to the destination.")
    held = (await client.get(f"/api/archives/{case.held}")).json()
    assert (held["state"], held["reason"]) == ("waiting", "destination_closed")
    assert held["detail"] == held["waits_for"] == "Its destination takes nothing at the moment."
    found = (await client.get("/api/search?q=tower")).json()["results"]
    assert {one["channel"] for one in found} == {7}


async def test_two_channels_of_one_name_are_told_apart_for_it(
    client: httpx.AsyncClient, database: Database, kept: KnownChannel
) -> None:
    """Its own is meant; that there is another of the same name, and its number, is nobody's business."""
    await database.pool.execute("UPDATE channels SET title = $1", kept.title)
    for path in (f"/api/channels/{kept.title}", f"/api/context/{kept.title}"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["channel"]) == (200, 7)
    answer = await client.get("/api/search", params={"q": f'tower channel:"{kept.title}"'})
    assert {one["channel"] for one in answer.json()["results"]} == {7}


async def test_both_channels_of_a_token_know_each_other(database: Database, kept: KnownChannel, case: Case) -> None:
    """For a token that may read both, nothing is left out but what the operator was told."""
    async with database.connection() as connection:
        other = await channels.find(connection, str(OTHER))
    async with answering(make_app(database)) as client:
        client.headers["authorization"] = f"Bearer {await token(database, 'both', kept.key, other.key)}"
        assert (await client.get("/api/channels/7")).json()["parent"] == OTHER
        archive = (await client.get(f"/api/archives/{case.own}")).json()
        assert (archive["duplicate_of"], archive["flags"]) == (case.other, ["encrypted", "duplicate"])
        assert [one["title"] for one in archive["deliveries"]] == [TITLE]
