"""Encrypted messages as the platform's side of MTProto 2.0 writes and reads them."""

from __future__ import annotations

import secrets
import struct
from dataclasses import dataclass
from hashlib import sha256

from telethon.crypto import AES, AuthKey

SALT = 1  # clients get it with every new session and may send any


class NotSealed(Exception):
    """The packet was not encrypted with this key."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message of a client, opened."""

    session: int
    id: int
    body: bytes


def key_id(secret: bytes) -> int:
    """The id by which a client names its key."""
    number: int = AuthKey(secret).key_id
    return number


def open_letter(secret: bytes, packet: bytes) -> Letter:
    """Open what a client sealed with *secret*; NotSealed when it was another key or the bytes changed on the way."""
    stamp, sealed = packet[8:24], packet[24:]
    if len(sealed) < 32 or len(sealed) % 16:
        raise NotSealed("The packet is too short or cut off.")
    plain = AES.decrypt_ige(sealed, *_cipher(secret, stamp, side=0))
    if stamp != sha256(secret[88:120] + plain).digest()[8:24]:
        raise NotSealed("The stamp does not fit the packet.")
    _, session, number, _, length = struct.unpack_from("<qqqii", plain)
    return Letter(session, number, plain[32 : 32 + length])


def seal_letter(secret: bytes, session: int, number: int, sequence: int, body: bytes) -> bytes:
    """Seal *body* for the client that has *secret*, as message *number* of its session."""
    plain = struct.pack("<qqqii", SALT, session, number, sequence, len(body)) + body
    plain += secrets.token_bytes(-(len(plain) + 12) % 16 + 12)
    stamp = sha256(secret[96:128] + plain).digest()[8:24]
    sealed: bytes = AES.encrypt_ige(plain, *_cipher(secret, stamp, side=8))
    return struct.pack("<Q", key_id(secret)) + stamp + sealed


def _cipher(secret: bytes, stamp: bytes, *, side: int) -> tuple[bytes, bytes]:
    """Key and vector of one message; *side* is 0 for what clients write and 8 for what the platform writes."""
    a = sha256(stamp + secret[side : side + 36]).digest()
    b = sha256(secret[side + 40 : side + 76] + stamp).digest()
    return a[:8] + b[8:24] + a[24:32], b[:8] + a[8:24] + b[24:32]
