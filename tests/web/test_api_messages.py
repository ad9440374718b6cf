"""The API about a channel's messages as people read them: both ways, from a date on, edits and tombstones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.held import NOON
from tests.history.rich_messages import ADMIN, BOB, EVERYTHING, GONE, HELPER, everything, wrote
from tests.history.stored_messages import kept, said
from tests.web.api_client import client, refused, token
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.core.message_content import MessageContent, Reply
from tidegate.database.pool import Database
from tidegate.history.queries import deletions, messages
from tidegate.people.queries import people

__all__ = ["client", "kept"]  # fixtures

MESSAGES = "/api/channels/7/messages"


class TestReading:
    async def test_a_channel_is_walked_both_ways(self, client: httpx.AsyncClient) -> None:
        """Newest first from the end, then older; from a number on, then newer; each page oldest first."""
        page = (await client.get(MESSAGES, params={"limit": 2})).json()
        assert ([one["id"] for one in page["messages"]], page["older"], page["newer"]) == ([3, 4], 3, None)
        page = (await client.get(MESSAGES, params={"limit": 2, "before": 3})).json()
        assert ([one["id"] for one in page["messages"]], page["older"], page["newer"]) == ([1, 2], None, 3)
        page = (await client.get(MESSAGES, params={"limit": 2, "since": 2})).json()
        assert ([one["id"] for one in page["messages"]], page["older"], page["newer"]) == ([2, 3], 2, 4)
        page = (await client.get(MESSAGES, params={"since": 99})).json()
        assert (page["messages"], page["older"], page["newer"]) == ([], None, None)

    async def test_edits_and_tombstones_are_told(self, client: httpx.AsyncClient) -> None:
        """An edited message has what it said before; a deleted one says nothing unless it is asked."""
        *_, edited, deleted = (await client.get(MESSAGES)).json()["messages"]
        assert (edited["text"], [one["text"] for one in edited["earlier"]]) == ("and that?", ["and this?"])
        assert (deleted["text"], deleted["deleted_at"] is None) == (None, False)
        shown = (await client.get(f"{MESSAGES}/4", params={"deleted": True})).json()
        assert (shown["text"], shown["link"]) == ("never mind", "https://t.me/c/7/4")
        assert "is not stored" in refused(await client.get(f"{MESSAGES}/99"), 404)

    async def test_a_date_is_jumped_to(self, client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
        """The first message of that day where the reader is; after the last one there is nothing."""
        numbers = [10**6, 10**12, 2**62]
        later = [replace(said(1, "later"), id=MessageId(number)) for number in numbers]
        async with database.transaction() as connection:
            for day, message in enumerate(later, start=1):
                await messages.store(connection, kept.key, [message])
                await connection.execute("UPDATE messages SET at = $1 WHERE id = $2", NOON + timedelta(day), message.id)
        for day, number in enumerate(numbers, start=1):
            at = (NOON + timedelta(day)).date().isoformat()
            page = (await client.get(MESSAGES, params={"at": at, "limit": 1})).json()
            assert [one["id"] for one in page["messages"]] == [number]
        first = (await client.get(MESSAGES, params={"at": "2020", "limit": 1})).json()
        assert [one["id"] for one in first["messages"]] == [1]
        assert (await client.get(MESSAGES, params={"at": "2100-01-01"})).json()["messages"] == []
        day = (NOON + timedelta(1)).date().isoformat()
        early = (await client.get(MESSAGES, params={"at": day, "zone": "Pacific/Kiritimati", "limit": 1})).json()
        assert [one["id"] for one in early["messages"]] == [1]  # its day began before noon in UTC of the day before

    @pytest.mark.parametrize(
        ("asked", "status", "sentence"),
        [
            ({"at": "soon"}, 400, "at:soon is not a date"),
            ({"at": "2026", "zone": "Mars"}, 400, "no time zone"),
            ({"before": "2", "since": "1"}, 400, "not for two of these"),
            ({"before": "0"}, 422, "query.before"),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, asked: dict[str, str], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where."""
        assert sentence in refused(await client.get(MESSAGES, params=asked), status)

    async def test_a_narrow_token_reads_its_own(self, client: httpx.AsyncClient, database: Database) -> None:
        """Neither the channel nor a message of it is there for another's token."""
        client.headers["authorization"] = f"Bearer {await token(database, 'narrow', 999)}"
        for path in (MESSAGES, f"{MESSAGES}/1"):
            assert "reads no channel" in refused(await client.get(path), 404)


class TestContent:
    async def test_every_field_of_a_message(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """What the platform said is told by plain names, with numbers as of their time, and raw on request."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [everything(50)])
            await people.store(connection, kept.key, [HELPER, BOB])
        told = (await client.get(f"{MESSAGES}/50", params={"raw": True})).json()
        assert (told["kind"], told["fields"], told["service_text"], told["unsupported"]) == (
            "voice", "complete", "", "",
        )  # fmt: skip
        assert told["formatting"][0] == {"kind": "bold", "start": 0, "end": 4, "target": ""}
        assert {name: told["forwarded_from"][name] for name in ("kind", "name", "id", "message", "signature")} == {
            "kind": "channel", "name": "Sea News", "id": 88, "message": 12, "signature": "Carl",
        }  # fmt: skip
        assert {name: told["reply"][name] for name in ("message", "author", "quote", "gone")} == {
            "message": 1, "author": "Ada", "quote": "which tower", "gone": False,
        }  # fmt: skip
        assert [(one["text"], one["votes"]) for one in told["poll"]["answers"]] == [
            ("At the pier", 3), ("At the lighthouse", 1),
        ]  # fmt: skip
        assert (told["poll"]["voters"], told["views"], told["forwards"], told["replies"]) == (4, 1_200, 3, 2)
        assert told["as_of"] is not None
        [embed] = told["embeds"]
        assert (embed["title"], embed["fields"][0], embed["at"]) == (
            "Forecast", {"name": "Wind", "value": "5 Bft"}, NOON.isoformat(),
        )  # fmt: skip
        assert (told["preview"]["title"], told["details"], told["via"], told["marks"], told["texts"]) == (
            "Tide tables", {"duration": 12.4}, "helper_bot", ["pinned"], ["Read more"],
        )  # fmt: skip
        assert (told["mentions"], told["expires_at"]) == ({"<@502>": "Bob"}, (NOON + timedelta(days=1)).isoformat())
        [file] = told["files"]
        assert {name: file[name] for name in ("name", "size", "mime", "kind", "form")} == {
            "name": "", "size": 20_480, "mime": "audio/ogg", "kind": "media", "form": "voice",
        }  # fmt: skip
        assert told["person"] == {"id": 502, "name": "Bob", "bot": False, "kind": "person"}
        assert told["raw"] == {"effect": "5104841245755180586"}
        assert (await client.get(f"{MESSAGES}/50")).json()["raw"] is None
        listed = (await client.get(MESSAGES, params={"since": 50, "raw": True})).json()["messages"]
        assert listed == [told]

    async def test_what_a_platform_sent_is_told_whatever_is_in_it(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Halves of characters have a sign in their place, because no JSON can be encoded with them."""
        sent = {"embeds": [{"title": "half \ud83d"}], "\udfff": ["nul \x00"]}
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [replace(everything(50), raw=sent)])
        expected = {"embeds": [{"title": "half \ufffd"}], "\ufffd": ["nul \u2400"]}
        assert (await client.get(f"{MESSAGES}/50", params={"raw": True})).json()["raw"] == expected
        listed = (await client.get(MESSAGES, params={"since": 50, "raw": True})).json()["messages"]
        assert [one["raw"] for one in listed] == [expected]

    async def test_a_message_that_is_still_to_be_completed_says_so(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Of one that was stored before there were these fields, none is claimed to be complete."""
        await database.pool.execute("UPDATE messages SET kind = '', extra = '{\"embeds\": []}' WHERE id = 1")
        told = (await client.get(f"{MESSAGES}/1", params={"raw": True})).json()
        assert (told["kind"], told["fields"], told["raw"]) == ("", "partial", {"embeds": []})
        assert (await client.get(f"{MESSAGES}/2")).json()["fields"] == "complete"

    async def test_nothing_of_a_deleted_message_is_told_unasked(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Neither its content, nor what the platform sent, nor a quotation of it in another message."""
        quoting = replace(everything(71), content=replace(EVERYTHING, reply=Reply(quote="zebra words")))
        async with database.transaction() as connection:
            zebra = MessageContent(service="zebra", texts=("zebra",), details={"title": "zebra"}, via="zebra")
            await messages.store(
                connection, kept.key, [replace(said(70, "zebra"), content=zebra, raw={"title": "zebra"})]
            )
            await messages.store(connection, kept.key, [replace(quoting, reply_to=MessageId(70))])
            await deletions.mark_deleted(connection, kept.key, [MessageId(70)])
        asked = {"since": 70, "raw": True}
        assert "zebra" not in (await client.get(MESSAGES, params=asked)).text
        assert "zebra" not in (await client.get("/api/context/7")).text
        found = (await client.get("/api/search", params={"q": "pier"})).json()["results"]
        assert 71 in [one["id"] for one in found]
        assert "zebra" not in str(found)
        assert (await client.get(MESSAGES, params={**asked, "deleted": True})).text.count("zebra") == 7

    async def test_who_wrote(self, client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
        """A bot, an anonymous administrator and a deleted account are said to be one; what is not known is null."""
        anonymous = MessageContent(marks=("anonymous",))
        async with database.transaction() as connection:
            told = [wrote(80, HELPER, "x"), wrote(81, GONE, "x"), wrote(82, ADMIN, "x", content=anonymous)]
            await messages.store(connection, kept.key, told)
            await people.store(connection, kept.key, [HELPER, GONE])
        found = (await client.get(MESSAGES, params={"since": 80})).json()["messages"]
        assert [(one["person"]["kind"], one["person"]["bot"]) for one in found] == [
            ("bot", True), ("deleted", False), ("anonymous", False),
        ]  # fmt: skip
        assert (await client.get(f"{MESSAGES}/1")).json()["person"]["kind"] is None

    async def test_a_message_with_its_surroundings(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """As many before it as after it."""
        async with database.transaction() as connection:
            await messages.store(connection, kept.key, [said(number, "x") for number in range(10, 30)])
        page = (await client.get(MESSAGES, params={"around": 20, "limit": 6})).json()
        assert [one["id"] for one in page["messages"]] == [17, 18, 19, 20, 21, 22, 23]
        assert (page["older"], page["newer"]) == (17, 24)
