"""``tidegate search``, ``context`` and ``token`` as a script and as a person see them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.account_commands import ask
from tests.cli.channel_commands import add_account, control, do, told
from tests.cli.command_result import run
from tests.cli.program import tidegate
from tests.history.stored_messages import kept
from tidegate.access.queries import tokens
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database

__all__ = ["control", "kept"]  # fixtures


async def test_a_channel_is_read_back(database: Database, tmp_path: Path, kept: KnownChannel) -> None:
    """Lines for a bot, a document for a script; both say where the history is incomplete."""
    code, out, err = await run(database, tmp_path, "context", kept.title, "--limit", "2")
    note, *lines = out.splitlines()
    assert (code, err, note) == (0, "", "(history is incomplete before 5)")
    assert [line.partition("] ")[2] for line in lines] == [
        "Ada(3): ↪ a message that is not stored | and that? (edited)", "Ada(3): (deleted)",
    ]  # fmt: skip
    code, out, _ = await run(database, tmp_path, "context", "7", "--before", "3", "--deleted", "--json")
    document = json.loads(out)
    assert (code, document["channel"], document["incomplete_before"]) == (0, 7, 3)
    assert [one["id"] for one in document["messages"]] == [1, 2]
    _, out, _ = await run(database, tmp_path, "context", "7", "--chars", "80", "--deleted")
    assert ("never mind (deleted)" in out, "which tower" in out) == (True, False)


async def test_a_search_with_filters(database: Database, tmp_path: Path, kept: KnownChannel) -> None:
    """Phrases and filters as typed, in both orders; a channel is given once."""
    code, out, _ = await run(database, tmp_path, "search", '"which tower"', "author:ada", "--by", "relevance", "--json")
    assert (code, [one["id"] for one in json.loads(out)["results"]]) == (0, [1])
    code, out, _ = await run(database, tmp_path, "search", "tower", 'channel:"Channel 7"')
    assert (code, "which tower?" in out, "Ada" in out) == (0, True, True)
    for arguments, sentence in [
        (("search", "x", "channel:7", "--channel", "7"), "The channel is given twice"),
        (("search", "x", "channel:Nowhere"), "There is no channel"),
        (("search", "x", "has:wings"), "has: supports only image, video"),
        (("context", "Nowhere"), "There is no channel"),
        (("token", "add", "bot", "--scope", "fly"), "There is no scope fly"),
        (("token", "add", "bot", "--channel", "Nowhere"), "There is no channel"),
        (("token", "revoke", "nobody"), 'There is no token "nobody"'),
    ]:
        code, out, err = await run(database, tmp_path, *arguments)
        assert (code, out, err.startswith(sentence)) == (2, "", True), (arguments, err)


async def test_a_token_is_shown_once(database: Database, tmp_path: Path, kept: KnownChannel) -> None:
    """Printed when it is made and never again; revoked, it opens nothing."""
    code, out, err = await run(database, tmp_path, "token", "add", "bot", "--channel", "7")
    secret = out.strip()
    assert (code, len(out.splitlines()), "Authorization: Bearer" in err) == (0, 1, True)
    async with database.connection() as connection:
        found = await tokens.find(connection, secret)
    assert found is not None
    assert found.channels == [kept.key]
    _, out, _ = await run(database, tmp_path, "token", "list", "--json")
    [listed] = json.loads(out)
    assert (listed["name"], listed["scopes"], listed["channels"]) == ("bot", ["read"], ["Channel 7"])
    _, table, _ = await run(database, tmp_path, "token", "list")
    assert (secret in out + table, "Channel 7" in table) == (False, True)
    code, _, err = await run(database, tmp_path, "token", "revoke", "bot")
    assert (code, err) == (0, 'Token "bot" is revoked.\n')
    code, out, err = await run(database, tmp_path, "token", "list")
    assert (code, out, err) == (0, "", "No tokens yet: tidegate token add\n")


async def test_reading_costs_no_call(home: Path, control: str) -> None:
    """H-46: whoever reads while history is being fetched asks the store alone, and is told what is missing."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    do(control, "/telegram/post", {"channel": "Workshop News", "count": 3, "text": "a tower for everybody"})
    assert tidegate("channel", "enable", "Workshop News", "--full", home=home).returncode == 0
    told(home, "cycle", "reader")
    before = ask(f"{control}/calls?by=method")
    document = told(home, "context", "Workshop News")
    assert document["messages"][-1]["text"] == "a tower for everybody 3"
    assert told(home, "search", "tower everybody")["results"]
    spans = told(home, "channel", "show", "Workshop News")["coverage"]["messages"]
    assert (document["incomplete_before"] is None) == (bool(spans) and spans[-1][0] == 0)
    assert ask(f"{control}/calls?by=method") == before
