"""The result of one check of ``tidegate doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check ended; only a failure keeps Tidegate from working as it should."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was checked, and how it ended."""

    name: str
    status: CheckStatus
    sentence: str
    docs: str | None = None  # where to read more


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorDocument:
    """All checks; *ok* unless one failed. *live* is the account whose platform was asked, or null."""

    ok: bool
    live: str | None
    checks: list[Check]


def passed(name: str, sentence: str, docs: str | None = None) -> Check:
    return Check(name=name, status=CheckStatus.OK, sentence=sentence, docs=docs)


def warning(name: str, sentence: str, docs: str | None = None) -> Check:
    return Check(name=name, status=CheckStatus.WARN, sentence=sentence, docs=docs)


def failure(name: str, sentence: str, docs: str | None = None) -> Check:
    return Check(name=name, status=CheckStatus.FAIL, sentence=sentence, docs=docs)


def document(checks: list[Check], live: str | None) -> DoctorDocument:
    return DoctorDocument(ok=all(one.status is not CheckStatus.FAIL for one in checks), live=live, checks=checks)
