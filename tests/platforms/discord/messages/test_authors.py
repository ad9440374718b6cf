"""Who wrote a message."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platforms.discord.shapes import message
from tidegate.core.ids import UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.platforms.discord.messages.authors import is_automatic, person_of


def test_a_person_has_a_name_and_a_username() -> None:
    """The name people see, and the one nobody else has."""
    assert person_of(message()) == Person(UserId(5), "Ada", ("ada",))


@pytest.mark.parametrize(
    ("author", "more", "kind"),
    [
        ({"username": "ada"}, {}, PersonKind.PERSON),
        ({"username": "gate", "bot": True}, {}, PersonKind.BOT),
        ({"username": "gate", "bot": True}, {"webhook_id": "9", "application_id": "9"}, PersonKind.BOT),
        ({"username": "Discord", "system": True}, {}, PersonKind.BOT),
        ({"username": "hook", "bot": True}, {"webhook_id": "5"}, PersonKind.WEBHOOK),
        ({"username": "hook", "bot": True}, {"webhook_id": "5", "application_id": "9"}, PersonKind.WEBHOOK),
        ({"username": "Deleted User", "id": "456226577798135808"}, {}, PersonKind.DELETED),
        ({"username": "Deleted User 1a2b3c4d"}, {}, PersonKind.DELETED),
        ({"username": "deleted_user_1a2b3c4d"}, {}, PersonKind.DELETED),
        ({"username": "deleted_user_fan", "global_name": "A fan"}, {}, PersonKind.PERSON),
    ],
)
def test_what_an_author_is(author: dict[str, Any], more: dict[str, Any], kind: PersonKind) -> None:
    """A bot that answers a command uses a webhook of its application, and is still a bot."""
    found = message(author={"id": "5", **author}, **more)
    person = person_of(found)
    assert person is not None
    assert person.kind is kind
    assert is_automatic(found) is (kind in (PersonKind.BOT, PersonKind.WEBHOOK))


def test_the_number_after_an_old_username_belongs_to_it() -> None:
    """Bots still have one; of people and webhooks it is zero."""
    person = person_of(message(author={"id": "5", "username": "gate", "discriminator": "0042", "bot": True}))
    assert person is not None
    assert person.usernames == ("gate#0042",)


@pytest.mark.parametrize("author", [None, [], "ada", {}, {"id": "x"}, {"id": None, "username": 5}])
def test_an_author_without_a_number_is_nobody(author: object) -> None:
    """Such a message is stored without its author."""
    assert person_of(message(author=author)) is None
