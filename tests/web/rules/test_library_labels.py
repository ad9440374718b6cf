"""Checks, states and failures of the engine in the words of the pages."""

from __future__ import annotations

import pytest

from tidegate.archives.queries.archive_search import STATES
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import FailureReason
from tidegate.history.rules.coverage_bar import BarSegment, CoverageBar
from tidegate.scans.rules.scan_decision import Verdict
from tidegate.web.rules import archive_labels, channel_labels


@pytest.mark.parametrize("verdict", Verdict)
def test_every_check_has_words_of_its_own(verdict: Verdict) -> None:
    """None of the engine's, and no two alike."""
    words = channel_labels.check_words(verdict)
    assert ":" not in words
    assert [one for one in Verdict if channel_labels.check_words(one) == words] == [verdict]
    assert channel_labels.checks_counted({verdict.key: 2}).lower() == f"2 {words}".lower()


def test_a_check_of_another_version_is_still_shown() -> None:
    """Its own words, without the mark before them; nothing where there was none."""
    assert channel_labels.check_words("gate: asleep") == "Asleep"
    assert channel_labels.check_words(None) == ""


@pytest.mark.parametrize(
    ("checked", "behind", "state", "enabled", "words"),
    [
        (True, False, "ok", True, ("Up to date", "good")),
        (True, True, "ok", True, ("Behind: its check is late", "wait")),
        (False, False, "ok", True, ("Waiting for its first check", "wait")),
        (True, True, "ok", False, ("Not mirrored", "")),
        (True, False, "deleted", True, ("Deleted on the platform", "bad")),
    ],
)
def test_whether_a_copy_is_up_to_date(
    *, checked: bool, behind: bool, state: str, enabled: bool, words: tuple[str, str]
) -> None:
    """A copy is never called up to date while its check is overdue, or while nobody can read it."""
    assert channel_labels.mirror_state_words(enabled=enabled, state=state, checked=checked, behind=behind) == words


def test_a_history_is_complete_only_without_gaps() -> None:
    """Files where archives alone are mirrored; some details may still be missing."""
    whole = CoverageBar((BarSegment(0, 9),), (), 0, 1.0)
    assert channel_labels.history_words(whole, full=False) == "Files: complete history"
    holed = CoverageBar((BarSegment(0, 9),), (BarSegment(3, 1),), 2, 0.5)
    assert channel_labels.history_words(holed, full=True) == "Messages: 50% read, 2 gaps"
    assert channel_labels.history_words(None, full=True) == "Messages: nothing read yet"


def test_every_state_type_and_reason_of_archives_has_words() -> None:
    """All that may be stored, in the order in which states are listed."""
    assert [state for state, _ in archive_labels.STATE_CHOICES] == list(STATES)
    assert all(" " not in archive_labels.type_words(kind).replace(", split", "") for kind in ArchiveKind)
    assert all("_" not in archive_labels.failure_words(reason, 0) for reason in FailureReason)
    assert archive_labels.failure_words("download", 2) == "Download failed (2 attempts)"
    assert archive_labels.state_words("filed", copied=True) == "Copied"


def test_a_refusal_is_a_sentence_with_details_apart() -> None:
    """What is no refusal of a platform is a sentence already."""
    found = archive_labels.failure_text("Telegram refused upload.getFile: LOCATION_INVALID.")
    assert (found.sentence, "LOCATION_INVALID" in found.details) == ("Telegram could not provide the file.", True)
    assert archive_labels.failure_text("The line broke.").details == ""
