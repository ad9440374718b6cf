"""WhatsApp's message objects, built here so that a file is uploaded once; only a child uses this."""

from __future__ import annotations

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from neonize.proto.Neonize_pb2 import UploadResponse
from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import DocumentMessage, ImageMessage, Message, VideoMessage
from neonize.utils.enum import MediaType
from PIL import Image, UnidentifiedImageError

from tidegate.platforms.interface.uploads import MediaKind

_UPLOADED_AS = {
    MediaKind.PICTURE: MediaType.MediaImage,
    MediaKind.VIDEO: MediaType.MediaVideo,
    MediaKind.DOCUMENT: MediaType.MediaDocument,
}
_THUMBNAIL = (100, 100)


def uploaded_as(kind: str) -> MediaType:
    """The type under which WhatsApp keeps a file; one kept as a picture cannot be sent as a document."""
    return _UPLOADED_AS[MediaKind(kind)]


def text_message(text: str) -> Message:
    return Message(conversation=text)


def reference(uploaded: UploadResponse, content: bytes, kind: str, *, at: int) -> bytes:
    """All that a message needs to refer to the uploaded file, stored for later messages."""
    held: dict[str, Any] = {
        "url": uploaded.url,
        "path": uploaded.DirectPath,
        "key": _written(uploaded.MediaKey),
        "sha256": _written(uploaded.FileSHA256),
        "sealed_sha256": _written(uploaded.FileEncSHA256),
        "size": uploaded.FileLength,
        "at": at,
    }
    if MediaKind(kind) is MediaKind.PICTURE:
        held |= _looks(content)
    return json.dumps(held, separators=(",", ":")).encode()


def media_message(ref: bytes, media: Mapping[str, Any], caption: str) -> Message:
    """A message with an uploaded file; *media* has its kind, name and mime type."""
    held = json.loads(ref)
    said: dict[str, Any] = {
        "URL": held["url"],
        "directPath": held["path"],
        "mediaKey": b64decode(held["key"]),
        "fileSHA256": b64decode(held["sha256"]),
        "fileEncSHA256": b64decode(held["sealed_sha256"]),
        "fileLength": held["size"],
        "mediaKeyTimestamp": held["at"],
        "mimetype": media["mime"],
        "caption": caption,
    }
    kind = MediaKind(media["kind"])
    if kind is MediaKind.PICTURE:
        if "width" in held:
            said |= {"width": held["width"], "height": held["height"], "JPEGThumbnail": b64decode(held["thumbnail"])}
        return Message(imageMessage=ImageMessage(**said))
    if kind is MediaKind.VIDEO:
        return Message(videoMessage=VideoMessage(**said))
    return Message(documentMessage=DocumentMessage(**said, fileName=media["name"], title=media["name"]))


def _looks(content: bytes) -> dict[str, Any]:
    """A picture's size and thumbnail, which people see before it is loaded; nothing when it cannot be read."""
    try:
        with Image.open(io.BytesIO(content)) as picture:
            width, height = picture.size
            small = picture.convert("RGB")
            small.thumbnail(_THUMBNAIL)
            out = io.BytesIO()
            small.save(out, "JPEG", quality=60)
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        return {}
    return {"width": width, "height": height, "thumbnail": _written(out.getvalue())}


def _written(raw: bytes) -> str:
    return b64encode(raw).decode()
