"""The second seed's map leads to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "seeds" / "001.md").read_text()
LINES = TEXT.splitlines()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests|docs)/[^`]+)`", TEXT))))
def test_every_file_it_names_is_there(path: str) -> None:
    """Whoever follows the map arrives."""
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    ("path", "scenario"),
    sorted({
        (path, scenario)
        for line in LINES
        for scenario, path in re.findall(r"\((H-\d\d), `(tests/[^`]+)`\)", line)
    }),
)  # fmt: skip
def test_every_scenario_is_in_the_file_named_beside_it(path: str, scenario: str) -> None:
    """A number in the map is a test that can be read and run."""
    text = (ROOT / path).read_text()
    assert scenario in text or f"_h{scenario[2:]}_" in text


@pytest.mark.parametrize(
    "item",
    [
        "backfill_channel",
        "start_backfill_task",
        "bound_backfill",
        "fetch_batch",
        "fetch_and_cache_from_api",
        "get_message_count",
        "get_oldest_message_id",
        "is_channel_fully_backfilled",
        "mark_channel_fully_backfilled",
        "sync_all_channels",
        "_backfill_locks",
        "run_backfill_and_sync",
    ],
)
def test_every_function_of_the_seed_has_a_place(item: str) -> None:
    """An operator who knows the seed finds what became of each part."""
    assert f"`{item}`" in TEXT


@pytest.mark.parametrize(
    "knob",
    [
        "BACKFILL_CONCURRENCY",
        "BACKFILL_MAX_ITERATIONS",
        "BACKFILL_PARALLEL_BATCHES",
        "BACKFILL_MAX_FETCH_LIMIT",
        "MESSAGE_SYNC_LIMIT",
        "CONTEXT_AGENT_MAX_MESSAGES",
    ],
)
def test_the_knobs_of_the_seed_still_work(knob: str) -> None:
    """The names its operators know are in the map and in the settings."""
    assert f"`{knob}`" in TEXT
    assert f"`{knob}`" in (ROOT / "docs" / "settings.md").read_text()
