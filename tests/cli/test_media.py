"""``tidegate media`` as a script and as a person see it."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.account_commands import ask
from tests.cli.channel_commands import add_account, control, do, told
from tests.cli.command_result import run
from tests.cli.program import tidegate
from tidegate.database.pool import Database

__all__ = ["control"]  # a fixture

CONTENT = b"\x89PNG\r\n\x1a\n a picture of the harbour"
DIGEST = sha256(CONTENT).hexdigest()


async def test_files_are_kept_checked_removed_and_fetched(control: str, home: Path) -> None:
    """From a posted file to a kept one, with every command on the way."""
    await add_account(home, control)
    file = {"name": "harbour.png", "base64": base64.b64encode(CONTENT).decode()}
    do(control, "/telegram/post", {"channel": "Vault", "files": [file]})
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", "--full", home=home).returncode == 0
    told(home, "cycle", "reader")
    assert told(home, "media", "fetch") == {
        "kept": 1, "bytes": len(CONTENT), "skipped": 0, "failed": 0, "gone": 0, "paused": None,
    }  # fmt: skip
    [row] = told(home, "media", "list", "--state", "kept")
    assert (row["name"], row["sha256"], row["type"], row["reason"]) == ("harbour.png", DIGEST, "image/png", None)
    assert (home / "media" / DIGEST[:2] / DIGEST[2:4] / DIGEST).read_bytes() == CONTENT
    assert told(home, "media", "verify")["sound"]
    assert told(home, "media", "sweep") == {"orphans": 0, "unused": 0, "partial": 0, "bytes": 0}
    assert told(home, "media", "policy")["stored_bytes"] == len(CONTENT)
    assert told(home, "media", "remove", DIGEST) == {"sha256": DIGEST, "files": 1, "blocked": False}
    assert told(home, "media", "fetch")["kept"] == 0
    assert told(home, "media", "fetch", "--file", str(row["file"]))["kept"] == 1
    (home / "media" / DIGEST[:2] / DIGEST[2:4] / DIGEST).unlink()
    lost = tidegate("media", "verify", home=home)
    assert (lost.returncode, "1 missing" in lost.stderr, "has none of the files" in lost.stderr) == (1, True, True)
    repaired = tidegate("media", "verify", "--repair", "--json", home=home)
    assert json.loads(repaired.stdout)["wanted_again"] == 1
    assert told(home, "media", "fetch", "reader")["kept"] == 1
    assert told(home, "media", "remove", DIGEST, "--block")["blocked"]
    [row] = told(home, "media", "list")
    assert (row["state"], row["reason"]) == ("skipped", "The operator blocked its content.")


async def test_protected_files_are_kept_once_the_operator_says_so(control: str, home: Path) -> None:
    """The list says why they are not kept; one option changes that, for what is stored as well."""
    await add_account(home, control)
    do(control, "/telegram/change", {"channel": "Vault", "protected": True})
    file = {"name": "harbour.png", "base64": base64.b64encode(CONTENT).decode()}
    do(control, "/telegram/post", {"channel": "Vault", "files": [file]})
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", "--full", home=home).returncode == 0
    told(home, "cycle", "reader")
    assert told(home, "media", "fetch")["kept"] == 0
    [row] = told(home, "media", "list")
    assert (row["state"], row["reason"]) == ("skipped", "The channel or the message forbids saving.")
    assert tidegate("media", "policy", "--protected", home=home).returncode == 0
    assert told(home, "media", "fetch")["kept"] == 1
    assert [row["sha256"] for row in told(home, "media", "list")] == [DIGEST]


async def test_what_destroys_itself_is_kept_once_the_operator_says_so(control: str, home: Path) -> None:
    """A picture that is gone ten seconds after it was seen: named in the list, and read only with the option."""
    await add_account(home, control)
    [number] = do(control, "/telegram/post", {"channel": "Vault", "kind": "photo"})["ids"]
    [shown] = [one for one in ask(f"{control}/truth/telegram/Vault") if one["id"] == number]
    fleeting = shown["raw"]["media"] | {"ttl_seconds": 10}
    do(control, "/telegram/edit", {"channel": "Vault", "id": number, "raw": {"media": fleeting}})
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", "--full", home=home).returncode == 0
    told(home, "cycle", "reader")
    assert told(home, "media", "fetch")["kept"] == 0
    [row] = told(home, "media", "list", "--kind", "picture")
    assert (row["state"], row["reason"]) == ("skipped", "The file destroys itself after it was seen.")
    assert tidegate("media", "policy", "--protected", home=home).returncode == 0
    assert told(home, "media", "fetch")["kept"] == 1
    [row] = told(home, "media", "list", "--kind", "picture")
    assert row["sha256"] == shown["files"][0]["sha256"]


async def test_archives_of_an_archives_only_channel_are_kept_on_request(control: str, home: Path) -> None:
    """``channel enable --keep`` keeps the bytes of archives whatever their size, and of nothing else."""
    await add_account(home, control)
    archive = {"name": "castle.zip", "size": 30_000_000}
    other = {"name": "notes.txt", "base64": base64.b64encode(CONTENT).decode()}
    do(control, "/telegram/post", {"channel": "Vault", "files": [archive, other]})
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Vault", "--keep", home=home).returncode == 0
    told(home, "cycle", "reader")
    assert told(home, "media", "fetch")["kept"] == 1
    [row] = told(home, "media", "list", "--state", "kept")
    assert (row["name"], row["size"]) == ("castle.zip", 30_000_000)
    kept = [path for path in (home / "media").rglob("*") if path.is_file()]
    assert [(path.name, path.stat().st_size) for path in kept] == [(row["sha256"], 30_000_000)]


async def test_the_policy_is_shown_and_changed(database: Database, tmp_path: Path) -> None:
    """Rules by kind and place, limits, and the switch; each shows at once."""
    _, out, _ = await run(database, tmp_path, "media", "policy", "--json")
    shown = json.loads(out)
    assert (shown["enabled"], shown["asks"], shown["rules"], shown["default_largest"]) == (True, False, [], 20_000_000)
    code, _, err = await run(
        database, tmp_path, "media", "policy", "--kind", "video", "--action", "thumbnail", "--largest", "5MB"
    )
    assert (code, "policy is changed" in err) == (0, True)
    await run(database, tmp_path, "media", "policy", "--off", "--total-limit", "2GB", "--protected")
    _, out, _ = await run(database, tmp_path, "media", "policy", "--json")
    shown = json.loads(out)
    assert (shown["enabled"], shown["total_limit"], shown["keep_protected"]) == (False, 2_000_000_000, True)
    assert [(one["kind"], one["action"], one["largest"]) for one in shown["rules"]] == [
        ("video", "thumbnail", 5_000_000)
    ]
    await run(database, tmp_path, "media", "policy", "--kind", "video", "--reset", "--total-limit", "auto")
    _, out, _ = await run(database, tmp_path, "media", "policy", "--json")
    assert (json.loads(out)["rules"], json.loads(out)["total_limit"]) == ([], None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["policy", "--kind", "song", "--action", "no"], "kind is one of"),
        (["policy", "--action", "perhaps"], "action is one of"),
        (["policy", "--largest", "much"], "is a size such as"),
        (["policy", "--kind", "video"], "Say what is to be done"),
        (["list", "--state", "lost"], "There is no state lost"),
        (["remove", "abc"], "is not a SHA-256"),
        (["remove", "00" * 32], "There is no kept file"),
    ],
)
async def test_bad_input_gets_a_sentence(
    database: Database, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    """bad-input-gets-a-sentence: what is wrong and what to do, and nothing is changed."""
    code, _, err = await run(database, tmp_path, "media", *arguments)
    assert (code, sentence in err) == (2, True), err


async def test_nothing_is_fetched_while_media_are_off(database: Database, tmp_path: Path) -> None:
    """The command says how to turn them on."""
    await run(database, tmp_path, "media", "policy", "--off")
    code, _, err = await run(database, tmp_path, "media", "fetch")
    assert (code, "tidegate media policy --on" in err) == (2, True)
