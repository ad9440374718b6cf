"""The pages about what is mirrored, over real HTTP: channels, archives, messages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.held import NOON
from tests.history.stored_messages import kept, said
from tests.web.archive_builder import PNG, add_archive
from tests.web.hostile_words import HOSTILE
from tests.web.seen_channels import see
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.archives.queries import previews
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AccountId, FileId, MessageId
from tidegate.core.message_content import Embed, MessageContent, Reply
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.queries import deletions, messages
from tidegate.platforms.interface import File, FileHandle, FileKind

__all__ = ["kept"]  # a fixture

TABS = ("messages", "topics", "files", "archives", "options", "technical")


@pytest.fixture
async def client(database: Database, kept: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in, and a channel to look at."""
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


async def post(client: httpx.AsyncClient, path: str, **form: str) -> httpx.Response:
    """Press a button of a page."""
    return await client.post(path, data=form, headers=htmx(client.headers["x-for-tests"]))


class TestChannels:
    async def test_a_row_shows_verdict_memory_and_coverage(self, client: httpx.AsyncClient, database: Database) -> None:
        """The result of the last check in words, and a picture of the history whose words say the same."""
        await database.pool.execute(
            "UPDATE places SET verdict = 'gate: unchanged', watermark = 31, newest_seen = 9; "
            "INSERT INTO coverage (channel, kind, spans) SELECT id, 'documents', '{[0,5)}' FROM channels"
        )
        text = (await client.get("/channels")).text
        for shown in ("Channel 7", "No new messages", "Files: 50% read, 1 gap", '<rect class="gap"', "1 channel<"):
            assert shown in text
        assert "gate:" not in text

    async def test_a_board_lacks_nothing(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Its threads hold the messages, so that nothing of it is missing or waits for a first scan."""
        await database.pool.execute(
            "UPDATE channels SET kind = 'board', in_full = true; UPDATE places SET newest_seen = 9"
        )
        listed = (await client.get("/channels")).text
        own = (await client.get(f"/channels/{kept.key}/options")).text
        assert "Not yet" not in listed
        assert " read" not in listed
        assert "A forum channel: its posts are listed as threads." in own

    async def test_it_is_searched_sorted_and_turned_over(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Fifty to a page; the way to the next one keeps what was asked for."""
        await see(database, kept, {number: f"Room {number:03}" for number in range(100, 160)})
        first = (await client.get("/channels", params={"q": "room", "sort": "title", "descending": "true"})).text
        assert first.index("Room 159") < first.index("Room 110")
        assert "Room 109" not in first
        [following] = {
            part.split('"')[0].replace("&amp;", "&") for part in first.split('href="')[1:] if "cursor=" in part
        }
        second = (await client.get(following)).text
        assert "Room 109" in second
        assert "Room 110" not in second
        assert "Channel 7" not in second
        assert "No channels match." in (await client.get("/channels", params={"q": "nowhere"})).text

    async def test_everything_of_one_channel(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Coverage with gaps by number, topics, what was read, and the calls that its reader's cycles spent."""
        async with database.transaction() as connection:
            await connection.execute(
                "UPDATE channels SET in_full = true; UPDATE places SET newest_seen = 9; "
                "INSERT INTO coverage (channel, kind, spans) SELECT id, 'messages', '{[0,3),[5,10)}' FROM channels; "
                "INSERT INTO places (channel, topic, title) SELECT id, 5, 'Five' FROM channels"
            )
            report = {"calls_total": 1_086, "verdicts": {"unchanged": 3}}
            await cycles.record(connection, kept.reader or AccountId(0), 4, NOON, report, whole=True)
            read = ChannelRead(channel=kept.number, topic=None, messages=12, archives=1)
            await feed.record(connection, kept.title, read)
        text = (await client.get(f"/channels/{kept.key}/technical")).text
        for shown in (
            "3 to 4",
            "12 messages, 1 archive</strong> by check",
            "1,086",
            "3 no new messages",
            "Check for edits and deletions",
        ):
            assert shown in text
        assert "Five" in (await client.get(f"/channels/{kept.key}/topics")).text

    async def test_buttons_do_what_they_say(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Enable as the form says, leave commands for the owner, disable; each says what it did."""
        at = f"/channels/{kept.key}"
        await see(database, kept, {9: "There"})
        said = await post(client, f"{at}/enable", full="true", destination="There")
        assert said.headers["tidegate-said"] == '"Options saved."'
        for path, form in (
            ("cycle", {}),
            ("backfill", {"target": "all"}),
            ("backfill", {"target": "50"}),
            ("reconcile", {}),
        ):
            answer = await post(client, f"{at}/{path}", **form)
            assert (answer.status_code, "Channel 7" in answer.headers["tidegate-said"]) == (204, True)
        rows = await database.pool.fetch("SELECT kind, args FROM commands ORDER BY id")
        assert [row["kind"] for row in rows] == ["cycle", "backfill", "backfill", "reconcile"]
        assert [row["args"]["everything"] for row in rows if row["kind"] == "backfill"] == [True, False]
        assert "is not mirrored any more" in (await post(client, f"{at}/disable")).headers["tidegate-said"]
        assert "Start mirroring" in (await client.get(f"{at}/options")).text

    @pytest.mark.parametrize(
        ("path", "form", "sentence"),
        [
            ("enable", {"which": "some"}, "Select at least one topic"),
            ("enable", {"destination": "7"}, "its own destination"),
            ("backfill", {"target": "deep"}, "Write a whole number"),
            ("backfill", {}, "not mirrored in full"),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, kept: KnownChannel, path: str, form: dict[str, str], sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong; the page says it."""
        answer = await post(client, f"/channels/{kept.key}/{path}", **form)
        assert (answer.status_code, sentence in answer.json()["detail"]) == (400, True)

    async def test_nothing_is_changed_without_the_pages_own_form(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Another site's form has no token."""
        for path in (f"/channels/{kept.key}/disable", "/archives/retry"):
            assert (await client.post(path)).status_code == 403
        assert await database.pool.fetchval("SELECT enabled FROM channels")

    async def test_a_channel_that_is_not_there(self, client: httpx.AsyncClient) -> None:
        """404 with a sentence, for each of its pages."""
        for path in ("/channels/999", "/channels/999/messages"):
            answer = await client.get(path)
            assert (answer.status_code, "There is no channel 999" in answer.text) == (404, True)


class TestArchives:
    async def test_why_it_failed_is_not_shown_while_it_is_tried_again(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """A failure is told until the next try begins; then the pages say that it is being tried again."""
        async with database.transaction() as connection:
            failed = await add_archive(connection, kept, "Towers.zip", state="failed")
        assert "Download failed" in (await client.get(f"/archives/{failed}")).text
        await database.pool.execute("UPDATE archives SET state = 'working'")
        page = (await client.get(f"/archives/{failed}")).text
        assert ("An earlier try failed" in page, "Download failed" in page) == (True, False)
        assert "Download failed" not in (await client.get("/archives")).text

    async def test_found_by_name_and_file_looked_into_and_tried_again(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The list says which file inside was found; the archive's page its picture, contents and failure."""
        async with database.transaction() as connection:
            whole = await add_archive(connection, kept, "Dragons.zip", "scales/red.stl")
            failed = await add_archive(connection, kept, "Towers.zip", state="given_up")
            await previews.keep(connection, whole, 5, PNG, "image/png")
        listed = (await client.get("/archives", params={"q": "red"})).text
        assert "scales/red.stl" in listed
        assert "Towers.zip" not in listed
        page = (await client.get(f"/archives/{whole}")).text
        for shown in ("scales/red.stl", f"/archives/{whole}/preview", "https://t.me/c/7/", "1.0 kB, 1 file"):
            assert shown in page
        picture = await client.get(f"/archives/{whole}/preview")
        assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
        page = (await client.get(f"/archives/{failed}")).text
        for shown in ("Download failed (3 attempts)", "The line broke.", "Not scheduled, use Retry", ">Retry<"):
            assert shown in page
        assert "will be retried" in (await post(client, f"/archives/{failed}/retry")).headers["tidegate-said"]
        assert await database.pool.fetchval("SELECT state FROM archives WHERE id = $1", failed) == "failed"
        assert "1 archive will be retried" in (await post(client, "/archives/retry")).headers["tidegate-said"]
        assert (await post(client, f"/archives/{whole}/retry")).status_code == 409

    async def test_only_those_of_a_channel_or_a_state(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Chosen by form or link; fifty to a page."""
        async with database.transaction() as connection:
            for number in range(51):
                await add_archive(connection, kept, f"Box {number:02}.zip")
        text = (await client.get("/archives", params={"channel": kept.key, "state": "filed"})).text
        assert ("Box 50.zip" in text, "Box 00.zip" in text, "before=" in text) == (True, False, True)
        assert "No failed archives." in (await client.get("/archives", params={"state": "failed"})).text
        assert (await client.get("/archives/999")).status_code == 404


class TestMessages:
    async def test_search_as_at_the_terminal(self, client: httpx.AsyncClient, kept: KnownChannel) -> None:
        """Results lead to their channel here and to the original; a query without sense is a sentence on the page."""
        text = (await client.get("/messages", params={"q": "tower author:ada"})).text
        shown_at = f"/channels/{kept.key}/messages?around=1#m1"
        for shown in ("which <mark>tower</mark>?", shown_at, "https://t.me/c/7/1", "1 result"):
            assert shown in text
        for query, sentence in (
            ("before:soon", "is not a date"),
            ("x channel:Nowhere", "There is no channel"),
            ("...", "no word"),
        ):
            answer = await client.get("/messages", params={"q": query})
            assert (answer.status_code, sentence in answer.text) == (200, True)
        assert "No results." in (await client.get("/messages", params={"q": "unheard"})).text

    async def test_a_result_quotes_no_deleted_message(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """As the API: the piece is shown while its message is there."""
        quoting = MessageContent(reply=Reply(quote="the old tower"))
        async with database.transaction() as connection:
            await messages.store(
                connection, kept.key, [replace(said(5, "agreed"), reply_to=MessageId(1), content=quoting)]
            )
        for deleted, shown in (([], True), ([MessageId(1)], False)):
            async with database.transaction() as connection:
                await deletions.mark_deleted(connection, kept.key, deleted)
            text = (await client.get("/messages", params={"q": "old"})).text
            assert ("agreed" in text, "the <mark>old</mark> tower" in text) == (True, shown)

    async def test_results_come_in_pages_and_are_counted(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The page asks for the number in a second request; above 5,000 nobody counts."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [said(100 + n, f"gull {n}") for n in range(60)])
        first = (await client.get("/messages", params={"q": "gull"})).text
        second = (await client.get("/messages", params={"q": "gull", "page": 2})).text
        assert (first.count("<mark>gull</mark>"), second.count("<mark>gull</mark>")) == (50, 10)
        assert ("Show more" in first, "First results" in first) == (True, False)
        assert ("Show more" in second, "First results" in second) == (False, True)
        assert "60 results" in (await client.get("/messages/count", params={"q": "gull"})).text

    async def test_a_match_in_an_embed_is_shown(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """A reader sees why a message was found whose own text says nothing of it; nothing in it is markup."""
        card = Embed(title="<b>Herring</b> prices", description="per barrel")
        shown = replace(said(100, "look"), content=MessageContent(embeds=(card,)))
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [shown])
        text = (await client.get("/messages", params={"q": "herring"})).text
        assert "&lt;b&gt;<mark>Herring</mark>&lt;/b&gt; prices" in text

    async def test_a_channel_as_it_reads(self, client: httpx.AsyncClient, kept: KnownChannel) -> None:
        """Edits with what was said before, tombstones struck out, whom a message answers; a date is jumped to."""
        at = f"/channels/{kept.key}/messages"
        text = (await client.get(at)).text
        for shown in (
            "and that?",
            "and this?",
            "Earlier versions (1)",
            "never mind",
            ">edited<",
            "Deleted (noticed",
            "replying to",
        ):
            assert shown in text
        assert text.index("which tower?") < text.index("never mind")
        jumped = (await client.get(at, params={"at": NOON.date().isoformat()})).text
        assert "which tower?" in jumped
        assert "No messages after this date" in (await client.get(at, params={"at": "2100-01-01"})).text
        assert (await client.get(at, params={"at": "soon"})).status_code == 400

    async def test_a_day_begins_where_the_reader_lives(self, client: httpx.AsyncClient, kept: KnownChannel) -> None:
        """The form brings the browser's zone along, to jump to a day as to search by one; without script it is UTC."""
        at, there = f"/channels/{kept.key}/messages", "Pacific/Kiritimati"  # where noon of UTC is the day after
        day = (NOON + timedelta(days=1)).date().isoformat()
        assert "No messages after this date" in (await client.get(at, params={"at": day, "zone": ""})).text
        assert "which tower?" in (await client.get(at, params={"at": day, "zone": there})).text
        found = {"q": f"tower after:{day}"}
        assert "No results." in (await client.get("/messages", params=found)).text
        assert "which <mark>tower</mark>?" in (await client.get("/messages", params={**found, "zone": there})).text
        assert (await client.get(at, params={"at": day, "zone": "Mars"})).status_code == 400


class TestHostile:
    async def test_what_strangers_wrote_is_shown_harmlessly_everywhere(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Titles, topics, authors, texts, names, paths: script tags, marks that turn writing, 10,000 characters."""
        async with database.transaction() as connection:
            file = File(FileId(1), HOSTILE, 1, "x/y", FileKind.DOCUMENT, FileHandle("h"))
            told = replace(said(50, f"tower {HOSTILE}", HOSTILE), files=(file,), service=HOSTILE[:50])
            await messages.store(connection, kept.key, [told])
            await messages.store(connection, kept.key, [replace(told, text=f"{HOSTILE} tower", edited_at=NOON)])
            archive = await add_archive(connection, kept, HOSTILE, f"tower/{HOSTILE}", state="failed")
            await connection.execute("UPDATE channels SET title = $1, remark = 'r'", HOSTILE)
            await connection.execute("UPDATE failures SET detail = $1", HOSTILE)
            await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 5, $2)", kept.key, HOSTILE)
        for path in (
            "/channels", *(f"/channels/{kept.key}/{tab}" for tab in TABS), "/archives", "/archives?q=tower",
            f"/archives/{archive}", f"/channels/selected?act=stop&channel={kept.key}",
            "/messages?q=tower", f"/messages?q={HOSTILE[:60]}",
        ):  # fmt: skip
            answer = await client.get(path)
            assert answer.status_code == 200, path
            assert "<script>" not in answer.text, path
            assert re.search(r"(?<!&#39;)(?: |%20)onload=", answer.text) is None, path
            assert "&lt;script&gt;alert" in answer.text, path
            assert ("ł" * 2_100 in answer.text) == path.endswith("/messages"), path  # there it can be read whole

    async def test_a_title_of_nothing_is_still_a_link(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """A channel without a title goes by its number."""
        await database.pool.execute("UPDATE channels SET title = ''")
        text = (await client.get("/channels")).text
        assert f'<a href="/channels/{kept.key}/messages"><bdi class="name">7</bdi></a>' in text
