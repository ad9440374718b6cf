"""Makes a world from what an operator or a test asks for; equal input gives an equal world."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.content.kind_posts import Place, post_kind
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.telegram.world.file_content import File, FileKind
from tidegate.loopback.telegram.world.people import Person
from tidegate.loopback.telegram.world.pictures import photo_sizes
from tidegate.loopback.telegram.world.schema import (
    ChannelSpec,
    FileSpec,
    PersonSpec,
    TelegramSpec,
    TopicSpec,
    WorldSpec,
)
from tidegate.loopback.telegram.world.world import Account, World, digits
from tidegate.loopback.telegram.world.zips import small_zip, sparse_zip

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
"""What a world is made with happened before this, a minute between messages, whatever time it is now."""

_MINUTE = timedelta(minutes=1)

SMALL_WORLD = WorldSpec(
    seed=1,
    telegram=TelegramSpec(
        channels=[
            ChannelSpec(title="Dragon Hoard", kind="forum", topics=12, messages=180, files=40),
            ChannelSpec(title="Workshop News", kind="channel", messages=60, files=6),
            ChannelSpec(title="Vault", kind="channel"),
        ]
    ),
)
"""The world a loopback starts with when it is given none: something to mirror, and a place to file it."""


def make_world(spec: WorldSpec, clock: Clock) -> World:
    """A new world as *spec* describes it; BadInput when it contradicts itself."""
    world = World(clock, seed=spec.seed)
    for account in spec.telegram.accounts:
        if world.account_by_phone(account.phone):
            raise BadInput(f"Two accounts have the phone number {account.phone}.")
        world.add_account(account.phone, account.name, password=account.password, premium=account.premium)
    for person in spec.telegram.people:
        add_person(world, person)
    spec.telegram.limits.set_on(world.limits)
    dice = Random(spec.seed)  # noqa: S311 - a world, not a secret
    for channel in spec.telegram.channels:
        _make_channel(world, channel, dice)
    for chat in spec.telegram.private_chats:
        begun = BEGINS - _MINUTE * (chat.messages + 1)
        view = add_private_chat(world, account_named(world, chat.account), chat.other, date=begun)
        _fill(world, view, chat.messages)
    for group in spec.telegram.groups:
        taking_part = [account_named(world, one) for one in group.accounts]
        begun = BEGINS - _MINUTE * (group.messages + 1)
        _fill(world, world.add_group(group.title, taking_part, date=begun)[0], group.messages)
    return world


def account_named(world: World, named: int | str) -> Account:
    """An account by its phone number or name; BadInput when there is none."""
    found = world.account_by_phone(str(named)) if digits(str(named)) else None
    found = found or next((one for one in world.accounts.values() if one.name == str(named)), None)
    if found is None:
        raise BadInput(f"The loopback Telegram has no account {named}.")
    return found


def add_private_chat(
    world: World, account: Account, other: int | str | None, *, date: datetime | None = None
) -> Channel:
    """A private chat with a person or an account; without either with oneself."""
    if other is None:
        return world.add_private_chat(account, account, date=date)
    person = next((one for one in world.people.values() if one.is_named(other)), None)
    return world.add_private_chat(account, person or account_named(world, other), date=date)


def _fill(world: World, view: Channel, messages: int) -> None:
    for number in range(messages):
        world.post(view, f"Message {number + 1} of {view.title}", date=BEGINS - _MINUTE * (messages - number))


_MOVING = (FileKind.VIDEO, FileKind.ROUND, FileKind.ANIMATION, FileKind.STICKER)


def make_file(world: World, spec: FileSpec) -> File:
    """A file on the platform as *spec* describes it."""
    if spec.picture:
        return world.add_photo(spec.name)
    pieces = {piece.offset: bytes(piece.base64) for piece in spec.pieces}
    size = spec.size or 0
    if spec.base64 is not None:
        size, pieces = len(spec.base64), {0: bytes(spec.base64)}
    elif spec.zip is not None:
        size, pieces = sparse_zip([(entry.name, entry.size) for entry in spec.zip])
    if any(offset + len(piece) > size for offset, piece in pieces.items()):
        raise BadInput(f'A piece of the file "{spec.name}" lies beyond its end.')
    smaller = {"m": photo_sizes(spec.name)["x"]} if spec.kind in _MOVING else {}
    given = {"smaller": smaller, "kind": spec.kind, "mime": spec.mime, "centre": spec.centre, "delivery": spec.delivery}
    return world.add_file(spec.name, size, pieces=pieces, **given)


def add_person(world: World, spec: PersonSpec) -> Person:
    """Somebody without an account here; BadInput when the name is taken."""
    if any(person.name == f"{spec.name} {spec.last_name}".strip() for person in world.people.values()):
        raise BadInput(f'Two people are called "{spec.name}"; the control address could not tell them apart.')
    return world.add_person(
        spec.name,
        spec.last_name,
        usernames=list(spec.usernames),
        bot=spec.bot,
        deleted=spec.deleted,
        premium=spec.premium,
        photo=world.add_photo(spec.photo).id if spec.photo else 0,
    )


def members(world: World, phones: Sequence[str]) -> set[int]:
    """The accounts with these numbers; ``BadInput`` when a number has no account."""
    found = set()
    for phone in phones:
        account = world.account_by_phone(phone)
        if account is None:
            raise BadInput(f"The loopback Telegram has no account with the phone number {phone}.")
        found.add(account.id)
    return found


def _make_channel(world: World, spec: ChannelSpec, dice: Random) -> None:
    if any(channel.title == spec.title for channel in world.channels.values()):
        raise BadInput(f'Two channels are called "{spec.title}"; the control address could not tell them apart.')
    topics, kinds = _topics(spec), _kinds(spec)
    total = spec.messages + sum(topic.messages for topic in topics) + len(topics) + len(kinds)
    moments = iter([BEGINS - _MINUTE * (total - number) for number in range(total)])
    channel = world.add_channel(
        spec.title, forum=spec.kind == "forum", broadcast=spec.kind == "channel", date=BEGINS - _MINUTE * (total + 1)
    )
    for name in ("about", "username", "protected", "pushes", "archived", "by_create_date"):
        setattr(channel, name, getattr(spec, name))
    opened = [world.add_topic(channel, topic.title, date=next(moments)).id for topic in topics]
    for number, (topic, has_file) in enumerate(_plan(spec, topics, opened, dice)):
        file = _made_file(world, spec, number, dice) if has_file else None
        world.post(channel, f"Message {number + 1} of {spec.title}", topic=topic, file=file, date=next(moments))
    for kind in kinds:
        post_kind(world, Place(channel), kind, {}, date=next(moments))
    for number, wanted in zip(opened, topics, strict=True):
        channel.topics[number].pinned, channel.topics[number].closed = wanted.pinned, wanted.closed
    if spec.members is not None:
        channel.members = members(world, spec.members)
    channel.writers = members(world, spec.writers)


def _plan(
    spec: ChannelSpec, topics: Sequence[TopicSpec], opened: Sequence[int], dice: Random
) -> list[tuple[int, bool]]:
    """For each message its topic and whether it has a file: what topics ask for, and the rest at random."""
    plan = [
        (number, place < topic.files)
        for number, topic in zip(opened, topics, strict=True)
        for place in range(topic.messages)
    ]
    with_files = set(dice.sample(range(spec.messages), min(spec.messages, spec.files)))
    plan += [(dice.choice(opened) if opened else 0, number in with_files) for number in range(spec.messages)]
    dice.shuffle(plan)
    return plan


def _kinds(spec: ChannelSpec) -> list[str]:
    if isinstance(spec.kinds, bool):
        return kind_names() if spec.kinds else []
    return spec.kinds


def _topics(spec: ChannelSpec) -> list[TopicSpec]:
    if spec.topics and spec.kind != "forum":
        raise BadInput(f'"{spec.title}" has topics and is no forum; its kind has to be "forum".')
    if isinstance(spec.topics, int):
        return [TopicSpec(title=f"Topic {number}") for number in range(1, spec.topics + 1)]
    return spec.topics


def _made_file(world: World, spec: ChannelSpec, number: int, dice: Random) -> File:
    name = f"{'-'.join(spec.title.lower().split())}-{number + 1:05}.zip"
    if spec.file_size is not None:
        return world.add_file(name, spec.file_size, mime="application/zip")
    return world.add_content(name, small_zip(dice), mime="application/zip")
