"""Public keys of the delivery network. Its servers are not trusted, so each key is trusted only while it is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from telethon.crypto import rsa

_in_use: Counter[str] = Counter()  # Telethon keeps the keys that it believes for the whole process


@contextmanager
def believed(keys: Collection[str]) -> Iterator[None]:
    """Have Telethon take these keys, as PEM, for as long as a connection is made."""
    for key in keys:
        _in_use[key] += 1
        rsa.add_key(key, old=False)
    try:
        yield
    finally:
        for key in keys:
            _in_use[key] -= 1
            if not _in_use[key]:
                rsa._server_keys.pop(rsa._compute_fingerprint(rsa.rsa.PublicKey.load_pkcs1(key)), None)
