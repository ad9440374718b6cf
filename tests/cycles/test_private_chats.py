"""Private chats and small groups: mirrored on request, followed by the account's own message box."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from tests.cycles.running_scheduler import cycles, working
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import until
from tidegate.app.doctor.platform_checks import platform_checks
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.errors import PlatformError
from tidegate.cycles.cycle_forecast import foresee
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.schema import PostSpec, PreviewSpec
from tidegate.loopback.telegram.world.world_changes import post, preview
from tidegate.scans.queries import scan_memory

BOX = ("updates.getState", "updates.getDifference")


@pytest.fixture
async def other(mirror: Mirror, telegram: TelegramServer) -> AsyncIterator[Mirror]:
    """The second account, in the same database."""
    made = await make_mirror(mirror.database, telegram, mirror.call_log, "second", "+1000002")
    yield made
    assert made.lane is not None
    await made.lane.close()


@pytest.fixture
def ann(world: World) -> Channel:
    """A private chat of the first account with a person, with three messages."""
    ada = world.account_by_phone("+1000001")
    assert ada is not None
    view = world.add_private_chat(ada, world.add_person("Ann"))
    for text in ("one", "two", "three"):
        world.post(view, text)
    return view


async def texts(mirror: Mirror, chat: Channel) -> dict[int, str]:
    """The messages that are stored and not deleted."""
    rows = await mirror.rows(
        "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL",
        mirror.number(chat),
    )
    return {row["id"]: row["text"] for row in rows}


def truth(chat: Channel) -> dict[int, str]:
    return {message.id: message.text for message in chat.messages.values()}


def same(mirror: Mirror, chat: Channel) -> Callable[[], Awaitable[bool]]:
    async def compare() -> bool:
        return await texts(mirror, chat) == truth(chat) and await box(mirror) == mirror.world.chats.box(chat.owner).pts

    return compare


async def box(mirror: Mirror) -> int | None:
    rows = await mirror.rows("SELECT pts FROM account_boxes WHERE account = $1", mirror.account.id)
    return rows[0]["pts"] if rows else None


async def mirrored(mirror: Mirror, *chats: Channel) -> None:
    """Mirror these chats, with all that was posted so far."""
    await mirror.sync()
    for chat in chats:
        await mirror.enable(chat)
    await mirror.settle()


class TestListing:
    async def test_they_are_listed_and_none_is_enabled(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Private chats, the account's own chat and small groups have their kinds, and nothing is mirrored."""
        ada, bob = world.accounts.values()
        world.add_private_chat(ada, ada)
        world.add_group("Family", [ada, bob])
        await mirror.sync()
        rows = await mirror.rows("SELECT title, kind, enabled, private_to, in_full FROM channels ORDER BY title")
        expected = {"enabled": False, "private_to": mirror.account.id, "in_full": False}
        assert [dict(row) for row in rows] == [
            {"title": "Ann", "kind": "private chat", **expected},
            {"title": "Family", "kind": "group", **expected},
            {"title": "Saved Messages", "kind": "private chat", **expected},
        ]

    async def test_a_chat_of_two_accounts_is_two_channels(self, mirror: Mirror, other: Mirror, world: World) -> None:
        """Each account has its own view with its own numbers, and reads that one only."""
        ada, bob = world.accounts.values()
        view = world.add_private_chat(ada, bob)
        [theirs] = world.chats.twins(view)
        world.post(world.add_private_chat(bob, world.add_person("Zoe")), "numbers differ from here on")
        world.post(view, "hello", sender=ada.id)
        await mirrored(mirror, view)
        await mirrored(other, theirs)
        assert mirror.number(view) != other.number(theirs)
        assert await texts(mirror, view) == {1: "hello"}
        assert await texts(other, theirs) == {2: "hello"}
        rows = await mirror.rows("SELECT DISTINCT author, author_id FROM messages WHERE text = 'hello'")
        assert [dict(row) for row in rows] == [{"author": "Ada", "author_id": ada.id}]

    async def test_a_user_and_a_group_of_the_same_number_are_apart(self, mirror: Mirror, world: World) -> None:
        """Telegram numbers people, small groups and channels apart; here no two have the same number."""
        ada = world.accounts[1_000_001]
        [group] = world.add_group("Family", [ada])
        person = world.add_person("Ann")
        del world.people[person.id]
        person.id = group.peer_id
        world.people[person.id] = person
        chat = world.add_private_chat(ada, person)
        world.post(chat, "of the person")
        world.post(group, "of the group")
        await mirrored(mirror, chat, group)
        assert list((await texts(mirror, chat)).values()) == ["of the person"]
        assert "of the group" in (await texts(mirror, group)).values()

    async def test_doctor_reads_none(self, mirror: Mirror, ann: Channel) -> None:
        """It compares a platform by what everybody there may read, and nobody enabled this chat."""
        assert mirror.lane is not None
        async with mirror.counted() as calls:
            await platform_checks(mirror.lane)
        assert not {"messages.getHistory", "messages.getPeerDialogs", "messages.search"} & set(calls)


class TestReading:
    async def test_an_enabled_chat_is_read_to_its_beginning(self, mirror: Mirror, ann: Channel) -> None:
        """In full, though nobody asked for that: archives alone make no sense there."""
        await mirrored(mirror, ann)
        assert await texts(mirror, ann) == {1: "one", 2: "two", 3: "three"}
        [row] = await mirror.rows("SELECT in_full, to_start FROM channels WHERE number = $1", mirror.number(ann))
        assert dict(row) == {"in_full": True, "to_start": True}
        spans = await mirror.rows("SELECT spans::text FROM coverage WHERE kind = 'messages'")
        assert [row["spans"] for row in spans] == ["{[0,4)}"]

    async def test_saved_messages_and_groups_are_read_too(self, mirror: Mirror, world: World) -> None:
        """The account's own chat has no access hash, and a small group needs none."""
        ada, bob = world.accounts.values()
        own = world.add_private_chat(ada, ada)
        world.post(own, "note to self", sender=ada.id)
        group, _ = world.add_group("Family", [ada, bob])
        world.post(group, "dinner?", sender=bob.id)
        await mirrored(mirror, own, group)
        assert await texts(mirror, own) == truth(own)
        assert await texts(mirror, group) == truth(group)

    async def test_reconcile_reads_the_newest_again(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """As in a channel: a message that changed behind the counter's back is compared."""
        await mirrored(mirror, ann)
        ann.messages[2].text = "2"
        await mirror.compare(ann)
        assert (await texts(mirror, ann))[2] == "2"

    async def test_without_an_enabled_chat_the_box_costs_nothing(self, mirror: Mirror, ann: Channel) -> None:
        """Listing them is no reason to follow them."""
        await mirror.sync()
        async with mirror.counted() as calls:
            await mirror.cycle()
        assert not set(calls) & set(BOX)

    async def test_a_report_does_not_say_which_chat_failed(self, mirror: Mirror, ann: Channel) -> None:
        """Everybody who reads all channels may read it; the platform's sentence could have the number of the chat."""
        await mirror.sync()
        await mirror.enable(ann)
        code = f"CHAT_{mirror.number(ann)}_BROKEN"
        mirror.world.faults.add(Fault(FaultKind.ERROR, method="messages.getHistory", code=code))
        report = await mirror.cycle()
        assert mirror.world.faults.waiting == []
        assert report.troubles == ["A private chat could not be read; the log has the reason."]
        [event] = await mirror.rows("SELECT data::text FROM events WHERE kind = 'cycle.ended'")
        assert str(mirror.number(ann)) not in event["data"]

    async def test_archives_in_it_are_not_collected(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Its files stay with their messages: the list of archives is for everybody who reads all channels."""
        world.post(ann, file=world.add_file("secret.zip", 1_000))
        await mirrored(mirror, ann)
        assert await mirror.rows("SELECT FROM archives") == []
        [row] = await mirror.rows("SELECT name FROM attachments")
        assert row["name"] == "secret.zip"


class TestFollowing:
    async def test_news_is_stored_without_a_call(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Posts, edits and deletions arrive as updates of the box, short forms included.

        A cycle without a gate asks the box whether any was lost.
        """
        await mirrored(mirror, ann)
        async with working(mirror, None), mirror.counted() as calls:
            first, second = (world.post(ann, text).id for text in ("four", "five"))
            world.post(ann, file=world.add_file("a.txt", 10))
            world.edit(ann, second, text="5")
            world.delete(ann, [first, 1])
            await until(same(mirror, ann))
        assert not calls
        async with mirror.counted() as calls:
            await mirror.cycle()
        assert calls == {"updates.getDifference": 1}
        spans = await mirror.rows("SELECT spans::text FROM coverage WHERE kind = 'messages'")
        assert [row["spans"] for row in spans] == ["{[0,7)}"]

    @pytest.mark.parametrize("heard", [True, False])
    async def test_pins_and_late_previews_need_no_reconcile(
        self, mirror: Mirror, world: World, ann: Channel, heard: bool
    ) -> None:
        """A pin names its chat and a preview names none; they are stored as they come, pushed or not."""
        [link] = post(world, PostSpec(channel="+1000001/Ann", kind="link_pending"))
        await mirrored(mirror, ann)
        ann.pushes = heard
        async with working(mirror, None):
            world.pin(ann, 2)
            world.pin(ann, 3)
            world.pin(ann, 3, pinned=False)
            preview(world, PreviewSpec(channel="+1000001/Ann", message=link))
            if heard:
                await until(same(mirror, ann))
        if not heard:
            await mirror.connect()
            await mirror.cycle()
        rows = await mirror.rows("SELECT id, content FROM messages WHERE id = ANY($1) ORDER BY id", [2, 3, link])
        assert [row["content"] for row in rows[:2]] == [{"marks": ["pinned"]}, None]
        assert "awaited_preview" not in rows[2]["content"]
        assert "preview" in rows[2]["content"]

    async def test_a_restart_costs_one_call(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Nobody knows what was pushed meanwhile, so the box is asked once for all chats; then the gate tells."""
        await mirrored(mirror, ann, world.add_channel("News"))
        await mirror.connect()
        async with mirror.counted() as calls:
            await mirror.cycle()
            await mirror.cycle()
        assert {name: calls[name] for name in calls if name in BOX} == {"updates.getDifference": 1}
        assert calls["messages.getPeerDialogs"] == 2

    @pytest.mark.parametrize("beside", [True, False])
    async def test_a_lost_push_is_noticed_by_the_next_cycle(
        self, mirror: Mirror, world: World, ann: Channel, beside: bool
    ) -> None:
        """The gate says how far the box is, at no cost; an account with nothing to gate asks the box itself."""
        await mirrored(mirror, ann, *([world.add_channel("News")] if beside else []))
        ann.pushes = False
        world.post(ann, "lost")
        world.edit(ann, 2, text="2")
        async with mirror.counted() as calls:
            await mirror.cycle()
        assert await texts(mirror, ann) == truth(ann)
        gate = {"messages.getPeerDialogs": 1} if beside else {}
        assert calls == {"updates.getDifference": 1} | gate

    async def test_a_push_lost_for_long_is_noticed_too(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Where Telegram no longer lists what changed since, the chats are read again."""
        await mirrored(mirror, ann, world.add_channel("News"))
        ann.pushes = False
        world.post(ann, "lost")
        world.faults.add(Fault(FaultKind.TOO_LONG, method="updates.getDifference"))
        await mirror.settle()
        assert await same(mirror, ann)()

    async def test_what_was_missed_comes_by_the_difference(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """Page by page, with edits and with deletions that name no chat; other chats of the account leave no trace."""
        ada = world.accounts[1_000_001]
        quiet = world.add_private_chat(ada, world.add_person("Zoe"))
        await mirrored(mirror, ann)
        world.limits.page = 3
        ann.pushes = quiet.pushes = False
        for number in range(5):
            world.post(ann, f"missed {number}")
            world.post(quiet, "not mirrored")
        world.edit(ann, 2, text="2")
        world.delete(ann, [1, 4])
        async with mirror.counted() as calls:
            await mirror.connect()
            await mirror.cycle()
        assert calls["updates.getDifference"] > 1
        assert await texts(mirror, ann) == truth(ann)
        assert await mirror.rows("SELECT FROM messages WHERE text = 'not mirrored'") == []

    async def test_a_deletion_elsewhere_leaves_no_trace(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """It names no chat; one that follows the box and has its whole history knows that it is not its own."""
        ada = world.accounts[1_000_001]
        zoe, quiet = (world.add_private_chat(ada, world.add_person(name)) for name in ("Zoe", "Quiet"))
        for chat in (zoe, quiet):
            world.post(chat, "here")
        await mirrored(mirror, ann, zoe)
        ann.pushes = zoe.pushes = quiet.pushes = False
        late = world.post(ann, "not for long").id
        world.delete(ann, [2, late])
        world.delete(quiet, list(quiet.messages))
        await mirror.connect()
        await mirror.settle()
        assert await texts(mirror, ann) == truth(ann)
        assert await texts(mirror, zoe) == truth(zoe)
        assert await mirror.rows("SELECT FROM early_deletions") == []

    async def test_a_gap_in_the_news_is_closed_by_the_box(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """A pushed message after a lost one is stored and proves nothing; one call fills the gap."""
        await mirrored(mirror, ann)
        async with working(mirror, timedelta(hours=4)), mirror.counted() as calls:
            ann.pushes = False
            world.post(ann, "lost")
            world.delete(ann, [2])
            ann.pushes = True
            world.post(ann, "heard")
            await until(same(mirror, ann))
        assert calls["updates.getDifference"] == 1

    async def test_heard_after_a_gap_and_deleted_unheard(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """The difference mentions neither, so the message is asked for by its number and is gone."""
        await mirrored(mirror, ann)
        async with working(mirror, None):
            ann.pushes = False
            world.post(ann, "lost")
            ann.pushes = True
            heard = world.post(ann, "heard").id

            async def is_stored() -> bool:
                return heard in await texts(mirror, ann)

            await until(is_stored)
        ann.pushes = False
        world.delete(ann, [heard])
        await mirror.cycle()
        assert await texts(mirror, ann) == truth(ann)

    async def test_too_long_reads_the_chats_again(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """What the platform no longer lists is read from the chats, and stored messages are compared."""
        await mirrored(mirror, ann)
        ann.pushes = False
        world.edit(ann, 2, text="2")
        world.delete(ann, [1])
        world.post(ann, "four")
        await mirror.connect()  # to connect, Telethon asks for a difference of its own
        world.faults.add(Fault(FaultKind.TOO_LONG, method="updates.getDifference"))
        await mirror.settle()
        assert world.faults.waiting == []
        assert await texts(mirror, ann) == truth(ann)

    async def test_a_crash_after_too_long_loses_nothing(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """That the chats have to be read is stored with the counter, so the next cycle reads them."""
        await mirrored(mirror, ann)
        ann.pushes = False
        world.edit(ann, 2, text="2")
        world.delete(ann, [1])
        world.post(ann, "four")
        await mirror.connect()
        world.faults.add(Fault(FaultKind.TOO_LONG, method="updates.getDifference"))
        world.faults.add(Fault(FaultKind.ERROR, method="messages.getPeerDialogs", code="CHAT_ADMIN_REQUIRED"))
        with pytest.raises(PlatformError):
            await mirror.cycle()
        assert await box(mirror) == world.chats.box(ann.owner).pts
        await mirror.settle()
        assert await texts(mirror, ann) == truth(ann)

    async def test_what_happened_while_it_was_disabled_is_found(
        self, mirror: Mirror, world: World, ann: Channel
    ) -> None:
        """The box moved on without it, so the chat is read and compared before it follows again."""
        ada = world.accounts[1_000_001]
        zoe = world.add_private_chat(ada, world.add_person("Zoe"))
        await mirrored(mirror, ann, zoe)
        async with mirror.database.transaction() as connection:
            await channels.disable(connection, await channels.find(connection, "Ann"))
        world.edit(ann, 2, text="2")
        world.delete(ann, [1])
        world.post(ann, "four")
        world.post(zoe, "the box moves on")
        await mirror.connect()
        await mirror.settle()
        assert await texts(mirror, zoe) == truth(zoe)
        assert 1 in await texts(mirror, ann)
        await mirror.enable(ann)
        await mirror.settle()
        assert await texts(mirror, ann) == truth(ann)

    async def test_a_chat_that_was_lost_is_compared_when_it_is_found(
        self, mirror: Mirror, world: World, ann: Channel
    ) -> None:
        """The box moved on without it, so nothing that was posted meanwhile is missing."""
        zoe = world.add_private_chat(world.accounts[1_000_001], world.add_person("Zoe"))
        await mirrored(mirror, ann, zoe)
        world.faults.add(Fault(FaultKind.ERROR, method="messages.getHistory", code="PEER_ID_INVALID"))
        await mirror.compare(ann)
        assert world.faults.waiting == []
        assert (await mirror.place(ann))["reader"] is None
        world.edit(ann, 2, text="2")
        world.post(ann, "while it was lost")
        world.post(zoe, "the box moves on")
        await mirror.settle()
        await mirror.sync()
        world.post(ann, "found again")
        await mirror.settle()
        assert await texts(mirror, ann) == truth(ann)
        assert await texts(mirror, zoe) == truth(zoe)

    @pytest.mark.parametrize("ends_after", ["disable", "enable"])
    async def test_a_scan_that_ends_later_proves_nothing(
        self, mirror: Mirror, world: World, ann: Channel, ends_after: str
    ) -> None:
        """It stores its counter once more, older than the time in which nobody followed the chat: it is compared."""
        zoe = world.add_private_chat(world.accounts[1_000_001], world.add_person("Zoe"))
        await mirrored(mirror, ann, zoe)
        async with mirror.database.transaction() as connection:
            kept = await channels.find(connection, "Ann")
            places = await scan_memory.load_private_chats(connection, mirror.account.id)
            [scanned] = [place.memory for place in places if place.key == kept.key]
            await channels.disable(connection, kept)
            if ends_after == "disable":
                await scan_memory.remember(connection, {(kept.key, NO_TOPIC): (scanned, None)})
        world.edit(ann, 2, text="2")
        world.post(ann, "four")
        world.post(zoe, "the box moves on")
        await mirror.settle()
        await mirror.enable(ann)
        if ends_after == "enable":
            async with mirror.database.transaction() as connection:
                await scan_memory.remember(connection, {(kept.key, NO_TOPIC): (scanned, None)})
        await mirror.settle()
        assert await texts(mirror, ann) == truth(ann)

    async def test_an_own_send_is_news_of_the_box(self, mirror: Mirror, world: World) -> None:
        """Telegram tells the sender in the answer alone, and not what was sent; the difference brings the message."""
        ada = world.accounts[1_000_001]
        own = world.add_private_chat(ada, ada)
        await mirrored(mirror, own)
        before = len(await cycles(mirror))

        async def cycled() -> bool:
            return len(await cycles(mirror)) > before

        async with working(mirror, timedelta(hours=4)):
            await until(cycled)
            async with mirror.counted() as calls:
                assert mirror.lane is not None
                await mirror.lane.send(mirror.lane.own_chat, "test", key="k1")
                await until(same(mirror, own))
        assert calls["updates.getDifference"] == 1
        assert list((await texts(mirror, own)).values()) == ["test"]


class TestForecast:
    async def test_every_cycle_is_within_its_forecast(self, mirror: Mirror, world: World, ann: Channel) -> None:
        """The first one, an idle one, one after a restart, and one in which the platform lists no changes."""
        zoe = world.add_private_chat(world.accounts[1_000_001], world.add_person("Zoe"))
        world.add_channel("News")
        await mirror.sync()
        for chat in (ann, zoe, world.channel("News")):
            await mirror.enable(chat)
        for restart, too_long in ((False, False), (False, False), (True, False), (True, True)):
            if restart:
                await mirror.connect()
            if too_long:
                world.faults.add(Fault(FaultKind.TOO_LONG, method="updates.getDifference"))
            async with mirror.database.connection() as connection:
                plan = await foresee(connection, mirror.account, mirror.policy)
            report = await mirror.cycle()
            spent = sum(report.calls.values()) + report.reconcile_calls
            assert plan.calls.at_least <= spent <= plan.calls.at_most


class TestMoving:
    async def test_a_group_that_became_large_says_where_it_went(self, mirror: Mirror, world: World) -> None:
        """The old chat stays with its messages, and its state names the new one."""
        ada, bob = world.accounts.values()
        group, _ = world.add_group("Family", [ada, bob])
        world.post(group, "before")
        await mirrored(mirror, group)
        made = world.migrate(group)
        await mirror.cycle()
        async with mirror.database.connection() as connection:
            kept = await channels.find(connection, str(mirror.number(group)))
        assert (kept.state, kept.moved_to) == ("moved", made.id)
        assert "before" in (await texts(mirror, group)).values()
        [event] = await mirror.rows("SELECT data FROM events WHERE kind = 'channel.moved'")
        assert event["data"] == {"channel": mirror.number(group), "moved_to": made.id}
