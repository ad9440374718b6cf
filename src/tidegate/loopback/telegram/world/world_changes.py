"""The actions of other users in the world, as the control address requests them."""

from __future__ import annotations

from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.errors import BadInput
from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram.world.channels import GENERAL, Channel, Event, EventKind, Topic
from tidegate.loopback.telegram.world.content import message_counts
from tidegate.loopback.telegram.world.content.custom_emoji import know_emoji
from tidegate.loopback.telegram.world.content.kind_posts import Place, edited_content, post_kind, preview_page
from tidegate.loopback.telegram.world.people import Person
from tidegate.loopback.telegram.world.schema import (
    ChangeSpec,
    DeleteSpec,
    EditSpec,
    FaultSpec,
    PinSpec,
    PostSpec,
    PreviewSpec,
    ReactSpec,
    ViewSpec,
    VoteSpec,
)
from tidegate.loopback.telegram.world.world import Account, World, digits
from tidegate.loopback.telegram.world.world_builder import (
    account_named,
    add_person,
    add_private_chat,
    make_file,
    members,
)

FAULTS = frozenset(FaultKind) - {
    FaultKind.HTML_429,
    FaultKind.INVALID_SESSION,
    FaultKind.REPLACED,
}
"""The faults that this Telegram supports; the others belong to other platforms."""

_FLAGS = ("protected", "pushes", "archived", "by_create_date")


def post(world: World, spec: PostSpec) -> list[int]:
    """Post as another user; returns the ids of the messages."""
    channel = world.channel(spec.channel)
    topic = find_topic(channel, spec.topic).id if spec.topic else 0
    author = _author(world, channel, spec)
    if spec.kind or spec.raw is not None:
        place = Place(channel, topic, spec.reply_to, author)
        return [
            message.id
            for _ in range(spec.count)
            for message in post_kind(
                world,
                place,
                spec.kind,
                spec.raw or {},
                text=spec.text,
                files=[make_file(world, one) for one in spec.files],
            )
        ]
    album = world.token("album", channel.id, channel.newest_id) if spec.album else 0
    files = [make_file(world, file) for file in spec.files]
    written = []
    for number in range(spec.count):
        for place_in_post, file in enumerate(files or [None]):
            text = spec.text if place_in_post == 0 else ""
            if not spec.text and not files:
                text = f"Message {channel.newest_id + 1}"
            elif spec.count > 1 and place_in_post == 0:
                text = f"{spec.text} {number + 1}"
            message = world.post(
                channel, text, file=file, topic=topic, reply_to=spec.reply_to, album=album, fields=author
            )
            written.append(message.id)
    return written


def edit(world: World, spec: EditSpec) -> list[int]:
    channel = world.channel(spec.channel)
    message = world.message(channel, spec.id)
    file = make_file(world, spec.file) if spec.file else None
    fields, text = {}, spec.text
    if spec.kind or spec.raw is not None:
        content = edited_content(world, channel, spec.kind, spec.raw or {}, files=[file] if file else [])
        fields, text, file = content.fields, content.text if text is None else text, None
        if message.is_service != content.is_service and (content.is_service or "media" in fields):
            raise BadInput("A service message has an action and no media, and stays one.")
    elif message.is_service:
        raise BadInput("A service message has no text and no file; its action can be changed with raw.")
    return [world.edit(channel, spec.id, text=text, file=file, fields=fields, hidden=spec.hidden).id]


def react(world: World, spec: ReactSpec) -> list[int]:
    channel = world.channel(spec.channel)
    people = [world.person(named) for named in spec.people]
    reaction: TLObject = types.ReactionPaid()
    if spec.emoji is not None:
        reaction = types.ReactionEmoji(spec.emoji)
    elif spec.custom_emoji is not None:
        world.message(channel, spec.message)
        reaction = types.ReactionCustomEmoji(know_emoji(world, spec.custom_emoji).id)
    counted = message_counts.react(
        world, channel, spec.message, reaction,
        count=spec.count, change=spec.change, people=people, as_edit=spec.as_edit,
    )  # fmt: skip
    return [counted.id]


def vote(world: World, spec: VoteSpec) -> list[int]:
    counted = message_counts.vote(
        world, world.channel(spec.channel), spec.message, spec.option,
        count=spec.count, change=spec.change, total=spec.total,
    )  # fmt: skip
    return [counted.id]


def view(world: World, spec: ViewSpec) -> list[int]:
    channel = world.channel(spec.channel)
    for number in spec.messages:
        world.message(channel, number)
    message_counts.view(world, channel, spec.messages, views=spec.views, forwards=spec.forwards)
    return spec.messages


def pin(world: World, spec: PinSpec) -> list[int]:
    """Pin or unpin; the id of the service message follows that of the pinned one."""
    said = world.pin(world.channel(spec.channel), spec.message, pinned=spec.pinned, silent=spec.silent)
    return [spec.message, *([said.id] if said else [])]


def preview(world: World, spec: PreviewSpec) -> list[int]:
    channel = world.channel(spec.channel)
    world.message(channel, spec.message)
    page = preview_page(world, channel, spec.url, spec.raw)
    return [message_counts.show_preview(world, channel, spec.message, page).id]


def delete(world: World, spec: DeleteSpec) -> list[int]:
    world.delete(world.channel(spec.channel), spec.ids)
    return spec.ids


def change(world: World, spec: ChangeSpec) -> dict[str, Any]:
    """Do everything the change asks for; a new topic's id is in the answer."""
    world.revision += 1
    told: dict[str, Any] = {"changed": True}
    if spec.channel is not None:
        told |= _change_channel(world, world.channel(spec.channel), spec)
    if spec.new_person is not None:
        told["person"] = add_person(world, spec.new_person).id
    if spec.person is not None:
        _change_person(world, world.person(spec.person), spec)
    if spec.account is not None:
        _change_account(world, find_account(world, spec.account), spec)
    if spec.limits is not None:
        spec.limits.set_on(world.limits)
    if spec.expire_references:
        for file in world.files.values():
            file.generation += 1
    if spec.forget_uploads:
        world.parts.clear()
    return told


def add_fault(world: World, spec: FaultSpec) -> None:
    spec.require_known("Telegram", FAULTS)
    channel = world.channel(spec.channel).id if spec.channel is not None else 0
    account = find_account(world, spec.account).phone if spec.account else ""
    world.faults.add(spec.fault(account, channel))


def find_account(world: World, phone: str) -> Account:
    account = world.account_by_phone(phone)
    if account is None:
        raise BadInput(f"The loopback Telegram has no account with the phone number {digits(phone) or phone}.")
    return account


def find_topic(channel: Channel, named: int | str) -> Topic:
    """A topic by its id or its title."""
    for topic in channel.topics.values():
        if str(named) in (str(topic.id), topic.title) and not topic.deleted:
            return topic
    raise BadInput(f"{channel.title} has no topic {named}.")


def _author(world: World, channel: Channel, spec: PostSpec) -> dict[str, Any]:
    """The field that names who posts; none where the world decides."""
    if spec.anonymous:
        return {"from_id": types.PeerChannel(channel.id)}
    if spec.author is None:
        return {}
    is_person = any(one.is_named(spec.author) for one in world.people.values())
    if channel.owner and not is_person:  # accounts write in private chats too
        return {"from_id": types.PeerUser(account_named(world, spec.author).id)}
    return {"from_id": types.PeerUser(world.person(spec.author).id)}


def _change_person(world: World, person: Person, spec: ChangeSpec) -> None:
    """Rename somebody; clients see it with the next answer that names the person."""
    for name in ("first_name", "last_name", "usernames"):
        if (value := getattr(spec, name)) is not None:
            setattr(person, name, value)
    if spec.person_deleted is not None:
        person.deleted = spec.person_deleted
    if spec.photo is not None:
        person.photo = world.add_photo(spec.photo).id if spec.photo else 0


def _rename_channel(world: World, channel: Channel, spec: ChangeSpec) -> None:
    """A new title is said by a service message; a new description or username is not."""
    for name in ("about", "username"):
        if (value := getattr(spec, name)) is not None:
            setattr(channel, name, value)
    if spec.photo is not None:
        channel.photo = world.add_photo(spec.photo).id if spec.photo else 0
    if spec.title is not None and spec.title != channel.title:
        channel.title = spec.title
        world.post(channel, fields={"action": types.MessageActionChatEditTitle(spec.title)})
    if (spec.title, spec.about, spec.username, spec.photo) != (None, None, None, None):
        world.tell(channel, Event(0, 0, EventKind.CHANNEL, ()))


def _change_channel(world: World, channel: Channel, spec: ChangeSpec) -> dict[str, Any]:
    _rename_channel(world, channel, spec)
    for name in _FLAGS:
        if (value := getattr(spec, name)) is not None:
            setattr(channel, name, value)
    if spec.forum is not None:
        channel.forum = spec.forum
        channel.topics.setdefault(GENERAL, Topic(GENERAL, "General", channel.date))
    if spec.oldest_pts is not None:
        world.forget_events(channel, None if spec.oldest_pts == "now" else spec.oldest_pts)
    if spec.migrated:
        return {"channel": world.migrate(channel).id}
    channel.members |= members(world, [spec.joined] if spec.joined else [])
    channel.members -= members(world, [spec.left] if spec.left else [])
    if spec.writers is not None:
        channel.writers = members(world, spec.writers)
    if spec.topic is not None:
        _change_topic(world, channel, find_topic(channel, spec.topic), spec)
    return {"topic": world.add_topic(channel, spec.new_topic).id} if spec.new_topic is not None else {}


def _change_topic(world: World, channel: Channel, topic: Topic, spec: ChangeSpec) -> None:
    if spec.topic_title is not None:
        world.rename_topic(channel, topic.id, spec.topic_title)
    if spec.topic_closed is not None:
        world.close_topic(channel, topic.id, closed=spec.topic_closed)
    if spec.topic_pinned is not None:
        topic.pinned = spec.topic_pinned
    if spec.topic_deleted:
        world.delete_topic(channel, topic.id)


def _change_account(world: World, account: Account, spec: ChangeSpec) -> None:
    if spec.premium is not None:
        account.premium = spec.premium
    if spec.password is not None:
        account.password = spec.password
    if spec.box_oldest_pts is not None:
        box = world.chats.box(account.id)
        box.oldest_pts = box.pts if spec.box_oldest_pts == "now" else spec.box_oldest_pts
    if spec.new_private_chat is not None:
        add_private_chat(world, account, spec.new_private_chat)
    if spec.signed_out:
        for sign_in in world.sign_ins.values():
            if sign_in.account == account.id:
                sign_in.account = 0
