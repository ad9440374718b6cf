"""How a set that could not be worked on goes on record, whatever was being done with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import structlog

from tidegate.errors import ChannelGone, PlatformError, Refused
from tidegate.lanes import Lane
from tidegate.mirror.downloading import NotWhole
from tidegate.mirror.scan import FINAL
from tidegate.mirror.sources import SourceGone
from tidegate.mirror.work_folder import NoRoom
from tidegate.port import MayNotPost
from tidegate.rules import retrying
from tidegate.rules.retrying import FailureReason, FailureState, RetryHabits
from tidegate.store import accounts, contents
from tidegate.store.contents import Taken
from tidegate.store.database import Database

log = structlog.get_logger()


async def record_failure(
    lane: Lane, database: Database, habits: RetryHabits, taken: Taken, *, reason: FailureReason, detail: str = ""
) -> None:
    """Note one more try that failed, with the sentence an operator reads; the cap decides whether it is the last."""
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        now: datetime = await connection.fetchval("SELECT clock_now()")
        failure = retrying.fail(
            taken.earlier, message=taken.message, reason=reason, size=taken.size, habits=habits, now=now
        )
        given_up = retrying.state_of(failure, habits, now) is FailureState.GIVEN_UP
        await contents.fail(connection, taken, failure, detail, given_up=given_up)
    log.warning("archive.failed", archive=taken.archive, name=taken.name, reason=reason.value, detail=detail)


class NotFiled(Exception):
    """Why a set was not filed, with the sentence of its failure; with *trouble* the next set would meet the same."""

    def __init__(self, reason: FailureReason, sentence: str = "", *, trouble: bool = False) -> None:
        self.reason = reason
        self.trouble = trouble
        super().__init__(sentence)


@contextmanager
def failing_as(reason: FailureReason, *, destination: str | None = None) -> Iterator[None]:
    """Around a step: what goes wrong in it becomes the failure of the set, unless it ends everybody's work.

    A channel that is closed to the account is the *destination* of that title where one is given.
    """
    try:
        yield
    except FINAL:
        raise
    except SourceGone as gone:
        raise NotFiled(FailureReason.SOURCE_GONE) from gone
    except NoRoom as full:
        raise NotFiled(FailureReason.DISK_FULL, str(full)) from full
    except NotWhole as broken:
        raise NotFiled(FailureReason.DOWNLOAD, str(broken)) from broken
    except (MayNotPost, ChannelGone) as closed:
        todo = f'"{destination}" takes nothing; let the account write there, then retry. ' if destination else ""
        raise NotFiled(reason, f"{todo}{closed}") from closed
    except PlatformError as problem:
        raise NotFiled(reason, str(problem), trouble=not isinstance(problem, Refused)) from problem
