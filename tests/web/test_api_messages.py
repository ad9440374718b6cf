"""The API about a channel's messages as people read them: both ways, from a date on, edits and tombstones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.held import NOON
from tests.store.test_context import kept, said
from tests.web.test_api import client, refused, token
from tidegate.port import MessageId
from tidegate.store import messages
from tidegate.store.channels import Kept
from tidegate.store.database import Database

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

    async def test_a_date_is_jumped_to(self, client: httpx.AsyncClient, database: Database, kept: Kept) -> None:
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
            ({"at": "soon"}, 400, "at:soon is no date"),
            ({"at": "2026", "zone": "Mars"}, 400, "no time zone"),
            ({"before": "2", "since": "1"}, 400, "not for two of these"),
            ({"before": "0"}, 422, "query.before"),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, asked: dict[str, str], status: int, sentence: str
    ) -> None:
        """Law 12: what was wrong, and where."""
        assert sentence in refused(await client.get(MESSAGES, params=asked), status)

    async def test_a_narrow_token_reads_its_own(self, client: httpx.AsyncClient, database: Database) -> None:
        """Neither the channel nor a message of it is there for another's token."""
        client.headers["authorization"] = f"Bearer {await token(database, 'narrow', 999)}"
        for path in (MESSAGES, f"{MESSAGES}/1"):
            assert "reads no channel" in refused(await client.get(path), 404)
