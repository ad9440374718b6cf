"""The third seed's map leads to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "seeds" / "002.md").read_text()
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
        for scenario, path in re.findall(r"\((D-\d\d), `(tests/[^`]+)`\)", line)
    }),
)  # fmt: skip
def test_every_scenario_is_in_the_file_named_beside_it(path: str, scenario: str) -> None:
    """A number in the map is a test that can be read and run."""
    text = (ROOT / path).read_text()
    assert scenario in text or f"_d{scenario[2:]}_" in text


@pytest.mark.parametrize(
    "item",
    [
        "delivery_window_start_hour",
        "delivery_window_end_hour",
        "timezone",
        "reminder.targets",
        "reminder.messages",
        "media_files",
        "reminder_run_targets",
        "error_summary",
        "windowEndAt(timezone, endHour, fireAt)",
        "boss.work()",
        "teamSize",
        "PerKeyMutex",
        "prepareWAMessageMedia",
        "WAMediaUpload",
        "assertSessions(group)",
        'error="delivery window closed"',
        "reminder.fired",
        "pending",
        "sent",
        "skipped",
        "success",
        "partial",
        "failed",
    ],
)
def test_every_column_helper_and_status_has_a_place(item: str) -> None:
    """An operator who knows the seed finds what became of each part."""
    assert f"`{item}`" in TEXT


@pytest.mark.parametrize(
    "file",
    [
        "migrations/0008_*.sql",
        "packages/db/src/schema.ts",
        "per-key-mutex.ts",
        "rate-limiter.ts",
        "media-upload-cache.ts",
        "delivery-window.ts",
        "fire-reminder.ts",
        "reminder-jobs.ts",
        "env.ts",
        "actions/reminders.ts",
        "when-form-client.tsx",
        "edit-when-form.tsx",
        "notifications.ts",
        "delivery-window.test.ts",
        "rate-limiter.test.ts",
        "per-key-mutex.test.ts",
        "media-upload-cache.test.ts",
        "fire-reminder.test.ts",
    ],
)
def test_every_component_and_test_has_a_place(file: str) -> None:
    """So does each file it planned."""
    assert f"`{file}`" in TEXT


@pytest.mark.parametrize("knob", ["BOT_FIRE_CONCURRENCY", "BOT_GROUP_CONCURRENCY", "BOT_MAX_SEND_PER_MINUTE"])
def test_the_knobs_of_the_seed_still_work(knob: str) -> None:
    """The names its operators know are in the map and in the settings."""
    assert f"`{knob}`" in TEXT
    assert f"`{knob}`" in (ROOT / "docs" / "settings.md").read_text()
