"""Searching the store: words of any language, filters, both orders, and how far back it looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.history.message_builder import channel, file
from tests.scans.stored_channels import add_account, add_channel
from tidegate.core.errors import BadInput
from tidegate.core.ids import MessageId, TopicId, UserId
from tidegate.core.message_content import (
    Embed,
    Forward,
    LinkPreview,
    MessageContent,
    MessageKind,
    OriginKind,
    Person,
    Poll,
    PollAnswer,
    Reply,
)
from tidegate.database.pool import Connection, Database
from tidegate.history.queries import deletions, messages
from tidegate.people.queries import people
from tidegate.platforms.interface import File, FileForm, FileRole, Message
from tidegate.search.queries.message_matches import PLANNED_ONCE, SqlValues, matches
from tidegate.search.queries.ranked_hits import SearchResults, count, search
from tidegate.search.rules import search_plan
from tidegate.search.rules.query_language import read_query
from tidegate.search.rules.search_plan import HitOrder, SearchPlan, SearchRequest, Survey, decide_plan

pytestmark = pytest.mark.both_servers


def here(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


async def find(
    connection: Connection,
    typed: str,
    *,
    order: HitOrder = HitOrder.NEWEST,
    most: int = 50,
    within: list[int] | None = None,
) -> SearchResults:
    return await search(connection, read_query(typed, here), channels=within, order=order, most=most)


async def ids(
    connection: Connection, typed: str, *, order: HitOrder = HitOrder.NEWEST, within: list[int] | None = None
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

    async def test_a_quotation_of_a_deleted_message_is_not_shown(self, database: Database) -> None:
        """What is deleted is read nowhere unasked: of the reply the rest stays, and it is found as before."""
        quoting = MessageContent(
            reply=Reply(quote="red dragon", author="Carl"), preview=LinkPreview("https://a.b", title="Tides")
        )
        async with database.transaction() as connection:
            key = await channel(connection)
            answers = [replace(said(n, "so it does"), reply_to=MessageId(n - 7), content=quoting) for n in (8, 9)]
            await messages.store(connection, key, [*TEXTS, *answers])
            await deletions.mark_deleted(connection, key, [MessageId(1)])
            for order in HitOrder:
                found = {one.id: one.texts for one in (await find(connection, "tides", order=order)).found}
                assert found == {8: ("Carl", "Tides"), 9: ("Carl", "red dragon", "Tides")}


class TestOrder:
    async def test_by_relevance(self, database: Database) -> None:
        """A word counts for more the more often it stands there and the less else does; equal ones newest first."""
        texts = ["tower", "tower and a great many other things that nobody asked about", "tower tower", "tower"]
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(number, text) for number, text in enumerate(texts, start=1)])
            assert await ids(connection, "tower") == [4, 3, 2, 1]
            assert await ids(connection, "tower", order=HitOrder.RELEVANCE) == [3, 4, 1, 2]

    async def test_it_says_among_how_many_it_weighed(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        """Relevance is weighed among the newest matches; when there are more, the number is told."""
        monkeypatch.setattr(search_plan, "RANKED", 3)
        async with database.transaction() as connection:
            key = await channel(connection)
            await messages.store(connection, key, [said(1, "tower tower"), said(2, "tower")])
            few = await find(connection, "tower", order=HitOrder.RELEVANCE, most=1)
            assert (few.weighed, few.more) == (None, True)
            await messages.store(connection, key, [said(number, "tower") for number in (3, 4)])
            many = await find(connection, "tower", order=HitOrder.RELEVANCE, most=1)
            assert (many.weighed, many.found[0].id) == (3, 4)


class TestPlans:
    @pytest.mark.parametrize("order", HitOrder)
    async def test_a_plan_changes_nothing_but_the_time_it_takes(
        self, database: Database, monkeypatch: pytest.MonkeyPatch, order: HitOrder
    ) -> None:
        """What each plan finds is what looking at every message finds: common, rare and long unused words, filters."""
        texts = [
            f"{'old' if number < 300 else 'new'} {'rare' if number % 97 == 0 else 'x'} filler{number % 150}"
            for number in range(1, 600)
        ]
        typed = ["old", "new", "x", "rare", "old rare", "x OR rare", "x -old", "author:ada", "new before:2026-06-30"]
        typed += ["x after:2026-06-30", "x after:2026-06-30 before:2027-03-01", "x topic:3", "topic:3"]
        async with database.transaction() as connection:
            account = await add_account(connection, "reader")
            key, other = [(await add_channel(connection, account, number)).key for number in (7, 8)]
            everything = [
                replace(said(number, text), topic=TopicId(number % 5 or 5))
                for number, text in enumerate(texts, start=1)
            ]
            await messages.store(connection, key, everything[::2])
            await messages.store(connection, other, everything[1::2])
            await connection.execute(
                "INSERT INTO places (channel, topic, title) VALUES ($1, 3, ''), ($2, 3, '')", key, other
            )
        await database.pool.execute("ANALYZE messages")
        used: set[tuple[bool, bool]] = set()

        def noted(asked: SearchRequest, survey: Survey) -> SearchPlan:
            plan = choose(asked, survey)
            used.add((plan.by_index, plan.is_bounded))
            return plan

        async with database.connection() as connection:
            queries = [(query, within) for within in (None, [key], [key, other]) for query in typed]
            plainly = [await ids(connection, query, order=order, within=within) for query, within in queries]
            choose = decide_plan
            monkeypatch.setattr("tidegate.search.queries.ranked_hits.decide_plan", noted)
            monkeypatch.setattr("tidegate.search.queries.message_matches.LOOKED", 10)
            monkeypatch.setattr(search_plan, "LOOKED", 10)
            monkeypatch.setattr(search_plan, "RANKED", 50)
            for look, find, dense in product((0.0, 1e9), (0.0, 1e9), (3, 11)):
                monkeypatch.setattr(search_plan, "_LOOK", look)
                monkeypatch.setattr(search_plan, "_FIND", find)
                monkeypatch.setattr(search_plan, "DENSE", dense)
                monkeypatch.setattr("tidegate.search.queries.message_matches.DENSE", dense)
                found = [await ids(connection, query, order=order, within=within) for query, within in queries]
                if order is HitOrder.NEWEST:
                    assert found == plainly
                else:  # by relevance a bounded plan ranks fewer, and never fewer than are shown
                    assert [len(one) for one in found] == [len(one) for one in plainly]
                assert [
                    await count(connection, read_query(query, here), channels=within) for query, within in queries
                ] == [await counted(connection, query, within) for query, within in queries]
        assert used >= {(False, True), (True, False), (True, True)}
        assert all(len(found) > 1 for found in plainly[:4])

    async def test_words_that_only_must_be_missing(self, database: Database) -> None:
        """They narrow a filter, and the index is not asked for them."""
        async with database.transaction() as connection:
            await messages.store(connection, await channel(connection), TEXTS)
            assert await ids(connection, "author:ada -dragon") == [7, 6, 5, 4, 3]

    async def test_many_messages_keep_a_search_away_from_sorting_all_matches(self, database: Database) -> None:
        """Every statement of a search uses an index that has what it needs, also where nothing was analysed yet."""
        async with database.transaction() as connection:
            await messages.store(connection, await channel(connection), [said(number, "x") for number in range(1, 900)])
            asked = SearchRequest(read_query("x", here), None, HitOrder.NEWEST, 20)
            values = SqlValues()
            text = matches(asked, SearchPlan(by_index=True, words="'x':*", low=NOON, time_keys=(1, 2)), "0", values)
            await connection.execute(PLANNED_ONCE)
            plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {text}", *values.all))
            assert "messages_found" in plan
            assert "Seq Scan" not in plan


async def counted(connection: Connection, typed: str, within: list[int] | None) -> int:
    query = read_query(typed, here)
    everything = await search(connection, query, channels=within, most=10_000)
    return len(everything.found)


def shown(name: str, form: FileForm) -> File:
    return replace(file(5, name), form=form)


CARD = Embed(title="Harbour news", description="A lighthouse opens", fields=(("Where", "Northern mole"),))
TEA = Poll("Tea?", (PollAnswer("1", "Oolong"), PollAnswer("2", "Sencha")))
RICH = [
    replace(said(21, "look"), content=MessageContent(embeds=(CARD,)), kind=MessageKind.TEXT),
    replace(
        said(22, ""), kind=MessageKind.POLL, content=MessageContent(poll=Poll("Tea?", (PollAnswer("1", "Oolong"),)))
    ),
    replace(said(23, "see https://example.org"), content=MessageContent(preview=LinkPreview("u", title="A windmill"))),
    replace(said(24, "fwd"), content=MessageContent(forward=Forward(OriginKind.HIDDEN, "Grace", text="Compilers"))),
    replace(said(25, ""), files=[shown("sunset.jpg", FileForm.IMAGE)]),
    replace(said(26, ""), files=[shown("", FileForm.VOICE)]),
    replace(
        said(27, "", "Bob"), service="pinned", kind=MessageKind.SERVICE, content=MessageContent(service="Bob pinned")
    ),
    replace(
        said(29, ""),
        further_files=(replace(shown("sea.png", FileForm.IMAGE), role=FileRole.FORWARD),),
        content=MessageContent(
            forward=Forward(OriginKind.CHANNEL, text="see https://example.org", embeds=(Embed(title="Barometer"),))
        ),
    ),
    replace(said(30, ""), further_files=(replace(shown("wave", FileForm.STICKER), role=FileRole.STICKER),)),
    replace(said(31, "x"), further_files=(replace(shown("ad.png", FileForm.IMAGE), role=FileRole.PREVIEW),)),
    replace(said(28, ""), kind=MessageKind.VENUE, content=MessageContent(details={"title": "Café", "at": ["Pier 9"]})),
]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("lighthouse", [21]),
        ('"northern mole"', [21]),
        ("oolong", [22]),
        ("windmill", [23]),
        ("compilers", [24]),
        ("grace", [24]),
        ("pinned", [27]),
        ("café pier", [28]),
        ("has:embed", [29, 21]),
        ("has:poll", [22]),
        ("has:link", [29, 23]),
        ("has:image", [29, 25]),
        ("has:voice", [26]),
        ("has:file", [30, 29, 26, 25]),
        ("has:file -has:voice", [30, 29, 25]),
        ("has:sticker", [30]),
        ("barometer", [29]),
        ("oolong OR windmill", [23, 22]),
        ("from:Ada -look -fwd has:link", [29, 23]),
    ],
)
async def test_every_text_and_kind_of_a_message_is_found(database: Database, typed: str, found: list[int]) -> None:
    """Embeds, polls, link previews, forwards, service messages, details and files, by words and by has:."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await messages.store(connection, key, RICH)
        assert await ids(connection, typed) == found


async def test_results_come_in_pages_and_are_counted(database: Database) -> None:
    """The pages join without gap or overlap; above a limit nobody counts."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await messages.store(connection, key, [said(number, "tide") for number in range(1, 8)])
        query = read_query("tide", here)
        pages = [await search(connection, query, most=3, skip=skip) for skip in (0, 3, 6)]
        assert [[one.id for one in page.found] for page in pages] == [[7, 6, 5], [4, 3, 2], [1]]
        assert [page.more for page in pages] == [True, True, False]
        assert await count(connection, query) == 7
        assert await count(connection, query, most=5) == 6
        assert await count(connection, query, channels=[]) == 0


async def test_a_topic_is_found_by_title_or_number(database: Database) -> None:
    """In every channel that has such a topic."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await messages.store(connection, key, [replace(said(n, "tide"), topic=TopicId(n)) for n in (1, 2)])
        await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 2, 'Offers Today')", key)
        assert await ids(connection, 'tide topic:"offers today"') == [2]
        assert await ids(connection, "topic:2") == [2]


@pytest.mark.parametrize(
    "typed",
    [
        "Straße",
        "STRASSE",
        "İstanbul",
        "\uff21\uff11",
        "a1",
        "\u039f\u0394\u039f\u03a3",
        "\u03bf\u03b4\u03bf\u03c2",
        "Tide   tables",
    ],
)
async def test_a_topic_is_found_however_its_title_is_written(database: Database, typed: str) -> None:
    """Case, width and spaces make no difference, in no language."""
    titles = ["Straße", "İstanbul", "\uff21\uff11", "\u039f\u0394\u039f\u03a3", "Tide tables"]
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        for number, title in enumerate(titles, start=1):
            await connection.execute(
                "INSERT INTO places (channel, topic, title) VALUES ($1, $2, $3)", key, number, title
            )
        await messages.store(
            connection, key, [replace(said(n, "tide"), topic=TopicId(n)) for n in range(1, len(titles) + 1)]
        )
        meant = {
            "STRASSE": "Straße",
            "a1": "\uff21\uff11",
            "\u03bf\u03b4\u03bf\u03c2": "\u039f\u0394\u039f\u03a3",
            "Tide   tables": "Tide tables",
        }.get(typed, typed)
        assert await ids(connection, f'topic:"{typed}"') == [titles.index(meant) + 1]
        assert await ids(connection, f'tide topic:"{typed}"') == [titles.index(meant) + 1]
        assert await count(connection, read_query(f'topic:"{typed}"', here)) == 1


async def test_an_unknown_topic_is_refused(database: Database) -> None:
    """Also one that only another channel has, which may not be the reader's."""
    async with database.transaction() as connection:
        account = await add_account(connection, "reader")
        key, other = [(await add_channel(connection, account, number)).key for number in (7, 8)]
        await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 2, 'Offers')", other)
        assert await ids(connection, "topic:offers") == []
        for asking in (
            find(connection, "topic:elsewhere"),
            find(connection, "topic:offers", within=[key]),
            count(connection, read_query("topic:offers", here), hidden=[other]),
        ):
            with pytest.raises(BadInput, match="There is no topic"):
                await asking


async def test_an_author_is_found_by_every_name_they_had(database: Database) -> None:
    """Messages keep the name of their time; who was renamed is found by the earlier name and by the present one."""
    ada = Person(UserId(7), "Ada Byron")
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        for number, name in ((1, "Ada Byron"), (2, "Countess of Lovelace")):
            person = replace(ada, name=name)
            told = replace(said(number, "tide", name), author_id=ada.id, person=person)
            await people.store(connection, key, [person])
            await messages.store(connection, key, [told])
        await messages.store(connection, key, [said(3, "tide", "Bob")])
        for typed in ("from:byron", "from:lovelace", 'from:"countess of"', "from:7", "tide from:ada"):
            assert await ids(connection, typed) == [2, 1], typed
        assert await ids(connection, "from:bob") == [3]
