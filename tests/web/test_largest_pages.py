"""However much there is of something, an answer of the API has so much of it, and says how to go on."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.history.stored_messages import kept
from tests.web.api_client import client
from tests.web.archive_builder import add_archive
from tests.web.visiting import sign_in, visiting
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.history.queries import coverage, timeline
from tidegate.history.rules.coverage import Content, Coverage

__all__ = ["client", "kept"]  # fixtures


async def get(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_is_inside_an_archive(client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
    """The first thousand files with the archive itself; the others are its contents after them."""
    async with database.transaction() as connection:
        archive = await add_archive(connection, kept, "Dragons.zip", *(f"scale-{number}" for number in range(1_003)))
    shown = await get(client, f"/api/archives/{archive}")
    assert (len(shown["inside"]), shown["contents"], shown["next"]) == (1_000, 1_003, 1_000)
    rest = await get(client, f"/api/archives/{archive}/contents?after={shown['next']}")
    assert ([one["path"] for one in rest["inside"]], rest["next"]) == (["scale-1000", "scale-1001", "scale-1002"], None)


async def test_the_topics_of_a_forum(client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
    """The first five hundred with the channel; the others are its topics after them."""
    await database.pool.execute(
        "INSERT INTO places (channel, topic, title) SELECT $1, n, 'T' || n FROM generate_series(2, 503) n", kept.key
    )
    shown = await get(client, "/api/channels/7")
    assert (len(shown["topics"]), shown["next"]) == (500, 501)
    rest = await get(client, f"/api/channels/7/topics?after={shown['next']}")
    assert ([one["title"] for one in rest["topics"]], rest["next"]) == (["T502", "T503"], None)
    await database.pool.execute("DELETE FROM places WHERE topic > 501")
    assert (await get(client, "/api/channels/7"))["next"] is None


async def test_what_a_message_said_before(client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
    """The newest ten earlier texts in a list, more of a message alone, and how many there are."""
    for number in range(timeline.EARLIER_OF_EACH + 3):
        await database.pool.execute("UPDATE messages SET text = $1 WHERE id = 1", f"said {number}")
    listed = (await get(client, "/api/channels/7/messages"))["messages"][0]
    assert ([one["text"] for one in listed["earlier"]], listed["revisions"]) == (
        [f"said {n}" for n in range(2, 12)],
        13,
    )
    alone = await get(client, "/api/channels/7/messages/1")
    assert (len(alone["earlier"]), alone["earlier"][0]["text"], alone["revisions"]) == (13, "which tower?", 13)


@pytest.mark.parametrize("path", ["/api/accounts", "/api/reminders", "/api/calls?by=account"])
async def test_plain_lists(client: httpx.AsyncClient, database: Database, path: str) -> None:
    """Rows after so many, each once and in order; a list with fewer than were asked for is the last."""
    await database.pool.execute(
        """
        INSERT INTO accounts (name, platform) SELECT 'account ' || n, 'telegram' FROM generate_series(1, 4) n;
        INSERT INTO calls (account, kind, method, outcome, at) SELECT id, 'work', 'read', 'ok', now() FROM accounts;
        INSERT INTO reminders (name, account, written, timezone)
        SELECT 'reminder ' || n, (SELECT min(id) FROM accounts), '{"targets": ["x"], "parts": [], "timezone": "UTC",
            "delivery_window_start_hour": 6, "delivery_window_end_hour": 18}', 'UTC' FROM generate_series(1, 5) n
        """
    )
    everything = await get(client, path)
    assert len(everything) == 5
    sign = "&" if "?" in path else "?"
    pages = [await get(client, f"{path}{sign}limit=2&skip={skip}") for skip in (0, 2, 4)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [row for page in pages for row in page] == everything
    for beyond in ("limit=1001", "limit=0", "skip=-1"):
        assert (await client.get(f"{path}{sign}{beyond}")).status_code == 422


MANY = 20_000


async def _full_of_gaps(database: Database, kept: KnownChannel) -> None:
    """Every second message of the channel was read."""
    await database.pool.execute(
        """
        INSERT INTO coverage (channel, topic, kind, spans)
        SELECT $1, 0, kind, (SELECT range_agg(int8range(2 * n, 2 * n + 1)) FROM generate_series(1, $2) n)
        FROM unnest(ARRAY['messages', 'documents']) kind
        """,
        kept.key, MANY,
    )  # fmt: skip
    await database.pool.execute(
        "UPDATE places SET newest_seen = $2 WHERE channel = $1 AND topic = 0", kept.key, 2 * MANY
    )


async def test_gaps_of_a_channel(client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
    """The newest thousand stretches and gaps of each kind, in order, and how many there are."""
    await _full_of_gaps(database, kept)
    shown = await get(client, "/api/channels/7")
    for kind in ("messages", "documents"):
        assert (len(shown["gaps"][kind]), shown["gap_count"][kind]) == (1_000, MANY)
        assert (len(shown["coverage"][kind]), shown["coverage_count"][kind]) == (1_000, MANY)
        assert shown["gaps"][kind][-1] == [2 * MANY - 1, 2 * MANY - 1]
        assert shown["coverage"][kind][-1] == [2 * MANY, 2 * MANY]
        assert shown["gaps"][kind] == sorted(shown["gaps"][kind])


@pytest.mark.parametrize("where", ["/channels", "/channels/{key}/technical"])
async def test_gaps_on_a_page(database: Database, kept: KnownChannel, where: str) -> None:
    """All are counted, some listed, and a picture has no more bars than it is wide."""
    await _full_of_gaps(database, kept)
    async with visiting(database) as visitor:
        await sign_in(visitor, database)
        shown = (await visitor.get(where.format(key=kept.key))).text
    assert ("Files: 50% read, 20,000 gaps" in shown, shown.count("<rect") < 1_100) == (True, True)
    assert ("and 19,950 more" in shown, shown.count(" to 3")) == (("{key}" in where), 50 if "{key}" in where else 0)


async def test_very_many_stretches_are_read_beside_the_loop(database: Database, kept: KnownChannel) -> None:
    """The loop is free while they are made out of what the database says; few are read at once."""
    await _full_of_gaps(database, kept)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1, thread_name_prefix="watched"))
    async with database.connection() as connection:
        assert (await coverage.load(connection, kept.key, 5)) == {kind: Coverage() for kind in Content}
        assert not _watched_threads()
        known = await coverage.load(connection, kept.key)
        assert _watched_threads()
        assert {kind: len(one.spans) for kind, one in known.items()} == dict.fromkeys(Content, MANY)
        assert (await coverage.load_many(connection, [kept.key]))[kept.key] == known


def _watched_threads() -> list[str]:
    """Threads of the loop's own executor, which starts them when it first has work."""
    return [one.name for one in threading.enumerate() if one.name.startswith("watched")]
