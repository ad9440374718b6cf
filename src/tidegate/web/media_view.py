"""How a file of a message is shown: as a picture, with a player, as a download, or with a sentence why it is not there.

Nothing moves by itself: of an animated sticker a still is shown, and players start only on a click.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.core.ids import ChannelKey, MessageId
from tidegate.history.queries.timeline import AttachedFile
from tidegate.media.queries.served_files import ServedFile
from tidegate.media.rules.media_policy import REASONS, SkipReason
from tidegate.web.rules.file_response_headers import INLINE, is_inline

PLAYABLE = sorted(kind for kind in INLINE if not kind.startswith("audio/"))
"""Types that can be looked at."""

_QUIET = REASONS[SkipReason.OFF]  # one sentence for all files, on the page of the channel's files


class ShownAs(StrEnum):
    """What a page shows of a file."""

    PICTURE = "picture"
    VIDEO = "video"
    AUDIO = "audio"
    DOWNLOAD = "download"
    WORDS = "words"  # a sentence that says why there is no file


@dataclass(frozen=True, slots=True)
class FileAddresses:
    """Where the files of a channel are."""

    key: ChannelKey

    @property
    def gallery(self) -> str:
        return f"/channels/{self.key}/files"

    def file(self, message: MessageId, number: int) -> str:
        return f"/channels/{self.key}/messages/{message}/files/{number}"

    def view(self, message: MessageId, number: int) -> str:
        """The page to look at one."""
        return f"{self.file(message, number)}/view"


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """A file on a page."""

    shown_as: ShownAs
    address: str
    view: str
    thumbnail: str  # empty where there is none
    note: str  # empty where nothing has to be said

    @property
    def can_be_seen(self) -> bool:
        return self.shown_as in (ShownAs.PICTURE, ShownAs.VIDEO, ShownAs.AUDIO)


def media_of_attached(key: ChannelKey, message: MessageId, file: AttachedFile) -> ShownMedia:
    """A file as a chat shows it."""
    kind = file.type or "" if file.state == "kept" else ""
    return _shown(
        FileAddresses(key).file(message, file.number),
        _way(kind, file.form, kept=file.state == "kept", pictured=file.thumbnail is not None),
        pictured=file.thumbnail is not None,
        note=note_of(file.state, file.reason or ""),
    )


def media_of_served(key: ChannelKey, file: ServedFile) -> ShownMedia:
    """The same of a file that was found by its place."""
    kind = "" if file.whole is None else file.whole.type
    note = "Its bytes are missing from the store." if file.whole and file.whole.missing else ""
    return _shown(
        FileAddresses(key).file(file.message, file.number),
        _way(kind, file.form, kept=file.whole is not None, pictured=file.thumbnail is not None),
        pictured=file.thumbnail is not None,
        note=note or note_of(file.state, file.reason),
    )


def _shown(address: str, way: ShownAs, *, pictured: bool, note: str) -> ShownMedia:
    return ShownMedia(way, address, f"{address}/view", f"{address}/thumbnail" if pictured else "", note)


def _way(kind: str, form: str, *, kept: bool, pictured: bool) -> ShownAs:
    """By the type that its content has; a sticker is a still, whatever it is made of."""
    if form == "sticker" and pictured:
        return ShownAs.PICTURE
    if kept and is_inline(kind) and not (form == "sticker" and kind.startswith("video/")):
        family = kind.partition("/")[0]
        return {"image": ShownAs.PICTURE, "video": ShownAs.VIDEO}.get(family, ShownAs.AUDIO)
    if kept:
        return ShownAs.DOWNLOAD
    return ShownAs.PICTURE if pictured else ShownAs.WORDS


def note_of(state: str, reason: str) -> str:
    """Why a file is not there, in a sentence."""
    if state == "kept" or reason == _QUIET:
        return ""
    if state == "wanted":
        return "Not kept yet: it will be fetched."
    return f"{'Gone' if state == 'gone' else 'Not kept'}. {reason}".strip()
