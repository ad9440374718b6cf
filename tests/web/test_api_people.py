"""Authors over the API."""

from __future__ import annotations

import httpx

from tests.history.rich_messages import ADA, HELPER, wrote
from tests.history.stored_messages import kept
from tests.scans.stored_channels import add_account, add_channel
from tests.web.api_client import client, refused, token
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.history.queries import messages
from tidegate.people.queries import people

__all__ = ["client", "kept"]  # fixtures


async def test_a_person_and_their_names(client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
    """Who they are now, and the names they had."""
    async with database.transaction() as connection:
        await people.store(connection, kept.key, [ADA, HELPER])
    found = (await client.get("/api/people/telegram/501")).json()
    assert {name: found[name] for name in ("platform", "id", "name", "usernames", "bot", "kind")} == {
        "platform": "telegram", "id": 501, "name": "Ada Lovelace", "usernames": ["ada"], "bot": False, "kind": "person",
    }  # fmt: skip
    assert [(one["name"], one["usernames"]) for one in found["names"]] == [("Ada Lovelace", ["ada"])]
    assert (await client.get("/api/people/telegram/503")).json()["bot"] is True


async def test_a_narrow_token_sees_only_who_wrote_in_its_channels(
    client: httpx.AsyncClient, database: Database, kept: KnownChannel
) -> None:
    """Somebody who wrote elsewhere is as unknown as nobody."""
    async with database.transaction() as connection:
        other = await add_channel(connection, await add_account(connection, "other"), 8)
        await messages.store(connection, kept.key, [wrote(50, ADA, "x")])
        await messages.store(connection, other.key, [wrote(50, HELPER, "x")])
        await people.store(connection, kept.key, [ADA, HELPER])
    client.headers["authorization"] = f"Bearer {await token(database, 'narrow', kept.key)}"
    assert (await client.get("/api/people/telegram/501")).json()["name"] == "Ada Lovelace"
    foreign = refused(await client.get("/api/people/telegram/503"), 404)
    assert foreign.replace("503", "N") == refused(await client.get("/api/people/telegram/999"), 404).replace("999", "N")
    assert "on nowhere" in refused(await client.get("/api/people/nowhere/501"), 404)
