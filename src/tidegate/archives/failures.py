"""How a failed set is recorded, and which errors count as a failure of the set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.filing.download import IncompleteFile
from tidegate.archives.handle_renewal import SourceGone
from tidegate.archives.queries import indexing_queue
from tidegate.archives.queries.indexing_queue import TakenSet
from tidegate.archives.rules import retry
from tidegate.archives.rules.retry import FailureReason, FailureState, RetryPolicy
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, NotSent, PlatformError, Refused
from tidegate.database.pool import AWAY, Database, now_of
from tidegate.lanes import Lane
from tidegate.platforms.interface import MayNotPost

log = structlog.get_logger()


async def record_failure(
    lane: Lane, database: Database, policy: RetryPolicy, taken: TakenSet, *, reason: FailureReason, detail: str = ""
) -> None:
    """Record one more failed try, with the sentence an operator reads; the cap decides whether it is the last."""
    async with owned_transaction(database, lane.claim()) as connection:
        now = await now_of(connection)
        failure = retry.fail(
            taken.earlier, message=taken.message, reason=reason, size=taken.size, policy=policy, now=now
        )
        given_up = retry.state_of(failure, policy, now) is FailureState.GIVEN_UP
        await indexing_queue.fail(connection, taken, failure, detail, given_up=given_up)
    log.warning("archive.failed", archive=taken.archive, name=taken.name, reason=reason.value, detail=detail)


class NotFiled(Exception):
    """Why a set was not filed, as a sentence; with *trouble* the next set would fail in the same way."""

    def __init__(self, reason: FailureReason, sentence: str = "", *, trouble: bool = False) -> None:
        self.reason = reason
        self.trouble = trouble
        super().__init__(sentence)


class SourceClosed(Exception):
    """The account can no longer read the channel of a set, which is true of the channel's other sets as well."""


class DestinationClosed(Exception):
    """A destination accepts nothing from the account: no fault of the set, and true of all sets that go there."""


@contextmanager
def failing_as(reason: FailureReason, *, into: bool = False) -> Iterator[None]:
    """Turn the errors of a step into the failure of its set, unless every set would meet the same error.

    A channel that is closed to the account is the one the step brings something *into*, or else the set's source.
    """
    try:
        yield
    except ENDS_CYCLE:
        raise
    except SourceGone as gone:
        raise NotFiled(FailureReason.SOURCE_GONE) from gone
    except IncompleteFile as broken:
        raise NotFiled(FailureReason.DOWNLOAD, str(broken)) from broken
    except (MayNotPost, ChannelGone) as closed:
        raise (DestinationClosed if into else SourceClosed)(str(closed)) from closed
    except NotSent as unsent:
        if isinstance(unsent.__cause__, AWAY):
            raise unsent.__cause__ from unsent  # the database cannot be reached, which the next set would meet too
        raise NotFiled(reason, str(unsent), trouble=True) from unsent
    except PlatformError as problem:
        raise NotFiled(reason, str(problem), trouble=not isinstance(problem, Refused)) from problem
