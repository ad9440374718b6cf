"""The files attached to a message. Pure."""

from __future__ import annotations

from tidegate.core.ids import FileId
from tidegate.platforms.discord.messages.json_values import id_in, objects_in, text_in, whole_in
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.interface import File, FileForm, FileHandle, FileKind

SPOILER_NAME = "SPOILER_"
_UNKNOWN_TYPE = "application/octet-stream"


def files_of(found: Json) -> tuple[File, ...]:
    """A message's attachments. Their URLs expire, so a handle names the message of the file and not its URL."""
    if not found.get("attachments"):
        return ()
    place = f"{found.get('channel_id', '')}/{found['id']}"
    return tuple(
        File(
            id=FileId(number),
            name=text_in(one.get("filename")),
            size=whole_in(one.get("size")),
            mime=text_in(one.get("content_type")) or _UNKNOWN_TYPE,
            kind=_kind(text_in(one.get("content_type"))),
            handle=FileHandle(f"{place}/{number}"),
            form=form_of(one),
        )
        for one in objects_in(found["attachments"])
        if (number := id_in(one.get("id"))) is not None
    )


def form_of(attachment: Json) -> FileForm:
    """What an attachment is to its reader; only voice messages have a waveform."""
    mime = text_in(attachment.get("content_type"))
    family = mime.partition("/")[0]
    if family == "audio":
        return FileForm.VOICE if attachment.get("waveform") else FileForm.AUDIO
    if family == "image":
        return FileForm.ANIMATION if mime == "image/gif" else FileForm.IMAGE
    return FileForm.VIDEO if family == "video" else FileForm.FILE


def _kind(mime: str) -> FileKind:
    family = mime.partition("/")[0]
    if family == "image":
        return FileKind.PHOTO
    return FileKind.MEDIA if family in ("video", "audio") else FileKind.DOCUMENT
