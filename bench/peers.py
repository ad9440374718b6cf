"""Beside tools that people use: who is better at searching, copying a server, reading history, fetching files, pacing.

Each peer is installed into a place of its own, pinned by hash, and does the same as Tidegate on this machine, one after
the other. Tidegate copies with ``serve`` and its defaults. ``better`` is ``equal`` where the figures are within 1.5
times. A peer that cannot be installed here has rows that say so.

``--most N`` searches N messages instead of 100,000; ``--cache FOLDER`` keeps the peers' packages for the next time.
"""

from __future__ import annotations

import asyncio
import tempfile
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench._database_server import own_database
from bench._fts5_index import Fts5Index, fts5_index
from bench._loopback_accounts import Town, bots, phones, town_of
from bench._million_messages import BATCH, CHINESE, fill
from bench._pace_over_kills import LIFE, PER_MINUTE, above_pace, sends_of_antiban, sends_of_tidegate
from bench._peer_copies import Copied, copy_discord, copy_telegram, mirror
from bench._peer_packages import PeerUnavailable, npm_package, package_folder, python_with_peers
from bench._peer_rows import compared, skipped
from bench.search import found_by_tidegate, measure
from tidegate.database.pool import Database
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.search.rules.search_plan import HitOrder

SEARCHED = 100_000
LATENCY_MS = 50
FTS5, EXPORTER, HISTORY, TELETHON, ANTIBAN = (
    "SQLite FTS5", "chat-exporter", "discord.py history()", "Telethon", "baileys-antiban",
)  # fmt: skip


async def run(*, most: int | None = None, cache: str | None = None) -> dict[str, Any]:
    """Every row; those of peers that are not to be had here are sentences."""
    async with own_database(connections=3) as database:
        await fill(database, max(BATCH, most or SEARCHED))
        async with fts5_index(database) as index:
            rows = await search_rows(database, index)
    with package_folder(cache) as folder:
        try:
            python = await python_with_peers(folder)
            rows += await discord_rows(python)
            rows += await telegram_rows(python)
        except PeerUnavailable as missing:
            rows += [skipped("copies", name, str(missing)) for name in (EXPORTER, HISTORY, TELETHON)]
        rows += await pace_rows(folder)
    return {"rows": rows}


async def search_rows(database: Database, index: Fts5Index, searches: int = 30) -> list[dict[str, Any]]:
    """Times of searches that both answer alike, and how much of one each finds."""
    measured = await measure(database, index, searches)
    times = [
        compared(
            f"search, {row['kind']}, {row['order']}", row["p95_ms"], row["fts5_p95_ms"], FTS5, "ms, 95th percentile"
        )
        for row in measured["rows"]
        if row["fts5_p95_ms"] is not None
    ]
    chinese = [
        (await found_by_tidegate(database, word, most=1_000), index.search(word, HitOrder.NEWEST, 1_000)[0])
        for word in CHINESE
    ]
    ours, theirs = (sum(found) for found in zip(*chinese, strict=True))
    more = {"unit": f"messages of {measured['messages']:,}", "less_is_better": False}
    return [*times, compared("found by Chinese words", ours, theirs, FTS5, **more)]


# Discord

ANCHORS, VERSIONS = 10, 3
KINDS_LEFT_OUT = {"sticker_lottie"}
"""chat-exporter asks for such a sticker by a call that the loopback does not have."""


@dataclass(frozen=True)
class Truth:
    """What there is to be copied: messages, those of them that are in threads, and attached files by their SHA-256."""

    messages: set[int]
    in_threads: set[int]
    files: set[str]

    def is_in(self, copied: Copied) -> bool:
        return self.messages <= copied.messages and self.files <= copied.files


def _harbour() -> dict[str, Any]:
    """A server with text channels, threads and a forum; every third thread is archived."""

    def threads(prefix: str, count: int, messages: int) -> list[dict[str, Any]]:
        return [
            {"name": f"{prefix} {number}", "messages": messages, "archived": number % 3 == 0} for number in range(count)
        ]

    channels = [
        {"name": "general", "messages": 1_500},
        {"name": "help", "messages": 400, "threads": threads("question", 20, 30)},
        {"name": "ideas", "kind": "forum", "threads": threads("idea", 10, 20)},
        {"name": "kinds"},
    ]
    return {
        "seed": 7,
        "discord": {
            "bots": [{"name": bot} for bot in bots(3)],
            "guilds": [{"name": "Harbour", "channels": channels}],
        },
    }


async def discord_rows(python: Path) -> list[dict[str, Any]]:
    """A server is copied; then ten messages are edited twice, and it is copied once more or kept up to date."""
    async with town_of(_harbour(), latency_ms=LATENCY_MS) as town:
        anchors, truth, rows = await _post_more(town), await _truth(town), list[dict[str, Any]]()
        with tempfile.TemporaryDirectory(prefix="tg-peers-") as folder:
            async with mirror(town, DISCORD) as tidegate:
                ours = await tidegate.copied(truth.is_in)
                for name, theirs in (await _by_peers(town, python, Path(folder))).items():
                    rows += _first_copy(truth, ours, name, theirs)
                await tidegate.begin()
                await _edit(town, anchors)
                ours = await tidegate.copied(lambda copied: _versions(copied) == ANCHORS * VERSIONS)
                for name, theirs in (await _by_peers(town, python, Path(folder))).items():
                    rows += _second_copy(ours, name, theirs)
        assert await town.ask("/unknown") == [], "the loopback was asked for what it does not have"
        return rows


async def _by_peers(town: Town, python: Path, folder: Path) -> dict[str, Copied]:
    """A copy by each peer, with a bot of its own."""
    _, exporter, history = bots(3)
    return {
        EXPORTER: await copy_discord(town, python, "chat-exporter", exporter, folder / "exporter"),
        HISTORY: await copy_discord(town, python, "history", history, folder / "history"),
    }


def _first_copy(truth: Truth, ours: Copied, name: str, theirs: Copied) -> list[dict[str, Any]]:
    def kept(what: str, there: set[Any], of: Callable[[Copied], set[Any]]) -> dict[str, Any]:
        more = {"unit": f"of {len(there)}", "less_is_better": False}
        return compared(f"first copy of a server: {what}", len(of(ours) & there), len(of(theirs) & there), name, **more)

    return [
        compared("first copy of a server: calls", ours.traffic.calls, theirs.traffic.calls, name, "calls"),
        compared(
            "first copy of a server: time", round(ours.traffic.seconds, 1), round(theirs.traffic.seconds, 1), name, "s"
        ),
        kept("messages kept", truth.messages, lambda copied: copied.messages),
        kept("messages in threads kept", truth.in_threads, lambda copied: copied.messages),
        kept("files kept", truth.files, lambda copied: copied.files),
    ]


def _second_copy(ours: Copied, name: str, theirs: Copied) -> list[dict[str, Any]]:
    versions = {"unit": f"of {ANCHORS * VERSIONS} texts", "less_is_better": False}
    return [
        compared("edits since: calls to have them", ours.traffic.calls, theirs.traffic.calls, name, "calls"),
        compared("edits since: texts kept, earlier ones too", _versions(ours), _versions(theirs), name, **versions),
    ]


async def _post_more(town: Town) -> list[int]:
    """Messages of every kind, some with files, and those that will be edited, whose ids are returned."""
    for kind in await town.ask("/discord/kinds"):
        if kind not in KINDS_LEFT_OUT:
            await town.tell("/discord/post", {"channel": "kinds", "kind": kind})
    for number in range(20):
        await town.tell("/discord/post", {"channel": "general", "files": [{"name": f"{number}.bin", "size": 40_000}]})
    posts = [{"channel": "general", "text": _text(anchor, 0)} for anchor in range(ANCHORS)]
    return [(await town.tell("/discord/post", post))["ids"][0] for post in posts]


async def _edit(town: Town, anchors: list[int]) -> None:
    for version in range(1, VERSIONS):
        for anchor, message in enumerate(anchors):
            edit = {"channel": "general", "id": message, "text": _text(anchor, version)}
            await town.tell("/discord/edit", edit)


def _text(anchor: int, version: int) -> str:
    return f"anchor {anchor} in version {version}"


def _versions(copied: Copied) -> int:
    """How many of all texts of the edited messages a copy has."""
    return sum(_text(anchor, version) in copied.texts for anchor in range(ANCHORS) for version in range(VERSIONS))


async def _truth(town: Town) -> Truth:
    [guild] = _harbour()["discord"]["guilds"]
    threads = [thread["name"] for channel in guild["channels"] for thread in channel.get("threads", ())]
    shown = {
        place: await town.ask(f"/truth/discord/{urllib.parse.quote(place)}")
        for place in ("general", "help", "kinds", *threads)
    }
    return Truth(
        {message["id"] for messages in shown.values() for message in messages},
        {message["id"] for thread in threads for message in shown[thread]},
        {file["sha256"] for message in shown["general"] for file in message["files"]},
    )


# Telegram

TOPICS, MESSAGES = 20, 1_500
PICTURES = {200_000: 60, 5_000_000: 3}


async def telegram_rows(python: Path) -> list[dict[str, Any]]:
    """A forum and a channel of files are read, then their files fetched."""
    channels = [{"title": "Models", "kind": "forum", "topics": TOPICS, "messages": MESSAGES}, {"title": "Pictures"}]
    world = {"seed": 7, "telegram": {"accounts": [{"phone": one} for one in phones(2)], "channels": channels}}
    async with town_of(world, latency_ms=LATENCY_MS) as town:
        for size, count in PICTURES.items():
            posted = [{"name": f"{size}-{number}.bin", "size": size} for number in range(count)]
            await town.tell("/telegram/post", {"channel": "Pictures", "files": posted})
        shown = [message for title in ("Models", "Pictures") for message in await town.ask(f"/truth/telegram/{title}")]
        files = {file["sha256"] for message in shown for file in message["files"]}
        async with mirror(town, TELEGRAM, "Models", "Pictures") as tidegate:
            ours = await tidegate.copied(lambda copied: copied.count >= len(shown) and files <= copied.files)
        with tempfile.TemporaryDirectory(prefix="tg-peers-") as folder:
            theirs = await copy_telegram(town, python, phones(2)[1], Path(folder))
    megabytes = sum(size * count for size, count in PICTURES.items()) / 1_000_000

    def of(what: str, figure: Callable[[Copied], float], unit: str, *, less_is_better: bool = False) -> dict[str, Any]:
        figures = round(figure(ours), 1), round(figure(theirs), 1)
        return compared(f"a forum and files: {what}", *figures, TELETHON, unit, less_is_better=less_is_better)

    return [
        of("calls of reading, iter_messages", lambda copied: copied.traffic.calls, "calls", less_is_better=True),
        of("messages read", lambda copied: copied.count, f"of {len(shown)}"),
        of("reading, iter_messages", lambda copied: copied.count / copied.traffic.reading_s, "messages a second"),
        of("files kept", lambda copied: len(copied.files & files), f"of {len(files)}"),
        of("fetching, download_media", lambda copied: megabytes / copied.traffic.fetching_s, "MB a second"),
    ]


async def pace_rows(folder: Path) -> list[dict[str, Any]]:
    """Sends above the pace while the sender is killed again and again."""
    what = f"sends above {PER_MINUTE} a minute, killed every {LIFE.seconds} s"
    try:
        package = await npm_package(folder, ANTIBAN)
        ours, theirs = await asyncio.gather(sends_of_tidegate(), sends_of_antiban(package))
    except PeerUnavailable as missing:
        return [skipped(what, ANTIBAN, str(missing))]
    return [compared(what, above_pace(ours), above_pace(theirs), ANTIBAN, "in the fullest minute")]
