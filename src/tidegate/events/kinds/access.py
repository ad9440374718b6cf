"""Access to Tidegate. The subject is a token's name, or ``pages`` for sign-ins to the web pages."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessReset(EventData):
    """The database was restored or found to be a copy, so all access was reset.

    The subject is ``restore`` or ``copy``. *tokens* wait for confirmation; *sessions* and *links* count those that were
    ended.
    """

    kind = "access.reset"
    tokens: list[str]
    sessions: int
    links: int
    has_password: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinkMade(EventData):
    """A one-time sign-in link was made."""

    kind = "sign_in.link_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPasswordSet(EventData):
    """The password was set; all browsers were signed out."""

    kind = "sign_in.password_set"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInBegun(EventData):
    """A browser signed in; *client* is its address."""

    kind = "sign_in.begun"
    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInEndedEverywhere(EventData):
    """All browsers were signed out; *sessions* counts them."""

    kind = "sign_in.ended_everywhere"
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAdded(EventData):
    """An API token was made; *by* names the token that asked for it, if one did."""

    kind = "token.added"
    scopes: list[str]
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked(EventData):
    """An API token was revoked."""

    kind = "token.revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenConfirmed(EventData):
    """An API token was confirmed after its database was restored or copied."""

    kind = "token.confirmed"
