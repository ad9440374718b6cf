"""Telegram on 127.0.0.1: an MTProto server for unmodified clients, over a world that keeps the platform's truth."""

from tidegate.loopback.telegram.server import TelegramServer
from tidegate.loopback.telegram.world import World

__all__ = ["TelegramServer", "World"]
