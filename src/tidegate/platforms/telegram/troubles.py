"""Telegram's errors in our classes, which say what to do (law 11). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from telethon import errors

from tidegate.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.port import HandleExpired, MayNotPost, UploadLost
from tidegate.words import Scope, ScopeKind

_UNNAMED_WAIT = timedelta(hours=1)
"""How long to keep still when Telegram says "too much" and names no time."""

_UNKNOWN_KEY = 404
_TOO_MANY_CONNECTIONS = 429


class AlreadySent(PlatformError):
    """Telegram has accepted a send with this very random id before: it is delivered."""


class MediaGone(Refused):
    """Telegram does not know, or no longer has, the file that a message was to be made of."""


class HeldElsewhere(PlatformError):
    """The file is kept by another data centre; asking there will do."""

    def __init__(self, centre: int) -> None:
        self.centre = centre
        super().__init__(f"Telegram keeps this file in its data centre {centre}.")


def trouble(problem: BaseException, method: str) -> PlatformError:
    """What to do about *problem*, which a call of *method* ended in."""
    for kinds, translate in _TABLE:
        if isinstance(problem, kinds):
            return translate(problem, method)
    return OutcomeUnknown(f"The connection to Telegram broke during {method}: {problem!r}")


def connect_trouble(problem: BaseException, place: str) -> PlatformError:
    """What to do when connecting to *place* ended in *problem*."""
    if isinstance(problem, TimeoutError):
        return PlatformError(f"Telegram at {place} took too long to answer.")
    if isinstance(problem, OSError):
        return PlatformError(f"Telegram cannot be reached at {place}; is the network up?")
    return trouble(problem, "connecting")


def asked_to_wait(problem: errors.RPCError, method: str) -> AskedToWait:
    """A flood wait stops its method, slow mode its chat; a warning without a time stops the method for an hour."""
    kind = ScopeKind.CHAT if isinstance(problem, errors.SlowModeWaitError) else ScopeKind.METHOD
    seconds = getattr(problem, "seconds", None)
    pause = _UNNAMED_WAIT if seconds is None else timedelta(seconds=max(1, seconds))
    return AskedToWait(pause, Scope(kind, method if kind is ScopeKind.METHOD else ""))


def _broken_transport(problem: errors.InvalidBufferError) -> PlatformError:
    if problem.code == _UNKNOWN_KEY:
        return SignedOut("Telegram does not know the key of this sign-in any more.")
    if problem.code == _TOO_MANY_CONNECTIONS:
        return AskedToWait(timedelta(minutes=1))
    return OutcomeUnknown(f"Telegram broke the connection off: {problem}")


def _handle_expired() -> HandleExpired:
    return HandleExpired("Telegram no longer accepts the reference to this file; fetch its message again.")


def _refused(problem: errors.RPCError, method: str) -> Refused:
    """A definite no. A reference among several has its place in the error's name, so it has no class of its own."""
    said = _said(problem)
    return _handle_expired() if said.startswith("FILE_REFERENCE_") else Refused(f"Telegram refused {method}: {said}.")


def _said(problem: BaseException) -> str:
    """Telegram's own word for it, such as CHANNEL_PRIVATE."""
    return _WORDS.get(type(problem)) or str(getattr(problem, "message", "") or type(problem).__name__)


_WORDS = {kind: word for word, kind in errors.rpc_errors_dict.items()}


_TABLE: Sequence[tuple[tuple[Any, ...], Callable[[Any, str], PlatformError]]] = [
    # The first that fits decides, so what is narrower stands before what is wider.
    ((errors.FloodError, errors.PeerFloodError), asked_to_wait),
    (
        (errors.UserDeactivatedBanError, errors.PhoneNumberBannedError),
        lambda problem, _: Banned(f"Telegram stopped this account: {_said(problem)}."),
    ),
    (
        (errors.UnauthorizedError, errors.AuthKeyError, errors.AuthKeyNotFound),
        lambda problem, _: SignedOut(f"Telegram no longer knows this sign-in: {_said(problem)}."),
    ),
    ((errors.InvalidBufferError,), lambda problem, _: _broken_transport(problem)),
    (
        (
            errors.ChannelPrivateError,
            errors.ChannelInvalidError,
            errors.ChannelIdInvalidError,
            errors.ChannelPublicGroupNaError,
            errors.ChatIdInvalidError,
            errors.ChatForbiddenError,
            errors.PeerIdInvalidError,
        ),
        lambda problem, _: ChannelGone(f"The account can no longer see this channel: {_said(problem)}."),
    ),
    (
        (errors.FileReferenceExpiredError, errors.FileReferenceInvalidError, errors.FileReferenceEmptyError),
        lambda *_: _handle_expired(),
    ),
    (
        (
            errors.FilePartMissingError,
            errors.FilePart0MissingError,
            errors.FilePartSizeChangedError,
        ),
        lambda problem, _: UploadLost(f"Telegram no longer has all parts of this file: {_said(problem)}."),
    ),
    (
        (
            errors.MediaEmptyError,
            errors.MediaInvalidError,
            errors.DocumentInvalidError,
            errors.PhotoInvalidError,
            errors.FileIdInvalidError,
        ),
        lambda problem, method: MediaGone(f"Telegram has no such file for {method}: {_said(problem)}."),
    ),
    (
        (
            errors.ChatWriteForbiddenError,
            errors.ChatAdminRequiredError,
            errors.ChatRestrictedError,
            errors.ChatGuestSendForbiddenError,
            errors.ChatSendMediaForbiddenError,
            errors.UserBannedInChannelError,
        ),
        lambda problem, _: MayNotPost(f"The account may not post there: {_said(problem)}."),
    ),
    ((errors.RandomIdDuplicateError,), lambda *_: AlreadySent("Telegram has accepted this very message before.")),
    ((errors.FileMigrateError,), lambda problem, _: HeldElsewhere(problem.new_dc)),
    (
        (errors.ServerError, errors.TimedOutError),
        lambda problem, method: PlatformError(f"Telegram is in trouble: {method} ended in {_said(problem)}."),
    ),
    ((errors.RPCError,), _refused),
]
