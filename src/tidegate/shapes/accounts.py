"""Accounts as ``tidegate account list`` and the API tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.shapes.instants import Instant, instant
from tidegate.store import accounts, pace
from tidegate.store.accounts import Listed
from tidegate.store.database import Connection
from tidegate.store.pace import Shown
from tidegate.words import AccountId


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """An account: its state, why it was stopped, what a person does next about it, who serves it, and its pace."""

    id: int
    name: str
    platform: str
    standing: str
    state: str
    why: str | None
    next_action: str
    served_by: str | None
    pace: str
    paused_until: Instant | None
    epoch: int


async def account_rows(connection: Connection) -> list[AccountRow]:
    """Every account."""
    paces = await pace.shown(connection)
    return [_row(one, paces) for one in await accounts.listing(connection)]


async def account_row(connection: Connection, name: str) -> AccountRow:
    """One account, or a sentence when there is none of that name."""
    return _row(await accounts.find(connection, name), await pace.shown(connection))


def _row(listed: Listed, paces: Mapping[AccountId, Shown]) -> AccountRow:
    account = listed.account
    return AccountRow(
        id=account.id,
        name=account.name,
        platform=account.platform.value,
        standing=account.standing.value,
        state=account.state.value,
        why=account.why,
        next_action=account.state.next_action.replace("NAME", account.name),
        served_by=listed.served_by,
        pace=str(paces.get(account.id, "")),
        paused_until=instant(listed.paused_until),
        epoch=listed.epoch,
    )
