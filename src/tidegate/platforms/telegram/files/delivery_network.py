"""Files that Telegram gives out over its delivery network: sealed with a key of their own, and proven by hashes.

The servers of the network are not trusted. They have encrypted bytes only; Telegram's own servers give the key, and the
SHA-256 of each part. A part that is not proven is never used. Pure.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from telethon.tl import types

from tidegate.core.errors import PlatformError

BLOCK = 1 << 20
"""How much is asked for at a time: the hashes are for parts that divide it, so a whole block can always be proven."""

_CIPHER_BLOCK = 16


class DeliveredFile:
    """One file on the network, as Telegram described it to one account.

    *centre* is the network's data centre, *home* the one that knows the file. *reupload* is a token
    of the network: Telegram needs it to give the network the file.
    """

    def __init__(self, told: types.upload.FileCdnRedirect, home: int) -> None:
        self.centre: int = told.dc_id
        self.home = home
        self.token: bytes = told.file_token
        self.reupload: bytes | None = None
        self._key: bytes = told.encryption_key
        self._start: bytes = told.encryption_iv
        self._hashes: dict[int, types.FileHash] = {}
        self._asked: set[int] = set()
        self.learn(told.file_hashes)

    def learn(self, hashes: Iterable[Any], *, asked_from: int | None = None) -> None:
        """Take hashes of parts; *asked_from* is the offset they were asked for, where they were."""
        for one in hashes:
            self._hashes[one.offset] = one
        if asked_from is not None:
            self._asked.add(asked_from)

    def missing_from(self, start: int) -> int | None:
        """From where on hashes of the block at *start* are to be asked for; None when all that exist are known."""
        at = start
        while at < start + BLOCK and (known := self._hashes.get(at)) is not None and known.limit > 0:
            at += known.limit
        return None if at >= start + BLOCK or at in self._asked else at

    def opened(self, start: int, sealed: bytes) -> bytes:
        """The bytes of the block at *start*; ``PlatformError`` where the hashes do not prove every one of them."""
        counter = int.from_bytes(self._start[:12], "big") << 32 | start // _CIPHER_BLOCK
        cipher = Cipher(algorithms.AES(self._key), modes.CTR(counter.to_bytes(_CIPHER_BLOCK, "big")))
        content = cipher.decryptor().update(sealed)
        at = 0
        while (known := self._hashes.get(start + at)) is not None and at < BLOCK and known.limit > 0:
            part = content[at : at + known.limit]
            if not hmac.compare_digest(sha256(part).digest(), known.hash):
                raise _unproven()
            at += known.limit
        if at < len(content):
            raise _unproven()
        return content


def _unproven() -> PlatformError:
    return PlatformError("Telegram's delivery network gave other bytes than Telegram has; they were not used.")
