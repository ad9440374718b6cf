"""JSON documents of tokens, as ``tidegate token`` and the API give them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.access.queries.tokens import Token, TokenState
from tidegate.core.json_fields import Instant, instant


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A stored token. *channels* are the titles of those it may read; null is all."""

    name: str
    scopes: list[str]
    channels: list[str] | None
    made_at: Instant
    used_at: Instant | None
    expires_at: Instant | None
    state: TokenState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token just made. *token* is the secret itself, returned only once: only its hash is stored."""

    name: str
    scopes: list[str]
    expires_at: Instant | None
    token: str


def token_row(token: Token) -> TokenRow:
    """A stored token as its document."""
    return TokenRow(
        name=token.name,
        scopes=sorted(token.scopes),
        channels=None if token.channels is None else list(token.titles),
        made_at=token.made_at.isoformat(),
        used_at=instant(token.used_at),
        expires_at=instant(token.expires_at),
        state=token.state,
    )
