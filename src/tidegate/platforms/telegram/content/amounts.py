"""Amounts of money and spans of time, in words."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from telethon.tl import types

_STARS, _TON = "XTR", "TON"
_NO_DECIMALS = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF")
)  # currencies without a smaller unit
_THREE_DECIMALS = frozenset(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"))
_NANO = 9
_UNITS = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1)}


def amount_text(amount: int, currency: str) -> str:
    """An amount given in a currency's smallest unit, such as ``1.45 EUR``."""
    if currency == _STARS:
        return f"{amount} Stars"
    decimals = 0 if currency in _NO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    if currency == _TON:
        decimals = _NANO
    return f"{_scaled(amount, decimals, shortest=currency == _TON)} {currency}"


def star_amount_text(amount: Any) -> str:
    """An amount of Stars, with billionths of one, or of TON."""
    if isinstance(amount, types.StarsTonAmount):
        return amount_text(amount.amount, _TON)
    whole = Decimal(amount.amount) + Decimal(amount.nanos).scaleb(-_NANO)
    return f"{_short(whole)} Stars"


def lasting(seconds: int) -> str:
    """A span in its largest unit that divides it, such as ``7 days``; in two units where none does."""
    rest, said = timedelta(seconds=seconds), []
    for name, unit in _UNITS.items():
        count, rest = divmod(rest, unit)
        said += [_many(count, name)] if count else []
    count = int(rest.total_seconds())
    said += [_many(count, "second")] if count or not said else []
    return " ".join(said[:2])


def _many(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _scaled(amount: int, decimals: int, *, shortest: bool) -> str:
    value = Decimal(amount).scaleb(-decimals)
    return _short(value) if shortest else f"{value:f}"


def _short(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
