"""How a call ended, by the class of what was raised."""

from __future__ import annotations

import asyncio

from tidegate.core import errors
from tidegate.core.platform_call import CallOutcome
from tidegate.platforms.interface import NOT_ASKED

_ENDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], CallOutcome], ...] = (
    (errors.AskedToWait, CallOutcome.ASKED_TO_WAIT),
    ((errors.NotSent, errors.NotOurs, *NOT_ASKED), CallOutcome.NOT_SENT),
    ((errors.OutcomeUnknown, asyncio.CancelledError), CallOutcome.UNKNOWN),
    ((errors.Refused, errors.ChannelGone, errors.SignedOut, errors.Banned), CallOutcome.FAILED),
)


def outcome_of(problem: BaseException, *, otherwise: CallOutcome) -> CallOutcome:
    """The outcome for the call log; *otherwise* for an error that no adapter has translated."""
    return next((outcome for kinds, outcome in _ENDS if isinstance(problem, kinds)), otherwise)
