"""Rows that a later version stored: no page, search, API or context fails for what this version does not know."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.history.message_builder import file
from tests.history.rich_messages import EVERYTHING
from tests.history.stored_json import JSON, places, put
from tests.scans.stored_channels import add_account, add_channel, message
from tidegate.core.ids import MessageId, UserId
from tidegate.core.message_content import MessageContent, MessageKind, Person
from tidegate.database.pool import Connection, Database
from tidegate.database.storable_connection import json_text
from tidegate.history.content_json import content_json
from tidegate.history.message_documents import message_shown
from tidegate.history.queries import bot_context, message_patches, messages, timeline
from tidegate.history.queries.bot_context import ContextBounds
from tidegate.history.queries.timeline import TimelineBounds
from tidegate.people.queries import people
from tidegate.platforms.interface import Patch
from tidegate.web.chat_view import ChatReader

pytestmark = pytest.mark.both_servers

ONE, TWO = MessageId(1), MessageId(2)
ADA = Person(UserId(7), "Ada")


async def read_all(connection: Connection, kept: Any) -> list[Any]:
    """The messages as pages, the API and bots read them; also those that a patch would change."""
    found = await timeline.before(connection, kept, None, TimelineBounds(10, raw=True))
    shown = [message_shown(one, deleted=True) for one in found.messages]
    ChatReader(kept.platform, "/people", kept.key).chat(found.messages)
    await lines(connection, kept)
    await message_patches.stored(connection, kept.key, [ONE, TWO])
    return shown


async def lines(connection: Connection, kept: Any) -> list[str]:
    """The same as a bot reads them."""
    part = await bot_context.load(connection, kept, [ONE, TWO])
    return [one["line"] for one in bot_context.documents(part, ContextBounds(), now=NOON, here=lambda at: at)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON, data=st.data())
async def test_anything_in_the_content_is_read(database: Database, value: Any, data: Any) -> None:
    """Whatever a later version stores in whatever place, both in a message and in one that it answers."""
    stored = content_json(EVERYTHING)
    put(stored, data.draw(st.sampled_from(list(places(stored)))), value)
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            kept = await add_channel(connection, await add_account(connection, "reader"))
            answer = replace(message(2), reply_to=ONE, content=MessageContent(mentions={"<@1>": "Ada"}))
            await messages.store(connection, kept.key, [message(1), answer])
            await connection.execute("UPDATE messages SET content = $1::text::jsonb", json_text(stored))
            assert [one.id for one in await read_all(connection, kept)] == [1, 2]
            again = replace(answer, text="edited", edited_at=NOON)
            assert (await messages.store(connection, kept.key, [again])).changed == {2}
        finally:
            await transaction.rollback()


async def test_unknown_kinds_are_unsupported(database: Database) -> None:
    """Of a message, its file and its author; what is known of them is still shown."""
    async with database.transaction() as connection:
        kept = await add_channel(connection, await add_account(connection, "reader"))
        said = replace(message(1), author_id=ADA.id, files=[file(5, "a.zip")])
        await messages.store(connection, kept.key, [said])
        await people.store(connection, kept.key, [ADA])
        for change in ("messages SET kind = 'hologram'", "attachments SET form = 'scent', kind = 'odour'",
                       "people SET kind = 'android'"):  # fmt: skip
            await connection.execute(f"UPDATE {change}")
        [shown] = await read_all(connection, kept)
        assert (shown.kind, shown.unsupported, shown.fields) == (MessageKind.UNSUPPORTED, "hologram", "complete")
        assert (shown.person.kind, shown.files[0].name) == (None, "a.zip")
        assert await people.find(connection, kept.platform, ADA.id) is not None
        assert "unsupported: hologram" in (await lines(connection, kept))[0]
        await messages.store(
            connection, kept.key, await message_patches.versions(connection, kept.key, [Patch(ONE, marks={})])
        )
