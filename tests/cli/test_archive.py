"""``tidegate archive`` and ``tidegate search`` as a script and as a person see them."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path

import pytest

from tests.archives.contents_builder import keep, reader
from tests.archives.waiting_sets import AT, take, waiting
from tests.cli.account_commands import ask
from tests.cli.channel_commands import add_account, control, do, told
from tests.cli.command_result import run
from tests.cli.program import tidegate
from tidegate.archives.queries import indexing_queue
from tidegate.archives.rules.retry import ArchiveFailure, FailureReason
from tidegate.core.ids import AccountId
from tidegate.database.pool import Database

__all__ = ["control", "reader"]  # fixtures


async def some_archives(database: Database, account: AccountId) -> tuple[int, int]:
    """One that is filed, one that was given up, and one of a format that waits."""
    await waiting(database, "good.zip", "bad.zip", "later.7z")
    good = await take(database, account)
    await keep(database, good, "tower/gate.stl", "tower/wall.stl")
    bad = await take(database, account)
    async with database.transaction() as connection:
        failure = ArchiveFailure(2, FailureReason.DOWNLOAD, 5, AT, size=1_000)
        await indexing_queue.fail(connection, bad, failure, "It did not arrive.", given_up=True)
    return good.archive, bad.archive


async def test_a_script_gets_the_contracts_shape(database: Database, tmp_path: Path, reader: AccountId) -> None:
    """Every field of the contract, newest first; what keeps waiting says for what."""
    good, bad = await some_archives(database, reader)
    code, out, err = await run(database, tmp_path, "archive", "list", "--json")
    assert (code, err) == (0, "")
    later, failed, filed = json.loads(out)
    asked_for = {
        "id", "name", "channel", "topic", "parts", "size", "state", "reason", "attempts", "next_try_at", "contents",
        "flags",
    }  # fmt: skip
    assert asked_for <= filed.keys()
    assert (filed["id"], filed["name"], filed["state"], filed["contents"]) == (good, "good.zip", "filed", 2)
    assert (failed["id"], failed["state"], failed["reason"], failed["attempts"]) == (bad, "given_up", "download", 5)
    assert (later["state"], "turn" in later["waits_for"]) == ("waiting", True)
    _, out, _ = await run(database, tmp_path, "archive", "list", "--state", "filed", "--channel", "Models", "--json")
    assert [one["id"] for one in json.loads(out)] == [good]
    _, out, _ = await run(database, tmp_path, "archive", "show", str(good), "--json")
    assert [one["path"] for one in json.loads(out)["inside"]] == ["tower/gate.stl", "tower/wall.stl"]
    _, out, _ = await run(database, tmp_path, "archive", "show", str(bad))
    assert "It did not arrive." in out


async def test_where_an_archive_went_is_shown(database: Database, tmp_path: Path, reader: AccountId) -> None:
    """S-53, S-82: its parts with their hashes, each message in the destination, and what it is a duplicate of."""
    good, bad = await some_archives(database, reader)
    await database.pool.execute(r"UPDATE archives SET content = '\xab', duplicate_of = $2 WHERE id = $1", good, bad)
    await database.pool.execute(r"UPDATE archive_parts SET sha256 = '\xab' WHERE archive = $1", good)
    await database.pool.execute(
        """
        INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, way,
                                state, message)
        SELECT $1, channel, n, 1, 1, 'good.zip.00' || n, 0, 5, 'upload', 'sent', 70 + n
        FROM archives, generate_series(1, 2) n WHERE id = $1
        """,
        good,
    )
    _, out, _ = await run(database, tmp_path, "archive", "show", str(good), "--json")
    shown = json.loads(out)
    assert (shown["content"], shown["duplicate_of"], shown["files"][0]["sha256"]) == ("ab", bad, "ab")
    assert [(one["name"], one["state"], one["message"]) for one in shown["deliveries"]] == [
        ("good.zip.001", "sent", 71),
        ("good.zip.002", "sent", 72),
    ]
    _, out, _ = await run(database, tmp_path, "archive", "show", str(good))
    assert "good.zip.002" in out


async def test_s60_what_nobody_works_on_is_not_shown_as_working(
    database: Database, tmp_path: Path, reader: AccountId
) -> None:
    """S-60: the worker that had it in hand is gone, and so the archive waits, also when asked for by state."""
    await some_archives(database, reader)
    await database.pool.execute("UPDATE archives SET state = 'working' WHERE name = 'later.7z'")
    _, out, _ = await run(database, tmp_path, "archive", "list", "--state", "waiting", "--json")
    assert [one["name"] for one in json.loads(out)] == ["later.7z"]
    _, out, _ = await run(database, tmp_path, "archive", "list", "--state", "working", "--json")
    assert json.loads(out) == []


async def test_a_given_up_archive_is_asked_for_again(database: Database, tmp_path: Path, reader: AccountId) -> None:
    """S-36: by number or all of a reason; a second kind of answer says that there was nothing to ask for."""
    good, bad = await some_archives(database, reader)
    code, out, _ = await run(database, tmp_path, "archive", "retry", str(bad), "--json")
    assert (code, json.loads(out)) == (0, {"asked": [bad]})
    code, _, err = await run(database, tmp_path, "archive", "retry", str(good))
    assert (code, err) == (3, f"Archive {good} has not failed: it is filed.\n")
    code, _, err = await run(database, tmp_path, "archive", "retry", "--all", "--reason", "copy")
    assert (code, err) == (3, "No such archive has failed.\n")
    code, _, err = await run(database, tmp_path, "archive", "retry", "--all", "--reason", "download")
    assert (code, err.startswith("The next cycle tries 1 archive again")) == (0, True)


async def test_bad_input_is_a_sentence(database: Database, tmp_path: Path) -> None:
    """bad-input-gets-a-sentence: exit code 2, what was wrong and what to do."""
    for arguments, sentence in [
        (("archive", "show", "77"), "There is no archive 77."),
        (("archive", "retry"), "Name one archive"),
        (("archive", "retry", "1", "--all"), "Name one archive"),
        (("archive", "retry", "1", "--reason", "copy"), "Name one archive"),
        (("archive", "list", "--state", "lost"), "There is no state lost"),
        (("search", "..."), "There is no word"),
        (("search", "x", "--channel", "Nowhere"), "There is no channel"),
    ]:
        code, out, err = await run(database, tmp_path, *arguments)
        assert (code, out, err.startswith(sentence)) == (2, "", True), (arguments, err)


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ((), "No archives yet. Cycles find them: tidegate cycle ACCOUNT\n"),
        (("--state", "failed"), "No failed archives.\n"),
        (("--state", "failed", "--state", "gone"), "No failed or gone archives.\n"),
    ],
)
async def test_an_empty_list_says_what_was_looked_for(
    database: Database, tmp_path: Path, filters: tuple[str, ...], sentence: str
) -> None:
    """Nothing that failed is good news, and no reason to run a cycle."""
    assert await run(database, tmp_path, "archive", "list", *filters) == (0, "", sentence)


async def test_a_file_is_found_from_the_command_line(database: Database, tmp_path: Path, reader: AccountId) -> None:
    """The contract's shape for scripts; for people a table, or a sentence when there is nothing."""
    good, _ = await some_archives(database, reader)
    code, out, _ = await run(database, tmp_path, "search", "gate", "tower", "--json")
    told = json.loads(out)
    assert (code, told["query"], told["more"]) == (0, "gate tower", False)
    [found] = told["results"]
    assert {"kind", "channel", "id", "at", "author", "text"} <= found.keys()
    assert (found["kind"], found["text"], found["archive"]) == ("file", "tower/gate.stl", good)
    _, out, _ = await run(database, tmp_path, "search", "gate")
    assert "tower/gate.stl" in out
    code, out, err = await run(database, tmp_path, "search", "dragon")
    assert (code, out, err) == (0, "", "Nothing was found for: dragon\n")


async def test_an_operator_finds_a_file_inside_an_archive(home: Path, control: str) -> None:
    """Enable, cycle, break, see the failure, repair, retry, find: each by a command, against the loopback Telegram."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", home=home).returncode == 0
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("castle/drawbridge.stl", b"solid")
    file = {"name": "castle.zip", "base64": base64.b64encode(held.getvalue()).decode()}
    broken = {"platform": "telegram", "method": "upload.getFile", "kind": "error", "code": "400 LOCATION_INVALID"}
    do(control, "/faults", {**broken, "count": 1})
    do(control, "/telegram/post", {"channel": "Vault", "files": [file]})
    told(home, "cycle", "reader")
    [failed] = told(home, "archive", "list")
    assert (failed["state"], failed["reason"], failed["attempts"]) == ("failed", "download", 1)
    assert told(home, "archive", "retry", str(failed["id"])) == {"asked": [failed["id"]]}
    assert told(home, "cycle", "reader")["failures_retried"] == 1
    [found] = [one for one in told(home, "search", "drawbridge")["results"] if one["kind"] == "file"]
    assert (found["text"], found["archive"], found["archive_name"]) == (
        "castle/drawbridge.stl", failed["id"], "castle.zip",
    )  # fmt: skip
    [filed] = told(home, "archive", "list")
    assert (filed["state"], filed["reason"], filed["contents"]) == ("filed", None, 1)
    call_log = {row["method"]: row["count"] for row in told(home, "calls")}
    assert call_log == ask(f"{control}/calls?by=method")
