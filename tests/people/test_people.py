"""Authors: who they are, and the names they had."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.held import NOON
from tests.scans.stored_channels import add_account, add_channel
from tidegate.core.ids import UserId
from tidegate.core.message_content import Person, PersonKind
from tidegate.core.platform import platform_named
from tidegate.database.pool import Database
from tidegate.loopback.database_clock import hold
from tidegate.people.queries import people

pytestmark = pytest.mark.both_servers

ADA = Person(UserId(7), "Ada", ("ada", "lovelace"))
TELEGRAM = platform_named("telegram")


async def test_names_over_time_are_kept(database: Database) -> None:
    """Each name once, with its usernames, and when it was seen first and last; the newest first."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await people.store(connection, key, [ADA])
        await people.store(connection, key, [replace(ADA, name="Countess", usernames=())])
        await people.store(connection, key, [ADA, ADA])
        found = await people.find(connection, TELEGRAM, ADA.id)
    assert found is not None
    assert found.person == ADA
    assert [(one.name, tuple(one.usernames)) for one in found.names] == [("Ada", ADA.usernames), ("Countess", ())]
    assert all(one.last_seen - one.first_seen >= timedelta() for one in found.names)


async def test_an_earlier_name_was_seen_until_it_changed(database: Database) -> None:
    """However long somebody wrote under it; a name that did not change is not written each time."""
    change = NOON + timedelta(days=60)
    move = "UPDATE held_clock SET now = $1"
    await hold(database, NOON)
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await people.store(connection, key, [ADA])
    await database.pool.execute(move, change)
    async with database.transaction() as connection:
        await people.store(connection, key, [replace(ADA, name="Countess")])
    await database.pool.execute(move, change + timedelta(days=1))
    async with database.transaction() as connection:
        await people.store(connection, key, [replace(ADA, name="Countess", kind=PersonKind.DELETED)])
        found = await people.find(connection, TELEGRAM, ADA.id)
    assert found is not None
    assert [(one.name, one.first_seen, one.last_seen) for one in found.names] == [
        ("Countess", change, change + timedelta(days=1)),
        ("Ada", NOON, change),
    ]


async def test_what_an_author_is_can_change(database: Database) -> None:
    """An account that was deleted is said to be one; its earlier name stays on record."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
        await people.store(connection, key, [ADA])
        await people.store(connection, key, [Person(ADA.id, "Deleted Account", kind=PersonKind.DELETED)])
        await people.store(connection, key, [Person(ADA.id, "")])
        found = await people.find(connection, TELEGRAM, ADA.id)
    assert found is not None
    assert (found.person.name, found.person.kind) == ("Deleted Account", PersonKind.DELETED)
    assert [one.name for one in found.names] == ["Deleted Account", "Ada"]


async def test_two_transactions_with_the_same_people_do_not_wait_for_each_other(database: Database) -> None:
    """In different orders they would deadlock; one leaves the person to the other."""
    async with database.transaction() as connection:
        key = (await add_channel(connection, await add_account(connection, "reader"))).key
    bob = Person(UserId(8), "Bob")
    async with database.transaction() as first, database.transaction() as second:
        await people.store(first, key, [ADA])
        await people.store(second, key, [bob])
        await people.store(first, key, [bob])
        await people.store(second, key, [ADA])
    async with database.connection() as connection:
        assert await people.find(connection, TELEGRAM, ADA.id) is not None
        assert await people.find(connection, TELEGRAM, bob.id) is not None
        assert await people.find(connection, TELEGRAM, UserId(9)) is None


class TestLabels:
    """What an account calls its contacts: Telegram gives it in place of the contact's own name."""

    LABEL = replace(ADA, name="Sis", is_label=True)

    async def names(self, database: Database, *seen: Person) -> tuple[str, list[str]]:
        """The name of Ada, and all her names, after she was seen so."""
        async with database.transaction() as connection:
            key = (await add_channel(connection, await add_account(connection, "reader"))).key
            for one in seen:
                await people.store(connection, key, [one])
            found = await people.find(connection, TELEGRAM, ADA.id)
        assert found is not None
        return found.person.name, [one.name for one in found.names]

    async def test_a_label_is_no_further_name(self, database: Database) -> None:
        """Of two accounts one has her as a contact: she has one name, her own."""
        assert await self.names(database, ADA, self.LABEL, ADA, self.LABEL) == ("Ada", ["Ada"])

    async def test_a_label_stands_in_until_the_name_is_known(self, database: Database) -> None:
        """Then it is forgotten: she never had it."""
        assert await self.names(database, self.LABEL, ADA) == ("Ada", ["Ada"])

    async def test_the_first_of_two_labels_stays(self, database: Database) -> None:
        """Two accounts with her as a contact do not rename her in turn."""
        other = replace(self.LABEL, name="Ada from work")
        assert await self.names(database, self.LABEL, other, self.LABEL, other) == ("Sis", ["Sis"])

    async def test_a_label_brings_new_usernames(self, database: Database) -> None:
        """Those are her own, whoever sees them; a label that is also her name stays as that."""
        renamed = replace(self.LABEL, usernames=("ada",))
        same = replace(ADA, is_label=True)
        name, names = await self.names(database, same, ADA, renamed)
        assert (name, names) == ("Ada", ["Ada", "Ada"])
