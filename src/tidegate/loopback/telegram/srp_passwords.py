"""The second step of a sign-in: a password that is proven and never sent (SRP, as the platform has it)."""

from __future__ import annotations

import hashlib
from typing import Any

from telethon.tl import types

from tidegate.loopback.telegram.handshake import GENERATOR, PRIME
from tidegate.loopback.telegram.world.world import Account, World

_WIDTH = 256
_ROUNDS = 100_000


def offer_password(world: World, account: Account) -> types.account.Password:
    """What a client needs to prove that it knows the account's password."""
    algorithm = types.PasswordKdfAlgoSHA256SHA256PBKDF2HMACSHA512iter100000SHA256ModPow(
        *_salts(world, account), GENERATOR, _wide(PRIME)
    )
    offered: dict[str, Any] = {}
    if account.password:
        offered = {
            "has_password": True,
            "current_algo": algorithm,
            "srp_B": _wide(_ours(world, account)),
            "srp_id": account.id,
        }
    return types.account.Password(algorithm, types.SecurePasswordKdfAlgoUnknown(), b"", **offered)


def password_fits(world: World, account: Account, proof: Any) -> bool:
    """Whether *proof* was made by someone who knows the password."""
    if not isinstance(proof, types.InputCheckPasswordSRP) or proof.srp_id != account.id:
        return False
    theirs, ours = int.from_bytes(proof.A, "big"), _ours(world, account)
    if not 0 < theirs < PRIME:
        return False
    mixed = int.from_bytes(_hash(_wide(theirs), _wide(ours)), "big")
    shared = pow(theirs * pow(_verifier(world, account), mixed, PRIME), _own_exponent(world, account), PRIME)
    expected = _hash(
        bytes(a ^ b for a, b in zip(_hash(_wide(PRIME)), _hash(_wide(GENERATOR)), strict=True)),
        *(_hash(salt) for salt in _salts(world, account)),
        _wide(theirs),
        _wide(ours),
        _hash(_wide(shared)),
    )
    return bool(expected == proof.M1)


def _ours(world: World, account: Account) -> int:
    factor = int.from_bytes(_hash(_wide(PRIME), _wide(GENERATOR)), "big")
    return (factor * _verifier(world, account) + pow(GENERATOR, _own_exponent(world, account), PRIME)) % PRIME


def _verifier(world: World, account: Account) -> int:
    first, second = _salts(world, account)
    inner = _hash(second, _hash(first, account.password.encode(), first), second)
    stretched = hashlib.pbkdf2_hmac("sha512", inner, first, _ROUNDS)
    return pow(GENERATOR, int.from_bytes(_hash(second, stretched, second), "big"), PRIME)


def _salts(world: World, account: Account) -> tuple[bytes, bytes]:
    first, second = (hashlib.sha256(f"{world.seed}/{account.id}/{number}".encode()).digest()[:16] for number in (1, 2))
    return first, second


def _own_exponent(world: World, account: Account) -> int:
    return int.from_bytes(hashlib.shake_256(f"{world.seed}/{account.id}".encode()).digest(_WIDTH), "big")


def _hash(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _wide(number: int) -> bytes:
    return number.to_bytes(_WIDTH, "big")
