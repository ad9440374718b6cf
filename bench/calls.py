"""A forum of 1,086 topics takes Tidegate one call a cycle when nothing changed, and three when fifty topics did.

Each row makes *active* topics active (three messages each, two of them files) and counts calls without those for
connecting, by the platform's own record. ``search_per_topic`` and ``info_per_topic`` are what the seed began and ended
with, made with the unmodified client; both are let off lightly, a short page counting as the last. Then Tidegate:
a cycle an hour after the last, one right after a restart, with as much news again, and one of an operator who follows
every topic on its own. Cold places' turns are switched off: they are looks that nothing asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from telethon import TelegramClient
from telethon.tl import functions, types

from bench._database_server import own_database
from bench._telegram import Reader, connected_reader, loopback_telegram, plain_client
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_report import CycleReport
from tidegate.database.pool import Database
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import ScanPolicy

TOPICS = 1_086
ACTIVE = (0, 5, 50)
PAGE = 100
POLICY = CyclePolicy(scans=ScanPolicy(cold_after_empty_scans=1_000_000))
WHOLE, BY_TOPIC, PLAIN = "+1000001", "+1000002", "+1000003"


async def run() -> dict[str, Any]:
    """Three rows of the same world, one after the other."""
    async with _scene() as scene:
        rows = [await _row(scene, active) for active in ACTIVE]
    return {"topics": TOPICS, "rows": rows, "ratio": round(rows[-1]["search_per_topic"] / rows[-1]["tidegate_cycle"])}


@dataclass(frozen=True)
class Scene:
    """Two equal forums: *models* is mirrored as a whole and read by the baseline, *chosen* topic by topic."""

    database: Database
    server: TelegramServer
    whole: Reader
    by_topic: Reader
    plain: TelegramClient
    models: Channel
    chosen: Channel


@asynccontextmanager
async def _scene() -> AsyncIterator[Scene]:
    """Everything connected, enabled and settled, so that the first row finds stored counters."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(own_database(connections=5))
        server = await stack.enter_async_context(loopback_telegram(WHOLE, BY_TOPIC, PLAIN))
        whole = await stack.enter_async_context(connected_reader(database, server, "whole", WHOLE))
        by_topic = await stack.enter_async_context(connected_reader(database, server, "by topic", BY_TOPIC))
        plain = await stack.enter_async_context(plain_client(server, PLAIN))
        models, chosen = _forum(server, "Models", WHOLE, PLAIN), _forum(server, "Chosen", BY_TOPIC)
        await whole.enable(models)
        await by_topic.enable(chosen, *chosen.topics)
        for _ in range(3):
            await whole.cycle(POLICY)
            await by_topic.cycle(POLICY)
        yield Scene(database, server, whole, by_topic, plain, models, chosen)


def _forum(server: TelegramServer, title: str, *members: str) -> Channel:
    world = server.world
    made = world.add_channel(title, forum=True)
    for number in range(1, TOPICS):  # General is one of them
        world.add_topic(made, f"Topic {number}")
    made.members = {account.id for phone in members if (account := world.account_by_phone(phone))}
    return made


async def _row(scene: Scene, active: int) -> dict[str, int]:
    before = scene.models.newest_id
    true = _post(scene.server, scene.models, active)
    searches = await _counted(scene, _search_topics(scene, scene.models.topics, before), true)
    infos = await _counted(scene, _ask_topics(scene, before), true)
    await _an_hour_later(scene.database)
    cycle = await _checked(scene, WHOLE, await scene.whole.cycle(POLICY))
    found = await _found(scene.database, scene.models)
    restart = await _restart(scene, active)
    chosen_true = _post(scene.server, scene.chosen, active)
    selected = await _checked(scene, BY_TOPIC, await scene.by_topic.cycle(POLICY))
    assert chosen_true <= await _found(scene.database, scene.chosen), "a selected topic lost a file"
    after = await _checked(scene, BY_TOPIC, await scene.by_topic.cycle(POLICY))  # an index may be slow: looked at again
    return {
        "active": active,
        "search_per_topic": searches,
        "info_per_topic": infos,
        "tidegate_cycle": cycle["calls_total"],
        "tidegate_restart": restart["calls_total"],
        "tidegate_restart_connect": restart["connect_calls"],
        "selected_topics": selected["calls_total"],
        "selected_topics_next": after["calls_total"],
        "archives_found": len({message for message in found if before < message}),
        "archives_true": len(true),
    }


async def _restart(scene: Scene, active: int) -> dict[str, Any]:
    """As much happens again, unseen; then a new connection and its first cycle."""
    true = _post(scene.server, scene.models, active)
    since = await scene.whole.mark()
    await scene.whole.connect()
    told = await _checked(scene, WHOLE, await scene.whole.cycle(POLICY, since=since))
    assert true <= await _found(scene.database, scene.models), "a restart lost a file"
    return told


def _post(server: TelegramServer, forum: Channel, active: int) -> set[int]:
    """Somebody talks and posts two files in each of so many topics; the ids of the files' messages."""
    files = set()
    for topic in sorted(forum.topics)[1 : active + 1]:
        server.world.post(forum, "look at this", topic=topic)
        for letter in "ab":
            file = server.world.add_file(f"{letter}-{topic}-{forum.newest_id}.zip", 1_000)
            files.add(server.world.post(forum, file=file, topic=topic).id)
    return files


async def _an_hour_later(database: Database) -> None:
    await database.pool.execute("UPDATE places SET last_scanned_at = last_scanned_at - interval '1 hour'")


async def _found(database: Database, forum: Channel) -> set[int]:
    """The messages whose files are on record as parts of archives."""
    rows = await database.pool.fetch(
        "SELECT message FROM archive_parts p JOIN channels c ON c.id = p.channel WHERE c.number = $1", forum.id
    )
    return {row["message"] for row in rows}


async def _checked(scene: Scene, phone: str, report: CycleReport) -> dict[str, Any]:
    """What a cycle reports; its calls are the last ones in the platform's record, or the ledger is wrong."""
    told = report.as_json()
    calls = [call for call in scene.server.world.record.calls if call.account == phone.removeprefix("+")]
    last = Counter(call.method for call in calls[len(calls) - told["calls_total"] :])
    assert last == Counter(told["calls"]), f"the platform counted {last}, the ledger {told['calls']}"
    return told


# The baseline


async def _counted(scene: Scene, reading: AsyncIterator[int], true: set[int]) -> int:
    """How many calls a way of reading takes, having found exactly the right files."""
    record = scene.server.world.record
    before = record.by_method()
    found = {message async for message in reading}
    assert found == true, "the baseline did not find the files"
    spent = record.by_method() - before
    return spent["messages.search"] + spent["messages.getForumTopicsByID"]


async def _search_topics(scene: Scene, topics: Iterable[int], above: int) -> AsyncIterator[int]:
    """Search each topic for documents above the watermark."""
    for topic in list(topics):
        offset = 0
        while True:
            page = await scene.plain(_search(_peer(scene), topic, above, offset))
            for message in page.messages:
                yield message.id
            if len(page.messages) < PAGE:
                break
            offset = page.messages[-1].id


async def _ask_topics(scene: Scene, above: int) -> AsyncIterator[int]:
    """Ask each topic for its newest message, and search those whose newest lies above the watermark."""
    moved = []
    for topic in list(scene.models.topics):
        request = functions.messages.GetForumTopicsByIDRequest(_peer(scene), topics=[topic])
        answer = await scene.plain(request)
        moved += [one.id for one in answer.topics if one.top_message > above]
    async for message in _search_topics(scene, moved, above):
        yield message


def _search(peer: types.InputPeerChannel, topic: int, above: int, offset: int) -> functions.messages.SearchRequest:
    return functions.messages.SearchRequest(
        peer,
        q="",
        filter=types.InputMessagesFilterDocument(),
        min_date=None,
        max_date=None,
        offset_id=offset,
        add_offset=0,
        limit=PAGE,
        max_id=0,
        min_id=above,
        hash=0,
        top_msg_id=topic,
    )


def _peer(scene: Scene) -> types.InputPeerChannel:
    world = scene.server.world
    reader = world.account_by_phone(PLAIN)
    assert reader is not None
    return types.InputPeerChannel(scene.models.id, world.token("channel", reader.id, scene.models.id))
