"""The tests here are played on a mirror of a loopback Telegram."""

from __future__ import annotations

from tests.scenes.telegram_mirror import mirror, telegram, world

__all__ = ["mirror", "telegram", "world"]
