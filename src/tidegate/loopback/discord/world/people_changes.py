"""People who rename themselves, turn out to be bots, or delete their account."""

from __future__ import annotations

from hashlib import sha256

from tidegate.core.errors import BadInput
from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Bot, Guild, User
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.world import World


def change_person(world: World, named: str, spec: ChangeSpec) -> None:
    """Change what somebody's profile says; an empty name is none. *nick* holds in the change's guild, or in all."""
    person = _find(world, named)
    if spec.account_deleted:
        _delete_account(world, person)
        return
    for name in ("username", "global_name", "avatar"):
        if (value := getattr(spec, name)) is not None:
            person.fields[name] = value or None
    if spec.is_bot is not None:
        person.fields["bot"] = spec.is_bot
    for guild in world.guilds.values():
        here = spec.guild is None or str(spec.guild) in (guild.name, str(guild.id))
        if spec.nick is not None and here:
            guild.nicks[person.id] = spec.nick
            if not spec.nick:
                del guild.nicks[person.id]
        _tell(world, guild, person)


def _delete_account(world: World, person: User) -> None:
    """Messages stay, under a name that says nothing; the account is in no guild any more."""
    if isinstance(person, Bot):
        raise BadInput(f"{person.name} is a bot that signs in here; its account cannot be deleted.")
    mark = sha256(str(person.id).encode()).hexdigest()[:12]
    person.fields |= {"username": f"deleted_user_{mark}", "global_name": None, "avatar": None}
    person.deleted = True
    for guild in world.guilds.values():
        guild.nicks.pop(person.id, None)
        world.tell(News("GUILD_MEMBER_REMOVE", guild, data={"user": json_shapes.user(person)}))


def _tell(world: World, guild: Guild, person: User) -> None:
    if world.is_member(guild, person.id):
        shape = json_shapes.member(guild, person.id) | {"user": json_shapes.user(person)}
        world.tell(News("GUILD_MEMBER_UPDATE", guild, data=shape))


def _find(world: World, named: str) -> User:
    for user in (*world.people.values(), *world.bots.values()):
        if named in (user.name, str(user.id)):
            return user
    raise BadInput(f"The loopback Discord has no person {named}.")
