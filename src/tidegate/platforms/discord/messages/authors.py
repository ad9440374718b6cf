"""Who wrote a message. Pure."""

from __future__ import annotations

from tidegate.core.ids import UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.platforms.discord.messages.avatars import avatar_of
from tidegate.platforms.discord.messages.json_values import id_in, object_in, text_in
from tidegate.platforms.discord.permissions import Json

_EVERY_DELETED_ACCOUNT = "456226577798135808"  # stands for accounts that were deleted with their messages kept
_NO_DISCRIMINATOR = ("", "0", "0000")


def name_of(user: Json) -> str:
    """A person's name; not the nickname, which only some of Discord's answers know."""
    return text_in(user.get("global_name")) or text_in(user.get("username"))


def is_automatic(found: Json) -> bool:
    """Whether a bot, a webhook or Discord itself wrote a message."""
    author = object_in(found.get("author"))
    return bool(author.get("bot") or author.get("system") or found.get("webhook_id"))


def person_of(found: Json) -> Person | None:
    """The author of a message as Discord shows them now."""
    author = object_in(found.get("author"))
    number = id_in(author.get("id"))
    if number is None:
        return None
    username = text_in(author.get("username"))
    discriminator = text_in(author.get("discriminator"))
    known_as = username if discriminator in _NO_DISCRIMINATOR else f"{username}#{discriminator}"
    usernames = (known_as,) if username else ()
    kind = _kind(found, author, username)
    return Person(
        UserId(number), name_of(author), usernames, kind, avatar=avatar_of("avatars", number, author.get("avatar"))
    )


def _kind(found: Json, author: Json, username: str) -> PersonKind:
    """A bot's answer to a command also comes through a webhook, that of its application."""
    webhook = found.get("webhook_id")
    if webhook and webhook != found.get("application_id"):
        return PersonKind.WEBHOOK
    if author.get("bot") or author.get("system"):
        return PersonKind.BOT
    return PersonKind.DELETED if _is_deleted(author, username) else PersonKind.PERSON


def _is_deleted(author: Json, username: str) -> bool:
    """Nobody can choose a name with a space or capital letters; the other form never has a display name or picture."""
    if author.get("id") == _EVERY_DELETED_ACCOUNT or username.startswith("Deleted User"):
        return True
    return username.startswith("deleted_user_") and not author.get("global_name") and not author.get("avatar")
