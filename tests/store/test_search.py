"""Searching the store: words of any language, filters, both orders, and how far back it looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.store.test_messages import channel, file
from tests.store.test_mirror import add_account, add_channel
from tidegate.port import Message, MessageId
from tidegate.rules.querying import read_query
from tidegate.store import messages, windows
from tidegate.store.database import Connection, Database
from tidegate.store.search import Asked, Order, Results, _matches, search
from tidegate.store.windows import Expected, back_from


def here(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


async def find(
    connection: Connection, typed: str, *, order: Order = Order.NEWEST, most: int = 50, within: list[int] | None = None
) -> Results:
    return await search(connection, read_query(typed, here), channels=within, order=order, most=most)


async def ids(
    connection: Connection, typed: str, *, order: Order = Order.NEWEST, within: list[int] | None = None
) -> list[int]:
    return [one.id for one in (await find(connection, typed, order=order, within=within)).found]


def said(number: int, text: str, author: str = "Ada Lovelace") -> Message:
    return Message(MessageId(number), NOON + timedelta(days=number), author, text, author_id=1_000 + len(author))


TEXTS = [
    said(1, "The red dragon sleeps"),
    said(2, "A dragon, red as fire", "Bob"),
    said(3, "東京都の天気はどうですか"),
    said(4, "我们明天去北京大学图书馆"),
    said(5, "ฉันชอบภาษาไทยมาก"),
    said(6, "Привет МИР"),
    said(7, "ラーメンが食べたい、猫"),
]


class TestLanguages:
    @pytest.mark.parametrize(
        ("typed", "found"),
        [
            ("天気", [3]),
            ("東京", [3]),
            ("京都", [3]),
            ("気天", []),
            ("北京大学", [4]),
            ("图书馆", [4]),
            ("大学 明天", [4]),
            ("学大", []),
            ("馆", [4]),
            ("ไทย", [5]),
            ("ภาษา", [5]),
            ("ภาษาอังกฤษ", []),
            ("мир", [6]),
            ("ПРИ", [6]),
            ("ﾗｰﾒﾝ", [7]),
            ("猫", [7]),
            ("食べ", [7]),
        ],
    )
    async def test_a_word_inside_a_text_is_found(self, database: Database, typed: str, found: list[int]) -> None:
        """Chinese, Japanese and Thai by a word inside them; Cyrillic in any case; half-width as full-width."""
        async with database.transaction() as connection:
            await messages.store(connection, await channel(connection), TEXTS)
            assert await ids(connection, typed) == found


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet="天地玄黄宇宙洪荒日月ไทยภา", min_size=2, max_size=12),
    start=st.integers(0, 10),
    length=st.integers(1, 5),
)
async def test_every_piece_of_a_text_without_spaces_finds_it(
    database: Database, text: str, start: int, length: int
) -> None:
    """Wherever the piece is cut out, and nothing else is taken for it."""
    piece = text[start : start + length] or text[:2]
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            await messages.store(connection, await channel(connection), [said(1, text), said(2, "别的")])
            assert await ids(connection, piece) == [1]
        finally:
            await transaction.rollback()


class TestAsking:
    async def test_phrases_are_words_in_order(self, database: Database) -> None:
        """Next to each other and complete, while a plain word counts from its beginning on."""
        async with database.transaction() as connection:
            await messages.store(connection, await channel(connection), TEXTS)
            assert await ids(connection, "red drag") == [2, 1]
            assert await ids(connection, '"red dragon"') == [1]
            assert await ids(connection, '"red drag"') == []

    @pytest.mark.parametrize(
        ("typed", "found"),
        [
            ("dragon author:bob", [2]),
            ("dragon author:love", [1]),
            ('dragon author:"ada l"', [1]),
            ("author:1003", [2]),
            ("author:100", []),
            ("dragon after:2026-03", [2]),
            ("dragon before:2026-03-03", []),
        ],
    )
    async def test_filters(self, database: Database, typed: str, found: list[int]) -> None:
        """Who wrote it, by any word of the name or by number, and when."""
        async with database.transaction() as connection:
            at = datetime(2026, 3, 3, tzinfo=UTC)
            dragons = [replace(TEXTS[0], at=at - timedelta(days=30)), replace(TEXTS[1], at=at)]
            if typed.startswith("dragon before"):
                dragons = [replace(one, at=at) for one in dragons]
            await messages.store(connection, await channel(connection), dragons)
            assert await ids(connection, typed) == found

    async def test_messages_with_files(self, database: Database) -> None:
        """has:file finds those that carry one, and a message is found by the name of any of its files."""
        two = replace(said(1, "look"), files=[file(5, "Red_Dragon.zip"), file(6, "башня.stl")])
        async with database.transaction() as connection:
            await messages.store(connection, await channel(connection), [two, said(2, "look")])
            assert await ids(connection, "look has:file") == [1]
            [found] = (await find(connection, "БАШНЯ dragon")).found
            assert (found.text, found.files) == ("look", ("Red_Dragon.zip", "башня.stl"))
            assert await ids(connection, '"look red"') == []

    async def test_one_channel_or_several(self, database: Database) -> None:
        """Only there, and nowhere when there is none to look in."""
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            keys = [(await add_channel(connection, account, number)).key for number in (7, 8)]
            for key in keys:
                await messages.store(connection, key, [said(1, "tower")])
            query = read_query("tower", here)
            for wanted, numbers in ((None, [7, 8]), (keys[1:], [8]), ([], [])):
                found = (await search(connection, query, channels=wanted, most=5)).found
                assert sorted(one.channel for one in found) == numbers

    async def test_an_edited_message_is_found_by_what_it_says_now(self, database: Database) -> None:
        """Its words move with its text."""
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(1, "tower")])
            await messages.store(connection, key, [replace(said(1, "castle"), edited_at=NOON)])
            assert (await ids(connection, "tower"), await ids(connection, "castle")) == ([], [1])


class TestOrder:
    async def test_by_relevance(self, database: Database) -> None:
        """A word counts for more the more often it stands there and the less else does; equal ones newest first."""
        texts = ["tower", "tower and a great many other things that nobody asked about", "tower tower", "tower"]
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(number, text) for number, text in enumerate(texts, start=1)])
            assert await ids(connection, "tower") == [4, 3, 2, 1]
            assert await ids(connection, "tower", order=Order.RELEVANCE) == [3, 4, 1, 2]

    async def test_it_says_among_how_many_it_weighed(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        """Relevance is weighed among the newest matches; when there are more, the number is told."""
        monkeypatch.setattr("tidegate.store.search.RANKED", 3)
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(1, "tower tower"), said(2, "tower")])
            few = await find(connection, "tower", order=Order.RELEVANCE, most=1)
            assert (few.weighed, few.more) == (None, True)
            await messages.store(connection, key, [said(number, "tower") for number in (3, 4)])
            many = await find(connection, "tower", order=Order.RELEVANCE, most=1)
            assert (many.weighed, many.found[0].id) == (3, 4)


class TestWindows:
    @pytest.mark.parametrize("order", Order)
    async def test_a_window_changes_nothing_but_the_time_it_takes(
        self, database: Database, monkeypatch: pytest.MonkeyPatch, order: Order
    ) -> None:
        """What is found through windows is what is found without: for common words, and for those long out of use."""
        # A hundred and more words: about fewer PostgreSQL's statistics say nothing of a word's beginning.
        texts = [
            f"{'old' if number < 300 else 'new'} {'rare' if number % 97 == 0 else 'x'} filler{number % 150}"
            for number in range(1, 600)
        ]
        typed = ["old", "new", "x", "rare", "old rare", "author:ada", "new before:2026-06-30"]
        typed += ["x after:2026-06-30", "x after:2026-06-30 before:2027-03-01"]
        monkeypatch.setattr("tidegate.store.search.RANKED", 40)
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            key, other = [(await add_channel(connection, account, number)).key for number in (7, 8)]
            everything = [said(number, text) for number, text in enumerate(texts, start=1)]
            await messages.store(connection, key, everything[::2])
            await messages.store(connection, other, everything[1::2])
        await database.pool.execute("ANALYZE messages")
        async with database.connection() as connection:
            assert await expected_matches(connection, "old") == pytest.approx(299, abs=5)
            queries = [(query, within) for within in (None, [key]) for query in typed]
            plainly = [await ids(connection, query, order=order, within=within) for query, within in queries]
            monkeypatch.setattr(windows, "_FEW", 5)
            for counted, look in product((20_000, 0), (0.0, 1.0, 1e9)):  # a look that costs nothing; one never worth it
                monkeypatch.setattr(windows, "_COUNTED", counted)
                monkeypatch.setattr(windows, "_LOOK", look)
                found = [await ids(connection, query, order=order, within=within) for query, within in queries]
                assert found == plainly
        assert all(len(found) > 1 for found in plainly[:4])

    async def test_windows_widen_and_end_with_everything(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each reaches farther back than the one before it; few matches, or statistics that are missing, need none."""
        monkeypatch.setattr(windows, "_FEW", 5)
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(number, "x") for number in range(1, 600)])
        await database.pool.execute("ANALYZE messages")
        for counted in (20_000, 0):
            monkeypatch.setattr(windows, "_COUNTED", counted)
            found = await edges(database, expecting(300), depth=10)
            assert (len(found) > 2, found[-1], found[:-1]) == (True, None, sorted(filter(None, found), reverse=True))
        assert await edges(database, expecting(4), depth=10) == [None]
        await database.pool.execute("DELETE FROM pg_statistic WHERE starelid = 'messages'::regclass")
        assert await edges(database, expecting(300), depth=10) == [None]

    async def test_a_sample_tells_what_the_planner_does_not_know(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the thousand words that begin with one character its statistics have a few; they are common together."""
        texts = [f"\u65b0{chr(0x4E00 + number)}" if number % 2 else "else" for number in range(1, 4_000)]
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(number, text) for number, text in enumerate(texts, start=1)])
        await database.pool.execute("ANALYZE messages")
        asked = Asked(read_query("\u65b0", here), None, Order.RELEVANCE, 50)
        async with database.connection() as connection:
            assert await expected_matches(connection, "\u65b0") < 1_000
            monkeypatch.setattr("tidegate.store.search._SAMPLE", 1)
            assert await _matches(connection, asked, 3_999) == pytest.approx(2_000, rel=0.5)


async def expected_matches(connection: Connection, word: str) -> int:
    plan = await connection.fetchval(
        "EXPLAIN (FORMAT JSON) SELECT FROM messages WHERE words @@ $1::text::tsquery", f"'{word}':*"
    )
    return int(json.loads(plan)[0]["Plan"]["Plan Rows"])


def expecting(matches: int) -> Expected:
    return Expected(matches, rows=600, others=600, entries=matches)


async def edges(database: Database, expected: Expected, depth: int) -> Sequence[datetime | None]:
    async with database.connection() as connection:
        return [window.low async for window in back_from(connection, (None, None), expected, depth)]
