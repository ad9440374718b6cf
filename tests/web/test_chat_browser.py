"""A channel's messages as a chat in a real browser: live, scrolled, by keyboard, and with hostile content."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import expect

from tests.held import NOON
from tests.history.rich_messages import ADA, BOB, NUMBERS, file, lively_chat, wrote
from tests.web.browser_pages import PHONE, pages
from tests.web.browsing import Watched, needs_browser
from tests.web.chat_channel import harbour, store
from tests.web.hostile_words import HOSTILE
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AlbumId, MessageId, UserId
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
    SpanKind,
    TextSpan,
)
from tidegate.database.pool import Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.queries import deletions, message_patches, messages
from tidegate.platforms.interface import FileForm, Message, Reacted, Reaction, Voted

__all__ = ["harbour"]  # a fixture

pytestmark = needs_browser

LOADED = "https://evil.example/x.png"
EVIL = (
    f'<img src="{LOADED}" onerror="alert(1)"><script src="{LOADED}"></script><iframe src="{LOADED}"></iframe>'
    f"\u202e{HOSTILE}"
)
ADDRESSES = (LOADED, "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "//evil.example", EVIL)


def at(harbour: KnownChannel, query: str = "") -> str:
    return f"/channels/{harbour.key}/messages{query}"


async def post(database: Database, harbour: KnownChannel, *told: Message) -> None:
    """Messages come, and whoever listens is told."""
    async with database.transaction() as connection:
        await store(connection, harbour, *told)
        read = ChannelRead(channel=harbour.number, topic=None, messages=len(told), archives=0, live=True)
        await feed.record(connection, harbour.title, read)


async def top_of(watched: Watched, message: str) -> float:
    """How far below the top of the screen a message is."""
    place: float = await watched.page.locator(message).evaluate("one => one.getBoundingClientRect().top")
    return place


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_lively_chat_on_any_screen(database: Database, harbour: KnownChannel, theme: Any) -> None:
    """No error, no other host, no serious finding of axe-core, and nothing wider than the screen."""
    async with database.transaction() as connection:
        await store(connection, harbour, *lively_chat())
        await deletions.mark_deleted(connection, harbour.key, [MessageId(32)])
    async with pages(database, color_scheme=theme) as watched:
        for width in (320, 390, 834, 1280):
            await watched.page.set_viewport_size({"width": width, "height": 800})
            for path in (at(harbour), at(harbour, "/15"), "/people/telegram/501"):
                await watched.go(path)
                assert (await watched.problems(), await watched.too_wide()) == ([], 0), (path, width)


async def test_the_newest_is_at_the_bottom_and_older_ones_come_by_scrolling(
    database: Database, harbour: KnownChannel
) -> None:
    """The page opens at its end; what is read stays in its place while older messages come in above it."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA if n % 3 else BOB, f"message {n}") for n in range(1, 301)))
    async with pages(database, **PHONE) as watched:
        await watched.go(at(harbour))
        await expect(watched.page.locator("#m300")).to_be_in_viewport()
        while await watched.page.locator("#m1").count() == 0:
            first = await watched.page.locator("#chat > li").first.get_attribute("id")
            await watched.page.evaluate("scrollTo(0, 400)")
            await expect(watched.page.locator(f"#chat > li:first-child:not(#{first})")).to_be_attached()
        assert await watched.page.locator("#chat > li").count() == 300
        ids = await watched.page.locator("#chat > li").evaluate_all("all => all.map((one) => Number(one.id.slice(1)))")
        assert ids == list(range(1, 301))
        await expect(watched.page.locator("#older")).to_have_count(0)
        assert await watched.problems() == []


async def test_older_messages_do_not_move_what_is_read(database: Database, harbour: KnownChannel) -> None:
    """The message at the top of the screen stays there to the pixel."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}\n" * (n % 4 + 1)) for n in range(1, 201)))
    async with pages(database, **PHONE) as watched:
        await watched.go(at(harbour))
        await expect(watched.page.locator("#m200")).to_be_in_viewport()
        await watched.page.route("**/messages?before=*", lambda route: route.abort())
        await watched.page.locator("#m145").scroll_into_view_if_needed()
        await expect(watched.page.locator("#said")).to_contain_text("could not be loaded")
        await watched.page.unroute("**/messages?before=*")
        seen = await top_of(watched, "#m145")
        await watched.page.evaluate("loadMore(document.getElementById('older'))")
        await expect(watched.page.locator("#m100")).to_be_attached()
        assert abs(await top_of(watched, "#m145") - seen) < 2


async def test_new_messages_come_in_at_the_bottom(database: Database, harbour: KnownChannel) -> None:
    """At the end one follows them; further up the place stays, and a button leads to them. Edits and deletions show."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}") for n in range(1, 41)))
    async with pages(database, **PHONE) as watched:
        page = watched.page
        await watched.go(at(harbour))
        await post(database, harbour, wrote(41, ADA, "the first new one"))
        await expect(page.locator("#m41")).to_be_in_viewport()
        await expect(page.locator("#m41.same")).to_have_count(1)
        await expect(page.locator("#chat-said")).to_have_text("1 new message")
        await page.locator("#m5").scroll_into_view_if_needed()
        seen = await top_of(watched, "#m5")
        edited = replace(wrote(40, ADA, "changed"), edited_at=NOON + timedelta(days=1))
        await post(database, harbour, wrote(42, BOB, "the second"), edited)
        await expect(page.locator("#m42")).to_contain_text("the second")
        await expect(page.locator("#m40")).to_contain_text("changed")
        assert abs(await top_of(watched, "#m5") - seen) < 2
        await page.get_by_role("button", name="New messages").click()
        await expect(page.locator("#m42")).to_be_in_viewport()
        await expect(page.get_by_role("button", name="New messages")).to_be_hidden()
        async with database.transaction() as connection:
            await deletions.mark_deleted(connection, harbour.key, [MessageId(42)])
        await post(database, harbour, wrote(43, BOB, "the third"))
        await expect(page.locator("#m42.gone")).to_have_count(1)
        assert await watched.problems() == []


async def test_every_message_that_is_shown_follows_its_changes(database: Database, harbour: KnownChannel) -> None:
    """Edits, deletions, reactions and votes, far above the newest too, without news in the feed; nothing jumps."""
    asked = MessageContent(poll=Poll("Lunch?", (PollAnswer("a", "yes"), PollAnswer("b", "no"))))
    told = [wrote(n, ADA, f"message {n}\n" * (60 if n == 12 else 2)) for n in range(1, 61)]
    told[13] = replace(told[13], content=asked, kind=MessageKind.POLL)
    told[19] = replace(told[19], reply_to=MessageId(10))
    async with database.transaction() as connection:
        await store(connection, harbour, *told)
    async with pages(database, **PHONE) as watched:
        page = watched.page
        await watched.go(at(harbour))
        await expect(page.locator("#live.on")).to_be_visible()
        await page.locator("#m12 summary").click()
        await page.locator("#m30").evaluate("one => one.scrollIntoView({ block: 'center' })")
        seen = await top_of(watched, "#m30")
        async with database.transaction() as connection:
            later = NOON + timedelta(days=1)
            await store(connection, harbour, replace(wrote(10, ADA, "changed\n" * 9), edited_at=later))
            await deletions.mark_deleted(connection, harbour.key, [MessageId(11)])
            await message_patches.react(connection, harbour.key, [Reacted(MessageId(12), "👍", 1)])
            await message_patches.vote(connection, harbour.key, [Voted(MessageId(14), "b", 1)])
        await expect(page.locator("#m10 .body")).to_contain_text("changed")
        await expect(page.locator("#m11.gone")).to_have_count(1)
        await expect(page.locator("#m12 .reactions")).to_contain_text("👍")
        await expect(page.locator("#m12 details.long[open]")).to_have_count(1)
        await expect(page.locator("#m14 .poll")).to_contain_text("1 vote")
        await expect(page.locator("#m20 .reply")).to_contain_text("changed")
        assert abs(await top_of(watched, "#m30") - seen) < 2
        assert await watched.problems() == []


async def test_a_message_that_was_missing_comes_in_where_it_belongs(database: Database, harbour: KnownChannel) -> None:
    """A backfill found it between others that are shown; what is older than all of them stays unloaded."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}") for n in range(100, 110) if n != 105))
    async with pages(database) as watched:
        await watched.go(at(harbour))
        await expect(watched.page.locator("#live.on")).to_be_visible()
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(105, BOB, "found again"), wrote(50, BOB, "older"))
        await expect(watched.page.locator("#m104 + #m105 + #m106")).to_be_attached()
        assert await watched.page.locator("#m50").count() == 0


async def test_what_came_without_a_connection_comes_in_where_it_belongs(
    database: Database, harbour: KnownChannel
) -> None:
    """Once there is a connection again nobody knows what changed meanwhile: also what is between others comes in."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}") for n in range(100, 110) if n != 105))
    async with pages(database) as watched:
        await watched.go(at(harbour))
        await watched.page.evaluate("stream.close()")
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(105, BOB, "found again"))
        again = "new CustomEvent('messages', { detail: { ids: [], all: true } })"
        await watched.page.evaluate(f"document.body.dispatchEvent({again})")
        await expect(watched.page.locator("#m104 + #m105 + #m106")).to_be_attached()


async def test_the_first_message_of_a_channel_comes_in(database: Database, harbour: KnownChannel) -> None:
    """A page that was opened before there was anything shows it."""
    async with pages(database) as watched:
        await watched.go(at(harbour))
        await expect(watched.page.locator(".empty")).to_be_visible()
        await post(database, harbour, wrote(1, ADA, "hello"))
        await expect(watched.page.locator("#m1")).to_contain_text("hello")
        await expect(watched.page.locator(".empty")).to_have_count(0)


async def test_a_message_is_shown_in_the_middle_and_one_reads_on(database: Database, harbour: KnownChannel) -> None:
    """From its surroundings in both directions; a reply leads to what it answers."""
    told = [wrote(n, ADA if n % 2 else BOB, f"message {n}") for n in range(1, 301)]
    told[299] = replace(told[299], reply_to=MessageId(150))
    async with database.transaction() as connection:
        await store(connection, harbour, *told)
    async with pages(database, **PHONE) as watched:
        await watched.go(at(harbour))
        await watched.page.locator("#m300 .reply a").click()
        await watched.page.wait_for_url("**around=150#m150")
        await expect(watched.page.locator("#m150.mark")).to_be_in_viewport()
        assert 200 < await top_of(watched, "#m150") < 600
        await watched.page.locator("#end").scroll_into_view_if_needed()
        await expect(watched.page.locator("#m200")).to_be_attached()
        assert await watched.problems() == []


async def test_a_part_of_an_album_is_shown_in_the_middle(database: Database, harbour: KnownChannel) -> None:
    """A link to a picture of an album leads to the album, not below the heading; a photo without a name has none."""
    told = [wrote(n, ADA if n % 2 else BOB, f"message {n}") for n in range(1, 101)]
    for n in (50, 51, 52):
        told[n - 1] = wrote(n, ADA, album=AlbumId(7), files=(file(n, "", FileForm.IMAGE),))
    async with database.transaction() as connection:
        await store(connection, harbour, *told)
    async with pages(database, **PHONE) as watched:
        await watched.go(at(harbour, "?around=51#m51"))
        await expect(watched.page.locator("#m50.mark")).to_be_in_viewport()
        assert 200 < await top_of(watched, "#m50") < 600
        await expect(watched.page.locator("#m50")).not_to_contain_text("no visible name")


async def test_a_spoiler_opens_by_mouse_and_keyboard(database: Database, harbour: KnownChannel) -> None:
    """Until then nobody sees it, nor hears it."""
    hidden = MessageContent(formatting=(TextSpan(SpanKind.SPOILER, 7, 12),))
    async with database.transaction() as connection:
        await store(connection, harbour, wrote(1, ADA, "it was Alice", content=hidden))
    async with pages(database) as watched:
        await watched.go(at(harbour))
        said, box = watched.page.locator(".spoiler > span"), watched.page.locator(".spoiler input")
        await expect(said).to_be_hidden()
        await box.focus()
        await watched.page.keyboard.press("Space")
        await expect(said).to_be_visible()
        await watched.page.locator(".spoiler").click()
        await expect(said).to_be_hidden()
        assert await watched.problems() == []


async def test_it_works_as_pages_without_script(database: Database, harbour: KnownChannel) -> None:
    """Links lead to older and newer messages; long texts and earlier versions unfold."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}\n" * 60) for n in range(1, 131)))
    async with pages(database) as watched:
        await watched.go(at(harbour))
        cookies = await watched.page.context.cookies()
        plain = await watched.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
        await plain.add_cookies(cookies)  # type: ignore[arg-type]
        page = await plain.new_page()
        await page.goto(watched.base + at(harbour))
        await expect(page.locator("#m130")).to_be_attached()
        await page.locator("#m130 summary").click()
        await expect(page.locator("#m130 details > div")).to_be_visible()
        await page.get_by_role("link", name="Older messages").click()
        await expect(page.locator("#m70")).to_be_attached()
        await page.get_by_role("link", name="Newer messages").click()
        await expect(page.locator("#m71")).to_be_attached()
        await plain.close()


def hostile_messages() -> list[Message]:
    """Hostile content in every field that a stranger fills."""
    many = tuple(
        TextSpan([*SpanKind][n % len(SpanKind)], n % 900, n % 1_100 + 7, EVIL[: n % 99]) for n in range(10_000)
    )
    nested = tuple(TextSpan(SpanKind.BOLD, n, 5_000 - n) for n in range(2_000))
    broken = tuple(TextSpan(kind, low, high, LOADED) for kind in SpanKind for low, high in ((-9, 9**9), (5, 1), (3, 3)))
    embed = Embed(EVIL, EVIL, EVIL, LOADED, EVIL, EVIL, EVIL, NOON, 2**40, ((EVIL, EVIL),) * 40, ADDRESSES * 5)
    evil = Person(UserId(666), EVIL, (EVIL.replace(" ", ""),))
    contents = [
        MessageContent(formatting=many, mentions={EVIL: EVIL}, texts=(EVIL,) * 50, marks=(EVIL, "pinned"), via=EVIL),
        MessageContent(formatting=nested),
        MessageContent(formatting=broken),
        MessageContent(forward=Forward(OriginKind.HIDDEN, EVIL, 1, NOON, MessageId(1), EVIL, EVIL, (embed,), (EVIL,))),
        MessageContent(reply=Reply(MessageId(2), None, EVIL, EVIL, broken)),
        MessageContent(poll=Poll(EVIL, (PollAnswer("0", EVIL), PollAnswer("1", EVIL)), explanation=EVIL)),
        MessageContent(embeds=(embed,) * 3),
        *(MessageContent(preview=LinkPreview(one, EVIL, EVIL, EVIL, EVIL, EVIL)) for one in ADDRESSES),
        MessageContent(service=EVIL, details={EVIL: EVIL, "title": {"a": [EVIL]}, "items": [{"text": EVIL}, EVIL, 5]}),
        MessageContent(unsupported=EVIL, details={"latitude": "x", "longitude": EVIL, "emoji": EVIL}),
    ]
    return [
        wrote(
            number, evil, "" if content.service else EVIL * 3, reply_to=MessageId(1), content=content, counts=NUMBERS,
            kind=[*MessageKind][number % len(MessageKind)], reactions=(Reaction(EVIL, 3), Reaction("custom:5", 2**40)),
            files=(file(number, EVIL, FileForm.FILE, mime=EVIL),), raw={EVIL: EVIL},
        )
        for number, content in enumerate(contents, start=1)
    ]  # fmt: skip


async def test_hostile_content_in_every_field_is_harmless(database: Database, harbour: KnownChannel) -> None:
    """Nothing runs, nothing is loaded from another host, nothing is wider than the screen, and all of it is there."""
    hostile = hostile_messages()
    async with database.transaction() as connection:
        await store(connection, harbour, *hostile)
        edited = [replace(one, text=f"{one.text} edited", edited_at=NOON) for one in hostile]
        await messages.store(connection, harbour.key, edited)
        await connection.execute("UPDATE channels SET title = $1", EVIL)
    async with pages(database, **PHONE) as watched:
        for path in (at(harbour), at(harbour, "/1"), at(harbour, "?around=3"), "/people/telegram/666"):
            await watched.go(path)
            await watched.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
            assert (await watched.problems(), await watched.too_wide()) == ([], 0), path
            assert await watched.page.locator("main :is(img, iframe, script, video, audio, object, embed)").count() == 0
        await watched.go(at(harbour))
        assert await watched.page.locator("#chat > li").count() == len(hostile)
        schemes = await watched.page.locator("main a").evaluate_all("all => all.map((one) => one.protocol)")
        assert {*schemes} <= {"http:", "https:", "tg:", "mailto:"}
