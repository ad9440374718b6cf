"""How much the embedded server takes of memory and disk: a fair share of what there is, and no more than it needs."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers import make_home
from tidegate.database.embedded.server import ServerLease
from tidegate.database.embedded.server_sizes import kept_in_memory, memory_here, reads_of, wal_segment

GIB = 1 << 30
MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
_numbers = itertools.count()


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    home = make_home(test_folder / f"m{os.getpid()}-{next(_numbers)}")
    yield home
    shutil.rmtree(home)


@given(memory=st.integers(1, 1 << 50), data=st.integers(0, 1 << 50))
def test_what_is_needed_within_bounds(memory: int, data: int) -> None:
    """A small machine keeps most of its memory, small data takes little, and all get something."""
    kept = kept_in_memory(memory, data)
    assert 32 << 20 <= kept <= GIB
    assert kept in (32 << 20, 64 << 20, GIB, memory // 4, 2 * data)
    assert kept == 32 << 20 or kept <= memory // 4


@pytest.mark.parametrize(
    ("groups", "limits", "memory"),
    [
        ("0::/a/b", {"a/memory.max": "300000000", "a/b/memory.max": "max"}, 300_000_000),
        ("0::/a", {"memory.max": "200000000", "a/memory.max": "300000000"}, 200_000_000),
        ("0::/seen/from/outside", {"memory.max": "200000000"}, 200_000_000),
        ("9:cpu:/x\n4:memory:/x\n0::/", {"memory/x/memory.limit_in_bytes": "100000000"}, 100_000_000),
        ("4:memory:/x", {"memory/x/memory.limit_in_bytes": "9223372036854771712"}, MACHINE),
        ("0::/", {}, MACHINE),
    ],
)
def test_the_limits_of_a_container_count(tmp_path: Path, groups: str, limits: dict[str, str], memory: int) -> None:
    """The least of the machine's memory and of every group's limit that this process is under, of both generations."""
    (tmp_path / "groups").write_text(groups)
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{limit}\n")
    assert memory_here(tmp_path / "groups", tmp_path) == memory


def test_a_machine_without_groups_has_its_memory(tmp_path: Path) -> None:
    """Where nothing is told about limits there are none."""
    assert memory_here(tmp_path / "none", tmp_path) == MACHINE


@pytest.mark.parametrize(
    ("options", "kept"),
    [([], kept_in_memory(memory_here(), 0)), (["shared_buffers=8MB"], 8 << 20)],
    ids=["here", "told"],
)
async def test_the_server_keeps_so_much(home: Path, options: list[str], kept: int) -> None:
    """The embedded server is started with that, unless it is told otherwise."""
    seat = ServerLease(home, options=options)
    try:
        connection = await asyncpg.connect(seat.address.direct)
        pages = await connection.fetchval("SELECT setting::integer FROM pg_settings WHERE name = 'shared_buffers'")
        await connection.close()
    finally:
        seat.leave()
    assert pages == kept // 8192


async def test_little_of_the_log_is_kept(home: Path) -> None:
    """Two small files of the write-ahead log are kept, not five of PostgreSQL's usual 16 MiB."""
    seat = ServerLease(home)
    try:
        connection = await asyncpg.connect(seat.address.direct)
        kept = await connection.fetchval("SELECT pg_size_bytes(current_setting('min_wal_size'))")
        await connection.close()
    finally:
        seat.leave()
    assert kept == 2 * wal_segment(home / "postgresql") == 2 << 20


@pytest.mark.parametrize(("data", "version", "method"), [(0, "18", "sync"), (GIB, "18", None), (0, "16", None)])
def test_only_large_data_is_read_ahead_by_processes(data: int, version: str, method: str | None) -> None:
    """Small data fits into memory. An older server, whose data is still to be upgraded, does not know the setting."""
    assert reads_of(data, version=version).get("io_method") == method


async def test_small_data_has_a_small_server(home: Path) -> None:
    """No process reads ahead, none serves subscriptions, and no database is there that nobody uses."""
    seat = ServerLease(home)
    try:
        connection = await asyncpg.connect(seat.address.direct)
        kinds = {row[0] for row in await connection.fetch("SELECT backend_type FROM pg_stat_activity")}
        databases = {row[0] for row in await connection.fetch("SELECT datname FROM pg_database")}
        await connection.close()
    finally:
        seat.leave()
    assert not {kind for kind in kinds if "io worker" in kind or "logical replication" in kind}
    assert databases == {"template0", "template1", "tidegate"}
