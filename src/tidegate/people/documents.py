"""A person as JSON: who they are now, and every name they were seen with."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import UserId
from tidegate.core.json_fields import Instant
from tidegate.core.message_content import PersonKind
from tidegate.core.platform import Platform
from tidegate.people.queries.people import KnownPerson


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierName:
    """A name, the usernames of that time, and when they were seen first and last."""

    name: str
    usernames: list[str]
    first_seen: Instant
    last_seen: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDocument:
    """An author as the platform showed them last, and their names, the newest first.

    *kind* is person, bot, webhook, channel, anonymous or deleted. *avatar* is where their picture is read, if one is
    kept.
    """

    platform: str
    id: UserId
    name: str
    usernames: list[str]
    bot: bool
    kind: str
    avatar: str | None
    seen_at: Instant
    names: list[EarlierName]


def person_document(platform: Platform, known: KnownPerson, *, has_avatar: bool) -> PersonDocument:
    """The document of a person."""
    person = known.person
    return PersonDocument(
        platform=platform.name,
        id=person.id,
        name=person.name,
        usernames=list(person.usernames),
        bot=person.kind in (PersonKind.BOT, PersonKind.WEBHOOK),
        kind=person.kind.value,
        avatar=f"/api/people/{platform.name}/{person.id}/avatar" if has_avatar else None,
        seen_at=known.seen_at.isoformat(),
        names=[
            EarlierName(
                name=one.name,
                usernames=list(one.usernames),
                first_seen=one.first_seen.isoformat(),
                last_seen=one.last_seen.isoformat(),
            )
            for one in known.names
        ],
    )
