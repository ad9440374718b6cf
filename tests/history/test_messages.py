"""Messages as they are kept: versions, files, reactions and deletions, in whatever order they are told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.database.bare_database import bare
from tests.held import NOON
from tests.history.message_builder import LATER, LATEST, ONE, channel, file, texts
from tests.older_schema import upgrade_to
from tests.scans.stored_channels import message
from tidegate.core.ids import MessageId, UserId
from tidegate.core.message_content import Embed, MessageContent, MessageCounts, MessageKind, Person, PersonKind
from tidegate.core.rules.storable_text import ORIGINALS
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Connection, Database
from tidegate.history.queries import deletions, message_patches, messages, partial_messages
from tidegate.history.queries.messages import StoredPage
from tidegate.history.raw_json import unpack
from tidegate.people.queries import people
from tidegate.platforms.interface import FileHandle, Patch, Reacted, Reaction, Recounted, Voted

pytestmark = pytest.mark.both_servers

__all__ = ["bare"]  # a fixture


async def apply(connection: Connection, key: int, *news: Patch) -> None:
    await messages.store(connection, key, await message_patches.versions(connection, key, news))


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
            assert (stored.added, stored.changed) == ({1, 2}, {1}), "a new edit time alone is no edit"

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
            await apply(connection, key, *news, Patch(ONE, raw={"embeds": [1]}))
            assert await texts(connection) == ["a", "new"]
            assert unpack(await connection.fetchval("SELECT raw FROM messages")) == {"embeds": [1]}

    async def test_a_preview_is_no_edit(self, database: Database) -> None:
        """H-35: embeds are taken over, the text stays, whatever comes with them, and no revision is counted."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "look"), raw={"type": 0, "embeds": []})])
            await apply(connection, key, Patch(ONE, text="", raw={"embeds": [{"title": "A page"}]}))
            assert await texts(connection) == ["look"]
            raw = unpack(await connection.fetchval("SELECT raw FROM messages"))
            assert raw == {"type": 0, "embeds": [{"title": "A page"}]}
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

    @pytest.mark.parametrize("known", [("Ada", 5), ("Ada", None), ("", 5)])
    async def test_an_update_that_does_not_say_who_wrote_it_keeps_the_author(
        self, database: Database, known: tuple[str, int | None]
    ) -> None:
        """An edit may name nobody, or a number without a name: what is stored of the author stays, and is found by."""
        async with database.transaction() as connection:
            key = await channel(connection)
            first = replace(message(1, "said"), author=known[0], author_id=known[1])
            edit = replace(first, text="edited", edited_at=LATER, author="", author_id=None)
            await messages.store(connection, key, [first])
            before = await connection.fetchval("SELECT words FROM messages WHERE id = 1")
            await messages.store(connection, key, [edit])
            row = await connection.fetchrow("SELECT author, author_id, text, words FROM messages WHERE id = 1")
        assert row is not None
        assert (row["author"], row["author_id"], row["text"]) == (*known, "edited")
        assert [tag for tag in before.split() if "ada" in tag] == [tag for tag in row["words"].split() if "ada" in tag]

    async def test_a_poll_is_no_blank(self, database: Database) -> None:
        """A second edit within a second has the edit time of the first; a text may become a poll by it."""
        async with database.transaction() as connection:
            key = await channel(connection)
            poll = replace(message(1, ""), edited_at=LATER, kind=MessageKind.POLL)
            for version in (message(1, "a"), replace(message(1, "b"), edited_at=LATER), poll):
                await messages.store(connection, key, [version])
            assert await connection.fetchval("SELECT kind FROM messages WHERE id = 1") == MessageKind.POLL

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


class TestPartialRows:
    """Rows that an earlier version stored: they have no kind, and count as partial until they are read whole."""

    async def store_partial(self, connection: Connection) -> int:
        """A message as that version left it."""
        key = await channel(connection)
        await messages.store(connection, key, [replace(message(1, "a"), raw={"type": 19})])
        await connection.execute("UPDATE messages SET kind = '', raw = NULL, extra = '{\"type\": 19}'")
        return key

    @pytest.mark.parametrize(
        "patch",
        [
            Patch(ONE, edited_at=LATER, text="b"),
            Patch(ONE, raw={"embeds": []}, read=lambda raw: (MessageKind.TEXT, MessageContent(texts=("new",)))),
            Patch(ONE, marks={"pinned": True}),
        ],
    )
    async def test_a_patch_leaves_them_partial(self, database: Database, patch: Patch) -> None:
        """What it brings is stored; the rest of the message still has to be read."""
        async with database.transaction() as connection:
            key = await self.store_partial(connection)
            await apply(connection, key, patch)
            row: Any = await connection.fetchrow("SELECT text, kind, content FROM messages")
            assert row["kind"] == ""
            assert (row["text"], row["content"]) != ("a", None)
            assert await partial_messages.newest(connection, key, most=9) == [ONE]
            await messages.store(connection, key, [replace(message(1, "b"), edited_at=LATER)])
            assert await partial_messages.count(connection, key) == 0

    async def test_a_whole_message_completes_them(self, database: Database) -> None:
        """Also one that comes as a patch."""
        async with database.transaction() as connection:
            key = await self.store_partial(connection)
            await apply(connection, key, Patch(ONE, raw={"embeds": []}, whole=message(1, "a")))
            assert await connection.fetchval("SELECT kind FROM messages") == "text"

    @pytest.mark.parametrize("stored", ["kind = 'hologram'", "kind = 'text', raw = '\\x6302'"])
    async def test_what_a_later_version_stored_becomes_partial(self, database: Database, stored: str) -> None:
        """This version cannot read all of it, so a patch of it leaves the message to be read again."""
        async with database.transaction() as connection:
            key = await self.store_partial(connection)
            await connection.execute(f"UPDATE messages SET {stored}")
            await apply(connection, key, Patch(ONE, marks={"pinned": True}))
            assert await partial_messages.count(connection, key) == 1


class TestMarks:
    async def test_a_mark_is_set_and_removed(self, database: Database) -> None:
        """The other marks stay, and it is no edit."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "a"), content=MessageContent(marks=("silent",)))])
            marks = []
            for is_set in (True, True, False):
                await apply(connection, key, Patch(ONE, marks={"pinned": is_set}))
                marks.append(await connection.fetchval("SELECT content -> 'marks' FROM messages"))
            assert marks == [["pinned", "silent"], ["pinned", "silent"], ["silent"]]
            assert await texts(connection) == ["a"]
            assert await connection.fetchval("SELECT edited_at FROM messages") is None


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
        """What a patch does not speak of stays: files, author, reply and raw."""
        async with database.transaction() as connection:
            key = await channel(connection)
            whole = replace(
                message(1, "a"), files=[file(5, "a.zip")], author_id=77, reply_to=MessageId(9), raw={"type": 19}
            )
            await messages.store(connection, key, [whole])
            await apply(connection, key, Patch(ONE, edited_at=LATER, text="b"))
            found = (await message_patches.stored(connection, key, [ONE]))[ONE]
            without_handle = replace(whole.files[0], handle=FileHandle(""))
            assert found == replace(whole, text="b", edited_at=LATER, files=[without_handle], reactions=[])

    async def test_a_deleted_account_keeps_the_name_it_had(self, database: Database) -> None:
        """The platform no longer knows it; a message that was never stored shows what the platform says."""
        async with database.transaction() as connection:
            key = await channel(connection)
            ada = replace(message(1), author="Ada", author_id=UserId(7))
            await messages.store(connection, key, [ada])
            gone = Person(UserId(7), "Deleted Account", kind=PersonKind.DELETED)
            both = [replace(ada, id=MessageId(number), author=gone.name, person=gone) for number in (1, 2)]
            await messages.store(connection, key, both)
            rows = await connection.fetch("SELECT author FROM messages ORDER BY id")
            assert [row["author"] for row in rows] == ["Ada", "Deleted Account"]

    async def test_a_contact_is_named_by_their_own_name(self, database: Database) -> None:
        """An account's label of a contact is no author; it stands in only where nobody knows the name."""
        async with database.transaction() as connection:
            key = await channel(connection)
            known, unknown = Person(UserId(7), "Ada"), Person(UserId(8), "Plumber", is_label=True)
            await people.store(connection, key, [known])
            label = replace(known, name="Sis", is_label=True)
            pairs = [(1, label), (2, unknown)]
            said = [replace(message(number), author=one.name, author_id=one.id, person=one) for number, one in pairs]
            await messages.store(connection, key, [*said, replace(said[0], id=MessageId(3), author="The editors")])
            rows = await connection.fetch("SELECT author FROM messages ORDER BY id")
            assert [row["author"] for row in rows] == ["Ada", "Plumber", "The editors"]

    async def test_a_mention_keeps_the_name_of_its_time(self, database: Database) -> None:
        """Read again after a rename, it is the same message; somebody newly mentioned is named as now."""
        async with database.transaction() as connection:
            key = await channel(connection)
            said = replace(message(1, "<@7>"), content=MessageContent(mentions={"<@7>": "Ada"}))
            await messages.store(connection, key, [said])
            renamed = {"<@7>": "Countess", "<@8>": "Bob"}
            await messages.store(connection, key, [replace(said, content=MessageContent(mentions=renamed))])
            names = await connection.fetchval("SELECT content -> 'mentions' FROM messages")
            assert names == {"<@7>": "Ada", "<@8>": "Bob"}

    async def test_a_reaction_is_no_edit(self, database: Database) -> None:
        """Telegram sends reactions as edits with a new edit time: no revision, and the edit time stays."""
        async with database.transaction() as connection:
            key = await channel(connection)
            edited = replace(message(1, "b"), edited_at=LATER)
            await messages.store(connection, key, [message(1, "a"), edited])
            reacted = replace(edited, edited_at=LATEST, reactions=[Reaction("👍", 1)])
            await messages.store(connection, key, [reacted])
            assert await texts(connection) == ["a", "b"]
            row: Any = await connection.fetchrow("SELECT edited_at, reactions FROM messages")
            assert dict(row) == {"edited_at": LATER, "reactions": {"👍": 1}}

    async def test_older_numbers_do_not_replace_newer_ones(self, database: Database) -> None:
        """A page that was requested before a reaction arrived must not undo it, whenever it is stored."""
        async with database.transaction() as connection:
            key = await channel(connection)
            before: datetime = await connection.fetchval("SELECT clock_now() - interval '1 minute'")
            await messages.store(connection, key, [replace(message(1), reactions=[Reaction("👍", 1)])])
            await message_patches.react(connection, key, [Reacted(ONE, "👍", 1)])
            late = replace(message(1), reactions=[Reaction("👍", 1)], counts=MessageCounts(views=5))
            assert not (await messages.store(connection, key, [late], asked_at=before)).changed
            assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 2}

    async def test_numbers_that_are_not_mentioned_stay(self, database: Database) -> None:
        """Views come with some updates and forwards with others; each carries its time."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1), counts=MessageCounts(views=5, forwards=1))])
            await message_patches.recount(connection, key, [Recounted(ONE, counts=MessageCounts(views=7))])
            await messages.store(connection, key, [replace(message(1), counts=MessageCounts(replies=2))])
            row: Any = await connection.fetchrow("SELECT counts, counted_at FROM messages")
            assert row["counts"] == {"views": 7, "forwards": 1, "replies": 2}
            assert row["counted_at"] is not None

    async def test_numbers_that_come_one_by_one_are_all_stored(self, database: Database) -> None:
        """Views and forwards of one message are two updates, and often stored together."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [message(1)])
            told = [MessageCounts(views=6), MessageCounts(forwards=2), MessageCounts(views=7)]
            await message_patches.recount(connection, key, [Recounted(ONE, counts=one) for one in told])
            assert await connection.fetchval("SELECT counts FROM messages") == {"views": 7, "forwards": 2}

    async def test_a_hidden_change_after_an_edit_is_stored(self, database: Database) -> None:
        """A bot that changes only its buttons hides that: no edit time is shown, and the version is the later one."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1, "b"), edited_at=LATER)])
            late = replace(message(1, "a"), hidden_edit_at=LATER - timedelta(seconds=1))
            assert not (await messages.store(connection, key, [late])).changed
            hidden = replace(message(1, "c"), hidden_edit_at=LATEST)
            assert (await messages.store(connection, key, [hidden])).changed == {1}
            row: Any = await connection.fetchrow("SELECT text, edited_at FROM messages")
            assert dict(row) == {"text": "c", "edited_at": None}

    async def test_a_page_asked_for_before_a_hidden_change_does_not_undo_it(self, database: Database) -> None:
        """A page may take long: what was changed in secret meanwhile stays, until a page asked for later says else."""
        async with database.transaction() as connection:
            key = await channel(connection)
            page, hidden = message(1, "a"), replace(message(1, "b"), hidden_edit_at=LATEST)
            now: datetime = await connection.fetchval("SELECT clock_now()")
            before, after = now - timedelta(minutes=1), now + timedelta(minutes=1)
            await messages.store(connection, key, [page, hidden])
            assert not (await messages.store(connection, key, [page], asked_at=before)).changed
            assert not (await messages.store(connection, key, [replace(page, edited_at=LATER)])).changed
            again = replace(hidden, reactions=[Reaction("👍", 1)])
            assert (await messages.store(connection, key, [again], asked_at=after)).changed == {1}
            assert await texts(connection) == ["a", "b"]
            assert (await messages.store(connection, key, [page], asked_at=after + timedelta(seconds=1))).changed == {1}

    async def test_a_page_does_not_undo_a_hidden_change_that_came_first(self, database: Database) -> None:
        """Also where the change is the first that is known of the message."""
        async with database.transaction() as connection:
            key = await channel(connection)
            before: datetime = await connection.fetchval("SELECT clock_now() - interval '1 minute'")
            await messages.store(connection, key, [replace(message(1, "b"), hidden_edit_at=LATEST)])
            assert not (await messages.store(connection, key, [message(1, "a")], asked_at=before)).changed
            assert await texts(connection) == ["b"]

    async def test_an_author_keeps_the_name_of_the_time(self, database: Database) -> None:
        """A rename writes no message again; one that is edited later has the earlier name and is found by it."""
        async with database.transaction() as connection:
            key = await channel(connection)
            before, now = Person(UserId(7), "Ada"), Person(UserId(7), "Countess")
            ada = replace(message(1, "a"), author="Ada", author_id=UserId(7), person=before)
            await messages.store(connection, key, [ada])
            renamed = replace(ada, author="Countess", person=now)
            for person in (before, now):
                await people.store(connection, key, [person])
            written = await connection.fetchval("SELECT ctid FROM messages")
            assert await messages.store(connection, key, [renamed]) == StoredPage()
            assert await connection.fetchval("SELECT ctid FROM messages") == written
            await messages.store(connection, key, [replace(renamed, text="b", edited_at=LATER)])
            row: Any = await connection.fetchrow("SELECT author, text, words FROM messages")
            assert (row["author"], row["text"]) == ("Ada", "b")
            assert "author:ada" in row["words"]
            assert "countess" not in row["words"]

    async def test_a_label_gives_way_to_the_name(self, database: Database) -> None:
        """What an account called its contact is no name of the time, once any account has shown the name."""
        async with database.transaction() as connection:
            key = await channel(connection)
            label, own = Person(UserId(7), "Sis", is_label=True), Person(UserId(7), "Ada")
            seen = [replace(message(1), author=one.name, author_id=one.id, person=one) for one in (label, own, own)]
            for said in seen:
                await messages.store(connection, key, [said])
                await people.store(connection, key, [one for one in [said.person] if one is not None])
            assert await connection.fetchval("SELECT author FROM messages") == "Ada"

    async def test_votes_are_counted(self, database: Database) -> None:
        """Given and taken back, never below zero; of an unknown message nothing is kept."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1), counts=MessageCounts(votes={"1": 2}))])
            yes, no = Voted(ONE, "1", 1), Voted(ONE, "2", -1)
            await message_patches.vote(connection, key, [yes, no, replace(yes, message=MessageId(2))])
            assert await connection.fetchval("SELECT counts FROM messages") == {"votes": {"1": 3, "2": 0}}

    async def test_a_message_of_an_older_version_is_filled_in_without_an_edit(self, database: Database) -> None:
        """Its fields were partial: reading it again completes them, and makes no revision."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [message(1, "a")])
            await connection.execute("UPDATE messages SET kind = '', extra = '{}'")
            rich = replace(message(1, "a"), content=MessageContent(via="a bot"))
            assert (await messages.store(connection, key, [rich])).changed == {1}
            assert await texts(connection) == ["a"]
            row: Any = await connection.fetchrow("SELECT kind, content, extra, edited_at FROM messages")
            assert dict(row) == {"kind": "text", "content": {"via": "a bot"}, "extra": None, "edited_at": None}

    async def test_reactions_are_counted(self, database: Database) -> None:
        """Added, taken back, cleared; a page's own count replaces ours; of an unknown message nothing is kept."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [replace(message(1), reactions=[Reaction("👍", 2)])])
            up, hot = Reacted(ONE, "👍", 1), Reacted(ONE, "🔥", 1)
            await message_patches.react(
                connection, key, [up, hot, replace(hot, change=-1), replace(up, message=MessageId(2))]
            )
            assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 3}
            await message_patches.react(connection, key, [Reacted(ONE, None, 0)])
            assert await connection.fetchval("SELECT reactions FROM messages") == {}
            await messages.store(connection, key, [replace(message(1), reactions=[Reaction("👍", 9)])])
            assert await connection.fetchval("SELECT reactions FROM messages") == {"👍": 9}

    @given(changes=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-1, 1)), max_size=20))
    def test_a_count_never_falls_below_nothing(self, changes: list[tuple[str, int]]) -> None:
        """Whatever is missed or told twice, only signs that somebody used are left."""
        counts: dict[str, int] = {}
        for emoji, change in changes:
            counts = message_patches.after_reaction(counts, Reacted(ONE, emoji, change))
            assert all(count > 0 for count in counts.values())

    async def test_a_character_postgresql_refuses_is_replaced_everywhere(self, database: Database) -> None:
        """A stranger's name, sign, file or embed cannot stop a page."""
        async with database.transaction() as connection:
            key = await channel(connection)
            strange = replace(
                message(1, "a\x00b"),
                author="A\x00da",
                files=[file(5, "x\x00.zip")],
                reactions=[Reaction("\x00", 1)],
                raw={"a\x00": ["b\x00", {"c": "\x00"}], "n": 1},
                content=MessageContent(service="\x00", embeds=(Embed(title="\ud800"),)),
            )
            await messages.store(connection, key, [strange])
            row: Any = await connection.fetchrow("SELECT author, content, raw FROM messages")
        raw = unpack(row["raw"])
        kept = raw.pop(ORIGINALS)
        assert (row["author"], raw) == ("A␀da", {"a\x00": ["b\x00", {"c": "\x00"}], "n": 1})
        assert row["content"] == {"service": "␀", "embeds": [{"title": "\ufffd"}]}
        assert {name: json.loads(text) for name, text in kept.items()} == {
            "author": "A\x00da",
            "text": "a\x00b",
            "file 1": "x\x00.zip",
        }


class TestDeletions:
    async def test_a_deletion_before_the_message_is_remembered(self, database: Database) -> None:
        """Order does not matter: the message that comes late is stored, and deleted."""
        async with database.transaction() as connection:
            key = await channel(connection)
            assert await deletions.mark_deleted(connection, key, [ONE, MessageId(2)]) == []
            stored = await messages.store(connection, key, [message(1)])
            assert (stored.added, await deleted(connection)) == (frozenset(), True)
            assert await deletions.mark_deleted(connection, key, [ONE]) == []

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
            await deletions.mark_deleted(connection, key, [ONE])
            table = "messages" if stored_first else "early_deletions"
            at: datetime = await connection.fetchval(f"SELECT deleted_at FROM {table}")
            asked_at = None if asked is None else at + timedelta(seconds=asked)
            stored = await messages.store(connection, key, [message(1)], asked_at=asked_at)
            assert await deleted(connection) is not lifted
            assert bool(stored.added | stored.changed) is lifted

    async def test_a_message_and_its_deletion_at_once_leave_it_deleted(self, database: Database) -> None:
        """Two transactions that do not see each other would keep both; so the second waits for the first."""
        async with database.transaction() as connection:
            key = await channel(connection)
        async with database.transaction() as first:
            await deletions.mark_deleted(first, key, [ONE])
            async with database.connection() as second:
                await second.execute("SET lock_timeout = '50ms'")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await messages.store(second, key, [message(1)])
                await second.execute("RESET lock_timeout")
        async with database.transaction() as connection:
            await messages.store(connection, key, [message(1)])
            assert await deleted(connection)


async def test_what_an_older_tidegate_stored_is_found(bare: Address) -> None:
    """The step that brings words made by the program makes those of rows that are there, and keeps their files."""
    await upgrade_to(bare, "0004")
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


async def test_messages_are_counted_without_the_deleted_ones(database: Database) -> None:
    """Exactly, or up to a bound beyond which nobody waits for the number."""
    async with database.transaction() as connection:
        key = await channel(connection)
        await messages.store(connection, key, [message(number) for number in range(1, 11)])
        await deletions.mark_deleted(connection, key, [MessageId(3), MessageId(4)])
        assert await messages.count(connection, key) == 8
        assert await messages.count(connection, key, most=4) == 5
        assert await messages.count(connection, key, most=1_000) == 8
