"""Archives by every filter and text: what is found is what looking at all of them in Python finds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from itertools import product

import pytest

from tests.scans.stored_channels import add_account
from tidegate.archives.queries import archive_search
from tidegate.archives.queries.archive_search import STATES, ArchiveFilter
from tidegate.core.ids import WorkerNumber
from tidegate.database.pool import Database
from tidegate.search.rules.tokenizer import vector
from tidegate.workers.queries import workers

pytestmark = pytest.mark.both_servers

WORDS = ["dragon", "Drag Queen", "新聞週刊", "tower"]
ODD = ["100%_a.zip", "it's\\so", "a   b", "Ünder_ß.ZIP", "新聞", "🐉🐉.rar", "&|!():*", "x"]


@dataclass(frozen=True, slots=True)
class Kept:
    """An archive as it was stored; *shown* is the state that people see."""

    number: int
    channel: int
    name: str
    path: str
    shown: str

    def fits(self, sought: ArchiveFilter) -> bool:
        text = sought.text.lower()
        return (
            (not sought.states or self.shown in sought.states)
            and (sought.channels is None or self.channel in sought.channels)
            and (text in self.name.lower() or (text != "" and f"/{text}" in self.path))
        )


async def keep(database: Database, channel: int, name: str, path: str, state: str) -> int:
    number: int = await database.pool.fetchval(
        """
        WITH kept AS (
            INSERT INTO archives (channel, topic, kind, base, name, state) VALUES ($1, 0, 'zip', $2, $2, $3)
            RETURNING id
        )
        INSERT INTO archive_contents (archive, number, path, size, words)
        SELECT id, n, $4, 1, $5::tsvector FROM kept, generate_series(1, 2) AS n
        RETURNING archive
        """,
        channel, name, state, path, vector([path]),
    )  # fmt: skip
    return number


@pytest.fixture
async def everything(database: Database) -> AsyncIterator[list[Kept]]:
    """Archives of three channels, of which the first is read by an account that a worker serves."""
    async with database.transaction() as connection:
        reader = await add_account(connection, "reader")
        await connection.execute(
            """
            INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
            VALUES (1, 'w', 'w', 'h', 'p', '0', 1, '15 s');
            UPDATE accounts SET owner = 1;
            """
        )
        await connection.execute(
            """
            INSERT INTO channels (platform, number, title, reader)
            SELECT 'telegram', n, 'Channel', CASE WHEN n = 1 THEN $1::bigint END FROM generate_series(1, 3) AS n
            """,
            reader,
        )
    session = await database.direct("worker under test")
    assert await workers.take_lock(session, WorkerNumber(1))
    stored = []
    for n in range(40):
        channel, state = n % 3 + 1, STATES[n % 7]  # none of the last state
        name, path = f"{WORDS[n % 4]}_{n}.zip", f"parts/{'hydra' if n % 5 == 0 else 'orc'} {n}.stl"
        shown = "waiting" if state == "working" and channel != 1 else state
        stored.append(Kept(await keep(database, channel, name, path, state), channel, name, path, shown))
    yield stored
    await session.close()


async def found(database: Database, sought: ArchiveFilter) -> list[int]:
    """Page after page, until there is none."""
    numbers: list[int] = []
    async with database.connection() as connection:
        while True:
            asked = ArchiveFilter(sought.states, sought.channels, sought.text, numbers[-1] if numbers else None)
            page = await archive_search.newest(connection, asked, most=5)
            numbers += page
            if len(page) < 5:
                return numbers


@pytest.mark.parametrize("newest", [1, 6, 2_000])
async def test_the_same_is_found_however_many_are_looked_at_first(
    database: Database, everything: list[Kept], monkeypatch: pytest.MonkeyPatch, newest: int
) -> None:
    """None twice, none left out, newest first: by each state, channel and text alone, and by all of them together."""
    monkeypatch.setattr(archive_search, "_NEWEST", newest)
    monkeypatch.setattr(archive_search, "_NAMES", 2 * newest + 5)
    some = ("waiting", "working", "failed")
    states: list[Collection[str]] = [(), ("filed",), ("waiting",), ("working",), ("gone",), some]
    texts = ["", "d", "dr", "DRAGON", "q", "聞", "新聞週刊", "hydra", "zip", "no such thing"]
    for chosen, channels, text in product(states, (None, [1], [2, 3], [9]), texts):
        sought = ArchiveFilter(chosen, channels, text)
        expected = sorted((one.number for one in everything if one.fits(sought)), reverse=True)
        assert await found(database, sought) == expected, sought


@pytest.mark.usefixtures("everything")
async def test_every_part_of_a_name_finds_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the index alone, whatever characters it is made of; where the name ends, too."""
    monkeypatch.setattr(archive_search, "_NEWEST", 1)
    monkeypatch.setattr(archive_search, "_NAMES", 1)
    numbers = {name: await keep(database, 1, name, "ω", "filed") for name in ODD}
    parts = {name[start:end].strip() for name in ODD for end in range(len(name) + 1) for start in range(end)} - {""}
    for part in parts:
        expected = {numbers[name] for name in ODD if part.lower() in name.lower()}
        got = {number for number in await found(database, ArchiveFilter(text=part)) if number in numbers.values()}
        assert got == expected, part
