"""How a client and the platform agree on a key: the plain half of MTProto, before anything is encrypted.

One handshake lives as long as its connection. The RSA key is new in every process, so clients must be given it.
"""

from __future__ import annotations

import functools
import secrets
from dataclasses import dataclass
from hashlib import sha1

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from telethon import helpers
from telethon.crypto import AES, AuthKey
from telethon.crypto import rsa as telegram_rsa
from telethon.extensions import BinaryReader
from telethon.tl import functions, types

PRIME = int(
    "C71CAEB9C6B1C9048E6C522F70F13F73980D40238E3E21C14934D037563D930F"
    "48198A0AA7C14058229493D22530F4DBFA336F6E0AC925139543AED44CCE7C37"
    "20FD51F69458705AC68CD4FE6B6B13ABDC9746512969328454F18FAF8C595F64"
    "2477FE96BB2A941D5BCD1D4AC8CC49880708FA9B378E3C4F3A9060BEE67CF9A4"
    "A4A695811051907E162753B56B0F6B410DBA74D8A84B2A14B3144E0EF1284754"
    "FD17ED950D5965B4B9DD46582DB1178D169C6BC465B0D6FF9CA3928FEF5B9AE4"
    "E418FC15E83EBEA0F87FA9FF5EED70050DED2849F47BF959D956850CE929851F"
    "0D8115F635B105EE2E4E15D04B2454BF6F4FADF034B10403119CD8E3B92FCC5B",
    16,
)
"""The 2048-bit safe prime of the protocol; clients have it built in, and for passwords they take no other quickly."""

GENERATOR = 3

_SECRET_BITS = 256
"""As short as the discrete logarithm allows: the time a connection takes grows with it."""

_P, _Q = 16_777_259, 4_294_967_291  # the smallest prime of four bytes, which is quick to find, and the largest
_PQ = (_P * _Q).to_bytes(8, "big")  # eight bytes below 2**63: clients read it as a signed number


class ServerKey:
    """The platform's RSA key: its public half is what clients are given to trust it by."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._numbers = key.private_numbers()
        self.public_pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1).decode()
        self.fingerprint = _fingerprint(self._numbers.public_numbers)

    def open(self, sealed: bytes) -> bytes:
        """What a client sealed for us: 20 bytes of hash, the data, and padding the caller leaves unread.

        Decrypted modulo each prime and combined, which takes a quarter of the time.
        """
        own, closed = self._numbers, int.from_bytes(sealed, "big")
        by_p, by_q = pow(closed, own.dmp1, own.p), pow(closed, own.dmq1, own.q)
        return (by_q + own.iqmp * (by_p - by_q) % own.p * own.q).to_bytes(255, "big")[20:]


@functools.cache
def key_of_this_process() -> ServerKey:
    """One key for all servers of a process, because making a key takes longer than most calls."""
    return ServerKey()


@functools.cache
def key_of_the_network() -> ServerKey:
    """The key of the delivery network, which clients learn from the platform."""
    return ServerKey()


def _fingerprint(numbers: rsa.RSAPublicNumbers) -> int:
    packed = b"".join(
        types.InputDocumentEmpty.serialize_bytes(telegram_rsa.get_byte_array(number))
        for number in (numbers.n, numbers.e)
    )
    return int.from_bytes(sha1(packed, usedforsecurity=False).digest()[-8:], "little", signed=True)


@dataclass(frozen=True, slots=True)
class Agreed:
    """The handshake is over: what to answer, and the key both sides now have."""

    answer: bytes
    secret: bytes


class Handshake:
    """The three plain requests of one connection, in their order."""

    def __init__(self, key: ServerKey, *, server_time: int, prime: int = PRIME) -> None:
        self._key = key
        self._time = server_time
        self._prime = prime
        self._own = secrets.randbits(_SECRET_BITS)
        self._server_nonce = int.from_bytes(secrets.token_bytes(16), "big", signed=True)
        self._new_nonce = 0

    def answer(self, body: bytes) -> bytes | Agreed:
        """Answer one plain request; ValueError when it is none of the three."""
        request = BinaryReader(body).tgread_object()
        match request:
            case functions.ReqPqMultiRequest():
                return bytes(types.ResPQ(request.nonce, self._server_nonce, _PQ, [self._key.fingerprint]))
            case functions.ReqDHParamsRequest():
                return self._offer(request)
            case functions.SetClientDHParamsRequest():
                return self._agree(request)
        raise ValueError(f"{type(request).__name__} cannot be asked before there is a key.")

    def _offer(self, request: functions.ReqDHParamsRequest) -> bytes:
        self._new_nonce = BinaryReader(self._key.open(request.encrypted_data)).tgread_object().new_nonce
        inner = bytes(
            types.ServerDHInnerData(
                request.nonce,
                self._server_nonce,
                GENERATOR,
                telegram_rsa.get_byte_array(self._prime),
                telegram_rsa.get_byte_array(pow(GENERATOR, self._own, self._prime)),
                self._time,
            )
        )
        sealed = AES.encrypt_ige(sha1(inner, usedforsecurity=False).digest() + inner, *self._cipher())
        return bytes(types.ServerDHParamsOk(request.nonce, self._server_nonce, sealed))

    def _agree(self, request: functions.SetClientDHParamsRequest) -> Agreed:
        opened = AES.decrypt_ige(request.encrypted_data, *self._cipher())
        theirs = BinaryReader(opened[20:]).tgread_object().g_b
        shared = pow(int.from_bytes(theirs, "big"), self._own, self._prime)
        # No padding to 256 bytes: about one secret in 256 begins with a zero byte, and clients drop it.
        secret: bytes = telegram_rsa.get_byte_array(shared)
        proof = AuthKey(secret).calc_new_nonce_hash(self._new_nonce, 1)
        return Agreed(bytes(types.DhGenOk(request.nonce, self._server_nonce, proof)), secret)

    def _cipher(self) -> tuple[bytes, bytes]:
        key, iv = helpers.generate_key_data_from_nonce(self._server_nonce, self._new_nonce)
        return key, iv
