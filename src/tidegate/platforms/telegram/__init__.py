"""Telegram, through Telethon's protocol and raw requests."""

from tidegate.platforms.telegram.platform import TELEGRAM

__all__ = ["TELEGRAM"]
