"""Files as they are stored: what is wanted, kept, removed and counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import asyncpg
import pytest

from tests.database.bare_database import bare
from tests.held import NOON
from tests.media.stored_media import full_channel, picture, states, stored, with_files
from tests.older_schema import upgrade_to
from tests.recorded_events import can_be_told
from tests.scans.stored_channels import POLICY, add_account, add_channel
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.ids import AccountId, MessageId, Sha256
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Connection, Database, now_of
from tidegate.events.queries import feed
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import deletions, erasure, messages
from tidegate.history.queries.timeline import files_of
from tidegate.media.file_decisions import apply_policy
from tidegate.media.policy_requests import PolicyRequest, change_policy
from tidegate.media.queries import (
    media_blobs,
    media_files,
    media_pauses,
    media_plans,
    media_rules,
    media_totals,
    thumbnails,
)
from tidegate.media.queries.media_files import KeptBytes, RenewedHandle
from tidegate.media.queries.media_plans import BacklogEstimate
from tidegate.media.queries.media_totals import MediaTotal
from tidegate.media.rules.media_policy import MediaAction, MediaRule, PolicyKind, SkipReason
from tidegate.platforms.interface import (
    ChannelUpdates,
    FileHandle,
    FileKind,
    FileRole,
    Reacted,
    Reaction,
    Recounted,
)
from tidegate.scans.queries import scan_memory

pytestmark = pytest.mark.both_servers

__all__ = ["bare"]

BYTES = KeptBytes(Sha256(bytes([7]) * 32), 900, "image/jpeg")


async def taken_in(connection: Connection, updates: ChannelUpdates) -> KnownChannel:
    """A channel with a picture, 10, in its message 1, into which these updates were taken."""
    channel = await full_channel(connection)
    assert channel.reader is not None
    await stored(connection, channel, with_files(1, picture(10)))
    [place] = (await scan_memory.load(connection, channel.reader, POLICY)).places
    await take_in(connection, place, updates, channel.reader, IngestTally(), asked_at=await now_of(connection))
    return channel


async def take(connection: Connection, channel: KnownChannel) -> list[media_files.WantedFile]:
    assert channel.reader is not None
    return await media_files.take(connection, channel.reader, channel.key, most=100)


async def keep(connection: Connection, channel: KnownChannel, number: int, found: KeptBytes = BYTES) -> bool:
    [one] = [one for one in await take(connection, channel) if one.file == number]
    return await media_files.kept(connection, one, found)


async def renew(connection: Connection, account: AccountId, until: datetime | None) -> None:
    renewed = RenewedHandle(picture(10).id, FileHandle("new"), 1_000, until)
    await media_files.keep_handles(connection, "telegram", account, [renewed])


async def test_files_of_new_messages_are_wanted(database: Database) -> None:
    """Every file that a message shows is wanted once, with the handle it came with; those of the newest first."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        further = [picture(12, role=FileRole.PREVIEW)]
        await stored(connection, channel, with_files(1, picture(10)), with_files(2, picture(11), further=further))
        await stored(connection, channel, with_files(3, picture(10)))
        assert channel.reader is not None
        assert await media_files.next_channel(connection, channel.reader, None) == channel.key
        wanted = await take(connection, channel)
        assert [(one.file, one.message, one.handle) for one in wanted] == [
            (10, 3, "handle 10"), (11, 2, "handle 11"), (12, 2, "handle 12"),
        ]  # fmt: skip


async def test_the_files_of_an_erased_message_go_with_it(database: Database) -> None:
    """Unless another message shows them: then they stay, and so do their bytes."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10), picture(11)), with_files(2, picture(11)))
        await keep(connection, channel, 10)
        await erasure.erase(connection, channel.key, [MessageId(1)])
        assert await states(connection) == {10: ("gone", "Its message was erased."), 11: ("wanted", "")}
        assert (await media_blobs.unused(connection, await now_of(connection) + timedelta(hours=1), most=9)).unused == [
            BYTES.sha256
        ]


async def test_a_file_is_kept_with_its_bytes(database: Database) -> None:
    """A kept file has its digest, its real size and the type of its bytes, and nothing is to be done for it."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        assert await keep(connection, channel, 10)
        assert await states(connection) == {10: ("kept", "")}
        assert await take(connection, channel) == []
        [file] = (await files_of(connection, channel.key, [MessageId(1)]))[MessageId(1)]
        assert (file.state, file.reason, file.sha256) == ("kept", None, BYTES.sha256.hex())
        assert await media_blobs.stored_total(connection) == media_blobs.StoredTotal(1, 900)


async def test_the_same_bytes_of_two_files_are_stored_once(database: Database) -> None:
    """Two uploads of the same bytes share them; the store's total counts them once, the channel's twice."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)), with_files(2, picture(11)))
        assert await keep(connection, channel, 10)
        assert await keep(connection, channel, 11)
        assert (await media_blobs.stored_total(connection)).bytes == 900
        assert await media_totals.kept_bytes(connection, channel.key) == 1_800


async def test_totals_follow_every_change(database: Database) -> None:
    """The sums by channel, kind and state are those of the rows, whatever happens to these."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10), picture(11)), with_files(2, picture(12)))
        await keep(connection, channel, 10)
        [gone, *_] = await take(connection, channel)
        await media_files.skip(connection, [gone], SkipReason.CHANNEL_LIMIT)
        assert await media_totals.totals(connection, channel=channel.key) == [
            MediaTotal("picture", "kept", 1, 900),
            MediaTotal("picture", "skipped", 1, 1_000),
            MediaTotal("picture", "wanted", 1, 1_000),
        ]
        await connection.execute("DELETE FROM media_files WHERE state = 'wanted'")
        assert {one.state for one in await media_totals.totals(connection)} == {"kept", "skipped"}
        await connection.execute("DELETE FROM channels")
        assert await media_totals.totals(connection) == []


async def test_a_channel_that_does_not_want_a_file_leaves_it_to_one_that_does(database: Database) -> None:
    """The same file in two channels is fetched once, for the one that wants it."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        other = await add_channel(connection, await add_account(connection, "other"), 8)
        await stored(connection, other, with_files(5, picture(10)))
        assert await states(connection) == {10: ("skipped", "archives_only")}
        await stored(connection, channel, with_files(1, picture(10)))
        await stored(connection, other, with_files(6, picture(10)))
        assert [one.channel for one in await take(connection, channel)] == [channel.key]


async def test_a_failed_file_waits_for_its_next_try(database: Database) -> None:
    """A failure has a sentence and a time; without a time it waits for the operator."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        [one] = await take(connection, channel)
        later = await connection.fetchval("SELECT clock_now()") + timedelta(hours=1)
        await media_files.failed(connection, one, "It broke.", next_try_at=later)
        assert await take(connection, channel) == []
        assert channel.reader is not None
        assert await media_files.next_due_at(connection, channel.reader) == later
        await media_files.failed(connection, one, "It broke.", next_try_at=None)
        assert await media_files.next_channel(connection, channel.reader, None) is None
        assert await media_files.ask_again(connection, account=None, channel=channel.key) == 1
        assert [one.attempts for one in await take(connection, channel)] == [0]


async def test_a_lost_file_is_fetched_from_another_message(database: Database) -> None:
    """When a message is gone, another that shows the same file takes its place; without one the file is gone."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)), with_files(2, picture(10)))
        [one] = await take(connection, channel)
        assert (one.message, await media_files.lose(connection, one)) == (2, True)
        await deletions.mark_deleted(connection, channel.key, [MessageId(2)])
        [one] = await take(connection, channel)
        assert (one.message, one.handle) == (1, None)
        assert not await media_files.lose(connection, one)
        assert (await states(connection))[10][0] == "gone"


async def test_a_file_that_nobody_can_read_is_fetched_from_another_channel(database: Database) -> None:
    """When its channel is lost or turned off: at once if a channel shows it anew, else with the daily sweep."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        assert channel.reader is not None
        other = await add_channel(connection, channel.reader, 8, wishes=MirrorOptions(in_full=True))
        await stored(connection, channel, with_files(1, picture(10), picture(11), picture(12)))
        await connection.execute("UPDATE channels SET enabled = false WHERE id = $1", channel.key)
        await stored(connection, other, with_files(5, picture(10)))
        assert [(one.file, one.message) for one in await take(connection, other)] == [(10, 5)]
        await connection.execute("UPDATE channels SET enabled = true WHERE id = $1", channel.key)
        await stored(connection, other, with_files(6, picture(11)))
        assert [one.file for one in await take(connection, other)] == [10]
        await connection.execute("UPDATE channels SET reader = NULL WHERE id = $1", channel.key)
        assert await media_files.move_stuck(connection, None, most=2) == ("telegram", 12)
        assert await media_files.move_stuck(connection, ("telegram", 12), most=2) is None
        assert [(one.file, one.message, one.handle) for one in await take(connection, other)][:1] == [(11, 6, None)]
        assert (await states(connection))[12] == ("wanted", "")


async def test_files_of_unchanged_messages_are_decided_about(database: Database) -> None:
    """A message of an earlier version is read again unchanged: the files that are new to us are wanted."""
    async with database.transaction() as connection:
        again = with_files(1, picture(10), further=[picture(11, role=FileRole.POLL)])
        await taken_in(connection, ChannelUpdates(None, posted=[again]))
        assert (await states(connection))[11] == ("wanted", "")


async def test_the_picture_of_a_reaction_comes_with_the_reaction(database: Database) -> None:
    """A reaction that was pushed brings its custom emoji: stored once with its message, and wanted."""
    async with database.transaction() as connection:
        shown = picture(-78, role=FileRole.REACTION)
        told = [Reacted(MessageId(number), "custom:77", 1, shown) for number in (1, 1, 2)]
        recounted = [Recounted(MessageId(1), reactions=[Reaction("custom:77", 3)], pictures=[shown])]
        channel = await taken_in(connection, ChannelUpdates(None, reacted=told, recounted=recounted))
        found = await files_of(connection, channel.key, [MessageId(1), MessageId(2)])
        assert {number: [(one.number, one.role) for one in files] for number, files in found.items()} == {
            1: [(1, "own"), (2, "reaction")]
        }
        assert (await states(connection))[-78] == ("wanted", "")


async def test_lost_messages_do_not_lead_to_each_other_for_ever(database: Database) -> None:
    """Two messages that are both deleted unnoticed end in a file that is gone."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)), with_files(2, picture(10)))
        for _ in range(6):
            for one in await take(connection, channel):
                await media_files.lose(connection, one)
        assert (await states(connection))[10][0] == "gone"


async def test_removed_bytes_stay_removed(database: Database) -> None:
    """A removed file is not wanted again by a new message; a blocked one not even on request."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        await keep(connection, channel, 10)
        assert await media_blobs.remove(connection, BYTES.sha256, block=False) == 1
        await stored(connection, channel, with_files(2, picture(10)))
        assert await states(connection) == {10: ("skipped", "removed")}
        assert await media_files.ask_again(connection, account=None, channel=None) == 0
        assert await media_files.ask_again(connection, account=None, channel=None, files=[picture(10).id]) == 1
        await keep(connection, channel, 10)
        assert await media_blobs.remove(connection, BYTES.sha256, block=True) == 1
        assert await media_files.is_blocked(connection, BYTES.sha256)
        assert await media_files.ask_again(connection, account=None, channel=None, files=[picture(10).id]) == 0
        assert await media_blobs.remove(connection, BYTES.sha256, block=False) is None


async def test_unused_bytes_are_forgotten(database: Database) -> None:
    """Bytes that no file has any more are dropped once they are old enough; those in use never."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        await keep(connection, channel, 10)
        later = await connection.fetchval("SELECT clock_now()") + timedelta(days=1)
        assert (await media_blobs.unused(connection, later, most=10)).unused == []
        assert not await media_blobs.drop_unused(connection, [BYTES.sha256], later)
        await connection.execute("DELETE FROM media_files")
        long_ago = NOON - timedelta(days=9_000)
        assert (await media_blobs.unused(connection, long_ago, most=10)).unused == []
        assert not await media_blobs.drop_unused(connection, [BYTES.sha256], long_ago)
        assert (await media_blobs.unused(connection, later, most=10)).unused == [BYTES.sha256]
        assert await media_blobs.drop_unused(connection, [BYTES.sha256], later)
        assert await media_blobs.stored_total(connection) == media_blobs.StoredTotal(0, 0)


async def test_a_new_policy_is_applied_to_stored_files(database: Database) -> None:
    """Files that were stored while media were off are decided about when they are turned on, and again later."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await media_rules.set_state(connection, enabled=False)
        await stored(connection, channel, with_files(1, picture(10)), with_files(2, picture(11, size=30_000_000)))
        assert await states(connection) == {}
        [file] = (await files_of(connection, channel.key, [MessageId(1)]))[MessageId(1)]
        assert (file.state, file.reason) == ("skipped", "Files are not kept: media are off.")
        await media_rules.set_state(connection, enabled=True)
    assert channel.reader is not None
    while await apply_policy(database, channel.reader):
        pass
    async with database.transaction() as connection:
        assert await states(connection) == {10: ("wanted", ""), 11: ("skipped", "size")}
        rule = MediaRule(channel=channel.key, kind=PolicyKind.PICTURE, action=MediaAction.NO)
        await media_rules.set_rule(connection, rule)
        await media_rules.set_rule(connection, replace(rule, kind=None, action=None, largest=5))
        assert len((await media_rules.policy(connection)).rules) == 2
    while await apply_policy(database, channel.reader):
        pass
    async with database.transaction() as connection:
        assert await states(connection) == {10: ("skipped", "kind"), 11: ("skipped", "kind")}
        assert await media_rules.drop_rules(connection, account=None, channel=channel.key, kind=None) == 2


async def test_files_of_deleted_messages_are_gone(database: Database) -> None:
    """What was deleted on the platform before media were turned on cannot be fetched, and is said to be gone."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await media_rules.set_state(connection, enabled=False)
        await stored(connection, channel, with_files(1, picture(10)))
        await deletions.mark_deleted(connection, channel.key, [MessageId(1)])
        await media_rules.set_state(connection, enabled=True)
    assert channel.reader is not None
    while await apply_policy(database, channel.reader):
        pass
    async with database.connection() as connection:
        assert await states(connection) == {10: ("gone", "Its message is deleted.")}


async def test_the_backlog_is_estimated_before_anything_is_fetched(database: Database) -> None:
    """What the usual policy would fetch of stored messages, by account; files that are too large do not count."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        found = [with_files(1, picture(10)), with_files(2, picture(11)), with_files(3, picture(12, size=30_000_000))]
        await messages.store(connection, channel.key, found)
        assert await media_plans.estimate(connection) == [BacklogEstimate("telegram", 2, 2_000)]


async def test_archives_are_kept_where_the_operator_says_so(database: Database) -> None:
    """The mark of a channel has its archives fetched, and only these."""
    async with database.transaction() as connection:
        channel = await add_channel(connection, await add_account(connection, "reader"))
        part = replace(picture(10, size=90_000_000), name="big.7z.001", kind=FileKind.DOCUMENT)
        await stored(connection, channel, with_files(1, part, picture(11)))
        assert {state for state, _ in (await states(connection)).values()} == {"skipped"}
        await media_rules.keep_archives(connection, channel.key, keep=True)
    assert channel.reader is not None
    while await apply_policy(database, channel.reader):
        pass
    async with database.connection() as connection:
        assert await states(connection) == {10: ("wanted", ""), 11: ("skipped", "archives_only")}


@pytest.mark.parametrize(("full", "before", "after"), [(True, "wanted", "skipped"), (False, "skipped", "wanted")])
async def test_files_follow_the_options_of_their_channel(
    database: Database, full: bool, before: str, after: str
) -> None:
    """A channel that is mirrored in full from now on, or for its archives alone, has its stored files decided anew."""
    async with database.transaction() as connection:
        reader = await add_account(connection, "reader")
        channel = await add_channel(connection, reader, wishes=MirrorOptions(in_full=full))
        await stored(connection, channel, with_files(1, picture(10)))
    while await apply_policy(database, reader):
        pass
    async with database.transaction() as connection:
        assert (await states(connection))[10][0] == before
        await channels.enable(connection, channel, MirrorOptions(in_full=not full))
    while await apply_policy(database, reader):
        pass
    async with database.connection() as connection:
        assert (await states(connection))[10][0] == after


async def test_files_of_other_places_are_added_to_a_message_of_an_earlier_version(database: Database) -> None:
    """An unchanged message that is read again gets the files that earlier versions did not store."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await messages.store(connection, channel.key, [with_files(1, picture(10))])
        again = with_files(1, picture(10), further=[picture(11, role=FileRole.POLL)])
        await messages.store(connection, channel.key, [again])
        await messages.store(connection, channel.key, [again])
        found = (await files_of(connection, channel.key, [MessageId(1)]))[MessageId(1)]
        assert [(file.name, file.role) for file in found] == [("10.jpg", "own"), ("11.jpg", "poll")]


async def test_a_handle_serves_only_its_account_and_its_time(database: Database) -> None:
    """A handle of another account, or one that ended, is not used: the message is read again."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        assert channel.reader is not None
        past = await connection.fetchval("SELECT clock_now()") - timedelta(seconds=1)
        await renew(connection, channel.reader, past)
        assert [one.handle for one in await take(connection, channel)] == [None]
        other = await add_account(connection, "other")
        await renew(connection, other, None)
        assert [one.handle for one in await take(connection, channel)] == [None]
        await renew(connection, channel.reader, None)
        assert [one.handle for one in await take(connection, channel)] == ["new"]


async def test_files_that_no_message_shows_any_more_end(database: Database) -> None:
    """An edit replaced one: its bytes are unused after the grace. One that another message shows stays."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10), picture(11)), with_files(2, picture(11)))
        await keep(connection, channel, 10)
        await keep(connection, channel, 11, KeptBytes(Sha256(bytes([8]) * 32), 900, "image/jpeg"))
        edited = replace(with_files(1, picture(12)), edited_at=NOON)
        await stored(connection, channel, edited)
        now = await now_of(connection)
        assert await media_files.end_unshown(connection, None, now - timedelta(days=1), most=9) is None
        assert {state for state, _ in (await states(connection)).values()} == {"kept", "wanted"}
        last = await media_files.end_unshown(connection, None, now + timedelta(hours=1), most=2)
        assert last == ("telegram", 11)
        assert await media_files.end_unshown(connection, last, now + timedelta(hours=1), most=2) is None
        assert [state for state, _ in (await states(connection)).values()] == ["gone", "kept", "wanted"]
        assert (await media_blobs.unused(connection, now + timedelta(hours=1), most=9)).unused == [BYTES.sha256]


async def test_lost_thumbnails_are_made_or_fetched_again(database: Database) -> None:
    """A kept picture loses its thumbnail, which is drawn anew; a file with nothing else is wanted again."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10), picture(11)))
        await keep(connection, channel, 10)
        small = Sha256(bytes([9]) * 32)
        assert await thumbnails.drawn(connection, BYTES.sha256, KeptBytes(small, 9, "image/webp"))
        await connection.execute(
            "UPDATE media_files SET state = 'skipped', reason = 'thumbnail', part = 'thumbnail', thumbnail = $1 "
            "WHERE file = 11", small,
        )  # fmt: skip
        assert await media_blobs.note_missing(connection, [small], refetch=False) == 0
        assert await media_blobs.note_missing(connection, [small], refetch=True) == 1
        assert await states(connection) == {10: ("kept", ""), 11: ("wanted", "")}
        assert await connection.fetchval("SELECT count(thumbnail) FROM media_files") == 0


async def test_a_lost_still_of_a_kept_video_is_fetched_again(database: Database) -> None:
    """Tidegate cannot draw it: the video is asked for once more, with its still."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await stored(connection, channel, with_files(1, picture(10)))
        [one] = await take(connection, channel)
        small = KeptBytes(Sha256(bytes([9]) * 32), 9, "image/webp")
        await media_files.pictured(connection, one, small)
        assert [one.pictured for one in await take(connection, channel)] == [True]
        await keep(connection, channel, 10, replace(BYTES, type="video/mp4"))
        assert await connection.fetchval("SELECT thumbnail FROM media_files") == small.sha256
        assert await media_blobs.note_missing(connection, [small.sha256], refetch=True) == 1
        assert await states(connection) == {10: ("wanted", "")}


async def test_a_pause_is_told_once(database: Database) -> None:
    """However many accounts wait for the store, one event says so and one says that it is over."""
    async with database.transaction() as connection:
        first, second = await add_account(connection, "first"), await add_account(connection, "second")
        for account in (first, second, first):
            await media_pauses.note_pause(connection, account, "the store", "The store is away.")
        assert await media_pauses.sentences(connection) == ["The store is away."]
        await media_pauses.clear_pause(connection, first)
        await media_pauses.clear_pause(connection, second)
        kinds = await connection.fetch("SELECT kind FROM events WHERE kind LIKE 'media.%' ORDER BY id")
        assert [row["kind"] for row in kinds] == ["media.paused", "media.resumed"]


async def test_no_file_waits_once_media_are_off(database: Database) -> None:
    """Nobody fetches then, so nobody would ever end a pause."""
    async with database.transaction() as connection:
        for name in ("first", "second"):
            account = await add_account(connection, name)
            await media_pauses.note_pause(connection, account, "the store", "The store is away.")
        await change_policy(connection, PolicyRequest(enabled=False))
        assert await media_pauses.sentences(connection) == []
        kinds = await connection.fetch("SELECT kind FROM events WHERE kind LIKE 'media.%' ORDER BY id")
        assert [row["kind"] for row in kinds] == ["media.paused", "media.resumed", "media.policy_changed"]


async def test_the_policy_of_a_private_chat_is_a_private_event(database: Database) -> None:
    """Who may not see private chats does not learn their titles from the policy."""
    async with database.transaction() as connection:
        channel = await full_channel(connection)
        await connection.execute("UPDATE channels SET private_to = reader WHERE id = $1", channel.key)
        await change_policy(connection, PolicyRequest(channel=channel.title, action="no"))
    await can_be_told(database)
    async with database.connection() as connection:
        kinds = [[one.kind for one in await feed.read(connection, private=private)] for private in (True, False)]
    assert ["media.policy_changed" in some for some in kinds] == [True, False]


@pytest.mark.parametrize("stored_before", [False, True])
async def test_media_are_off_where_messages_were_stored_before(bare: Address, stored_before: bool) -> None:
    """A new installation keeps files; the operator of an older database is asked first."""
    await upgrade_to(bare, "0041")
    connection = await asyncpg.connect(bare.direct)
    try:
        if stored_before:
            key = await connection.fetchval(
                "INSERT INTO channels (platform, number) VALUES ('telegram', 7) RETURNING id"
            )
            await connection.execute(
                "INSERT INTO messages (channel, id, at, author, text, words) VALUES ($1, 1, now(), '', '', '')", key
            )
        await upgrade(bare.direct)
        row = await connection.fetchrow("SELECT enabled, asks FROM media_state")
        assert (row["enabled"], row["asks"]) == (not stored_before, stored_before)
    finally:
        await connection.close()
