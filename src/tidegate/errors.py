"""Errors whose class says what to do (law 11) and whose text is a sentence for a person (law 12)."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.words import AccountState, Scope


class TidegateError(Exception):
    """Anything Tidegate refuses or fails to do; the text is shown to the operator as it stands."""

    exit_code = 1


class BadInput(TidegateError):
    """The operator gave something that cannot be; nothing was changed."""

    exit_code = 2


class Unstorable(BadInput):
    """A text has what PostgreSQL's texts cannot hold: the character NUL, or half of a surrogate pair."""

    def __init__(self) -> None:
        super().__init__(
            "A text has a character in it that cannot be stored: NUL (U+0000), or half of a pair. Take it out."
        )


class NotThere(BadInput):
    """What was named does not exist: *what* it was, and where to look *instead* for whoever sits at a terminal."""

    def __init__(self, what: str, instead: str) -> None:
        self.what = what
        super().__init__(f"There is no {what}. {instead}")


class NotNow(BadInput):
    """It makes sense, and not in the state that things are in; nothing was changed."""


class NothingToDo(TidegateError):
    """There was nothing to do, where that matters to a script."""

    exit_code = 3


class NotOurs(TidegateError):
    """This worker no longer owns the account: no call may be made and no write is accepted."""


class PlatformError(TidegateError):
    """What a platform said or failed to say, translated at the adapter's edge."""


class AskedToWait(PlatformError):
    """The platform named a pause for an account, a method, a bucket or a chat; that scope waits, the rest goes on."""

    def __init__(self, pause: timedelta, scope: Scope | None = None) -> None:
        self.pause = pause
        self.scope = scope or Scope()
        what = " ".join(part for part in (self.scope.kind.value, self.scope.key) if part)
        super().__init__(f"The platform asks {what} to wait {pause.total_seconds():.0f} s.")


class NotSent(PlatformError):
    """Proven not handed over: it may be tried again."""


class OutcomeUnknown(PlatformError):
    """Handed over, and nobody knows whether it arrived: never resent blindly."""


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
    """Nothing is banned yet, and going on could bring it about: the account is paused until a person has looked."""

    leaves = AccountState.PAUSED


class Refused(PlatformError):
    """A definite no to this one request; repeating it would get the same answer."""
