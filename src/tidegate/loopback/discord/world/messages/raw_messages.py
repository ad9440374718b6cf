"""Messages from Discord's own JSON: the world takes out what it counts or serves itself, and passes on the rest.

Nothing is checked beyond what the platform itself needs, so a test can pass on whatever a client might have to stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.world.history import Attachment, Message, PollState, written_at
from tidegate.loopback.discord.world.messages.sample_files import sample_bytes
from tidegate.loopback.discord.world.places import Channel, User
from tidegate.loopback.discord.world.world import World

Raw = dict[str, Any]
NewId = Callable[[], int]

REPLY = 19
ATTACHED = "attachment://"
"""How embeds and components name a file of their message, when somebody sends them."""

_DEEPEST = 100
_LARGEST = 1 << 20
_COMPUTED = ("id", "channel_id", "guild_id", "member", "author")
_FILE_COLUMNS = ("id", "filename", "content_type", "url", "proxy_url")
_EDITS = ("content", "components", "attachments")
"""Fields that only their author changes, so that a change of them is dated as an edit."""


def post_raw(
    world: World, channel: Channel, raw: Raw, *, number: int = 0, author: int = 0, files: Sequence[Attachment] = ()
) -> Message:
    """A new message as *raw* describes it; what it leaves out is filled in. *number* is its id if it names none."""
    require_plain(raw)
    number = _number(raw.get("id")) or number or world.new_id()
    if not channel.history.takes(number):
        raise BadInput(f"A message of {channel.name} cannot have the id {number}: it is used, or too old.")
    message = message_of(world, channel, raw, number, author=author, files=files, new_id=world.new_id)
    return world.append(channel, message)


def message_of(
    world: World,
    channel: Channel,
    raw: Raw,
    number: int,
    *,
    author: int = 0,
    files: Sequence[Attachment] = (),
    new_id: NewId,
) -> Message:
    """The message with the id *number* that *raw* describes; *new_id* gives ids to its files."""
    writer = author or _author(world, raw) or channel.between[1] or next(iter(world.people))
    return with_raw(world, channel, Message(number, writer), raw, files, new_id=new_id)


def edit_raw(world: World, channel: Channel, number: int, raw: Raw) -> Message:
    """Change what *raw* names; dated as an edit when only the author can change it, unless it says when.

    An edit that changes nothing is none: a person's client does not send it.
    """
    require_plain(raw)
    message = world.message(channel, number)
    changed = with_raw(world, channel, message, raw, new_id=world.new_id)
    if changed == message:
        return message
    if "edited_timestamp" not in raw and any(name in raw for name in _EDITS):
        changed = replace(changed, edited_at=world.clock.now())
    world.change_message(channel, changed)
    return changed


def with_raw(
    world: World, channel: Channel, message: Message, raw: Raw, files: Sequence[Attachment] = (), *, new_id: NewId
) -> Message:
    """*message* with everything that *raw* says; *files* are the bytes of attachments, found by their names."""
    rest = {name: value for name, value in deepcopy(raw).items() if name not in _COMPUTED}
    changed = replace(message, **_columns(message, channel, rest))
    if "webhook_id" in raw:
        rest["author"] = _webhook_author(world, changed, raw)
    if "attachments" in rest or files or _snapshots(rest):
        changed.attachments = _attachments(changed, rest, files, new_id)
    if _is_list_of_dicts(rest.get("reactions")):
        changed = _with_reactions(world, changed, rest.pop("reactions"))
    changed.fields = message.fields | rest
    if isinstance(poll := changed.fields.get("poll"), dict) and "results" in poll:
        changed.poll = _poll_state(world, poll)
        changed.fields["poll"] = {name: value for name, value in poll.items() if name != "results"}
    if changed.pinned_at and (channel.pinned_at is None or channel.pinned_at < changed.pinned_at):
        channel.pinned_at = changed.pinned_at
    used = set(names_attached([changed.fields.get("embeds"), changed.fields.get("components")]))
    changed.attachments = [replace(one, hidden=one.hidden or one.name in used) for one in changed.attachments]
    return changed


def names_attached(value: Any) -> Iterator[str]:
    """The files that embeds or components name as ``attachment://NAME``, however deep they lie."""
    if isinstance(value, str):
        if value.startswith(ATTACHED):
            yield value.removeprefix(ATTACHED)
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from names_attached(one)


def require_plain(raw: Any, depth: int = 0) -> None:
    """Refuse what could not be stored or sent on: endless nesting, and numbers that JSON does not have."""
    if depth > _DEEPEST:
        raise BadInput(f"The message is nested deeper than {_DEEPEST} levels.")
    if isinstance(raw, float) and not isfinite(raw):
        raise BadInput("The message holds a number that JSON does not have.")
    if isinstance(raw, dict | list):
        for one in raw.values() if isinstance(raw, dict) else raw:
            require_plain(one, depth + 1)


def _columns(message: Message, channel: Channel, rest: Raw) -> dict[str, Any]:
    """What the world has columns for; it is taken out of *rest*, unless it is nothing Discord would send."""
    columns: dict[str, Any] = {}
    for name, column, kind in (("content", "text", str), ("type", "kind", int), ("flags", "flags", int)):
        if type(rest.get(name)) is kind:
            columns[column] = rest.pop(name)
    if isinstance(rest.get("nonce"), str):
        columns["nonce"] = rest.pop("nonce")
    if "edited_timestamp" in rest and (rest["edited_timestamp"] is None or _moment(rest["edited_timestamp"])):
        columns["edited_at"] = _moment(rest.pop("edited_timestamp"))
    if _moment(rest.get("timestamp")) == written_at(message):
        del rest["timestamp"]
    if isinstance(rest.get("pinned"), bool):
        columns["pinned_at"] = (message.pinned_at or written_at(message)) if rest.pop("pinned") else None
    reference = rest.get("message_reference")
    if (
        columns.get("kind", message.kind) == REPLY
        and isinstance(reference, dict)
        and not rest.get("referenced_message")
    ):
        answered = _number(reference.get("message_id"))
        if answered is not None and reference.get("channel_id") in (None, str(channel.id), channel.id):
            columns["reply_to"] = answered
            rest.pop("message_reference")
            rest.pop("referenced_message", None)
    return columns


def _attachments(message: Message, rest: Raw, files: Sequence[Attachment], new_id: NewId) -> list[Attachment]:
    """The message's own files, and those of its snapshots, which are served but not listed."""
    given = {file.name: file for file in files}
    own = message.attachments
    if _is_list_of_dicts(rest.get("attachments")):
        held = {file.id: file for file in message.attachments}
        own = [_attachment(row, given, held, new_id) for row in rest.pop("attachments")]
    forwarded = []
    for snapshot in _snapshots(rest):
        for row in snapshot["attachments"]:
            file = _attachment(row, given, {}, new_id)
            row["id"] = str(file.id)
            forwarded.append(replace(file, hidden=True))
    return [*own, *(file for file in files if file.name in given), *forwarded]


def _attachment(row: Raw, given: dict[str, Attachment], held: dict[int, Attachment], new_id: NewId) -> Attachment:
    """A file as a row describes it: its bytes are given, those of a file the message has, or made for the name."""
    number, name = _number(row.get("id")), str(row.get("filename", "file"))
    known = given.pop(name, None) or held.get(number or 0)
    size = row.get("size")
    claimed = size if isinstance(size, int) and size >= 0 else None
    content = known.content if known else sample_bytes(name, None if claimed is None else min(claimed, _LARGEST))
    more = {key: value for key, value in row.items() if key not in _FILE_COLUMNS}
    if claimed == len(content) or known:
        more.pop("size", None)
    mime = row.get("content_type") or (known.mime if known else "application/octet-stream")
    return Attachment(number or (known.id if known else new_id()), name, content, str(mime), more)


def _snapshots(rest: Raw) -> list[Raw]:
    """The forwarded messages that have files."""
    held = rest.get("message_snapshots")
    inner = [one.get("message") for one in held] if isinstance(held, list) and _is_list_of_dicts(held) else []
    return [one for one in inner if isinstance(one, dict) and _is_list_of_dicts(one.get("attachments"))]


def _with_reactions(world: World, message: Message, rows: list[Raw]) -> Message:
    """As many people as the counts say; those that the platform lists as ``me`` include the first bot."""
    reactions, bursts = {}, {}
    for row in rows:
        emoji = row.get("emoji")
        key = emoji_key(emoji) if isinstance(emoji, dict) else ""
        details = row.get("count_details")
        burst = _count(details.get("burst")) if isinstance(details, dict) else 0
        normal = _count(details.get("normal")) if isinstance(details, dict) else _count(row.get("count"))
        if normal:
            reactions[key] = world.crowd(normal, me=bool(row.get("me")))
        if burst:
            bursts[key] = world.crowd(burst, me=bool(row.get("me_burst")))
    return replace(message, reactions=reactions, bursts=bursts)


def emoji_key(emoji: Raw) -> str:
    """An emoji as the world names it: itself, or ``name:id``; an animated one is ``a:name:id``."""
    if not emoji.get("id"):
        return str(emoji.get("name"))
    return f"{'a:' if emoji.get('animated') else ''}{emoji.get('name')}:{emoji['id']}"


def _poll_state(world: World, poll: Raw) -> PollState | None:
    """Voters by the counts of a poll; None when they are not what Discord would send."""
    results = poll["results"]
    if not isinstance(results, dict) or not _is_list_of_dicts(results.get("answer_counts")):
        return None
    votes, taken = {}, 0
    for row in results["answer_counts"]:
        wanted = _count(row.get("count"))
        skipped = 0 if poll.get("allow_multiselect") else taken
        votes[_count(row.get("id"))] = world.crowd(skipped + wanted, me=False)[skipped:]
        taken += wanted
    return PollState(votes, bool(results.get("is_finalized")))


def _author(world: World, raw: Raw) -> int:
    """Who wrote a message; somebody the world does not know yet is known from now on."""
    author = raw.get("author")
    if "webhook_id" in raw:
        hook = _number(raw["webhook_id"]) or world.new_id()
        name = str(author.get("username", "webhook")) if isinstance(author, dict) else "webhook"
        world.webhooks.setdefault(hook, User(hook, name))
        return hook
    if not isinstance(author, dict):
        return 0
    number = _number(author.get("id"))
    profile = {name: value for name, value in author.items() if name != "id"}
    if number is None:
        return world.person(str(author.get("username", "somebody"))).id
    if number not in world.bots and number not in world.people:
        world.people[number] = User(number, str(author.get("username", number)), profile)
    return number


def _webhook_author(world: World, message: Message, raw: Raw) -> Raw:
    """A webhook's messages each have their own name and picture."""
    given = raw["author"] if isinstance(raw.get("author"), dict) else {}
    name = world.user(message.author).name
    usual = {"id": str(message.author), "username": name, "avatar": None, "discriminator": "0000", "bot": True}
    return usual | given


def _number(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 63 else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else _number(value) or 0


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
