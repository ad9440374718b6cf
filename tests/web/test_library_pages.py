"""The pages of the library, over real HTTP: filters, many channels at once, tabs, retries of a selection, chips."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from tests.history.rich_messages import ADA, file, wrote
from tests.history.stored_messages import kept, said
from tests.scans.stored_channels import add_account, add_channel
from tests.web.archive_builder import add_archive
from tests.web.seen_channels import see
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.ids import ChannelId, ChannelKey, TopicId
from tidegate.database.pool import Database
from tidegate.history.queries import messages
from tidegate.platforms.interface import Channel, ChannelKind, FileForm
from tidegate.platforms.telegram import TELEGRAM

__all__ = ["kept"]  # a fixture


@pytest.fixture
async def client(database: Database, kept: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, and a channel to look at."""
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


async def post(client: httpx.AsyncClient, path: str, **form: object) -> httpx.Response:
    """Press a button of a page."""
    return await client.post(path, data=form, headers=htmx(client.headers["x-for-tests"]))


async def keys_of(database: Database, title: str) -> list[ChannelKey]:
    rows = await database.pool.fetch("SELECT id FROM channels WHERE title LIKE $1 ORDER BY id", title)
    return [row["id"] for row in rows]


class TestChannels:
    async def test_names_are_in_natural_order_over_all_pages(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """ "Room 2" before "Room 10", and the second page goes on where the first one ended."""
        await see(database, kept, {number: f"Room {number}" for number in range(1, 61) if number != 7})
        first = (await client.get("/channels", params={"q": "room"})).text
        assert first.index(">Room 2<") < first.index(">Room 10<") < first.index(">Room 50<")
        assert ">Room 60<" not in first
        [following] = {
            part.split('"')[0].replace("&amp;", "&") for part in first.split('href="')[1:] if "cursor=" in part
        }
        second = (await client.get(following)).text
        assert (">Room 50<" in second, ">Room 60<" in second) == (False, True)

    @pytest.mark.parametrize(
        ("asked", "shown"),
        [
            ({"platform": "discord"}, {"Harbour"}),
            ({"platform": "telegram"}, {"Channel 7", "Lost"}),
            ({"account": "other"}, {"Harbour"}),
            ({"state": "trouble"}, {"Lost"}),
            ({"state": "unreadable"}, {"Lost"}),
            ({"state": "new"}, {"Channel 7"}),
            ({"mirrored": "no"}, {"Harbour"}),
            ({"q": "7"}, {"Channel 7"}),
            ({"platform": "discord", "mirrored": "yes"}, set()),
        ],
    )
    async def test_filters(
        self, client: httpx.AsyncClient, database: Database, asked: dict[str, str], shown: set[str]
    ) -> None:
        """By platform, account, state, name and ID; the number of those found is said aloud."""
        async with database.transaction() as connection:
            other = await add_account(connection, "other")
            await add_channel(connection, other, number=8)
        await database.pool.execute(
            "UPDATE channels SET title = 'Harbour', platform = 'discord', enabled = false WHERE number = 8"
        )
        await database.pool.execute(
            "INSERT INTO channels (platform, number, title, state, enabled) "
            "VALUES ('telegram', 9, 'Lost', 'deleted', true)"
        )
        text = (await client.get("/channels", params=asked)).text
        assert {title for title in ("Channel 7", "Harbour", "Lost") if f">{title}<" in text} == shown
        count = f"{len(shown)} channel" if len(shown) == 1 else f"{len(shown)} channels"
        assert f'<p id="count" class="soft" role="status">{count} ' in text

    @pytest.mark.parametrize(
        ("hours", "asked", "shown"),
        [
            (1, "current", True), (1, "behind", False), (1, "trouble", False),
            (9, "current", False), (9, "behind", True), (9, "trouble", True),
        ],
    )  # fmt: skip
    async def test_a_copy_is_behind_when_its_account_was_not_checked_for_long(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel, hours: int, asked: str, *, shown: bool
    ) -> None:
        """The list, its filter, the channel's own page and the sum on Home agree."""
        await database.pool.execute("UPDATE places SET last_scanned_at = clock_now()")
        await database.pool.execute(
            "INSERT INTO cycles (account, number, whole, began_at, ended_at, report) "
            "SELECT id, 1, true, clock_now(), clock_now() - $1 * interval '1 hour', '{}' FROM accounts",
            hours,
        )
        listed = (await client.get("/channels", params={"state": asked})).text
        assert (f">{kept.title}<" in listed) is shown
        behind = hours > 3
        assert (">Behind</span>" in listed) is (shown and behind)
        head = (await client.get(f"/channels/{kept.key}/options")).text
        assert ("Behind: its check is late" in head, ">Up to date</span>" in head) == (behind, not behind)
        home = (await client.get("/")).text
        assert f">{0 if behind else 1} of 1 channel</a>" in home

    async def test_many_are_stopped_and_mirrored_at_once(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The question names them and their number; what is so already is left as it is, options included."""
        await see(database, kept, {8: "Harbour", 9: "Mill 10", 10: "Mill 9"})
        mills = await keys_of(database, "Mill%")
        asked = await client.get("/channels/selected", params={"act": "mirror", "channel": [*mills, kept.key]})
        assert "Mirror 2 channels?" in asked.text
        assert asked.text.index("Mill 9") < asked.text.index("Mill 10")
        assert "Already mirrored: 1 channel." in asked.text
        answer = await post(client, "/channels/selected", act="mirror", channel=mills, full="false")
        assert answer.headers["hx-redirect"] == "/channels"
        rows = await database.pool.fetch("SELECT enabled, in_full FROM channels WHERE id = ANY($1)", mills)
        assert [(row["enabled"], row["in_full"]) for row in rows] == [(True, False)] * 2
        everything = {"act": "stop", "everything": "true", "q": "mill"}
        assert "Stop mirroring 2 channels?" in (await client.get("/channels/selected", params=everything)).text
        await post(client, "/channels/selected", act="stop", channel=mills)
        assert await database.pool.fetchval("SELECT count(*) FROM channels WHERE enabled") == 1
        assert (await post(client, "/channels/selected", act="stop", channel=mills)).status_code == 400
        assert "Nothing to change" in (await client.get("/channels/selected", params={"act": "stop"})).text

    async def test_a_channel_that_is_mirrored_again_keeps_its_options(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Its destination, its topics and the detection of duplicates are those it had before it was stopped."""
        await see(database, kept, {8: "Harbour"})
        [harbour] = await keys_of(database, "Harbour")
        async with database.transaction() as connection:
            await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 5, 'Five')", kept.key)
            before = MirrorOptions((TopicId(5),), in_full=True, hashed=True, destination=harbour)
            await channels.enable(connection, kept, before)
            await channels.disable(connection, kept)
        await post(client, "/channels/selected", act="mirror", channel=[kept.key], full="true")
        async with database.connection() as connection:
            found = await channels.find(connection, "Channel 7")
        assert (found.enabled, found.hashed, found.by_topic, found.destination) == (True, True, True, harbour)


class TestChannel:
    async def test_it_opens_with_its_messages(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """One that was never mirrored opens with its options instead."""
        at = f"/channels/{kept.key}"
        assert (await client.get(at)).headers["location"] == f"{at}/messages"
        await database.pool.execute("UPDATE channels SET enabled = false")
        assert (await client.get(at)).headers["location"] == f"{at}/options"

    async def test_the_head_says_whether_the_copy_is_up_to_date(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """On every tab: before the first check, after it, and when no account can read it."""
        at = f"/channels/{kept.key}/options"
        assert "Waiting for its first check" in (await client.get(at)).text
        await database.pool.execute("UPDATE places SET last_scanned_at = now()")
        for tab in ("messages", "topics", "files", "archives", "options", "technical"):
            assert ">Up to date<" in (await client.get(f"/channels/{kept.key}/{tab}")).text, tab
        await database.pool.execute("UPDATE channels SET state = 'no_history_permission'")
        assert "No permission to read its history" in (await client.get(at)).text

    async def test_topics_are_chosen_by_name(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """A tick list, in natural order; choosing all topics ignores the ticks."""
        await database.pool.execute(
            "INSERT INTO places (channel, topic, title) SELECT $1, n, 'Hall ' || n FROM generate_series(2, 11) n",
            kept.key,
        )
        for path in ("options", "topics"):
            text = (await client.get(f"/channels/{kept.key}/{path}")).text
            assert text.index("Hall 2<") < text.index("Hall 10<")
        at = f"/channels/{kept.key}/enable"
        assert (await post(client, at, full="true", which="some", topic=[3, 10])).status_code == 204
        rows = await database.pool.fetch("SELECT topic FROM places WHERE selected ORDER BY topic")
        assert [row["topic"] for row in rows] == [3, 10]
        assert (await post(client, at, full="true", which="all", topic=[3])).status_code == 204
        assert await database.pool.fetchval("SELECT count(*) FROM places WHERE selected") == 0

    async def test_archives_go_to_a_channel_that_is_chosen(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Those in which the account may post, by name; the saved one is selected."""
        await see(database, kept, {8: "Depot 10", 9: "Depot 9", 10: "Read only"})
        await database.pool.execute(
            "UPDATE sights SET may_post = channel IN (SELECT id FROM channels WHERE title LIKE 'Depot%')"
        )
        at = f"/channels/{kept.key}"
        text = (await client.get(f"{at}/options")).text
        assert text.index(">Depot 9</option>") < text.index(">Depot 10</option>")
        assert "Read only" not in text
        await post(client, f"{at}/enable", full="true", destination="9")
        assert '<option value="9" selected>Depot 9</option>' in (await client.get(f"{at}/options")).text


class TestArchives:
    async def test_those_selected_are_retried(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Only failed ones can be; the answer counts them."""
        async with database.transaction() as connection:
            one = await add_archive(connection, kept, "One.zip", state="failed")
            two = await add_archive(connection, kept, "Two.zip", state="given_up")
            other = await add_archive(connection, kept, "Three.zip", state="failed")
            fine = await add_archive(connection, kept, "Four.zip")
        answer = await post(client, "/archives/retry/selected", archive=[one, two, fine])
        assert "2 archives will be retried" in answer.headers["tidegate-said"]
        rows = await database.pool.fetch("SELECT archive FROM failures WHERE by_hand ORDER BY archive")
        assert [row["archive"] for row in rows] == [one, two]
        assert (await post(client, "/archives/retry/selected", archive=[fine])).status_code == 409
        assert (await post(client, "/archives/retry/selected")).status_code == 400
        text = (await client.get(f"/channels/{kept.key}/archives")).text
        assert (f'value="{other}"' in text, f'value="{fine}" form' in text) == (True, False)

    async def test_they_are_filtered_by_the_account_that_reads_them(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """By account and platform, together with the words of a search; without a match it says so."""
        async with database.transaction() as connection:
            other = await add_account(connection, "other")
            await add_account(connection, "idle")
            below = await add_channel(connection, other, number=8)
            await add_archive(connection, kept, "One.zip")
            await add_archive(connection, below, "Two.zip", "one/tower.stl")
        reader = kept.reader_name or ""
        for asked, shown in (
            ({"account": reader}, {"One"}),
            ({"account": "other"}, {"Two"}),
            ({"account": "idle"}, set()),
            ({"account": "other", "q": "one"}, {"Two"}),
            ({"account": reader, "q": "two"}, set()),
            ({"platform": "telegram"}, {"One", "Two"}),
            ({"platform": "discord"}, set()),
        ):
            text = (await client.get("/archives", params=asked)).text
            assert {name for name in ("One", "Two") if f">{name}.zip<" in text} == shown, asked
            assert ("No archives match." in text) is (not shown)

    async def test_states_and_failures_are_in_words(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The platform's own error is folded away behind a sentence."""
        async with database.transaction() as connection:
            failed = await add_archive(connection, kept, "One.zip", state="given_up")
        await database.pool.execute("UPDATE failures SET detail = 'Telegram refused upload.getFile: LOCATION_INVALID.'")
        listed, own = (await client.get("/archives")).text, (await client.get(f"/archives/{failed}")).text
        for words in ("Failed, not retrying", "Download failed (3 attempts)"):
            assert words in listed
            assert words in own
        assert "Telegram could not provide the file." in own
        assert own.index("<summary>Details from Telegram</summary>") < own.index("LOCATION_INVALID")
        assert "tidegate archive" not in own

    async def test_contents_are_filtered(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """By a part of a path, whatever its case."""
        async with database.transaction() as connection:
            archive = await add_archive(connection, kept, "One.zip", "Scales/Red.stl", "towers/blue.stl")
        text = (await client.get(f"/archives/{archive}", params={"inside": "red"})).text
        assert ("Scales/Red.stl" in text, "towers/blue.stl" in text) == (True, False)
        assert "No files match." in (await client.get(f"/archives/{archive}", params={"inside": "none"})).text


class TestSearch:
    async def test_what_is_chosen_beside_the_words_counts(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Channel, author and days; each shows what was chosen and can be taken away."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [said(10, "gull one"), said(11, "gull two", "Bobby")])
        day = f"{said(10, '').at:%Y-%m-%d}"
        for chosen, number in (
            ({"author": "Bobby"}, 1),
            ({"channel": "Channel 7"}, 2),
            ({"since": day, "until": day}, 2),
            ({"until": "2001-01-01"}, 0),
        ):
            text = (await client.get("/messages", params={"q": "gull", **chosen})).text
            assert text.count("<mark>gull</mark>") == number, chosen
            assert 'class="button drop"' in text
        open_quote = {"q": '"gull two', "channel": "Channel 7"}
        assert "No results." not in (await client.get("/messages", params=open_quote)).text
        assert "There is no channel" in (await client.get("/messages", params={"q": "x", "channel": "Nowhere"})).text

    async def test_a_result_has_a_line_before_and_after_it(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Not those that were deleted, nor of another topic; a file without a name is a photo or file."""
        texts = ["first", "gull", "last"]
        one = [replace(said(100 + n, text), topic=TopicId(3)) for n, text in enumerate(texts)]
        other = [replace(said(103, "elsewhere"), topic=TopicId(4))]
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [*one, *other])
        text = (await client.get("/messages", params={"q": "gull"})).text
        assert text.index("first") < text.index("<mark>gull</mark>") < text.index("last")
        assert "elsewhere" not in text

    async def test_a_file_that_was_found_by_its_name_is_marked(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The word that was looked for; other names are as they are."""
        files = (file(1, "old gull.pdf", FileForm.FILE), file(2, "tern <b>.pdf", FileForm.FILE))
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [wrote(1, ADA, "look", files=files)])
        text = (await client.get("/messages", params={"q": "gull"})).text
        assert '<bdi class="name">old <mark>gull</mark>.pdf</bdi>' in text
        assert '<bdi class="name">tern &lt;b&gt;.pdf</bdi>' in text

    async def test_a_private_chat_says_whose_it_is(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Two accounts have a chat with the same person; other channels are nobody's."""
        async with database.transaction() as connection:
            for number, name in enumerate(("north", "south"), start=1):
                account = await add_account(connection, name)
                private = Channel(ChannelId(number << 40), "Ada", kind=ChannelKind.PRIVATE_CHAT)
                await channels.see(connection, TELEGRAM, account, [private])
            keys = await connection.fetch("SELECT id FROM channels WHERE title = 'Ada' ORDER BY number")
            for row in keys:
                await messages.store(connection, row["id"], [wrote(1, ADA, "gull")])
            await messages.store(connection, kept.key, [wrote(1, ADA, "gull")])
            await connection.execute("UPDATE channels SET private_to = 0 WHERE id = $1", keys[1]["id"])
        text = (await client.get("/messages", params={"q": "gull"})).text
        assert 'private chat of <bdi class="name">north</bdi>' in text
        assert (text.count("private chat of"), "a deleted account" in text) == (2, True)
