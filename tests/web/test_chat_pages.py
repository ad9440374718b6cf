"""A channel's messages as a chat, as a browser without script gets them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.held import NOON
from tests.history.rich_messages import ADA, BOB, GONE, HELPER, everything, file, lively_chat, wrote
from tests.scans.stored_channels import add_channel
from tests.web.chat_channel import harbour, store
from tests.web.visiting import sign_in, visiting
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AlbumId, ChannelId, MessageId, TopicId
from tidegate.core.message_content import Forward, MessageContent, MessageKind, OriginKind, Poll, PollAnswer, Reply
from tidegate.database.pool import Database
from tidegate.history.message_documents import message_shown
from tidegate.history.queries import deletions, erasure, timeline
from tidegate.history.queries.timeline import TimelineBounds
from tidegate.people.queries import people
from tidegate.platforms.interface import Channel, ChannelKind, FileForm, Reaction
from tidegate.platforms.telegram import TELEGRAM

__all__ = ["harbour"]  # a fixture


@pytest.fixture
async def client(database: Database, harbour: KnownChannel) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in."""
    async with visiting(database) as opened:
        await sign_in(opened, database)
        yield opened


async def chat(client: httpx.AsyncClient, harbour: KnownChannel, **asked: object) -> str:
    """The page, without the line ends between its tags."""
    answer = await client.get(f"/channels/{harbour.key}/messages", params={**asked})
    assert answer.status_code == 200, answer.text
    return re.sub(r">\s+<", "><", answer.text)


def rows(page: str) -> list[str]:
    """The messages of a page, each with its classes."""
    return re.findall(r'<li id="m\d+" class="msg.*?</li>(?=<li id="m|</ol>)', page, re.DOTALL)


async def test_an_erased_message_leaves_its_place(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """When it was erased is said, and nobody is named; its document says the same."""
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, "burn after reading"), wrote(2, BOB, "read"))
        await erasure.erase(connection, harbour.key, [MessageId(1)])
    erased, left = rows(await chat(client, harbour))
    assert ("Erased" in erased, "burn" in erased, ADA.name in erased) == (True, False, False)
    assert ("Erased" in left, "read" in left) == (False, True)
    async with database.connection() as connection:
        found = await timeline.before(connection, harbour, None, TimelineBounds(5))
    shown = [message_shown(one, deleted=True) for one in found.messages]
    assert [(one.text, one.erased_at is None, one.person is None) for one in shown] == [
        ("", False, True),
        ("read", True, False),
    ]


async def test_a_private_chat_says_whose_it_is(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Two accounts may have a chat with the same person; other channels are nobody's."""
    assert "Private chat of" not in await chat(client, harbour)
    async with database.transaction() as connection:
        assert harbour.reader is not None
        seen = [Channel(ChannelId(2_199_000_000_001), "Ada", kind=ChannelKind.PRIVATE_CHAT)]
        await channels.see(connection, TELEGRAM, harbour.reader, seen)
        ada = await channels.find(connection, "Ada")
    assert 'Private chat of <a href="/accounts"><bdi class="name">reader</bdi></a>' in await chat(client, ada)


async def test_every_kind_of_content_is_shown(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Formatting, replies, forwards, polls, cards, previews, files, places, and what nobody knows yet."""
    async with database.transaction() as connection:
        await store(connection, harbour, *lively_chat())
    page = await chat(client, harbour)
    for shown in (
        "<b>Bold</b> and <i>italic</i>, <code>code</code>",
        'aria-label="Show the hidden text"',
        '<a href="https://example.org/tide" rel="noopener noreferrer nofollow ugc" target="_blank">a link to read</a>',
        '<span class="host"> (example.org)</span>',
        "Forwarded from <strong>",
        "Sea News",
        "Where shall we meet?",
        "3 votes · 75%",
        "4 voters",
        "Forecast",
        "5 Bft",
        'fill="#2e86c1"',
        "Tide tables",
        "Bob joined the group",
        "1,200 views",
        "pinned",
        "via ",
        '<pre data-language="python">',
        "<blockquote>and read &gt; docs</blockquote>",
        "right answer:",
        "0:12",
        "53.86540, 8.70140",
        "Alte Liebe",
        "5.6 MB",
        "unsupported: ",
        "MessageMediaHologram",
        "high water at noon",
        '<span class="badge">bot</span>',
        '<span class="badge">anonymous admin</span>',
        '<span class="badge">deleted account</span>',
        "/people/telegram/501",
    ):
        assert shown in page, shown
    assert "partial" not in page


async def test_authors_and_days_are_said_once(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Consecutive messages of one author are a group, until another day, another author or ten minutes."""
    times = [NOON, NOON + timedelta(minutes=1), NOON + timedelta(minutes=20), NOON + timedelta(days=1)]
    async with database.transaction() as connection:
        told = [wrote(number, ADA, "x", at=at) for number, at in enumerate(times, start=1)]
        await store(connection, harbour, *told, wrote(5, BOB, "x", at=times[-1]))
    found = [row.partition('" data-author')[0].partition("msg")[2] for row in rows(await chat(client, harbour))]
    assert found == [" new-day", " same same-topic", " same-topic", " new-day same-topic", " same-topic"]


async def test_an_album_is_one_message_also_at_the_edge_of_a_page(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """All its files are in one bubble; a page ends before an album that does not fit on it."""
    album = [
        wrote(n, ADA, "caption" if n == 11 else "", album=AlbumId(9), files=(file(n, f"{n}.jpg", FileForm.IMAGE),))
        for n in range(10, 14)
    ]
    async with database.transaction() as connection:
        await store(connection, harbour, *album, *(wrote(n, BOB, "x") for n in range(20, 78)))
    page = await chat(client, harbour)
    assert ("13.jpg" in page, len(rows(page))) == (False, 58)
    before = rows(await chat(client, harbour, before=20))
    assert [(row.count(".jpg"), 'id="m12"' in row, "caption" in row) for row in before] == [(4, True, True)]


async def test_a_topic_is_named_once_per_change_and_only_in_a_forum(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """By its title, or its number while that is not known."""
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO places (channel, topic, title) VALUES ($1, 5, 'Boats')", harbour.key)
        told = [wrote(n, ADA, "x", topic=TopicId(topic)) for n, topic in ((1, 5), (2, 5), (3, 6))]
        await store(connection, harbour, *told)
    found = rows(await chat(client, harbour))
    assert ["same-topic" in row for row in found] == [False, True, False]
    assert ("Boats" in found[0], "Topic 6" in found[2]) == (True, True)
    await database.pool.execute("UPDATE channels SET forum = false")
    assert "topic-name" not in await chat(client, harbour)


async def test_a_message_in_the_middle_of_its_surroundings(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Thirty before it and thirty after it, and it is marked; of one that is not stored its neighbours are shown."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, "x") for n in range(100, 200) if n != 150))
    found = rows(await chat(client, harbour, around=140))
    assert (len(found), [row for row in found if " mark" in row] == [found[30]], 'id="m140"' in found[30]) == (
        61, True, True,
    )  # fmt: skip
    page = await chat(client, harbour, around=150)
    assert ("Message 150 is not stored" in page, 'id="m149"' in page, 'id="m151"' in page) == (True, True, True)


async def test_an_album_at_the_edge_of_the_surroundings_is_whole(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Thirty messages before and after are shown, and the rest of an album that begins or ends among them."""
    albums = {**dict.fromkeys(range(15, 25), AlbumId(1)), **dict.fromkeys(range(80, 83), AlbumId(2))}
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, "x", album=albums.get(n)) for n in range(1, 101)))
    page = await chat(client, harbour, around=50)
    shown = [int(number) for number in re.findall(r'<(?:li|span) id="m(\d+)"', page)]
    assert sorted(shown) == [*range(15, 83)]
    assert ("before=15" in page, "since=83" in page) == (True, True)


async def test_a_reply_leads_to_what_it_answers(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """With its beginning, or what it was; of a deleted one it is said."""
    photo = wrote(2, BOB, "", kind=MessageKind.PHOTO)
    replies = [wrote(10 + n, ADA, "yes", reply_to=MessageId(n)) for n in (1, 2, 3, 99)]
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, BOB, "shall we?"), photo, wrote(3, BOB, "oh"), *replies)
        await deletions.mark_deleted(connection, harbour.key, [MessageId(3)])
    found = rows(await chat(client, harbour))[-4:]
    for row, said in zip(
        found, ("shall we?", ">photo<", "deleted message", "a message that is not stored"), strict=True
    ):
        assert said in row
    assert f'href="/channels/{harbour.key}/messages?around=1#m1"' in found[0]


async def test_a_reply_leads_into_another_channel(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Where that is known here; else it is only said."""
    async with database.transaction() as connection:
        other = await add_channel(connection, harbour.reader, 8)
        known = MessageContent(reply=Reply(MessageId(5), other.number, "Carl", "high water"))
        unknown = MessageContent(reply=Reply(MessageId(5), ChannelId(99), "Carl"))
        told = [wrote(n, ADA, "x", reply_to=MessageId(1), content=one) for n, one in ((1, known), (2, unknown))]
        await store(connection, harbour, *told)
    first, second = rows(await chat(client, harbour))
    assert f'href="/channels/{other.key}/messages?around=5#m5"' in first
    assert ("in another chat" in second, 'class="reply"><a' in second) == (True, False)


async def test_a_long_message_can_be_read_whole(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Twenty-five lines of it at once, the rest unfolds; an extremely long one has a page of its own."""
    lines = "\n".join(f"line {number}." for number in range(1, 61))
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, lines), wrote(2, BOB, "word " * 10_000 + "the end"))
    first, second = rows(await chat(client, harbour))
    shown, _, folded = first.partition("<details")
    assert ("line 25." in shown, "line 26." in shown, "line 60." in folded) == (True, False, True)
    assert ("the end" in second, f"/channels/{harbour.key}/messages/2" in second) == (False, True)
    alone = (await client.get(f"/channels/{harbour.key}/messages/2")).text.partition("<main")[2]
    assert ("the end" in alone, "<details" in alone) == (True, False)
    assert (await client.get(f"/channels/{harbour.key}/messages/3")).status_code == 404


async def test_one_message_with_what_the_platform_sent(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Its page has what no field holds."""
    async with database.transaction() as connection:
        await store(connection, harbour, everything(2))
    assert "5104841245755180586" in (await client.get(f"/channels/{harbour.key}/messages/2")).text


async def test_what_a_platform_sent_is_shown_whatever_is_in_it(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Half of a character, which no answer can be encoded with, is shown as a sign in its place."""
    sent = {"embeds": [{"title": "half \ud83d"}], "\udfff": ["nul \x00"], "limit": float("inf")}
    async with database.transaction() as connection:
        await store(connection, harbour, replace(everything(2), raw=sent))
    answer = await client.get(f"/channels/{harbour.key}/messages/2")
    assert (answer.status_code, "half \ufffd" in answer.text) == (200, True)


async def test_an_album_shows_all_that_its_parts_have(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Each picture may have a text, earlier texts, reactions and a pin of its own."""
    album = [
        wrote(n, ADA, f"caption {n}" if n > 10 else "", album=AlbumId(9), files=(file(n, "x.jpg", FileForm.IMAGE),))
        for n in range(10, 13)
    ]
    pinned = MessageContent(marks=("pinned",))
    album[0] = replace(album[0], reactions=(Reaction("👍", 2),), content=pinned)
    album[2] = replace(album[2], reactions=(Reaction("👍", 1),))
    async with database.transaction() as connection:
        await store(connection, harbour, *album)
        edited = replace(album[2], text="other words", edited_at=NOON + timedelta(hours=2))
        await store(connection, harbour, edited)
    [row] = rows(await chat(client, harbour))
    expected = ("caption 11", "other words", "caption 12", ">pinned<", ">edited<")
    assert [words for words in expected if words not in row] == []
    assert '<span class="number">3</span>' in row


async def test_reactions_to_an_announcement_are_shown(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Telegram lets people react to what it announces."""
    joined = MessageContent(service="Bob joined the group")
    told = wrote(1, BOB, kind=MessageKind.SERVICE, content=joined, reactions=(Reaction("🎉", 4),))
    async with database.transaction() as connection:
        await store(connection, harbour, told)
    assert '<span class="number">4</span>' in await chat(client, harbour)


async def test_votes_that_are_not_known_are_not_shown_as_none(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """A poll whose numbers the platform does not tell has no bars."""
    poll = MessageContent(poll=Poll("Where?", (PollAnswer("0", "Here"),)))
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, "", kind=MessageKind.POLL, content=poll))
    page = await chat(client, harbour)
    assert ("Where?" in page, "<progress" in page, "vote" in page) == (True, False, False)


async def test_pages_say_what_is_still_to_be_completed(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """While messages lack fields, no page calls their channel complete."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, "x") for n in range(1, 6)))
        await connection.execute("UPDATE places SET newest_seen = 5")
        await connection.execute(
            "INSERT INTO coverage (channel, kind, spans) "
            "SELECT $1, kind, '{[0,6)}' FROM unnest('{messages,documents}'::text[]) kind",
            harbour.key,
        )
    at = ("/channels", f"/channels/{harbour.key}/options")
    for path in at:
        assert "complete history" in (await client.get(path)).text
    await database.pool.execute("UPDATE messages SET kind = '' WHERE id IN (1, 2)")
    for path in at:
        text = (await client.get(path)).text
        assert ("complete history" in text, "complete, some details still to be read" in text) == (False, True)
    for path in (at[1], f"/channels/{harbour.key}/messages"):
        assert "2 of 5 messages are still to be completed" in (await client.get(path)).text


async def test_very_many_messages_are_not_counted_for_a_page(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a number: beyond a bound the pages say "more than"."""
    monkeypatch.setattr("tidegate.history.queries.partial_share.COUNTED", 3)
    monkeypatch.setattr("tidegate.web.pages.library.channel._COUNTED", 3)
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, "x") for n in range(1, 6)))
    await database.pool.execute("UPDATE messages SET kind = '' WHERE id IN (1, 2)")
    at = f"/channels/{harbour.key}/options"
    assert "2 of more than 3 messages are still to be completed" in (await client.get(at)).text
    await database.pool.execute("UPDATE messages SET kind = ''")
    page = (await client.get(at)).text
    assert "More than 3 messages are still to be completed" in page
    assert "more than 3 messages," in page


async def test_a_thread_says_where_it_is(client: httpx.AsyncClient, database: Database, harbour: KnownChannel) -> None:
    """The channel above it is in the heading, and a message leads to its thread."""
    async with database.transaction() as connection:
        thread = await add_channel(connection, harbour.reader, 8)
        await connection.execute("UPDATE channels SET parent = 7, kind = 'thread' WHERE id = $1", thread.key)
        await store(connection, harbour, replace(wrote(1, ADA, "x"), thread=8))
        await store(connection, thread, wrote(1, ADA, "x"))
    assert f'<a href="/channels/{thread.key}/messages">' in await chat(client, harbour)
    assert f'<a href="/channels/{harbour.key}/messages">' in await chat(client, thread)


async def test_the_page_of_an_author(client: httpx.AsyncClient, database: Database, harbour: KnownChannel) -> None:
    """Names and usernames over time; a bot, a channel or a deleted account is said to be one."""
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, "x"), wrote(2, HELPER, "x"), wrote(3, GONE, "x"))
        await people.store(connection, harbour.key, [replace(ADA, name="Ada King", usernames=("ada", "king"))])
    text = (await client.get("/people/telegram/501")).text
    for shown in ("Ada King", "Ada Lovelace", "@king", "<dd>Person</dd>", "/messages?q=from%3A501"):
        assert shown in text
    assert "<dd>Bot</dd>" in (await client.get("/people/telegram/503")).text
    assert "Deleted account" in (await client.get("/people/telegram/505")).text
    for path in ("/people/telegram/999", "/people/discord/501", "/people/nowhere/501"):
        assert (await client.get(path)).status_code == 404


async def test_texts_in_markdown_are_shown_as_their_platform_does(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """Marks become formatting, numbers become names, in texts, forwards, earlier versions and quotations."""
    written = "**Meet** <@502> at <#8>"
    content = MessageContent(mentions={"<@502>": "Bob", "<#8>": "general"})
    forwarded = MessageContent(forward=Forward(OriginKind.CHANNEL, "news", text="a **copy**"))
    async with database.transaction() as connection:
        await connection.execute("UPDATE channels SET platform = 'discord'")
        await store(connection, harbour, wrote(1, ADA, written, content=content))
        edited = replace(wrote(1, ADA, f"{written}!", content=content), edited_at=NOON)
        answer = wrote(2, BOB, "yes", reply_to=MessageId(1))
        await store(connection, harbour, edited, answer, wrote(3, BOB, "", content=forwarded))
    first, second, third = rows(await chat(client, harbour))
    assert first.count('<b>Meet</b><a class="mention" href="/people/discord/502">@Bob</a> at ') == 2
    assert ("Meet @Bob at #general!" in second, "a <b>copy</b>" in third) == (True, True)


async def test_what_an_announcement_is_about_is_linked(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """A pin leads to the message that was pinned, in its surroundings."""
    pinned = MessageContent(service="Ada pinned a message")
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, "Opening hours <b>"))
        await store(connection, harbour, wrote(2, ADA, kind=MessageKind.SERVICE, content=pinned, reply_to=MessageId(1)))
    page = await chat(client, harbour)
    at = f"/channels/{harbour.key}/messages?around=1#m1"
    assert f'<a href="{at}"><bdi>Opening hours &lt;b&gt;</bdi></a>' in rows(page)[1]


async def test_a_message_without_anything_to_show_says_so(
    client: httpx.AsyncClient, database: Database, harbour: KnownChannel
) -> None:
    """No bubble is empty."""
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA), wrote(2, ADA, "a text"))
    assert ["No text" in row for row in rows(await chat(client, harbour))] == [True, False]
