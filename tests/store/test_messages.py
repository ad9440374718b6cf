"""Messages as they are kept: versions, files, reactions and deletions, in whatever order they are told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
from alembic import command
from alembic.config import Config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection as SyncConnection

from tests.held import NOON
from tests.store.test_mirror import add_account, add_channel, message
from tests.store.test_upgrade import bare
from tidegate.port import File, FileHandle, FileId, FileKind, MessageId, Patch, Reacted, Reaction
from tidegate.rules.history import lifts_tombstone
from tidegate.store import messages, patches
from tidegate.store.database import Address, Connection, Database
from tidegate.store.schema import steps
from tidegate.store.upgrade import upgrade

__all__ = ["bare"]  # a fixture

LATER = NOON + timedelta(minutes=5)
LATEST = NOON + timedelta(minutes=9)
ONE = MessageId(1)


def file(number: int, name: str) -> File:
    return File(FileId(number), name, 10 * number, "application/zip", FileKind.DOCUMENT, FileHandle("h"))


async def channel(connection: Connection) -> int:
    return (await add_channel(connection, await add_account(connection, "reader"))).key


async def texts(connection: Connection) -> list[str]:
    """The earlier texts of the first message and then the one it has now."""
    rows = await connection.fetch("SELECT text FROM message_revisions WHERE message = 1 ORDER BY number")
    return [*(row["text"] for row in rows), await connection.fetchval("SELECT text FROM messages WHERE id = 1")]


async def apply(connection: Connection, key: int, *news: Patch) -> None:
    await messages.store(connection, key, await patches.versions(connection, key, news))


async def deleted(connection: Connection) -> bool:
    gone: bool = await connection.fetchval("SELECT deleted_at IS NOT NULL FROM messages WHERE id = 1")
    return gone


class TestVersions:
    async def test_two_edits_leave_two_revisions(self, database: Database) -> None:
        """H-36: each earlier text is kept with the instant it was written, and the newest is served."""
        async with database.transaction() as connection:
            key = await channel(connection)
            first, second = replace(message(1, "b"), edited_at=LATER), replace(message(1, "c"), edited_at=LATEST)
            for version in (message(1, "a"), first, second):
                await messages.store(connection, key, [version])
            assert await texts(connection) == ["a", "b", "c"]
            rows = await connection.fetch("SELECT written_at FROM message_revisions ORDER BY number")
            assert [row["written_at"] for row in rows] == [NOON, LATER]

    async def test_versions_of_one_message_in_one_page_are_all_kept(self, database: Database) -> None:
        """H-36: news that piled up is stored at once, and still no version is lost."""
        async with database.transaction() as connection:
            key = await channel(connection)
            edits = [replace(message(1, text), edited_at=at) for text, at in (("b", LATER), ("c", LATEST))]
            other = replace(message(2), edited_at=LATER)
            stored = await messages.store(connection, key, [message(1, "a"), *edits, message(2), other])
            assert await texts(connection) == ["a", "b", "c"]
            assert (stored.added, stored.changed) == ({1, 2}, {1, 2})

    async def test_an_older_update_is_ignored(self, database: Database) -> None:
        """H-34: told by a page or by the platform itself, what is older than the stored version changes nothing."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "new"), edited_at=LATEST)])
            await messages.store(connection, key, [replace(message(1, "old"), edited_at=LATER)])
            await apply(connection, key, Patch(ONE, edited_at=LATER, text="old"))
            assert await texts(connection) == ["new"]

    async def test_a_late_part_does_not_mislead_the_parts_after_it(self, database: Database) -> None:
        """H-34: what follows a late update in the same news still builds on the newest version."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [message(1, "a")])
            news = [Patch(ONE, edited_at=LATEST, text="new"), Patch(ONE, edited_at=LATER, text="old")]
            await apply(connection, key, *news, Patch(ONE, extra='{"embeds": [1]}'))
            assert await texts(connection) == ["a", "new"]
            assert await connection.fetchval("SELECT extra FROM messages") == {"embeds": [1]}

    async def test_a_preview_is_no_edit(self, database: Database) -> None:
        """H-35: embeds are taken over, the text stays, whatever comes with them, and no revision is counted."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "look"), extra='{"type": 0, "embeds": []}')])
            await apply(connection, key, Patch(ONE, text="", extra='{"embeds": [{"title": "A page"}]}'))
            assert await texts(connection) == ["look"]
            extra = await connection.fetchval("SELECT extra FROM messages")
            assert extra == {"type": 0, "embeds": [{"title": "A page"}]}
            assert await connection.fetchval("SELECT edited_at FROM messages") is None

    async def test_an_edit_of_a_message_never_stored_is_stored_whole(self, database: Database) -> None:
        """H-33, H-37: however old it is; a part of one that nobody knows waits for the page that brings it."""
        async with database.transaction() as connection:
            key = await channel(connection)
            whole = replace(message(1, "told"), edited_at=LATER)
            await apply(connection, key, Patch(MessageId(2), edited_at=LATER, text="a part"))
            await apply(connection, key, Patch(ONE, edited_at=LATER, text="told", whole=whole))
            assert await texts(connection) == ["told"]
            assert await messages.count(connection, key) == 1

    async def test_a_blank_that_nobody_wrote_hides_nothing(self, database: Database) -> None:
        """An account that is not let see what is written gets blanks; what is stored stays, until a real edit."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "text"), files=[file(5, "a.zip")])])
            assert not (await messages.store(connection, key, [message(1, "")])).changed
            await messages.store(connection, key, [replace(message(1, ""), edited_at=LATER)])
            assert await texts(connection) == ["text", ""]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(4)), again=st.lists(st.integers(0, 3), max_size=4))
async def test_the_newest_version_wins_in_any_order(database: Database, order: list[int], again: list[int]) -> None:
    """Pages and news come in any order and again: what stays is the version written last."""
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            key = await channel(connection)
            for number in [*order, *again]:
                at = NOON + timedelta(minutes=number) if number else None
                await messages.store(connection, key, [replace(message(1, f"v{number}"), edited_at=at)])
            found = await texts(connection)
            assert found[-1] == "v3"
            assert found == sorted(found)
        finally:
            await transaction.rollback()


class TestFilesAndSigns:
    async def test_a_message_has_all_its_files(self, database: Database) -> None:
        """Several, in their order; an edit that takes one away leaves the others."""
        async with database.transaction() as connection:
            key = await channel(connection)
            two = replace(message(1), files=[file(5, "a.zip"), file(4, "b.zip")])
            await messages.store(connection, key, [two])
            one = replace(two, files=two.files[1:], edited_at=LATER)
            assert (await messages.store(connection, key, [one])).changed == {1}
            rows = await connection.fetch("SELECT number, file, name, size, mime, kind FROM attachments")
            assert [tuple(row) for row in rows] == [(1, 4, "b.zip", 40, "application/zip", "document")]

    async def test_a_part_that_says_nothing_of_files_keeps_them(self, database: Database) -> None:
        """What a patch does not speak of stays: files, author, reply and extra."""
        async with database.transaction() as connection:
            key = await channel(connection)
            whole = replace(
                message(1, "a"), files=[file(5, "a.zip")], author_id=77, reply_to=MessageId(9), extra='{"type": 19}'
            )
            await messages.store(connection, key, [whole])
            await apply(connection, key, Patch(ONE, edited_at=LATER, text="b"))
            found = (await patches.stored(connection, key, [ONE]))[ONE]
            without_handle = replace(whole.files[0], handle=FileHandle(""))
            assert found == replace(whole, text="b", edited_at=LATER, files=[without_handle], reactions=[])

    async def test_reactions_are_counted(self, database: Database) -> None:
        """Added, taken back, cleared; a page's own count replaces ours; of an unknown message nothing is kept."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1), reactions=[Reaction("👍", 2)])])
            up, hot = Reacted(ONE, "👍", 1), Reacted(ONE, "🔥", 1)
            await patches.react(connection, key, [up, hot, replace(hot, change=-1), replace(up, message=MessageId(2))])
            assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 3}
            await patches.react(connection, key, [Reacted(ONE, None, 0)])
            assert await connection.fetchval("SELECT reactions FROM messages") == {}
            await messages.store(connection, key, [replace(message(1), reactions=[Reaction("👍", 9)])])
            assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 9}

    @given(changes=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-1, 1)), max_size=20))
    def test_a_count_never_falls_below_nothing(self, changes: list[tuple[str, int]]) -> None:
        """Whatever is missed or told twice, only signs that somebody used are left."""
        counts: dict[str, int] = {}
        for emoji, change in changes:
            counts = patches.after_reaction(counts, Reacted(ONE, emoji, change))
            assert all(count > 0 for count in counts.values())

    async def test_a_character_postgresql_refuses_is_left_out_everywhere(self, database: Database) -> None:
        """A stranger's name, sign, file or embed cannot stop a page."""
        async with database.transaction() as connection:
            key = await channel(connection)
            strange = replace(
                message(1, "a\x00b"),
                author="A\x00da",
                files=[file(5, "x\x00.zip")],
                reactions=[Reaction("\x00", 1)],
                extra=json.dumps({"a\x00": ["b\x00", {"c": "\x00"}], "n": 1}),
            )
            await messages.store(connection, key, [strange])
            row: Any = await connection.fetchrow("SELECT author, extra FROM messages")
            assert tuple(row) == ("Ada", {"a": ["b", {"c": ""}], "n": 1})


class TestDeletions:
    async def test_a_deletion_before_the_message_is_remembered(self, database: Database) -> None:
        """Order does not matter: the message that comes late is stored, and deleted."""
        async with database.transaction() as connection:
            key = await channel(connection)
            assert await messages.bury(connection, key, [ONE, MessageId(2)]) == []
            stored = await messages.store(connection, key, [message(1)])
            assert (stored.added, await deleted(connection)) == (frozenset(), True)
            assert await messages.bury(connection, key, [ONE]) == []

    @pytest.mark.parametrize("stored_first", [True, False])
    @pytest.mark.parametrize(("asked", "lifted"), [(None, False), (-1, False), (1, True)])
    async def test_only_a_page_asked_after_the_deletion_lifts_it(
        self, database: Database, stored_first: bool, asked: int | None, lifted: bool
    ) -> None:
        """A page that was on its way, or news told late, brings nothing back; a page asked for later does."""
        async with database.transaction() as connection:
            key = await channel(connection)
            if stored_first:
                await messages.store(connection, key, [message(1)])
            await messages.bury(connection, key, [ONE])
            table = "messages" if stored_first else "early_deletions"
            at: datetime = await connection.fetchval(f"SELECT deleted_at FROM {table}")
            asked_at = None if asked is None else at + timedelta(seconds=asked)
            stored = await messages.store(connection, key, [message(1)], asked_at=asked_at)
            assert await deleted(connection) is not lifted
            assert bool(stored.added | stored.changed) is lifted
            assert lifted == (asked_at is not None and lifts_tombstone(deleted_at=at, asked_at=asked_at))

    async def test_a_message_and_its_deletion_at_once_leave_it_deleted(self, database: Database) -> None:
        """Two transactions that do not see each other would keep both; so the second waits for the first."""
        async with database.transaction() as connection:
            key = await channel(connection)
        async with database.transaction() as first:
            await messages.bury(first, key, [ONE])
            async with database.connection() as second:
                await second.execute("SET lock_timeout = '50ms'")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await messages.store(second, key, [message(1)])
                await second.execute("RESET lock_timeout")
        async with database.transaction() as connection:
            await messages.store(connection, key, [message(1)])
            assert await deleted(connection)


async def test_what_an_older_tidegate_stored_is_found(bare: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that brings words made by the program makes those of rows that are there, and keeps their files."""

    def to_the_step_before(connection: SyncConnection) -> None:
        config = Config()
        config.set_main_option("script_location", str(steps.FOLDER))
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")

    with monkeypatch.context() as patch:
        patch.setattr(steps, "_to_head", to_the_step_before)
        await upgrade(bare.direct)
    connection = await asyncpg.connect(bare.direct)
    await connection.execute(
        """
        INSERT INTO channels (platform, number) VALUES ('telegram', 7);
        INSERT INTO messages (channel, id, at, author, text, file, file_name, file_size, file_kind)
        SELECT id, 1, clock_now(), 'Ada', 'Привет МИР', 5, 'Red_Dragon.zip', 9, 'document' FROM channels;
        INSERT INTO messages (channel, id, at, author, text) SELECT id, 2, clock_now(), 'Bob', '' FROM channels;
        INSERT INTO archives (channel, topic, kind, base, name) SELECT id, 0, 'zip', 'a', 'a.zip' FROM channels;
        INSERT INTO archive_contents (archive, number, path, size) SELECT id, 1, '東京/塔.stl', 5 FROM archives;
        """
    )
    await upgrade(bare.direct)
    found = await connection.fetch(
        "SELECT id, files FROM messages WHERE words @@ $$'мир' & 'dragon' & 'has:file' & 'author:ada'$$::tsquery"
    )
    assert [tuple(row) for row in found] == [(1, [5])]
    assert await connection.fetchval("SELECT name FROM attachments") == "Red_Dragon.zip"
    assert await connection.fetchval("SELECT count(*) FROM archive_contents WHERE words @@ $$'東京'$$::tsquery") == 1
    await connection.close()
