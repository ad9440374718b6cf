"""Archives listed among many: found by any part of a name and by what is inside, however long ago they were found."""

from __future__ import annotations

import pytest

from tidegate.archives.queries import archive_list
from tidegate.archives.queries.archive_search import ArchiveFilter
from tidegate.database.pool import Database
from tidegate.search.rules.tokenizer import vector

pytestmark = pytest.mark.both_servers

NEWER = 2_100
OLD = ["Red_Dragon.zip", "blue dragon.rar", "Tower of London.7z", "Ünder_ß.zip", "xq", "100%_a.zip"]


@pytest.fixture
async def many(database: Database) -> None:
    """Six archives with a file inside each, and then more newer ones than are looked at one by one."""
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO channels (platform, number, title) VALUES ('telegram', 1, 'Old'), ('telegram', 2, 'New')"
        )
        for name in OLD:
            number = await connection.fetchval(
                "INSERT INTO archives (channel, topic, kind, base, name, state) "
                "VALUES (1, 0, 'zip', $1, $1, CASE WHEN $1 = 'xq' THEN 'failed' ELSE 'filed' END) RETURNING id",
                name,
            )
            path = f"parts/hydra {number}.stl"
            await connection.execute(
                "INSERT INTO archive_contents (archive, number, path, size, words) VALUES ($1, 1, $2, 1, $3::tsvector)",
                number, path, vector([path]),
            )  # fmt: skip
        await connection.execute(
            "INSERT INTO archives (channel, topic, kind, base, name, state) "
            "SELECT 2, 0, 'zip', 'n' || n, 'Newer' || n || '.zip', 'filed' FROM generate_series(1, $1::int) n",
            NEWER,
        )


async def found(database: Database, sought: ArchiveFilter, most: int = 50) -> list[str]:
    async with database.connection() as connection:
        return [row["name"] for row in await archive_list.listing(connection, sought, most=most)]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("dragon", ["blue dragon.rar", "Red_Dragon.zip"]),
        ("RAGON.Z", ["Red_Dragon.zip"]),
        (" of lon ", ["Tower of London.7z"]),
        ("NDER_ß", ["Ünder_ß.zip"]),
        ("xq", ["xq"]),
        ("%_a", ["100%_a.zip"]),
        ("hydra", list(reversed(OLD))),
        ("hydra 3", ["Tower of London.7z"]),
        ("newer77.", ["Newer77.zip"]),
        ("no such thing", []),
        ("'", []),
    ],
)
async def test_a_part_of_a_name_finds_it_however_old(database: Database, text: str, names: list[str]) -> None:
    """Anywhere in it, in either case, also two characters; or words of a file inside. Newest first, each once."""
    assert await found(database, ArchiveFilter(text=text)) == names


@pytest.mark.usefixtures("many")
async def test_pages_follow_one_another_from_the_newest_to_the_oldest(database: Database) -> None:
    """Over the place where the indexes take over, nothing is left out and nothing comes twice."""
    seen, before = [], None
    async with database.connection() as connection:
        while rows := await archive_list.listing(connection, ArchiveFilter(text=".zip", before=before), most=700):
            seen += [row["id"] for row in rows]
            before = seen[-1]
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == NEWER + sum(name.endswith(".zip") for name in OLD)


@pytest.mark.usefixtures("many")
async def test_states_and_channels_choose_among_what_is_found(database: Database) -> None:
    """With a text and without; what waits is also what a worker left behind."""
    assert await found(database, ArchiveFilter(["failed"])) == ["xq"]
    assert await found(database, ArchiveFilter(["failed"], text="hydra")) == ["xq"]
    assert await found(database, ArchiveFilter(channels=[1], text="zip")) == [
        "100%_a.zip",
        "Ünder_ß.zip",
        "Red_Dragon.zip",
    ]
    await database.pool.execute("UPDATE archives SET state = 'working' WHERE name = 'xq'")
    assert await found(database, ArchiveFilter(["waiting"])) == ["xq"]
    assert await found(database, ArchiveFilter(["working"])) == []


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("pieces", ["dra & rag & ago & gon", "xq:*"])
async def test_a_rare_name_is_found_by_its_index(database: Database, pieces: str) -> None:
    """Not by looking at every archive there is."""
    await database.pool.execute("ANALYZE archives")
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        plan = await connection.fetch(
            f"EXPLAIN SELECT id FROM archives a WHERE pieces_of(a.name) @@ '{pieces}'::tsquery ORDER BY a.id + 0 DESC"
        )
    assert "archives_pieces" in "\n".join(row[0] for row in plan)
