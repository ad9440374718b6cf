"""The delivery network: files sealed with a key of their own, which clients compare with hashes of the platform."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from telethon.tl import types

from tidegate.loopback.telegram.handshake import key_of_the_network
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.world.file_content import NETWORK, Delivery, File

_KIB, _MIB = 1 << 10, 1 << 20
_PART = 128 * _KIB
_TOLD_AT_ONCE = 4
"""How many hashes come with one answer."""


def get_cdn_config(request: Request) -> Answer:
    _ = request.account
    return types.CdnConfig([types.CdnPublicKey(NETWORK, key_of_the_network().public_pem)])


def redirect(request: Request, file: File, offset: int) -> types.upload.FileCdnRedirect:
    """Where a client reads the file instead, and what opens it."""
    key, start = _cipher(request, file)
    return types.upload.FileCdnRedirect(NETWORK, _token(request, file), key, start, _hashes(file, offset))


def get_cdn_file(request: Request) -> Answer:
    query = request.query
    if request.sign_in.centre != NETWORK:
        raise Refusal(400, "CDN_METHOD_INVALID")
    file = _file(request, query.file_token)
    if file.delivery is Delivery.ABSENT:
        return types.upload.CdnFileReuploadNeeded(b"reupload " + query.file_token)
    aligned = not query.offset % (4 * _KIB) and query.limit > 0 and not query.limit % (4 * _KIB)
    if not aligned or _MIB % query.limit or query.offset // _MIB != (query.offset + query.limit - 1) // _MIB:
        raise Refusal(400, "LIMIT_INVALID")
    key, start = _cipher(request, file)
    counter = start[:12] + (query.offset // 16).to_bytes(4, "big")
    content = file.read(query.offset, query.limit)
    request.world.record.pieces[f"{file.id} ", query.offset] += bool(content)
    if file.delivery is Delivery.FALSE:
        content = bytes(reversed(content))
    return types.upload.CdnFile(Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(content))


def get_cdn_file_hashes(request: Request) -> Answer:
    _ = request.account
    return list(_hashes(_file(request, request.query.file_token), request.query.offset))


def reupload_cdn_file(request: Request) -> Answer:
    _ = request.account
    file = _file(request, request.query.file_token)
    if request.query.request_token != b"reupload " + request.query.file_token:
        raise Refusal(400, "REQUEST_TOKEN_INVALID")
    file.delivery = Delivery.READY
    return list(_hashes(file, 0))


def _hashes(file: File, offset: int) -> list[types.FileHash]:
    return [hash_ for _, hash_ in zip(range(_TOLD_AT_ONCE), _all_hashes(file, offset - offset % _PART), strict=False)]


def _all_hashes(file: File, start: int) -> Iterator[types.FileHash]:
    for offset in range(start, file.size, _PART):
        content = file.read(offset, _PART)
        yield types.FileHash(offset, len(content), sha256(content).digest())


def _token(request: Request, file: File) -> bytes:
    return f"{file.id}/{request.world.token('delivery', file.id, file.generation):x}".encode()


def _file(request: Request, token: bytes) -> File:
    number = token.partition(b"/")[0]
    file = request.world.files.get(int(number)) if number.isdigit() else None
    if file is None or file.delivery is None or token != _token(request, file):
        raise Refusal(400, "FILE_TOKEN_INVALID")
    return file


def _cipher(request: Request, file: File) -> tuple[bytes, bytes]:
    """The key of a file, and where its counter starts."""
    secret = sha256(f"{request.world.seed}/delivery/{file.id}".encode()).digest()
    return secret, sha256(secret).digest()[:16]


METHODS: dict[str, Method] = {
    "help.getCdnConfig": get_cdn_config,
    "upload.getCdnFile": get_cdn_file,
    "upload.getCdnFileHashes": get_cdn_file_hashes,
    "upload.reuploadCdnFile": reupload_cdn_file,
}
