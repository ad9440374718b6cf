"""No text keeps anything from being stored, in whatever kind of argument it comes."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.recorded_events import unknown_event
from tests.scans.stored_channels import add_account, add_channel
from tidegate.channels.queries import channels
from tidegate.core.ids import ChannelId, FileId, MessageId, TopicId
from tidegate.core.message_content import Embed, MessageContent
from tidegate.core.rules.storable_text import ORIGINALS
from tidegate.database.pool import Database
from tidegate.events.queries import feed
from tidegate.history.queries import messages
from tidegate.history.raw_json import unpack
from tidegate.platforms.interface import Channel, File, FileHandle, FileKind, Message, Reaction, Topic
from tidegate.platforms.telegram import TELEGRAM
from tidegate.scans.queries import topic_titles

pytestmark = pytest.mark.both_servers

HOSTILE = st.sampled_from(["\x00", "\ud83d", "\udc00", "a\x00b\ud800c", "\ufffe", "\u202e", "x" * 5_000, "🐉" * 900])
ANY = HOSTILE | st.text(st.characters(exclude_categories=()), max_size=40)
FILES = st.builds(File, st.just(FileId(1)), ANY, st.just(1), ANY, st.just(FileKind.DOCUMENT), st.just(FileHandle("h")))
SAID = st.dictionaries(ANY, ANY, max_size=3)
CONTENTS = st.builds(
    MessageContent,
    service=ANY,
    embeds=st.tuples(st.builds(Embed, title=ANY)),
    details=SAID,
    mentions=st.dictionaries(ANY, ANY, max_size=3),
)
MESSAGES = st.builds(
    Message,
    id=st.just(MessageId(1)),
    at=st.just(NOON),
    author=ANY,
    text=ANY,
    files=st.tuples(FILES),
    service=ANY,
    reactions=st.tuples(st.builds(Reaction, ANY, st.just(1))),
    raw=SAID,
    content=CONTENTS,
)
FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def test_texts_lists_and_json(database: Database) -> None:
    """By each way in which a statement takes its arguments."""
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT $1::text", "a\x00") == "a␀"
        assert await connection.fetchval("SELECT $1::text[]", ["\ud83d", None]) == ["\ufffd", None]
        assert await connection.fetchval("SELECT $1::jsonb", {"a\x00": ["\ud83d"]}) == {"a␀": ["\ufffd"]}
        row = await connection.fetchrow("SELECT $1::text AS one", "\x00")
        assert row is not None
        assert row["one"] == "␀"
        assert [row[0] for row in await connection.fetch("SELECT unnest($1::text[])", ["\x00"])] == ["␀"]
        await connection.execute("CREATE TEMP TABLE kept (one text)")
        await connection.execute("INSERT INTO kept VALUES ($1)", "\x00")
        await connection.executemany("INSERT INTO kept VALUES ($1)", [("\ud83d",)])
        assert [row[0] for row in await connection.fetch("SELECT one FROM kept")] == ["␀", "\ufffd"]


@FUZZ
@given(one=MESSAGES)
async def test_every_text_of_a_message(database: Database, one: Message) -> None:
    """Stored, whatever is in it; stored once more it is the same message, and no edit."""
    async with database.transaction() as connection:
        await connection.execute("TRUNCATE accounts, channels CASCADE")
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        first = await messages.store(connection, key, [one])
        again = await messages.store(connection, key, [one])
        row = await connection.fetchrow("SELECT text, raw FROM messages")
    assert (len(first.added), again.changed) == (1, frozenset())
    assert row is not None
    if row["text"] != one.text:
        assert json.loads(unpack(row["raw"])[ORIGINALS]["text"]) == one.text


@FUZZ
@given(title=ANY, topic=ANY)
async def test_names_of_channels_and_topics(database: Database, title: str, topic: str) -> None:
    """A title with NUL in it kept a whole account from being listed."""
    async with database.transaction() as connection:
        await connection.execute("TRUNCATE accounts, channels CASCADE")
        account = await add_account(connection, "reader")
        await channels.see(connection, TELEGRAM, account, [Channel(ChannelId(5), title=title, forum=True)])
        [kept] = await channels.listing(connection)
        await topic_titles.name_topics(connection, kept.key, [Topic(TopicId(7), topic)])


@FUZZ
@given(data=st.dictionaries(ANY, ANY, max_size=3), subject=ANY)
async def test_what_the_feed_is_told(database: Database, data: dict[str, str], subject: str) -> None:
    """An event names what came from outside."""
    async with database.transaction() as connection:
        await feed.record(connection, subject, unknown_event("test.told", data))
