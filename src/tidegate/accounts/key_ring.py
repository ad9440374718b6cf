"""The keys that encrypt secrets at rest: where they come from, and sealing with them.

A key ring is text, one key a line as ``ID:BASE64`` of 32 bytes. The first key seals, all of them open, so that a key
can be changed without a moment in which something cannot be read. Lines that begin with ``#`` are remarks.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.files.durable_files import flush
from tidegate.core.files.trusted_files import read_trusted
from tidegate.core.ids import AccountId
from tidegate.database.embedded.data_folder import make_home

_NONCE = 12
_LINE = re.compile(r"(?P<id>[A-Za-z0-9_-]{1,32}):(?P<key>[A-Za-z0-9+/=]+)")
_REMARK = "# Tidegate's keys: without them the sign-ins in the database cannot be read. Keep a copy apart from backups."


@dataclass(frozen=True, slots=True)
class SecretOwner:
    """The one row a secret belongs to; sealed for it, a secret opens nowhere else."""

    table: str
    account: AccountId  # whose secret it is; 0 for one of Tidegate itself
    name: str

    @property
    def whose(self) -> str:
        return f"account number {self.account}" if self.account else "Tidegate itself"

    def __bytes__(self) -> bytes:
        return json.dumps([self.table, self.account, self.name]).encode()


class KeyRing:
    """Keys by their id; the first seals. Its text form never shows them."""

    def __init__(self, keys: Mapping[str, bytes], source: str) -> None:
        self.source = source
        self.ids = tuple(keys)
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.ids)} from {self.source})"

    def seal(self, plain: bytes, bond: SecretOwner) -> tuple[str, bytes]:
        """Encrypt under the first key; returns its id and what to store."""
        key_id = self.ids[0]
        nonce = secrets.token_bytes(_NONCE)
        return key_id, nonce + self._ciphers[key_id].encrypt(nonce, plain, bytes(bond))

    def open(self, key_id: str, sealed: bytes, bond: SecretOwner) -> bytes:
        """Decrypt what ``seal`` made for the same row."""
        if key_id not in self._ciphers:
            raise TidegateError(
                f'The key "{key_id}" is missing: a secret of {bond.whose} is sealed with it, and '
                f"{self.source} holds only {', '.join(self.ids)}. Put the key back, or sign the account in again."
            )
        try:
            return self._ciphers[key_id].decrypt(sealed[:_NONCE], sealed[_NONCE:], bytes(bond))
        except (InvalidTag, ValueError):
            raise TidegateError(
                f'A secret of {bond.whose} does not open with the key "{key_id}" of {self.source}: '
                "the key is not the one it was sealed with, or the row was changed. "
                "Put the right key back, or sign the account in again."
            ) from None


def parse(text: str, source: str) -> KeyRing:
    """Read a key ring from *text*; a wrong line is named by its number and never quoted."""
    keys: dict[str, bytes] = {}
    for number, written in enumerate(text.replace(",", "\n").splitlines(), start=1):
        line = written.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        key = _decoded(found["key"]) if found else None
        if found is None or key is None:
            raise BadInput(f"Line {number} of {source} is no key: each line is ID:BASE64 of 32 bytes.")
        if found["id"] in keys:
            raise BadInput(f"Line {number} of {source} repeats the key id of an earlier line; each key has its own.")
        keys[found["id"]] = key
    if not keys:
        raise BadInput(f"There is no key in {source}: each line is ID:BASE64 of 32 bytes.")
    return KeyRing(keys, source)


def key_file(home: Path) -> Path:
    return home / "secret.key"


def read_file(path: Path) -> KeyRing | None:
    """The ring in the key file; None when there is no file. A file that others may read or change is refused."""
    read = read_trusted(path, "key file", private=True)
    return None if read is None else parse(read.content.decode(errors="replace"), str(path))


def make_file(path: Path) -> KeyRing:
    """Write a key file with one new key, unless another process was first; returns what is in the file."""
    make_home(path.parent)
    unfinished = _write_beside(path, f"{_REMARK}\n{_new_line()}\n")
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        pass  # another process was first, and its key counts
    finally:
        unfinished.unlink()
    flush(path.parent)
    ring = read_file(path)
    assert ring is not None
    return ring


def add_key(path: Path) -> KeyRing:
    """Put a new key before all others of the key file; the old ones stay, to open what they sealed."""
    lines = path.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() and not line.strip().startswith("#"))
    lines.insert(first, _new_line())
    _write_beside(path, "\n".join(lines) + "\n").replace(path)
    flush(path.parent)
    ring = read_file(path)
    assert ring is not None
    return ring


def _decoded(written: str) -> bytes | None:
    try:
        key = base64.b64decode(written, validate=True)
    except binascii.Error:
        return None
    return key if len(key) == 32 else None


def _new_line() -> str:
    return f"k{secrets.token_hex(4)}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


def _write_beside(path: Path, text: str) -> Path:
    """A 0600 file next to *path* that is safely on disk."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise TidegateError(f"The key file {path} cannot be written: {problem.strerror}.") from problem
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return unfinished
