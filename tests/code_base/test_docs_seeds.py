"""The maps of the three designs lead to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.scans.rules.scan_decision import Verdict

ROOT = Path(__file__).parent.parent.parent
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
MAPS = {seed: (ROOT / "docs" / "seeds" / f"{seed}.md").read_text() for seed in ("000", "001", "002")}
BESIDE = {"000": r"S-\d\d", "001": r"H-\d\d", "002": r"D-\d\d"}
"""How each names its scenarios."""


def scenarios(seed: str) -> set[tuple[str, str]]:
    """Scenarios with the file that is named beside them, on a line that names one file or in one bracket."""
    found = set(re.findall(rf"\(({BESIDE[seed]}), `(tests/[^`]+)`\)", MAPS[seed]))
    for line in MAPS[seed].splitlines():
        if len(paths := re.findall(r"`(tests/[^`]+)`", line)) == 1:
            found |= {(scenario, paths[0]) for scenario in re.findall(BESIDE[seed], line)}
    return found


@pytest.mark.parametrize(
    "path", sorted({path for text in MAPS.values() for path in re.findall(r"`((?:src|tests|docs)/[^`]+)`", text)})
)
def test_every_file_they_name_is_there(path: str) -> None:
    """Whoever follows a map arrives."""
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(("scenario", "path"), sorted(pair for seed in MAPS for pair in scenarios(seed)))
def test_every_scenario_is_in_the_file_named_beside_it(scenario: str, path: str) -> None:
    """A number in a map is a test that can be read and run."""
    text = (ROOT / path).read_text()
    assert scenario in text or f"_{scenario[0].lower()}{scenario[2:]}_" in text


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.GATE])
def test_every_verdict_is_explained(verdict: Verdict) -> None:
    """An operator who knows the first design finds each reason the log may show; ``gate`` is only foretold."""
    assert f"`{verdict.key}`" in MAPS["000"]


ITEMS = {
    "001": [
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
    "002": [
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
}
"""Functions, columns, helpers, statuses, components and tests of the designs."""


@pytest.mark.parametrize(("seed", "item"), [(seed, item) for seed, items in ITEMS.items() for item in items])
def test_every_item_has_a_place(seed: str, item: str) -> None:
    """An operator who knows a design finds what became of each part."""
    assert f"`{item}`" in MAPS[seed]


KNOBS = {
    "000": [
        "WORKER_SKIP_RECENT_SCAN_WINDOW_MS",
        "WORKER_EMPTY_SCAN_BACKOFF_THRESHOLD",
        "WORKER_EMPTY_SCAN_BACKOFF_EVERY_NTH",
    ],
    "001": [
        "BACKFILL_CONCURRENCY",
        "BACKFILL_MAX_ITERATIONS",
        "BACKFILL_PARALLEL_BATCHES",
        "BACKFILL_MAX_FETCH_LIMIT",
        "MESSAGE_SYNC_LIMIT",
        "CONTEXT_AGENT_MAX_MESSAGES",
    ],
    "002": [
        "BOT_FIRE_CONCURRENCY",
        "BOT_GROUP_CONCURRENCY",
        "BOT_MAX_SEND_PER_MINUTE",
    ],
}


@pytest.mark.parametrize(("seed", "knob"), [(seed, knob) for seed, knobs in KNOBS.items() for knob in knobs])
def test_the_knobs_still_work(seed: str, knob: str) -> None:
    """The names their operators know are in the map and in the settings."""
    assert f"`{knob}`" in MAPS[seed]
    assert f"`{knob}`" in SETTINGS
