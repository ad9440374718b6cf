"""Telegram, through Telethon's protocol and raw requests."""

from tidegate.platforms.telegram.line import Application
from tidegate.platforms.telegram.opening import FindLoopback, Loopback, telegram_opener
from tidegate.platforms.telegram.signing_in import Questions, sign_in

__all__ = ["Application", "FindLoopback", "Loopback", "Questions", "sign_in", "telegram_opener"]
