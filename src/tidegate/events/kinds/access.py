"""Access to Tidegate. The subject is a token's name, or ``pages`` for sign-ins to the web pages."""

from __future__ import annotations

from tidegate.events.event_data import EventData, event_kind


@event_kind("access.reset")
class AccessReset(EventData):
    """The database was restored or found to be a copy, so all access was reset.

    The subject is ``restore`` or ``copy``. *tokens* wait for confirmation; *sessions* and *links* count those that were
    ended.
    """

    tokens: list[str]
    sessions: int
    links: int
    has_password: bool


@event_kind("sign_in.link_made")
class SignInLinkMade(EventData):
    """A one-time sign-in link was made."""


@event_kind("sign_in.password_set")
class SignInPasswordSet(EventData):
    """The password was set; all browsers were signed out."""


@event_kind("sign_in.begun")
class SignInBegun(EventData):
    """A browser signed in; *client* is its address."""

    client: str


@event_kind("sign_in.ended_everywhere")
class SignInEndedEverywhere(EventData):
    """All browsers were signed out; *sessions* counts them."""

    sessions: int


@event_kind("token.added")
class TokenAdded(EventData):
    """An API token was made; *by* names the token that asked for it, if one did."""

    scopes: list[str]
    by: str | None = None


@event_kind("token.revoked")
class TokenRevoked(EventData):
    """An API token was revoked."""


@event_kind("token.confirmed")
class TokenConfirmed(EventData):
    """An API token was confirmed after its database was restored or copied."""
