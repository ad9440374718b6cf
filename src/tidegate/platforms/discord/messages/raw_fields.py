"""The part of a message's JSON that is kept: what has no field here, and does not depend on the reading account. Pure.

Signatures of links, pictures of people and the like differ between two answers about the same message. They would make
it look changed. Votes and reactions are numbers with a time of their own. Equal messages give equal fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tidegate.platforms.discord.messages.authors import name_of
from tidegate.platforms.discord.messages.files import SPOILER_NAME
from tidegate.platforms.discord.messages.json_values import number_in, object_in, objects_in, text_in
from tidegate.platforms.discord.permissions import Json

NameOf = Callable[[str], str]
"""The name of a channel or a role by how a text writes it, such as ``<#5>``; empty where it is not known."""


def no_names(_: str) -> str:
    """For a reader who knows neither channels nor roles."""
    return ""


WRITTEN = frozenset({0, 19, 20, 23})
"""Types of messages by a person, as a reply, or by a bot that a person invoked. All others are announcements."""

# Keys of our own among Discord's.
NAMES, ANNOUNCED_BY, ANNOUNCED, REPLY_GONE = "names", "announced_by", "announced", "reply_gone"

_REPLY, _FORWARD = 19, 1
_MENTION = re.compile(r"<(?:#|@&)[0-9]{1,20}>")
_CDN = ("https://cdn.discordapp.com/", "https://media.discordapp.net/")
_PAIR = r"[\w-]*=(?:[\w.%~+-]*\w)?"
_ASKED = re.compile(rf"(https?://[^\s?#<>]+)\?({_PAIR}(?:&{_PAIR})*&?)", re.ASCII)  # an address and its query
_DEEPEST = 40  # Discord nests components four deep
_TOO_DEEP = "(nested too deeply)"

_ELSEWHERE = frozenset({
    # fields with a place of their own in our message
    "id", "channel_id", "content", "timestamp", "reactions",
    # fields that depend on the reader and the time, or that only some answers have
    "guild_id", "channel_type", "author", "member", "referenced_message", "nonce", "thread", "position",
    # read by _ours
    "message_reference",
})  # fmt: skip
_UNSTEADY = frozenset({"proxy_url", "proxy_icon_url", "content_scan_version", "loading_state"})
_OF_FILES = frozenset({"filename", "size", "url"}) | _UNSTEADY  # have columns, or expire


def raw_of(found: Json, name: NameOf = no_names) -> dict[str, Any]:
    """What is kept of a whole message."""
    raw = {key: kept for key, value in found.items() if value and key not in _ELSEWHERE and (kept := _kept(key, value))}
    raw.update((key, value) for key, value in _ours(found, name).items() if value)
    return raw


def changes_of(found: Json, name: NameOf = no_names) -> dict[str, Any]:
    """What a part of a message changes, to be merged into what is stored; null where a field became empty."""
    told = ((key, value) for key, value in found.items() if key not in _ELSEWHERE)
    raw = {key: (_kept(key, value) or None) if value else None for key, value in told}
    raw.update((key, value or None) for key, value in _ours(found, name).items())
    return raw


# What content needs, and no other field says


def _ours(found: Json, name: NameOf) -> dict[str, Any]:
    ours: dict[str, Any] = {}
    kind = number_in(found.get("type", 0))
    if "message_reference" in found:
        ours["message_reference"] = _reference(found)
    if kind == _REPLY and "referenced_message" in found:  # null where it was deleted
        ours[REPLY_GONE] = found["referenced_message"] is None
    if "content" in found:
        ours[NAMES] = _names(found, name)
    if kind not in WRITTEN:
        if "author" in found:
            ours[ANNOUNCED_BY] = _person(object_in(found["author"]))
        if "content" in found:
            ours[ANNOUNCED] = text_in(found["content"])
    return ours


def _names(found: Json, name: NameOf) -> dict[str, str]:
    """The names of channels and roles that the texts mention, as far as the reader knows them, and of the origin."""
    texts = [text_in(found["content"]), *(text_in(one.get("content")) for one in _snapshots(found))]
    written = [one for text in texts if "<#" in text or "<@&" in text for one in _MENTION.findall(text)]
    if (origin := object_in(found.get("message_reference")).get("channel_id")) is not None:
        written.append(f"<#{origin}>")
    said = {f"<#{one.get('id')}>": text_in(one.get("name")) for one in objects_in(found.get("mention_channels"))}
    return {one: known for one in dict.fromkeys(written) if (known := said.get(one) or name(one))}


def _snapshots(found: Json) -> list[Json]:
    return [object_in(one.get("message")) for one in objects_in(found.get("message_snapshots"))]


def _reference(found: Json) -> dict[str, Any]:
    """Another message; one in the same channel is named by its number alone, unless it was forwarded."""
    reference = object_in(found.get("message_reference"))
    kept = {key: value for key, value in reference.items() if value and key != "fail_if_not_exists"}
    if kept.get("type") != _FORWARD and kept.get("message_id") and kept.get("channel_id") == found.get("channel_id"):
        kept.pop("channel_id", None)
        kept.pop("guild_id", None)
    return kept


# Values in one form


def _kept(key: str, value: Any) -> Any:
    special = _SPECIAL.get(key)
    return _steady(value) if special is None else special(value)


def _steady(value: Any, depth: int = 0) -> Any:
    """The same value without what differs between two answers, and without empty fields."""
    if isinstance(value, str):
        return _ASKED.sub(_unsigned, value) if "?" in value else value
    if not isinstance(value, dict | list):
        return value
    if depth > _DEEPEST:
        return _TOO_DEEP
    if isinstance(value, list):
        return [_steady(one, depth + 1) for one in value]
    if "username" in value and "id" in value:
        return _person(value)
    return _fields(value, _UNSTEADY, depth)


def _unsigned(found: re.Match[str]) -> str:
    """The address of a file without what expires; any other address as it is."""
    address, asked = found.groups()
    signed = address.startswith(_CDN) or ("attachments/" in address and "hm=" in asked)
    return address if signed else found[0]


def _fields(found: Json, without: frozenset[str], depth: int = 0) -> dict[str, Any]:
    """Fields that say something; a zero does, such as the colour black."""
    kept = {key: _steady(value, depth + 1) for key, value in found.items() if key not in without}
    return {key: value for key, value in kept.items() if value or (value == 0 and value is not False)}


def _person(found: Json) -> dict[str, Any]:
    """A person by number and name of the time."""
    kept = {"id": found.get("id"), "name": name_of(found)}
    return {**kept, "bot": True} if found.get("bot") else kept


def _people(value: Any) -> list[dict[str, Any]]:
    """In order of their numbers: Discord lists them in any order."""
    return sorted((_person(one) for one in objects_in(value)), key=lambda one: str(one["id"]))


def _attachments(value: Any) -> list[dict[str, Any]]:
    """The other fields of files, such as a description or the length of a voice message."""
    return [{**_fields(one, _OF_FILES), **_spoiler(one)} for one in objects_in(value)]


def _spoiler(attachment: Json) -> dict[str, bool]:
    return {"spoiler": True} if text_in(attachment.get("filename")).startswith(SPOILER_NAME) else {}


def _poll(value: Any) -> dict[str, Any]:
    """Without its results, except that they are final."""
    poll = object_in(value)
    kept = _fields(poll, frozenset({"results"}))
    final = object_in(poll.get("results")).get("is_finalized")
    return {**kept, "results": {"is_finalized": True}} if final else kept


def _application(value: Any) -> dict[str, Any]:
    """By number and name: its description and pictures are those of today."""
    return {key: _steady(one) for key, one in object_in(value).items() if key in ("id", "name") and one}


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "application": _application,
    "attachments": _attachments,
    "mentions": _people,
    "poll": _poll,
}
