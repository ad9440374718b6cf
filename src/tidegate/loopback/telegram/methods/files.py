"""Files: their bytes out in ranges, and in by parts."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from telethon.tl import types

from tidegate.loopback.call_record import Upload
from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.methods import delivery_network
from tidegate.loopback.telegram.world.content.media_files import web_number
from tidegate.loopback.telegram.world.file_content import File, FileKind

_KIB, _MIB = 1 << 10, 1 << 20
_LARGEST_PART = 512 * _KIB
_LARGEST_SMALL_FILE = 10 * _MIB


def get_file(request: Request) -> Answer:
    query = request.query
    if isinstance(query.location, types.InputPeerPhotoFileLocation):
        return _read(request, _avatar(request, query.location), "")
    if not isinstance(query.location, types.InputDocumentFileLocation | types.InputPhotoFileLocation):
        raise Refusal(400, "LOCATION_INVALID")
    return _read(request, known_file(request, query.location), query.location.thumb_size)


def _read(request: Request, file: File, size: str) -> Answer:
    query = request.query
    if file.centre != request.sign_in.centre:
        raise Refusal(303, f"FILE_MIGRATE_{file.centre}")
    _check_range(query.offset, query.limit, precise=bool(query.precise))
    kind = types.storage.FileUnknown()
    if file.delivery is not None and not size:
        return delivery_network.redirect(request, file, query.offset)
    content = file.read_size(size, query.offset, query.limit)
    request.world.record.pieces[f"{file.id} {size}", query.offset] += bool(content)
    return types.upload.File(kind, mtime=0, bytes=content)


def get_web_file(request: Request) -> Answer:
    """The platform's copy of a picture on another site; the address alone opens nothing."""
    query, world = request.query, request.world
    file = world.files.get(web_number(query.location.url))
    if file is None or query.location.access_hash != world.token("web", request.account.id, query.location.url):
        raise Refusal(400, "LOCATION_INVALID")
    _check_range(query.offset, query.limit, precise=False)
    content = file.read(query.offset, query.limit)
    world.record.pieces[f"{file.id} ", query.offset] += bool(content)
    return types.upload.WebFile(file.size, file.mime, types.storage.FileUnknown(), mtime=0, bytes=content)


def _avatar(request: Request, named: types.InputPeerPhotoFileLocation) -> File:
    """The picture that somebody or a channel has now, by the number that clients were told."""
    world = request.world
    photo = _photo_of(request, named.peer)
    if not photo or photo != named.photo_id:
        raise Refusal(400, "LOCATION_INVALID")
    return world.files[photo]


def _photo_of(request: Request, peer: Any) -> int:
    world = request.world
    if isinstance(peer, types.InputPeerUserFromMessage):
        channel = request.channel(peer.peer)
        message = channel.messages.get(peer.msg_id)
        if message is None:
            raise Refusal(400, "MSG_ID_INVALID")
        return world.people[peer.user_id].photo if peer.user_id in world.people else 0
    if isinstance(peer, types.InputPeerUser):
        held = world.people.get(peer.user_id)
        return (
            held.photo
            if held is not None and peer.access_hash == world.token("user", request.account.id, held.id)
            else 0
        )
    return 0 if isinstance(peer, types.InputPeerSelf) else request.channel(peer).photo


def save_file_part(request: Request) -> Answer:
    query = request.query
    _keep_part(request, query.file_id, query.file_part, query.bytes)
    return True


def save_big_file_part(request: Request) -> Answer:
    query = request.query
    if not 0 < query.file_total_parts <= most_parts(request):
        raise Refusal(400, "FILE_PARTS_INVALID")
    _keep_part(request, query.file_id, query.file_part, query.bytes)
    return True


def known_file(request: Request, named: Any) -> File:
    """The file a request names; hash and reference must be the calling account's own, and the reference not expired."""
    world, viewer = request.world, request.account
    file = world.files.get(named.id)
    if file is None or named.access_hash != world.token("file", viewer.id, named.id):
        raise Refusal(400, "FILE_ID_INVALID")
    if request.struck(FaultKind.EXPIRED_REFERENCE):
        file.generation += 1
    if named.file_reference != tl_shapes.reference(world, file, viewer):
        raise Refusal(400, "FILE_REFERENCE_EXPIRED")
    return file


def uploaded_file(request: Request, media: Any) -> File:
    """Make a file of the parts a client uploaded; refused when one is missing or of the wrong size."""
    named = media.file
    parts = request.world.parts.get((request.account.id, named.id), {})
    missing = next((number for number in range(named.parts) if number not in parts), None)
    if missing is not None:
        raise Refusal(400, f"FILE_PART_{missing}_MISSING")
    ordered = [parts[number] for number in range(named.parts)]
    _check_parts(request, ordered, small=isinstance(named, types.InputFile))
    size, pieces = 0, {}
    for part in ordered:
        pieces[size] = part
        size += len(part)
    name, kind = _name_and_kind(media)
    mime = getattr(media, "mime_type", "image/jpeg")
    file = request.world.add_file(name, size, kind=kind, mime=mime, pieces=pieces)
    digest = sha256(b"".join(ordered)).hexdigest()
    request.world.record.uploads.append(Upload(request.world.clock.now(), request.account.phone, name, size, digest))
    return file


def most_parts(request: Request) -> int:
    limits = request.world.limits
    return limits.parts_premium if request.account.premium else limits.parts


def _keep_part(request: Request, upload: int, number: int, part: bytes) -> None:
    if not part:
        raise Refusal(400, "FILE_PART_EMPTY")
    if len(part) > _LARGEST_PART:
        raise Refusal(400, "FILE_PART_TOO_BIG")
    if not 0 <= number < most_parts(request):
        raise Refusal(400, "FILE_PART_INVALID")
    request.world.parts.setdefault((request.account.id, upload), {})[number] = part


def _check_range(offset: int, limit: int, *, precise: bool) -> None:
    """A range lies within one mebibyte and on the platform's grid, which is finer when asked for precisely."""
    grid = _KIB if precise else 4 * _KIB
    if limit <= 0 or limit % grid or limit > _MIB or (not precise and _MIB % limit):
        raise Refusal(400, "LIMIT_INVALID")
    if offset < 0 or offset % grid or (not precise and offset // _MIB != (offset + limit - 1) // _MIB):
        raise Refusal(400, "OFFSET_INVALID")


def _check_parts(request: Request, parts: list[bytes], *, small: bool) -> None:
    """All parts but the last are equal, a multiple of 1 KiB, and divide 512 KiB."""
    if not parts or len(parts) > most_parts(request):
        raise Refusal(400, "FILE_PARTS_INVALID")
    size = len(parts[0])
    if len(parts) > 1 and (size % _KIB or _LARGEST_PART % size):
        raise Refusal(400, "FILE_PART_SIZE_INVALID")
    if any(len(part) != size for part in parts[:-1]) or len(parts[-1]) > size:
        raise Refusal(400, "FILE_PART_SIZE_CHANGED")
    if small and sum(len(part) for part in parts) > _LARGEST_SMALL_FILE:
        raise Refusal(400, "FILE_PARTS_INVALID")


def _name_and_kind(media: Any) -> tuple[str, FileKind]:
    if isinstance(media, types.InputMediaUploadedPhoto):
        return media.file.name, FileKind.PHOTO
    name, kind = media.file.name, FileKind.DOCUMENT
    for attribute in media.attributes:
        if isinstance(attribute, types.DocumentAttributeFilename):
            name = attribute.file_name
        elif isinstance(attribute, types.DocumentAttributeVideo) and not media.force_file:
            kind = FileKind.VIDEO
        elif isinstance(attribute, types.DocumentAttributeAudio) and not media.force_file:
            kind = FileKind.AUDIO
    return name, kind


METHODS: dict[str, Method] = {
    "upload.getFile": get_file,
    "upload.getWebFile": get_web_file,
    "upload.saveFilePart": save_file_part,
    "upload.saveBigFilePart": save_big_file_part,
}
