"""The JSON documents of accounts, for ``tidegate account list`` and the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from tidegate.accounts.queries import account_list, accounts
from tidegate.accounts.queries.accounts import ListedAccount
from tidegate.accounts.rules.standing_upgrade import StandingOffer, standing_offer
from tidegate.app.settings import Settings
from tidegate.core.account import Account
from tidegate.core.ids import AccountId
from tidegate.core.json_fields import Instant, instant
from tidegate.database.pool import Connection
from tidegate.lanes.queries import pace
from tidegate.lanes.queries.pace import ShownPace


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRow:
    """An account: its state, why it was stopped, what a person does next about it, who serves it, and its pace."""

    id: AccountId
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
    unreachable_since: Instant | None
    unreachable_why: str | None
    offer: str | None
    proxy: str | None


async def account_rows(
    connection: Connection, settings: Settings, *, skip: int = 0, most: int | None = None
) -> list[AccountRow]:
    """Accounts: all, or *most* after the first *skip*."""
    about = _About(await pace.shown(connection), await standing_offers(connection, settings), settings)
    return [_row(one, about) for one in await accounts.listing(connection, skip=skip, most=most)]


async def account_row(connection: Connection, name: str, settings: Settings) -> AccountRow:
    """One account; ``NotThere`` when there is none of that name."""
    about = _About(await pace.shown(connection), await standing_offers(connection, settings), settings)
    return _row(await accounts.find(connection, name), about)


async def standing_offers(connection: Connection, settings: Settings) -> dict[AccountId, StandingOffer]:
    """The accounts that may be given a higher standing, and so a higher pace, if a person wants it."""
    warm_up_for = timedelta(days=settings.warm_up_days)
    records = await account_list.records(connection)
    offers = {account: standing_offer(record, warm_up_for) for account, record in records.items()}
    return {account: offer for account, offer in offers.items() if offer is not None}


@dataclass(frozen=True, slots=True)
class _About:
    paces: Mapping[AccountId, ShownPace]
    offers: Mapping[AccountId, StandingOffer]
    settings: Settings


def _offer(account: Account, about: _About) -> str | None:
    offer = about.offers.get(account.id)
    if offer is None:
        return None
    faster = about.settings.pace_in_words(account.platform, offer.standing)
    return f"{offer.reason} To send {faster}: tidegate account set {account.name} --standing {offer.standing.value}"


def _row(listed: ListedAccount, about: _About) -> AccountRow:
    account = listed.account
    return AccountRow(
        id=account.id,
        name=account.name,
        platform=account.platform.name,
        standing=account.standing.value,
        state=account.state.value,
        why=account.why,
        next_action=account.next_action,
        served_by=listed.served_by,
        pace=str(about.paces.get(account.id, "")),
        paused_until=instant(listed.paused_until),
        epoch=listed.epoch,
        unreachable_since=instant(listed.unreachable_since),
        unreachable_why=listed.unreachable_why,
        offer=_offer(account, about),
        proxy=listed.proxy,
    )
