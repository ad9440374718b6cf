"""Errors whose class says what to do (error-class-says-what-to-do) and whose text is a sentence for a person.

Invariant: bad-input-gets-a-sentence.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.core.account import AccountState
from tidegate.core.platform_call import Scope


class TidegateError(Exception):
    """Anything Tidegate refuses or fails to do; the text is shown to the operator."""

    exit_code = 1


class BadInput(TidegateError):
    """Invalid input; nothing was changed."""

    exit_code = 2


class Unstorable(BadInput):
    """A text has what PostgreSQL's texts cannot hold: the character NUL, or half of a surrogate pair."""

    def __init__(self) -> None:
        super().__init__(
            "A text has a character in it that cannot be stored: NUL (U+0000), or half of a pair. Take it out."
        )


class NotThere(BadInput):
    """What was named does not exist: *what* it was, and where to look *instead*, for a person at a terminal."""

    def __init__(self, what: str, instead: str) -> None:
        self.what = what
        super().__init__(f"There is no {what}. {instead}")


class NotNow(BadInput):
    """Valid input that conflicts with the current state; nothing was changed."""


class NothingToDo(TidegateError):
    """There was nothing to do, where that matters to a script."""

    exit_code = 3


class NotOurs(TidegateError):
    """This worker no longer owns the account: no call may be made and no write is accepted."""


class MachineTrouble(TidegateError):
    """The machine cannot do it now: no disk space, no permission, no process. The item itself is not at fault."""


class PlatformError(TidegateError):
    """An error of a platform, translated by its adapter."""


class AskedToWait(PlatformError):
    """The platform named a pause for an account, a method, a bucket or a chat; that scope waits, the rest continues."""

    def __init__(self, pause: timedelta, scope: Scope | None = None) -> None:
        self.pause = pause
        self.scope = scope or Scope()
        what = " ".join(part for part in (self.scope.kind.value, self.scope.key) if part)
        super().__init__(f"The platform asks {what} to wait {pause.total_seconds():.0f} s.")


class LongWait(PlatformError):
    """A call has to wait for *pause* more, which is too long to sleep through: park the work and come back then."""

    def __init__(self, method: str, pause: timedelta) -> None:
        self.pause = pause
        super().__init__(f"The platform asks {method} to wait another {pause.total_seconds():.0f} s.")


class NotSent(PlatformError):
    """Proven not handed over: it may be tried again."""


class OutcomeUnknown(PlatformError):
    """It was handed over, and it is unknown whether it arrived: never resent blindly."""


class ServerTrouble(OutcomeUnknown):
    """The platform reports an internal error; it may have accepted the message before."""


class ChannelGone(PlatformError):
    """The channel no longer exists, or the account can no longer see it."""


class SignedOut(PlatformError):
    """The sign-in is no longer valid; a person has to sign in again."""

    leaves = AccountState.SIGNED_OUT


class Banned(PlatformError):
    """The platform stopped the account, for a while or for good."""

    leaves = AccountState.BANNED

    def __init__(self, sentence: str, until: datetime | None = None) -> None:
        self.until = until
        super().__init__(sentence)


class Halted(Banned):
    """Not banned yet, but continuing could lead to it: the account is paused until a person has looked."""

    leaves = AccountState.PAUSED


class Refused(PlatformError):
    """A definite no to this one request; repeating it would get the same answer."""


class FileRefused(Refused):
    """A definite no to a file; other chats of the same kind will most likely not take it either."""


ENDS_CYCLE = (NotOurs, SignedOut, Banned)
"""What ends a whole cycle. Any other trouble of a platform ends only the scan it came up in."""
