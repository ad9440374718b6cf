"""Translates Telegram's errors into Tidegate's classes, which say what to do (error-class-says-what-to-do). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from python_socks import ProxyError
from telethon import errors

from tidegate.core.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    Halted,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.platforms.interface import HandleExpired, MayNotPost, SourceProtected, UploadLost

_UNNAMED_WAIT = timedelta(hours=1)
"""How long to pause when Telegram reports too many calls and gives no time."""

_CLOSED_CHATS = ("INPUT_USER_DEACTIVATED", "TOPIC_CLOSED", "TOPIC_DELETED", "USER_IS_BLOCKED", "YOU_BLOCKED_USER")
"""Further errors for a chat that accepts nothing from the account, in addition to CHAT_SEND_…_FORBIDDEN."""

_DELIVERY_ENDED = ("FILE_TOKEN_INVALID", "REQUEST_TOKEN_INVALID")

_FROZEN = "FROZEN_"
"""The prefix of Telegram's errors for a frozen account; one of them has the code of a flood wait."""

_UNKNOWN_KEY = 404
_TOO_MANY_CONNECTIONS = 429


class AlreadySent(PlatformError):
    """Telegram already accepted a send with this random id: it is delivered."""


class MediaGone(Refused):
    """Telegram does not know, or no longer has, the file for a message."""


class HeldElsewhere(PlatformError):
    """The file is in another data centre; the call works there."""

    def __init__(self, centre: int) -> None:
        self.centre = centre
        super().__init__(f"Telegram keeps this file in its data centre {centre}.")


class DeliveryEnded(Refused):
    """The delivery network no longer gives out a file as Telegram described it; ask for the file again."""


def trouble(problem: BaseException, method: str) -> PlatformError:
    """The error for *problem*, in which a call of *method* ended."""
    if _said(problem).startswith(_FROZEN):
        return _stopped(problem)
    for kinds, translate in _TABLE:
        if isinstance(problem, kinds):
            return translate(problem, method)
    return OutcomeUnknown(f"The connection to Telegram broke during {method}: {problem!r}")


def connect_trouble(problem: BaseException, place: str) -> PlatformError:
    """The error when connecting to *place* ended in *problem*."""
    if isinstance(problem, TimeoutError):
        return PlatformError(f"Telegram at {place} took too long to answer.")
    if isinstance(problem, ProxyError):  # its text may hold anything that the proxy said
        return PlatformError("The account's proxy refused to connect to Telegram; are its name and password right?")
    if isinstance(problem, OSError):
        return PlatformError(f"Telegram cannot be reached at {place}; is the network up?")
    return trouble(problem, "connecting")


def asked_to_wait(problem: errors.RPCError, method: str) -> AskedToWait:
    """A flood wait pauses its method, slow mode its chat; a warning without a time pauses the method for an hour."""
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
    """A definite refusal. A file reference error may contain the index of the reference, so it has no class."""
    said = _said(problem)
    if said.startswith("FILE_REFERENCE_"):
        return _handle_expired()
    if said in _DELIVERY_ENDED:
        return DeliveryEnded(f"Telegram's delivery network no longer knows this file: {said}.")
    if said in _CLOSED_CHATS or (said.startswith("CHAT_SEND_") and said.endswith("_FORBIDDEN")):
        return _may_not_post(problem)
    return Refused(f"Telegram refused {method}: {said}.")


def _stopped(problem: BaseException) -> Halted:
    """Telegram limits the account itself, so no other chat or file would succeed."""
    return Halted(
        f"Telegram has limited this account: {_said(problem)}. Open Telegram with it, read what it says and appeal; "
        "when the limit is gone, resume the account."
    )


def _may_not_post(problem: errors.RPCError) -> MayNotPost:
    return MayNotPost(f"The account may not post there: {_said(problem)}.")


def _said(problem: BaseException) -> str:
    """Telegram's name of the error, such as CHANNEL_PRIVATE."""
    return _WORDS.get(type(problem)) or str(getattr(problem, "message", "") or type(problem).__name__)


_WORDS = {kind: word for word, kind in errors.rpc_errors_dict.items()}


_TABLE: Sequence[tuple[tuple[Any, ...], Callable[[Any, str], PlatformError]]] = [
    # The first match decides, so narrower patterns stand before wider ones.
    ((errors.FloodError, errors.PeerFloodError), asked_to_wait),
    (
        (errors.UserDeactivatedBanError, errors.PhoneNumberBannedError),
        lambda problem, _: Banned(f"Telegram stopped this account: {_said(problem)}."),
    ),
    ((errors.UserRestrictedError,), lambda problem, _: _stopped(problem)),
    (
        (errors.UnauthorizedError, errors.AuthKeyError, errors.AuthKeyNotFound),
        lambda problem, _: SignedOut(f"Telegram no longer knows this sign-in: {_said(problem)}."),
    ),
    ((errors.InvalidBufferError,), lambda problem, _: _broken_transport(problem)),
    (
        (
            errors.ChannelPrivateError,
            errors.ChannelBannedError,
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
        lambda problem, _: _may_not_post(problem),
    ),
    (
        (errors.ChatForwardsRestrictedError,),
        lambda problem, _: SourceProtected(f"Nothing may be copied out of that channel: {_said(problem)}."),
    ),
    ((errors.RandomIdDuplicateError,), lambda *_: AlreadySent("Telegram has accepted this very message before.")),
    ((errors.FileMigrateError,), lambda problem, _: HeldElsewhere(problem.new_dc)),
    (
        (errors.ServerError, errors.TimedOutError),
        lambda problem, method: PlatformError(f"Telegram is in trouble: {method} ended in {_said(problem)}."),
    ),
    ((errors.RPCError,), _refused),
]
