"""``tidegate channel``, ``plan`` and ``cycle`` as an operator uses them, against the loopback Telegram."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.account_commands import accounts, ask
from tests.cli.channel_commands import add_account, control, do, told
from tests.cli.program import running, tidegate
from tests.waiting import until

__all__ = ["control"]  # a fixture


async def test_the_first_day_of_a_mirror(home: Path, control: str) -> None:
    """Sign in, see, enable, plan, cycle, look: without a worker each command takes the account for its duration."""
    await add_account(home, control)
    assert told(home, "channel", "sync", "reader") == {"channels": 3}
    assert {row["title"] for row in told(home, "channel", "list")} == {"Dragon Hoard", "Workshop News", "Vault"}
    assert tidegate("channel", "enable", "Dragon Hoard", home=home).returncode == 0
    plan = told(home, "plan", "reader")
    report = told(home, "cycle", "reader")
    assert plan["verdicts"] == {"first": 1}
    assert plan["calls_at_least"] <= report["calls_total"] <= plan["calls_at_most"]
    assert (report["account"], report["cycle"], report["archives_found"]) == ("reader", 1, 40)
    assert report["connect_calls"] > 0
    shown = told(home, "channel", "show", "Dragon Hoard")
    assert (shown["reader"], shown["enabled"], shown["state"], shown["verdict"]) == (
        "reader", True, "ok", "scan: never scanned before",
    )  # fmt: skip
    assert shown["gaps"]["documents"] == []
    assert len(shown["topics"]) == 13
    assert accounts(home)[0]["served_by"] is None

    do(control, "/telegram/post", {"channel": "Dragon Hoard", "files": [{"name": "new.zip", "size": 10}]})
    again = told(home, "cycle", "reader", "--channel", "Dragon Hoard")
    assert (again["cycle"], again["verdicts"], again["archives_found"]) == (1, {"asked": 1}, 1)
    kinds = [json.loads(event)["kind"] for event in tidegate("feed", "--json", home=home).stdout.splitlines()]
    assert kinds.count("cycle.ended") == 2
    call_log = {row["method"]: row["count"] for row in told(home, "calls")}
    assert call_log == ask(f"{control}/calls?by=method")
    assert ask(f"{control}/unknown") == []


async def test_a_topic_nobody_knows_is_refused_once_topics_were_listed(home: Path, control: str) -> None:
    """Before a first listing it is taken on trust, checked by the first cycle and then shown as gone.

    Invariant: bad-input-gets-a-sentence.
    """
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    trusted = tidegate("channel", "enable", "Dragon Hoard", "--topic", "1", "--topic", "99999", home=home)
    assert (trusted.returncode, "the first cycle checks 99999" in trusted.stderr) == (0, True), trusted.stderr
    told(home, "cycle", "reader")
    topics = {topic["topic"]: topic["gone"] for topic in told(home, "channel", "show", "Dragon Hoard")["topics"]}
    assert (topics[1], topics[99999]) == (False, True)
    refused = tidegate("channel", "enable", "Dragon Hoard", "--topic", "88888", home=home)
    assert refused.returncode == 2
    for words in ("no topic 88888", "tidegate channel show", "tidegate channel sync"):
        assert words in refused.stderr
    listed = [topic for topic in topics if topic not in (1, 99999)]
    assert tidegate("channel", "enable", "Dragon Hoard", "--topic", str(listed[0]), home=home).returncode == 0


async def test_an_account_is_signed_out_when_it_is_removed(home: Path, control: str) -> None:
    """Where Telegram can be asked; else the sentence says where the session may still be listed."""
    await add_account(home, control)
    removed = tidegate("account", "remove", "reader", "--yes", home=home)
    assert (removed.returncode, "removed and signed out at Telegram" in removed.stderr) == (0, True), removed.stderr
    assert ask(f"{control}/calls?by=method")["auth.logOut"] == 1
    assert {row["method"]: row["count"] for row in told(home, "calls")}["auth.logOut"] == 1

    await add_account(home, control)
    do(control, "/faults", {"platform": "telegram", "method": "auth.logOut", "kind": "error", "code": "400 NOT_NOW"})
    refused = tidegate("account", "remove", "reader", "--yes", home=home)
    assert refused.returncode == 0
    for words in ("could not be signed out", "NOT_NOW", "Settings > Devices"):
        assert words in refused.stderr

    await add_account(home, control)
    kept = tidegate("account", "remove", "reader", "--yes", "--keep-session", home=home)
    assert (kept.returncode, "Settings > Devices" in kept.stderr) == (0, True)
    assert ask(f"{control}/calls?by=method")["auth.logOut"] == 2
    assert accounts(home) == []


async def test_a_worker_cycles_by_itself_and_on_command(home: Path, control: str) -> None:
    """A cycle at the start and when asked, live news in between; the command shows the owner's own report."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Workshop News", home=home).returncode == 0

    def cycles() -> list[dict[str, Any]]:
        events = [json.loads(event) for event in tidegate("feed", "--json", home=home).stdout.splitlines()]
        return [event["data"] for event in events if event["kind"] == "cycle.ended"]

    async with running("worker", home=home, TIDEGATE_WORKER_NAME="anna"):
        await until(lambda: len(cycles()) == 1)
        assert cycles()[0]["archives_found"] == 6
        do(control, "/telegram/post", {"channel": "Workshop News", "files": [{"name": "hinted.zip", "size": 10}]})
        await until(lambda: "hinted.zip" in {one["name"] for one in told(home, "archive", "list")})
        assert told(home, "channel", "show", "Workshop News")["next_due_at"] is not None
        assert told(home, "cycle", "reader")["cycle"] == 2
        assert accounts(home)[0]["served_by"] == "anna"


async def test_bad_input_gets_a_sentence(home: Path, control: str) -> None:
    """bad-input-gets-a-sentence: what was wrong and what to do, exit code 2; nothing to do is 3."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    assert tidegate("channel", "enable", "Workshop News", "--destination", "Vault", home=home).returncode == 0
    for arguments, code, sentence in [
        (("channel", "enable", "Vault", "--destination", "Workshop News"), 2, "until they are back"),
        (("channel", "show", "Nowhere"), 2, 'no channel "Nowhere"'),
        (("channel", "enable", "Vault", "--topic", "3"), 2, "is no forum"),
        (("channel", "enable", "Vault", "--destination", "Vault"), 2, "its own destination"),
        (("channel", "disable", "Vault"), 3, "was not mirrored"),
        (("cycle", "nobody"), 2, 'no account named "nobody"'),
        (("cycle", "reader", "--channel", "Nowhere"), 2, "no channel"),
        (("plan", "nobody"), 2, "no account"),
    ]:
        answer = tidegate(*arguments, home=home)
        assert (answer.returncode, sentence in answer.stderr) == (code, True), (arguments, answer.stderr)
        assert answer.stdout == ""
