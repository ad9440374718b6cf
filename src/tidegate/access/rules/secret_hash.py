"""How the secrets of links, sessions and tokens are stored."""

from __future__ import annotations

import hashlib


def secret_hash(secret: str) -> bytes:
    """The hash of a secret; 256 random bits need no slow one."""
    return hashlib.sha256(secret.encode()).digest()
