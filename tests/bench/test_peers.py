"""Rows of the comparison with other tools: their shape, and that both sides are counted alike."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from bench._fts5_index import fts5_index
from bench._loopback_accounts import Town, bots, phones, town_of
from bench._pace_over_kills import PER_MINUTE, above_pace
from bench._peer_copies import copy_discord, copy_telegram
from bench._peer_packages import NPM_LOCK, PeerUnavailable, check_integrity, pinned
from bench._peer_rows import compared, skipped
from bench.peers import ANTIBAN, pace_rows, search_rows
from hypothesis import given
from hypothesis import strategies as st

from tidegate.database.pool import Database

FIELDS = {"what", "tidegate", "peer", "peer_name", "unit", "better"}
figures = st.floats(0, 1e6)


class TestRows:
    @given(ours=figures, theirs=figures, less=st.booleans())
    def test_the_better_figure_is_more_than_half_as_good_again(self, ours: float, theirs: float, less: bool) -> None:
        """Anything within 1.5 times is equal, and whoever is named has the better figure."""
        better = compared("searches", ours, theirs, "other", "ms", less_is_better=less)["better"]
        least, most = sorted((ours, theirs))
        assert (better == "equal") == (most <= 1.5 * least)
        if better != "equal":
            assert (better == "tidegate") == ((ours == least) == less)

    async def test_every_row_of_a_search_has_the_same_fields(self, database: Database) -> None:
        """A reader of the JSON needs to know one shape."""
        async with fts5_index(database) as index:
            rows = await search_rows(database, index, searches=2)
        assert {frozenset(row) for row in rows} == {frozenset(FIELDS)}
        assert {row["better"] for row in rows} <= {"tidegate", "equal", "peer"}
        assert [row for row in rows if row["what"] == "found by Chinese words"]

    async def test_a_peer_that_cannot_be_had_is_a_row(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The other rows are measured all the same, and this one says why it has no figures."""
        monkeypatch.setenv("PATH", str(tmp_path))
        [row] = await pace_rows(tmp_path)
        assert row == skipped(row["what"], ANTIBAN, "npm is not installed.")
        assert row.keys() == FIELDS | {"skipped"}


class TestPackages:
    def test_an_npm_package_is_what_was_pinned(self, tmp_path: Path) -> None:
        """Nothing is installed from an archive with other bytes."""
        archive = tmp_path / "package.tgz"
        archive.write_bytes(b"something else")
        with pytest.raises(PeerUnavailable, match="is not the package"):
            check_integrity(archive, pinned(NPM_LOCK.read_text(), ANTIBAN)[1])

    def test_the_same_bytes_are_accepted(self, tmp_path: Path) -> None:
        """The integrity is npm's own: SHA-512 in base64."""
        archive = tmp_path / "package.tgz"
        archive.write_bytes(b"abc")
        known = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
        check_integrity(archive, f"sha512-{known}")


class TestPace:
    def test_sends_above_the_pace_are_counted_in_the_fullest_minute(self) -> None:
        """A minute may begin anywhere."""
        steady = [60 / PER_MINUTE * number for number in range(20)]
        assert above_pace([]) == above_pace(steady) == 0
        assert above_pace([*steady, 30.5, 31.0]) == 2
        assert above_pace([*steady, 149.9]) == 1


class TestCopies:
    """Run with the packages of the tests, which have the same libraries."""

    async def test_a_copy_of_discord_holds_what_there_is(self, tmp_path: Path) -> None:
        """Channels, active and archived threads, and files; an earlier copy counts as well."""
        threads = [{"name": "open", "messages": 3}, {"name": "done", "messages": 4, "archived": True}]
        channels = [{"name": "general", "messages": 120}, {"name": "ideas", "kind": "forum", "threads": threads}]
        async with _town(discord={"guilds": [{"name": "Harbour", "channels": channels}]}) as town:
            posted = {"channel": "general", "text": "low water", "files": [{"name": "a.bin", "size": 1_000}]}
            [message] = (await town.tell("/discord/post", posted))["ids"]
            shown = await town.ask("/truth/discord/general")
            first = await _history(town, tmp_path)
            await town.tell("/discord/edit", {"channel": "general", "id": message, "text": "high water"})
            again = await _history(town, tmp_path)
            calls = sum(call["account"] == bots(1)[0] for call in await town.ask("/calls"))
        assert {one["id"] for one in shown} < first.messages == again.messages
        assert first.count == len(shown) + 7
        assert first.files == {shown[-1]["files"][0]["sha256"]}
        assert ("low water" in first.texts, "high water" in first.texts) == (True, False)
        assert ("low water" in again.texts, "high water" in again.texts) == (True, True)
        assert first.traffic.calls + again.traffic.calls == calls

    async def test_a_copy_of_telegram_holds_what_there_is(self, tmp_path: Path) -> None:
        """All messages and all files; downloads and signing in are no calls."""
        channels = [{"title": "Models", "kind": "forum", "topics": 2, "messages": 30, "files": 3}]
        async with _town(telegram={"accounts": [{"phone": phones(1)[0]}], "channels": channels}) as town:
            shown = await town.ask("/truth/telegram/Models")
            copied = await copy_telegram(town, Path(sys.executable), phones(1)[0], tmp_path)
            called = [call["method"].partition(".")[0] for call in await town.ask("/calls")]
        assert copied.count == len(shown)
        assert copied.files == {file["sha256"] for message in shown for file in message["files"]}
        assert {"auth", "upload"} <= set(called)
        assert copied.traffic.calls == sum(area in ("messages", "users", "updates") for area in called)


def _town(**platforms: dict[str, Any]) -> Any:
    for world in platforms.values():
        if "guilds" in world:
            world["bots"] = [{"name": bots(1)[0]}]
    return town_of({"seed": 7, **platforms})


async def _history(town: Town, folder: Path) -> Any:
    return await copy_discord(town, Path(sys.executable), "history", bots(1)[0], folder)
