"""A channel's states and checks in the words of the pages. JSON keeps the engine's own."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.channels.rules.mirror_state import MirrorState
from tidegate.core.rules.readable_values import counted
from tidegate.history.rules.coverage_bar import CoverageBar
from tidegate.scans.rules.scan_decision import Verdict

_CHECKS: Mapping[Verdict, str] = {
    Verdict.RETRY: "Retrying archives",
    Verdict.FIRST: "First check",
    Verdict.ASKED: "Checked on request",
    Verdict.FRESH: "Checked recently",
    Verdict.COLD: "Quiet, checked less often",
    Verdict.UNREADABLE: "No account can read it",
    Verdict.GATE: "Checked for news",
    Verdict.UNCHANGED: "No new messages",
    Verdict.CHANGED: "New messages or changes",
    Verdict.UNKNOWN: "Read to be sure",
}

_COUNTED: Mapping[str, str] = {one.key: words[0].lower() + words[1:] for one, words in _CHECKS.items()}

_STATES: Mapping[str, str] = {
    "ok": "Readable",
    "no_history_permission": "No permission to read its history",
    "deleted": "Deleted on the platform",
    "unreadable": "No account can read it",
    "moved": "Moved to another group",
}

_KINDS: Mapping[str, str] = {
    "announcement": "Announcement channel",
    "voice": "Voice channel",
    "board": "Forum channel",
}

UPKEEP_CHOICES: Mapping[MirrorState, str] = {
    MirrorState.CURRENT: "Up to date",
    MirrorState.BEHIND: "Behind",
    MirrorState.NEW: "Waiting for its first check",
    MirrorState.UNREADABLE: "Unreadable",
    MirrorState.TROUBLE: "With a problem",
}
"""How copies are kept up, to choose from."""


def check_words(verdict: str | None) -> str:
    """What the last check of a channel or topic did, for people; empty when there was none."""
    if not verdict:
        return ""
    try:
        return _CHECKS[Verdict(verdict)]
    except ValueError:  # stored by another version
        return verdict.rpartition(": ")[2].capitalize()


def checks_counted(verdicts: Mapping[str, int]) -> str:
    """How many channels and topics had which result: "1,085 no new messages, 1 retrying archives"."""
    return ", ".join(f"{number:,} {_COUNTED.get(key, key.replace('_', ' '))}" for key, number in verdicts.items())


def state_words(state: str) -> str:
    """The state of a channel."""
    return _STATES.get(state, state.replace("_", " ").capitalize())


def kind_words(kind: str, *, forum: bool) -> str:
    """What a channel is."""
    return "Forum" if forum else _KINDS.get(kind, kind.capitalize())


def history_words(bar: CoverageBar | None, *, full: bool) -> str:
    """How much of a channel's history is stored; *full* counts messages, otherwise the files of archives."""
    what = "Messages" if full else "Files"
    if bar is None or not bar.covered:
        return f"{what}: nothing read yet"
    if not bar.holes:
        return f"{what}: complete, some details still to be read" if bar.partial else f"{what}: complete history"
    return f"{what}: {share_words(bar.share)} read, {counted(bar.holes, 'gap')}"


def share_words(share: float) -> str:
    """A share that is neither none nor all."""
    return f"{share:.0%}" if 0.01 <= share <= 0.99 else "less than 1%" if share < 0.5 else "over 99%"


def mirror_state_words(*, enabled: bool, state: str, checked: bool, behind: bool) -> tuple[str, str]:
    """Whether a channel's copy is up to date, and its mood: good, wait or bad, empty where nobody wants a copy."""
    if state != "ok":
        return state_words(state), "bad"
    if not enabled:
        return "Not mirrored", ""
    if not checked:
        return "Waiting for its first check", "wait"
    if behind:
        return "Behind: its check is late", "wait"
    return "Up to date", "good"
