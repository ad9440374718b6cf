"""What a cycle did, for whoever asked for it, the feed and the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.mirror.intake import Tally
from tidegate.rules.scanning import Verdict


@dataclass(slots=True)
class Report:
    """What a cycle did, as ``tidegate cycle`` prints it.

    *calls* are those of the cycle itself, *indexing_calls* those for the archives that were worked off after it; *kept*
    is the row that it is kept in, if it is.
    """

    account: str
    cycle: int
    whole: bool
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    gated: int = 0
    changed: int = 0
    failures_retried: int = 0
    troubles: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    calls: Mapping[str, int] = field(default_factory=dict)
    indexing_calls: Mapping[str, int] = field(default_factory=dict)
    connect_calls: int = 0
    kept: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "cycle": self.cycle,
            "whole": self.whole,
            "calls": dict(self.calls),
            "calls_total": sum(self.calls.values()),
            "indexing_calls": dict(self.indexing_calls),
            "connect_calls": self.connect_calls,
            "verdicts": {verdict.key: count for verdict, count in self.verdicts.items() if count},
            "gated": self.gated,
            "changed": self.changed,
            "messages": self.tally.messages,
            "archives_found": self.tally.archives,
            "files_found": self.tally.files,
            "failures_retried": self.failures_retried,
            "troubles": self.troubles,
            "seconds": round(self.seconds, 3),
        }
