"""A WhatsApp account as an operator uses it: linked, its groups listed, and unlinked again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.cli.account_commands import add_whatsapp, ask, control, link_shop, tell
from tests.cli.program import tidegate

__all__ = ["control"]


def asked(home: Path, *arguments: str) -> Any:
    answer = tidegate(*arguments, "--json", home=home)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


async def test_from_the_qr_code_to_the_end(home: Path, control: str) -> None:
    """Linked by what it shows, with the pace of its standing; groups become targets, none of them mirrored.

    calls-through-a-lane: linking and listing are on the ledger, method by method, as the platform counted them.
    """
    said = await add_whatsapp(home, control, "--standing", "established")
    assert "can get a number banned" in said
    assert "QR code: 2@" in said
    assert "Signed in as +6281200000001." in said
    (row,) = asked(home, "account", "list")
    assert (row["platform"], row["standing"], row["pace"]) == ("whatsapp", "established", "40 a minute")

    synced = await asyncio.to_thread(tidegate, "channel", "sync", "shop", home=home)
    assert synced.returncode == 0, synced.stderr
    listed = asked(home, "channel", "list")
    assert len(listed) == 14
    assert {one["title"] for one in listed} >= {"Shops 1", "Shops 12", "Suppliers", "News"}
    assert not any(one["enabled"] for one in listed)

    spent: dict[str, int] = {}
    for one in asked(home, "calls"):
        spent[one["method"]] = spent.get(one["method"], 0) + one["count"]
    assert spent == ask(f"{control}/calls?by=method")

    cycle = await asyncio.to_thread(tidegate, "cycle", "shop", home=home)
    assert (cycle.returncode, "cannot be mirrored" in cycle.stderr) == (2, True)

    removed = await asyncio.to_thread(tidegate, "account", "remove", "shop", "--yes", home=home)
    assert "signed out at WhatsApp" in removed.stderr
    assert "Logout" in ask(f"{control}/calls?by=method")
    assert ask(f"{control}/unknown") == []


async def test_a_code_for_typing(home: Path, control: str) -> None:
    """With --phone a code is shown in place of the picture."""
    said = await add_whatsapp(home, control, "--phone", "+62 812 0000 0001")
    assert "Type this code into the phone" in said
    assert "QR code" not in said
    assert tell(f"{control}/whatsapp/pair") is None, "no device waits any more"


async def test_signed_out_by_the_phone_and_in_again(home: Path, control: str) -> None:
    """D-37: the account waits for its person, who links it once more; its groups are still its own."""
    await add_whatsapp(home, control)
    assert (await asyncio.to_thread(tidegate, "channel", "sync", "shop", home=home)).returncode == 0
    before = asked(home, "account", "list")
    early = await asyncio.to_thread(tidegate, "account", "sign-in", "shop", home=home)
    assert (early.returncode, "not signed out" in early.stderr) == (2, True)

    tell(f"{control}/whatsapp/change", account="+6281200000001", signed_out=True)
    refused = await asyncio.to_thread(tidegate, "channel", "sync", "shop", home=home)
    (row,) = asked(home, "account", "list")
    assert row["state"] == "signed_out"
    assert row["next_action"] == "sign it in again: tidegate account sign-in shop"
    told = f'Account "shop" is signed out: {row["why"]} Next: {row["next_action"]}.'
    assert (refused.returncode, told in refused.stderr) == (1, True)

    said = await link_shop(home, control, "account", "sign-in", "shop")
    assert 'Account "shop" is signed in again, as +6281200000001.' in said
    (row,) = asked(home, "account", "list")
    assert {**row, "epoch": 0} == {**before[0], "epoch": 0}
    assert (await asyncio.to_thread(tidegate, "channel", "sync", "shop", home=home)).returncode == 0
    assert len(asked(home, "channel", "list")) == 14
