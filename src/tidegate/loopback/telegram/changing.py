"""What other people do to the world, as the control address is told it."""

from __future__ import annotations

from typing import Any

from tidegate.errors import BadInput
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram.channels import GENERAL, Channel, Topic
from tidegate.loopback.telegram.making import make_file, members, set_limits
from tidegate.loopback.telegram.schema import ChangeSpec, DeleteSpec, EditSpec, FaultSpec, PostSpec
from tidegate.loopback.telegram.world import Account, World, digits

FAULTS = frozenset(FaultKind) - {
    FaultKind.HTML_429,
    FaultKind.INVALID_SESSION,
    FaultKind.REPLACED,
}
"""The faults Telegram knows; the others are other platforms'."""

_FLAGS = ("title", "protected", "pushes", "archived", "by_create_date")


def post(world: World, spec: PostSpec) -> list[int]:
    """Write as somebody else; the ids of what was written."""
    channel = world.channel(spec.channel)
    topic = find_topic(channel, spec.topic).id if spec.topic else 0
    album = world.token("album", channel.id, channel.newest_id) if spec.album else 0
    files = [make_file(world, file) for file in spec.files]
    written = []
    for number in range(spec.count):
        for place, file in enumerate(files or [None]):
            text = spec.text if place == 0 else ""
            if not spec.text and not files:
                text = f"Message {channel.newest_id + 1}"
            elif spec.count > 1 and place == 0:
                text = f"{spec.text} {number + 1}"
            message = world.post(channel, text, file=file, topic=topic, reply_to=spec.reply_to, album=album)
            written.append(message.id)
    return written


def edit(world: World, spec: EditSpec) -> list[int]:
    file = make_file(world, spec.file) if spec.file else None
    return [world.edit(world.channel(spec.channel), spec.id, text=spec.text, file=file).id]


def delete(world: World, spec: DeleteSpec) -> list[int]:
    world.delete(world.channel(spec.channel), spec.ids)
    return spec.ids


def change(world: World, spec: ChangeSpec) -> dict[str, Any]:
    """Do everything the change asks for; a new topic's id is in the answer."""
    world.revision += 1
    told: dict[str, Any] = {"changed": True}
    if spec.channel is not None:
        told |= _change_channel(world, world.channel(spec.channel), spec)
    if spec.account is not None:
        _change_account(world, find_account(world, spec.account), spec)
    if spec.limits is not None:
        set_limits(world, spec.limits)
    if spec.expire_references:
        for file in world.files.values():
            file.generation += 1
    if spec.forget_uploads:
        world.parts.clear()
    return told


def add_fault(world: World, spec: FaultSpec) -> None:
    if spec.kind not in FAULTS:
        raise BadInput(f'Telegram knows no fault "{spec.kind.value}"; it knows {", ".join(sorted(FAULTS))}.')
    channel = world.channel(spec.channel).id if spec.channel is not None else 0
    account = find_account(world, spec.account).phone if spec.account else ""
    code = str(spec.code)
    world.faults.add(Fault(spec.kind, spec.method, spec.count, spec.seconds, code, account, channel))


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


def _change_channel(world: World, channel: Channel, spec: ChangeSpec) -> dict[str, Any]:
    for name in _FLAGS:
        if (value := getattr(spec, name)) is not None:
            setattr(channel, name, value)
    if spec.forum is not None:
        channel.forum = spec.forum
        channel.topics.setdefault(GENERAL, Topic(GENERAL, "General", channel.date))
    if spec.oldest_pts is not None:
        world.forget_events(channel, None if spec.oldest_pts == "now" else spec.oldest_pts)
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
    if spec.signed_out:
        for sign_in in world.sign_ins.values():
            if sign_in.account == account.id:
                sign_in.account = 0
