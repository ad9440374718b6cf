"""Translates WhatsApp's errors into Tidegate's classes, which say what to do (error-class-says-what-to-do). Pure.

The library's errors are sentences. Those below are understood; after any other the message may have arrived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tidegate.core import errors
from tidegate.platforms.interface import ChannelDeleted, UploadLost

UNNAMED_WAIT = timedelta(seconds=60)
"""How long to pause after "too many": WhatsApp gives no time."""

_SERVER = re.compile(r"server returned error (\d+)")
_QUERY = re.compile(r"info query returned status (\d+)")
_NEVER_HANDED_OVER = ("client is nil", "websocket not connected", "the store doesn't contain a device JID")
_OVERLIMIT, _TIMELOCK, _FORBIDDEN, _NO_MEDIA = 429, 463, 403, (404, 410)

_BANNED_FOR = {
    "SEND_TO_TOO_MANY_PEOPLE": "it wrote to too many people who do not know it",
    "BLOCKED_BY_USERS": "too many people blocked it",
    "CREATED_TOO_MANY_GROUPS": "it made too many groups",
    "SENT_TOO_MANY_SAME_MESSAGE": "it sent the same message too often",
    "BROADCAST_LIST": "it sent too much to broadcast lists",
}

NOT_LINKED = "This account is not linked to WhatsApp."
REPLACED = (
    "Another program uses the WhatsApp session of this account, so this one stopped. See that no copy of this database "
    "is in use elsewhere, then resume the account."
)
OUTDATED = (
    "WhatsApp no longer accepts the library that Tidegate uses for it. Install a newer release of Tidegate, then "
    "resume the account."
)
TIMELOCK = (
    "WhatsApp restricts this account (error 463: it may reach out to nobody new, perhaps to nobody at all), so it was "
    "paused before that becomes a ban. Look at WhatsApp on the phone, wait until the restriction ends, then resume it."
)


def send_trouble(said: str, *, media: bool) -> errors.PlatformError:
    """The error for a send that ended with *said*; with *media* it contained an uploaded file."""
    if any(words in said for words in _NEVER_HANDED_OVER):
        return errors.NotSent(f"WhatsApp is not connected at the moment, so nothing was sent ({said}).")
    if found := _QUERY.search(said):  # the library asks this before it sends
        return _query_refused(int(found[1]), said)
    if found := _SERVER.search(said):
        return _send_refused(int(found[1]), media=media)
    if gone := _gone(said):
        return gone
    return errors.OutcomeUnknown(f"Nobody knows whether the message arrived: WhatsApp's client said: {said}.")


def read_trouble(said: str, what: str) -> errors.PlatformError:
    """The error for a query or an upload that ended with *said*; both may be repeated."""
    if any(words in said for words in _NEVER_HANDED_OVER):
        return errors.NotSent(f"WhatsApp is not connected at the moment ({said}).")
    if found := _QUERY.search(said):
        return _query_refused(int(found[1]), said)
    return _gone(said) or errors.PlatformError(f"WhatsApp did not {what}: {said}.")


def _query_refused(code: int, said: str) -> errors.PlatformError:
    if code == _OVERLIMIT:
        return errors.AskedToWait(UNNAMED_WAIT)
    if code == _TIMELOCK:
        return errors.Halted(TIMELOCK)
    if code < 500:
        return errors.Refused(f"WhatsApp refused a question: {said}.")
    return errors.PlatformError(f"WhatsApp could not answer a question: {said}.")


def _send_refused(code: int, *, media: bool) -> errors.PlatformError:
    if code == _OVERLIMIT:
        return errors.AskedToWait(UNNAMED_WAIT)
    if code == _TIMELOCK:
        return errors.Halted(TIMELOCK)
    if code == _FORBIDDEN:
        return errors.ChannelGone(
            "The account may no longer write to this group: it was removed, or only admins may post."
        )
    if media and code in _NO_MEDIA:
        return UploadLost(f"WhatsApp no longer has the file (error {code}); it has to be uploaded anew.")
    if code >= 500:
        return errors.NotSent(f"WhatsApp is in trouble and did not take the message (error {code}).")
    return errors.Refused(f"WhatsApp refused the message (error {code}).")


def _gone(said: str) -> errors.ChannelGone | None:
    if "you're not participating in that group" in said:
        return errors.ChannelGone("The account is no longer in this group.")
    if "that group does not exist" in said:
        return ChannelDeleted("This group no longer exists on WhatsApp.")
    return None


def stopped_by(event: Mapping[str, Any], now: datetime) -> errors.SignedOut | errors.Banned | None:
    """Why the account has to stop, when an event says so; None when it continues."""
    kind = event["event"]
    if kind == "logged_out":
        return errors.SignedOut(
            f"WhatsApp unlinked this account ({_plain(event['reason'])}); it has to be linked again."
        )
    if kind == "banned":
        why = _BANNED_FOR.get(event["why"], "it gave no reason we know")
        until = now + timedelta(seconds=event["seconds"])
        return errors.Banned(f"WhatsApp banned this account for {_hours(event['seconds'])}: {why}.", until)
    if kind == "replaced":
        return errors.Halted(REPLACED)
    if kind == "outdated":
        return errors.Halted(OUTDATED)
    return None


def connect_trouble(said: str) -> errors.PlatformError:
    """The error when the first connection failed; the worker tries again after a while."""
    without_password = re.sub(r"(?<=://)[^\s/@]*@", "", said)
    return errors.PlatformError(f"WhatsApp cannot be reached: {without_password}.")


def _plain(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
